// Root-mean-square normalisation: every token's vector is scaled to length sqrt(d_model), then each
// dimension by its own learnt weight. Unlike LayerNorm it subtracts no mean and adds no bias.
// Zhang and Sennrich 2019, "Root Mean Square Layer Normalization", equation 4.
#pragma once

#include <cmath>

#include "common/tensor.hpp"

//   x, out [n_tokens, d_model]   weight [d_model]
// epsilon keeps a vector of zeros from dividing by zero. The sum of squares is taken in double: in
// half precision 256 * 256 already overflows. x is left as it is: the residual stream needs it.
inline void rms_norm(View<float> out, View<const float> x, View<const float> weight, float epsilon) {
    const int n_tokens = x.size(0), d_model = x.size(1);
    out.require_shape("rms_norm: out", n_tokens, d_model);
    weight.require_shape("rms_norm: weight", d_model);
    for (int token = 0; token < n_tokens; ++token) {
        double squares = 0;
        for (int dim = 0; dim < d_model; ++dim) squares += double(x(token, dim)) * double(x(token, dim));
        const double scale = 1 / std::sqrt(squares / d_model + double(epsilon));
        for (int dim = 0; dim < d_model; ++dim) {
            out(token, dim) = float(double(x(token, dim)) * scale * double(weight(dim)));
        }
    }
}
