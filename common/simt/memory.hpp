// The memory of the simulated GPU: one range of addresses, so that an address says whose it is. Allocations are apart
// from each other by at least `guard` bytes that belong to nobody, and the room of a freed one is used again late.
#pragma once

#include <cstddef>
#include <map>
#include <optional>

#include "common/simt/include/simt/types.hpp"

namespace simt {

struct Allocation {
    enum Kind { device, managed, pinned };  // pinned: of the host, which kernels may read and write too
    char* begin;
    size_t n_bytes;
    Kind kind;
    Place place;  // where it was made
    bool freed = false;
    Place freed_at{};
    bool holds(const void* p) const { return p >= begin && p < begin + n_bytes; }
};

class Memory {
  public:
    static constexpr size_t capacity = size_t(16) << 30;  // reserved addresses, not memory
    static constexpr size_t alignment = 256, guard = 256, page = 4096;

    Memory();

    // nullptr where it does not fit.
    void* allocate(size_t n_bytes, Allocation::Kind kind, Place place);
    enum Freed { done, never_allocated, freed_before };
    Freed free(void* p, Place place);

    bool holds(const void* p) const { return p >= base_ && p < base_ + capacity; }
    const char* base() const { return base_; }
    // The allocation, freed or not, that holds p, or the nearest one below it.
    const Allocation* find(const void* p) const;
    size_t n_used() const { return n_used_; }

  private:
    char* base_;
    size_t end_ = guard;  // nothing has been used behind it
    size_t n_used_ = 0;
    std::map<char*, Allocation> allocations_;  // by address; freed ones stay until their room is used again
};

}  // namespace simt
