// Rotary position embedding: where a token stands is told by turning its queries and keys. Dimensions
// are taken in pairs; pair i of a token at position p turns by the angle p * base^(-2i / n_rotated).
// The dot product of a query and a key then depends on the distance of their positions alone.
// Su et al. 2021, "RoFormer", section 3.2.2.
//
// Which dimensions form a pair is a convention of the weights, not a detail: GGUF files of the `llama`
// family pair neighbours (2i, 2i + 1), other files pair (i, i + n_rotated / 2). The wrong one still
// writes fluent text, only worse.
#pragma once

#include <cmath>

#include "common/tensor.hpp"

// The turns of every position: [n_positions, n_rotated / 2, 2] = cosine, sine.
// frequency_factors [n_rotated / 2], or empty: each pair's angle is divided by its factor (Llama 3.1
// stretches its slow pairs so, to reach further than it was trained for).
inline Tensor rope_table(int n_positions, int n_rotated, double base,
                         View<const float> frequency_factors = {}) {
    Tensor table(n_positions, n_rotated / 2, 2);
    for (int pair = 0; pair < n_rotated / 2; ++pair) {
        double frequency = std::pow(base, -2.0 * pair / n_rotated);
        if (frequency_factors.count()) frequency /= double(frequency_factors(pair));
        for (int position = 0; position < n_positions; ++position) {
            table(position, pair, 0) = float(std::cos(position * frequency));
            table(position, pair, 1) = float(std::sin(position * frequency));
        }
    }
    return table;
}

// Turns x [n_tokens, n_heads, head_dim] in place; positions [n_tokens]. Dimensions from n_rotated on
// are left as they are.
inline void rope(View<float> x, View<const int> positions, View<const float> table) {
    for (int token = 0; token < x.size(0); ++token) {
        const View<const float> turns = table.row(positions(token));  // [n_rotated / 2, 2]
        for (int head = 0; head < x.size(1); ++head) {
            for (int pair = 0; pair < turns.size(0); ++pair) {
                const double cosine = double(turns(pair, 0)), sine = double(turns(pair, 1));
                float& even = x(token, head, 2 * pair);
                float& odd = x(token, head, 2 * pair + 1);
                const double a = double(even), b = double(odd);
                even = float(a * cosine - b * sine);
                odd = float(a * sine + b * cosine);
            }
        }
    }
}
