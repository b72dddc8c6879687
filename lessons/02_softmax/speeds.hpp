// Softmax over many rows, timed: the lesson's loops and the kernel, at three sizes.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "common/bench.hpp"
#include "common/check.hpp"
#include "common/options.hpp"
#include "kernels/softmax/softmax.hpp"
#include "lessons/02_softmax/softmax.hpp"

inline const std::vector<std::string> softmax_variants = {"naive", "safe", "online", "kernel"};

// One variant over the rows of x [n_rows, n_columns]; the loops run on one thread.
inline void run_softmax(int variant, const Worker& worker, View<float> out, View<const float> x) {
    if (variant == 3) return cpu::softmax(worker, out, x);
    for (int row = 0; row < x.size(0); ++row) {
        if (variant == 0) softmax_naive<float>(out.row(row), x.row(row));
        if (variant == 1) softmax_safe<float>(out.row(row), x.row(row));
        if (variant == 2) softmax_online<float>(out.row(row), x.row(row));
    }
}

struct SoftmaxSize {
    const char* name;
    int n_rows, n_columns;
    // Each score is read and each share written.
    double bytes() const { return 2.0 * sizeof(float) * n_rows * n_columns; }
    // Operations of the kernel's three passes: 23 of them are the polynomial for exp.
    double operations() const { return 28.0 * n_rows * n_columns; }
};

// The scores of one layer of SmolLM2-135M at 512 tokens, its logits of one token, and a size that fills a GPU.
constexpr SoftmaxSize softmax_sizes[] = {
    {"9 x 512 rows of 512", 9 * 512, 512}, {"1 row of 49,152", 1, 49152}, {"8192 rows of 8192", 8192, 8192}};

inline double time_softmax(int variant, const SoftmaxSize& size, uint64_t seed, int n_threads) {
    Tensor x(size.n_rows, size.n_columns), out(x.shape());
    fill_random(x, seed, 8);
    Team team(n_threads);
    const auto body = [&](const Worker& worker) { run_softmax(variant, worker, out, x); };
    return measure(team, body, 0.1, 3).median;
}

// GB/s; the bound is memory's speed or arithmetic's, whichever is used up more.
inline std::vector<BenchRow> time_softmaxes(const std::vector<int>& chosen, const CommonOptions& common) {
    std::vector<BenchRow> rows;
    for (const SoftmaxSize& size : softmax_sizes) {
        for (const int variant : chosen) {
            if (variant < 3 && size.n_rows > 5000) continue;  // the loops would take a second each time
            const int n_threads = variant == 3 ? common.threads : 1;
            const double one = time_softmax(variant, size, common.seed, 1);
            const double all = n_threads > 1 ? time_softmax(variant, size, common.seed, n_threads) : one;
            BenchRow row{numbered(variant, softmax_variants[size_t(variant)]), size.name, "GB/s"};
            row.cpu_1_thread = size.bytes() / one / 1e9;
            if (variant == 3) row.cpu_all_threads = size.bytes() / all / 1e9;
            row.share_of_bound = std::max(share_of_read(size.bytes() / all, size_t(size.bytes()), n_threads),
                                          share_of_peak(size.operations() / all, n_threads));
            rows.push_back(row);
        }
    }
    return rows;
}
