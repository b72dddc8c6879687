// Rotary positions and the write into the key-value cache, one step: what lesson 05's rope and lesson 07's cache
// do with loops.
#pragma once

#include "common/batch.hpp"
#include "common/threads.hpp"

namespace cpu {

// Turns q and k in place by their positions, then stores k and v in the cache, at the batch's slots.
//   q [n_tokens, n_heads, head_dim]   k, v [n_tokens, n_kv_heads, head_dim]
//   turns [n_positions, n_rotated / 2, 2] = cosine, sine of each position and pair; every position of the batch
//   lies in it. Pairs are neighbours, (2i, 2i + 1); dimensions from n_rotated on are not turned.
// A token with slot -1 is skipped: nothing of it is read or written. The team shares the heads of all tokens;
// they are complete after the caller's next barrier.
void rope_store(const Worker& worker, View<float> q, View<float> k, View<const float> v,
                View<const float> turns, const Batch& batch, const KeyValueView& cache);

}  // namespace cpu
