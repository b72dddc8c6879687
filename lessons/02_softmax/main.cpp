// Lesson 02: softmax. Three ways to compute it, where each breaks, and the kernel.
#include <algorithm>
#include <cstdio>

#include "common/bench.hpp"
#include "common/check.hpp"
#include "common/options.hpp"
#include "lessons/02_softmax/breaking_points.hpp"
#include "lessons/02_softmax/softmax.hpp"
#include "lessons/02_softmax/speeds.hpp"

namespace {

void print_question() {
    std::printf(
        "How do scores become shares, and where does the formula break?\n"
        "  in   x [n_rows, n_columns], any numbers         SmolLM2 at 512 tokens, a layer: [9 * 512, 512]\n"
        "  out  as x: rows of shares, each adding up to 1  its logits of one token: [1, 49152]\n\n");
}

// Against the reference, the safe loops in double.
bool check_variant(int variant, uint64_t seed) {
    constexpr int n_rows = 33, n_columns = 1001;
    // exp, division and the steps of a sum of 1,001 terms each round by 6e-8 at the most, to either side.
    constexpr double tolerance = 1e-6;
    Tensor x(n_rows, n_columns), out(n_rows, n_columns), expected(n_rows, n_columns);
    fill_random(x, seed, 8);
    poison(out);
    run_softmax(variant, {}, out, x);
    for (int row = 0; row < n_rows; ++row) {
        const std::vector<double> wide(x.row(row).begin(), x.row(row).end());
        std::vector<double> reference(wide.size());
        softmax_safe<double>(reference, wide);
        std::copy(reference.begin(), reference.end(), expected.row(row).begin());
    }
    const Comparison c = compare(out, expected, tolerance);
    std::printf("check: %-6s against double, %d rows of %d: worst error %.1e, tolerance %.1e: %s\n",
                softmax_variants[size_t(variant)].c_str(), n_rows, n_columns, c.worst_error, 32 * tolerance,
                c.ok ? "ok" : "FAILED");
    return c.ok;
}

void print_notice(const std::vector<BenchRow>& rows, int n_threads) {
    if (rows.size() < 9) return;  // all four variants at two sizes, the kernel at the third
    const BenchRow &safe = rows[1], &online = rows[2], &kernel = rows[3], &row = rows[7];
    std::printf(
        "\nNotice: on a layer's scores the kernel does %s times the safe loops' work on one thread; the "
        "online loops, which read the row once less, do %s times.\n",
        number(kernel.cpu_1_thread / safe.cpu_1_thread, 2).c_str(),
        number(online.cpu_1_thread / safe.cpu_1_thread, 2).c_str());
    std::printf(
        "It loses on one long row: %d threads do %s times the work of one, since a row belongs to one "
        "thread.\n",
        n_threads, number(row.cpu_all_threads / row.cpu_1_thread, 2).c_str());
}

int run(int argc, char** argv) {
    Options options("02_softmax", "How do scores become shares, and where does the formula break?");
    CommonOptions common;
    common.add_to(options);
    options.parse(argc, argv);
    common.check();
    const std::vector<int> chosen = common.chosen(softmax_variants);

    print_question();
    bool ok = true;
    for (const int variant : chosen) ok = check_variant(variant, common.seed) && ok;
    std::printf("\n");
    const Table breaking = breaking_table();
    breaking.print();
    for (const BreakingPoint& point : breaking_points()) std::printf("  %-9s %s\n", point.name, point.what);
    std::printf("\n");
    const std::vector<BenchRow> rows = time_softmaxes(chosen, common);
    std::printf("Read and written; bound: the slower of reading as many bytes and 28 operations a score\n");
    print_rows(rows);
    print_notice(rows, common.threads);
    if (!common.json.empty()) {
        Json json = rows_json("02_softmax", common.device, rows);
        write_json(common.json, json.set("breaking_points", breaking.json()));
    }
    return ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return run_program(argc, argv, run); }
