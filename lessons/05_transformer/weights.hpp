// The weights of a model of the `llama` family, by the names that GGUF files give them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "common/matrix.hpp"
#include "lessons/05_transformer/config.hpp"

struct Layer {
    View<const float> attn_norm;  // [d_model]
    Matrix attn_q;                // [n_heads * head_dim, d_model]
    Matrix attn_k, attn_v;        // [n_kv_heads * head_dim, d_model]
    Matrix attn_output;           // [d_model, n_heads * head_dim]
    View<const float> ffn_norm;   // [d_model]
    Matrix ffn_gate, ffn_up;      // [d_ff, d_model]
    Matrix ffn_down;              // [d_model, d_ff]
};

// Matrices point into the file's mapping (or, packed for the fast kernels, into memory of their own).
struct Weights {
    Config config;
    Matrix token_embd;  // [vocab_size, d_model]
    std::vector<Layer> layers;
    View<const float> output_norm;  // [d_model]
    Matrix output;                  // [vocab_size, d_model]; token_embd again when the file has none
    View<const float> rope_freqs;   // [n_rotated / 2] or empty
};

// Reads the weights out of a file; they stay where they are. A missing tensor, one of another shape, and
// one that the model does not use are Errors that name it.
inline Weights load_weights(const GgufFile& file) {
    Weights w;
    Config& c = w.config = read_config(file);
    std::set<std::string> used;
    const auto matrix = [&](const std::string& name, int rows, int columns) {
        used.insert(name);
        const Matrix m = file.matrix(name);
        m.require_shape((file.path() + ": " + name).c_str(), rows, columns);
        return m;
    };
    const auto vector = [&](const std::string& name, int size) {
        used.insert(name);
        const View<const float> v = file.vector(name);
        v.require_shape((file.path() + ": " + name).c_str(), size);
        return v;
    };

    c.vocab_size = file.matrix("token_embd.weight").rows;
    for (const GgufEntry& entry :
         file.entries()) {  // an id must mean the same to the tokenizer and to the model
        const bool tokens = entry.key == "tokenizer.ggml.tokens";
        if (!tokens && entry.key != "llama.vocab_size") continue;
        const int64_t said = tokens ? int64_t(entry.length) : file.integer(entry.key);
        if (said != c.vocab_size) {
            fail("%s: token_embd.weight has %d rows, but %s says %lld", file.path().c_str(), c.vocab_size,
                 quoted(entry.key).c_str(), static_cast<long long>(said));
        }
    }
    w.token_embd = matrix("token_embd.weight", c.vocab_size, c.d_model);
    const int q_width = c.n_heads * c.head_dim, kv_width = c.n_kv_heads * c.head_dim;
    for (int i = 0; i < c.n_layers; ++i) {
        const std::string block = "blk." + std::to_string(i) + ".";
        w.layers.push_back({.attn_norm = vector(block + "attn_norm.weight", c.d_model),
                            .attn_q = matrix(block + "attn_q.weight", q_width, c.d_model),
                            .attn_k = matrix(block + "attn_k.weight", kv_width, c.d_model),
                            .attn_v = matrix(block + "attn_v.weight", kv_width, c.d_model),
                            .attn_output = matrix(block + "attn_output.weight", c.d_model, q_width),
                            .ffn_norm = vector(block + "ffn_norm.weight", c.d_model),
                            .ffn_gate = matrix(block + "ffn_gate.weight", c.d_ff, c.d_model),
                            .ffn_up = matrix(block + "ffn_up.weight", c.d_ff, c.d_model),
                            .ffn_down = matrix(block + "ffn_down.weight", c.d_model, c.d_ff)});
    }
    w.output_norm = vector("output_norm.weight", c.d_model);
    const bool tied = !file.has_tensor("output.weight");  // many small models share one matrix for both ends
    w.output = tied ? w.token_embd : matrix("output.weight", c.vocab_size, c.d_model);
    if (file.has_tensor("rope_freqs.weight")) w.rope_freqs = vector("rope_freqs.weight", c.n_rotated / 2);

    for (const GgufTensor& tensor : file.tensors()) {
        if (!used.contains(std::string(tensor.name))) {
            fail("%s: tensor %s is not part of a llama model as this program knows it", file.path().c_str(),
                 quoted(tensor.name).c_str());
        }
    }
    return w;
}
