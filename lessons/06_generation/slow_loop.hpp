// The loop of this lesson with its clock: lesson 05's forward computes every token again at every step.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

#include "lessons/05_transformer/transformer.hpp"
#include "lessons/06_generation/generate.hpp"
#include "lessons/06_generation/samplers.hpp"

struct StepRecord {
    int n_tokens = 0;  // computed in this step
    double seconds = 0;
    Tensor logits;    // [vocab_size]
    double bits = 0;  // how undecided the model was
};

// Writes the answer, and shows it as it comes.
inline std::vector<StepRecord> write_slowly(Generation& answer, const Weights& weights,
                                            const Sampling& sampling,
                                            const std::function<void(std::string_view)>& show) {
    using Clock = std::chrono::steady_clock;
    std::vector<StepRecord> steps;
    const Step step = [&](View<const int> ids) {
        const Clock::time_point start = Clock::now();
        const Tensor all = forward(weights, ids);
        const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
        Tensor last(weights.config.vocab_size);
        std::copy(all.row(ids.size(0) - 1).begin(), all.end(), last.begin());
        steps.push_back({ids.size(0), seconds, last, entropy_bits(choices(last, {}, {.temperature = 1}))});
        return last;
    };
    generate(answer, step, sampling, show);
    return steps;
}

inline Table step_table(const std::vector<StepRecord>& steps) {
    Table table({"step", "tokens computed", "CPU 1 thread", "for each token"}, "ms");
    for (size_t i = 0; i < steps.size(); ++i) {
        const double ms = steps[i].seconds * 1e3;
        table.add({int(i) + 1, steps[i].n_tokens, ms, ms / steps[i].n_tokens});
    }
    return table;
}
