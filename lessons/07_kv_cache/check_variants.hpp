// Every variant of the lesson against the plain transformer of lesson 05.
#pragma once

#include <cstdio>

#include "common/check.hpp"
#include "lessons/05_transformer/transformer.hpp"
#include "lessons/07_kv_cache/step_bench.hpp"

inline Tensor copy_of(View<const float> x) {
    Tensor out(x.shape());
    std::copy(x.begin(), x.end(), out.begin());
    return out;
}

// Each variant at a short prompt against lesson 05; the cached ones also against themselves in one piece.
inline bool check_variants(const Weights& weights, int threads) {
    const std::vector<int> ids = {1, 2, 3, 4, 5, 6, 7};
    const Tensor all = forward(weights, ids);
    bool ok = true;
    for (const StepVariant& variant : step_variants) {
        Runner runner(weights, {.threads = threads, .context = 16, .cache_type = variant.cache_type});
        const Tensor whole = copy_of(runner.run(ids));
        runner.truncate(0);
        Tensor stepwise = whole;
        if (variant.cached) {
            for (const int& id : ids) stepwise = copy_of(runner.run(View<const int>(&id, 1)));
        }
        // f32: rounding along sums of up to 1536 terms, over 30 layers; 16 bits: the format's own step.
        const double tolerance = variant.cache_type == Type::F32   ? 1e-5
                                 : variant.cache_type == Type::F16 ? 1e-3
                                                                   : 1e-2;
        const Comparison c = compare(stepwise, all.row(6), tolerance);
        const bool same = compare(stepwise, whole, 0).ok;
        std::printf(
            "check %-13s against lesson 05: %s, tolerance %g: %s; token by token = whole, bit for bit: %s\n",
            variant.name, c.text().c_str(), tolerance, c.ok ? "ok" : "FAILED", same ? "yes" : "NO");
        ok = ok && c.ok && same;
    }
    return ok;
}
