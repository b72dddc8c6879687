// Sixteen numbers at a time: f32x16 and i32x16, the same sixteen lanes on every machine. Kernels are
// written once on these types; this file alone knows what the machine has.
//
//   machine    registers a f32x16   chosen when the compiler may use
//   AVX-512    1 of 16 lanes        AVX512F
//   AVX2       2 of  8 lanes        AVX2, FMA and F16C
//   NEON       4 of  4 lanes        aarch64
//   portable   4 of  4 lanes        anything else: the compiler's own vector types, no instruction named
//
// First what differs from machine to machine, one struct each; then everything else, written once. The
// arithmetic itself (+ - * / and comparisons) needs no intrinsic: g++ and clang define it on vectors.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/half.hpp"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

// A call would move sixteen lanes through memory: every function here becomes part of its caller.
#define SIMD_INLINE [[gnu::always_inline]] inline

namespace simd {

template <int n>  // n = 4, 8 or 16 lanes in one register
struct Register;
#define SIMD_REGISTER(n)                                                                                     \
    template <>                                                                                              \
    struct Register<n> {                                                                                     \
        static constexpr int lanes = n;                                                                      \
        typedef float f32 __attribute__((vector_size(4 * n)));                                               \
        typedef int32_t i32 __attribute__((vector_size(4 * n)));                                             \
        typedef uint32_t u32 __attribute__((vector_size(4 * n)));                                            \
        typedef uint16_t u16 __attribute__((vector_size(2 * n)));                                            \
    };
SIMD_REGISTER(4)
SIMD_REGISTER(8)
SIMD_REGISTER(16)
#undef SIMD_REGISTER

// Each machine says, for one register:
//   fma(a, b, c)             a * b + c, rounded once
//   load_first(p, n)         the first n lanes from memory, zeros in the others; n may be <= 0 or >= lanes
//   store_first(p, v, n)     the first n lanes to memory, nothing else is written
//   from_half, to_half       exact; round to nearest even
//   zip_low(a, b) ...        of every four lanes: a0 b0 a1 b1, a2 b2 a3 b3, a0 a1 b0 b1, a2 a3 b2 b3

#if defined(__AVX512F__)

struct Machine : Register<16> {
    static constexpr const char* name = "AVX-512";
    static constexpr bool has_fma = true;
    SIMD_INLINE static f32 fma(f32 a, f32 b, f32 c) { return _mm512_fmadd_ps(a, b, c); }
    SIMD_INLINE static __mmask16 first(int n) { return __mmask16((1u << std::clamp(n, 0, 16)) - 1); }
    SIMD_INLINE static f32 load_first(const float* p, int n) { return _mm512_maskz_loadu_ps(first(n), p); }
    SIMD_INLINE static void store_first(float* p, f32 v, int n) { _mm512_mask_storeu_ps(p, first(n), v); }
    SIMD_INLINE static f32 from_half(const half* p) {
        return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    }
    SIMD_INLINE static void to_half(half* p, f32 v) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
    }
    SIMD_INLINE static f32 zip_low(f32 a, f32 b) { return _mm512_unpacklo_ps(a, b); }
    SIMD_INLINE static f32 zip_high(f32 a, f32 b) { return _mm512_unpackhi_ps(a, b); }
    SIMD_INLINE static f32 pair_low(f32 a, f32 b) { return _mm512_shuffle_ps(a, b, 0x44); }
    SIMD_INLINE static f32 pair_high(f32 a, f32 b) { return _mm512_shuffle_ps(a, b, 0xee); }
};

#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)

