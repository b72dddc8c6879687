// The engine's operations on the CPU: what lesson 07's forward calls, made of the kernels beside this file.
//
// Every thread of the team makes every call; each computes its share. An operation leaves its result complete: it
// ends with a barrier, because the next one reads what all threads wrote, not only its own. Inside, a barrier stands
// only where threads exchange something.
#pragma once

#include <initializer_list>

#include "common/batch.hpp"
#include "common/threads.hpp"
#include "kernels/sampling/sampling.hpp"

// Working memory of a team, allocated once: a step allocates nothing.
struct CpuScratch {
    Tensor normed;      // [max_tokens, d_model]  input after its norm, shared by the team
    Tensor own_normed;  // [n_threads, few_tokens, d_model]  the same, each thread for itself
    Tensor gate;        // [max_tokens, d_ff]
    Tensor attention;   // [n_threads, floats that attention asks for]

    // Up to this many tokens, computing a norm on every thread costs less than the barrier that sharing it needs.
    static constexpr int few_tokens = 4;

    CpuScratch(int n_threads, int max_tokens, int d_model, int d_ff, int head_dim);
};

class CpuOps {
  public:
    CpuOps(const Worker& worker, CpuScratch& scratch) : worker_(worker), scratch_(scratch) {}

    // x [n_tokens, d_model]   table [vocab_size, d_model], row_major as in the file   ids [n_tokens]
    void embed(View<float> x, const Matrix& table, View<const int> ids);

    // Each linear's out = W * norm(x).   x [n_tokens, d_model]   norm [d_model]
    void norm_linear(View<const float> x, View<const float> norm, float epsilon,
                     std::initializer_list<Linear> linears);

    // Turns q and k by their positions; stores k and v in the cache.
    //   q [n_tokens, n_heads, head_dim]   k, v [n_tokens, n_kv_heads, head_dim]   turns [n_positions, n_rotated / 2, 2]
    void rope_store(View<float> q, View<float> k, View<const float> v, View<const float> turns,
                    const Batch& batch, const KeyValueView& cache);

    // out, q [n_tokens, n_heads, head_dim]; the token at position p sees the keys 0 .. p.
    void attention(View<float> out, View<const float> q, const Batch& batch, const KeyValueView& cache);

    // x [n_tokens, d_model] += W * in, in [n_tokens, weights.columns]
    void linear_add(View<float> x, View<const float> in, const Matrix& weights);

    // out [n_tokens, d_ff] = silu(gate * norm(x)) * (up * norm(x))
    void gated_linear(View<float> out, View<const float> x, View<const float> norm, float epsilon,
                      const Matrix& gate, const Matrix& up);

    // logits [n_logits, vocab_size] of the tokens rows [n_logits]
    void head(View<float> logits, View<const float> x, View<const int> rows, View<const float> norm,
              float epsilon, const Matrix& weights);

    // The next token of each row of logits: kernels/sampling says what the views hold.
    void sample(View<int> next, View<const float> logits, View<const Sampling> sampling,
                View<const int> positions, View<const int> history, View<const int> history_begin,
                cpu::SampleScratch& scratch);

  private:
    // Rows of x, after the norm, where this thread may read all of them. Row i is x's row i, or rows(i) where given.
    View<const float> normed(View<const float> x, View<const int> rows, int n, View<const float> norm,
                             float epsilon);

    const Worker worker_;
    CpuScratch& scratch_;
};
