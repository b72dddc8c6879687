// The numbers of a GGUF file that stand for types: of metadata values, and of tensors.
#pragma once

#include <cstddef>
#include <cstdint>

// Kinds of metadata. An array holds values of one other kind.
enum class GgufKind : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64 };

struct GgufKindInfo {
    const char* name;
    size_t n_bytes;  // 0: the length stands in the file
};
constexpr GgufKindInfo gguf_kinds[] = {
    {"u8", 1},      {"i8", 1},   {"u16", 2},   {"i16", 2}, {"u32", 4}, {"i32", 4}, {"f32", 4},
    {"boolean", 1}, {"text", 0}, {"array", 0}, {"u64", 8}, {"i64", 8}, {"f64", 8},
};
constexpr GgufKindInfo info(GgufKind kind) { return gguf_kinds[size_t(kind)]; }

// Formats of tensors, those too that common/matrix.hpp cannot compute: their sizes are checked, and whoever asks
// for such a tensor is told its name. A unit is what is stored together: one number, or a block of them.
struct GgufFormat {
    uint32_t number;
    const char* name;
    int unit_length;
    int unit_bytes;
};
constexpr GgufFormat gguf_formats[] = {
    {0, "F32", 1, 4},         {1, "F16", 1, 2},        {30, "BF16", 1, 2},       {28, "F64", 1, 8},
    {24, "I8", 1, 1},         {25, "I16", 1, 2},       {26, "I32", 1, 4},        {27, "I64", 1, 8},
    {2, "Q4_0", 32, 18},      {3, "Q4_1", 32, 20},     {6, "Q5_0", 32, 22},      {7, "Q5_1", 32, 24},
    {8, "Q8_0", 32, 34},      {9, "Q8_1", 32, 36},     {10, "Q2_K", 256, 84},    {11, "Q3_K", 256, 110},
    {12, "Q4_K", 256, 144},   {13, "Q5_K", 256, 176},  {14, "Q6_K", 256, 210},   {15, "Q8_K", 256, 292},
    {29, "IQ1_M", 256, 56},   {19, "IQ1_S", 256, 50},  {22, "IQ2_S", 256, 82},   {17, "IQ2_XS", 256, 74},
    {16, "IQ2_XXS", 256, 66}, {21, "IQ3_S", 256, 110}, {18, "IQ3_XXS", 256, 98}, {20, "IQ4_NL", 32, 18},
    {23, "IQ4_XS", 256, 136}, {34, "TQ1_0", 256, 54},  {35, "TQ2_0", 256, 66},   {39, "MXFP4", 32, 17},
    {40, "NVFP4", 64, 36},    {41, "Q1_0", 128, 18},   {42, "Q2_0", 64, 18},
};
constexpr const GgufFormat* gguf_format(uint32_t number) {  // null: unknown
    for (const GgufFormat& format : gguf_formats) {
        if (format.number == number) return &format;
    }
    return nullptr;
}
