// A tile of the key-value cache, brought into the order that the products read. Where the cache keeps a key,
// and as what type, is known here alone.
//
//   cache: rows of head_dim, on pages           keys, turned [width][tile_keys]      values [n_keys][stride]
//    block 7: key 0 key 1 ..                     dim 0: key 0 key 1 .. key 63         key 0: dim 0 dim 1 ..
//    block 2: key 16 key 17 ..                   dim 1: key 0 key 1 .. key 63         key 1: dim 0 dim 1 ..
#pragma once

#include <algorithm>
#include <type_traits>

#include "common/batch.hpp"
#include "kernels/attention/product.hpp"

namespace cpu::tiles {

constexpr int tile_keys = 64;  // a multiple of 16; of 64 dims: 16 KB of keys, 16 KB of values

inline int padded(int n) { return (n + lanes - 1) / lanes * lanes; }

struct Rows {
    const float* data;
    int stride;
};

// Walks over the keys of a sequence in the cache, or their values, from one on.
template <class T>
struct Walk {
    const KeyValueView& cache;
    const std::byte* base;
    int seq, kv_head, block, offset;

    const T* row() const {  // [head_dim]
        return reinterpret_cast<const T*>(base) +
               cache.offset(cache.block_table(seq, block), kv_head, offset);
    }
    void next() {
        if (++offset == cache.block_size) ++block, offset = 0;
    }
    // The next n rows will be read soon.
    void ask(int n) {
        for (; n > 0; --n, next()) {
            const T* from = row();
            for (int dim = 0; dim < cache.head_dim; dim += 64 / int(sizeof(T))) prefetch(from + dim);
        }
    }
    // The next n rows as floats, filled up to [n][width]: where they are, if they lie together as such, else
    // copied into `buffer`. Up to 15 rows behind them may be read too; what lies there does not matter.
    Rows as_floats(float* buffer, int n) {
        const int width = padded(cache.head_dim);
        if constexpr (std::is_same_v<T, float>) {
            const bool together = offset + padded(n) <= cache.block_size && cache.head_dim == width;
            if (together) return {row(), int(cache.token_stride)};
        }
        for (float* out = buffer; n > 0; --n, next(), out += width) {
            const T* in = row();
            int dim = 0;
            for (; dim + lanes <= cache.head_dim; dim += lanes) store(out + dim, f32x16::load(in + dim));
            if (dim < width) store(out + dim, f32x16::load(in + dim, cache.head_dim - dim));
        }
        return {buffer, width};
    }
};

// Memory for one tile; width = padded(head_dim).
struct TileMemory {
    float* keys;     // [width][tile_keys]
    float* values;   // [tile_keys][width]
    float* staging;  // [16][width]
};

// The keys of the tile that begins at first_key, turned, into memory.keys; gives their values. Nobody sees
// more than the first n_visible keys of the sequence.
template <class T>
Rows pack_tile(const TileMemory& memory, const KeyValueView& cache, int seq, int kv_head, int first_key,
               int n_visible) {
    const int end = std::min(first_key + tile_keys, n_visible), width = padded(cache.head_dim);
    const auto walk = [&](const std::byte* base, int key) {
        return Walk<T>{cache, base, seq, kv_head, key / cache.block_size, key % cache.block_size};
    };
    for (int key = first_key; key < end; key += lanes) {
        const int n = std::min(lanes, end - key), next = key + lanes;
        walk(cache.keys, next).ask(std::min(lanes, n_visible - next));
        walk(cache.values, key).ask(n);
        const Rows rows = walk(cache.keys, key).as_floats(memory.staging, n);
        float* to = memory.keys + key - first_key;
        for (int dim = 0; dim < width; dim += lanes) {
            transpose16x16(to + dim * tile_keys, tile_keys, rows.data + dim, size_t(rows.stride));
        }
    }
    return walk(cache.values, first_key).as_floats(memory.values, end - first_key);
}

inline Rows pack_tile(const TileMemory& memory, const KeyValueView& cache, int seq, int kv_head,
                      int first_key, int n_visible) {
    switch (cache.type) {
        case Type::F32: return pack_tile<float>(memory, cache, seq, kv_head, first_key, n_visible);
        case Type::F16: return pack_tile<half>(memory, cache, seq, kv_head, first_key, n_visible);
        case Type::BF16: return pack_tile<bf16>(memory, cache, seq, kv_head, first_key, n_visible);
        default: fail("cpu::attention: a cache cannot be %s", type_name(cache.type));
    }
}

}  // namespace cpu::tiles
