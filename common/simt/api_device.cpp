// The device, as a program sees it: compute capability 9.0, with the limits of such a GPU and the memory of none.
#include <cstring>

#include "common/simt/runtime.hpp"

using namespace simt;

cudaError_t cudaDeviceSynchronize() {
    return call([] {
        runtime().queue.finish_all();
        return runtime().sticky;
    });
}
cudaError_t cudaDeviceReset() {
    const std::lock_guard lock(runtime().mutex);
    if (runtime().sticky == cudaSuccess) runtime().queue.finish_all();
    runtime().queue.forget_all();
    runtime().sticky = cudaSuccess;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
    return call([&] { return *device = 0, cudaSuccess; });
}
cudaError_t cudaSetDevice(int device) {
    return call([&] { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; });
}
cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* count) {
    return call([&] { return *count = 1, cudaSuccess; });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    return call([&] {
        if (device != 0) return cudaErrorInvalidDevice;
        cudaDeviceProp p{};
        std::strcpy(p.name, "SIMT simulator (no GPU)");
        p.totalGlobalMem = Memory::capacity;
        p.sharedMemPerBlock = default_shared_bytes, p.sharedMemPerBlockOptin = max_shared_bytes;
        p.sharedMemPerMultiprocessor = shared_bytes_per_multiprocessor, p.reservedSharedMemPerBlock = 1024;
        p.memPitch = 0x7fffffff, p.totalConstMem = 65536, p.textureAlignment = 512, p.surfaceAlignment = 512;
        p.regsPerBlock = p.regsPerMultiprocessor = 65536;
        p.warpSize = Block::warp_size, p.maxThreadsPerBlock = Block::max_threads;
        p.maxThreadsDim[0] = p.maxThreadsDim[1] = 1024, p.maxThreadsDim[2] = 64;
        p.maxGridSize[0] = 0x7fffffff, p.maxGridSize[1] = p.maxGridSize[2] = 65535;
        p.major = 9, p.minor = 0;
        p.multiProcessorCount = n_multiprocessors,
        p.maxThreadsPerMultiProcessor = max_threads_per_multiprocessor;
        p.maxBlocksPerMultiProcessor = max_blocks_per_multiprocessor;
        p.l2CacheSize = 32 << 20;
        p.concurrentKernels = p.unifiedAddressing = p.managedMemory = p.cooperativeLaunch =
            p.canMapHostMemory = 1;
        p.concurrentManagedAccess = p.streamPrioritiesSupported = p.memoryPoolsSupported = 1;
        p.asyncEngineCount = 2, p.deviceOverlap = 1;
        *properties = p;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    cudaDeviceProp p;
    if (const cudaError error = cudaGetDeviceProperties(&p, device); error != cudaSuccess) return error;
    switch (attribute) {
        case cudaDevAttrMaxThreadsPerBlock: *value = p.maxThreadsPerBlock; break;
        case cudaDevAttrMaxBlockDimX: *value = p.maxThreadsDim[0]; break;
        case cudaDevAttrMaxBlockDimY: *value = p.maxThreadsDim[1]; break;
        case cudaDevAttrMaxBlockDimZ: *value = p.maxThreadsDim[2]; break;
        case cudaDevAttrMaxGridDimX: *value = p.maxGridSize[0]; break;
        case cudaDevAttrMaxGridDimY: *value = p.maxGridSize[1]; break;
        case cudaDevAttrMaxGridDimZ: *value = p.maxGridSize[2]; break;
        case cudaDevAttrMaxSharedMemoryPerBlock: *value = int(p.sharedMemPerBlock); break;
        case cudaDevAttrTotalConstantMemory: *value = int(p.totalConstMem); break;
        case cudaDevAttrWarpSize: *value = p.warpSize; break;
        case cudaDevAttrMaxRegistersPerBlock: *value = p.regsPerBlock; break;
        case cudaDevAttrMultiProcessorCount: *value = p.multiProcessorCount; break;
        case cudaDevAttrCanMapHostMemory: *value = p.canMapHostMemory; break;
        case cudaDevAttrConcurrentKernels: *value = p.concurrentKernels; break;
        case cudaDevAttrL2CacheSize: *value = p.l2CacheSize; break;
        case cudaDevAttrMaxThreadsPerMultiProcessor: *value = p.maxThreadsPerMultiProcessor; break;
        case cudaDevAttrUnifiedAddressing: *value = p.unifiedAddressing; break;
        case cudaDevAttrComputeCapabilityMajor: *value = p.major; break;
        case cudaDevAttrComputeCapabilityMinor: *value = p.minor; break;
        case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = int(p.sharedMemPerMultiprocessor); break;
        case cudaDevAttrManagedMemory: *value = p.managedMemory; break;
        case cudaDevAttrCooperativeLaunch: *value = p.cooperativeLaunch; break;
        case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = int(p.sharedMemPerBlockOptin); break;
        case cudaDevAttrMemoryPoolsSupported: *value = p.memoryPoolsSupported; break;
        case cudaDevAttrClockRate:  // a simulator has no clock
        case cudaDevAttrMemoryClockRate:
        case cudaDevAttrGlobalMemoryBusWidth: *value = 0; break;
        default: return record(cudaErrorInvalidValue);
    }
    return cudaSuccess;
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t) {
    return call([&] { return limit > cudaLimitMallocHeapSize ? cudaErrorUnsupportedLimit : cudaSuccess; });
}
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
    return call([&] {
        if (limit > cudaLimitMallocHeapSize) return cudaErrorUnsupportedLimit;
        *value = limit == cudaLimitStackSize ? Fiber::stack_bytes : size_t(8) << 20;
        return cudaSuccess;
    });
}
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    return call([&] { return *least = 0, *greatest = -5, cudaSuccess; });
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
    return call([&] { return *can = 0, cudaErrorInvalidDevice; });
}
cudaError_t cudaRuntimeGetVersion(int* version) { return *version = 13000, cudaSuccess; }
cudaError_t cudaDriverGetVersion(int* version) { return *version = 13000, cudaSuccess; }
