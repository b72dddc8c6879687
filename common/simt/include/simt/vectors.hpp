// char1 .. double4, as CUDA has them: aligned so that a whole one is one load, up to 16 bytes.
#pragma once

#define SIMT_VECTORS(T, name, align2, align3, align4)                                                        \
    struct name##1 {                                                                                         \
        T x;                                                                                                 \
    };                                                                                                       \
    struct alignas(align2) name##2 {                                                                         \
        T x, y;                                                                                              \
    };                                                                                                       \
    struct alignas(align3) name##3 {                                                                         \
        T x, y, z;                                                                                           \
    };                                                                                                       \
    struct alignas(align4) name##4 {                                                                         \
        T x, y, z, w;                                                                                        \
    };                                                                                                       \
    constexpr name##1 make_##name##1(T x) { return {x}; }                                                    \
    constexpr name##2 make_##name##2(T x, T y) { return {x, y}; }                                            \
    constexpr name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }                                    \
    constexpr name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
SIMT_VECTORS(signed char, char, 2, 1, 4)
SIMT_VECTORS(unsigned char, uchar, 2, 1, 4)
SIMT_VECTORS(short, short, 4, 2, 8)
SIMT_VECTORS(unsigned short, ushort, 4, 2, 8)
SIMT_VECTORS(int, int, 8, 4, 16)
SIMT_VECTORS(long, long, 16, 8, 16)
SIMT_VECTORS(unsigned long, ulong, 16, 8, 16)
SIMT_VECTORS(long long, longlong, 16, 8, 16)
SIMT_VECTORS(unsigned long long, ulonglong, 16, 8, 16)
SIMT_VECTORS(float, float, 8, 4, 16)
SIMT_VECTORS(double, double, 16, 8, 16)
#undef SIMT_VECTORS

struct uint1 {
    unsigned x;
};  // uint3 is among the grid's types
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
constexpr uint1 make_uint1(unsigned x) { return {x}; }
constexpr uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
constexpr uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
constexpr uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
