#include "kernels/matmul/matmul.hpp"

#include <algorithm>

#include "common/simd.hpp"
#include "kernels/linear/linear.hpp"

// The loop that this file speeds up:
//
//   for (i) for (j) { c[i][j] = 0; for (k) c[i][j] += a[i][k] * b[k][j]; }
//
// A linear layer computes x W^T, so c = a b is a linear layer whose weight rows are the columns of b. What is left to
// do is to bring them into the layer's order. In b the 16 columns of a tile lie one row of b apart; packed, they
// follow each other, and a tile reads 64 bytes after 64 bytes:
//
//   b        k0:  j 0 .. 15 | j 16 .. 31 | ..       packed   group 0:  k0 j 0 .. 15 | k1 j 0 .. 15 | ..
//            k1:  j 0 .. 15 | j 16 .. 31 | ..                group 1:  k0 j 16 .. 31 | k1 j 16 .. 31 | ..
namespace cpu {

size_t packed_columns_bytes(View<const float> b) {
    return Matrix{Type::F32, b.size(1), b.size(0), nullptr, Layout::interleaved16}.size_bytes();
}

Matrix pack_columns(const Worker& worker, std::byte* memory, View<const float> b) {
    const int n_inner = b.size(0), n_columns = b.size(1);
    float* packed = reinterpret_cast<float*>(memory);
    const Range mine = shared_rows(worker, n_columns);
    for (int column = mine.begin; column < mine.end; column += 16) {
        const int n = std::min(16, n_columns - column);
        float* group = packed + size_t(column) * size_t(n_inner);
        for (int k = 0; k < n_inner; ++k) store(group + 16 * k, f32x16::load(b.row(k).data() + column, n));
    }
    return {Type::F32, n_columns, n_inner, memory, Layout::interleaved16};
}

void matmul(const Worker& worker, View<float> c, View<const float> a, View<const float> b,
            std::byte* memory) {
    b.require_shape("matmul: b", a.size(1), b.size(1));
    // No barrier between: a thread multiplies with the columns that it has packed itself.
    linear(worker, c, a, pack_columns(worker, memory, b));
}

}  // namespace cpu
