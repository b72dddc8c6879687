// The key-value cache: a token's keys and values do not change when later tokens come, so they are
// computed once and kept. A step then costs one token instead of all of them.
#pragma once

#include <vector>

#include "common/batch.hpp"
#include "common/memory.hpp"

// Contiguous: every sequence owns one block as long as the whole context, used or not (lesson 10 shows
// what that wastes). Bytes lie as [n_layers][keys, values][n_seqs][n_kv_heads][context][head_dim], so
// that attention streams the keys of one head.
class ContiguousCache {
  public:
    // type: F32, F16 or BF16. Sizes must be positive; too much memory is an Error.
    ContiguousCache(Type type, int n_layers, int n_seqs, int n_kv_heads, int context, int head_dim);

    int context() const { return view_.block_size; }
    int length(int seq) const { return lengths_[size_t(seq)]; }
    int room(int seq) const { return context() - length(seq); }
    size_t bytes_per_token() const;  // over all layers

    // Takes n more slots of a sequence; they follow its last one. Not enough room is an Error.
    void append(int seq, int n);
    // Forgets a sequence's tokens from `length` on.
    void truncate(int seq, int length);
    int slot(int seq, int position) const { return seq * context() + position; }

    // One layer as a kernel sees it.
    KeyValueView layer(int index) const;

  private:
    KeyValueView view_;  // of layer 0
    size_t layer_bytes_ = 0, tensor_bytes_ = 0;
    int n_layers_ = 0;
    BigBuffer memory_;
    std::vector<int> block_table_, lengths_;
};

inline ContiguousCache::ContiguousCache(Type type, int n_layers, int n_seqs, int n_kv_heads, int context,
                                        int head_dim)
    : n_layers_(n_layers), lengths_(size_t(n_seqs), 0) {
    if (n_layers < 1 || n_seqs < 1 || n_kv_heads < 1 || context < 1 || head_dim < 1 ||
        is_block_format(type)) {
        fail("a %s cache of %d layers, %d sequences, %d heads of %d, context %d cannot be", type_name(type),
             n_layers, n_seqs, n_kv_heads, head_dim, context);
    }
    if (double(context) * head_dim * n_kv_heads * n_seqs * n_layers > 1e12)
        fail("a cache of context %d is too large", context);
    for (int seq = 0; seq < n_seqs; ++seq) block_table_.push_back(seq);
    view_.type = type;
    view_.n_kv_heads = n_kv_heads;
    view_.head_dim = head_dim;
    view_.block_size = context;
    view_.token_stride = size_t(head_dim);
    view_.head_stride = view_.token_stride * size_t(context);
    view_.block_stride = view_.head_stride * size_t(n_kv_heads);
    tensor_bytes_ = view_.block_stride * size_t(n_seqs) * type_unit_bytes(type);
    layer_bytes_ = 2 * tensor_bytes_;
    memory_ = BigBuffer(layer_bytes_ * size_t(n_layers));
    view_.block_table = View<const int>(block_table_.data(), n_seqs, 1);
    view_.lengths = View<const int>(lengths_);
}

inline size_t ContiguousCache::bytes_per_token() const {
    return 2 * size_t(n_layers_) * size_t(view_.n_kv_heads * view_.head_dim) * type_unit_bytes(view_.type);
}

inline void ContiguousCache::append(int seq, int n) {
    if (n < 0 || n > room(seq)) {
        fail("%d tokens do not fit: %d of the context's %d are used", n, length(seq), context());
    }
    lengths_[size_t(seq)] += n;
}

inline void ContiguousCache::truncate(int seq, int length) {
    if (length < 0 || length > lengths_[size_t(seq)])
        fail("cannot cut %d tokens to %d", lengths_[size_t(seq)], length);
    lengths_[size_t(seq)] = length;
}

inline KeyValueView ContiguousCache::layer(int index) const {
    KeyValueView view = view_;
    view.keys = memory_.data() + size_t(index) * layer_bytes_;
    view.values = view.keys + tensor_bytes_;
    return view;
}
