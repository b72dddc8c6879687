// Blocks that wait for each other: a cooperative launch, with shared memory that must survive the wait.
#include <cooperative_groups.h>

#include "tests/simt/check.cuh"

namespace cg = cooperative_groups;

__global__ void smooth(float* a, float* b, int n, int n_steps) {
    const cg::grid_group grid = cg::this_grid();
    for (int step = 0; step < n_steps; ++step) {
        for (int i = int(grid.thread_rank()); i < n; i += int(grid.size())) {
            const float left = i > 0 ? a[i - 1] : 0, right = i < n - 1 ? a[i + 1] : 0;
            b[i] = (left + 2 * a[i] + right) / 4;
        }
        grid.sync();  // all of b is there before it becomes the next step's input
        float* const swap = a;
        a = b, b = swap;
    }
}

__global__ void rotate(int* out) {
    extern __shared__ int dynamic[];
    __shared__ int mine;
    if (threadIdx.x == 0) mine = 10 * blockIdx.x;
    dynamic[threadIdx.x] = threadIdx.x + 100 * blockIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = mine;
    cg::this_grid().sync();
    const int next = (blockIdx.x + 1) % gridDim.x;
    if (threadIdx.x == 0) out[gridDim.x + blockIdx.x] = out[next] + mine + dynamic[blockDim.x - 1];
}

int main() {
    const int n = 1000, n_steps = 5;
    std::vector<float> x = ramp(n), y(n);
    float *a = to_device(x), *b = to_device(y);
    int steps = n_steps, count = n;
    void* arguments[] = {&a, &b, &count, &steps};
    CHECK(cudaLaunchCooperativeKernel(smooth, dim3(4), dim3(64), arguments));
    CHECK(cudaDeviceSynchronize());
    for (int step = 0; step < n_steps; ++step) {
        for (int i = 0; i < n; ++i)
            y[i] = ((i > 0 ? x[i - 1] : 0) + 2 * x[i] + (i < n - 1 ? x[i + 1] : 0)) / 4;
        std::swap(x, y);
    }
    EXPECT(to_host(b, n) == x);

    int* out = to_device(std::vector<int>(6));
    void* one[] = {&out};
    CHECK(cudaLaunchCooperativeKernel(rotate, 3, 32, one, 32 * sizeof(int), nullptr));
    EXPECT(to_host(out, 6) == std::vector<int>({0, 10, 20, 10 + 0 + 31, 20 + 10 + 131, 0 + 20 + 231}));

    EXPECT(cudaLaunchCooperativeKernel(rotate, 100000, 1024, one) == cudaErrorCooperativeLaunchTooLarge);
    EXPECT(cudaGetLastError() == cudaErrorCooperativeLaunchTooLarge);
    CHECK(cudaDeviceSynchronize());
    std::puts("ok");
}
