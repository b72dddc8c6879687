// Lesson 03: matrix products. Decode and prefill multiply by the same matrices; what differs is how often a number
// that was read is used.
#include <cmath>
#include <cstdio>
#include <iterator>

#include "common/options.hpp"
#include "lessons/03_matmul/ladder.hpp"
#include "lessons/03_matmul/tokens.hpp"

namespace {

void print_question(int threads) {
    std::printf(
        "Why is a prompt a GEMM and a decode step a GEMV, and how fast can a machine multiply matrices?\n");
    std::printf("  in   a [n_rows, n_inner]     tokens: in SmolLM2-135M [512, 576] for a prompt, [1, 576] "
                "for a step\n");
    std::printf(
        "       b [n_inner, n_columns]  weights: [576, 1536] for the first half of a feed-forward block\n");
    std::printf("  out  c [n_rows, n_columns]   [512, 1536] or [1, 1536]\n");
    const Limits limits = machine_limits(threads);
    std::printf(
        "%s, %d threads: %s GFLOP/s, reads %s GB/s: a number must be used %s times to keep them busy\n\n",
        limits.cpu.c_str(), threads, number(limits.f32_flops / 1e9).c_str(),
        number(limits.read_bytes / 1e9).c_str(), number(limits.f32_flops / limits.read_bytes * 2).c_str());
}

// Against rung 1, at sizes that no block or tile divides.
bool check_rungs(const std::vector<int>& wanted, uint64_t seed, int threads) {
    bool all_ok = true;
    for (const int which : wanted) {
        Team team(ladder[which].threaded ? threads : 1);  // two threads in plain loops would add twice
        Product product(67, 131, 577, seed);
        matmul_ijk(product.c, product.a, product.b);
        const Tensor expected = product.c;
        poison(product.c);
        team.run([&](const Worker& worker) { ladder[which].multiply(worker, product); });
        const double tolerance =
            std::sqrt(577.0) * 0x1p-24;  // 577 roundings, which add up like a random walk
        const Comparison c = compare(product.c, expected, tolerance);
        std::printf("check %-16s %s: %s, tolerance %.1e: %s\n", numbered(which, ladder[which].name).c_str(),
                    product.size().c_str(), c.text().c_str(), tolerance, c.ok ? "ok" : "FAILED");
        all_ok = all_ok && c.ok;
    }
    return all_ok;
}

// GEMM in GFLOP/s against the peak, GEMV (one row) in GB/s of b against reading as much.
void measure_rungs(std::vector<BenchRow>& rows, const std::vector<int>& wanted, Product&& product,
                   int threads) {
    const bool gemv = product.a.size(0) == 1;
    const double work = gemv ? product.b_bytes() : product.flops();
    for (const int which : wanted) {
        const Rung& rung = ladder[which];
        Team one(1), all(threads);
        BenchRow row{numbered(which, rung.name), product.size(), gemv ? "GB/s" : "GFLOP/s"};
        const double alone = work / product_seconds(rung, product, one);
        const double best = rung.threaded ? work / product_seconds(rung, product, all) : alone;
        const int n_threads = rung.threaded ? threads : 1;
        row.cpu_1_thread = alone / 1e9;
        if (rung.threaded) row.cpu_all_threads = best / 1e9;
        row.share_of_bound =
            gemv ? share_of_read(best, size_t(work), n_threads) : share_of_peak(best, n_threads);
        rows.push_back(row);
    }
}

// Two lines made from the rows: of each size, the whole ladder.
void print_notice(const std::vector<BenchRow>& rows) {
    const BenchRow *large = &rows[std::size(ladder)], *gemv = &rows[3 * std::size(ladder)];
    std::printf(
        "\nNotice: at %s the same multiplications take %.0f times less time on rung 6 than on rung 1; "
        "one thread alone reaches %s of its peak.\n",
        large[0].size.c_str(), large[5].cpu_all_threads / large[0].cpu_1_thread,
        percent(share_of_peak(large[5].cpu_1_thread * 1e9, 1)).c_str());
    std::printf(
        "It loses: for one row, packing b in the call (rung 5) reads it at %s GB/s, the plain loops of "
        "rung 2 at %s.\n",
        number(gemv[4].cpu_all_threads).c_str(), number(gemv[1].cpu_1_thread).c_str());
}

int run(int argc, char** argv) {
    Options options("03_matmul",
                    "Why is a prompt a GEMM and a decode step a GEMV, and how fast can a machine multiply?");
    CommonOptions common;
    common.add_to(options);
    options.parse(argc, argv);
    common.check();
    std::vector<std::string> names;
    for (const Rung& rung : ladder) names.push_back(rung.name);
    const std::vector<int> wanted = common.chosen(names);
    const int threads = common.threads;

    print_question(threads);
    const bool ok = check_rungs(wanted, common.seed, threads);

    std::vector<BenchRow> rows;
    for (const auto [n_rows, n_columns, n_inner] :
         {std::array{512, 1536, 576}, {1024, 1024, 1024}, {1, 1536, 576}, {1, 4096, 4096}}) {
        measure_rungs(rows, wanted, Product(n_rows, n_columns, n_inner, common.seed), threads);
    }
    std::printf("\nRows x columns x inner. GEMM: the machine multiplies; GEMV (one row): it reads b\n");
    print_rows(rows);
    if (wanted.size() == std::size(ladder)) {
        print_tokens(common.seed, threads);
        print_notice(rows);
    }
    if (!common.json.empty()) write_json(common.json, rows_json("03_matmul", common.device, rows));
    return ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return run_program(argc, argv, run); }
