#include "kernels/softmax/softmax.hpp"

#include <cmath>
#include <limits>

#include "common/simd.hpp"

// The loops that this file speeds up, for one row (lesson 02, safe):
//
//   largest = the largest x[i]
//   for (i = 0; i < n; ++i) sum += out[i] = exp(x[i] - largest)
//   for (i = 0; i < n; ++i) out[i] = out[i] / sum
//
// Three passes, but memory sees one: after the first the row lies in a near cache (49,152 logits are 197 KB).
// The online form would save a pass over the cache and pay for it with a second exp an element.
//
// Sixteen elements a step, with sixteen sums side by side; the tail is one more step of the same kind, in which
// the missing elements count as masked scores. So a row of 34 and one of 48 whose last 14 are masked are the
// same computation, to the bit:
//
//   x    | 0 1 2 .. 15 | 16 17 .. 31 | 32 33 -inf .. -inf |
//   sum  | 0 1 2 .. 15 |             |                    |   lane 0: e(x0) + e(x16) + e(x32)
namespace cpu {
namespace {

constexpr int lanes = 16;
constexpr float infinity = std::numeric_limits<float>::infinity();

f32x16 load_or_masked(const float* p, int n) {
    return select(i32x16::iota() < i32x16::broadcast(n), f32x16::load(p, n), f32x16::broadcast(-infinity));
}

// NaN is passed over here: it enters by its exp, and makes the sum and so the whole row NaN.
float largest_of(const float* x, int n) {
    f32x16 largest = f32x16::broadcast(-infinity);
    int i = 0;
    for (; i + lanes <= n; i += lanes) largest = max(f32x16::load(x + i), largest);
    if (i < n) largest = max(load_or_masked(x + i, n - i), largest);
    return reduce_max(largest);
}

// out = exp(x - largest); returns the sum.
float exponentials(float* out, const float* x, int n, float largest) {
    const f32x16 shift = f32x16::broadcast(largest);
    f32x16 sum{};
    int i = 0;
    for (; i + lanes <= n; i += lanes) {
        const f32x16 e = exp(f32x16::load(x + i) - shift);
        store(out + i, e);
        sum += e;
    }
    if (i < n) {
        const f32x16 e = exp(load_or_masked(x + i, n - i) - shift);
        store(out + i, e, n - i);
        sum += e;
    }
    return reduce_sum(sum);
}

void multiply(float* out, int n, float factor) {
    const f32x16 factors = f32x16::broadcast(factor);
    int i = 0;
    for (; i + lanes <= n; i += lanes) store(out + i, f32x16::load(out + i) * factors);
    if (i < n) store(out + i, f32x16::load(out + i, n - i) * factors, n - i);
}

}  // namespace

void softmax(const Worker& worker, View<float> out, View<const float> x, View<float> log_sum_exp) {
    const int n_rows = x.size(0), n_columns = x.size(1);
    out.require_shape("cpu::softmax: out", n_rows, n_columns);
    const bool wants_log = log_sum_exp.data() != nullptr;
    if (wants_log) log_sum_exp.require_shape("cpu::softmax: log_sum_exp", n_rows);
    const Range share = worker.share(n_rows);
    for (int row = share.begin; row < share.end; ++row) {
        float* const row_out = out.row(row).data();
        float largest = largest_of(x.row(row).data(), n_columns);
        if (largest == -infinity) largest = 0;  // all masked: -infinity - -infinity would be NaN
        const float sum = exponentials(row_out, x.row(row).data(), n_columns, largest);
        multiply(row_out, n_columns, sum == 0 ? 0 : 1 / sum);
        if (wants_log) log_sum_exp(row) = largest + std::log(sum);  // log(0) is -infinity
    }
}

}  // namespace cpu