struct Machine : Register<8> {
    static constexpr const char* name = "AVX2";
    static constexpr bool has_fma = true;
    SIMD_INLINE static f32 fma(f32 a, f32 b, f32 c) { return _mm256_fmadd_ps(a, b, c); }
    SIMD_INLINE static __m256i first(int n) {
        const i32 lane = {0, 1, 2, 3, 4, 5, 6, 7};
        return __m256i(lane < n);  // all bits set in the lanes below n
    }
    SIMD_INLINE static f32 load_first(const float* p, int n) { return _mm256_maskload_ps(p, first(n)); }
    SIMD_INLINE static void store_first(float* p, f32 v, int n) { _mm256_maskstore_ps(p, first(n), v); }
    SIMD_INLINE static f32 from_half(const half* p) {
        return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    }
    SIMD_INLINE static void to_half(half* p, f32 v) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
    }
    SIMD_INLINE static f32 zip_low(f32 a, f32 b) { return _mm256_unpacklo_ps(a, b); }
    SIMD_INLINE static f32 zip_high(f32 a, f32 b) { return _mm256_unpackhi_ps(a, b); }
    SIMD_INLINE static f32 pair_low(f32 a, f32 b) { return _mm256_shuffle_ps(a, b, 0x44); }
    SIMD_INLINE static f32 pair_high(f32 a, f32 b) { return _mm256_shuffle_ps(a, b, 0xee); }
};

#else

// What NEON and the portable form share: four lanes, tails lane by lane.
struct FourLanes : Register<4> {
    SIMD_INLINE static f32 load_first(const float* p, int n) {
        f32 v = {};
        for (int lane = 0; lane < std::min(n, lanes); ++lane) v[lane] = p[lane];
        return v;
    }
    SIMD_INLINE static void store_first(float* p, f32 v, int n) {
        for (int lane = 0; lane < std::min(n, lanes); ++lane) p[lane] = v[lane];
    }
    SIMD_INLINE static f32 zip_low(f32 a, f32 b) { return f32{a[0], b[0], a[1], b[1]}; }
    SIMD_INLINE static f32 zip_high(f32 a, f32 b) { return f32{a[2], b[2], a[3], b[3]}; }
    SIMD_INLINE static f32 pair_low(f32 a, f32 b) { return f32{a[0], a[1], b[0], b[1]}; }
    SIMD_INLINE static f32 pair_high(f32 a, f32 b) { return f32{a[2], a[3], b[2], b[3]}; }
};

#if defined(__aarch64__)

struct Machine : FourLanes {
    static constexpr const char* name = "NEON";
    static constexpr bool has_fma = true;
    SIMD_INLINE static f32 fma(f32 a, f32 b, f32 c) {
        return (f32)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
    }
    SIMD_INLINE static f32 from_half(const half* p) {
        return (f32)vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(reinterpret_cast<const uint16_t*>(p))));
    }
    SIMD_INLINE static void to_half(half* p, f32 v) {
        vst1_u16(reinterpret_cast<uint16_t*>(p), vreinterpret_u16_f16(vcvt_f16_f32((float32x4_t)v)));
    }
    SIMD_INLINE static f32 zip_low(f32 a, f32 b) { return (f32)vzip1q_f32((float32x4_t)a, (float32x4_t)b); }
    SIMD_INLINE static f32 zip_high(f32 a, f32 b) { return (f32)vzip2q_f32((float32x4_t)a, (float32x4_t)b); }
    SIMD_INLINE static f32 pair_low(f32 a, f32 b) { return (f32)vzip1q_f64((float64x2_t)a, (float64x2_t)b); }
    SIMD_INLINE static f32 pair_high(f32 a, f32 b) { return (f32)vzip2q_f64((float64x2_t)a, (float64x2_t)b); }
};

#else

