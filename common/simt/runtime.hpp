// What the simulated GPU is, and the state that the API's functions share.
#pragma once

#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "common/simt/grid.hpp"
#include "common/simt/include/simt/api.hpp"
#include "common/simt/memory.hpp"
#include "common/simt/queue.hpp"
#include "common/simt/shared.hpp"

namespace simt {

constexpr int n_multiprocessors = 8;  // as many as the fibers of a full cooperative launch allow
constexpr int max_threads_per_multiprocessor = 2048, max_blocks_per_multiprocessor = 32;
constexpr size_t shared_bytes_per_multiprocessor = 228 * 1024;

struct Runtime {
    std::recursive_mutex mutex;  // every call holds it; a host function called from a stream may call again
    Memory memory;
    Queue queue;
    cudaError sticky = cudaSuccess;             // a kernel's fault: every later call gives it
    std::map<const void*, int> dynamic_shared;  // what cudaFuncSetAttribute allowed a kernel
    std::map<const void*, size_t> registered;   // host memory that kernels may use
};
Runtime& runtime();

// The error becomes what cudaGetLastError gives.
cudaError record(cudaError error);
// A line on standard error.
void say(const std::string& text);

// The body of an API call: under the lock, and not at all after a kernel's fault.
template <class Body>
cudaError call(Body body) {
    const std::lock_guard lock(runtime().mutex);
    if (runtime().sticky != cudaSuccess) return record(runtime().sticky);
    return record(body());
}
// Where the program's __device__, __constant__ and __managed__ variables lie.
std::vector<std::span<char>> device_sections();
// Of the device: its memory, or one of the program's __device__, __constant__ and __managed__ variables.
bool is_device_address(const void* p);
// The stream that a handle names, or null.
CUstream_st* stream_of(cudaStream_t handle);
// Runs the work; a kernel's fault is its result.
cudaError finish(const Work& work);

}  // namespace simt
