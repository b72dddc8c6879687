// CUDA to C++: rewrites the words that only nvcc knows, and leaves everything else, lines included, as it stands.
#pragma once

#include <string>
#include <string_view>

namespace simt {

// `source` has been through the preprocessor, so launches in headers and macros are seen too; its line markers stay,
// and with them the lines in diagnoses and debuggers. What the simulator cannot run (PTX, a launch from a kernel,
// textures, clusters) is an Error "file:line: what and why".
//
//   k<T><<<grid, block>>>(a, b)          ::simt::kernel(.. k<T> .., ::simt::Config(grid, block))(a, b)
//   __shared__ T x[8];                   static __thread T x[8];
//   extern __shared__ T x[];             extern __thread T x[] __asm__("simt_dynamic_shared");
//   __device__ T x;  __constant__ T x;   a variable in a section of its own, so that its address says what it is
//   __global__ __device__ __host__ ..    nothing
std::string translate(std::string_view source, const std::string& file);

}  // namespace simt