struct Machine : FourLanes {
    static constexpr const char* name = "portable";
#if defined(__FP_FAST_FMAF)  // fmaf is one instruction here, not a call of the C library
    static constexpr bool has_fma = true;
    SIMD_INLINE static f32 fma(f32 a, f32 b, f32 c) {
        for (int lane = 0; lane < lanes; ++lane) c[lane] = __builtin_fmaf(a[lane], b[lane], c[lane]);
        return c;
    }
#else
    static constexpr bool has_fma = false;
    SIMD_INLINE static f32 fma(f32 a, f32 b, f32 c) { return a * b + c; }
#endif
    SIMD_INLINE static f32 from_half(const half* p) {
        return f32{to_float(p[0]), to_float(p[1]), to_float(p[2]), to_float(p[3])};
    }
    SIMD_INLINE static void to_half(half* p, f32 v) {
        for (int lane = 0; lane < lanes; ++lane) p[lane] = ::to_half(v[lane]);
    }
};

#endif
#endif

constexpr int n_parts = 16 / Machine::lanes;  // registers that make up sixteen lanes

// Result[part] = op(part, a[part], b[part], ...), spelled out so that no part ever needs an address.
template <class Result, class Op, class... Vector>
SIMD_INLINE Result each(Op op, const Vector&... v) {
    if constexpr (n_parts == 1) {
        return {{op(0, v.part[0]...)}};
    } else if constexpr (n_parts == 2) {
        return {{op(0, v.part[0]...), op(1, v.part[1]...)}};
    } else {
        return {{op(0, v.part[0]...), op(1, v.part[1]...), op(2, v.part[2]...), op(3, v.part[3]...)}};
    }
}

}  // namespace simd

// ---------------------------------------------------------------------------------------------------
// Sixteen lanes.

struct f32x16 {
    simd::Machine::f32 part[simd::n_parts];

    SIMD_INLINE static f32x16 zero() { return {}; }
    SIMD_INLINE static f32x16 broadcast(float x);
    // Sixteen numbers, of any alignment; 16-bit ones are widened, which is exact.
    SIMD_INLINE static f32x16 load(const float* p);
    SIMD_INLINE static f32x16 load(const half* p);
    SIMD_INLINE static f32x16 load(const bf16* p);
    // The first n of them, 0 <= n <= 16: nothing behind is read, the other lanes are 0.
    SIMD_INLINE static f32x16 load(const float* p, int n);
    SIMD_INLINE static f32x16 load(const half* p, int n);
    SIMD_INLINE static f32x16 load(const bf16* p, int n);
};

// Integers; also what a comparison gives: all bits set where it holds, else 0.
struct i32x16 {
    simd::Machine::i32 part[simd::n_parts];

    SIMD_INLINE static i32x16 broadcast(int32_t x);
    SIMD_INLINE static i32x16 load(const int32_t* p);
    SIMD_INLINE static i32x16 iota();  // 0, 1, .. 15
};

#define SIMD_OPERATOR(Result, Vector, op)                                                                    \
    SIMD_INLINE Result operator op(Vector a, Vector b) {                                                     \
        return simd::each<Result>([](int, auto x, auto y) { return x op y; }, a, b);                         \
    }
SIMD_OPERATOR(f32x16, f32x16, +)
SIMD_OPERATOR(f32x16, f32x16, -)
SIMD_OPERATOR(f32x16, f32x16, *)
SIMD_OPERATOR(f32x16, f32x16, /)
SIMD_OPERATOR(i32x16, f32x16, <)
SIMD_OPERATOR(i32x16, f32x16, >)
SIMD_OPERATOR(i32x16, f32x16, ==)
SIMD_OPERATOR(i32x16, i32x16, +)
SIMD_OPERATOR(i32x16, i32x16, -)
SIMD_OPERATOR(i32x16, i32x16, *)
SIMD_OPERATOR(i32x16, i32x16, &)
SIMD_OPERATOR(i32x16, i32x16, |)
SIMD_OPERATOR(i32x16, i32x16, <)
SIMD_OPERATOR(i32x16, i32x16, >)
SIMD_OPERATOR(i32x16, i32x16, ==)
#undef SIMD_OPERATOR

