// A weight matrix as it lies in memory: a type known at run time, and bytes. Block formats store 32
// neighbouring elements of one row together, with their scale; a block never straddles two rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/half.hpp"
#include "common/tensor.hpp"

// The numbers are those that GGUF files use.
enum class Type : uint32_t { F32 = 0, F16 = 1, Q4_0 = 2, Q4_1 = 3, Q8_0 = 8, BF16 = 30 };

constexpr int block_length = 32;  // elements a block, in every block format here

struct BlockQ4_0 {  // value = scale * (nibble - 8)
    half scale;
    uint8_t nibbles[16];  // byte i: element i in the low four bits, element i + 16 in the high four
};
struct BlockQ4_1 {  // value = scale * nibble + minimum
    half scale, minimum;
    uint8_t nibbles[16];
};
struct BlockQ8_0 {  // value = scale * quant
    half scale;
    int8_t quants[32];
};
static_assert(sizeof(BlockQ4_0) == 18 && sizeof(BlockQ4_1) == 20 && sizeof(BlockQ8_0) == 34);

const char* type_name(Type type);
bool is_block_format(Type type);
// Elements and bytes of the smallest unit: 1 element for F32, F16 and BF16, else a block of 32.
int type_unit_length(Type type);
size_t type_unit_bytes(Type type);
// Bytes of one row; `columns` must be a multiple of the unit's length.
size_t row_bytes(Type type, int columns);

// How the elements of a Matrix follow each other.
//   row_major      row by row, as in the file
//   interleaved16  groups of 16 rows, element k of all 16 together: [rows / 16][columns][16], the last
//                  group filled up with zeros (kernels/linear says why)
enum class Layout { row_major, interleaved16 };

struct Matrix {
    Type type = Type::F32;
    int rows = 0, columns = 0;
    const std::byte* bytes = nullptr;
    Layout layout = Layout::row_major;

    explicit operator bool() const { return bytes != nullptr; }
    size_t size_bytes() const;  // with the padding of the layout
    const std::byte* row(int i) const { return bytes + size_t(i) * row_bytes(type, columns); }
    void require_shape(const char* name, int n_rows, int n_columns) const;
};

// A linear layer to be computed: out [n_tokens, weights.rows].
struct Linear {
    View<float> out;
    Matrix weights;
};

// One row (or any whole number of units) to floats. out.count() elements are written.
void dequantize(View<float> out, Type type, const std::byte* bytes);

// The f32 matrix over a tensor [rows, columns].
inline Matrix as_matrix(View<const float> tensor) {
    return {Type::F32, tensor.size(0), tensor.size(1), reinterpret_cast<const std::byte*>(tensor.data()), {}};
}
