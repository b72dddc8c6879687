// The time of one step at a given position, with a cache and without.
#pragma once

#include <algorithm>
#include <vector>

#include "common/bench.hpp"
#include "lessons/07_kv_cache/cost.hpp"
#include "lessons/07_kv_cache/runner.hpp"

struct StepVariant {
    const char* name;
    bool cached;
    Type cache_type;
};
constexpr StepVariant step_variants[] = {{"no cache", false, Type::F32},
                                         {"cache f32", true, Type::F32},
                                         {"cache f16", true, Type::F16},
                                         {"cache bf16", true, Type::BF16}};

// Seconds of the step that computes the token at `position` (from 0). Without a cache everything before it is
// computed again.
inline double step_seconds(Runner& runner, bool cached, int position) {
    const std::vector<int> ids(size_t(position) + 1, 1);
    runner.truncate(0);
    if (cached && position > 0) runner.run(View<const int>(ids.data(), position));
    const auto step = [&] {
        runner.truncate(cached ? position : 0);
        runner.run(cached ? View<const int>(&ids.back(), 1) : View<const int>(ids));
    };
    return measure(step, 0.2, 3).median;
}

// What a step reads at the least: every weight once, and the cache once.
inline double step_bytes(const Runner& runner, bool cached, int position) {
    const double kv_bytes = cached ? double(runner.cache().bytes_per_token()) * (position + 1) : 0;
    return double(runner.weight_bytes()) + kv_bytes;
}

// The least time that this machine can take: those bytes from memory, or the multiplications, whichever is longer.
inline double step_bound(const Runner& runner, bool cached, int position, const Limits& limits) {
    const double flops = cached ? step_flops(runner.config(), 1, position, 1)
                                : step_flops(runner.config(), position + 1, 0, 1);
    return std::max(step_bytes(runner, cached, position) / limits.read_bytes, flops / limits.f32_flops);
}

// A row for each variant at each position, in the order asked for.
inline std::vector<BenchRow> measure_steps(const Weights& weights, const std::vector<int>& variants,
                                           const std::vector<int>& positions, int n_threads) {
    const int context = *std::max_element(positions.begin(), positions.end()) + 1;
    std::vector<BenchRow> rows;
    for (const int v : variants) {
        const StepVariant& variant = step_variants[v];
        const size_t first = rows.size();
        for (const int position : positions)
            rows.push_back({numbered(v, variant.name), "position " + std::to_string(position), "ms a step"});
        for (const int threads : {1, n_threads}) {
            Runner runner(weights,
                          {.threads = threads, .context = context, .cache_type = variant.cache_type});
            double fastest = 0;  // bytes/s
            for (size_t i = 0; i < positions.size(); ++i) {
                const double seconds = step_seconds(runner, variant.cached, positions[i]);
                rows[first + i].cpu_all_threads = seconds * 1e3;
                fastest = std::max(fastest, step_bytes(runner, variant.cached, positions[i]) / seconds);
            }
            const Limits limits = {"", threads, f32_peak(threads), runner.weight_bandwidth(fastest)};
            for (size_t i = 0; i < positions.size(); ++i) {
                BenchRow& row = rows[first + i];
                const double bound = step_bound(runner, variant.cached, positions[i], limits);
                row.share_of_bound = bound * 1e3 / row.cpu_all_threads;
                if (threads == 1) row.cpu_1_thread = row.cpu_all_threads;
            }
            if (n_threads == 1) break;
        }
    }
    return rows;
}
