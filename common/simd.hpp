// Sixteen numbers at a time: f32x16 and i32x16, the same sixteen lanes on every machine. Kernels are
// written once on these types; this file alone knows what the machine has.
//
//   machine    a f32x16 is          chosen when the compiler may use
//   AVX-512    1 register of 16     AVX512F
//   AVX2       2 registers of 8     AVX2, FMA and F16C
//   NEON       4 registers of 4     aarch64
//   portable   4 registers of 4     anything else: the compiler's own vectors, no instruction is named
//
// First what differs from machine to machine, one struct each; then all else, written once. Arithmetic
// (+ - * / and comparisons) needs no intrinsic: g++ and clang define it on their vector types.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/half.hpp"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

// A call would pass sixteen lanes through memory: every function here becomes part of its caller.
#define SIMD_INLINE [[gnu::always_inline]] inline

namespace simd {

// One register of 4, 8 or 16 lanes.
template <int n>
struct Register {
    static constexpr int lanes = n;
    typedef float f32 __attribute__((vector_size(4 * n)));
    typedef int32_t i32 __attribute__((vector_size(4 * n)));
    typedef uint32_t u32 __attribute__((vector_size(4 * n)));
    typedef uint16_t u16 __attribute__((vector_size(2 * n)));
};

template <class V>
SIMD_INLINE V read(const void* p) {  // at any address
    V v;
    std::memcpy(&v, p, sizeof(V));
    return v;
}
template <class V>
SIMD_INLINE void write(void* p, V v) {
    std::memcpy(p, &v, sizeof(V));
}

// What each machine says about one register:
//   fma(a, b, c)              a * b + c, rounded once
//   max(a, b), min(a, b)      b in a lane where either is NaN
//   load(p, n), store(p,v,n)  the first n lanes, no byte behind is touched; n may be <= 0 or >= lanes
//   from_half, to_half, from_bf16    exact, or rounded to nearest even
//   load_runs(p, stride)      four numbers, the four that stand `stride` further on, ...
//   zip_low, zip_high, pair_low, pair_high
//                             of every four lanes a, b: a0 b0 a1 b1, a2 b2 a3 b3, a0 a1 b0 b1, a2 a3 b2 b3

#if defined(__AVX512F__)

struct Machine : Register<16> {
    static constexpr const char* name = "AVX-512";
    static constexpr int n_registers = 32;
    static constexpr bool has_fma = true;
    // "maskz" with a full mask is the plain instruction, whose own header makes g++ 12 warn.
    static constexpr __mmask16 all = 0xffff;
    SIMD_INLINE static __mmask16 first(int n) { return __mmask16((1u << std::clamp(n, 0, 16)) - 1); }
    SIMD_INLINE static __m256i half_row(const void* p) { return _mm256_loadu_si256((const __m256i*)p); }

    SIMD_INLINE static f32 fma(f32 a, f32 b, f32 c) { return _mm512_fmadd_ps(a, b, c); }
    SIMD_INLINE static f32 max(f32 a, f32 b) { return _mm512_maskz_max_ps(all, a, b); }
    SIMD_INLINE static f32 min(f32 a, f32 b) { return _mm512_maskz_min_ps(all, a, b); }
    SIMD_INLINE static f32 load(const float* p, int n) { return _mm512_maskz_loadu_ps(first(n), p); }
    SIMD_INLINE static void store(float* p, f32 v, int n) { _mm512_mask_storeu_ps(p, first(n), v); }
    SIMD_INLINE static f32 from_half(const half* p) { return _mm512_maskz_cvtph_ps(all, half_row(p)); }
    SIMD_INLINE static void to_half(half* p, f32 v) {
        _mm256_storeu_si256((__m256i*)p, _mm512_maskz_cvtps_ph(all, v, _MM_FROUND_TO_NEAREST_INT));
    }
    SIMD_INLINE static f32 from_bf16(const bf16* p) {
        return (f32)((u32)_mm512_maskz_cvtepu16_epi32(all, half_row(p)) << 16);
    }
    SIMD_INLINE static f32 load_runs(const float* p, size_t stride) {
        const __m512 one = _mm512_maskz_broadcast_f32x4(all, _mm_loadu_ps(p));
        const __m512 two = _mm512_mask_broadcast_f32x4(one, 0x00f0, _mm_loadu_ps(p + stride));
        const __m512 three = _mm512_mask_broadcast_f32x4(two, 0x0f00, _mm_loadu_ps(p + 2 * stride));
        return _mm512_mask_broadcast_f32x4(three, 0xf000, _mm_loadu_ps(p + 3 * stride));
    }
    SIMD_INLINE static f32 zip_low(f32 a, f32 b) { return _mm512_maskz_unpacklo_ps(all, a, b); }
    SIMD_INLINE static f32 zip_high(f32 a, f32 b) { return _mm512_maskz_unpackhi_ps(all, a, b); }
    SIMD_INLINE static f32 pair_low(f32 a, f32 b) { return _mm512_maskz_shuffle_ps(all, a, b, 0x44); }
    SIMD_INLINE static f32 pair_high(f32 a, f32 b) { return _mm512_maskz_shuffle_ps(all, a, b, 0xee); }
};

#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)

struct Machine : Register<8> {
    static constexpr const char* name = "AVX2";
    static constexpr int n_registers = 16;
    static constexpr bool has_fma = true;
    SIMD_INLINE static __m256i first(int n) {  // all bits set in the lanes below n
        const i32 lane = {0, 1, 2, 3, 4, 5, 6, 7};
        return (__m256i)(lane < n);
    }
    SIMD_INLINE static __m128i half_row(const void* p) { return _mm_loadu_si128((const __m128i*)p); }

