// What half and bfloat16 have in common: a number of 16 bits that computes as float and rounds once.
#pragma once

#include <cmath>
#include <cstdint>

namespace simt {

// Format: to_float(bits), to_bits(float). For +, -, * and / of two of them, rounding to float first and then to 16 bits
// is the same as rounding once: float has more than twice the digits (Figueroa 1995).
template <class Format>
struct SmallFloat {
    uint16_t bits;

    SmallFloat() = default;
    SmallFloat(float x) : bits(Format::to_bits(x)) {}
    SmallFloat(double x) : bits(Format::to_bits(rounded_to_odd(x))) {}
    SmallFloat(int x) : SmallFloat(double(x)) {}
    SmallFloat(unsigned x) : SmallFloat(double(x)) {}
    SmallFloat(long long x) : SmallFloat(double(x)) {}
    SmallFloat(unsigned long long x) : SmallFloat(double(x)) {}
    operator float() const { return Format::to_float(bits); }
    explicit operator bool() const { return (bits & 0x7fff) != 0; }
    explicit operator int() const { return int(float(*this)); }
    explicit operator double() const { return double(float(*this)); }

    static SmallFloat of_bits(uint16_t bits) {
        SmallFloat x;
        x.bits = bits;
        return x;
    }

    // double to float so that rounding once more is as rounding once: an inexact result gets an odd last bit (Boldo and
    // Melquiond 2008).
    static float rounded_to_odd(double x) {
        const float nearest = float(x);
        if (double(nearest) == x || std::isinf(nearest) || std::isnan(nearest)) return nearest;
        const float low = double(nearest) < x ? nearest : std::nextafterf(nearest, -INFINITY);
        const float high = std::nextafterf(low, INFINITY);
        return std::bit_cast<uint32_t>(low) & 1 ? low : high;
    }

    SmallFloat& operator+=(SmallFloat b) { return *this = *this + b; }
    SmallFloat& operator-=(SmallFloat b) { return *this = *this - b; }
    SmallFloat& operator*=(SmallFloat b) { return *this = *this * b; }
    SmallFloat& operator/=(SmallFloat b) { return *this = *this / b; }
    friend SmallFloat operator+(SmallFloat a, SmallFloat b) { return float(a) + float(b); }
    friend SmallFloat operator-(SmallFloat a, SmallFloat b) { return float(a) - float(b); }
    friend SmallFloat operator*(SmallFloat a, SmallFloat b) { return float(a) * float(b); }
    friend SmallFloat operator/(SmallFloat a, SmallFloat b) { return float(a) / float(b); }
    friend SmallFloat operator-(SmallFloat a) { return of_bits(a.bits ^ 0x8000); }
    friend bool operator==(SmallFloat a, SmallFloat b) { return float(a) == float(b); }
    friend bool operator!=(SmallFloat a, SmallFloat b) { return float(a) != float(b); }
    friend bool operator<(SmallFloat a, SmallFloat b) { return float(a) < float(b); }
    friend bool operator>(SmallFloat a, SmallFloat b) { return float(a) > float(b); }
    friend bool operator<=(SmallFloat a, SmallFloat b) { return float(a) <= float(b); }
    friend bool operator>=(SmallFloat a, SmallFloat b) { return float(a) >= float(b); }

    // a * b + c, rounded once. The product is exact in double; where the sum is not, its error decides the last bit.
    static SmallFloat fma(SmallFloat a, SmallFloat b, SmallFloat c) {
        const double product = double(float(a)) * double(float(b)), addend = double(float(c));
        double sum = product + addend;
        if (std::isfinite(sum)) {
            const double back = sum - product, error = (product - (sum - back)) + (addend - back);
            if (error != 0 && !(std::bit_cast<uint64_t>(sum) & 1)) {
                sum = std::nextafter(sum, error > 0 ? INFINITY : -INFINITY);
            }
        }
        return sum;
    }
};

// Two of them, loaded and stored as one.
template <class T>
struct alignas(4) Pair {
    T x, y;
    friend Pair operator+(Pair a, Pair b) { return {a.x + b.x, a.y + b.y}; }
    friend Pair operator-(Pair a, Pair b) { return {a.x - b.x, a.y - b.y}; }
    friend Pair operator*(Pair a, Pair b) { return {a.x * b.x, a.y * b.y}; }
    friend Pair operator/(Pair a, Pair b) { return {a.x / b.x, a.y / b.y}; }
    Pair& operator+=(Pair b) { return *this = *this + b; }
    Pair& operator-=(Pair b) { return *this = *this - b; }
    Pair& operator*=(Pair b) { return *this = *this * b; }
    friend Pair operator-(Pair a) { return {-a.x, -a.y}; }
    friend bool operator==(Pair a, Pair b) { return a.x == b.x && a.y == b.y; }
};

}  // namespace simt

