// What one step of the model reads: the tokens of all sequences in a row, and where the cache keeps
// what came before. One prompt, one decode step, or many of both are the same two structs.
// Everything that changes from step to step lies in memory that these point to.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/matrix.hpp"

// A flat batch: no padding, sequence after sequence.
struct Batch {
    View<const int> ids;             // [n_tokens] what to compute (lesson 05)
    View<const int> positions;       // [n_tokens] where each token stands in its sequence, from 0 (07)
    View<const int> slots;           // [n_tokens] where its key and value are stored; -1: nowhere (07, 10)
    View<const int> sequence_begin;  // [n_seqs + 1] sequence s owns tokens begin[s] .. begin[s + 1] - 1 (12)
    View<const int> logit_rows;      // [n_logits] the tokens whose logits are wanted (07)

    int n_tokens() const { return ids.size(0); }
    int n_seqs() const { return sequence_begin.size(0) - 1; }
};

// The cache of one layer as a kernel sees it. A slot is block * block_size + offset; key `position` of
// sequence s lies in block block_table(s, position / block_size) at offset position % block_size.
// A contiguous cache is one block a sequence. Strides count elements of `type`.
struct KeyValueView {
    std::byte* keys = nullptr;    // key of block 0, head 0, offset 0: head_dim elements
    std::byte* values = nullptr;  // the same for values, with the same strides
    Type type = Type::F32;        // F32, F16 or BF16
    int n_kv_heads = 0, head_dim = 0, block_size = 0;
    size_t block_stride = 0, head_stride = 0, token_stride = 0;
    View<const int> block_table;  // [n_seqs, max_blocks] (07: one block; 10: pages)
    View<const int> lengths;      // [n_seqs] keys of each sequence, this step's own included

    size_t offset(int block, int head, int token) const {
        return size_t(block) * block_stride + size_t(head) * head_stride + size_t(token) * token_stride;
    }
};

// How the next token is chosen from the logits (lesson 06). Every filter is off at its default.
struct Sampling {
    float temperature = 0;         // 0: greedy
    int top_k = 0;                 // 0: all
    float top_p = 1;               // 1: all
    float min_p = 0;               // 0: all
    float repetition_penalty = 1;  // 1: none
    uint64_t seed = 0;
    int sample_index = 0;  // of several answers to one prompt: which
};
