// Lesson 07: the key-value cache. What to keep, so that a step costs one token.
#include <algorithm>
#include <cstdio>
#include <map>

#include "common/bench.hpp"
#include "common/options.hpp"
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

int run(int argc, char** argv) {
    Options options("07_kv_cache", "What must be kept so that a step costs one token?");
    CommonOptions common;
    std::string model;
    bool tiny = false;
    std::vector<int> positions = {15, 127, 511};
    common.add_to(options);
    options.add("-m,--model", model, "GGUF file of the llama family (make model)");
    options.flag("--tiny", tiny, "a seeded two-layer model instead of a file");
    options.add("--positions", positions, "where to measure a step", 0, 1 << 20);
    options.parse(argc, argv);
    common.check();
    std::vector<std::string> names;
    for (const StepVariant& variant : step_variants) names.push_back(variant.name);
    const std::vector<int> wanted = common.chosen(names);

    const GgufFile file = open_model(model, tiny);
    const Weights weights = load_weights(file);
    if (tiny) std::printf("random weights: the text is noise\n");
    const int context = *std::max_element(positions.begin(), positions.end()) + 1;
    if (context > weights.config.context) {
        fail("--positions: the model reads positions 0 to %d", weights.config.context - 1);
    }
    print_question(weights.config);
    const bool ok = check_variants(weights, common.threads);

    std::map<std::pair<int, int>, double> all_threads;  // (variant, position) -> seconds
    Table table({"variant", "position", "CPU 1 thread", "CPU all threads", "GPU kernel", "GPU with copies",
                 "% of bound"},
                "ms a step");
    for (const int which : wanted) {
        const StepVariant& variant = step_variants[which];
        std::vector<std::array<double, 3>> cells(positions.size());  // one thread, all threads, bound
        for (const int threads : {1, common.threads}) {
            Runner runner(weights,
                          {.threads = threads, .context = context, .cache_type = variant.cache_type});
            const Limits limits = machine_limits(threads);
            for (size_t i = 0; i < positions.size(); ++i) {
                const double seconds = step_seconds(runner, variant.cached, positions[i]);
                if (threads == 1) cells[i][0] = seconds;
                cells[i][1] = seconds;
                cells[i][2] =
                    step_bound(runner, variant.cached, positions[i], limits.read_bytes, limits.f32_flops);
            }
        }
        for (size_t i = 0; i < positions.size(); ++i) {
            all_threads[{which, positions[i]}] = cells[i][1];
            table.add({variant.name, std::to_string(positions[i]), number(cells[i][0] * 1e3),
                       number(cells[i][1] * 1e3), "-", "-", percent(cells[i][2] / cells[i][1])});
        }
    }
    std::printf("\nOne step, %d threads in all\n", common.threads);
    table.print();
    if (wanted.size() == std::size(step_variants)) {
        const int near = positions.front(), far = positions.back();
        std::printf("\nNotice: from position %d to %d a step gets %.1f times slower without a cache, %.2f "
                    "times with one.\n",
                    near, far, all_threads[{0, far}] / all_threads[{0, near}],
                    all_threads[{1, far}] / all_threads[{1, near}]);
        std::printf("It loses: the cache costs %s of memory at position %d, and every step reads all of it; "
                    "at position %d it "
                    "gains %.1f times, at the first token nothing.\n",
                    bytes_text(2.0 * weights.config.n_layers * weights.config.n_kv_heads *
                               weights.config.head_dim * 4 * (far + 1))
                        .c_str(),
                    far, near, all_threads[{0, near}] / all_threads[{1, near}]);
    }
    if (!common.json.empty()) write_json(common.json, table.json());
    return ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return run_program(argc, argv, run); }
