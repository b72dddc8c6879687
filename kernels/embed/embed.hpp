// Token ids to vectors: a row of the embedding table for each.
#pragma once

#include "common/matrix.hpp"
#include "common/threads.hpp"

namespace cpu {

// x [n_tokens, d_model]: row i becomes the floats of the table's row ids(i).   ids [n_tokens]
// table [vocab_size, d_model], row_major as it lies in the file, of any type
// An id outside the table makes its own row NaN, which the sampler reports as that sequence's error; inside a
// team nobody may throw alone. Rows are complete after the caller's next barrier.
void embed(const Worker& worker, View<float> x, const Matrix& table, View<const int> ids);

}  // namespace cpu
