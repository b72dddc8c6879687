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

// Each sampler at two steps; and its time for the second, one request alone and 64 at once.
inline Table sampler_table(View<const float> sure, View<const float> unsure, View<const int> history,
                           int threads, const std::vector<int>& wanted) {
    Table table({"variant", "left: sure", "left: unsure", "bits", "lesson", "CPU 1 thread", "% of bound",
                 "64 rows, CPU all threads", "GPU kernel"},
                "us a choice");
    Team team(threads);
    for (const int i : wanted) {
        const Sampling& s = samplers[size_t(i)].settings;
        const std::vector<Candidate> left = choices(unsure, history, s);
        SampleBatch one(1, unsure, s, history, 1), many(64, unsure, s, history, threads);
        const double slow = measure([&] { keep(sample(unsure, history, s, 0)); }, .02, 3).median;
        const double fast = measure([&] { one.sample(Worker{}); }, .05).median;
        const double batch = measure(
                                 team, [&](const Worker& worker) { many.sample(worker); }, .05)
                                 .median /
                             64;
        const size_t bytes = unsure.count() * sizeof(float);
        table.add({samplers[size_t(i)].name, std::to_string(choices(sure, history, s).size()),
                   std::to_string(left.size()), number(entropy_bits(left)), number(slow * 1e6),
                   number(fast * 1e6), percent(share_of_read(double(bytes) / fast, bytes, 1)),
                   number(batch * 1e6), "-"});
    }
    return table;
}
