// The weights of a model of the `llama` family, by the names that GGUF files give them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "common/matrix.hpp"
#include "weights/gguf.hpp"

struct Config {
    int n_layers = 0;
    int d_model = 0;       // width of the residual stream
    int n_heads = 0;       // query heads
    int n_kv_heads = 0;    // key and value heads; n_heads / n_kv_heads query heads share one
    int head_dim = 0;      // width of one head
    int n_rotated = 0;     // dimensions of a head that rope turns, from the first on
    int d_ff = 0;          // width of the feed-forward block
    int vocab_size = 0;
    int context = 0;       // positions the model was trained for
    double rope_base = 0;
    float norm_epsilon = 0;
};

struct Layer {
    View<const float> attn_norm;           // [d_model]
    Matrix attn_q;                         // [n_heads * head_dim, d_model]
    Matrix attn_k, attn_v;                 // [n_kv_heads * head_dim, d_model]
    Matrix attn_output;                    // [d_model, n_heads * head_dim]
    View<const float> ffn_norm;            // [d_model]
    Matrix ffn_gate, ffn_up;               // [d_ff, d_model]
    Matrix ffn_down;                       // [d_model, d_ff]
};

// Matrices point into the file's mapping (or, packed for the fast kernels, into memory of their own).
struct Weights {
    Config config;
    Matrix token_embd;                     // [vocab_size, d_model]
    std::vector<Layer> layers;
    View<const float> output_norm;         // [d_model]
    Matrix output;                         // [vocab_size, d_model]; token_embd again when the file has none
    View<const float> rope_freqs;          // [n_rotated / 2] or empty
};

namespace detail {

inline int positive(const GgufFile& file, const char* key) { return file.integer(key, 1, 1 << 24); }

// A key that changes the computation and that nobody here reads means wrong text, so an unknown one is refused.
inline void refuse_unknown_keys(const GgufFile& file) {
    const std::set<std::string_view> known = {
        "llama.block_count", "llama.context_length", "llama.embedding_length", "llama.feed_forward_length",
        "llama.attention.head_count", "llama.attention.head_count_kv", "llama.attention.key_length",
        "llama.attention.value_length", "llama.attention.layer_norm_rms_epsilon", "llama.rope.freq_base",
        "llama.rope.dimension_count", "llama.vocab_size", "llama.tensor_data_layout"};
    for (const GgufEntry& entry : file.entries()) {
        const std::string_view key = entry.key;
        if (!key.starts_with("llama.") || known.contains(key)) continue;
        if (key == "llama.rope.scaling.type" && file.text(key) == "none") continue;
        if (key == "llama.expert_count" && file.integer(key) == 0) continue;
        fail("%s: this program does not know what %s asks for", file.path().c_str(), quoted(key).c_str());
    }
}

inline Config read_config(const GgufFile& file) {
    const std::string& path = file.path();
    if (file.text("general.architecture") != "llama") {
        fail("%s: its architecture is %s, this program runs llama", path.c_str(),
             quoted(file.text("general.architecture")).c_str());
    }
    refuse_unknown_keys(file);
    Config c;
    c.n_layers = positive(file, "llama.block_count");
    c.d_model = positive(file, "llama.embedding_length");
    c.n_heads = positive(file, "llama.attention.head_count");
    c.n_kv_heads = file.has("llama.attention.head_count_kv") ? positive(file, "llama.attention.head_count_kv") : c.n_heads;
    c.d_ff = positive(file, "llama.feed_forward_length");
    c.context = positive(file, "llama.context_length");
    if (c.n_heads % c.n_kv_heads) {
        fail("%s: %d heads cannot share %d key heads", path.c_str(), c.n_heads, c.n_kv_heads);
    }
    const bool stated = file.has("llama.attention.key_length");
    if (!stated && c.d_model % c.n_heads) {
        fail("%s: width %d is not a multiple of %d heads", path.c_str(), c.d_model, c.n_heads);
    }
    c.head_dim = stated ? positive(file, "llama.attention.key_length") : c.d_model / c.n_heads;
    if (file.has("llama.attention.value_length") && positive(file, "llama.attention.value_length") != c.head_dim) {
        fail("%s: llama.attention.value_length differs from the key's length %d", path.c_str(), c.head_dim);
    }
    c.n_rotated = file.has("llama.rope.dimension_count") ? positive(file, "llama.rope.dimension_count") : c.head_dim;
    if (c.n_rotated % 2 || c.n_rotated > c.head_dim) {
        fail("%s: llama.rope.dimension_count %d of head width %d", path.c_str(), c.n_rotated, c.head_dim);
    }
    c.rope_base = file.has("llama.rope.freq_base") ? file.real("llama.rope.freq_base") : 10000.0;
    c.norm_epsilon = float(file.real("llama.attention.layer_norm_rms_epsilon"));
    if (!(c.rope_base > 1 && c.rope_base < 1e12)) fail("%s: llama.rope.freq_base is %g", path.c_str(), c.rope_base);
    if (!(c.norm_epsilon >= 0 && c.norm_epsilon < 1)) {
        fail("%s: llama.attention.layer_norm_rms_epsilon is %g", path.c_str(), double(c.norm_epsilon));
    }
    return c;
}

}  // namespace detail

// Reads the weights out of a file; they stay where they are. A missing tensor, one of another shape, and
// one that the model does not use are Errors that name it.
inline Weights load_weights(const GgufFile& file) {
    Weights w;
    Config& c = w.config = detail::read_config(file);
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
