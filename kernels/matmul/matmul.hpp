// The product of two matrices as fast as this machine multiplies: the end of lesson 03's ladder.
#pragma once

#include "common/matrix.hpp"
#include "common/threads.hpp"

namespace cpu {

// Bytes of b [n_inner, n_columns] once its columns are packed.
size_t packed_columns_bytes(View<const float> b);
// Columns of b as a linear layer has its rows: 16 side by side, aligned to 64 bytes. The team shares the columns; they
// are complete after the caller's next barrier.
Matrix pack_columns(const Worker& worker, std::byte* memory, View<const float> b);

// c [n_rows, n_columns] = a [n_rows, n_inner] * b [n_inner, n_columns], an element one fma chain over k. memory:
// packed_columns_bytes(b) of scratch, the same for the whole team; c is complete after the caller's next barrier.
void matmul(const Worker& worker, View<float> c, View<const float> a, View<const float> b, std::byte* memory);

}  // namespace cpu
