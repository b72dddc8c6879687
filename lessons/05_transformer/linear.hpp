// A linear layer: every output is the dot product of the input with one row of the weights.
#pragma once

#include <vector>

#include "common/matrix.hpp"

//   x [n_tokens, n_in]   w [n_out, n_in], in any type   out [n_tokens, n_out]
// A weight row is turned into floats once and used for every token: this is the whole difference
// between a prompt (many tokens a row) and a decode step (one), and lesson 03 is about it.
inline void linear(View<float> out, View<const float> x, const Matrix& w) {
    const int n_tokens = x.size(0), n_in = w.columns, n_out = w.rows;
    x.require_shape("linear: x", n_tokens, n_in);
    out.require_shape("linear: out", n_tokens, n_out);
    std::vector<float> row(size_t(n_in), 0.0f);
    for (int i = 0; i < n_out; ++i) {
        dequantize(row, w.type, w.row(i));
        for (int token = 0; token < n_tokens; ++token) {
            double sum = 0;
            for (int k = 0; k < n_in; ++k) sum += double(x(token, k)) * double(row[size_t(k)]);
            out(token, i) = float(sum);
        }
    }
}

// The residual stream: every block adds its output to what came in. x, y [n_tokens, d_model].
inline void add(View<float> x, View<const float> y) {
    for (size_t i = 0; i < x.count(); ++i) x.data()[i] += y.data()[i];
}