#define SIMT_ONE(name, expression)                                                                           \
    template <class F>                                                                                       \
    simt::SmallFloat<F> name(simt::SmallFloat<F> a) {                                                        \
        return expression;                                                                                   \
    }
#define SIMT_TWO(name, expression)                                                                           \
    template <class F>                                                                                       \
    simt::SmallFloat<F> name(simt::SmallFloat<F> a, simt::SmallFloat<F> b) {                                 \
        return expression;                                                                                   \
    }
#define SIMT_COMPARE(name, expression)                                                                       \
    template <class F>                                                                                       \
    bool name(simt::SmallFloat<F> a, simt::SmallFloat<F> b) {                                                \
        return expression;                                                                                   \
    }
#define SIMT_PAIRS(name, one)                                                                                \
    template <class T>                                                                                       \
    simt::Pair<T> name(simt::Pair<T> a, simt::Pair<T> b) {                                                   \
        return {one(a.x, b.x), one(a.y, b.y)};                                                               \
    }

SIMT_TWO(__hadd, a + b)
SIMT_TWO(__hsub, a - b)
SIMT_TWO(__hmul, a* b)
SIMT_TWO(__hdiv, a / b)
SIMT_TWO(__hadd_rn, a + b)
SIMT_TWO(__hsub_rn, a - b)
SIMT_TWO(__hmul_rn, a* b)
SIMT_TWO(__hmax, float(a) != float(a) ? b : float(b) != float(b) ? a : (a < b ? b : a))
SIMT_TWO(__hmin, float(a) != float(a) ? b : float(b) != float(b) ? a : (b < a ? b : a))
SIMT_ONE(__hneg, -a)
SIMT_ONE(__habs, simt::SmallFloat<F>::of_bits(a.bits & 0x7fff))
SIMT_ONE(hexp, std::exp(float(a)))
SIMT_ONE(hexp2, std::exp2(float(a)))
SIMT_ONE(hlog, std::log(float(a)))
SIMT_ONE(hlog2, std::log2(float(a)))
SIMT_ONE(hsqrt, std::sqrt(float(a)))
SIMT_ONE(hrsqrt, 1 / std::sqrt(float(a)))
SIMT_ONE(hrcp, 1 / float(a))
SIMT_ONE(hsin, std::sin(float(a)))
SIMT_ONE(hcos, std::cos(float(a)))
SIMT_ONE(htanh, std::tanh(float(a)))
SIMT_ONE(hfloor, std::floor(float(a)))
SIMT_ONE(hceil, std::ceil(float(a)))
SIMT_ONE(hrint, std::nearbyint(float(a)))
SIMT_COMPARE(__heq, a == b)
SIMT_COMPARE(__hne, a != b)
SIMT_COMPARE(__hlt, a < b)
SIMT_COMPARE(__hgt, a > b)
SIMT_COMPARE(__hle, a <= b)
SIMT_COMPARE(__hge, a >= b)
SIMT_PAIRS(__hadd2, __hadd)
SIMT_PAIRS(__hsub2, __hsub)
SIMT_PAIRS(__hmul2, __hmul)
SIMT_PAIRS(__h2div, __hdiv)
SIMT_PAIRS(__hmax2, __hmax)
SIMT_PAIRS(__hmin2, __hmin)
#undef SIMT_ONE
#undef SIMT_TWO
#undef SIMT_COMPARE
#undef SIMT_PAIRS

template <class F>
bool __hisnan(simt::SmallFloat<F> a) {
    return float(a) != float(a);
}
template <class F>
bool __hisinf(simt::SmallFloat<F> a) {
    return std::isinf(float(a));
}
template <class F>
simt::SmallFloat<F> __hfma(simt::SmallFloat<F> a, simt::SmallFloat<F> b, simt::SmallFloat<F> c) {
    return simt::SmallFloat<F>::fma(a, b, c);
}
template <class T>
simt::Pair<T> __hfma2(simt::Pair<T> a, simt::Pair<T> b, simt::Pair<T> c) {
    return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
template <class T>
simt::Pair<T> __hneg2(simt::Pair<T> a) {
    return -a;
}
template <class T>
simt::Pair<T> __habs2(simt::Pair<T> a) {
    return {__habs(a.x), __habs(a.y)};
}
template <class T>
simt::Pair<T> h2exp(simt::Pair<T> a) {
    return {hexp(a.x), hexp(a.y)};
}
template <class T>
simt::Pair<T> h2sqrt(simt::Pair<T> a) {
    return {hsqrt(a.x), hsqrt(a.y)};
}
template <class T>
simt::Pair<T> h2rsqrt(simt::Pair<T> a) {
    return {hrsqrt(a.x), hrsqrt(a.y)};
}
