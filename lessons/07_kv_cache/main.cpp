// Lesson 07: the key-value cache. What to keep, so that a step costs one token.
#include <algorithm>
#include <cstdio>

#include "common/bench.hpp"
#include "common/options.hpp"
#include "lessons/04_tokenizer/tokenizer.hpp"
#include "lessons/07_kv_cache/check_variants.hpp"
#include "weights/open_model.hpp"

namespace {

void print_question(const Config& c) {
    const size_t bytes =
        ContiguousCache(Type::F16, c.n_layers, 1, c.n_kv_heads, 1, c.head_dim).bytes_per_token();
    std::printf("What must be kept so that a step costs one token?\n");
    std::printf("  in   ids [n_new], after n_past tokens whose keys and values are kept\n");
    std::printf("  kept keys and values [%d layers, 2, %d heads, n_past, %d]: %zu bytes a token in 16 bits\n",
                c.n_layers, c.n_kv_heads, c.head_dim, bytes);
    std::printf("  out  logits [1, %d]\n\n", c.vocab_size);
}

// Two lines made from the rows; those of each variant stand together, in the order of the positions asked for.
void notice(const std::vector<BenchRow>& rows, const std::vector<int>& positions, const Config& c) {
    const size_t n = positions.size();
    const auto ms = [&](size_t row) { return rows[row].cpu_all_threads; };
    const double cache_bytes =
        2.0 * c.n_layers * c.n_kv_heads * c.head_dim * sizeof(float) * (positions.back() + 1);
    std::printf("\nNotice: from position %d to %d a step takes %.1f times as long without a cache, %.2f "
                "times with one.\n",
                positions.front(), positions.back(), ms(n - 1) / ms(0), ms(2 * n - 1) / ms(n));
    std::printf("It loses: at position %d the cache holds %s, all of it read at every step. At position %d "
                "it gains %.1f times, at the first token nothing.\n",
                positions.back(), bytes_text(cache_bytes).c_str(), positions.front(), ms(0) / ms(n));
}

int run(int argc, char** argv) {
    Options options("07_kv_cache", "What must be kept so that a step costs one token?");
    CommonOptions common;
    std::string model;
    bool tiny = false;
    std::vector<int> positions;
    common.add_to(options);
    options.add_name("-m,--model", model, "GGUF file of the llama family (make model)");
    options.flag("--tiny", tiny, "a seeded two-layer model instead of a file");
    options.add("--positions", positions, "where to measure a step (default 15,127,511)", 0, 1 << 20);
    options.parse(argc, argv);
    common.check({model});
    std::vector<std::string> names;
    for (const StepVariant& variant : step_variants) names.push_back(variant.name);
    const std::vector<int> wanted = common.chosen(names);

    const GgufFile file = open_model(model, tiny);
    const Weights weights = load_weights(file);
    if (tiny) std::printf("random weights: the text is noise\n");
    if (positions.empty()) {
        for (const int p : {15, 127, 511}) {
            if (p < weights.config.context) positions.push_back(p);
        }
        if (positions.empty()) positions.push_back(weights.config.context - 1);
    }
    if (*std::max_element(positions.begin(), positions.end()) >= weights.config.context) {
        fail("--positions: the model reads positions 0 to %d", weights.config.context - 1);
    }
    const Tokenizer tokenizer = load_tokenizer(file);
    const std::vector<int> ids = tokenizer.with_bos(tokenizer.encode("The capital of France is"));
    if (ids.empty() || int(ids.size()) > weights.config.context) {
        fail("%s: the sentence of the check has %zu tokens, this model reads 1 to %d; take another model",
             file.path().c_str(), ids.size(), weights.config.context);
    }
    print_question(weights.config);
    const bool ok = check_variants(weights, ids, common.threads);

    const std::vector<BenchRow> rows = measure_steps(weights, wanted, positions, common.threads);
    std::printf("\nOne step, %d threads in all\n", common.threads);
    print_rows(rows);
    if (wanted.size() == std::size(step_variants) && positions.size() > 1)
        notice(rows, positions, weights.config);
    if (!common.json.empty()) write_json(common.json, rows_json("07_kv_cache", common.device, rows));
    return ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return run_program(argc, argv, run); }
