// Root-mean-square normalisation of rows: what lesson 05 does with loops.
#pragma once

#include "common/tensor.hpp"

namespace cpu {

// Every row of x is divided by its root mean square, then multiplied by weight, element by element.
//   x, out [n_rows, width]   weight [width]      x is not changed, unless out is x
// epsilon keeps a row of zeros from dividing by zero. A row's bits depend on that row alone.
void rms_norm(View<float> out, View<const float> x, View<const float> weight, float epsilon);

}  // namespace cpu
