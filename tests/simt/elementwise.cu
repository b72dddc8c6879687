// Kernels in which threads do not meet: indices, strides, templates, lambdas, function pointers, structs.
#include "tests/simt/check.cuh"

__global__ void add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

__global__ void saxpy(int n, float a, const float* __restrict__ x, float* __restrict__ y) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        y[i] = a * x[i] + y[i];
}

__global__ void position(int3* out, int width, int height, int depth) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < width && y < height && z < depth) out[(z * height + y) * width + x] = make_int3(x, y, z);
}

template <typename T, int factor>
__global__ void scale(T* x, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= factor;
}

template <typename F>
__global__ void for_each(int n, F f) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) f(i);
}

using Operation = float (*)(float, float);
__device__ float plus(float a, float b) { return a + b; }
__device__ float times(float a, float b) { return a * b; }
__device__ Operation operations[] = {plus, times};

__global__ void apply(float* x, int which, float by) {
    x[threadIdx.x] = operations[which](x[threadIdx.x], by);
}

struct Image {
    float4* pixels;
    int width, height;
    __host__ __device__ float4& at(int x, int y) const { return pixels[y * width + x]; }
};
__global__ void gray(Image image) {
    const int x = threadIdx.x, y = blockIdx.x;
    float4 p = image.at(x, y);
    const float mean = (p.x + p.y + p.z) / 3;
    image.at(x, y) = make_float4(mean, mean, mean, p.w);
}

__host__ __device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__global__ void recursive(int* out) { out[threadIdx.x] = fibonacci(threadIdx.x); }

int main() {
    const int n = 1001;
    const std::vector<float> a = ramp(n);
    float *x = to_device(a), *y = to_device(a), *z = to_device(a);

    add<<<(n + 255) / 256, 256>>>(x, y, z, n);
    for (int i = 0; i < n; ++i) EXPECT(to_host(z, n)[i] == 2 * a[i] || i % 100);
    saxpy<<<3, 64>>>(n, 2.0f, x, z);
    EXPECT(to_host(z, n)[77] == 4 * a[77]);

    int3* where;
    CHECK(cudaMalloc(&where, 5 * 7 * 3 * sizeof(int3)));
    position<<<dim3(2, 3, 2), dim3(4, 3, 2)>>>(where, 5, 7, 3);
    const int3 last = to_host(where, 5 * 7 * 3).back();
    EXPECT(last.x == 4 && last.y == 6 && last.z == 2);

    scale<float, 3><<<dim3(n), 1>>>(x, n);
    EXPECT(to_host(x, n)[5] == 3 * a[5]);
    for_each<<<8, 128>>>(n, [=] __device__(int i) { x[i] = float(i); });
    EXPECT(to_host(x, n)[1000] == 1000);

    apply<<<1, 32>>>(x, 0, 1.5f);
    apply<<<1, 32>>>(x, 1, 2);
    EXPECT(to_host(x, n)[31] == 65);

    Image image{nullptr, 16, 4};
    CHECK(cudaMalloc(&image.pixels, 16 * 4 * sizeof(float4)));
    CHECK(cudaMemcpy(image.pixels, ramp(16 * 4 * 4).data(), 16 * 4 * sizeof(float4), cudaMemcpyHostToDevice));
    gray<<<4, 16>>>(image);
    const float4 pixel = to_host(image.pixels, 64)[1];
    EXPECT(pixel.x == pixel.y && pixel.w == ramp(8)[7]);

    int* numbers;
    CHECK(cudaMalloc(&numbers, 20 * sizeof *numbers));
    recursive<<<1, 20>>>(numbers);
    EXPECT(to_host(numbers, 20)[19] == fibonacci(19));

    void (*kernels[])(int, float, const float*, float*) = {saxpy};
    kernels[0]<<<1, 32>>>(n, 0, x, y);
    EXPECT(to_host(y, n)[3] == a[3]);
    CHECK(cudaDeviceSynchronize());
    std::puts("ok");
}
