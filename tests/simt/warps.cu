// The lanes of a warp: shuffles of every kind, votes, matches, reductions, compaction, tiles.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include "tests/simt/check.cuh"

namespace cg = cooperative_groups;

constexpr unsigned full = 0xffffffff;

__device__ float warp_sum(float x) {
#pragma unroll
    for (int by = 16; by > 0; by /= 2) x += __shfl_down_sync(full, x, by);
    return x;
}

__global__ void reduce(const float* x, float* out, int n) {
    __shared__ float sums[32];
    const int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[i];
    sum = warp_sum(sum);
    if (lane == 0) sums[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = warp_sum(lane < blockDim.x / 32 ? sums[lane] : 0);
        if (lane == 0) *out = sum;
    }
}

// Positive numbers close up: the warp's lanes agree on their places, one lane asks for room.
__global__ void compact(const float* in, float* out, int* count, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    const bool keep = i < n && in[i] > 0;
    const unsigned kept = __ballot_sync(full, keep);
    int base = 0;
    if (lane == 0) base = atomicAdd(count, __popc(kept));
    base = __shfl_sync(full, base, 0);
    if (keep) out[base + __popc(kept & ((1u << lane) - 1))] = in[i];
}

__global__ void kinds(int* out) {
    const int lane = threadIdx.x;
    int* mine = out + lane * 12;
    mine[0] = __shfl_sync(full, lane, 5);
    mine[1] = __shfl_sync(full, lane, 3, 8);
    mine[2] = __shfl_up_sync(full, lane, 2);
    mine[3] = __shfl_down_sync(full, lane, 3, 16);
    mine[4] = __shfl_xor_sync(full, lane, 7);
    mine[5] = __any_sync(full, lane == 9) + 2 * __all_sync(full, lane < 32);
    mine[6] = __match_any_sync(full, lane / 10);
    int same = 0;
    mine[7] = __match_all_sync(full, 42, &same) == full && same;
    mine[8] = __reduce_add_sync(full, lane);
    mine[9] = __reduce_max_sync(full, lane ^ 21);
    mine[10] = int(__shfl_xor_sync(full, double(lane) / 4, 1) * 4);
    if (lane < 20)
        mine[11] = __shfl_sync(0x000fffff, lane, 19);  // a part of the warp
    else
        mine[11] = -__reduce_min_sync(0xfff00000, lane);
}

template <int size>
__global__ void tiles(int* out) {
    const cg::thread_block block = cg::this_thread_block();
    const auto tile = cg::tiled_partition<size>(block);
    const int sum = cg::reduce(tile, int(block.thread_rank()), cg::plus<int>());
    const int before = cg::exclusive_scan(tile, 1);
    block.sync();
    out[block.thread_rank()] =
        sum * 100 + before * 10 + int(tile.thread_rank() == before) + tile.any(tile.thread_rank() == 1) * 2;
}

// Each lane waits for its own masks; lanes that have ended are not waited for.
__global__ void changing_masks(int* out) {
    const int lane = threadIdx.x;
    if (lane >= 30) return;
    int sum = 0;
    for (int n = 30; n > lane; --n) sum += __shfl_sync((1u << n) - 1, lane, n - 1);
    out[lane] = sum;
}

int main() {
    const std::vector<float> in = ramp(3000);
    float *x = to_device(in), *y = to_device(in);
    reduce<<<1, 256>>>(x, y, 3000);
    double sum = 0;
    for (const float v : in) sum += v;
    EXPECT(to_host(y, 1)[0] == float(sum));

    int n_positive = 0, *count = to_device(std::vector<int>{0});
    for (const float v : in) n_positive += v > 0;
    compact<<<12, 256>>>(x, y, count, 3000);
    EXPECT(to_host(count, 1)[0] == n_positive);
    for (const float v : to_host(y, n_positive)) EXPECT(v > 0);

    int* out = to_device(std::vector<int>(32 * 12));
    kinds<<<1, 32>>>(out);
    const std::vector<int> got = to_host(out, 32 * 12);
    for (int lane = 0; lane < 32; ++lane) {
        const int* mine = &got[lane * 12];
        EXPECT(mine[0] == 5);
        EXPECT(mine[1] == lane / 8 * 8 + 3);
        EXPECT(mine[2] == (lane < 2 ? lane : lane - 2));
        EXPECT(mine[3] == (lane % 16 + 3 < 16 ? lane + 3 : lane));
        EXPECT(mine[4] == (lane ^ 7));
        EXPECT(mine[5] == 3);
        unsigned same = 0;
        for (int other = 0; other < 32; ++other) same |= unsigned(other / 10 == lane / 10) << other;
        EXPECT(unsigned(mine[6]) == same);
        EXPECT(mine[7] == 1);
        EXPECT(mine[8] == 31 * 16);
        EXPECT(mine[9] == 31);
        EXPECT(mine[10] == (lane ^ 1));
        EXPECT(mine[11] == (lane < 20 ? 19 : -20));
    }

    tiles<8><<<1, 64>>>(out);
    const std::vector<int> t = to_host(out, 64);
    for (int i = 0; i < 64; ++i) EXPECT(t[i] == ((i / 8 * 8) * 8 + 28) * 100 + i % 8 * 10 + 3);

    changing_masks<<<1, 32>>>(out);
    EXPECT(to_host(out, 1)[0] == 29 * 30 / 2);
    CHECK(cudaDeviceSynchronize());
    std::puts("ok");
}
