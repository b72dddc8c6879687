// Lesson 04: text to ids and back. By itself the lesson; with --encode, --encode-file or --decode the tool.
#include <unistd.h>

#include <climits>

#include "common/files.hpp"
#include "common/options.hpp"
#include "lessons/04_tokenizer/ladder.hpp"
#include "lessons/04_tokenizer/prompt.hpp"
#include "lessons/04_tokenizer/show.hpp"

namespace {

struct ToolOptions {
    std::string model, text, file;
    std::vector<int> ids;
    bool special = false;
};

void encode(const Tokenizer& tokenizer, const std::string& text, bool special, const std::string& json) {
    const std::vector<int> ids =
        tokenizer.with_bos(tokenizer.encode(text, special ? SpecialTokens::parse : SpecialTokens::as_text));
    std::string line;
    for (const int id : ids) line += format_text(line.empty() ? "%d" : ",%d", id);
    std::printf("%s\n", line.c_str());
    note_lost_bytes(tokenizer, text);
    if (!json.empty()) write_json(json, Json(Json::Object{{"ids", ids}}));
}

void decode(const Tokenizer& tokenizer, const std::vector<int>& ids, const std::string& json) {
    const std::string text = tokenizer.decode(ids);
    std::fwrite(text.data(), 1, text.size(), stdout);
    if (isatty(STDOUT_FILENO)) std::printf("\n");  // into a file or a pipe go the bytes alone
    if (!json.empty()) write_json(json, Json(Json::Object{{"text", text}}));
}

int lesson(const CommonOptions& common, const std::string& model) {
    std::vector<std::string> names;
    for (const EncodeVariant& variant : encode_variants) names.push_back(variant.name);
    const std::vector<int> chosen = common.chosen(names);
    const std::vector<LearnedMerge> merges = train_bpe(seen_text, 1024);
    const Tokenizer tokenizer =
        model.empty() ? Tokenizer(make_vocabulary(merges)) : load_tokenizer(GgufFile(model));

    std::printf("How does text become numbers, and numbers text?\n");
    std::printf("  in   text [n_bytes]\n  out  ids [n_tokens], each in 0 .. vocab_size - 1\n");
    std::printf(
        "  SmolLM2: vocab_size 49152 = 235 bytes + 48900 merges + 17 special; this run: %d tokens, %s\n\n",
        tokenizer.vocab_size(), model.empty() ? "learned from a page of English" : model.c_str());
    show_steps(tokenizer, "The keeper's lighthouse had 212 steps.");

    bool ok = true;
    for (const int i : chosen) {
        ok = check_variant(tokenizer, encode_variants[i], "prose", sample_text) && ok;
        ok = check_variant(tokenizer, encode_variants[i], "one piece of letters", one_piece(4'000)) && ok;
    }
    std::printf("\n");
    if (model.empty()) show_vocabularies(merges);
    std::printf("\n");
    const std::vector<BenchRow> rows = time_variants(tokenizer, chosen, common.threads);
    print_rows(rows);
    if (chosen.size() == std::size(encode_variants)) print_notice(rows);
    if (!common.json.empty()) write_json(common.json, rows_json("04_tokenizer", common.device, rows));
    return ok ? 0 : 1;
}

int run(int argc, char** argv) {
    Options options("04_tokenizer", "How does text become numbers, and numbers text?");
    CommonOptions common;
    ToolOptions tool;
    common.add_to(options);
    options.group("As a tool");
    options.add_name("-m,--model", tool.model, "GGUF file whose tokenizer is used");
    options.add("--encode", tool.text,
                "print the ids of this text (with BOS first, if the file asks for it)");
    options.add_name("--encode-file", tool.file, "print the ids of this file's bytes");
    options.add("--decode", tool.ids, "print the text of these ids: 1,2,3", 0, INT_MAX);
    options.flag("--special", tool.special,
                 "special tokens in the text count; by default they are plain text");
    options.exclusive({"--encode", "--encode-file", "--decode", "--variant"});
    options.parse(argc, argv);
    common.check({tool.model, tool.file});

    const bool decodes = options.given("--decode"), from_file = options.given("--encode-file");
    if (!decodes && !from_file && !options.given("--encode")) return lesson(common, tool.model);
    if (tool.model.empty())
        fail("--encode, --encode-file and --decode need --model FILE: `make model` fetches one");
    const Tokenizer tokenizer = load_tokenizer(GgufFile(tool.model));
    if (decodes)
        decode(tokenizer, tool.ids, common.json);
    else
        encode(tokenizer, from_file ? read_file(tool.file) : tool.text, tool.special, common.json);
    return 0;
}

}  // namespace

int main(int argc, char** argv) { return run_program(argc, argv, run); }