    SIMD_INLINE static f32 fma(f32 a, f32 b, f32 c) { return _mm256_fmadd_ps(a, b, c); }
    SIMD_INLINE static f32 max(f32 a, f32 b) { return _mm256_max_ps(a, b); }
    SIMD_INLINE static f32 min(f32 a, f32 b) { return _mm256_min_ps(a, b); }
    SIMD_INLINE static f32 load(const float* p, int n) { return _mm256_maskload_ps(p, first(n)); }
    SIMD_INLINE static void store(float* p, f32 v, int n) { _mm256_maskstore_ps(p, first(n), v); }
    SIMD_INLINE static f32 from_half(const half* p) { return _mm256_cvtph_ps(half_row(p)); }
    SIMD_INLINE static void to_half(half* p, f32 v) {
        _mm_storeu_si128((__m128i*)p, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
    }
    SIMD_INLINE static f32 from_bf16(const bf16* p) {
        return (f32)((u32)_mm256_cvtepu16_epi32(half_row(p)) << 16);
    }
    SIMD_INLINE static f32 load_runs(const float* p, size_t stride) {
        return _mm256_set_m128(_mm_loadu_ps(p + stride), _mm_loadu_ps(p));
    }
    SIMD_INLINE static f32 zip_low(f32 a, f32 b) { return _mm256_unpacklo_ps(a, b); }
    SIMD_INLINE static f32 zip_high(f32 a, f32 b) { return _mm256_unpackhi_ps(a, b); }
    SIMD_INLINE static f32 pair_low(f32 a, f32 b) { return _mm256_shuffle_ps(a, b, 0x44); }
    SIMD_INLINE static f32 pair_high(f32 a, f32 b) { return _mm256_shuffle_ps(a, b, 0xee); }
};

#else

// What NEON and the portable form share: four lanes, written as the compiler's own vectors.
struct FourLanes : Register<4> {
    SIMD_INLINE static f32 max(f32 a, f32 b) { return a > b ? a : b; }
    SIMD_INLINE static f32 min(f32 a, f32 b) { return a < b ? a : b; }
    SIMD_INLINE static f32 load(const float* p, int n) {
        f32 v = {};
        for (int lane = 0; lane < std::min(n, lanes); ++lane) v[lane] = p[lane];
        return v;
    }
    SIMD_INLINE static void store(float* p, f32 v, int n) {
        for (int lane = 0; lane < std::min(n, lanes); ++lane) p[lane] = v[lane];
    }
    SIMD_INLINE static f32 from_bf16(const bf16* p) {
        return (f32)(__builtin_convertvector(read<u16>(p), u32) << 16);
    }
    SIMD_INLINE static f32 load_runs(const float* p, size_t) { return read<f32>(p); }
    SIMD_INLINE static f32 zip_low(f32 a, f32 b) { return f32{a[0], b[0], a[1], b[1]}; }
    SIMD_INLINE static f32 zip_high(f32 a, f32 b) { return f32{a[2], b[2], a[3], b[3]}; }
    SIMD_INLINE static f32 pair_low(f32 a, f32 b) { return f32{a[0], a[1], b[0], b[1]}; }
    SIMD_INLINE static f32 pair_high(f32 a, f32 b) { return f32{a[2], a[3], b[2], b[3]}; }
};

#if defined(__aarch64__)

struct Machine : FourLanes {
    static constexpr const char* name = "NEON";
    static constexpr int n_registers = 32;
    static constexpr bool has_fma = true;
    SIMD_INLINE static f32 fma(f32 a, f32 b, f32 c) {
        return (f32)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
    }
    SIMD_INLINE static f32 from_half(const half* p) {
        return (f32)vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16((const uint16_t*)p)));
    }
    SIMD_INLINE static void to_half(half* p, f32 v) {
        vst1_u16((uint16_t*)p, vreinterpret_u16_f16(vcvt_f16_f32((float32x4_t)v)));
    }
};

