// What main.cpp measures: sizes, the loops and the kernel at each, and the least time the machine allows.
#pragma once

#include <algorithm>

#include "common/bench.hpp"
#include "common/check.hpp"
#include "kernels/attention/attention.hpp"
#include "lessons/01_attention/attention.hpp"
#include "lessons/01_attention/one_sequence.hpp"

struct AttentionSize {
    const char* name;
    int n_tokens, n_keys, n_heads, n_kv_heads, head_dim;

    double flops() const {  // two products over what the mask leaves, a multiplication and an addition each
        const double visible = double(n_tokens) * (n_keys - n_tokens) + double(n_tokens) * (n_tokens + 1) / 2;
        return 4 * visible * n_heads * head_dim;
    }
    double bytes() const {  // q, out, k, v, once each
        return 4.0 * head_dim * (2.0 * n_tokens * n_heads + 2.0 * n_keys * n_kv_heads);
    }
};

// Random q, k and v of one size, and their out.
struct AttentionInputs {
    Tensor q, k, v, out;
    AttentionInputs(const AttentionSize& s, uint64_t seed)
        : q(s.n_tokens, s.n_heads, s.head_dim), k(s.n_keys, s.n_kv_heads, s.head_dim), v(k.shape()),
          out(q.shape()) {
        fill_random(q, seed);
        fill_random(k, seed + 1);
        fill_random(v, seed + 2);
        poison(out);
    }
};

inline double attention_bound(const AttentionSize& s, int n_threads) {
    return std::max(s.flops() / machine_limits(n_threads).f32_flops,
                    s.bytes() / read_bandwidth(size_t(s.bytes()), n_threads));
}

inline double time_loops(const AttentionSize& s, uint64_t seed) {
    AttentionInputs in(s, seed);
    return measure([&] { grouped_query_attention(in.out, in.q, in.k, in.v); }, 0.1, 1).median;
}

inline double time_kernel(const AttentionSize& s, uint64_t seed, int n_threads) {
    AttentionInputs in(s, seed);
    const OneSequence one(s.n_tokens, in.k, in.v);
    Tensor scratch(n_threads, int(cpu::attention_scratch(s.head_dim)));
    Team team(n_threads);
    const auto step = [&](const Worker& worker) {
        cpu::attention(worker, in.out, in.q, one.batch, one.cache, scratch.row(worker.thread));
        worker.sync();  // the next step writes out again
    };
    return measure(team, step).median;
}

inline Comparison compare_kernel(const AttentionSize& s, uint64_t seed, double tolerance) {
    AttentionInputs in(s, seed);
    const OneSequence one(s.n_tokens, in.k, in.v);
    Tensor scratch(int(cpu::attention_scratch(s.head_dim))), expected(in.q.shape());
    cpu::attention({}, in.out, in.q, one.batch, one.cache, scratch);
    grouped_query_attention(expected, in.q, in.k, in.v);
    return compare(in.out, expected, tolerance);
}

inline const std::vector<std::string> attention_variants = {"loops", "kernel"};

inline BenchRow time_attention(int variant, const AttentionSize& s, uint64_t seed, int n_threads) {
    BenchRow row{numbered(variant, attention_variants[size_t(variant)]),
                 std::string(s.name) + ", " + number(s.flops() / 1e6) + " MFLOP", "us"};
    if (attention_variants[size_t(variant)] == "kernel") {
        const double one = time_kernel(s, seed, 1);
        const double all = n_threads > 1 ? time_kernel(s, seed, n_threads) : one;
        row.cpu_1_thread = one * 1e6;
        row.cpu_all_threads = all * 1e6;
        row.share_of_bound = attention_bound(s, n_threads) / all;
    } else if (s.flops() < 1e9) {  // above it the loops take minutes
        const double seconds = time_loops(s, seed);
        row.cpu_1_thread = seconds * 1e6;
        row.share_of_bound = attention_bound(s, 1) / seconds;
    }
    return row;
}
