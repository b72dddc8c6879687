#include "common/matrix.hpp"

#include <cstring>

namespace {

struct TypeInfo {
    const char* name;
    int unit_length;
    size_t unit_bytes;
};

TypeInfo info(Type type) {
    switch (type) {
        case Type::F32: return {"F32", 1, sizeof(float)};
        case Type::F16: return {"F16", 1, sizeof(half)};
        case Type::BF16: return {"BF16", 1, sizeof(bf16)};
        case Type::Q4_0: return {"Q4_0", block_length, sizeof(BlockQ4_0)};
        case Type::Q4_1: return {"Q4_1", block_length, sizeof(BlockQ4_1)};
        case Type::Q8_0: return {"Q8_0", block_length, sizeof(BlockQ8_0)};
    }
    fail("unknown tensor type %u", unsigned(type));
}

// Files promise no alignment: a unit is copied out before it is read.
template <class Unit>
Unit load(const std::byte* bytes, size_t index) {
    Unit unit;
    std::memcpy(&unit, bytes + index * sizeof(Unit), sizeof(Unit));
    return unit;
}

void dequantize_q4_0(View<float> out, const std::byte* bytes) {
    for (int block = 0; block < out.size(0) / block_length; ++block) {
        const auto b = load<BlockQ4_0>(bytes, size_t(block));
        const float scale = to_float(b.scale);
        float* values = out.data() + block * block_length;
        for (int i = 0; i < 16; ++i) {
            values[i] = scale * float((b.nibbles[i] & 15) - 8);
            values[i + 16] = scale * float((b.nibbles[i] >> 4) - 8);
        }
    }
}

void dequantize_q4_1(View<float> out, const std::byte* bytes) {
    for (int block = 0; block < out.size(0) / block_length; ++block) {
        const auto b = load<BlockQ4_1>(bytes, size_t(block));
        const float scale = to_float(b.scale), minimum = to_float(b.minimum);
        float* values = out.data() + block * block_length;
        for (int i = 0; i < 16; ++i) {
            values[i] = scale * float(b.nibbles[i] & 15) + minimum;
            values[i + 16] = scale * float(b.nibbles[i] >> 4) + minimum;
        }
    }
}

void dequantize_q8_0(View<float> out, const std::byte* bytes) {
    for (int block = 0; block < out.size(0) / block_length; ++block) {
        const auto b = load<BlockQ8_0>(bytes, size_t(block));
        const float scale = to_float(b.scale);
        float* values = out.data() + block * block_length;
        for (int i = 0; i < block_length; ++i) values[i] = scale * float(b.quants[i]);
    }
}

}  // namespace

const char* type_name(Type type) { return info(type).name; }
bool is_block_format(Type type) { return info(type).unit_length > 1; }
int type_unit_length(Type type) { return info(type).unit_length; }
size_t type_unit_bytes(Type type) { return info(type).unit_bytes; }

size_t row_bytes(Type type, int columns) {
    const TypeInfo unit = info(type);
    if (columns < 0 || columns % unit.unit_length != 0) {
        fail("a row of %d elements cannot be %s: not a multiple of %d", columns, unit.name, unit.unit_length);
    }
    return size_t(columns / unit.unit_length) * unit.unit_bytes;
}

size_t Matrix::size_bytes() const {
    const int padded_rows = layout == Layout::interleaved16 ? (rows + 15) / 16 * 16 : rows;
    return size_t(padded_rows) * row_bytes(type, columns);
}

void Matrix::require_shape(const char* name, int n_rows, int n_columns) const {
    if (rows != n_rows || columns != n_columns) {
        fail("%s has shape [%d, %d], expected [%d, %d]", name, rows, columns, n_rows, n_columns);
    }
}

void dequantize(View<float> out, Type type, const std::byte* bytes) {
    const View<float> values(out.data(), int(out.count()));
    row_bytes(type, values.size(0));  // refuses a part of a block
    switch (type) {
        case Type::F32: std::memcpy(values.data(), bytes, values.count() * sizeof(float)); break;
        case Type::F16:
            for (int i = 0; i < values.size(0); ++i) values(i) = to_float(load<half>(bytes, size_t(i)));
            break;
        case Type::BF16:
            for (int i = 0; i < values.size(0); ++i) values(i) = to_float(load<bf16>(bytes, size_t(i)));
            break;
        case Type::Q4_0: dequantize_q4_0(values, bytes); break;
        case Type::Q4_1: dequantize_q4_1(values, bytes); break;
        case Type::Q8_0: dequantize_q8_0(values, bytes); break;
    }
}
