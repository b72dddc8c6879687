// Lesson 05: a whole transformer, from token ids to the scores of the next token.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "common/bench.hpp"
#include "common/check.hpp"
#include "common/options.hpp"
#include "lessons/05_transformer/step_times.hpp"
#include "weights/open_model.hpp"

namespace {

void print_question(const Config& c, int n_tokens) {
    std::printf("What does a language model compute?\n");
    std::printf("  in   ids [%d]\n  out  logits [%d, %d]: for every position, a score for each next token\n",
                n_tokens, n_tokens, c.vocab_size);
    std::printf("  model: %d layers, width %d, %d heads of %d sharing %d key heads, feed-forward %d, rope "
                "base %g\n\n",
                c.n_layers, c.d_model, c.n_heads, c.head_dim, c.n_kv_heads, c.d_ff, c.rope_base);
}

// Every step of one layer: its shape and its norm per token.
void dump(const Weights& weights, View<const int> ids, int which) {
    if (which < 0 || which >= weights.config.n_layers) {
        fail("--dump %d: the model has layers 0 to %d", which, weights.config.n_layers - 1);
    }
    std::printf("%-18s %-16s %10s  %s\n", "step", "shape", "norm/token",
                "first three numbers of the last token");
    forward(weights, ids, [&](int layer, const char* step, View<const float> x) {
        if (layer != which && layer != -1) return;
        double squares = 0;
        for (const float value : x) squares += double(value) * double(value);
        const View<const float> last(x.row(x.size(0) - 1).data(), int(x.count()) / x.size(0));
        std::printf("%-18s %-16s %10.4f ", step, x.shape().text().c_str(), std::sqrt(squares / x.size(0)));
        for (int i = 0; i < std::min(3, last.size(0)); ++i) std::printf(" %9.5f", double(last(i)));
        std::printf("\n");
    });
}

// What a right model must keep: a later token changes no earlier score. The tolerance is 0.
bool check_causality(const Weights& weights, View<const int> ids) {
    const int n = ids.size(0) - 1;
    const Tensor whole = forward(weights, ids), part = forward(weights, ids.rows(0, n));
    check_finite(whole);
    const Comparison c = compare(part, whole.rows(0, n), 0);
    std::printf("check: %d tokens alone against the same with one more: worst error %g, tolerance 0: %s\n", n,
                c.worst_error, c.ok ? "ok" : "FAILED");
    return c.ok;
}

// The steps take the variants' place: there is one variant.
std::vector<BenchRow> print_times(const Weights& weights, View<const int> ids) {
    const std::vector<StepTime> steps = time_steps(weights, ids);
    const Limits limits = machine_limits(1);
    std::vector<BenchRow> rows;
    for (const StepTime& s : steps) {
        BenchRow row{s.step, "-", "ms", s.seconds * 1e3};
        if (s.flops > 0) {
            row.size = number(s.flops / 1e6) + " MFLOP" + (s.bytes > 0 ? ", " + bytes_text(s.bytes) : "");
            row.share_of_bound =
                std::max(s.flops / limits.f32_flops, s.bytes / limits.read_bytes) / s.seconds;
        }
        rows.push_back(row);
    }
    std::printf("\nThe reference, %d tokens, all %d layers (bound: the larger of FLOPs at %s GFLOP/s and "
                "bytes of weights at %s GB/s)\n",
                ids.size(0), weights.config.n_layers, number(limits.f32_flops / 1e9).c_str(),
                number(limits.read_bytes / 1e9).c_str());
    print_rows(rows);
    const auto largest =
        std::max_element(steps.begin(), steps.end() - 1,
                         [](const StepTime& a, const StepTime& b) { return a.seconds < b.seconds; });
    std::printf("\nNotice: %s takes %s of the time, and the steps with weights nearly all of it: a model is "
                "its matrices.\n",
                largest->step.c_str(), percent(largest->seconds / steps.back().seconds).c_str());
    std::printf(
        "It loses: these loops reach %s of what one thread could do; lesson 03 says why, lesson 07 mends "
        "it.\n",
        percent(rows.back().share_of_bound).c_str());
    return rows;
}

int run(int argc, char** argv) {
    Options options("05_transformer", "A whole model: families of layers, from token ids to logits.");
    CommonOptions common;
    std::string model;
    bool tiny = false;
    std::vector<int> ids = {504, 3575, 282, 4649, 314};  // "The capital of France is"
    int layer = 0;
    common.add_to(options);
    options.add_name("-m,--model", model, "GGUF file of the llama family (make model)");
    options.flag("--tiny", tiny, "a seeded two-layer model instead of a file");
    options.add("--ids", ids, "token ids to read", 0, 1 << 24);
    options.add("--dump", layer, "print every step of this layer with its shape and norm", 0, 1 << 24);
    options.exclusive({"--dump", "--json"});
    options.parse(argc, argv);
    common.check({model});
    common.chosen({"reference"});  // there is one variant
    if (options.given("--threads") && common.threads != 1) fail("--threads: these loops run on one");
    const GgufFile file = open_model(model, tiny);
    const Weights weights = load_weights(file);
    if (tiny && !options.given("--ids")) ids = {1, 2, 3, 4, 5};

    if (tiny) std::printf("random weights: the text is noise\n");
    print_question(weights.config, int(ids.size()));
    if (options.given("--dump")) {
        dump(weights, ids, layer);
        return 0;
    }
    const bool ok = ids.size() < 2 || check_causality(weights, ids);
    const std::vector<BenchRow> rows = print_times(weights, ids);
    if (!common.json.empty()) write_json(common.json, rows_json("05_transformer", common.device, rows));
    return ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return run_program(argc, argv, run); }