SIMD_INLINE f32x16& operator+=(f32x16& a, f32x16 b) { return a = a + b; }
SIMD_INLINE f32x16& operator*=(f32x16& a, f32x16 b) { return a = a * b; }
SIMD_INLINE i32x16 operator<<(i32x16 a, int n) {
    return simd::each<i32x16>([n](int, auto x) { return x << n; }, a);
}
SIMD_INLINE i32x16 operator>>(i32x16 a, int n) {  // the sign is kept
    return simd::each<i32x16>([n](int, auto x) { return x >> n; }, a);
}

// a * b + c, rounded once; on a machine without the instruction a product, then a sum. Within one build
// it is the same everywhere: in vectors, in tails, and in the scalar form below.
SIMD_INLINE f32x16 fma(f32x16 a, f32x16 b, f32x16 c) {
    return simd::each<f32x16>([](int, auto x, auto y, auto z) { return simd::Machine::fma(x, y, z); }, a, b,
                              c);
}
SIMD_INLINE float scalar_fma(float a, float b, float c) {
    return simd::Machine::has_fma ? __builtin_fmaf(a, b, c) : a * b + c;
}

SIMD_INLINE f32x16 select(i32x16 where, f32x16 yes, f32x16 no) {
    return simd::each<f32x16>([](int, auto m, auto x, auto y) { return m ? x : y; }, where, yes, no);
}
SIMD_INLINE i32x16 select(i32x16 where, i32x16 yes, i32x16 no) {
    return simd::each<i32x16>([](int, auto m, auto x, auto y) { return m ? x : y; }, where, yes, no);
}
// Of a lane where either is NaN, the result is b's.
SIMD_INLINE f32x16 max(f32x16 a, f32x16 b) {
    return simd::each<f32x16>([](int, auto x, auto y) { return x > y ? x : y; }, a, b);
}
SIMD_INLINE f32x16 min(f32x16 a, f32x16 b) {
    return simd::each<f32x16>([](int, auto x, auto y) { return x < y ? x : y; }, a, b);
}

// The same bits under the other type; and the same numbers (rounded where 24 bits do not hold them).
SIMD_INLINE i32x16 as_bits(f32x16 a) {
    return simd::each<i32x16>([](int, auto x) { return (simd::Machine::i32)x; }, a);
}
SIMD_INLINE f32x16 from_bits(i32x16 a) {
    return simd::each<f32x16>([](int, auto x) { return (simd::Machine::f32)x; }, a);
}
SIMD_INLINE f32x16 to_float(i32x16 a) {
    return simd::each<f32x16>([](int, auto x) { return __builtin_convertvector(x, simd::Machine::f32); }, a);
}
SIMD_INLINE f32x16 abs(f32x16 a) { return from_bits(as_bits(a) & i32x16::broadcast(0x7fffffff)); }

// ---------------------------------------------------------------------------------------------------
// Memory.

namespace simd {

template <class V>
SIMD_INLINE V read(const void* p) {
    V v;
    std::memcpy(&v, p, sizeof(V));
    return v;
}
template <class Vector>  // a vector made part by part: make(part, its first lane)
SIMD_INLINE Vector make(auto op) {
    return each<Vector>([&](int part, auto) { return op(part * Machine::lanes); }, Vector{});
}
SIMD_INLINE void for_each_part(f32x16 v, auto op) {  // op(first lane, part)
    each<i32x16>([&](int part, auto x) { return op(part * Machine::lanes, x), Machine::i32{}; }, v);
}

// Round to nearest even in the upper 16 bits, as to_bf16 does for one number.
SIMD_INLINE Machine::u16 to_bf16(Machine::f32 v) {
    const auto u = (Machine::u32)v;
    const Machine::u32 rounded = (u + 0x7fff + ((u >> 16) & 1)) >> 16, quiet = (u >> 16) | 0x40;
    return __builtin_convertvector((u & 0x7fffffff) > 0x7f800000 ? quiet : rounded, Machine::u16);
}

}  // namespace simd