#else

struct Machine : FourLanes {
    static constexpr const char* name = "portable";
    static constexpr int n_registers = 16;
#if defined(__FP_FAST_FMAF)  // fmaf is an instruction here; elsewhere it would be a library call a lane
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

// op(i, lane) for every register i and its first lane: no loop, so that no register needs an address.
template <class Op>
SIMD_INLINE void for_parts(Op op) {
    constexpr int n = Machine::lanes;
    op(0, 0);
    if constexpr (n_parts > 1) op(1, n);
    if constexpr (n_parts > 2) op(2, 2 * n), op(3, 3 * n);
}
// The vector whose register i is op(lane), or op of the registers i of other vectors.
template <class Result, class Op>
SIMD_INLINE Result make(Op op) {
    Result result;
    for_parts([&](int i, int lane) { result.part[i] = op(lane); });
    return result;
}
template <class Result, class Op, class... Vector>
SIMD_INLINE Result each(Op op, Vector... v) {
    Result result;
    for_parts([&](int i, int) { result.part[i] = op(v.part[i]...); });
    return result;
}
}  // namespace simd

// --- Sixteen lanes -----------------------------------------------------------------------------------

// f32x16{} is zero.
struct f32x16 {
    using Part = simd::Machine::f32;
    Part part[simd::n_parts];

    SIMD_INLINE static f32x16 broadcast(float x) {
        return simd::make<f32x16>([&](int) { return x - Part{}; });  // x - 0 is x, in every lane
    }
    // Sixteen numbers, at any address; 16-bit ones are widened, which is exact.
    SIMD_INLINE static f32x16 load(const float* p) {
        return simd::make<f32x16>([&](int lane) { return simd::read<Part>(p + lane); });
    }
    SIMD_INLINE static f32x16 load(const half* p) {
        return simd::make<f32x16>([&](int lane) { return simd::Machine::from_half(p + lane); });
    }
    SIMD_INLINE static f32x16 load(const bf16* p) {
        return simd::make<f32x16>([&](int lane) { return simd::Machine::from_bf16(p + lane); });
    }
    // The first n, 0 <= n <= 16: no byte behind them is read, the other lanes are 0.
    SIMD_INLINE static f32x16 load(const float* p, int n) {
        return simd::make<f32x16>([&](int lane) { return simd::Machine::load(p + lane, n - lane); });
    }
    template <class Half>  // 16-bit tails pass through a full row
    SIMD_INLINE static f32x16 load(const Half* p, int n) {
        Half row[16] = {};
        std::memcpy(row, p, size_t(n) * sizeof(Half));
        return load(row);
    }
};

// Integers; also what a comparison gives: all bits set where it holds, else 0.
struct i32x16 {
    using Part = simd::Machine::i32;
    Part part[simd::n_parts];

