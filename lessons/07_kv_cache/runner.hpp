// One sequence on the CPU engine: a team of threads, packed weights, a cache, and the step that ties
// them together. Nothing is allocated after construction.
#pragma once

#include <functional>
#include <vector>

#include "common/bench.hpp"
#include "kernels/ops.hpp"
#include "lessons/05_transformer/rope.hpp"
#include "lessons/07_kv_cache/forward.hpp"
#include "lessons/07_kv_cache/kv_cache.hpp"
#include "lessons/07_kv_cache/packed_weights.hpp"

struct RunnerOptions {
    int threads = 1;
    int context = 512;            // tokens that the cache can hold
    int chunk = 256;              // a longer prompt is computed in pieces of this many tokens
    bool weights_f32 = false;     // compute in f32 also where the file holds 16 bits
    Type cache_type = Type::F32;  // F32, F16 or BF16
};

class Runner {
  public:
    // `source` (and the file under it) must outlive the runner.
    Runner(const Weights& source, const RunnerOptions& options)
        : team_(options.threads), packed_(pack_weights(team_, source, options.weights_f32)),
          cache_(options.cache_type, config().n_layers, 1, config().n_kv_heads, options.context,
                 config().head_dim),
          rope_(rope_table(options.context, config().n_rotated, config().rope_base, source.rope_freqs)),
          chunk_(std::min(options.chunk, options.context)), activations_(config(), chunk_, 1),
          scratch_(options.threads, chunk_, config().d_model, config().d_ff, config().head_dim),
          positions_(size_t(chunk_)), slots_(size_t(chunk_)) {}

    const Config& config() const { return packed_.weights.config; }
    const ContiguousCache& cache() const { return cache_; }
    size_t weight_bytes() const { return packed_.memory.size(); }
    // Bytes/s at which this team can read just these weights, measured now: the limit that decode stands beside. For
    // a rate above it, once more: the better one counts, as in share_of_read.
    double weight_bandwidth(double rate) {
        const auto measured = [&] { return read_bandwidth(packed_.memory.data(), weight_bytes(), team_); };
        const double first = measured();
        return rate > first ? std::max(first, measured()) : first;
    }
    int length() const { return cache_.length(0); }  // tokens so far
    int room() const { return cache_.room(0); }
    void truncate(int length) { cache_.truncate(0, length); }

    // Computes ids as the sequence's next tokens and returns the logits [vocab_size] after the last one;
    // they are valid until the next call. An id outside the vocabulary, no ids, or more than there is
    // room for: Error, and nothing has changed. `progress(done)` is called after each chunk; it returns
    // false to stop, and then the view is empty.
    View<const float> run(View<const int> ids, const std::function<bool(int)>& progress = nullptr) {
        check(ids);
        for (int first = 0; first < ids.size(0); first += chunk_) {
            const int last = std::min(first + chunk_, ids.size(0));
            step(ids.rows(first, last), last == ids.size(0));
            if (progress && !progress(last) && last < ids.size(0)) return {};
        }
        return activations_.logits.row(0);
    }

  private:
    void check(View<const int> ids) const {
        if (ids.count() == 0) fail("a step needs at least one token");
        if (ids.size(0) > room()) {
            fail("%d tokens do not fit: %d of the context's %d are used", ids.size(0), length(),
                 cache_.context());
        }
        for (const int id : ids) {
            if (id < 0 || id >= config().vocab_size) {
                fail("token id %d is outside the vocabulary of %d", id, config().vocab_size);
            }
        }
    }

    void step(View<const int> ids, bool want_logits) {
        const int n = ids.size(0);
        for (int i = 0; i < n; ++i) {
            positions_[size_t(i)] = length() + i;
            slots_[size_t(i)] = cache_.slot(0, length() + i);
        }
        cache_.append(0, n);
        sequence_begin_ = {0, n};
        logit_row_ = n - 1;
        const Batch batch = {.ids = ids,
                             .positions = View<const int>(positions_.data(), n),
                             .slots = View<const int>(slots_.data(), n),
                             .sequence_begin = View<const int>(sequence_begin_.data(), 2),
                             .logit_rows = View<const int>(&logit_row_, want_logits ? 1 : 0)};
        team_.run([this, &batch](const Worker& worker) {
            CpuOps ops(worker, scratch_);
            forward(ops, packed_.weights, rope_, batch, cache_, activations_);
        });
    }

    Team team_;
    PackedWeights packed_;
    ContiguousCache cache_;
    Tensor rope_;
    int chunk_;
    Activations activations_;
    CpuScratch scratch_;
    std::vector<int> positions_, slots_;
    std::array<int, 2> sequence_begin_{};
    int logit_row_ = 0;
};
