// What a kernel knows without being told: where its thread stands, and how it waits for the others.
#pragma once

#include "common/simt/include/simt/types.hpp"

extern __thread uint3 threadIdx, blockIdx;
extern __thread dim3 blockDim, gridDim;
constexpr int warpSize = 32;

namespace simt {

// Each counts those of its kind whose predicate holds.
int barrier(bool predicate, Place place);
void grid_barrier(Place place);

}  // namespace simt

inline void __syncthreads(simt::Place place = simt::Place::here()) { simt::barrier(false, place); }
inline int __syncthreads_count(int predicate, simt::Place place = simt::Place::here()) {
    return simt::barrier(predicate != 0, place);
}
inline int __syncthreads_or(int predicate, simt::Place place = simt::Place::here()) {
    return simt::barrier(predicate != 0, place) > 0;
}
inline int __syncthreads_and(int predicate, simt::Place place = simt::Place::here()) {
    return simt::barrier(predicate == 0, place) == 0;
}
