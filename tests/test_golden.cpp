// The engine against implementations that are not ours (tests/golden/make_golden.py): llama.cpp's greedy ids on an
// f32 copy of each file, and the last logits of a NumPy forward in float64.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <numeric>

#include "common/bench.hpp"
#include "common/files.hpp"
#include "common/json.hpp"
#include "lessons/00_run/chat.hpp"
#include "lessons/06_generation/sampling.hpp"
#include "lessons/07_kv_cache/runner.hpp"
#include "tests/skip.hpp"

namespace {

const std::string real_path = "weights/models/SmolLM2-135M-Instruct.Q4_1.gguf";
constexpr double tolerance = 1e-5;  // norm-wise, of logits against float64
constexpr double near_tie = 1e-3;   // two best logits this close may change places
constexpr int n_threads = 2;

bool has_real_model() { return std::filesystem::exists(real_path); }
const Json& real_golden() {
    static const Json golden = read_json("tests/golden/smollm2.json");
    return golden;
}

// |actual - expected| / |expected| over the elements 0, stride, 2 stride .. of the logits.
double norm_error(View<const float> logits, const Json& expected, int stride = 1) {
    double difference = 0, norm = 0;
    for (size_t i = 0; i < expected.items().size(); ++i) {
        const double e = expected[i].number(), d = double(logits(int(i) * stride)) - e;
        difference += d * d;
        norm += e * e;
    }
    return std::sqrt(difference / norm);
}

// Is `id` the reference's choice at this step? Where its two best were nearly tied it need not be: then the step is
// named, and the caller stops, for from there on the texts may differ.
enum class Step { same, tied, wrong };
Step check_step(int id, const Json& ids, const Json& margins, size_t step) {
    if (id == int(ids[step].integer())) return Step::same;
    const double margin = margins[step].number();
    if (margin < near_tie) {
        MESSAGE("step ", step, ": another id at a margin of ", margin);
        return Step::tied;
    }
    FAIL_CHECK("step " << step << ": id " << id << ", not " << ids[step].integer() << " (margin " << margin
                       << ")");
    return Step::wrong;
}

// Greedy with the cache, a token a step, as a program writes text.
void check_generation(Runner& runner, const std::vector<int>& prompt, const Json& ids, const Json& margins) {
    runner.truncate(0);
    View<const float> logits = runner.run(prompt);
    for (size_t step = 0; step < ids.items().size(); ++step) {
        const int id = argmax(logits);
        if (check_step(id, ids, margins, step) != Step::same) return;
        if (step + 1 < ids.items().size()) logits = runner.run(View<const int>(&id, 1));
    }
}

// Several logits of one pass: the engine's forward over a prompt and the golden answer behind it.
class OnePass {
  public:
    OnePass(const Weights& source, int max_tokens, int max_logits)
        : team_(n_threads), packed_(pack_weights(team_, source, true)),
          rope_(rope_table(max_tokens, config().n_rotated, config().rope_base, source.rope_freqs)),
          activations_(config(), max_tokens, max_logits),
          scratch_(n_threads, max_tokens, config().d_model, config().d_ff, config().head_dim) {}

    // Logits [ids.size() - first, vocab_size] after the ids from `first` on.
    View<const float> run(const std::vector<int>& ids, int first) {
        const int n = int(ids.size());
        ContiguousCache cache(Type::F32, config().n_layers, 1, config().n_kv_heads, n, config().head_dim);
        cache.append(0, n);
        std::vector<int> places(ids.size()), rows(size_t(n - first)), begin = {0, n};
        std::iota(places.begin(), places.end(),
                  0);  // position and slot are the same in a cache of one sequence
        std::iota(rows.begin(), rows.end(), first);
        const Batch batch = {
            .ids = ids, .positions = places, .slots = places, .sequence_begin = begin, .logit_rows = rows};
        team_.run([&](const Worker& worker) {
            CpuOps ops(worker, scratch_);
            forward(ops, packed_.weights, rope_, batch, cache, activations_);
        });
        return activations_.logits.rows(0, n - first);
    }

  private:
    const Config& config() const { return packed_.weights.config; }
    Team team_;
    PackedWeights packed_;
    Tensor rope_;
    Activations activations_;
    CpuScratch scratch_;
};

}  // namespace

TEST_CASE("golden tiny files: ids, last logits and greedy ids, one feature or weight type each") {
    const Json goldens = read_json("tests/golden/tiny.json");
    for (const Json& golden : goldens["files"].items()) {
        const std::string& name = golden["file"].text();
        CAPTURE(name);
        const GgufFile file("tests/golden/tiny/" + name);
        const Tokenizer tokenizer = load_tokenizer(file);
        const Weights weights = load_weights(file);
        Runner runner(weights, {.threads = n_threads, .context = 64, .weights_f32 = true});
        for (const Json& prompt : golden["prompts"].items()) {
            const std::vector<int> ids = prompt["ids"].integers();
            CAPTURE(prompt["text"].text());
            CHECK(tokenizer.with_bos(tokenizer.encode(prompt["text"].text())) == ids);
            runner.truncate(0);
            CHECK(norm_error(runner.run(ids), prompt["logits"]) <= tolerance);
            check_generation(runner, ids, prompt["greedy"], prompt["margins"]);
        }
    }
}

