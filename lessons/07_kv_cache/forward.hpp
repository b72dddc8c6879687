// The engine's forward: the steps of lesson 05 in the same order, for any batch, cache and device.
#pragma once

#include "common/batch.hpp"
#include "lessons/05_transformer/weights.hpp"

// Every array that a step writes, allocated once for the longest step.
struct Activations {
    Tensor x;       // [max_tokens, d_model]  the residual stream
    Tensor q;       // [max_tokens, n_heads, head_dim]
    Tensor k, v;    // [max_tokens, n_kv_heads, head_dim]
    Tensor heads;   // [max_tokens, n_heads, head_dim]  what attention returns
    Tensor hidden;  // [max_tokens, d_ff]
    Tensor logits;  // [max_logits, vocab_size]

    Activations(const Config& c, int max_tokens, int max_logits)
        : x(max_tokens, c.d_model), q(max_tokens, c.n_heads, c.head_dim),
          k(max_tokens, c.n_kv_heads, c.head_dim), v(max_tokens, c.n_kv_heads, c.head_dim),
          heads(max_tokens, c.n_heads, c.head_dim), hidden(max_tokens, c.d_ff),
          logits(max_logits, c.vocab_size) {}
};

// With CpuOps every thread of the team runs this, op by op; each op takes its share by thread index and
// ends with the barrier that the next one needs. So the body is op calls only.
//   rope [n_positions, n_rotated / 2, 2]   cache.layer(i) -> KeyValueView
//   -> a.logits, the first batch.logit_rows.size(0) rows
// Ids, positions and slots must be in range: whoever makes the batch checks them, once, outside the team.
template <class Ops, class Cache>
void forward(Ops& ops, const Weights& weights, View<const float> rope, const Batch& batch, const Cache& cache,
             const Activations& a) {
    const Config& c = weights.config;
    const int n = batch.n_tokens();
    const View<float> x = a.x.rows(0, n), hidden = a.hidden.rows(0, n);
    const View<float> q = a.q.rows(0, n), k = a.k.rows(0, n), v = a.v.rows(0, n), heads = a.heads.rows(0, n);
    // The same memory with the heads side by side, as the linear layers see it.
    const auto flat = [n](View<float> t) { return t.reshape(n, t.size(1) * t.size(2)); };

    ops.embed(x, weights.token_embd, batch.ids);
    for (int i = 0; i < c.n_layers; ++i) {
        const Layer& layer = weights.layers[size_t(i)];
        const KeyValueView kv = cache.layer(i);
        ops.norm_linear(x, layer.attn_norm, c.norm_epsilon,
                        {{flat(q), layer.attn_q}, {flat(k), layer.attn_k}, {flat(v), layer.attn_v}});
        ops.rope_store(q, k, v, rope, batch, kv);
        ops.attention(heads, q, batch, kv);
        ops.linear_add(x, flat(heads), layer.attn_output);
        ops.gated_linear(hidden, x, layer.ffn_norm, c.norm_epsilon, layer.ffn_gate, layer.ffn_up);
        ops.linear_add(x, hidden, layer.ffn_down);
    }
    ops.head(a.logits.rows(0, batch.logit_rows.size(0)), x, batch.logit_rows, weights.output_norm,
             c.norm_epsilon, weights.output);
}
