// Arithmetic in 16 bits, as a number type: every operation is computed in float, then rounded to the format.
// For + - * / that is the correctly rounded result: float has more than twice the bits (Figueroa 1995).
//
//            bits of precision   largest     smallest    1 + e > 1 from    whole numbers up to
//   float    24                  3.4e38      1.4e-45     e = 6.0e-8        16,777,216
//   half     11                  65,504      6.0e-8      e = 0.00049       2,048
//   bf16      8                  3.4e38      9.2e-41     e = 0.0040        256
#pragma once

#include <cmath>

#include "common/half.hpp"

template <class Format>
Format round_to(float x);
template <>
inline half round_to<half>(float x) {
    return to_half(x);
}
template <>
inline bf16 round_to<bf16>(float x) {
    return to_bf16(x);
}

template <class Format>  // half or bf16
struct Rounded {
    Format stored{};

    Rounded() = default;
    Rounded(float x) : stored(round_to<Format>(x)) {}
    explicit operator float() const { return to_float(stored); }
    explicit operator double() const { return double(to_float(stored)); }

    friend Rounded operator+(Rounded a, Rounded b) { return float(a) + float(b); }
    friend Rounded operator-(Rounded a, Rounded b) { return float(a) - float(b); }
    friend Rounded operator*(Rounded a, Rounded b) { return float(a) * float(b); }
    friend Rounded operator/(Rounded a, Rounded b) { return float(a) / float(b); }
    friend Rounded& operator+=(Rounded& a, Rounded b) { return a = a + b; }
    friend Rounded exp(Rounded a) { return std::exp(float(a)); }
    friend Rounded log(Rounded a) { return std::log(float(a)); }
    friend bool operator>(Rounded a, Rounded b) { return float(a) > float(b); }
    friend bool operator==(Rounded a, Rounded b) { return float(a) == float(b); }
};
