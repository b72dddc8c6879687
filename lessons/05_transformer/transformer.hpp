// The whole model, as plainly as we can write it: the reference for everything that follows.
// One sequence, floats, no cache, no batch. Token ids go in, and out comes for every position a score
// for each word of the vocabulary to be the next one.
//
//   ids [n_tokens]
//    | embed                      x [n_tokens, d_model], the residual stream
//    | n_layers times:
//    |   x += attention block     norm, q k v, rope, attention, output projection
//    |   x += feed-forward block  norm, gate and up, swiglu, down projection
//    | norm, head
//   logits [n_tokens, vocab_size]
//
// Vaswani et al. 2017; the order of norm and block, and no biases: Touvron et al. 2023, "LLaMA", section 2.
#pragma once

#include <functional>
#include <numeric>
#include <vector>

#include "lessons/01_attention/attention.hpp"
#include "lessons/05_transformer/linear.hpp"
#include "lessons/05_transformer/rms_norm.hpp"
#include "lessons/05_transformer/rope.hpp"
#include "lessons/05_transformer/swiglu.hpp"
#include "lessons/05_transformer/weights.hpp"

// Sees every step's result as it is made; `layer` is -1 outside the layers. For --dump and for timing.
using Watch = std::function<void(int layer, const char* step, View<const float> result)>;
inline void watch_nothing(int, const char*, View<const float>) {}

// out [n_tokens, d_model]: row i is the table's row ids(i). An id outside the vocabulary throws Error.
inline void embed(View<float> out, const Matrix& token_embd, View<const int> ids) {
    for (int token = 0; token < ids.size(0); ++token) {
        if (ids(token) < 0 || ids(token) >= token_embd.rows) {
            fail("token id %d is outside the vocabulary of %d", ids(token), token_embd.rows);
        }
        dequantize(out.row(token), token_embd.type, token_embd.row(ids(token)));
    }
}

// x [n_tokens, d_model] += what the tokens before (and itself) tell each token.
inline void attention_block(View<float> x, const Config& c, const Layer& layer, int index,
                            View<const int> positions, View<const float> rope_turns, const Watch& watch) {
    const int n_tokens = x.size(0);
    Tensor normed(n_tokens, c.d_model);
    rms_norm(normed, x, layer.attn_norm, c.norm_epsilon);
    watch(index, "attn_norm", normed);

    Tensor q(n_tokens, c.n_heads, c.head_dim);
    Tensor k(n_tokens, c.n_kv_heads, c.head_dim), v(n_tokens, c.n_kv_heads, c.head_dim);
    linear(q.reshape(n_tokens, c.n_heads * c.head_dim), normed, layer.attn_q);
    watch(index, "attn_q", q);
    linear(k.reshape(n_tokens, c.n_kv_heads * c.head_dim), normed, layer.attn_k);
    watch(index, "attn_k", k);
    linear(v.reshape(n_tokens, c.n_kv_heads * c.head_dim), normed, layer.attn_v);
    watch(index, "attn_v", v);

    rope(q, positions, rope_turns);
    watch(index, "rope(q)", q);
    rope(k, positions, rope_turns);
    watch(index, "rope(k)", k);

    Tensor heads(n_tokens, c.n_heads, c.head_dim);
    grouped_query_attention(heads, q, k, v);
    watch(index, "attention", heads);

    Tensor out(n_tokens, c.d_model);
    linear(out, heads.reshape(n_tokens, c.n_heads * c.head_dim), layer.attn_output);
    watch(index, "attn_output", out);
    add(x, out);
    watch(index, "x += attention", x);
}

// x [n_tokens, d_model] += what each token makes of itself, alone.
inline void feed_forward_block(View<float> x, const Config& c, const Layer& layer, int index,
                               const Watch& watch) {
    const int n_tokens = x.size(0);
    Tensor normed(n_tokens, c.d_model);
    rms_norm(normed, x, layer.ffn_norm, c.norm_epsilon);
    watch(index, "ffn_norm", normed);

    Tensor gate(n_tokens, c.d_ff), up(n_tokens, c.d_ff), hidden(n_tokens, c.d_ff);
    linear(gate, normed, layer.ffn_gate);
    watch(index, "ffn_gate", gate);
    linear(up, normed, layer.ffn_up);
    watch(index, "ffn_up", up);
    swiglu(hidden, gate, up);
    watch(index, "swiglu", hidden);

    Tensor out(n_tokens, c.d_model);
    linear(out, hidden, layer.ffn_down);
    watch(index, "ffn_down", out);
    add(x, out);
    watch(index, "x += feed_forward", x);
}

// ids [n_tokens] -> logits [n_tokens, vocab_size]; row i scores the token after ids(i).
// No ids, an id outside the vocabulary, or more ids than the model's context: Error.
inline Tensor forward(const Weights& weights, View<const int> ids, const Watch& watch = watch_nothing) {
    const Config& c = weights.config;
    const int n_tokens = ids.size(0);
    if (n_tokens < 1 || n_tokens > c.context) {
        fail("the model reads 1 to %d tokens at once, got %d", c.context, n_tokens);
    }
    std::vector<int> positions(size_t(n_tokens), 0);
    std::iota(positions.begin(), positions.end(), 0);
    const Tensor rope_turns = rope_table(n_tokens, c.n_rotated, c.rope_base, weights.rope_freqs);

    Tensor x(n_tokens, c.d_model);
    embed(x, weights.token_embd, ids);
    watch(-1, "embed", x);
    for (int i = 0; i < c.n_layers; ++i) {
        attention_block(x, c, weights.layers[size_t(i)], i, positions, rope_turns, watch);
        feed_forward_block(x, c, weights.layers[size_t(i)], i, watch);
    }
    Tensor normed(n_tokens, c.d_model), logits(n_tokens, c.vocab_size);
    rms_norm(normed, x, weights.output_norm, c.norm_epsilon);
    watch(-1, "output_norm", normed);
    linear(logits, normed, weights.output);
    watch(-1, "output", logits);
    return logits;
}
