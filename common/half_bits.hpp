// 16-bit floating-point numbers as plain integer arithmetic on their bits, one at a time.
//   half (IEEE binary16)  1 sign, 5 exponent, 10 mantissa bits: 11 bits of precision, up to 65,504
//   bf16                  1 sign, 8 exponent,  7 mantissa bits:  8 bits of precision, float's range
#pragma once

#include <bit>
#include <cstdint>

inline float half_bits_to_float(uint16_t half) {
    const uint32_t sign = uint32_t(half & 0x8000) << 16;
    const uint32_t exponent = (half >> 10) & 31;
    const uint32_t mantissa = half & 0x3ff;
    if (exponent == 31) {  // infinity, or a NaN made quiet
        return std::bit_cast<float>(sign | 0x7f800000 | (mantissa << 13) | (mantissa ? 0x00400000 : 0));
    }
    if (exponent == 0) {  // zero, or a subnormal: mantissa * 2^-24, exact in float
        const float value = float(mantissa) * 0x1p-24f;
        return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | sign);
    }
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

// Round to nearest, ties to even; too large becomes infinity, a NaN stays one.
inline uint16_t float_to_half_bits(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint16_t sign = uint16_t((bits >> 16) & 0x8000);
    const uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return uint16_t(sign | 0x7e00 | ((magnitude >> 13) & 0x3ff));
    if (magnitude >= 0x477ff000) return uint16_t(sign | 0x7c00);  // 65,520 and more
    if (magnitude < 0x38800000) {  // under 2^-14: let the float adder round at 2^-24
        const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
        return uint16_t(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000));
    }
    const uint32_t odd = (magnitude >> 13) & 1;
    return uint16_t(sign | ((magnitude - 0x38000000 + 0xfff + odd) >> 13));
}

inline float bf16_bits_to_float(uint16_t bf16) { return std::bit_cast<float>(uint32_t(bf16) << 16); }

// Round to nearest, ties to even; a NaN stays one.
inline uint16_t float_to_bf16_bits(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    if ((bits & 0x7fffffff) > 0x7f800000) return uint16_t((bits >> 16) | 0x40);
    return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
