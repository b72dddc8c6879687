// The flags of a choice, under the same names and with the same limits in every program.
#pragma once

#include "common/batch.hpp"
#include "common/options.hpp"

// The seed is not among them: lessons have it as --seed for everything random.
inline void add_sampling_options(Options& options, Sampling& s) {
    options.group("Choice of tokens, in this order");
    options.add("--repetition-penalty", s.repetition_penalty,
                "over 1: what occurred gets less likely; 1: none", .01f, 100);
    options.add("--temperature,--temp", s.temperature,
                "under 1 sharper, over 1 flatter; 0: always the likeliest", 0, 1e6f);
    options.add("--top-k", s.top_k, "only the k likeliest; 0: all", 0, 1 << 24);
    options.add("--top-p", s.top_p, "only as few as hold the share p; 1: all", 0, 1);
    options.add("--min-p", s.min_p, "only those min-p times as likely as the likeliest; 0: all", 0, 1);
}
