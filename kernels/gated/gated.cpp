#include "kernels/gated/gated.hpp"

#include "common/simd.hpp"

// The loop that this file speeds up:
//
//   for (i = 0; i < n; ++i) out[i] = gate[i] / (1 + exp(-gate[i])) * up[i]
//
// Sixteen elements at a time, rows one after the other as they lie in memory; the last step takes what is left.
// For a very negative gate e^-g is infinite, and g / infinity is the zero that it should be.
//
//   gate | 0 1 2 .. 15 | 16 17 .. 31 | 32 33 - - .. - |      34 elements
namespace cpu {
namespace {

constexpr int lanes = 16;

f32x16 silu(f32x16 gate) { return gate / (f32x16::broadcast(1) + exp(f32x16::broadcast(0) - gate)); }

}  // namespace

void silu_multiply(View<float> out, View<const float> gate, View<const float> up) {
    if (gate.shape() != out.shape() || up.shape() != out.shape()) {
        fail("cpu::silu_multiply: out %s, gate %s, up %s", out.shape().text().c_str(),
             gate.shape().text().c_str(), up.shape().text().c_str());
    }
    const size_t count = out.count();
    size_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        store(out.data() + i, silu(f32x16::load(gate.data() + i)) * f32x16::load(up.data() + i));
    }
    if (const int n = int(count - i); n > 0) {
        store(out.data() + i, silu(f32x16::load(gate.data() + i, n)) * f32x16::load(up.data() + i, n), n);
    }
}

}  // namespace cpu
