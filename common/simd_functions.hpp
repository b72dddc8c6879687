// What the sixteen lanes of simd.hpp are put together to: e^x, sums and maxima over lanes, a transposed block.
#pragma once

#include "common/simd.hpp"

// e^x to 1 ulp, subnormal results too; 0 at -infinity, infinity from 88.73 on, NaN of NaN.
// x = n ln 2 + r with |r| <= ln 2 / 2; then e^x = 2^n e^r, and e^r = 1 + r + r^2 q(r), where q is the
// polynomial of degree 4 whose largest relative error in e^r on that range is smallest (3.6e-9).
[[gnu::always_inline]] inline f32x16 exp(f32x16 x) {
    const auto number = [](float value) { return f32x16::broadcast(value); };
    // Beyond these the result is 0 or infinity, whatever x is. A NaN passes: it is the second operand.
    x = min(number(89.0f), max(number(-104.0f), x));
    // Adding 1.5 * 2^23 leaves no place for bits under 1: it rounds to an integer, held in the low bits.
    const f32x16 shift = number(0x1.8p23f), shifted = fma(x, number(0x1.715476p0f), shift);
    const f32x16 n = shifted - shift;
    // ln 2 in two pieces, the first of 9 bits: its product with n is exact.
    const f32x16 r = fma(n, number(0x1.bd0106p-13f), fma(n, number(-0x1.63p-1f), x));
    f32x16 q = number(0x1.6a23dp-10f);
    q = fma(q, r, number(0x1.123a2p-7f));
    q = fma(q, r, number(0x1.5558f2p-5f));
    q = fma(q, r, number(0x1.555492p-3f));
    q = fma(q, r, number(0x1.fffffcp-2f));
    const f32x16 power = fma(q, r * r, r) + number(1);
    // 2^n as two factors: n reaches -150 and 128, a float's exponent -126 and 127.
    const i32x16 exponent = as_bits(shifted) - as_bits(shift), half_of_it = exponent >> 1;
    const auto two_to = [](i32x16 e) { return from_bits((e + i32x16::broadcast(127)) << 23); };
    return power * two_to(half_of_it) * two_to(exponent - half_of_it);
}

// Sixteen lanes to one number, in one fixed order: lane i with i + 8, then i + 4, i + 2, i + 1.
template <class Op>
[[gnu::always_inline]] inline float reduce(f32x16 v, Op op) {
    using Four = simd::Register<4>::f32;
    Four quad[4];
    simd::for_parts([&](int i, int lane) { simd::write(quad + lane / 4, v.part[i]); });
    const Four sum = op(op(quad[0], quad[2]), op(quad[1], quad[3]));
    return op(op(sum[0], sum[2]), op(sum[1], sum[3]));
}
[[gnu::always_inline]] inline float reduce_sum(f32x16 v) {
    return reduce(v, [](auto a, auto b) { return a + b; });
}
[[gnu::always_inline]] inline float reduce_max(f32x16 v) {
    return reduce(v, [](auto a, auto b) { return a > b ? a : b; });
}

// out[column][row] = in[row][column], 16 by 16; strides count floats.
// Four columns at a time: rows r, r + 4, r + 8, r + 12 give a run of four numbers each to one vector; two
// rounds of zips inside the runs then bring the sixteen rows of a column together.
[[gnu::always_inline]] inline void transpose16x16(float* out, size_t out_stride, const float* in,
                                                  size_t in_stride) {
    using simd::Machine, simd::each;
    for (int column = 0; column < 16; column += 4) {
        const auto runs = [&](int row) {
            return simd::make<f32x16>([&](int lane) {
                return Machine::load_runs(in + size_t(lane + row) * in_stride + column, 4 * in_stride);
            });
        };
        const f32x16 row0 = runs(0), row1 = runs(1), row2 = runs(2), row3 = runs(3);
        const f32x16 low01 = each<f32x16>(Machine::zip_low, row0, row1);
        const f32x16 low23 = each<f32x16>(Machine::zip_low, row2, row3);
        const f32x16 high01 = each<f32x16>(Machine::zip_high, row0, row1);
        const f32x16 high23 = each<f32x16>(Machine::zip_high, row2, row3);
        float* to = out + size_t(column) * out_stride;
        store(to, each<f32x16>(Machine::pair_low, low01, low23));
        store(to + out_stride, each<f32x16>(Machine::pair_high, low01, low23));
        store(to + 2 * out_stride, each<f32x16>(Machine::pair_low, high01, high23));
        store(to + 3 * out_stride, each<f32x16>(Machine::pair_high, high01, high23));
    }
}
