// Attention over the key-value cache: what lesson 01 does with loops, for a whole batch at once.
#pragma once

#include "common/batch.hpp"
#include "common/threads.hpp"

namespace cpu {

// Floats of scratch that every thread brings to attention(). They depend on the head size alone, so that a
// step allocates nothing.
size_t attention_scratch(int head_dim);

// The token at position p of a sequence sees the keys 0 .. p of that sequence's cache, its own included.
//   q, out [n_tokens, n_heads, head_dim]     cache: n_kv_heads heads; n_heads is a multiple of it
// A token without a position or a slot (-1) is skipped: its row of out is not written. Every thread of the
// team calls this with a scratch of its own. There is no barrier inside: rows are complete after the caller's
// next one.
void attention(const Worker& worker, View<float> out, View<const float> q, const Batch& batch,
               const KeyValueView& cache, View<float> scratch);

}  // namespace cpu
