#include <algorithm>

#include "common/simd.hpp"
#include "kernels/linear/linear.hpp"
#include "kernels/linear/tile.hpp"

// Weights in the order in which multiply_tile reads them: sixteen rows side by side.
//
//   row_major                          interleaved16
//   row 0:  k0 k1 k2 ..                group 0, k0:  row 0 row 1 .. row 15
//   row 1:  k0 k1 k2 ..                group 0, k1:  row 0 row 1 .. row 15
//   ..                                 ..
//   row 16: k0 k1 k2 ..                group 1, k0:  row 16 .. row 31
//
//   for (k) for (row) packed[row / 16][k][row % 16] = W[row][k], and 0 for rows past the last
//
// A load of sixteen neighbours then meets sixteen different outputs, and no sum over lanes is ever needed.
namespace cpu {
namespace {

constexpr int piece = 256;  // columns dequantised at once: 16 rows of them are 16 KB and stay in the L1

template <class Element>
void pack_group(Element* packed, const Matrix& m, int group) {
    alignas(64) float rows[group_rows][piece];
    alignas(64) float columns[16][group_rows];
    const int first_row = group * group_rows, n_rows = std::min(group_rows, m.rows - first_row);
    if (n_rows < group_rows) std::fill(&rows[n_rows][0], &rows[0][0] + group_rows * piece, 0.0f);
    for (int begin = 0; begin < m.columns; begin += piece) {
        const int n_columns = std::min(piece, m.columns - begin);
        for (int row = 0; row < n_rows; ++row) {
            dequantize(View<float>(rows[row], n_columns), m.type,
                       m.row(first_row + row) + row_bytes(m.type, begin));
        }
        for (int column = 0; column < n_columns; column += 16) {
            transpose16x16(&columns[0][0], group_rows, &rows[0][column], piece);
            for (int i = 0; i < std::min(16, n_columns - column); ++i) {
                store(packed + size_t(begin + column + i) * group_rows, f32x16::load(columns[i]));
            }
        }
    }
}

template <class Element>
void pack_as(const Worker& worker, std::byte* memory, const Matrix& m) {
    const Range mine = worker.share((m.rows + group_rows - 1) / group_rows);
    for (int group = mine.begin; group < mine.end; ++group) {
        pack_group(reinterpret_cast<Element*>(memory) + size_t(group) * group_rows * size_t(m.columns), m,
                   group);
    }
}

}  // namespace

size_t packed_bytes(const Matrix& matrix, Type type) {
    return Matrix{type, matrix.rows, matrix.columns, nullptr, Layout::interleaved16}.size_bytes();
}

Matrix pack(const Worker& worker, std::byte* memory, const Matrix& matrix, Type type) {
    switch (type) {
        case Type::F32: pack_as<float>(worker, memory, matrix); break;
        case Type::F16: pack_as<half>(worker, memory, matrix); break;
        case Type::BF16: pack_as<bf16>(worker, memory, matrix); break;
        default: fail("no linear layer computes with packed %s weights", type_name(type));
    }
    return {type, matrix.rows, matrix.columns, memory, Layout::interleaved16};
}

}  // namespace cpu
