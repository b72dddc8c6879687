// Attention as loops: each token looks at the tokens up to itself and takes home a weighted mean.
//
//   x [n_tokens, d_model]             the tokens, one row each
//   q = x w_q^T                       what each token looks for                 [n_tokens, head_dim]
//   k = x w_k^T                       what each token can be found by           [n_keys, head_dim]
//   v = x w_v^T                       what it hands over to those who find it   [n_keys, head_dim]
//   scores  = q k^T / sqrt(head_dim)  how well each query fits each key         [n_tokens, n_keys]
//   weights = softmax of each row     shares of one; keys of the future get 0   [n_tokens, n_keys]
//   out     = weights v               the weighted mean                         [n_tokens, head_dim]
//
// Vaswani et al. 2017, "Attention is all you need", section 3.2. Sums are accumulated in double: these
// loops are what every faster attention in this book is compared with.
#pragma once

#include <cmath>

#include "common/tensor.hpp"

// a [n, inner] times b [inner, m] -> [n, m]
inline Tensor matmul(View<const float> a, View<const float> b) {
    b.require_shape("the second factor of matmul", a.size(1), b.size(1));
    Tensor out(a.size(0), b.size(1));
    for (int row = 0; row < a.size(0); ++row) {
        for (int column = 0; column < b.size(1); ++column) {
            double sum = 0;
            for (int i = 0; i < a.size(1); ++i) sum += double(a(row, i)) * double(b(i, column));
            out(row, column) = float(sum);
        }
    }
    return out;
}

// [n, m] -> [m, n]
inline Tensor transpose(View<const float> a) {
    Tensor out(a.size(1), a.size(0));
    for (int row = 0; row < a.size(0); ++row) {
        for (int column = 0; column < a.size(1); ++column) out(column, row) = a(row, column);
    }
    return out;
}

inline void scale(View<float> a, float factor) {
    for (float& x : a) x *= factor;
}

// The causal mask. The last query is the newest token, so query t stands at key n_keys - n_tokens + t and
// sees the keys up to it. A later key is the future: its score becomes -infinity, so its weight 0.
inline void hide_future_keys(View<float> scores) {
    const int n_tokens = scores.size(0), n_keys = scores.size(1);
    for (int token = 0; token < n_tokens; ++token) {
        const int own_key = n_keys - n_tokens + token;
        for (int key = 0; key < n_keys; ++key) {
            if (key > own_key) scores(token, key) = -INFINITY;
        }
    }
}

// Each row becomes shares that add up to 1. Subtracting the row's largest score changes no share and keeps
// exp from overflowing (lesson 02). A row that sees no key has nothing to share: zeros.
inline void softmax_rows(View<float> scores) {
    for (int row = 0; row < scores.size(0); ++row) {
        float largest = -INFINITY;
        for (float score : scores.row(row)) largest = std::fmax(largest, score);
        if (largest == -INFINITY) largest = 0;  // -infinity - -infinity would be NaN
        double sum = 0;
        for (float& x : scores.row(row)) sum += x = std::exp(x - largest);
        for (float& x : scores.row(row)) x = sum == 0 ? 0 : float(x / sum);
    }
}

// Who looks at whom: q [n_tokens, head_dim], k [n_keys, head_dim] -> [n_tokens, n_keys]
inline Tensor attention_weights(View<const float> q, View<const float> k) {
    Tensor weights = matmul(q, transpose(k));
    scale(weights, 1 / std::sqrt(float(q.size(1))));
    hide_future_keys(weights);
    softmax_rows(weights);
    return weights;
}

// One head. v [n_keys, head_dim] -> [n_tokens, head_dim]
inline Tensor attention(View<const float> q, View<const float> k, View<const float> v) {
    return matmul(attention_weights(q, k), v);
}

// The same from the tokens on: x [n_tokens, d_model], w_q, w_k, w_v [head_dim, d_model], a row an output.
inline Tensor self_attention(View<const float> x, View<const float> w_q, View<const float> w_k,
                             View<const float> w_v) {
    return attention(matmul(x, transpose(w_q)), matmul(x, transpose(w_k)), matmul(x, transpose(w_v)));
}

// Head `head` of x [n, n_heads, head_dim] -> [n, head_dim]
inline Tensor take_head(View<const float> x, int head) {
    Tensor out(x.size(0), x.size(2));
    for (int row = 0; row < x.size(0); ++row) {
        for (int dim = 0; dim < x.size(2); ++dim) out(row, dim) = x(row, head, dim);
    }
    return out;
}

// Many heads, each with a question of its own: q, out [n_tokens, n_heads, head_dim].
// k, v [n_keys, n_kv_heads, head_dim]: with n_kv_heads == n_heads this is multi-head attention. With fewer,
// neighbouring query heads share a key and value head, and less has to be kept: grouped-query attention
// (Ainslie et al. 2023).
inline void grouped_query_attention(View<float> out, View<const float> q, View<const float> k,
                                    View<const float> v) {
    const int n_tokens = q.size(0), n_heads = q.size(1), head_dim = q.size(2), n_kv_heads = k.size(1);
    if (n_kv_heads < 1 || n_heads % n_kv_heads) fail("%d heads cannot share %d", n_heads, n_kv_heads);
    out.require_shape("out", n_tokens, n_heads, head_dim);
    for (int head = 0; head < n_heads; ++head) {
        const int kv_head = head / (n_heads / n_kv_heads);
        const Tensor mean = attention(take_head(q, head), take_head(k, kv_head), take_head(v, kv_head));
        for (int token = 0; token < n_tokens; ++token) {
            for (int dim = 0; dim < head_dim; ++dim) out(token, head, dim) = mean(token, dim);
        }
    }
}
