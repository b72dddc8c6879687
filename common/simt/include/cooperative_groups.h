// Groups of threads that wait and exchange together: the block, tiles of a warp, the grid.
#pragma once

#include <cuda_runtime.h>

namespace cooperative_groups {

class thread_block {
  public:
    static void sync(simt::Place place = simt::Place::here()) { simt::barrier(false, place); }
    static unsigned thread_rank() {
        return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    }
    static unsigned num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
    static unsigned size() { return num_threads(); }
    static dim3 group_index() { return blockIdx; }
    static dim3 thread_index() { return threadIdx; }
    static dim3 dim_threads() { return blockDim; }
    static dim3 group_dim() { return blockDim; }
};
inline thread_block this_thread_block() { return {}; }

// All blocks of a cooperative launch.
class grid_group {
  public:
    static void sync(simt::Place place = simt::Place::here()) { simt::grid_barrier(place); }
    static bool is_valid() { return true; }
    static unsigned long long block_rank() {
        return blockIdx.x +
               (unsigned long long)gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
    }
    static unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
    static unsigned long long thread_rank() {
        return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
    }
    static unsigned long long num_threads() { return num_blocks() * thread_block::num_threads(); }
    static unsigned long long size() { return num_threads(); }
    static dim3 group_dim() { return gridDim; }
    static dim3 dim_blocks() { return gridDim; }
    static dim3 block_index() { return blockIdx; }
};
inline grid_group this_grid() { return {}; }

// Lanes of one warp, by their mask: what a tile and the coalesced threads have in common.
class lanes {
  public:
    explicit lanes(unsigned mask) : mask_(mask) {}

    unsigned num_threads() const { return unsigned(__popc(mask_)); }
    unsigned size() const { return num_threads(); }
    unsigned thread_rank() const { return unsigned(__popc(mask_ & ((1u << lane()) - 1))); }
    void sync(simt::Place place = simt::Place::here()) const { __syncwarp(mask_, place); }

    template <class T>
    T shfl(T value, int rank, simt::Place place = simt::Place::here()) const {
        return __shfl_sync(mask_, value, lane_of(unsigned(rank) % num_threads()), 32, place);
    }
    template <class T>
    T shfl_down(T value, unsigned by, simt::Place place = simt::Place::here()) const {
        const unsigned rank = thread_rank() + by;
        return __shfl_sync(mask_, value, lane_of(rank < num_threads() ? rank : thread_rank()), 32, place);
    }
    template <class T>
    T shfl_up(T value, unsigned by, simt::Place place = simt::Place::here()) const {
        const unsigned rank = thread_rank();
        return __shfl_sync(mask_, value, lane_of(rank >= by ? rank - by : rank), 32, place);
    }
    template <class T>
    T shfl_xor(T value, unsigned with, simt::Place place = simt::Place::here()) const {
        const unsigned rank = thread_rank() ^ with;
        return __shfl_sync(mask_, value, lane_of(rank < num_threads() ? rank : thread_rank()), 32, place);
    }
    int any(int predicate, simt::Place place = simt::Place::here()) const {
        return __any_sync(mask_, predicate, place);
    }
    int all(int predicate, simt::Place place = simt::Place::here()) const {
        return __all_sync(mask_, predicate, place);
    }
    unsigned ballot(int predicate, simt::Place place = simt::Place::here()) const {
        return packed(__ballot_sync(mask_, predicate, place));
    }
    template <class T>
    unsigned match_any(T value, simt::Place place = simt::Place::here()) const {
        return packed(__match_any_sync(mask_, value, place));
    }
    unsigned mask() const { return mask_; }

  protected:
    static unsigned lane() { return thread_block::thread_rank() % 32; }
    int lane_of(unsigned rank) const {  // the lane of the group's thread `rank`
        unsigned left = mask_;
        for (; rank > 0; --rank) left &= left - 1;
        return __ffs(int(left)) - 1;
    }
    unsigned packed(unsigned in_warp) const {  // a bit for each thread of the group, by rank
        unsigned result = 0, rank = 0;
        for (unsigned left = mask_; left; left &= left - 1, ++rank) {
            if (in_warp & left & -left) result |= 1u << rank;
        }
        return result;
    }

  private:
    unsigned mask_;
};

template <unsigned n, class Parent = void>
class thread_block_tile : public lanes {
    static_assert(n >= 1 && n <= 32 && (n & (n - 1)) == 0, "a tile is 1, 2, 4, 8, 16 or 32 threads");

  public:
    thread_block_tile() : lanes(unsigned((1ull << n) - 1) << (lane() / n * n)) {}
    static constexpr unsigned size() { return n; }
    static constexpr unsigned num_threads() { return n; }
    unsigned meta_group_rank() const { return thread_block::thread_rank() / n; }
    unsigned meta_group_size() const { return (thread_block::num_threads() + n - 1) / n; }
};
template <unsigned n, class Parent>
thread_block_tile<n, Parent> tiled_partition(const Parent&) {
    return {};
}

class coalesced_group : public lanes {
  public:
    coalesced_group() : lanes(__activemask()) {}
};
// Threads run one by one here, so each is a group of its own.
inline coalesced_group coalesced_threads() { return {}; }

template <class Group>
void sync(const Group& group, simt::Place place = simt::Place::here()) {
    group.sync(place);
}

template <class T>
struct plus {
    T operator()(T a, T b) const { return a + b; }
};
template <class T>
struct less {
    T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T>
struct greater {
    T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T>
struct bit_and {
    T operator()(T a, T b) const { return a & b; }
};
template <class T>
struct bit_or {
    T operator()(T a, T b) const { return a | b; }
};
template <class T>
struct bit_xor {
    T operator()(T a, T b) const { return a ^ b; }
};

// The values of all threads of a group, from rank 0 on: each thread gets the same bits.
template <class T, class Op>
T reduce(const lanes& group, T value, Op op, simt::Place place = simt::Place::here()) {
    T result = group.shfl(value, 0, place);
    for (unsigned rank = 1; rank < group.num_threads(); ++rank)
        result = op(result, group.shfl(value, int(rank), place));
    return result;
}
template <class T, class Op>
T inclusive_scan(const lanes& group, T value, Op op, simt::Place place = simt::Place::here()) {
    for (unsigned by = 1; by < group.num_threads(); by *= 2) {
        const T before = group.shfl_up(value, by, place);
        if (group.thread_rank() >= by) value = op(before, value);
    }
    return value;
}
template <class T>
T inclusive_scan(const lanes& group, T value) {
    return inclusive_scan(group, value, plus<T>());
}
template <class T, class Op>
T exclusive_scan(const lanes& group, T value, Op op, simt::Place place = simt::Place::here()) {
    const T before = group.shfl_up(inclusive_scan(group, value, op, place), 1, place);
    return group.thread_rank() == 0 ? T() : before;
}
template <class T>
T exclusive_scan(const lanes& group, T value) {
    return exclusive_scan(group, value, plus<T>());
}

}  // namespace cooperative_groups
