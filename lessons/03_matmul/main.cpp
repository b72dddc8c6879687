// Lesson 03: matrix products. Decode and prefill multiply by the same matrices; what differs is how often a number
// that was read is used.
#include <cmath>
#include <cstdio>
#include <map>

#include "common/options.hpp"
#include "lessons/03_matmul/ladder.hpp"
#include "lessons/03_matmul/tokens.hpp"

namespace {

using Figures = std::map<std::pair<int, std::string>, double>;  // (rung, size) -> figure on all threads

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
        std::printf("check %-16s %s: %s, tolerance %.1e: %s\n", ladder[which].name, product.size().c_str(),
                    c.text().c_str(), tolerance, c.ok ? "ok" : "FAILED");
        all_ok = all_ok && c.ok;
    }
    return all_ok;
}

// GEMM in GFLOP/s against the peak, GEMV (one row) in GB/s of b against reading as much.
void measure_rungs(Table& table, Figures& figures, const std::vector<int>& wanted, Product&& product,
                   int threads) {
    const bool gemv = product.a.size(0) == 1;
    const double work = gemv ? product.b_bytes() : product.flops();
    const auto share = [&](double figure, int n_threads) {
        return percent(gemv ? share_of_read(figure, size_t(work), n_threads)
                            : share_of_peak(figure, n_threads));
    };
    for (const int which : wanted) {
        const Rung& rung = ladder[which];
        Team one(1), all(threads);
        const double alone = work / product_seconds(rung, product, one);
        const double together = rung.threaded ? work / product_seconds(rung, product, all) : alone;
        figures[{which, product.size()}] = together / 1e9;
        table.add({rung.name, product.size(), gemv ? "GB/s" : "GFLOP/s", number(alone / 1e9), share(alone, 1),
                   rung.threaded ? number(together / 1e9) : "-", "-", "-",
                   share(together, rung.threaded ? threads : 1)});
    }
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

    Figures figures;
    Table table({"variant", "rows x columns x inner", "unit", "CPU 1 thread", "% of its bound",
                 "CPU all threads", "GPU kernel", "GPU with copies", "% of bound"});
    for (const auto [rows, columns, inner] :
         {std::array{512, 1536, 576}, {1024, 1024, 1024}, {1, 1536, 576}, {1, 4096, 4096}}) {
        measure_rungs(table, figures, wanted, Product(rows, columns, inner, common.seed), threads);
    }
    std::printf("\nGEMM: the machine multiplies; GEMV (one row): it reads b. %d threads in all\n", threads);
    table.print();
    if (wanted.size() == std::size(ladder)) {
        print_tokens(common.seed, threads);
        const std::string large = "1024 x 1024 x 1024", gemv = "1 x 4096 x 4096";
        std::printf(
            "\nNotice: at %s the same multiplications take %.0f times less time on rung 6 than on rung 1.\n",
            large.c_str(), figures[{5, large}] / figures[{0, large}]);
        std::printf(
            "It loses: for one row, packing b in the call (rung 5) reads it at %s GB/s, the plain loops of "
            "rung 2 at %s.\n",
            number(figures[{4, gemv}]).c_str(), number(figures[{1, gemv}]).c_str());
    }
    if (!common.json.empty()) write_json(common.json, table.json());
    return ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return run_program(argc, argv, run); }
