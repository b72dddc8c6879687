// One fault for each kind that watching a kernel's memory finds, and beside it the right way. `memory KIND` runs the
// wrong one, `memory KIND right` its twin. The line that is to be named ends with the kind's number.
#include <cstring>

#include "tests/simt/check.cuh"

constexpr int n = 128;

__global__ void no_barrier(float* out, bool right) {
    __shared__ float s[n];
    const int t = threadIdx.x;
    s[t] = float(t);
    if (right) __syncthreads();
    out[t] = s[n - 1 - t];  // 1
}

__global__ void tree_without_barrier(float* out, bool right) {
    __shared__ float s[n];
    s[threadIdx.x] = 1;
    __syncthreads();
    for (int half = n / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];  // 2
        if (right) __syncthreads();
    }
    if (threadIdx.x == 0) *out = s[0];
}

__global__ void counter(int* count, bool right) {
    if (right)
        atomicAdd(count, 1);
    else
        *count = *count + 1;  // 3
}

__global__ void blocks(int* x, bool right) {
    if (threadIdx.x == 0) x[right ? blockIdx.x : 0] = blockIdx.x;  // 4
}

__global__ void past_the_end(float* out, bool right) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (right ? i < n : i <= n) out[i] = 1;  // 5
}

__global__ void read_before(const float* in, float* out, bool right) {
    const int i = int(threadIdx.x) - (right ? 0 : 1);
    out[threadIdx.x] = in[i];  // 6
}

__global__ void no_value_shared(float* out, bool right) {
    __shared__ float s[n];
    if (threadIdx.x < (right ? n : n / 2)) s[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];  // 7
}

__global__ void copy(const float* in, float* out) {
    out[threadIdx.x] = in[threadIdx.x];  // 8 9 10
}

__global__ void misaligned(char* bytes, bool right) {
    if (threadIdx.x == 0) *(int*)(bytes + (right ? 4 : 6)) = 1;  // 11
}

__global__ void dynamic(float* out, bool right) {
    extern __shared__ float s[];
    s[threadIdx.x + (right ? 0 : 1)] = 1;  // 12
    __syncthreads();
    out[threadIdx.x] = 1;
}

__global__ void warp_without_sync(int* out, bool right) {
    __shared__ int s[32];
    s[threadIdx.x] = threadIdx.x;
    if (right) __syncwarp();
    out[threadIdx.x] = s[threadIdx.x ^ 1];  // 13
}

__global__ void flag_without_fence(int* data, int* flag, bool right) {
    if (blockIdx.x == 0) {
        data[0] = 42;
        if (right) __threadfence();
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        data[1] = data[0];  // 14
    }
}

__global__ void reuse(float* out, bool right) {
    __shared__ float s[n];
    for (int i = 0; i < 2; ++i) {
        s[threadIdx.x] = float(i);  // 15
        __syncthreads();
        out[threadIdx.x] = s[(threadIdx.x + 32) % n];
        if (right) __syncthreads();
    }
}

int main(int argc, char** argv) {
    const int kind = argc > 1 ? std::atoi(argv[1]) : 0;
    const bool right = argc > 2;
    float *x, *y;
    CHECK(cudaMalloc(&x, n * sizeof(float)));
    CHECK(cudaMalloc(&y, n * sizeof(float)));
    CHECK(cudaMemset(x, 0, n * sizeof(float)));
    int* const counts = (int*)x;
    std::vector<float> host(n);
    float* gone;
    CHECK(cudaMalloc(&gone, n * sizeof(float)));
    CHECK(cudaMemset(gone, 0, n * sizeof(float)));
    if (!right) CHECK(cudaFree(gone));
    switch (kind) {
        case 1: no_barrier<<<1, n>>>(y, right); break;
        case 2: tree_without_barrier<<<1, n>>>(y, right); break;
        case 3: counter<<<2, n>>>(counts, right); break;
        case 4: blocks<<<4, 32>>>(counts, right); break;
        case 5: past_the_end<<<2, n>>>(y, right); break;
        case 6: read_before<<<1, n>>>(x, y, right); break;
        case 7: no_value_shared<<<1, n>>>(y, right); break;
        case 8: copy<<<1, n>>>(right ? x : y, y); break;            // memory without a value
        case 9: copy<<<1, n>>>(right ? x : host.data(), y); break;  // a pointer of the host
        case 10: copy<<<1, n>>>(gone, y); break;                    // freed before
        case 11: misaligned<<<1, n>>>((char*)x, right); break;
        case 12: dynamic<<<1, n, n * sizeof(float)>>>(y, right); break;
        case 13: warp_without_sync<<<1, 32>>>(counts, right); break;
        case 14: flag_without_fence<<<2, 1>>>(counts, counts + 8, right); break;
        case 15: reuse<<<1, n>>>(y, right); break;
    }
    std::puts(cudaGetErrorName(cudaDeviceSynchronize()));
}