f32x16 f32x16::broadcast(float x) {
    return simd::make<f32x16>([x](int) { return x - simd::Machine::f32{}; });
}
i32x16 i32x16::broadcast(int32_t x) {
    return simd::make<i32x16>([x](int) { return x - simd::Machine::i32{}; });
}
i32x16 i32x16::load(const int32_t* p) {
    return simd::make<i32x16>([p](int lane) { return simd::read<simd::Machine::i32>(p + lane); });
}
i32x16 i32x16::iota() {
    constexpr int32_t lanes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return load(lanes);
}
f32x16 f32x16::load(const float* p) {
    return simd::make<f32x16>([p](int lane) { return simd::read<simd::Machine::f32>(p + lane); });
}
f32x16 f32x16::load(const half* p) {
    return simd::make<f32x16>([p](int lane) { return simd::Machine::from_half(p + lane); });
}
f32x16 f32x16::load(const bf16* p) {
    return simd::make<f32x16>([p](int lane) {
        const auto bits = simd::read<simd::Machine::u16>(p + lane);
        return (simd::Machine::f32)(__builtin_convertvector(bits, simd::Machine::u32) << 16);
    });
}
f32x16 f32x16::load(const float* p, int n) {
    return simd::make<f32x16>([p, n](int lane) { return simd::Machine::load_first(p + lane, n - lane); });
}
// Tails of 16-bit numbers pass through a full row of them.
f32x16 f32x16::load(const half* p, int n) {
    half row[16] = {};
    std::memcpy(row, p, size_t(n) * sizeof(half));
    return load(row);
}
f32x16 f32x16::load(const bf16* p, int n) {
    bf16 row[16] = {};
    std::memcpy(row, p, size_t(n) * sizeof(bf16));
    return load(row);
}

SIMD_INLINE void store(float* p, f32x16 v) { std::memcpy(p, &v, sizeof(v)); }
SIMD_INLINE void store(int32_t* p, i32x16 v) { std::memcpy(p, &v, sizeof(v)); }
SIMD_INLINE void store(half* p, f32x16 v) {
    simd::for_each_part(v, [p](int lane, auto x) { simd::Machine::to_half(p + lane, x); });
}
SIMD_INLINE void store(bf16* p, f32x16 v) {
    simd::for_each_part(v, [p](int lane, auto x) {
        const auto bits = simd::to_bf16(x);
        std::memcpy(p + lane, &bits, sizeof(bits));
    });
}
SIMD_INLINE void store(float* p, f32x16 v, int n) {  // the first n only
    simd::for_each_part(v, [p, n](int lane, auto x) { simd::Machine::store_first(p + lane, x, n - lane); });
}
SIMD_INLINE void store(half* p, f32x16 v, int n) {
    half row[16];
    store(row, v);
    std::memcpy(p, row, size_t(n) * sizeof(half));
}
SIMD_INLINE void store(bf16* p, f32x16 v, int n) {
    bf16 row[16];
    store(row, v);
    std::memcpy(p, row, size_t(n) * sizeof(bf16));
}

