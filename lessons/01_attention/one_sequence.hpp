// One sequence in the form that kernels take: its newest n_tokens tokens as a batch, and as a cache k and v
// themselves. Lesson 07 builds real caches.
#pragma once

#include <numeric>
#include <vector>

#include "common/batch.hpp"

struct OneSequence {
    std::vector<int> positions, begin, table{0}, lengths;
    Batch batch;
    KeyValueView cache;

    // k, v [n_keys, n_kv_heads, head_dim]
    OneSequence(int n_tokens, View<float> k, View<float> v)
        : positions(size_t(n_tokens)), begin{0, n_tokens}, lengths{k.size(0)} {
        std::iota(positions.begin(), positions.end(), k.size(0) - n_tokens);
        batch.ids = batch.positions = batch.slots = positions;  // no ids are read; key p is stored at slot p
        batch.sequence_begin = begin;
        cache.keys = reinterpret_cast<std::byte*>(k.data());
        cache.values = reinterpret_cast<std::byte*>(v.data());
        cache.n_kv_heads = k.size(1), cache.head_dim = k.size(2), cache.block_size = k.size(0);
        cache.head_stride = size_t(k.size(2)), cache.token_stride = cache.head_stride * size_t(k.size(1));
        cache.block_table = View<const int>(table.data(), 1, 1);
        cache.lengths = lengths;
    }
    OneSequence(const OneSequence&) = delete;  // batch and cache point into it
};
