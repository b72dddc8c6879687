// Softmax of rows: what lesson 02 does with loops.
#pragma once

#include "common/tensor.hpp"
#include "common/threads.hpp"

namespace cpu {

// Every row of x becomes shares of 1; masked scores (-infinity) get 0, a row of nothing else is zeros.
//   x, out [n_rows, n_columns]     out may be x
//   log_sum_exp [n_rows], or empty: log of the sum of exp over each row; -infinity where all is masked
// A row belongs to one thread, and its bits depend on that row alone. There is no barrier inside: rows are
// complete after the caller's next one.
void softmax(const Worker& worker, View<float> out, View<const float> x, View<float> log_sum_exp = {});

}  // namespace cpu
