#include "kernels/rope/rope.hpp"

#include "common/simd.hpp"

// The loop that this file speeds up, for one head of one token:
//
//   for (i = 0; i < n_rotated / 2; ++i) {
//       a = x[2i], b = x[2i + 1]                      x      | a0 b0 | a1 b1 | a2 b2 | ..   [head_dim]
//       x[2i]     = a * cos[i] - b * sin[i]           turns  | c0 s0 | c1 s1 | c2 s2 | ..   [n_rotated]
//       x[2i + 1] = b * cos[i] + a * sin[i]           cache  | head_dim elements of its type |
//   }
//   cache[slot][head] = x, converted to the type of the cache
//
// The pairs stay a loop: the compiler makes vectors of it, and two products and a sum have the same bits in a
// vector and alone. The conversion takes sixteen elements at a time.
namespace cpu {
namespace {

constexpr int lanes = 16;

void turn(float* x, const float* turns, int n_rotated) {
    for (int i = 0; i < n_rotated; i += 2) {
        const float a = x[i], b = x[i + 1], cosine = turns[i], sine = turns[i + 1];
        x[i] = a * cosine - b * sine;
        x[i + 1] = b * cosine + a * sine;
    }
}

template <class T>
void store_head(std::byte* base, size_t offset, View<const float> x) {
    T* to = reinterpret_cast<T*>(base) + offset;
    int i = 0;
    for (; i + lanes <= x.size(0); i += lanes) store(to + i, f32x16::load(x.data() + i));
    if (const int n = x.size(0) - i; n > 0) store(to + i, f32x16::load(x.data() + i, n), n);
}

void store_head(std::byte* base, Type type, size_t offset, View<const float> x) {
    switch (type) {
        case Type::F32: return store_head<float>(base, offset, x);
        case Type::F16: return store_head<half>(base, offset, x);
        case Type::BF16: return store_head<bf16>(base, offset, x);
        default: return;  // refused below
    }
}

}  // namespace

void rope_store(const Worker& worker, View<float> q, View<float> k, View<const float> v,
                View<const float> turns, const Batch& batch, const KeyValueView& cache) {
    const int n_tokens = batch.n_tokens(), n_heads = q.size(1), n_kv_heads = cache.n_kv_heads;
    q.require_shape("cpu::rope_store: q", n_tokens, n_heads, cache.head_dim);
    k.require_shape("cpu::rope_store: k", n_tokens, n_kv_heads, cache.head_dim);
    v.require_shape("cpu::rope_store: v", n_tokens, n_kv_heads, cache.head_dim);
    if (is_block_format(cache.type)) fail("a cache cannot be %s", type_name(cache.type));  // on all threads
    const int n_rotated = 2 * turns.size(1), per_token = n_heads + n_kv_heads;
    const Range mine = worker.share(n_tokens * per_token);
    for (int item = mine.begin; item < mine.end; ++item) {  // first the heads of q, then those of k and v
        const int token = item / per_token, head = item % per_token, slot = batch.slots(token);
        if (slot < 0) continue;
        const float* angles = turns.row(batch.positions(token)).data();
        if (head < n_heads) {
            turn(q.row(token).row(head).data(), angles, n_rotated);
        } else {
            const int kv_head = head - n_heads;
            const View<float> key = k.row(token).row(kv_head);
            const size_t offset = cache.offset(slot / cache.block_size, kv_head, slot % cache.block_size);
            turn(key.data(), angles, n_rotated);
            store_head(cache.keys, cache.type, offset, key);
            store_head(cache.values, cache.type, offset, v.row(token).row(kv_head));
        }
    }
}

}  // namespace cpu
