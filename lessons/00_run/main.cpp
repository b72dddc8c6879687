// Start at the end: the finished engine. A prompt goes in, text streams out, and the last line says how fast
// that was and how fast this machine could have been.
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "lessons/00_run/interrupt.hpp"
#include "lessons/00_run/report.hpp"
#include "lessons/00_run/run_options.hpp"
#include "lessons/06_generation/generate.hpp"
#include "lessons/07_kv_cache/cost.hpp"
#include "lessons/07_kv_cache/runner.hpp"

namespace {

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void show(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    if (std::fflush(stdout) != 0) fail("cannot write to standard output");
}

// The prompt, in pieces; on a terminal a long one is told how far it is.
View<const float> prefill(Runner& runner, const std::vector<int>& prompt) {
    const bool tell = isatty(STDERR_FILENO);
    const int n = int(prompt.size());
    bool told = false;
    const View<const float> logits = runner.run(prompt, [&](int done) {
        if (tell && done < n) {
            std::fprintf(stderr, "\rreading the prompt: %d of %d tokens", done, n);
            told = true;
        }
        return !interrupted;
    });
    if (told) std::fprintf(stderr, "\r\033[K");
    return logits;
}

// Feeds the answer token by token until it is over; fills the report.
void decode(Runner& runner, View<const float> logits, Generation& answer, const Sampling& sampling) {
    cpu::SampleScratch scratch(1, logits.size(0));
    while (!answer.finished()) {
        show(answer.push(cpu::sample(logits, answer.ids(), sampling, answer.position(), scratch.row(0))));
        if (answer.finished()) break;
        if (interrupted) {
            show(answer.end(Finish::cancelled));
        } else if (runner.room() == 0) {
            show(answer.end(Finish::length));
        } else {
            const int last = answer.ids()(answer.position() - 1);
            logits = runner.run(View<const int>(&last, 1));
        }
    }
}

int run(int argc, char** argv) {
    const RunOptions o = parse_run_options(argc, argv);
    check_sampling(o.sampling);
    const GgufFile file(o.model);
    const Tokenizer tokenizer = load_tokenizer(file);
    const Weights weights = load_weights(file);
    const std::vector<int> prompt = prompt_ids(o, file, tokenizer);
    const int n_prompt = int(prompt.size()), most = weights.config.context;
    if (o.context > most) fail("--context %d: this model reads %d tokens at the most", o.context, most);
    const int context = o.context ? o.context : std::min(n_prompt + std::min(o.max_tokens, most), most);
    if (n_prompt > context) fail("the prompt has %d tokens, the context holds %d", n_prompt, context);

    Runner runner(weights, {.threads = o.threads,
                            .context = context,
                            .weights_f32 = o.weights == "f32",
                            .cache_type = o.cache_type()});
    catch_interrupts();
    Generation answer(tokenizer, prompt, o.max_tokens, o.stops);
    Json json = Json::Object{};
    RunReport report{.threads = o.threads};

    const double start = seconds_now();
    const View<const float> logits = prefill(runner, prompt);
    report.prefill_seconds = seconds_now() - start;
    report.n_prompt = runner.length();  // not all of it after Ctrl-C
    if (logits.count() == 0) {
        answer.end(Finish::cancelled);
    } else {
        if (o.want_logits) json.set("logits", std::vector<double>(logits.begin(), logits.end()));
        const double first = seconds_now();
        decode(runner, logits, answer, o.sampling);
        report.decode_seconds = seconds_now() - first;
    }
    show("\n");

    report.n_generated = answer.answer_ids().size(0);
    const double mean_length = n_prompt + report.n_generated / 2.0;
    report.flops_a_token = step_flops(weights.config, report.n_prompt, 0, 1) / report.n_prompt;
    report.bytes_a_token =
        double(runner.weight_bytes()) + mean_length * double(runner.cache().bytes_per_token());
    const Limits limits = {processor_name(), o.threads, f32_peak(o.threads),
                           runner.weight_bandwidth(report.read_rate())};
    std::fprintf(stderr, "%s\n", report_line(report, limits).c_str());
    if (!o.json.empty()) {
        json.set("prompt_ids", prompt);
        json.set("ids", std::vector<int>(answer.answer_ids().begin(), answer.answer_ids().end()));
        json.set("text", answer.text());
        json.set("finish_reason", finish_name(answer.finish()));
        add_report(json, report, limits);
        write_json(o.json, json);
    }
    if (answer.finish() == Finish::error)
        fail("the model's logits are broken after %d tokens: NaN or infinite", answer.position());
    return answer.finish() == Finish::cancelled ? 130 : 0;
}

}  // namespace

int main(int argc, char** argv) { return run_program(argc, argv, run); }
