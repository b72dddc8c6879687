// Threads that meet in memory: histograms, the last block, locks, flags between warps, all kinds of atomics.
#include "tests/simt/check.cuh"

__global__ void histogram(const unsigned char* bytes, unsigned* counts, int n) {
    __shared__ unsigned mine[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) mine[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&mine[bytes[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&counts[i], mine[i]);
}

// The block that ends last adds up what all have left.
__device__ unsigned n_done;
__global__ void sum_last(const float* x, float* partial, float* out, int n) {
    __shared__ bool is_last;
    float sum = 0;
    if (threadIdx.x == 0) {
        for (int i = blockIdx.x; i < n; i += gridDim.x) sum += x[i];
        partial[blockIdx.x] = sum;
        __threadfence();
        is_last = atomicInc(&n_done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (is_last && threadIdx.x == 0) {
        float total = 0;
        for (int i = 0; i < gridDim.x; ++i) total += partial[i];
        *out = total;
    }
}

__global__ void locked(int* lock, int* value) {
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            *(volatile int*)value = *(volatile int*)value + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}

// One warp waits for the other; which begins first is not known.
__global__ void flag(int* ready, int* data) {
    if (threadIdx.x == 0) {
        while (atomicAdd(ready, 0) == 0) {}
        data[1] = data[0] + 1;
    } else if (threadIdx.x == 32) {
        data[0] = 41;
        __threadfence();
        atomicExch(ready, 1);
    }
}

__device__ double add_by_cas(double* address, double value) {
    auto* bits = (unsigned long long*)address;
    unsigned long long old = *bits, assumed;
    do {
        assumed = old;
        old = atomicCAS(bits, assumed, __double_as_longlong(value + __longlong_as_double(assumed)));
    } while (assumed != old);
    return __longlong_as_double(old);
}

__global__ void kinds(int* i, unsigned* u, unsigned long long* l, float* f, double* d) {
    const int t = threadIdx.x;
    atomicAdd(i, t), atomicSub(i + 1, 1), atomicMin(i + 2, -t), atomicMax(i + 3, t);
    atomicAnd(u, ~(1u << t % 32)), atomicOr(u + 1, 1u << t % 32), atomicXor(u + 2, 1u), atomicInc(u + 3, 9),
        atomicDec(u + 4, 4);
    atomicAdd(l, 1ull << 33), atomicMax(l + 1, (unsigned long long)t << 40);
    atomicAdd(f, 0.5f), atomicExch(f + 1, 7.0f);
    atomicAdd(d, 0.25), add_by_cas(d + 1, 2.0);
    atomicAdd_block(i + 4, 1), atomicAdd_system(i + 5, 1);
}

int main() {
    std::vector<unsigned char> bytes(10000);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = (unsigned char)(i * i);
    unsigned* counts = to_device(std::vector<unsigned>(256));
    histogram<<<7, 100>>>(to_device(bytes), counts, 10000);
    std::vector<unsigned> expected(256);
    for (const unsigned char b : bytes) ++expected[b];
    EXPECT(to_host(counts, 256) == expected);

    const std::vector<float> in = ramp(1000);
    float *x = to_device(in), *partial = to_device(in), *out = to_device(in), sum = 0;
    for (const float v : in) sum += v;
    for (int again = 0; again < 2; ++again) {
        sum_last<<<10, 32>>>(x, partial, out, 1000);
        EXPECT(to_host(out, 1)[0] == sum);
    }

    int* two = to_device(std::vector<int>{0, 0});
    locked<<<4, 64>>>(two, two + 1);
    EXPECT(to_host(two, 2)[1] == 256);
    int* data = to_device(std::vector<int>{0, 0, 0});
    flag<<<1, 64>>>(data + 2, data);
    EXPECT(to_host(data, 2)[1] == 42);

    int* i = to_device(std::vector<int>{0, 0, 0, 0, 0, 0});
    unsigned* u = to_device(std::vector<unsigned>{~0u, 0, 0, 0, 0});
    auto* l = to_device(std::vector<unsigned long long>{0, 0});
    float* f = to_device(std::vector<float>{0, 0});
    double* d = to_device(std::vector<double>{0, 0});
    kinds<<<2, 64>>>(i, u, l, f, d);
    const std::vector<int> ints = to_host(i, 6);
    EXPECT(ints == std::vector<int>({64 * 63, -128, -63, 63, 128, 128}));
    EXPECT(to_host(u, 5) == std::vector<unsigned>({0, ~0u, 0, 8, 2}));
    EXPECT(to_host(l, 2)[0] == 128ull << 33 && to_host(l, 2)[1] == 63ull << 40);
    EXPECT(to_host(f, 2)[0] == 64 && to_host(f, 2)[1] == 7);
    EXPECT(to_host(d, 2)[0] == 32 && to_host(d, 2)[1] == 256);
    CHECK(cudaDeviceSynchronize());
    std::puts("ok");
}
