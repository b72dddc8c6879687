// The product of two matrices, four times. Each version is the one before with one idea more; the multiplications
// and additions are the same, n_rows * n_columns * n_inner of each.
//
//   c [n_rows, n_columns] = a [n_rows, n_inner] * b [n_inner, n_columns]
//
//   In a model the rows of a are tokens and b is a weight matrix: a prompt is many rows, a decode step is one.
#pragma once

#include <algorithm>

#include "common/simd.hpp"
#include "common/tensor.hpp"

inline void require_product(View<const float> c, View<const float> a, View<const float> b) {
    b.require_shape("matmul: b", a.size(1), b.size(1));
    c.require_shape("matmul: c", a.size(0), b.size(1));
}

// 1: the definition. Every element of c is a row of a times a column of b.
//    The walk down a column touches another cache line at each step and uses 4 of its 64 bytes.
inline void matmul_ijk(View<float> c, View<const float> a, View<const float> b) {
    require_product(c, a, b);
    const size_t n_columns = size_t(b.size(1));
    for (int i = 0; i < c.size(0); ++i) {
        const float* a_row = a.row(i).data();
        for (int j = 0; j < c.size(1); ++j) {
            const float* b_column = b.data() + j;
            double sum = 0;  // this one is the reference for all others
            for (int k = 0; k < a.size(1); ++k)
                sum += double(a_row[k]) * double(b_column[size_t(k) * n_columns]);
            c(i, j) = float(sum);
        }
    }
}

// 2: the two inner loops swapped, so that the innermost walks along a row of b and of c.
//    Whole cache lines are used, and the compiler can take several columns at once.
inline void matmul_ikj(View<float> c, View<const float> a, View<const float> b) {
    require_product(c, a, b);
    std::fill(c.begin(), c.end(), 0.0f);
    for (int i = 0; i < c.size(0); ++i) {
        float* c_row = c.row(i).data();
        for (int k = 0; k < a.size(1); ++k) {
            const float a_ik = a(i, k);
            const float* b_row = b.row(k).data();
            for (int j = 0; j < c.size(1); ++j) c_row[j] += a_ik * b_row[j];
        }
    }
}

// 3: the same in blocks: 64 rows of b by 512 columns are 128 KB, and all rows of a use them before the next block.
//    Version 2 reads the whole of b again for every row of a; here b comes from memory once.
inline void matmul_blocked(View<float> c, View<const float> a, View<const float> b) {
    require_product(c, a, b);
    constexpr int block_k = 64, block_j = 512;
    std::fill(c.begin(), c.end(), 0.0f);
    for (int first_k = 0; first_k < a.size(1); first_k += block_k) {
        const int last_k = std::min(first_k + block_k, a.size(1));
        for (int first_j = 0; first_j < c.size(1); first_j += block_j) {
            const int last_j = std::min(first_j + block_j, c.size(1));
            for (int i = 0; i < c.size(0); ++i) {
                float* c_row = c.row(i).data();
                for (int k = first_k; k < last_k; ++k) {
                    const float a_ik = a(i, k);
                    const float* b_row = b.row(k).data();
                    for (int j = first_j; j < last_j; ++j) c_row[j] += a_ik * b_row[j];
                }
            }
        }
    }
}

// 4: a tile of c, 4 rows by 16 columns, stays in registers while k runs from end to end.
//    Versions 2 and 3 load and store c for every multiplication; here 5 loads serve 4 x 16 of them, and no store.
inline void matmul_tiled(View<float> c, View<const float> a, View<const float> b) {
    require_product(c, a, b);
    constexpr int tile = 4;
    const int n_rows = c.size(0), n_columns = c.size(1), n_inner = a.size(1);
    for (int i = 0; i < n_rows; i += tile) {
        const float* a_row[tile];
        // Past the last row of a that row is computed once more, and not stored.
        for (int row = 0; row < tile; ++row) a_row[row] = a.row(std::min(i + row, n_rows - 1)).data();
        for (int j = 0; j < n_columns; j += 16) {
            const int width = std::min(16, n_columns - j);
            const float* b_row = b.data() + j;
            f32x16 sum[tile] = {};
            for (int k = 0; k < n_inner; ++k, b_row += n_columns) {
                const f32x16 b_k = width == 16 ? f32x16::load(b_row) : f32x16::load(b_row, width);
#pragma GCC unroll 4
                for (int row = 0; row < tile; ++row) {
                    sum[row] = fma(f32x16::broadcast(a_row[row][k]), b_k, sum[row]);
                }
            }
#pragma GCC unroll 4
            for (int row = 0; row < tile; ++row) {
                if (i + row < n_rows) store(c.row(i + row).data() + j, sum[row], width);
            }
        }
    }
}

// 5 and 6 are in kernels/matmul and kernels/linear: a larger tile, b repacked so that a tile reads it from front to
// back, blocks of a that stay in a cache, and threads.
