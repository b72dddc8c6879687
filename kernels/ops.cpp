#include "kernels/ops.hpp"

#include "kernels/attention/attention.hpp"
#include "kernels/embed/embed.hpp"
#include "kernels/gated/gated.hpp"
#include "kernels/linear/linear.hpp"
#include "kernels/norm/norm.hpp"
#include "kernels/rope/rope.hpp"

CpuScratch::CpuScratch(int n_threads, int max_tokens, int d_model, int d_ff, int head_dim)
    : normed(max_tokens, d_model), own_normed(n_threads, few_tokens, d_model), gate(max_tokens, d_ff),
      attention(n_threads, int(cpu::attention_scratch(head_dim))) {}

void CpuOps::embed(View<float> x, const Matrix& table, View<const int> ids) {
    cpu::embed(worker_, x, table, ids);
    worker_.sync();  // every token's row is there before a norm reads it
}

View<const float> CpuOps::normed(View<const float> x, View<const int> rows, int n, View<const float> norm,
                                 float epsilon) {
    const auto norm_rows = [&](View<float> out, Range range) {
        for (int i = range.begin; i < range.end; ++i) {
            const int row = rows.count() ? rows(i) : i;
            cpu::rms_norm(out.rows(i, i + 1), x.rows(row, row + 1), norm, epsilon);
        }
    };
    if (n <= CpuScratch::few_tokens) {
        const View<float> own = scratch_.own_normed.row(worker_.thread);
        norm_rows(own, {0, n});
        return own.rows(0, n);
    }
    if (n > scratch_.normed.size(0)) fail("a step of %d tokens, but room for %d", n, scratch_.normed.size(0));
    norm_rows(scratch_.normed, worker_.share(n));
    worker_.sync();  // a linear layer reads all rows, also those that other threads have just written
    return scratch_.normed.rows(0, n);
}

void CpuOps::norm_linear(View<const float> x, View<const float> norm, float epsilon,
                         std::initializer_list<Linear> linears) {
    const View<const float> in = normed(x, {}, x.size(0), norm, epsilon);
    for (const Linear& l : linears) cpu::linear(worker_, l.out, in, l.weights);
    worker_.sync();  // a head's numbers come from several threads' rows: all are there before it is turned
}

void CpuOps::rope_store(View<float> q, View<float> k, View<const float> v, View<const float> turns,
                        const Batch& batch, const KeyValueView& cache) {
    cpu::rope_store(worker_, q, k, v, turns, batch, cache);
    worker_.sync();  // this step's keys and values are in the cache before attention reads them there
}

void CpuOps::attention(View<float> out, View<const float> q, const Batch& batch, const KeyValueView& cache) {
    cpu::attention(worker_, out, q, batch, cache, scratch_.attention.row(worker_.thread));
    worker_.sync();  // all heads of a token are there before the output projection mixes them
}

void CpuOps::linear_add(View<float> x, View<const float> in, const Matrix& weights) {
    cpu::linear_add(worker_, x, in, weights);
    worker_.sync();  // each thread added to its columns only; the next norm reads whole rows
}

void CpuOps::gated_linear(View<float> out, View<const float> x, View<const float> norm, float epsilon,
                          const Matrix& gate_weights, const Matrix& up_weights) {
    const View<const float> in = normed(x, {}, x.size(0), norm, epsilon);
    const View<float> gate = scratch_.gate.rows(0, x.size(0));
    cpu::linear(worker_, gate, in, gate_weights);
    cpu::linear(worker_, out, in, up_weights);
    // No barrier: a thread has computed the same columns of gate and up, and multiplies just those.
    const Range mine = cpu::shared_rows(worker_, up_weights.rows);
    for (int token = 0; token < x.size(0); ++token) {
        const View<float> hidden = out.row(token).rows(mine.begin, mine.end);
        cpu::silu_multiply(hidden, gate.row(token).rows(mine.begin, mine.end), hidden);
    }
    worker_.sync();  // the down projection reads all columns
}

void CpuOps::head(View<float> logits, View<const float> x, View<const int> rows, View<const float> norm,
                  float epsilon, const Matrix& weights) {
    cpu::linear(worker_, logits, normed(x, rows, rows.size(0), norm, epsilon), weights);
    worker_.sync();  // the sampler looks at a whole row
}

void CpuOps::sample(View<int> next, View<const float> logits, View<const Sampling> sampling,
                    View<const int> positions, View<const int> history, View<const int> history_begin,
                    cpu::SampleScratch& scratch) {
    cpu::sample(worker_, next, logits, sampling, positions, history, history_begin,
                scratch);  // ends with a barrier
}
