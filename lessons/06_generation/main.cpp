// Lesson 06: from scores to text. The loop without a cache, and the ways to choose a token.
#include <cstdio>

#include "common/options.hpp"
#include "lessons/04_tokenizer/prompt.hpp"
#include "lessons/06_generation/log_probability.hpp"
#include "lessons/06_generation/sampling_options.hpp"
#include "lessons/06_generation/slow_loop.hpp"
#include "weights/open_model.hpp"

namespace {

void print_likely(const char* where, const StepRecord& step, const Tokenizer& tokenizer) {
    std::printf("%s, %.2f bits:", where, step.bits);
    for (const auto& [id, log_p] : most_likely(step.logits, 5)) {
        std::printf("  %s %.1f %%", quoted(tokenizer.bytes_of(id)).c_str(), 100 * std::exp(log_p));
    }
    std::printf("\n");
}

// The kernel's draws from the logits of the least sure step against the lesson's shares.
bool check_samplers(const StepRecord& step, View<const int> history, const std::vector<int>& wanted) {
    constexpr double tolerance = 1e-6;  // weights are floats; their sums, over up to 49152 of them, doubles
    bool all_ok = true;
    for (const int i : wanted) {
        const double distance = worst_distance(step.logits, samplers[size_t(i)].settings, history);
        const bool ok = distance <= tolerance;
        std::printf(
            "check %-22s kernel against lesson, 100 draws: worst %.1g beside its share, tolerance %g: %s\n",
            samplers[size_t(i)].name, distance, tolerance, ok ? "ok" : "FAILED");
        all_ok = all_ok && ok;
    }
    return all_ok;
}

// Two lines made from the rows above.
void print_notice(const std::vector<StepRecord>& steps, const StepRecord& sure, const StepRecord& unsure) {
    const StepRecord &first = steps.front(), &last = steps.back();
    const auto n_left = [](const StepRecord& step, const Sampling& s) {
        return choices(step.logits, {}, s).size();
    };
    const Sampling top_k = {.temperature = 1, .top_k = 40}, top_p = {.temperature = 1, .top_p = .9f};
    std::printf(
        "\nNotice: the last step took %.1f times as long as the first: it computed %d tokens instead of %d, "
        "and one of them was new (lesson 07).\n",
        last.seconds / first.seconds, last.n_tokens, first.n_tokens);
    std::printf("It loses: top-k leaves %zu tokens, sure or not; top-p leaves %zu or %zu, but weighs the "
                "whole vocabulary for it.\n",
                n_left(sure, top_k), n_left(sure, top_p), n_left(unsure, top_p));
}

int run(int argc, char** argv) {
    const char* question = "How does a model that scores the next token write a text?";
    Options options("06_generation", question);
    CommonOptions common;
    std::string model, prompt = "The capital of France is", stop;
    bool tiny = false;
    int max_tokens = 12;
    Sampling sampling = {.temperature = .8f, .top_k = 40, .top_p = .95f};
    common.add_to(options);
    options.group("Model and text");
    options.add_name("-m,--model", model, "GGUF file of the llama family (make model)");
    options.flag("--tiny", tiny, "a seeded two-layer model instead of a file");
    options.add("-p,--prompt", prompt, "text to continue");
    options.add("-n,--max-tokens", max_tokens, "stop after so many tokens", 1, 1 << 20);
    options.add("--stop", stop, "a text that ends the answer");
    add_sampling_options(options, sampling);
    options.parse(argc, argv);
    common.check({model});
    const std::vector<int> wanted = common.chosen(sampler_names());
    sampling.seed = common.seed;

    const GgufFile file = open_model(model, tiny);
    const Weights weights = load_weights(file);
    const Tokenizer tokenizer = load_tokenizer(file);
    const std::vector<int> ids = encode_prompt(tokenizer, prompt);
    const int room = std::min(max_tokens, weights.config.context - int(ids.size()));
    if (room < 1)
        fail("the prompt has %zu tokens, the model's context is %d", ids.size(), weights.config.context);
    const std::vector<std::string> stops(options.given("--stop") ? 1 : 0, stop);
    Generation answer(tokenizer, ids, room, stops);

    if (tiny) std::printf("random weights: the text is noise\n");
    std::printf("%s\n  in    ids [%zu]\n", question, ids.size());
    std::printf("  step  ids [n_tokens] -> logits [%d] -> one id, appended\n", weights.config.vocab_size);
    std::printf("  out   ids [%zu] at the most\n\n%s|", ids.size() + size_t(room), prompt.c_str());
    const auto steps = write_slowly(answer, weights, sampling, [](std::string_view text) {
        std::fwrite(text.data(), 1, text.size(), stdout);
        std::fflush(stdout);
    });
    std::printf("\n(%s)\n\n", finish_name(answer.finish()));
    if (answer.finish() == Finish::error) fail("the model's logits are broken: NaN or infinite");

    const auto by_bits = [](const StepRecord& a, const StepRecord& b) { return a.bits < b.bits; };
    const auto [sure, unsure] = std::minmax_element(steps.begin(), steps.end(), by_bits);
    print_likely("surest step", *sure, tokenizer);
    print_likely("least sure step", *unsure, tokenizer);
    const bool ok = check_samplers(*unsure, answer.ids(), wanted);
    const Table times = step_table(steps);
    std::printf("\nThe loop, every token again at every step\n");
    times.print();
    const Table left = choice_table(sure->logits, unsure->logits, answer.ids(), wanted);
    std::printf("\nWhat may be chosen at the surest and the least sure step\n");
    left.print();
    const auto rows = time_samplers(unsure->logits, answer.ids(), common.threads, wanted);
    std::printf("\nThe kernel on %d logits a row (bound: reading them once)\n", weights.config.vocab_size);
    print_rows(rows);
    print_notice(steps, *sure, *unsure);
    if (!common.json.empty()) {
        Json json = rows_json("06_generation", common.device, rows);
        json.set("ids", Json::Array(answer.answer_ids().begin(), answer.answer_ids().end()));
        json.set("text", answer.text()).set("finish_reason", finish_name(answer.finish()));
        write_json(common.json, json.set("steps", times.json()).set("choices", left.json()));
    }
    return ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return run_program(argc, argv, run); }
