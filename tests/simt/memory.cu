// The memory of the runtime: symbols, pitches, pinned and managed memory, sets and copies.
#include "tests/simt/check.cuh"

__constant__ float weights[5] = {1, 2, 3, 4, 5};
__constant__ const int fixed[2] = {7, 8};
__device__ int table[4];
__device__ const float half_of_it = 0.5f;
__managed__ int shared_by_both = 3;

__global__ void use_symbols(float* out) {
    const int t = threadIdx.x;
    out[t] = weights[t] * half_of_it + fixed[t % 2] + table[t % 4] + shared_by_both;
}
__global__ void change_symbols() { table[3] = 99, shared_by_both = 4; }

__global__ void fill(float* base, size_t pitch, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x < width && y < height) ((float*)((char*)base + y * pitch))[x] = float(100 * y + x);
}

__global__ void twice(float* x, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] *= 2;
}

int main() {
    const float other[2] = {10, 20};
    CHECK(cudaMemcpyToSymbol(weights, other, sizeof other, 3 * sizeof(float)));
    const int numbers[4] = {1, 2, 3, 4};
    CHECK(cudaMemcpyToSymbol(table, numbers, sizeof numbers));
    float* out;
    CHECK(cudaMalloc((void**)&out, 5 * sizeof(float)));
    use_symbols<<<1, 5>>>(out);
    change_symbols<<<1, 1>>>();
    const std::vector<float> got = to_host(out, 5);
    EXPECT(got[0] == 0.5f + 7 + 1 + 3 && got[4] == 10 + 7 + 1 + 3);
    int back[4];
    CHECK(cudaMemcpyFromSymbol(back, table, sizeof back));
    EXPECT(back[3] == 99 && shared_by_both == 4);
    void* address = nullptr;
    size_t n_bytes = 0;
    CHECK(cudaGetSymbolAddress(&address, table));
    CHECK(cudaGetSymbolSize(&n_bytes, table));
    EXPECT(n_bytes == 16);
    CHECK(cudaMemcpy(back, address, 8, cudaMemcpyDeviceToHost));
    EXPECT(back[1] == 2);

    float* rows;
    size_t pitch;
    const int width = 37, height = 9;
    CHECK(cudaMallocPitch(&rows, &pitch, width * sizeof(float), height));
    EXPECT(pitch >= width * sizeof(float));
    fill<<<dim3(2, height), 32>>>(rows, pitch, width, height);
    std::vector<float> image(width * height);
    CHECK(cudaMemcpy2D(image.data(), width * sizeof(float), rows, pitch, width * sizeof(float), height,
                       cudaMemcpyDeviceToHost));
    EXPECT(image[3 * width + 36] == 336);
    CHECK(cudaMemset2D(rows, pitch, 0, 8, height));
    CHECK(cudaMemcpy2D(image.data(), width * sizeof(float), rows, pitch, width * sizeof(float), height,
                       cudaMemcpyDeviceToHost));
    EXPECT(image[3 * width + 1] == 0 && image[3 * width + 2] == 302);

    float *pinned, *mapped, *managed;
    CHECK(cudaMallocHost(&pinned, 100 * sizeof(float)));
    CHECK(cudaHostAlloc(&mapped, 100 * sizeof(float), cudaHostAllocMapped));
    CHECK(cudaMallocManaged(&managed, 100 * sizeof(float)));
    for (int i = 0; i < 100; ++i) pinned[i] = mapped[i] = managed[i] = float(i);
    float* mapped_on_device;
    CHECK(cudaHostGetDevicePointer(&mapped_on_device, mapped, 0));
    twice<<<1, 32>>>(mapped_on_device, 100);
    twice<<<1, 32>>>(managed, 100);
    CHECK(cudaDeviceSynchronize());
    EXPECT(mapped[99] == 198 && managed[99] == 198);

    size_t before, after, total;
    CHECK(cudaMemGetInfo(&before, &total));
    void* block;
    CHECK(cudaMalloc(&block, 1 << 20));
    CHECK(cudaMemGetInfo(&after, &total));
    EXPECT(before - after >= 1 << 20 && after < total);
    CHECK(cudaFree(block));
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, out));
    EXPECT(attributes.type == cudaMemoryTypeDevice && attributes.device == 0);
    CHECK(cudaPointerGetAttributes(&attributes, pinned));
    EXPECT(attributes.type == cudaMemoryTypeHost);
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFreeHost(mapped));
    CHECK(cudaFree(managed));
    CHECK(cudaFree(rows));
    CHECK(cudaFree(out));
    CHECK(cudaFree(nullptr));
    std::puts("ok");
}