TEST_CASE("golden SmolLM2: ids of twelve prompts, and of chats whose text spells marks") {
    if (!has_real_model()) SKIP("no model file: make model");
    const GgufFile file(real_path);
    const Tokenizer tokenizer = load_tokenizer(file);
    for (const Json& prompt : real_golden()["prompts"].items()) {
        const bool raw = prompt.has("raw");
        const std::string& text = prompt[raw ? "raw" : "chat"].text();
        CAPTURE(text);
        CHECK((raw ? tokenizer.encode(text) : chat_prompt(file, tokenizer, text)) ==
              prompt["prompt_ids"].integers());
    }
    const Json chats = read_json("tests/golden/tokenizer_smollm2.json");
    for (const Json& chat : chats["chat_cases"].items()) {
        CAPTURE(chat["chat"].text());
        CHECK(chat_prompt(file, tokenizer, chat["chat"].text()) == chat["ids"].integers());
    }
}

TEST_CASE("golden SmolLM2: last logits, and at every step of twelve answers the reference's choice") {
    if (!has_real_model()) SKIP("no model file: make model");
    const GgufFile file(real_path);
    const Weights weights = load_weights(file);
    OnePass pass(weights, 512, 64);
    const int stride = int(real_golden()["logits_stride"].integer());
    for (const Json& prompt : real_golden()["prompts"].items()) {
        std::vector<int> ids = prompt["prompt_ids"].integers();
        const std::vector<int> answer = prompt["ids"].integers();
        CAPTURE(prompt[prompt.has("raw") ? "raw" : "chat"].text());
        const int last = int(ids.size()) - 1;
        ids.insert(ids.end(), answer.begin(), answer.end() - 1);
        const View<const float> logits = pass.run(ids, last);

        const View<const float> first = logits.row(0);
        CHECK(norm_error(first, prompt["logits"], stride) <= tolerance);
        const double norm = std::sqrt(std::inner_product(first.begin(), first.end(), first.begin(), 0.0));
        CHECK(std::abs(norm / prompt["logits_norm"].number() - 1) <= tolerance);
        for (size_t step = 0; step < answer.size(); ++step) {
            if (check_step(argmax(logits.row(int(step))), prompt["ids"], prompt["margins"], step) !=
                Step::same)
                break;
        }
        if (has_sanitizers) break;  // the other eleven take minutes in such a build
    }
}

TEST_CASE("golden README: the text it shows is the reference's, and no build writes another") {
    if (!has_real_model()) SKIP("no model file: make model");
    const Tokenizer tokenizer = load_tokenizer(GgufFile(real_path));
    for (const Json& prompt : real_golden()["prompts"].items()) {
        if (!prompt.has("chat") || prompt["chat"].text() != "Why is the sky blue?") continue;
        for (const Json& margin : prompt["margins"].items()) CHECK(margin.number() > 0.05);
        std::string words;  // the README folds its lines
        for (const char c : tokenizer.decode(prompt["ids"].integers())) words += c == '\n' ? ' ' : c;
        std::string readme;
        for (const char c : read_file("README.md")) {
            if (c == '\n' || c == ' ') {
                if (!readme.ends_with(' ')) readme += ' ';
            } else {
                readme += c;
            }
        }
        while (words.ends_with(' ')) words.pop_back();
        CHECK_MESSAGE(readme.find(words) != std::string::npos, words);
        return;
    }
    FAIL("the README's prompt is no golden");
}

TEST_CASE("golden SmolLM2: two answers written token by token") {
    if (!has_real_model()) SKIP("no model file: make model");
    if (has_sanitizers) return note_skip("minutes under sanitizers; the other builds run it");
    const GgufFile file(real_path);
    const Weights weights = load_weights(file);
    Runner runner(weights, {.threads = n_threads, .context = 128, .weights_f32 = true});
    for (const size_t i : {1, 6}) {  // code, raw; a question, chat
        const Json& prompt = real_golden()["prompts"][i];
        CAPTURE(i);
        check_generation(runner, prompt["prompt_ids"].integers(), prompt["ids"], prompt["margins"]);
    }
}

TEST_CASE("golden SmolLM2: twelve answers written token by token" * doctest::test_suite("long")) {
    if (!has_real_model()) SKIP("no model file: make model");
    const GgufFile file(real_path);
    const Weights weights = load_weights(file);
    Runner runner(weights, {.threads = n_threads, .context = 512, .weights_f32 = true});
    for (const Json& prompt : real_golden()["prompts"].items()) {
        CAPTURE(prompt[prompt.has("raw") ? "raw" : "chat"].text());
        check_generation(runner, prompt["prompt_ids"].integers(), prompt["ids"], prompt["margins"]);
    }
}
