// Ways in which a kernel does not come to its end by itself; the argument chooses one, 0 is right.
#include <cassert>

#include "tests/simt/check.cuh"

// Not inlined, each on one line: wherever in it the time or the stack ends, that line is named.
// clang-format off
__device__ __noinline__ int deep(int n) { volatile int here[64] = {n}; return n == 0 ? 0 : deep(n - 1) + here[n % 64]; }
__device__ __noinline__ void spin_volatile(int* p) { while (*(volatile int*)p == 0) {} }
__device__ __noinline__ void spin_atomic(int* p) { while (atomicAdd(p, 0) == 0) {} }
// clang-format on

__global__ void wrong(int way, int* p, int zero) {
    const int t = threadIdx.x;
    if (way == 1 && t == 40) __shfl_sync(0xffffffff, t, 0);  // lanes 32 .. 63 but one are at the barrier
    __syncthreads();
    if (way == 2) spin_volatile(p);
    if (way == 3) spin_atomic(p);
    if (way == 4) assert(t < 63);
    if (way == 5 && t == 5) __trap();
    if (way == 6) *(volatile int*)(8 * size_t(t)) = 1;
    if (way == 7) p[0] = t / zero;
    if (way == 8) p[0] = deep(1 << 20);
    if (way == 0) p[t] = 1;
}

int main(int argc, char** argv) {
    int* p = to_device(std::vector<int>(64));
    wrong<<<1, 64>>>(argc > 1 ? std::atoi(argv[1]) : 0, p, 0);
    std::puts(cudaGetErrorName(cudaDeviceSynchronize()));
    std::puts(cudaGetErrorName(cudaGetLastError()));
    std::puts(cudaGetErrorName(cudaMemset(p, 0, 4)));
    CHECK(cudaDeviceReset());
}
