// The time of one step at a given position, with a cache and without.
#pragma once

#include <chrono>
#include <vector>

#include "lessons/07_kv_cache/cost.hpp"
#include "lessons/07_kv_cache/runner.hpp"

struct StepVariant {
    const char* name;
    bool cached;
    Type cache_type;
};
constexpr StepVariant step_variants[] = {{"1 no cache", false, Type::F32},
                                         {"2 cache f32", true, Type::F32},
                                         {"3 cache f16", true, Type::F16},
                                         {"4 cache bf16", true, Type::BF16}};

// Seconds of the step that computes the token at `position` (from 0): the median of some. Without a cache
// everything before it is computed again.
inline double step_seconds(Runner& runner, bool cached, int position) {
    const std::vector<int> ids(size_t(position) + 1, 1);
    if (cached) {
        runner.truncate(0);
        if (position > 0) runner.run(View<const int>(ids.data(), position));
    }
    std::vector<double> samples;
    double total = 0;
    while (samples.size() < 3 || (total < 0.3 && samples.size() < 20)) {
        runner.truncate(cached ? position : 0);
        const auto start = std::chrono::steady_clock::now();
        runner.run(cached ? View<const int>(&ids.back(), 1) : View<const int>(ids));
        samples.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
        total += samples.back();
    }
    std::nth_element(samples.begin(), samples.begin() + long(samples.size() / 2), samples.end());
    return samples[samples.size() / 2];
}

// The least time that this machine can take: every weight once and the cache once from memory, or the
// multiplications, whichever is longer.
inline double step_bound(const Runner& runner, bool cached, int position, double read_bytes, double flops) {
    const double kv_bytes = cached ? double(runner.cache().bytes_per_token()) * (position + 1) : 0;
    const double work = cached ? step_flops(runner.config(), 1, position, 1)
                               : step_flops(runner.config(), position + 1, 0, 1);
    return std::max((double(runner.weight_bytes()) + kv_bytes) / read_bytes, work / flops);
}
