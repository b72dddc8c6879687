// What a tokenizer is made of, as the model file has it: tokens in the alphabet of bytes, merges in the order of learning.
#pragma once

#include <climits>
#include <string>
#include <vector>

#include "weights/gguf.hpp"

// The numbers are those of GGUF files. A control token (<|im_end|>) is never made out of plain text.
enum class TokenType : int { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

struct Vocabulary {
    std::string model = "gpt2";        // byte-level BPE
    std::string pre = "gpt-2";         // how a text is cut into pieces: split.hpp
    std::vector<std::string> tokens;   // [vocab_size]
    std::vector<int> types;            // [vocab_size] of TokenType; empty: all are normal
    std::vector<std::string> merges;   // "left right"; the first has rank 0
    int bos = -1, eos = -1, eot = -1;  // begin and end of a text, end of a turn; -1: there is none
    bool adds_bos = false;             // a prompt begins with bos
};

inline Vocabulary read_vocabulary(const GgufFile& file) {
    const auto key = [](const char* name) { return std::string("tokenizer.ggml.") + name; };
    const auto token_id = [&](const char* name) {
        return file.has(key(name)) ? file.integer(key(name), -1, INT_MAX) : -1;
    };
    Vocabulary vocabulary;
    vocabulary.model = file.text(key("model"));
    if (vocabulary.model != "gpt2") {  // before its other keys, which such a model may not have
        fail("%s: the tokenizer model \"%s\" is not known here: only gpt2 (byte-level BPE) is",
             file.path().c_str(), vocabulary.model.c_str());
    }
    vocabulary.pre = file.text(key("pre"));
    for (const std::string_view token : file.texts(key("tokens"))) vocabulary.tokens.emplace_back(token);
    for (const std::string_view merge : file.texts(key("merges"))) vocabulary.merges.emplace_back(merge);
    if (file.has(key("token_type"))) vocabulary.types = file.integers(key("token_type"));
    vocabulary.bos = token_id("bos_token_id");
    vocabulary.eos = token_id("eos_token_id");
    vocabulary.eot = token_id("eot_token_id");
    // Llama-3's files may leave it unsaid; its prompts begin with bos.
    vocabulary.adds_bos = file.has(key("add_bos_token"))
                              ? file.boolean(key("add_bos_token"))
                              : vocabulary.pre == "llama-bpe" && vocabulary.bos >= 0;
    return vocabulary;
}
