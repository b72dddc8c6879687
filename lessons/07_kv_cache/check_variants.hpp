// Every variant of the lesson against the plain transformer of lesson 05.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstring>

#include "common/check.hpp"
#include "lessons/05_transformer/transformer.hpp"
#include "lessons/07_kv_cache/step_bench.hpp"

inline Tensor copy_of(View<const float> x) {
    Tensor out(x.shape());
    std::copy(x.begin(), x.end(), out.begin());
    return out;
}

// Each variant at a short prompt against lesson 05; the cached ones also against themselves in one piece. The ids
// are a text's: on tokens that stand in no text (a chat template's, in a row) SmolLM2 enlarges every rounding 100 times.
inline bool check_variants(const Weights& weights, const std::vector<int>& ids, int threads) {
    const Tensor all = forward(weights, ids);
    check_finite(all);
    bool ok = true;
    for (const StepVariant& variant : step_variants) {
        Runner runner(weights,
                      {.threads = threads, .context = int(ids.size()), .cache_type = variant.cache_type});
        // f32: rounding along sums of up to 1536 terms. 16 bits: each layer's keys and values are rounded, by half a step
        // of 2^-10 or 2^-7, and the errors of the layers add up as those of a random walk.
        const double roundings = std::sqrt(2.0 * weights.config.n_layers);
        const double tolerance = variant.cache_type == Type::F32   ? 1e-5
                                 : variant.cache_type == Type::F16 ? 0x1p-11 * roundings
                                                                   : 0x1p-8 * roundings;
        const Tensor whole = copy_of(runner.run(ids));
        const Comparison c = compare(whole, all.row(all.size(0) - 1), tolerance);
        std::printf("check %-10s against lesson 05: %s, tolerance %.1e: %s\n", variant.name, c.text().c_str(),
                    tolerance, c.ok ? "ok" : "FAILED");
        ok = ok && c.ok;
        if (!variant.cached) continue;
        runner.truncate(0);
        View<const float> last;
        for (const int& id : ids) last = runner.run(View<const int>(&id, 1));
        const bool same = std::memcmp(last.data(), whole.data(), whole.count() * sizeof(float)) == 0;
        std::printf("      %-10s token by token = whole, bit for bit: %s\n", "", same ? "yes" : "NO");
        ok = ok && same;
    }
    return ok;
}
