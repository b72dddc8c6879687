// The runtime API: memory, copies, streams, events, device. Each call knows where it was made, for diagnoses.
#pragma once

#include <cstddef>

#include "common/simt/include/simt/errors.hpp"
#include "common/simt/include/simt/launch.hpp"
#include "common/simt/include/simt/types.hpp"

typedef struct CUevent_st* cudaEvent_t;
typedef void (*cudaHostFn_t)(void* data);
typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void* data);

#define cudaStreamLegacy ((cudaStream_t)0x1)
#define cudaStreamPerThread ((cudaStream_t)0x2)

enum cudaMemcpyKind {
    cudaMemcpyHostToHost = 0,
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3,
    cudaMemcpyDefault = 4
};
enum cudaMemoryType {
    cudaMemoryTypeUnregistered = 0,
    cudaMemoryTypeHost = 1,
    cudaMemoryTypeDevice = 2,
    cudaMemoryTypeManaged = 3
};
enum : unsigned {
    cudaStreamDefault = 0,
    cudaStreamNonBlocking = 1,
    cudaEventDefault = 0,
    cudaEventBlockingSync = 1,
    cudaEventDisableTiming = 2,
    cudaEventInterprocess = 4,
    cudaHostAllocDefault = 0,
    cudaHostAllocPortable = 1,
    cudaHostAllocMapped = 2,
    cudaHostAllocWriteCombined = 4,
    cudaMemAttachGlobal = 1,
    cudaMemAttachHost = 2,
    cudaDeviceScheduleAuto = 0,
    cudaDeviceScheduleSpin = 1,
    cudaDeviceScheduleYield = 2,
    cudaDeviceScheduleBlockingSync = 4,
    cudaDeviceMapHost = 8,
    cudaOccupancyDefault = 0
};
constexpr int cudaCpuDeviceId = -1;

enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9
};
enum cudaFuncCache {
    cudaFuncCachePreferNone,
    cudaFuncCachePreferShared,
    cudaFuncCachePreferL1,
    cudaFuncCachePreferEqual
};
enum cudaLimit { cudaLimitStackSize, cudaLimitPrintfFifoSize, cudaLimitMallocHeapSize };
enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock = 1,
    cudaDevAttrMaxBlockDimX = 2,
    cudaDevAttrMaxBlockDimY = 3,
    cudaDevAttrMaxBlockDimZ = 4,
    cudaDevAttrMaxGridDimX = 5,
    cudaDevAttrMaxGridDimY = 6,
    cudaDevAttrMaxGridDimZ = 7,
    cudaDevAttrMaxSharedMemoryPerBlock = 8,
    cudaDevAttrTotalConstantMemory = 9,
    cudaDevAttrWarpSize = 10,
    cudaDevAttrMaxRegistersPerBlock = 12,
    cudaDevAttrClockRate = 13,
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrCanMapHostMemory = 19,
    cudaDevAttrConcurrentKernels = 31,
    cudaDevAttrMemoryClockRate = 36,
    cudaDevAttrGlobalMemoryBusWidth = 37,
    cudaDevAttrL2CacheSize = 38,
    cudaDevAttrMaxThreadsPerMultiProcessor = 39,
    cudaDevAttrUnifiedAddressing = 41,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76,
    cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
    cudaDevAttrManagedMemory = 83,
    cudaDevAttrCooperativeLaunch = 95,
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
    cudaDevAttrMemoryPoolsSupported = 115
};

struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlock, memPitch, totalConstMem, sharedMemPerMultiprocessor,
        sharedMemPerBlockOptin;
    int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
    int major, minor, multiProcessorCount, memoryBusWidth, l2CacheSize, maxThreadsPerMultiProcessor,
        regsPerMultiprocessor;
    int maxBlocksPerMultiProcessor, concurrentKernels, asyncEngineCount, unifiedAddressing, managedMemory,
        cooperativeLaunch;
    int canMapHostMemory, integrated, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver,
        isMultiGpuBoard;
    int concurrentManagedAccess, pageableMemoryAccess, streamPrioritiesSupported, globalL1CacheSupported,
        localL1CacheSupported;
    int computePreemptionSupported, persistingL2CacheMaxSize, accessPolicyMaxWindowSize, memoryPoolsSupported;
    size_t reservedSharedMemPerBlock, textureAlignment, surfaceAlignment;
    int clockRate, memoryClockRate, computeMode, deviceOverlap,
        kernelExecTimeoutEnabled;  // gone in CUDA 13; books print them
};
struct cudaFuncAttributes {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, maxDynamicSharedSizeBytes,
        preferredShmemCarveout;
};
struct cudaPointerAttributes {
    cudaMemoryType type;
    int device;
    void *devicePointer, *hostPointer;
};

#define SIMT_HERE simt::Place place = simt::Place::here()

// --- Errors -------------------------------------------------------------------------------------------------
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);

