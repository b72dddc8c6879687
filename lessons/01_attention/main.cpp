// Lesson 01: what is attention? The loops, a sentence to look at, and the kernel that the engine uses.
#include <cstdio>

#include "common/options.hpp"
#include "lessons/01_attention/attention_bench.hpp"
#include "lessons/01_attention/sentence.hpp"

namespace {

// The heads of SmolLM2-135M at prefill and decode, and those of a model of 8 billion weights.
constexpr AttentionSize sizes[] = {{"prefill 16", 16, 16, 9, 3, 64},
                                   {"prefill 512", 512, 512, 9, 3, 64},
                                   {"decode 1 of 512", 1, 512, 9, 3, 64},
                                   {"decode 1 of 2048", 1, 2048, 9, 3, 64},
                                   {"8B, prefill 2048", 2048, 2048, 32, 8, 128}};

void print_question() {
    std::printf(
        "What is attention?\n"
        "  in   x [n_tokens, d_model]                     SmolLM2-135M reads 512 tokens: [512, 576]\n"
        "       q [n_tokens, n_heads, head_dim]           what each token looks for      [512, 9, 64]\n"
        "       k [n_keys, n_kv_heads, head_dim]          what it can be found by        [512, 3, 64]\n"
        "       v [n_keys, n_kv_heads, head_dim]          what it hands over             [512, 3, 64]\n"
        "  out  [n_tokens, n_heads, head_dim]             a weighted mean of values      [512, 9, 64]\n\n"
        "The weights of one head: a row is a word that looks, a column a word that is seen; . is the "
        "future\n");
    print_attention(sentence, sentence_attention());
    std::printf("\n");
}

bool check_kernel(uint64_t seed) {
    bool ok = true;
    for (const AttentionSize& s : {AttentionSize{"multi-head, 33 tokens", 33, 33, 4, 4, 64},
                                   AttentionSize{"grouped-query, the last 17 of 50", 17, 50, 9, 3, 64},
                                   AttentionSize{"multi-query, one of 129", 1, 129, 8, 1, 80}}) {
        const Comparison c = compare_kernel(s, seed, 1e-6);
        std::printf(
            "check: kernel against loops, %-32s %d heads on %d of %d: off by %.1e, at most 1e-06: %s\n",
            s.name, s.n_heads, s.n_kv_heads, s.head_dim, c.norm_error, c.ok ? "ok" : "FAILED");
        ok &= c.ok;
    }
    return ok;
}

void print_notice(const std::vector<BenchRow>& rows) {
    if (rows.size() < 2 * std::size(sizes)) return;  // both variants are needed
    const BenchRow &loops = rows[1], *kernel = &rows[std::size(sizes)];
    std::printf("\nNotice: at 512 tokens the kernel is %s times as fast as the loops and at %s of the bound; "
                "the sums are the same.\n",
                number(loops.cpu_1_thread / kernel[1].cpu_1_thread, 2).c_str(),
                percent(kernel[1].share_of_bound).c_str());
    std::printf("It loses on few tokens: %s of the bound on a prompt of 16, %s at decode. Keys are packed "
                "there for a few sums only.\n",
                percent(kernel[0].share_of_bound).c_str(), percent(kernel[2].share_of_bound).c_str());
}

int run(int argc, char** argv) {
    Options options("01_attention",
                    "What is attention? Loops, a sentence to look at, and the engine's kernel.");
    CommonOptions common;
    common.add_to(options);
    options.parse(argc, argv);
    common.check();
    const std::vector<int> variants = common.chosen(attention_variants);

    print_question();
    const bool ok = check_kernel(common.seed);
    std::vector<BenchRow> rows;
    for (const int variant : variants) {
        for (const AttentionSize& s : sizes) {
            rows.push_back(time_attention(variant, s, common.seed, common.threads));
        }
    }
    std::printf("\nThe bound is the larger of FLOPs at peak and bytes at read bandwidth\n");
    print_rows(rows);
    print_notice(rows);
    if (!common.json.empty()) write_json(common.json, rows_json("01_attention", common.device, rows));
    return ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return run_program(argc, argv, run); }
