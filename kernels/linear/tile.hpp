// The innermost loop of every matrix product here: some tokens times some groups of 16 weight rows, all
// sums in registers. Shared by kernels/linear and kernels/matmul.
#pragma once

#include <algorithm>
#include <cstddef>

#include "common/simd.hpp"

namespace cpu {

constexpr int group_rows = 16;  // rows that Layout::interleaved16 keeps together

// Every weight loaded from memory is used for tile_tokens sums, every input for tile_groups * 16. The sums,
// a row of weights and one input must fit the registers of the machine:
//   AVX-512 (32 registers)  2 groups x 14 tokens = 28 + 2 + 1
//   AVX2 (16, half as long) 1 group  x  6 tokens = 12 + 2 + 1
//   NEON (32, a quarter)    1 group  x  6 tokens = 24 + 4 + 1
//   portable (16, a quarter) 1 group x  2 tokens =  8 + 4 + 1
constexpr int tile_groups = simd::n_parts == 1 ? 2 : 1;
constexpr int tile_tokens = (simd::Machine::n_registers - 1) / (tile_groups * simd::n_parts) - 1;

// sums[token][group][16] += sum over k of x[token][k] * weights[group][k][16], k = 0 first: one fma chain for
// each of the sums. They come from memory and go back there, unrounded: a chain may be cut into pieces of k.
// x_stride, group_stride: elements from one token, one group to the next.
template <int n_tokens, int n_groups, class Element>
void multiply_tile(float* sums, const float* x, size_t x_stride, const Element* weights, size_t group_stride,
                   int n_k) {
    constexpr int n_sums = n_tokens * n_groups;
    f32x16 sum[n_sums];
#pragma GCC unroll 64
    for (int i = 0; i < n_sums; ++i) sum[i] = f32x16::load(sums + 16 * i);
    for (int k = 0; k < n_k; ++k) {
        f32x16 w[n_groups];
#pragma GCC unroll 4
        for (int group = 0; group < n_groups; ++group) {
            w[group] = f32x16::load(weights + size_t(group) * group_stride + 16 * size_t(k));
        }
#pragma GCC unroll 64
        for (int i = 0; i < n_sums; ++i) {
            const int token = i / n_groups, group = i % n_groups;
            sum[i] = fma(w[group], f32x16::broadcast(x[size_t(token) * x_stride + size_t(k)]), sum[i]);
        }
    }
#pragma GCC unroll 64
    for (int i = 0; i < n_sums; ++i) store(sums + 16 * i, sum[i]);
}

// The same for a number of tokens known only now, 1 <= n_tokens <= most.
template <int most, int n_groups, class Element>
void multiply_tile(int n_tokens, float* sums, const float* x, size_t x_stride, const Element* weights,
                   size_t group_stride, int n_k) {
    if constexpr (most > 1) {
        if (n_tokens < most) {
            return multiply_tile<most - 1, n_groups>(n_tokens, sums, x, x_stride, weights, group_stride, n_k);
        }
    }
    multiply_tile<most, n_groups>(sums, x, x_stride, weights, group_stride, n_k);
}

}  // namespace cpu
