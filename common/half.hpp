// 16-bit floating-point numbers as types, converted one at a time. The vector forms are in simd.hpp; these are what they
// must equal, bit for bit.
#pragma once

#include "common/half_bits.hpp"

struct half {
    uint16_t bits;
};
struct bf16 {
    uint16_t bits;
};

inline float to_float(half h) { return half_bits_to_float(h.bits); }
inline float to_float(bf16 b) { return bf16_bits_to_float(b.bits); }
// Round to nearest, ties to even; of a half, too large becomes infinity; a NaN stays one.
inline half to_half(float value) { return {float_to_half_bits(value)}; }
inline bf16 to_bf16(float value) { return {float_to_bf16_bits(value)}; }
