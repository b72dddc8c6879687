// Kernels in which the threads of a block meet in shared memory: transposes, tree reductions, scans, stencils, tiles.
#include "tests/simt/check.cuh"

__global__ void transpose_naive(const float* in, float* out, int width, int height) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    if (x < width && y < height) out[x * height + y] = in[y * width + x];
}

template <int padding>
__global__ void transpose(const float* in, float* out, int width, int height) {
    __shared__ float tile[32][32 + padding];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8) {
        if (x < width && y + i < height) tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * width + x];
    }
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8) {
        if (x < height && y + i < width) out[(y + i) * height + x] = tile[threadIdx.x][threadIdx.y + i];
    }
}

__global__ void reduce_tree(const float* x, float* sums, int n) {
    extern __shared__ float partial[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    partial[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}

// Hillis and Steele, two buffers in one dynamic array.
__global__ void scan_block(const int* in, int* out, int n) {
    extern __shared__ __align__(16) int two[];
    int *from = two, *to = two + blockDim.x;
    const int t = threadIdx.x;
    from[t] = t < n ? in[t] : 0;
    __syncthreads();
    for (int by = 1; by < blockDim.x; by <<= 1) {
        to[t] = from[t] + (t >= by ? from[t - by] : 0);
        __syncthreads();
        int* swap = from;
        from = to, to = swap;
    }
    if (t < n) out[t] = from[t];
}

constexpr int radius = 3, width = 64;
__global__ void stencil(const float* in, float* out, int n) {
    __shared__ float near[width + 2 * radius];
    const int i = blockIdx.x * width + threadIdx.x, local = threadIdx.x + radius;
    near[local] = i < n ? in[i] : 0;
    if (threadIdx.x < radius) {
        near[local - radius] = i >= radius ? in[i - radius] : 0;
        near[local + width] = i + width < n ? in[i + width] : 0;
    }
    __syncthreads();
    float sum = 0;
    for (int offset = -radius; offset <= radius; ++offset) sum += near[local + offset];
    if (i < n) out[i] = sum;
}

template <int tile>
__global__ void matmul(const float* a, const float* b, float* c, int rows, int columns, int inner) {
    __shared__ float tile_a[tile][tile], tile_b[tile][tile];
    const int row = blockIdx.y * tile + threadIdx.y, column = blockIdx.x * tile + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < inner; k += tile) {
        const int ka = k + threadIdx.x, kb = k + threadIdx.y;
        tile_a[threadIdx.y][threadIdx.x] = row < rows && ka < inner ? a[row * inner + ka] : 0;
        tile_b[threadIdx.y][threadIdx.x] = kb < inner && column < columns ? b[kb * columns + column] : 0;
        __syncthreads();  // the tiles are complete
        for (int i = 0; i < tile; ++i) sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
        __syncthreads();  // and read by all before the next ones come
    }
    if (row < rows && column < columns) c[row * columns + column] = sum;
}

// Every thread leaves early but the last warp's: those that have ended are not waited for.
__global__ void early(int* out, int n) {
    if (threadIdx.x >= n) return;
    out[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] += __syncthreads_count(threadIdx.x % 2) + 100 * __syncthreads_or(threadIdx.x == 3) +
                        1000 * __syncthreads_and(threadIdx.x < n);
}

int main() {
    const int w = 70, h = 45;
    const std::vector<float> in = ramp(w * h);
    float *x = to_device(in), *y = to_device(in);
    const dim3 grid((w + 31) / 32, (h + 31) / 32);
    for (int version = 0; version < 3; ++version) {
        CHECK(cudaMemset(y, 0, w * h * sizeof(float)));
        if (version == 0) transpose_naive<<<grid, dim3(32, 32)>>>(x, y, w, h);
        if (version == 1) transpose<0><<<grid, dim3(32, 8)>>>(x, y, w, h);
        if (version == 2) transpose<1><<<grid, dim3(32, 8)>>>(x, y, w, h);
        const std::vector<float> out = to_host(y, w * h);
        for (int i = 0; i < h; ++i) {
            for (int j = 0; j < w; ++j) EXPECT(out[j * h + i] == in[i * w + j]);
        }
    }

    reduce_tree<<<13, 256, 256 * sizeof(float)>>>(x, y, w * h);
    double sum = 0, expected = 0;
    for (const float s : to_host(y, 13)) sum += s;
    for (const float v : in) expected += v;
    EXPECT(sum == expected);

    std::vector<int> ones(100, 1);
    int* counts = to_device(ones);
    scan_block<<<1, 128, 2 * 128 * sizeof(int)>>>(counts, counts, 100);
    EXPECT(to_host(counts, 100)[99] == 100);

    stencil<<<(1000 + width - 1) / width, width>>>(x, y, 1000);
    const std::vector<float> sums = to_host(y, 1000);
    for (const int i : {0, 63, 64, 500, 999}) {
        float s = 0;
        for (int j = i - radius; j <= i + radius; ++j) s += j >= 0 && j < 1000 ? in[j] : 0;
        EXPECT(sums[i] == s);
    }

    matmul<16><<<dim3(2, 3), dim3(16, 16)>>>(x, x, y, 37, 29, 19);
    const std::vector<float> c = to_host(y, 37 * 29);
    for (int row = 0; row < 37; row += 12) {
        for (int column = 0; column < 29; column += 7) {
            float s = 0;
            for (int k = 0; k < 19; ++k) s += in[row * 19 + k] * in[k * 29 + column];
            EXPECT(c[row * 29 + column] == s);
        }
    }

    early<<<1, 128>>>(counts, 50);
    EXPECT(to_host(counts, 50)[49] == 1 + 25 + 100 + 1000);
    CHECK(cudaDeviceSynchronize());
    std::puts("ok");
}