    SIMD_INLINE static i32x16 broadcast(int32_t x) {
        return simd::make<i32x16>([&](int) { return x - Part{}; });
    }
    SIMD_INLINE static i32x16 load(const int32_t* p) {
        return simd::make<i32x16>([&](int lane) { return simd::read<Part>(p + lane); });
    }
    SIMD_INLINE static i32x16 iota() {  // 0, 1, .. 15
        constexpr int32_t lane[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
        return load(lane);
    }
};

SIMD_INLINE void store(float* p, f32x16 v) {
    simd::for_parts([&](int i, int lane) { simd::write(p + lane, v.part[i]); });
}
SIMD_INLINE void store(int32_t* p, i32x16 v) {
    simd::for_parts([&](int i, int lane) { simd::write(p + lane, v.part[i]); });
}
SIMD_INLINE void store(half* p, f32x16 v) {
    simd::for_parts([&](int i, int lane) { simd::Machine::to_half(p + lane, v.part[i]); });
}
SIMD_INLINE void store(bf16* p, f32x16 v) {  // to_bf16 of half.hpp, lane by lane
    simd::for_parts([&](int i, int lane) {
        const auto bits = (simd::Machine::u32)v.part[i], upper = bits >> 16;
        const auto rounded = (bits + 0x7fff + (upper & 1)) >> 16;
        const auto is_nan = (bits & 0x7fffffff) > 0x7f800000;
        simd::write(p + lane, __builtin_convertvector(is_nan ? upper | 0x40 : rounded, simd::Machine::u16));
    });
}
// The first n only, 0 <= n <= 16. All sixteen go the plain way: AVX2's masked store takes ten times as long on AMD.
SIMD_INLINE void store(float* p, f32x16 v, int n) {
    if (n >= 16) return store(p, v);
    simd::for_parts([&](int i, int lane) { simd::Machine::store(p + lane, v.part[i], n - lane); });
}
template <class Half>
SIMD_INLINE void store(Half* p, f32x16 v, int n) {
    Half row[16];
    store(row, v);
    std::memcpy(p, row, size_t(n) * sizeof(Half));
}

#define SIMD_OPERATOR(Result, Vector, op)                                                                    \
    SIMD_INLINE Result operator op(Vector a, Vector b) {                                                     \
        return simd::each<Result>([](auto x, auto y) { return x op y; }, a, b);                              \
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
SIMD_OPERATOR(i32x16, i32x16, &)
SIMD_OPERATOR(i32x16, i32x16, <)
SIMD_OPERATOR(i32x16, i32x16, >)
SIMD_OPERATOR(i32x16, i32x16, ==)
#undef SIMD_OPERATOR

SIMD_INLINE f32x16& operator+=(f32x16& a, f32x16 b) { return a = a + b; }
SIMD_INLINE f32x16& operator*=(f32x16& a, f32x16 b) { return a = a * b; }
SIMD_INLINE i32x16 operator<<(i32x16 a, int n) {
    return simd::each<i32x16>([n](auto x) { return x << n; }, a);
}
SIMD_INLINE i32x16 operator>>(i32x16 a, int n) {  // the sign is kept
    return simd::each<i32x16>([n](auto x) { return x >> n; }, a);
}

// a * b + c, rounded once; on a machine without the instruction a product, then a sum. Within one build it
// is the same everywhere: whole vectors, tails, and the scalar form.
SIMD_INLINE f32x16 fma(f32x16 a, f32x16 b, f32x16 c) {
    return simd::each<f32x16>(simd::Machine::fma, a, b, c);
}
SIMD_INLINE float scalar_fma(float a, float b, float c) {
    return simd::Machine::has_fma ? __builtin_fmaf(a, b, c) : a * b + c;
}

// Of a lane where either is NaN, b.
SIMD_INLINE f32x16 max(f32x16 a, f32x16 b) { return simd::each<f32x16>(simd::Machine::max, a, b); }
SIMD_INLINE f32x16 min(f32x16 a, f32x16 b) { return simd::each<f32x16>(simd::Machine::min, a, b); }

template <class Vector>
SIMD_INLINE Vector select(i32x16 where, Vector yes, Vector no) {
    return simd::each<Vector>([](auto mask, auto x, auto y) { return mask ? x : y; }, where, yes, no);
}

// The same bits under the other type; the same numbers, rounded to float.
SIMD_INLINE i32x16 as_bits(f32x16 a) {
    return simd::each<i32x16>([](auto x) { return (simd::Machine::i32)x; }, a);
}
SIMD_INLINE f32x16 from_bits(i32x16 a) {
    return simd::each<f32x16>([](auto x) { return (simd::Machine::f32)x; }, a);
}
SIMD_INLINE f32x16 to_float(i32x16 a) {
    return simd::each<f32x16>([](auto x) { return __builtin_convertvector(x, simd::Machine::f32); }, a);
}

SIMD_INLINE void prefetch(const void* p) { __builtin_prefetch(p); }

// A waiting loop says so to its core, which then leaves more of itself to the other hardware thread.
SIMD_INLINE void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
    _mm_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#undef SIMD_INLINE

#include "common/simd_functions.hpp"  // exp, reductions, transpose16x16
