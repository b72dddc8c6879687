// The sizes of a model of the `llama` family, read from a GGUF file's settings.
#pragma once

#include <set>
#include <string_view>

#include "weights/gguf.hpp"

struct Config {
    int n_layers = 0;
    int d_model = 0;     // width of the residual stream
    int n_heads = 0;     // query heads
    int n_kv_heads = 0;  // key and value heads; n_heads / n_kv_heads query heads share one
    int head_dim = 0;    // width of one head
    int n_rotated = 0;   // dimensions of a head that rope turns, from the first on
    int d_ff = 0;        // width of the feed-forward block
    int vocab_size = 0;
    int context = 0;  // positions the model was trained for
    double rope_base = 0;
    float norm_epsilon = 0;
};

namespace detail {

// No model is near these; below them no product of sizes overflows an int.
inline int positive(const GgufFile& file, const char* key, int most = 1 << 20) {
    return file.integer(key, 1, most);
}

// A key that changes the computation and that nobody here reads means wrong text, so an unknown one is refused.
inline void refuse_unknown_keys(const GgufFile& file) {
    const std::set<std::string_view> known = {"llama.block_count",
                                              "llama.context_length",
                                              "llama.embedding_length",
                                              "llama.feed_forward_length",
                                              "llama.attention.head_count",
                                              "llama.attention.head_count_kv",
                                              "llama.attention.key_length",
                                              "llama.attention.value_length",
                                              "llama.attention.layer_norm_rms_epsilon",
                                              "llama.rope.freq_base",
                                              "llama.rope.dimension_count",
                                              "llama.vocab_size",
                                              "llama.tensor_data_layout"};
    for (const GgufEntry& entry : file.entries()) {
        const std::string_view key = entry.key;
        if (!key.starts_with("llama.") || known.contains(key)) continue;
        if (key == "llama.rope.scaling.type" && file.text(key) == "none") continue;
        if (key == "llama.expert_count" && file.integer(key) == 0) continue;
        fail("%s: this program does not know what %s asks for", file.path().c_str(), quoted(key).c_str());
    }
}

}  // namespace detail

// A missing or impossible setting, another family, and a setting that this program does not know: Error.
inline Config read_config(const GgufFile& file) {
    using detail::positive;
    const std::string& path = file.path();
    if (file.text("general.architecture") != "llama") {
        fail("%s: its architecture is %s, this program runs llama", path.c_str(),
             quoted(file.text("general.architecture")).c_str());
    }
    detail::refuse_unknown_keys(file);
    Config c;
    c.n_layers = positive(file, "llama.block_count");
    c.d_model = positive(file, "llama.embedding_length");
    c.n_heads = positive(file, "llama.attention.head_count");
    c.n_kv_heads = file.has("llama.attention.head_count_kv") ? positive(file, "llama.attention.head_count_kv")
                                                             : c.n_heads;
    c.d_ff = positive(file, "llama.feed_forward_length");
    c.context = positive(file, "llama.context_length", 1 << 24);
    if (c.n_heads % c.n_kv_heads) {
        fail("%s: %d heads cannot share %d key heads", path.c_str(), c.n_heads, c.n_kv_heads);
    }
    const bool stated = file.has("llama.attention.key_length");
    if (!stated && c.d_model % c.n_heads) {
        fail("%s: width %d is not a multiple of %d heads", path.c_str(), c.d_model, c.n_heads);
    }
    c.head_dim = stated ? positive(file, "llama.attention.key_length") : c.d_model / c.n_heads;
    if (file.has("llama.attention.value_length") &&
        positive(file, "llama.attention.value_length") != c.head_dim) {
        fail("%s: llama.attention.value_length differs from the key's length %d", path.c_str(), c.head_dim);
    }
    if (c.head_dim > 4096 || int64_t(c.n_heads) * c.head_dim > 1 << 20) {
        fail("%s: %d heads of %d are more than this program computes", path.c_str(), c.n_heads, c.head_dim);
    }
    c.n_rotated =
        file.has("llama.rope.dimension_count") ? positive(file, "llama.rope.dimension_count") : c.head_dim;
    if (c.n_rotated % 2 || c.n_rotated > c.head_dim) {
        fail("%s: llama.rope.dimension_count %d of head width %d", path.c_str(), c.n_rotated, c.head_dim);
    }
    c.rope_base = file.has("llama.rope.freq_base") ? file.real("llama.rope.freq_base") : 10000.0;
    c.norm_epsilon = float(file.real("llama.attention.layer_norm_rms_epsilon"));
    if (!(c.rope_base > 1 && c.rope_base < 1e12))
        fail("%s: llama.rope.freq_base is %g", path.c_str(), c.rope_base);
    if (!(c.norm_epsilon >= 0 && c.norm_epsilon < 1)) {
        fail("%s: llama.attention.layer_norm_rms_epsilon is %g", path.c_str(), double(c.norm_epsilon));
    }
    return c;
}
