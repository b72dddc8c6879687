// Where the time of a forward goes: its steps, by name, over all layers.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "lessons/05_transformer/transformer.hpp"

struct StepTime {
    std::string step;
    double seconds = 0;
    double flops = 0;  // multiplications and additions
    double bytes = 0;  // weights read, as the file stores them
};

// The weights behind a step; none for steps without.
inline Matrix step_weights(const Weights& w, int layer, const std::string& step) {
    if (step == "output") return w.output;
    if (layer < 0) return {};
    const Layer& l = w.layers[size_t(layer)];
    if (step == "attn_q") return l.attn_q;
    if (step == "attn_k") return l.attn_k;
    if (step == "attn_v") return l.attn_v;
    if (step == "attn_output") return l.attn_output;
    if (step == "ffn_gate") return l.ffn_gate;
    if (step == "ffn_up") return l.ffn_up;
    if (step == "ffn_down") return l.ffn_down;
    return {};
}

// Runs a forward and times each step, in the order of their first appearance; the last one is "all", their sum.
inline std::vector<StepTime> time_steps(const Weights& weights, View<const int> ids) {
    using Clock = std::chrono::steady_clock;
    std::vector<StepTime> times;
    Clock::time_point last = Clock::now();
    forward(weights, ids, [&](int layer, const char* step, View<const float> result) {
        const double seconds = std::chrono::duration<double>(Clock::now() - last).count();
        auto at = std::find_if(times.begin(), times.end(), [&](const StepTime& t) { return t.step == step; });
        if (at == times.end()) at = times.insert(times.end(), {step});
        at->seconds += seconds;
        const Matrix w = step_weights(weights, layer, step);
        if (w) {
            at->flops += 2.0 * w.rows * w.columns * ids.size(0);
            at->bytes += double(w.size_bytes());
        } else if (at->step == "attention") {  // scores and the weighted sum, over the causal half
            at->flops += 4.0 * double(result.count()) * (ids.size(0) + 1) / 2;
        }
        last = Clock::now();
    });
    StepTime all{"all"};
    for (const StepTime& t : times) all.seconds += t.seconds, all.flops += t.flops, all.bytes += t.bytes;
    times.push_back(all);
    return times;
}
