// Shared memory. The arrays of kernels are thread-local variables of the program: a thread of the CPU runs one block
// at a time, and its copy is that block's. Where blocks take turns on one thread, each brings its own contents.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace simt {

// The largest dynamic shared memory of a launch, and what one may ask for without cudaFuncSetAttribute.
constexpr size_t max_shared_bytes = 227 * 1024, default_shared_bytes = 48 * 1024;

// This thread's copy of the program's thread-local variables: those before and behind the dynamic shared memory, and
// that itself.
struct SharedMemory {
    std::span<char> before, behind, dynamic;
};
SharedMemory shared_memory();

class SharedCopy {
  public:
    explicit SharedCopy(size_t n_dynamic) : n_dynamic_(n_dynamic) {}
    void load() const;  // what store() kept; the first time, nothing
    void store();

  private:
    size_t n_dynamic_;
    std::vector<char> before_, behind_, dynamic_;
};

}  // namespace simt
