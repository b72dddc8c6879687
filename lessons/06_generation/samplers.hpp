// The samplers that the lesson compares, each by the lesson's loops and by the fast kernel.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "common/bench.hpp"
#include "kernels/sampling/sampling.hpp"
#include "lessons/06_generation/sampling.hpp"

struct NamedSampling {
    const char* name;
    Sampling settings;
};
inline constexpr std::array<NamedSampling, 9> samplers = {{
    {"greedy", {}},
    {"temperature 0.5", {.temperature = .5f}},
    {"temperature 1", {.temperature = 1}},
    {"temperature 2", {.temperature = 2}},
    {"top-k 40", {.temperature = 1, .top_k = 40}},
    {"top-p 0.9", {.temperature = 1, .top_p = .9f}},
    {"min-p 0.05", {.temperature = 1, .min_p = .05f}},
    {"repetition penalty 1.3", {.temperature = 1, .repetition_penalty = 1.3f}},
    {"T 0.8, k 40, p 0.95", {.temperature = .8f, .top_k = 40, .top_p = .95f}},
}};

inline std::vector<std::string> sampler_names() {
    std::vector<std::string> names;
    for (const NamedSampling& sampler : samplers) names.push_back(sampler.name);
    return names;
}

// How undecided a choice is, in bits: 0 for one candidate, n for 2^n equal ones.
inline double entropy_bits(const std::vector<Candidate>& candidates) {
    const double total = total_weight(candidates);
    double bits = 0;
    for (const Candidate& c : candidates) {
        if (c.weight > 0) bits -= c.weight / total * std::log2(c.weight / total);
    }
    return bits;
}

// How far u lies from the share of `id`: 0 when it falls into it. Two ways of computing the same choice may
// differ only where this is a rounding error.
inline double distance_from_share(const std::vector<Candidate>& candidates, int id, float u) {
    double total = 0, low = 0, share = 0;
    for (const Candidate& c : candidates) {
        total += c.weight;
        if (c.id < id) low += c.weight;
        if (c.id == id) share = c.weight;
    }
    return std::max({low / total - double(u), double(u) - (low + share) / total, 0.0});
}

// n_rows requests with the same logits, settings and history: what the kernel is given.
struct SampleBatch {
    Tensor logits;  // [n_rows, vocab_size]
    std::vector<Sampling> sampling;
    std::vector<int> positions, history, history_begin, next;
    cpu::SampleScratch scratch;

    SampleBatch(int n_rows, View<const float> one, const Sampling& s, View<const int> said, int n_threads)
        : logits(n_rows, one.size(0)), sampling(size_t(n_rows), s), history_begin{0},
          next(size_t(n_rows), no_token), scratch(n_threads, one.size(0)) {
        for (int row = 0; row < n_rows; ++row) {
            std::copy(one.begin(), one.end(), logits.row(row).begin());
            positions.push_back(row);
            history.insert(history.end(), said.begin(), said.end());
            history_begin.push_back(int(history.size()));
        }
    }
    void sample(const Worker& worker) {
        cpu::sample(worker, next, logits, sampling, positions, history, history_begin, scratch);
    }
};

// Draws at 100 positions by the kernel: how far the worst lies from the share that the lesson gives its token.
inline double worst_distance(View<const float> logits, const Sampling& s, View<const int> history) {
    const std::vector<Candidate> left = choices(logits, history, s);
    SampleBatch batch(100, logits, s, history, 1);
    batch.sample(Worker{});
    double worst = 0;
    for (int row = 0; row < 100; ++row) {
        const float u = uniform(s.seed, uint32_t(row), 0, Purpose::sample);
        worst = std::max(worst, distance_from_share(left, batch.next[size_t(row)], u));
    }
    return worst;
}

// What each sampler leaves of two steps, how undecided the second is then, and the lesson's own time for it.
inline Table choice_table(View<const float> sure, View<const float> unsure, View<const int> history,
                          const std::vector<int>& wanted) {
    Table table({"sampler", "left: sure", "left: unsure", "bits", "us by the lesson's loops"});
    for (const int i : wanted) {
        const Sampling& s = samplers[size_t(i)].settings;
        const std::vector<Candidate> left = choices(unsure, history, s);
        const double seconds = measure([&] { keep(sample(unsure, history, s, 0)); }, .02, 3).median;
        table.add({samplers[size_t(i)].name, int(choices(sure, history, s).size()), int(left.size()),
                   entropy_bits(left), seconds * 1e6});
    }
    return table;
}

// The kernel's time for a choice: one request alone, and 64 at once.
inline std::vector<BenchRow> time_samplers(View<const float> logits, View<const int> history, int threads,
                                           const std::vector<int>& wanted) {
    std::vector<BenchRow> rows;
    Team one(1), all(threads);
    for (const int i : wanted) {
        for (const int n_rows : {1, 64}) {
            SampleBatch batch(n_rows, logits, samplers[size_t(i)].settings, history, threads);
            const auto seconds = [&](Team& team) {
                return measure(
                           team, [&](const Worker& worker) { batch.sample(worker); }, .05)
                    .median;
            };
            const int n_threads = n_rows > 1 ? threads : 1;  // a row belongs to one thread
            const double alone = seconds(one), best = n_threads > 1 ? seconds(all) : alone;
            const size_t bytes = batch.logits.count() * sizeof(float);
            BenchRow row{numbered(i, samplers[size_t(i)].name), n_rows > 1 ? "64 rows" : "1 row",
                         "us a choice"};
            row.cpu_1_thread = alone / n_rows * 1e6;
            if (n_rows > 1) row.cpu_all_threads = best / n_rows * 1e6;
            row.share_of_bound = share_of_read(double(bytes) / best, bytes, n_threads);
            rows.push_back(row);
        }
    }
    return rows;
}
