#include "common/simt/shadow.hpp"

#include <sys/mman.h>

#include "common/error.hpp"

namespace simt {
namespace {

void* reserve(size_t n_bytes) {
    void* p =
        mmap(nullptr, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        fail("the simulator cannot reserve %zu MB of addresses to watch a kernel's memory", n_bytes >> 20);
    return p;
}
size_t words_bytes(size_t n_bytes) { return (n_bytes / 4 + 1) * sizeof(Word); }

}  // namespace

// From a multiple of four on, so that words are those of the memory.
Shadow::Shadow(const void* begin, size_t n_bytes)
    : begin_(static_cast<const char*>(begin) - reinterpret_cast<uintptr_t>(begin) % 4),
      n_bytes_(n_bytes + reinterpret_cast<uintptr_t>(begin) % 4),
      written_(static_cast<uint8_t*>(reserve(n_bytes_ + 1))),
      words_(static_cast<Word*>(reserve(words_bytes(n_bytes_)))) {}

Shadow::~Shadow() {
    munmap(written_, n_bytes_ + 1);
    munmap(words_, words_bytes(n_bytes_));
}

}  // namespace simt
