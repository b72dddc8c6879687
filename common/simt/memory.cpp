#include "common/simt/memory.hpp"

#include <sys/mman.h>

#include "common/error.hpp"

namespace simt {

Memory::Memory() {
    void* p =
        mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) fail("the simulator cannot reserve %zu GB of addresses", capacity >> 30);
    base_ = static_cast<char*>(p);
}

void* Memory::allocate(size_t n_bytes, Allocation::Kind kind, Place place) {
    if (n_bytes > capacity - n_used_) return nullptr;
    // Large ones begin a page of their own, so that its memory can be given back.
    const size_t align = n_bytes >= page ? page : alignment;
    const size_t begin = (end_ + align - 1) / align * align;
    char* p = nullptr;
    if (begin + n_bytes + guard <= capacity) {
        p = base_ + begin;
        end_ = begin + n_bytes + guard;
    } else {  // every address has been used once: the first freed room that is large enough
        for (const auto& [at, old] : allocations_) {
            if (old.freed && old.n_bytes >= n_bytes) {
                p = at;
                break;
            }
        }
        if (!p) return nullptr;
    }
    allocations_[p] = {p, n_bytes, kind, place};
    n_used_ += n_bytes;
    return p;
}

Memory::Freed Memory::free(void* p, Place place) {
    const auto found = allocations_.find(static_cast<char*>(p));
    if (found == allocations_.end()) return never_allocated;
    Allocation& a = found->second;
    if (a.freed) return freed_before;
    a.freed = true, a.freed_at = place;
    n_used_ -= a.n_bytes;
    if (a.n_bytes >= page) madvise(a.begin, a.n_bytes / page * page, MADV_DONTNEED);
    return done;
}

const Allocation* Memory::find(const void* p) const {
    auto above = allocations_.upper_bound(const_cast<char*>(static_cast<const char*>(p)));
    return above == allocations_.begin() ? nullptr : &std::prev(above)->second;
}

}  // namespace simt