// --- Memory -------------------------------------------------------------------------------------------------
cudaError_t cudaMalloc(void** p, size_t n_bytes, SIMT_HERE);
cudaError_t cudaMallocManaged(void** p, size_t n_bytes, unsigned flags = cudaMemAttachGlobal, SIMT_HERE);
cudaError_t cudaMallocHost(void** p, size_t n_bytes, unsigned flags = 0, SIMT_HERE);
cudaError_t cudaHostAlloc(void** p, size_t n_bytes, unsigned flags, SIMT_HERE);
cudaError_t cudaMallocPitch(void** p, size_t* pitch, size_t width, size_t height, SIMT_HERE);
cudaError_t cudaMallocAsync(void** p, size_t n_bytes, cudaStream_t stream, SIMT_HERE);
cudaError_t cudaFree(void* p, SIMT_HERE);
cudaError_t cudaFreeHost(void* p, SIMT_HERE);
cudaError_t cudaFreeAsync(void* p, cudaStream_t stream, SIMT_HERE);
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags);
cudaError_t cudaHostRegister(void* p, size_t n_bytes, unsigned flags, SIMT_HERE);
cudaError_t cudaHostUnregister(void* p);
cudaError_t cudaMemGetInfo(size_t* free, size_t* total);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* p);
cudaError_t cudaMemPrefetchAsync(const void* p, size_t n_bytes, int device, cudaStream_t stream = nullptr);

template <class T>
cudaError_t cudaMalloc(T** p, size_t n_bytes, SIMT_HERE) {
    return cudaMalloc((void**)p, n_bytes, place);
}
template <class T>
cudaError_t cudaMallocManaged(T** p, size_t n_bytes, unsigned flags = cudaMemAttachGlobal, SIMT_HERE) {
    return cudaMallocManaged((void**)p, n_bytes, flags, place);
}
template <class T>
cudaError_t cudaMallocHost(T** p, size_t n_bytes, unsigned flags = 0, SIMT_HERE) {
    return cudaMallocHost((void**)p, n_bytes, flags, place);
}
template <class T>
cudaError_t cudaHostAlloc(T** p, size_t n_bytes, unsigned flags, SIMT_HERE) {
    return cudaHostAlloc((void**)p, n_bytes, flags, place);
}
template <class T>
cudaError_t cudaMallocPitch(T** p, size_t* pitch, size_t width, size_t height, SIMT_HERE) {
    return cudaMallocPitch((void**)p, pitch, width, height, place);
}
template <class T>
cudaError_t cudaMallocAsync(T** p, size_t n_bytes, cudaStream_t stream, SIMT_HERE) {
    return cudaMallocAsync((void**)p, n_bytes, stream, place);
}
template <class T>
cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned flags) {
    return cudaHostGetDevicePointer((void**)device, host, flags);
}

// --- Copies -------------------------------------------------------------------------------------------------
cudaError_t cudaMemcpy(void* to, const void* from, size_t n_bytes, cudaMemcpyKind kind, SIMT_HERE);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t n_bytes, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr, SIMT_HERE);
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                         size_t height, cudaMemcpyKind kind, SIMT_HERE);
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream = nullptr, SIMT_HERE);
cudaError_t cudaMemset(void* to, int value, size_t n_bytes, SIMT_HERE);
cudaError_t cudaMemsetAsync(void* to, int value, size_t n_bytes, cudaStream_t stream = nullptr, SIMT_HERE);
cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height, SIMT_HERE);
cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream = nullptr, SIMT_HERE);

// A symbol is a __device__ or __constant__ variable, by its name.
namespace simt {
cudaError_t copy_symbol(void* to, const void* from, size_t n_bytes, cudaMemcpyKind kind, bool wait,
                        cudaStream_t stream, const void* symbol, size_t symbol_bytes, size_t offset,
                        Place place);
}
template <class T>
cudaError_t cudaMemcpyToSymbol(T& symbol, const void* from, size_t n_bytes, size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice, SIMT_HERE) {
    return simt::copy_symbol((char*)&symbol + offset, from, n_bytes, kind, true, nullptr, &symbol, sizeof(T),
                             offset, place);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, T& symbol, size_t n_bytes, size_t offset = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost, SIMT_HERE) {
    return simt::copy_symbol(to, (char*)&symbol + offset, n_bytes, kind, true, nullptr, &symbol, sizeof(T),
                             offset, place);
}
template <class T>
cudaError_t cudaMemcpyToSymbolAsync(T& symbol, const void* from, size_t n_bytes, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream = nullptr, SIMT_HERE) {
    return simt::copy_symbol((char*)&symbol + offset, from, n_bytes, kind, false, stream, &symbol, sizeof(T),
                             offset, place);
}
template <class T>
cudaError_t cudaMemcpyFromSymbolAsync(void* to, T& symbol, size_t n_bytes, size_t offset, cudaMemcpyKind kind,
                                      cudaStream_t stream = nullptr, SIMT_HERE) {
    return simt::copy_symbol(to, (char*)&symbol + offset, n_bytes, kind, false, stream, &symbol, sizeof(T),
                             offset, place);
}
template <class T>
cudaError_t cudaGetSymbolAddress(void** p, T& symbol) {
    return *p = (void*)&symbol, cudaSuccess;
}
template <class P, class T>
cudaError_t cudaGetSymbolAddress(P** p, T& symbol) {
    return *p = (P*)&symbol, cudaSuccess;
}
template <class T>
cudaError_t cudaGetSymbolSize(size_t* n_bytes, T&) {
    return *n_bytes = sizeof(T), cudaSuccess;
}

