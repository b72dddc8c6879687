// The micro-kernel of attention: a few rows of coefficients times a matrix in rows of 16s, with all sums in
// registers. Scores (q k over dims) and means (shares v over keys) are both this product. Each sum is one fma
// chain in the order of i, so its bits do not depend on what is computed beside it.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "common/simd.hpp"

namespace cpu::tiles {

constexpr int lanes = 16;

// out[row][column] = start[row][column] + sum over i of a[row][i] * b[i][column]
struct Product {
    float* out;
    const float *start, *a, *b;
    int out_stride, start_stride, a_stride, b_stride;
    int n_columns, n;  // columns: a multiple of 16; n >= 1
};

// Sums that fit the registers, beside 16 columns and a coefficient: 30 (AVX-512), 6 (AVX2, NEON) or 2.
constexpr int max_sums = (simd::Machine::n_registers - 1) / simd::n_parts - 1;
constexpr int max_rows = std::min(max_sums, 12);  // of one product

template <int n_rows, int n_vectors>
void multiply_columns(const Product& p, int column) {
    const auto [out, start, a, b, out_stride, start_stride, a_stride, b_stride, n_columns, n] = p;
    f32x16 sum[n_rows][n_vectors];
#pragma GCC unroll 16
    for (int row = 0; row < n_rows; ++row) {
#pragma GCC unroll 16
        for (int v = 0; v < n_vectors; ++v) {
            sum[row][v] = f32x16::load(start + row * start_stride + column + v * lanes);
        }
    }
    int i = 0;
    do {
        f32x16 b_row[n_vectors];
#pragma GCC unroll 16
        for (int v = 0; v < n_vectors; ++v) b_row[v] = f32x16::load(b + i * b_stride + column + v * lanes);
#pragma GCC unroll 16
        for (int row = 0; row < n_rows; ++row) {
            const f32x16 factor = f32x16::broadcast(a[row * a_stride + i]);
#pragma GCC unroll 16
            for (int v = 0; v < n_vectors; ++v) sum[row][v] = fma(factor, b_row[v], sum[row][v]);
        }
    } while (++i < n);
#pragma GCC unroll 16
    for (int row = 0; row < n_rows; ++row) {
#pragma GCC unroll 16
        for (int v = 0; v < n_vectors; ++v) {
            store(out + row * out_stride + column + v * lanes, sum[row][v]);
        }
    }
}

// Few rows take several vectors of columns at once: an fma takes four cycles, and two can begin in each.
template <int n_rows>
void multiply_rows(const Product& p) {
    constexpr int together = std::min(4, max_sums / n_rows);
    int column = 0;
    for (; column + together * lanes <= p.n_columns; column += together * lanes) {
        multiply_columns<n_rows, together>(p, column);
    }
    for (; column < p.n_columns; column += lanes) multiply_columns<n_rows, 1>(p, column);
}

template <int... n>
constexpr auto multiply_table(std::integer_sequence<int, n...>) {
    return std::array{&multiply_rows<n + 1>...};
}
inline void multiply(int n_rows, const Product& product) {  // 1 <= n_rows <= max_rows
    static constexpr auto table = multiply_table(std::make_integer_sequence<int, max_rows>());
    table[size_t(n_rows - 1)](product);
}

}  // namespace cpu::tiles
