// Numbers of 16 bits: conversions, arithmetic that rounds once, pairs, and a kernel that adds in float.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>

#include "tests/simt/check.cuh"

__global__ void axpy(const __half2* x, __half2* y, float a, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __hfma2(__float2half2_rn(a), x[i], y[i]);
}

template <typename T>
__device__ float to_float(T x);
template <>
__device__ float to_float(__half x) {
    return __half2float(x);
}
template <>
__device__ float to_float(__nv_bfloat16 x) {
    return __bfloat162float(x);
}

template <typename T>
__global__ void dot(const T* a, const T* b, float* out, int n) {
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 32) sum += to_float(a[i]) * to_float(b[i]);
    for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(0xffffffff, sum, by);
    if (threadIdx.x == 0) *out = sum;
}

__global__ void one_at_a_time(__half* out) {
    const __half a = __float2half(1.5f), b = __float2half(-0.25f);
    out[0] = __hadd(a, b), out[1] = __hsub(a, b), out[2] = __hmul(a, b), out[3] = __hdiv(a, b);
    out[4] = __hfma(a, b, a), out[5] = __hneg(a), out[6] = __habs(b), out[7] = __hmax(a, b),
    out[8] = __hmin(a, b);
    out[9] = hexp(__float2half(0.0f)), out[10] = hsqrt(__float2half(4.0f)), out[11] = __hgt(a, b) ? a : b;
    out[12] = __low2half(__halves2half2(a, b)), out[13] = __high2half(__half2half2(b));
    out[14] = __ushort_as_half(0x3c00),
    out[15] = __float2half(__half2float(a) + __low2float(__floats2half2_rn(1, 2)));
}

uint16_t bits(__half x) {
    uint16_t b;
    std::memcpy(&b, &x, 2);
    return b;
}

int main() {
    // Rounded to nearest, ties to even; where half begins and ends.
    const struct {
        float x;
        uint16_t half;
    } roundings[] = {{1, 0x3c00},        {-2, 0xc000},    {2049, 0x6800},  {2051, 0x6802},
                     {65504, 0x7bff},    {65519, 0x7bff}, {65520, 0x7c00}, {5.9604645e-8f, 1},
                     {2.9802322e-8f, 0}, {4e-8f, 1},      {0.1f, 0x2e66}};
    for (const auto& r : roundings) EXPECT(bits(__float2half(r.x)) == r.half);
    EXPECT(__bfloat162float(__float2bfloat16(257)) == 256 && __bfloat162float(__float2bfloat16(259)) == 260);

    const int n = 100;
    std::vector<__half> a(2 * n), b(2 * n);
    for (int i = 0; i < 2 * n; ++i)
        a[i] = __float2half(float(i % 17) / 4), b[i] = __float2half(float(i % 5) - 2);
    __half *x = to_device(a), *y = to_device(b);
    axpy<<<2, 64>>>((const __half2*)x, (__half2*)y, 0.5f, n);
    const std::vector<__half> sum = to_host(y, 2 * n);
    for (int i = 0; i < 2 * n; ++i)
        EXPECT(__half2float(sum[i]) == __half2float(a[i]) * 0.5f + __half2float(b[i]));

    float* out;
    CHECK(cudaMalloc(&out, sizeof(float)));
    dot<<<1, 32>>>(x, x, out, 2 * n);
    float expected = 0;
    for (const __half v : a) expected += __half2float(v) * __half2float(v);
    EXPECT(to_host(out, 1)[0] == expected);
    std::vector<__nv_bfloat16> c(n, __float2bfloat16(3));
    dot<<<1, 32>>>(to_device(c), to_device(c), out, n);
    EXPECT(to_host(out, 1)[0] == 900);

    one_at_a_time<<<1, 1>>>(x);
    const float right[] = {1.25f,  1.75f, -0.375f, -6,   1.125f, -1.5f,  0.25f, 1.5f,
                           -0.25f, 1,     2,       1.5f, 1.5f,   -0.25f, 1,     2.5f};
    const std::vector<__half> got = to_host(x, 16);
    for (int i = 0; i < 16; ++i) EXPECT(__half2float(got[i]) == right[i]);

    // A product and a sum rounded once: (1 + 2^-10)^2 - 1 - 2^-9 is 2^-20, which two roundings lose.
    const __half one_more = __ushort_as_half(0x3c01);
    EXPECT(__half2float(__hfma(one_more, one_more, __float2half(-1.001953125f))) == 9.5367432e-7f);
    CHECK(cudaDeviceSynchronize());
    std::puts("ok");
}
