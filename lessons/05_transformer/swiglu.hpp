// The gated activation of the feed-forward block: one projection of the token says what, another how
// much of it passes. Shazeer 2020, "GLU Variants Improve Transformer", equation 6.
#pragma once

#include <cmath>

#include "common/tensor.hpp"

// x * sigmoid(x): about x for large x, about 0 for very negative x, smooth between.
inline double silu(double x) { return x / (1 + std::exp(-x)); }

//   gate, up, out [n_tokens, d_ff]
inline void swiglu(View<float> out, View<const float> gate, View<const float> up) {
    gate.require_shape("swiglu: gate", out.size(0), out.size(1));
    up.require_shape("swiglu: up", out.size(0), out.size(1));
    for (int token = 0; token < out.size(0); ++token) {
        for (int i = 0; i < out.size(1); ++i) {
            out(token, i) = float(silu(double(gate(token, i))) * double(up(token, i)));
        }
    }
}
