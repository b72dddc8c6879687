// What the API refuses, and with which error.
#include <string>

#include "tests/simt/check.cuh"

__global__ void nothing() {}
__global__ void use_shared() {
    extern __shared__ int x[];
    x[0] = 1;
}

#define GIVES(error, call)                                                                                   \
    do {                                                                                                     \
        const cudaError_t got = (call);                                                                      \
        if (got != (error)) {                                                                                \
            std::printf("%s:%d: %s, not %s\n", __FILE__, __LINE__, cudaGetErrorName(got), #error);           \
            std::exit(1);                                                                                    \
        }                                                                                                    \
        cudaGetLastError();                                                                                  \
    } while (0)
#define LAUNCH_GIVES(error, ...)                                                                             \
    __VA_ARGS__;                                                                                             \
    GIVES(error, cudaPeekAtLastError())

int main() {
    LAUNCH_GIVES(cudaErrorInvalidConfiguration, (nothing<<<1, 1025>>>()));
    LAUNCH_GIVES(cudaErrorInvalidConfiguration, (nothing<<<1, dim3(32, 33)>>>()));
    LAUNCH_GIVES(cudaErrorInvalidConfiguration, (nothing<<<1, dim3(1, 1, 65)>>>()));
    LAUNCH_GIVES(cudaErrorInvalidConfiguration, (nothing<<<0, 1>>>()));
    LAUNCH_GIVES(cudaErrorInvalidConfiguration, (nothing<<<1, 0>>>()));
    LAUNCH_GIVES(cudaErrorInvalidConfiguration, (nothing<<<dim3(1, 65536), 1>>>()));
    LAUNCH_GIVES(cudaErrorInvalidValue, (use_shared<<<1, 1, 49 * 1024>>>()));
    GIVES(cudaSuccess,
          cudaFuncSetAttribute(use_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 * 1024));
    LAUNCH_GIVES(cudaSuccess, (use_shared<<<1, 1, 100 * 1024>>>()));
    GIVES(cudaErrorInvalidValue,
          cudaFuncSetAttribute(use_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20));

    void *device = nullptr, *host = std::malloc(64);
    GIVES(cudaErrorMemoryAllocation, cudaMalloc(&device, size_t(1) << 50));
    GIVES(cudaSuccess, cudaMalloc(&device, 64));
    GIVES(cudaErrorInvalidValue, cudaMemcpy(nullptr, host, 64, cudaMemcpyHostToDevice));
    GIVES(cudaErrorInvalidMemcpyDirection, cudaMemcpy(device, host, 64, cudaMemcpyKind(9)));
    GIVES(cudaErrorInvalidValue, cudaMemset(nullptr, 0, 64));
    GIVES(cudaErrorInvalidValue, cudaFree(host));
    GIVES(cudaSuccess, cudaFree(device));

    int count = 0;
    GIVES(cudaSuccess, cudaGetDeviceCount(&count));
    GIVES(cudaErrorInvalidDevice, cudaSetDevice(count));
    cudaDeviceProp properties;
    GIVES(cudaErrorInvalidDevice, cudaGetDeviceProperties(&properties, count));

    // The last error stays until it is asked for; peeking leaves it.
    nothing<<<1, 1025>>>();
    EXPECT(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
    EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
    EXPECT(cudaGetLastError() == cudaSuccess);
    GIVES(cudaSuccess, cudaDeviceSynchronize());

    EXPECT(std::string(cudaGetErrorName(cudaErrorInvalidValue)) == "cudaErrorInvalidValue");
    EXPECT(std::string(cudaGetErrorString(cudaErrorIllegalAddress)) ==
           "an illegal memory access was encountered");
    std::puts("ok");
}