// --- Streams and events ---------------------------------------------------------------------------------------
cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority);
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags);
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                  unsigned flags);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data);
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
// The time that the simulation took: it says nothing about a GPU.
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);

// --- The device -----------------------------------------------------------------------------------------------
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceReset();
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaSetDeviceFlags(unsigned flags);
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value);
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit);
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config);
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaDriverGetVersion(int* version);

// --- Functions and launches -------------------------------------------------------------------------------------
namespace simt {
cudaError_t set_function_attribute(const void* function, cudaFuncAttribute attribute, int value);
cudaError_t function_attributes(cudaFuncAttributes* attributes, const void* function);
cudaError_t occupancy(int* n_blocks, int block_size, size_t shared_bytes);
cudaError_t last_launch_error();
cudaError_t launch_at(const void* kernel, const Signature* signature, Config config, bool cooperative,
                      void** arguments);
template <class... P>
cudaError_t launch_typed(void (*kernel)(P...), const Config& config, bool cooperative, void** arguments) {
    const Signature signature = Typed<P...>::signature("kernel");
    return launch_at(reinterpret_cast<const void*>(kernel), &signature, config, cooperative, arguments);
}
}  // namespace simt
template <class... P>
cudaError_t cudaLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 block, void** arguments,
                             size_t shared_bytes = 0, cudaStream_t stream = nullptr, SIMT_HERE) {
    return simt::launch_typed(kernel, {grid, block, shared_bytes, stream, place}, false, arguments);
}
template <class... P>
cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(P...), dim3 grid, dim3 block, void** arguments,
                                        size_t shared_bytes = 0, cudaStream_t stream = nullptr, SIMT_HERE) {
    return simt::launch_typed(kernel, {grid, block, shared_bytes, stream, place}, true, arguments);
}
inline cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                    size_t shared_bytes = 0, cudaStream_t stream = nullptr, SIMT_HERE) {
    return simt::launch_at(kernel, nullptr, {grid, block, shared_bytes, stream, place}, false, arguments);
}
inline cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                               size_t shared_bytes = 0, cudaStream_t stream = nullptr,
                                               SIMT_HERE) {
    return simt::launch_at(kernel, nullptr, {grid, block, shared_bytes, stream, place}, true, arguments);
}
// Attributes of a launch beyond the four of <<<>>>: those that choose clusters are not simulated, the others are hints.
struct cudaLaunchAttribute {
    int id;
    union {
        int cooperative;
        char pad[64];
    } val;
};
constexpr int cudaLaunchAttributeCooperative = 2;
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute* attrs;
    unsigned numAttrs;
};
template <class... P, class... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(P...), A&&... arguments) {
    simt::Config c(config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream);
    for (unsigned i = 0; i < config->numAttrs; ++i) {
        if (config->attrs[i].id == cudaLaunchAttributeCooperative)
            c.cooperative = config->attrs[i].val.cooperative != 0;
    }
    simt::Typed<P...>{kernel, "kernel", &c}(static_cast<A&&>(arguments)...);
    return simt::last_launch_error();
}
template <class F>
cudaError_t cudaFuncSetAttribute(F* function, cudaFuncAttribute attribute, int value) {
    return simt::set_function_attribute((const void*)function, attribute, value);
}
template <class F>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, F* function) {
    return simt::function_attributes(attributes, (const void*)function);
}
template <class F>
cudaError_t cudaFuncSetCacheConfig(F*, cudaFuncCache) {
    return cudaSuccess;
}
template <class F>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* n_blocks, F, int block_size,
                                                          size_t shared_bytes) {
    return simt::occupancy(n_blocks, block_size, shared_bytes);
}
// Registers are not simulated: a block of 256 threads fills a multiprocessor as well as a larger one.
template <class F>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* min_grid, int* block_size, F, size_t shared_bytes = 0,
                                               int limit = 0) {
    int n_blocks = 0, n_processors = 0;
    *block_size = limit > 0 && limit < 256 ? limit : 256;
    const cudaError_t error = simt::occupancy(&n_blocks, *block_size, shared_bytes);
    cudaDeviceGetAttribute(&n_processors, cudaDevAttrMultiProcessorCount, 0);
    *min_grid = n_blocks * n_processors;
    return error;
}
#undef SIMT_HERE
