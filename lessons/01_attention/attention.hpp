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
#include <limits>

#include "common/tensor.hpp"

// a [n, inner] times b [inner, m] -> [n, m]
inline Tensor matmul(View<const float> a, View<const float> b) {
    if (a.size(1) != b.size(0))
        fail("matmul of %s and %s", a.shape().text().c_str(), b.shape().text().c_str());
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

// The causal mask. The last query is the newest token, so query t stands at key n_keys - n_tokens + t: it sees
// the keys up to there. A key after it is the future: its score becomes -infinity, its weight exactly 0.
inline void hide_future_keys(View<float> scores) {
    const int n_tokens = scores.size(0), n_keys = scores.size(1);
    for (int token = 0; token < n_tokens; ++token) {
        const int own_key = n_keys - n_tokens + token;
        for (int key = 0; key < n_keys; ++key) {
            if (key > own_key) scores(token, key) = -std::numeric_limits<float>::infinity();
        }
    }
}

// Each row becomes positive shares that add up to 1. Subtracting the row's largest score changes no share and
// keeps exp from overflowing (lesson 02). A row that sees no key has no shares to give: zeros.
inline void softmax_rows(View<float> scores) {
    for (int row = 0; row < scores.size(0); ++row) {
        const View<float> shares = scores.row(row);
        float largest = -std::numeric_limits<float>::infinity();
        for (float score : shares) largest = std::fmax(largest, score);
        const bool sees_no_key = largest == -std::numeric_limits<float>::infinity();
        double sum = 0;
        for (float& x : shares) sum += x = sees_no_key ? 0.0f : std::exp(x - largest);
        for (float& x : shares) x = sees_no_key ? 0.0f : float(double(x) / sum);
    }
}

// Who looks at whom: q [n_tokens, head_dim], k [n_keys, head_dim] -> [n_tokens, n_keys], rows add up to 1.
inline Tensor attention_weights(View<const float> q, View<const float> k) {
    Tensor weights = matmul(q, transpose(k));
    scale(weights, 1.0f / std::sqrt(float(q.size(1))));
    hide_future_keys(weights);
    softmax_rows(weights);
    return weights;
}

// One head. v [n_keys, head_dim] -> [n_tokens, head_dim]
inline Tensor attention(View<const float> q, View<const float> k, View<const float> v) {
    return matmul(attention_weights(q, k), v);
}

// A whole attention of one head: the three projections, w_q, w_k, w_v [head_dim, d_model], and the mean.
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

// Many heads, each asking its own question; groups of neighbouring query heads share one key and value head, so
// that less has to be kept (Ainslie et al. 2023). n_kv_heads == n_heads is multi-head attention, 1 is multi-query.
//   q, out [n_tokens, n_heads, head_dim]   k, v [n_keys, n_kv_heads, head_dim]
inline void grouped_query_attention(View<float> out, View<const float> q, View<const float> k,
                                    View<const float> v) {
    const int n_tokens = q.size(0), n_heads = q.size(1), head_dim = q.size(2), n_kv_heads = k.size(1);
    if (n_kv_heads < 1 || n_heads % n_kv_heads != 0) fail("%d heads cannot share %d", n_heads, n_kv_heads);
    k.require_shape("k", k.size(0), n_kv_heads, head_dim);
    v.require_shape("v", k.size(0), n_kv_heads, head_dim);
    out.require_shape("out", n_tokens, n_heads, head_dim);
    for (int head = 0; head < n_heads; ++head) {
        const int kv_head = head / (n_heads / n_kv_heads);
        const Tensor mean = attention(take_head(q, head), take_head(k, kv_head), take_head(v, kv_head));
        for (int token = 0; token < n_tokens; ++token) {
            for (int dim = 0; dim < head_dim; ++dim) out(token, head, dim) = mean(token, dim);
        }
    }
}
