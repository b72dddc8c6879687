#include "common/memory.hpp"

#include <sys/mman.h>

#include <cstdint>

#include "common/error.hpp"

BigBuffer::BigBuffer(size_t n_bytes) : size_(n_bytes) {
    if (n_bytes == 0) return;
    constexpr size_t huge_page = size_t(2) << 20;
    if (n_bytes > SIZE_MAX - huge_page) fail("cannot reserve %zu bytes of memory", n_bytes);
    // One huge page more than asked for, so that the start can be moved to a huge-page boundary.
    mapped_size_ = n_bytes + huge_page;
    mapped_ = mmap(nullptr, mapped_size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped_ == MAP_FAILED) {
        mapped_ = nullptr;
        fail("cannot reserve %zu bytes of memory", n_bytes);
    }
    data_ = reinterpret_cast<std::byte*>((uintptr_t(mapped_) + huge_page - 1) / huge_page * huge_page);
#ifdef MADV_HUGEPAGE
    madvise(data_, n_bytes, MADV_HUGEPAGE);  // a wish: without huge pages all is slower, not wrong
#endif
}

BigBuffer::~BigBuffer() {
    if (mapped_) munmap(mapped_, mapped_size_);
}
