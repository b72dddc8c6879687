// What was measured while a text was written, and the limit it stands beside.
#pragma once

#include <string>

#include "common/bench.hpp"
#include "common/json.hpp"

struct RunReport {
    int n_prompt = 0, n_generated = 0, threads = 1;
    double prefill_seconds = 0;  // the prompt, up to the first token's logits
    double decode_seconds = 0;   // all tokens after the first
    double bytes_a_token = 0;    // weights, and the cache at its mean length during decode
    double flops_a_token = 0;    // of the prompt, at its mean

    double prefill_rate() const { return prefill_seconds > 0 ? n_prompt / prefill_seconds : 0; }
    double decode_rate() const {
        return decode_seconds > 0 && n_generated > 1 ? (n_generated - 1) / decode_seconds : 0;
    }
    double read_rate() const { return decode_rate() * bytes_a_token; }  // bytes/s
};

// "prefill 37 tokens, 230 tokens/s | decode 64 tokens, 45.2 tokens/s | 540 MB a token, 24.4 GB/s = 91 % of ..."
inline std::string report_line(const RunReport& r, const Limits& limits) {
    std::string line = "cpu, " + std::to_string(r.threads) + (r.threads == 1 ? " thread" : " threads") +
                       " | prefill " + std::to_string(r.n_prompt) + " tokens, " + number(r.prefill_rate()) +
                       " tokens/s | decode " + std::to_string(r.n_generated) + " tokens";
    if (r.decode_rate() > 0) {
        const double share = r.read_rate() / limits.read_bytes;
        line += ", " + number(r.decode_rate()) + " tokens/s | " + bytes_text(r.bytes_a_token) + " a token, " +
                number(r.read_rate() / 1e9) + " GB/s = " + percent(share) + " of the " +
                number(limits.read_bytes / 1e9) + " GB/s that memory gives here";
        if (share > 1.005) line += ": caches hold a part, or others used the memory meanwhile";
    }
    return line;
}

inline void add_report(Json& json, const RunReport& r, const Limits& limits) {
    json.set("prefill_tokens_per_second", r.prefill_rate());
    json.set("decode_tokens_per_second", r.decode_rate());
    json.set("threads", r.threads);
    json.set("bytes_a_token", r.bytes_a_token);
    json.set("flops_a_prompt_token", r.flops_a_token);
    json.set("bound_gb_per_s", limits.read_bytes / 1e9);
    json.set("f32_peak_gflops", limits.f32_flops / 1e9);
    json.set("cpu", limits.cpu);
}
