#include "common/simt/runtime.hpp"

#include <algorithm>
#include <cstdio>

#include "common/error.hpp"
#include "common/simt/tracer.hpp"

// The sections into which the translator puts the program's device variables. Where it has none they are null.
#define SIMT_SECTION(name) extern "C" [[gnu::weak]] char __start_simt_##name[], __stop_simt_##name[];
SIMT_SECTION(device)
SIMT_SECTION(device_const)
SIMT_SECTION(constant)
SIMT_SECTION(constant_const)
SIMT_SECTION(managed)

namespace simt {

std::vector<std::span<char>> device_sections() {
    std::vector<std::span<char>> all;
    const auto add = [&](char* begin, char* end) {
        if (begin != end) all.emplace_back(begin, end);
    };
    add(__start_simt_device, __stop_simt_device);
    add(__start_simt_device_const, __stop_simt_device_const);
    add(__start_simt_constant, __stop_simt_constant);
    add(__start_simt_constant_const, __stop_simt_constant_const);
    add(__start_simt_managed, __stop_simt_managed);
    return all;
}

bool is_device_address(const void* p) {
    for (const std::span<char> section : device_sections()) {
        if (p >= section.data() && p < section.data() + section.size()) return true;
    }
    return runtime().memory.holds(p);
}

Runtime& runtime() {
    static Runtime* r =
        new Runtime;  // lives as long as the program: destructors of its objects may call the API
    return *r;
}

namespace {
thread_local constinit cudaError last_error = cudaSuccess;
}

cudaError record(cudaError error) {
    if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
    return error;
}

void say(const std::string& text) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s\n", text.c_str());
}

CUstream_st* stream_of(cudaStream_t handle) {
    if (handle == nullptr || handle == cudaStreamLegacy || handle == cudaStreamPerThread)
        return &runtime().queue.legacy();
    return runtime().queue.knows(handle) ? handle : nullptr;
}

cudaError finish(const Work& work) {
    runtime().queue.finish(work);
    return runtime().sticky;
}

}  // namespace simt

using namespace simt;

cudaError_t cudaGetLastError() {
    const cudaError error = last_error;
    last_error = runtime().sticky;
    return error;
}
cudaError_t cudaPeekAtLastError() { return last_error; }

const char* cudaGetErrorName(cudaError_t error) {
#define SIMT_NAME(name, number, text)                                                                        \
    case name: return #name;
    switch (error) { SIMT_ERRORS(SIMT_NAME) }
    return "unrecognized error code";
}
const char* cudaGetErrorString(cudaError_t error) {
#define SIMT_TEXT(name, number, text)                                                                        \
    case name: return text;
    switch (error) { SIMT_ERRORS(SIMT_TEXT) }
    return "unrecognized error code";
}

// --- Launches -------------------------------------------------------------------------------------------------

namespace simt {
namespace {

cudaError check(const Call& call, const Config& c) {
    const auto within = [](dim3 d, unsigned x, unsigned y, unsigned z) {
        return d.x >= 1 && d.y >= 1 && d.z >= 1 && d.x <= x && d.y <= y && d.z <= z;
    };
    if (!within(c.grid, 0x7fffffff, 65535, 65535)) return cudaErrorInvalidConfiguration;
    if (!within(c.block, 1024, 1024, 64)) return cudaErrorInvalidConfiguration;
    if (size_t(c.block.x) * c.block.y * c.block.z > Block::max_threads) return cudaErrorInvalidConfiguration;
    const auto allowed = runtime().dynamic_shared.find(call.function);
    size_t most = allowed == runtime().dynamic_shared.end() ? default_shared_bytes : size_t(allowed->second);
    if (!call.function)
        most = max_shared_bytes;  // a template deduced from its call: what was set for it is unknown
    if (c.shared_bytes > std::max(most, default_shared_bytes)) return cudaErrorInvalidValue;
    if (c.cooperative) {
        int n_blocks = 0;
        occupancy(&n_blocks, int(c.block.x * c.block.y * c.block.z), c.shared_bytes);
        if (size_t(c.grid.x) * c.grid.y * c.grid.z > size_t(n_blocks) * n_multiprocessors) {
            return cudaErrorCooperativeLaunchTooLarge;
        }
    }
    return cudaSuccess;
}

thread_local constinit cudaError launch_error = cudaSuccess;

}  // namespace

void launch(const Call& kernel, const Config& config) {
    launch_error = simt::call([&] {
        CUstream_st* stream = stream_of(config.stream);
        if (!stream) return cudaErrorInvalidResourceHandle;
        if (const cudaError error = check(kernel, config); error != cudaSuccess) return error;
        runtime().queue.add(*stream, [kernel, config] {
            if (runtime().sticky != cudaSuccess) return;  // a device with a fault does nothing more
            const bool watched = is_watched(kernel);
            if (watched)
                the_tracer()->begin(kernel, config);
            else if (the_tracer())
                the_tracer()->ran_unwatched();
            Fault fault = run_grid(kernel, config);
            if (!fault.text.empty()) say(fault.text);
            if (watched) {
                const Fault found = the_tracer()->end();
                if (!found.text.empty()) say(found.text);
                if (fault.code == cudaSuccess) fault.code = found.code;
            }
            runtime().sticky = fault.code;
        });
        return cudaSuccess;
    });
}

cudaError_t last_launch_error() { return launch_error; }

namespace {
std::map<const void*, Signature>& signatures() {
    static auto* all = new std::map<const void*, Signature>;
    return *all;
}
}  // namespace
void know(const void* function, const Signature& signature) { signatures().emplace(function, signature); }
const Signature* signature_of(const void* function) {
    const auto found = signatures().find(function);
    return found == signatures().end() ? nullptr : &found->second;
}

cudaError_t launch_at(const void* kernel, const Signature* signature, Config config, bool cooperative,
                      void** arguments) {
    if (const Signature* known = signature_of(kernel)) signature = known;  // it has the name too
    if (!signature) return record(cudaErrorInvalidDeviceFunction);
    config.cooperative = cooperative;
    launch({signature->name, const_cast<void*>(kernel), signature->arguments(arguments),
            signature->n_argument_bytes, signature->run},
           config);
    return last_launch_error();
}

cudaError_t set_function_attribute(const void* function, cudaFuncAttribute attribute, int value) {
    return simt::call([&] {
        if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
        if (value < 0 || size_t(value) > max_shared_bytes) return cudaErrorInvalidValue;
        runtime().dynamic_shared[function] = value;
        return cudaSuccess;
    });
}

cudaError_t function_attributes(cudaFuncAttributes* attributes, const void*) {
    *attributes = {};
    attributes->maxThreadsPerBlock = Block::max_threads;
    attributes->numRegs = 32;  // not simulated
    attributes->ptxVersion = attributes->binaryVersion = 90;
    attributes->maxDynamicSharedSizeBytes = int(default_shared_bytes);
    return cudaSuccess;
}

cudaError_t occupancy(int* n_blocks, int block_size, size_t shared_bytes) {
    if (block_size < 1) return record(cudaErrorInvalidValue);
    const int by_threads = max_threads_per_multiprocessor / ((block_size + 31) / 32 * 32);
    const int by_shared = int(shared_bytes_per_multiprocessor / (shared_bytes + 1024));
    *n_blocks = block_size > Block::max_threads
                    ? 0
                    : std::min({by_threads, by_shared, max_blocks_per_multiprocessor});
    return cudaSuccess;
}

}  // namespace simt
