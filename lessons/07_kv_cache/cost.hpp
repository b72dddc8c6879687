// What a step costs at the least: its multiplications and additions. Its bytes are those of the weights and
// the cache, which the runner knows.
#pragma once

#include "lessons/05_transformer/weights.hpp"

// FLOPs of computing n_new tokens after n_past others, with the logits of n_logits of them. Counted are the
// matrices and attention's two products over the keys that each token sees; the rest is under 1 %.
inline double step_flops(const Config& c, double n_new, double n_past, double n_logits) {
    const double q_width = double(c.n_heads) * c.head_dim, kv_width = double(c.n_kv_heads) * c.head_dim;
    const double matrices = 2.0 * c.d_model * (2 * q_width + 2 * kv_width + 3.0 * c.d_ff);
    const double keys_seen = n_new * n_past + n_new * (n_new + 1) / 2;
    return c.n_layers * (n_new * matrices + 4 * q_width * keys_seen) +
           2.0 * n_logits * c.vocab_size * c.d_model;
}
