// The engine's operations made of the lessons' own small functions: slow, plain, one thread. With them
// the engine's forward equals lesson 05's bit for bit; the fast ones (kernels/ops.hpp) are held against them.
#pragma once

#include <initializer_list>

#include "common/batch.hpp"
#include "lessons/05_transformer/transformer.hpp"

struct ReferenceOps {
    void embed(View<float> x, const Matrix& table, View<const int> ids) { ::embed(x, table, ids); }

    void norm_linear(View<const float> x, View<const float> norm, float epsilon,
                     std::initializer_list<Linear> linears) {
        Tensor normed(x.shape());
        rms_norm(normed, x, norm, epsilon);
        for (const Linear& l : linears) linear(l.out, normed, l.weights);
    }

    // q [n_tokens, n_heads, head_dim]   k, v [n_tokens, n_kv_heads, head_dim]
    void rope_store(View<float> q, View<float> k, View<const float> v, View<const float> turns,
                    const Batch& batch, const KeyValueView& kv) {
        for (int token = 0; token < batch.n_tokens(); ++token) {
            const int slot = batch.slots(token);
            if (slot < 0) continue;
            rope(q.rows(token, token + 1), batch.positions.rows(token, token + 1), turns);
            rope(k.rows(token, token + 1), batch.positions.rows(token, token + 1), turns);
            for (int head = 0; head < kv.n_kv_heads; ++head) {
                const size_t offset = kv.offset(slot / kv.block_size, head, slot % kv.block_size);
                store(kv.keys, kv.type, offset, k.row(token).row(head));
                store(kv.values, kv.type, offset, v.row(token).row(head));
            }
        }
    }

    // Each token alone: its keys and values are copied out of the cache, then lesson 01 does the rest.
    void attention(View<float> out, View<const float> q, const Batch& batch, const KeyValueView& kv) {
        for (int seq = 0; seq < batch.n_seqs(); ++seq) {
            for (int token = batch.sequence_begin(seq); token < batch.sequence_begin(seq + 1); ++token) {
                if (batch.slots(token) < 0) continue;
                const int n_keys = batch.positions(token) + 1;
                Tensor k(n_keys, kv.n_kv_heads, kv.head_dim), v(n_keys, kv.n_kv_heads, kv.head_dim);
                for (int position = 0; position < n_keys; ++position) {
                    const int block = kv.block_table(seq, position / kv.block_size);
                    for (int head = 0; head < kv.n_kv_heads; ++head) {
                        const size_t offset = kv.offset(block, head, position % kv.block_size);
                        load(k.row(position).row(head), kv.keys, kv.type, offset);
                        load(v.row(position).row(head), kv.values, kv.type, offset);
                    }
                }
                grouped_query_attention(out.rows(token, token + 1), q.rows(token, token + 1), k, v);
            }
        }
    }

    void linear_add(View<float> x, View<const float> in, const Matrix& weights) {
        Tensor out(x.shape());
        linear(out, in, weights);
        add(x, out);
    }

    void gated_linear(View<float> out, View<const float> x, View<const float> norm, float epsilon,
                      const Matrix& gate_weights, const Matrix& up_weights) {
        Tensor gate(out.shape()), up(out.shape());
        norm_linear(x, norm, epsilon, {{gate, gate_weights}, {up, up_weights}});
        swiglu(out, gate, up);
    }

    // Only the rows whose logits are wanted: the head is a fifth of a small model.
    void head(View<float> logits, View<const float> x, View<const int> rows, View<const float> norm,
              float epsilon, const Matrix& weights) {
        Tensor wanted(rows.size(0), x.size(1));
        for (int i = 0; i < rows.size(0); ++i) {
            for (int dim = 0; dim < x.size(1); ++dim) wanted(i, dim) = x(rows(i), dim);
        }
        norm_linear(wanted, norm, epsilon, {{logits, weights}});
    }

  private:
    static void store(std::byte* base, Type type, size_t offset, View<const float> from) {
        for (int dim = 0; dim < from.size(0); ++dim) {
            const size_t at = offset + size_t(dim);
            if (type == Type::F32) reinterpret_cast<float*>(base)[at] = from(dim);
            if (type == Type::F16) reinterpret_cast<half*>(base)[at] = to_half(from(dim));
            if (type == Type::BF16) reinterpret_cast<bf16*>(base)[at] = to_bf16(from(dim));
        }
    }
    static void load(View<float> to, const std::byte* base, Type type, size_t offset) {
        dequantize(to, type, base + offset * type_unit_bytes(type));
    }
};