// out[column][row] = in[row][column] for 16 rows and 16 columns; strides in floats.
// Four columns at a time: of rows r, r + 4, r + 8, r + 12 a run of four numbers each makes one vector, and
// two rounds of zips inside the runs bring the sixteen rows of one column together.
SIMD_INLINE void transpose16x16(float* out, size_t out_stride, const float* in, size_t in_stride) {
    using simd::Machine;
    for (int column = 0; column < 16; column += 4) {
        f32x16 v[4];
        for (int row = 0; row < 4; ++row) {
            float runs[16];
            for (int run = 0; run < 4; ++run) {
                std::memcpy(runs + 4 * run, in + size_t(row + 4 * run) * in_stride + column, 16);
            }
            v[row] = f32x16::load(runs);
        }
        const auto zip_low = [](int, auto a, auto b) { return Machine::zip_low(a, b); };
        const auto zip_high = [](int, auto a, auto b) { return Machine::zip_high(a, b); };
        const auto pair_low = [](int, auto a, auto b) { return Machine::pair_low(a, b); };
        const auto pair_high = [](int, auto a, auto b) { return Machine::pair_high(a, b); };
        const auto low01 = simd::each<f32x16>(zip_low, v[0], v[1]),
                   low23 = simd::each<f32x16>(zip_low, v[2], v[3]);
        const auto high01 = simd::each<f32x16>(zip_high, v[0], v[1]),
                   high23 = simd::each<f32x16>(zip_high, v[2], v[3]);
        store(out + size_t(column) * out_stride, simd::each<f32x16>(pair_low, low01, low23));
        store(out + size_t(column + 1) * out_stride, simd::each<f32x16>(pair_high, low01, low23));
        store(out + size_t(column + 2) * out_stride, simd::each<f32x16>(pair_low, high01, high23));
        store(out + size_t(column + 3) * out_stride, simd::each<f32x16>(pair_high, high01, high23));
    }
}

// ---------------------------------------------------------------------------------------------------
// Functions.

// e^x to 1 ulp (subnormal results too); 0 at -infinity, infinity above 88.73, NaN for NaN.
// x = n ln 2 + r with |r| <= ln 2 / 2; then e^x = 2^n e^r, and e^r = 1 + r + r^2 q(r), where q is the
// polynomial of degree 4 whose largest relative error on that range is smallest (3.6e-9).
SIMD_INLINE f32x16 exp(f32x16 x) {
    const auto number = [](float value) { return f32x16::broadcast(value); };
    // Beyond these the result is 0 or infinity, whatever x is. The order of the operands lets a NaN pass.
    x = min(number(89.0f), max(number(-104.0f), x));
    // Adding 1.5 * 2^23 leaves no bits under 1: the sum is rounded to an integer, which its low bits hold.
    const f32x16 shift = number(0x1.8p23f), shifted = fma(x, number(0x1.715476p0f), shift);
    const f32x16 n = shifted - shift;
    // ln 2 in two pieces, of which the first has 9 bits: its product with n is exact.
    const f32x16 r = fma(n, number(0x1.bd0106p-13f), fma(n, number(-0x1.63p-1f), x));
    f32x16 q = number(0x1.6a23dp-10f);
    q = fma(q, r, number(0x1.123a2p-7f));
    q = fma(q, r, number(0x1.5558f2p-5f));
    q = fma(q, r, number(0x1.555492p-3f));
    q = fma(q, r, number(0x1.fffffcp-2f));
    const f32x16 power = fma(q, r * r, r) + number(1);
    // 2^n as two factors: n reaches -150 and 128, the exponent of a float only -126 and 127.
    const i32x16 exponent = as_bits(shifted) - as_bits(shift), half_of_it = exponent >> 1;
    const auto two_to = [](i32x16 e) { return from_bits((e + i32x16::broadcast(127)) << 23); };
    return power * two_to(half_of_it) * two_to(exponent - half_of_it);
}

// One number of sixteen, in a fixed order: lane i with i + 8, then i + 4, i + 2, i + 1.
template <class Op>
SIMD_INLINE float reduce(f32x16 v, Op op) {
    float lane[16];
    store(lane, v);
    for (int width = 8; width > 0; width /= 2) {
        for (int i = 0; i < width; ++i) lane[i] = op(lane[i], lane[i + width]);
    }
    return lane[0];
}
SIMD_INLINE float reduce_sum(f32x16 v) {
    return reduce(v, [](float a, float b) { return a + b; });
}
SIMD_INLINE float reduce_max(f32x16 v) {
    return reduce(v, [](float a, float b) { return a > b ? a : b; });
}

SIMD_INLINE void prefetch(const void* p) { __builtin_prefetch(p); }

// A waiting loop says so to its core, which then leaves more of it to the other hardware thread.
SIMD_INLINE void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
    _mm_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#undef SIMD_INLINE
