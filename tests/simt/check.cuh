// What the programs here share: an error stops them, a wrong number too. Plain CUDA, for nvcc as well.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        const cudaError_t error = (call);                                                                    \
        if (error != cudaSuccess) {                                                                          \
            std::printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error));                       \
            std::exit(1);                                                                                    \
        }                                                                                                    \
    } while (0)

#define EXPECT(condition)                                                                                    \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                              \
            std::exit(1);                                                                                    \
        }                                                                                                    \
    } while (0)

template <class T>
T* to_device(const std::vector<T>& host) {
    T* device = nullptr;
    CHECK(cudaMalloc(&device, host.size() * sizeof(T)));
    CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    return device;
}
template <class T>
std::vector<T> to_host(const T* device, size_t n) {
    std::vector<T> host(n);
    CHECK(cudaMemcpy(host.data(), device, n * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
}
inline std::vector<float> ramp(size_t n) {
    std::vector<float> x(n);
    for (size_t i = 0; i < n; ++i) x[i] = float((i * 7) % 13) - 6;
    return x;
}
