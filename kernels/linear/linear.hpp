// Linear layers: out = x W^T for weights repacked once, at load.
#pragma once

#include "common/matrix.hpp"
#include "common/threads.hpp"

namespace cpu {

// Bytes of `matrix` once it is packed as `type`: F32, F16 or BF16.
size_t packed_bytes(const Matrix& matrix, Type type);
// Fills memory, aligned to 64 bytes, and returns the matrix that lies there, Layout::interleaved16. The team shares
// the rows; they are complete after the caller's next barrier. Block formats are dequantised; a type that
// holds the source's values keeps them exactly.
Matrix pack(const Worker& worker, std::byte* memory, const Matrix& matrix, Type type);

// out [n_tokens, rows] = x [n_tokens, columns] * W^T, weights packed.
// An output element is one fma chain over the columns, from column 0 on, whatever is computed beside it: its bits do
// not depend on the number of tokens or threads. The team shares the rows: a thread writes the columns
// shared_rows(worker, weights.rows) of out, complete for all after the caller's next barrier.
void linear(const Worker& worker, View<float> out, View<const float> x, const Matrix& weights);
// out += x W^T: the chain starts at 0 as above, then one addition.
void linear_add(const Worker& worker, View<float> out, View<const float> x, const Matrix& weights);

Range shared_rows(const Worker& worker, int n_rows);

}  // namespace cpu
