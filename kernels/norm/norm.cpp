#include "kernels/norm/norm.hpp"

#include <cmath>

#include "common/simd.hpp"

// The loop that this file speeds up, for one row:
//
//   sum = 0
//   for (i = 0; i < width; ++i) sum += x[i] * x[i]
//   scale = 1 / sqrt(sum / width + epsilon)
//   for (i = 0; i < width; ++i) out[i] = x[i] * scale * weight[i]
//
// Sixteen sums run side by side, lane l over the elements l, l + 16, l + 32 ..; the last step takes what is left
// and zeros behind it. Then the sixteen are added as a tree: one order, whatever the machine.
//
//   x    | 0 1 2 .. 15 | 16 17 .. 31 | 32 33 - - .. - |      width 34
//   sum  | 0 1 2 .. 15 |             |                |      lane 0: x0 x0 + x16 x16 + x32 x32
namespace cpu {
namespace {

constexpr int lanes = 16;

float sum_of_squares(const float* x, int width, float factor) {
    f32x16 sum = {};  // zeros
    int i = 0;
    for (; i + lanes <= width; i += lanes) {
        const f32x16 v = f32x16::load(x + i) * f32x16::broadcast(factor);
        sum = fma(v, v, sum);
    }
    if (i < width) {
        const f32x16 v = f32x16::load(x + i, width - i) * f32x16::broadcast(factor);
        sum = fma(v, v, sum);
    }
    return reduce_sum(sum);
}

void normalise(float* out, const float* x, const float* weight, int width, float epsilon) {
    float factor = 1;
    float sum = sum_of_squares(x, width, factor);
    if (!std::isfinite(sum)) {  // the square of 1e20 is no float: the row again, a power of two smaller
        factor = 0x1p-80f;
        sum = sum_of_squares(x, width, factor);
    }
    const float scale = factor / std::sqrt(sum / float(width) + epsilon * factor * factor);
    const f32x16 scales = f32x16::broadcast(scale);
    int i = 0;
    for (; i + lanes <= width; i += lanes) {
        store(out + i, f32x16::load(x + i) * scales * f32x16::load(weight + i));
    }
    if (i < width) {
        const int n = width - i;
        store(out + i, f32x16::load(x + i, n) * scales * f32x16::load(weight + i, n), n);
    }
}

}  // namespace

void rms_norm(View<float> out, View<const float> x, View<const float> weight, float epsilon) {
    const int n_rows = x.size(0), width = x.size(1);
    out.require_shape("cpu::rms_norm: out", n_rows, width);
    weight.require_shape("cpu::rms_norm: weight", width);
    for (int row = 0; row < n_rows; ++row) {
        normalise(out.row(row).data(), x.row(row).data(), weight.data(), width, epsilon);
    }
}

}  // namespace cpu
