// Why requests are batched and prompts are fast: tokens that share one reading of the weights.
#pragma once

#include <cstdio>

#include "lessons/03_matmul/ladder.hpp"

// One weight matrix, more and more tokens: where the time of a token stops falling, the weights are no longer what
// is waited for.
inline void print_tokens(uint64_t seed, int threads) {
    Table table({"tokens", "us", "us a token", "GB/s of weights", "GFLOP/s", "bound by", "% of bound"});
    Team team(threads);
    for (const int n_tokens : {1, 2, 4, 8, 16, 32, 128, 512}) {
        Product product(n_tokens, 4096, 4096, seed);
        const double seconds = product_seconds(ladder[5], product, team);
        const bool reading = product.b_bytes() / read_bandwidth(size_t(product.b_bytes()), threads) >
                             product.flops() / machine_limits(threads).f32_flops;
        table.add({std::to_string(n_tokens), number(seconds * 1e6), number(seconds * 1e6 / n_tokens),
                   number(product.b_bytes() / seconds / 1e9), number(product.flops() / seconds / 1e9),
                   reading ? "reading" : "multiplying", percent(product_bound(product, threads) / seconds)});
    }
    std::printf(
        "\nTokens that share one reading of the weights: rung 6, [n, 4096] x [4096, 4096], %d threads\n",
        threads);
    table.print();
}
