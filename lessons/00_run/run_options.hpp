// Everything that the command line of 00_run can say.
#pragma once

#include <string>
#include <vector>

#include "common/batch.hpp"
#include "common/files.hpp"
#include "common/options.hpp"
#include "lessons/00_run/chat.hpp"
#include "lessons/04_tokenizer/prompt.hpp"
#include "lessons/06_generation/sampling_options.hpp"

struct RunOptions {
    std::string model, prompt, prompt_file, chat, json;
    std::string device = "cpu", weights = "file", activations = "f32", cache = "f32";
    std::vector<int> ids;
    std::vector<std::string> stops;
    int max_tokens = 128, context = 0, threads = 0;
    Sampling sampling;
    bool want_logits = false;

    Type cache_type() const { return cache == "f16" ? Type::F16 : cache == "bf16" ? Type::BF16 : Type::F32; }
};

inline RunOptions parse_run_options(int argc, char** argv) {
    RunOptions o;
    std::string stop;
    Options options("00_run", "The finished engine: a real model writes text, and says what bounds it.");
    options.group("Model");
    options.add_name("-m,--model", o.model, "GGUF file (make model fetches one)");
    options.group("Prompt, one of");
    options.add("-p,--prompt", o.prompt, "text to continue");
    options.add_name("-f,--prompt-file", o.prompt_file, "the same from a file, byte for byte");
    options.add("--chat", o.chat, "a user's message, in the file's chat template");
    options.add("--ids", o.ids, "token ids: 1,2,3", 0, 1 << 24);
    options.exclusive({"--prompt", "--prompt-file", "--chat", "--ids"});
    add_sampling_options(options, o.sampling);
    options.add("-s,--seed", o.sampling.seed, "of the draws");
    options.add("-n,--max-tokens", o.max_tokens, "stop after so many tokens", 0, 1 << 24);
    options.add("--stop", stop, "a text that ends the answer");
    options.group("Engine");
    options.add("-t,--threads", o.threads, "0: one a core", 0, 1024);
    options.add("-c,--context", o.context, "tokens the cache holds; 0: prompt and answer", 0, 1 << 24);
    options.add("--device", o.device, "what computes", {"cpu", "sim", "cuda"});
    options.add("--weights", o.weights, "compute from the file's 16-bit weights as stored, or all in f32",
                {"file", "f32"});
    options.add("--activations", o.activations, "type of what flows between the layers", {"f32"});
    options.add("--cache", o.cache, "type of stored keys and values", {"f32", "f16", "bf16"});
    options.group("Output");
    options.add_name("--json", o.json, "write ids, text and the measured figures to this file");
    options.flag("--logits", o.want_logits, "and the logits after the prompt, into --json");
    options.parse(argc, argv);

    if (o.model.empty()) fail("no model: `make model` fetches one, then --model FILE");
    if (!options.given("--prompt") && !options.given("--prompt-file") && !options.given("--chat") &&
        o.ids.empty()) {
        fail("nothing to answer: give --prompt, --prompt-file, --chat or --ids");
    }
    if (o.want_logits && o.json.empty()) fail("--logits go into a file: give --json FILE too");
    if (options.given("--stop")) o.stops.push_back(stop);
    CommonOptions common;
    common.device = o.device;
    common.threads = o.threads;
    common.json = o.json;
    common.check({o.model, o.prompt_file});
    o.threads = common.threads;
    return o;
}

// The ids to start from. A prompt without any is an Error.
inline std::vector<int> prompt_ids(const RunOptions& o, const GgufFile& file, const Tokenizer& tokenizer) {
    if (!o.ids.empty()) return o.ids;
    const std::string text = o.prompt_file.empty() ? o.prompt + o.chat : read_file(o.prompt_file);
    const std::vector<int> ids = encode_prompt(tokenizer, text);  // for a chat too: it says what is lost
    return o.chat.empty() ? ids : chat_prompt(file, tokenizer, o.chat);
}
