// Right programs in which a watcher may see ghosts: bytes, odd sizes, volatile memory, groups, operators, other threads.
#include <cooperative_groups.h>

#include <thread>

#include "tests/simt/check.cuh"

namespace cg = cooperative_groups;

__global__ void invert(unsigned char* pixels, short* heights, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    pixels[i] = 255 - pixels[i];
    heights[i] = short(-heights[i]);
}

struct Rgb {
    unsigned char r, g, b;
};
__global__ void swap_channels(Rgb* pixels) {
    const Rgb p = pixels[threadIdx.x];
    pixels[threadIdx.x] = {p.b, p.g, p.r};
}
__global__ void copy(const float3* in, float3* out) { out[threadIdx.x] = in[threadIdx.x]; }

__global__ void warp_sum(const float* x, float* out) {
    __shared__ volatile float s[64];
    const int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (t < half) s[t] = s[t] + s[t + half];
        __syncthreads();
    }
    if (t == 0) *out = s[0];
}

__global__ void compact(const int* in, int* out, int* count, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && in[i] % 3 == 0) {
        const cg::coalesced_group group = cg::coalesced_threads();
        int base = 0;
        if (group.thread_rank() == 0) base = atomicAdd(count, int(group.size()));
        base = group.shfl(base, 0);
        out[base + group.thread_rank()] = in[i];
    }
}

__device__ float4 operator+(float4 a, float4 b) {
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
__host__ __device__ inline float4& operator+=(float4& a, float s) { return a.x += s, a; }
struct Vector {
    float x;
    __device__ explicit operator float() const { return x; }
    __device__ float operator()(float y) const { return x + y; }
    __device__ float operator[](int i) const { return x * i; }
};
__device__ float4 offset = {1, 2, 3, 4};
__device__ const float* where = nullptr;
__device__ const float fixed = 0.5f;
__constant__ __device__ int twice_marked = 3;
__global__ void operators(float4* x, Vector v) {
    float4 sum = x[threadIdx.x] + offset;
    sum += v(1) + v[2] + float(v) + fixed + float(where == nullptr) + float(twice_marked);
    x[threadIdx.x] = sum;
}

__constant__ const char* const names[] = {"zero", "one"};
__global__ void letters(char* out) { out[threadIdx.x] = names[threadIdx.x % 2][0]; }

__global__ void shared_by_a_block(int* out) {
    __shared__ int s[32];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[blockIdx.x * 32 + threadIdx.x] = s[31 - threadIdx.x];
}

// A barrier of the grid by hand: the blocks of a cooperative launch wait for each other through memory.
__global__ void by_hand(int* arrived, int* out) {
    out[blockIdx.x] = blockIdx.x + 1;
    __threadfence();
    atomicAdd(arrived, 1);
    while (atomicAdd(arrived, 0) < gridDim.x) {}
    out[gridDim.x + blockIdx.x] = out[(blockIdx.x + 1) % gridDim.x];
}

int main() {
    const int n = 300;
    std::vector<unsigned char> pixels(n);
    std::vector<short> heights(n);
    for (int i = 0; i < n; ++i) pixels[i] = (unsigned char)(i), heights[i] = short(i);
    unsigned char* p = to_device(pixels);
    short* h = to_device(heights);
    invert<<<3, 128>>>(p, h, n);
    EXPECT(to_host(p, n)[299] == 255 - 299 % 256 && to_host(h, n)[299] == -299);
    swap_channels<<<1, 100>>>((Rgb*)p);
    EXPECT(to_host(p, n)[0] == 253 && to_host(p, n)[2] == 255);

    std::vector<float> x = ramp(64);
    float *in = to_device(ramp(300)), *out = to_device(ramp(300));
    copy<<<1, 100>>>((const float3*)in, (float3*)out);
    warp_sum<<<1, 64>>>(in, out);
    double sum = 0;
    for (const float v : x) sum += v;
    EXPECT(to_host(out, 1)[0] == float(sum));

    std::vector<int> numbers(n);
    for (int i = 0; i < n; ++i) numbers[i] = i;
    int *a = to_device(numbers), *b = to_device(numbers), *count = to_device(std::vector<int>{0});
    compact<<<3, 128>>>(a, b, count, n);
    EXPECT(to_host(count, 1)[0] == 100);

    operators<<<1, 32>>>((float4*)in, Vector{2});
    EXPECT(to_host(in, 2)[1] == ramp(2)[1] + 2);
    letters<<<1, 4>>>((char*)p);
    EXPECT(to_host(p, 2)[1] == 'o');

    // The host's other threads launch and wait too.
    std::vector<std::thread> threads;
    int* results = to_device(std::vector<int>(4 * 64));
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([results, i] {
            cudaStream_t stream;
            CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
            shared_by_a_block<<<2, 32, 0, stream>>>(results + 64 * i);
            CHECK(cudaStreamSynchronize(stream));
        });
    }
    for (std::thread& t : threads) t.join();
    EXPECT(to_host(results, 256)[255] == 0 && to_host(results, 256)[224] == 31);

    int* arrived = to_device(std::vector<int>{0});
    void* arguments[] = {&arrived, &results};
    CHECK(cudaLaunchCooperativeKernel(by_hand, dim3(4), dim3(1), arguments));
    EXPECT(to_host(results, 8)[7] == 1);

    // Ordered after a stream that is gone; a copy into ordinary memory is done when the call returns.
    cudaStream_t gone;
    CHECK(cudaStreamCreate(&gone));
    compact<<<3, 128, 0, gone>>>(a, b, count, n);
    CHECK(cudaStreamDestroy(gone));
    EXPECT(to_host(count, 1)[0] == 200);
    int value = 0;
    CHECK(cudaMemcpyAsync(&value, count, sizeof value, cudaMemcpyDeviceToHost));
    EXPECT(value == 200);
    CHECK(cudaDeviceSynchronize());
    std::puts("ok");
}
