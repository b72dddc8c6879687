// What happens to one sentence, and how much shorter a text becomes.
#pragma once

#include <cstdio>

#include "common/bench.hpp"
#include "lessons/04_tokenizer/bpe_train.hpp"
#include "lessons/04_tokenizer/sample_text.hpp"
#include "lessons/04_tokenizer/tokenizer.hpp"

constexpr std::string_view seen_text = sample_text.substr(0, sample_text.size() * 4 / 5);
constexpr std::string_view unseen_text = sample_text.substr(seen_text.size());

// Spaces and line breaks made visible, tokens set apart: "·the|·har|bour".
inline std::string visible(const Tokenizer& tokenizer, const std::vector<int>& ids) {
    std::string text;
    for (const int id : ids) {
        if (!text.empty()) text += '|';
        for (const char c : id < 0 ? std::string_view("?") : tokenizer.bytes_of(id))
            text += c == ' ' ? "·" : c == '\n' ? "↵" : std::string(1, c);
    }
    return text;
}

// A sentence cut into pieces, and its longest piece merged step by step.
inline void show_steps(const Tokenizer& tokenizer, std::string_view sentence) {
    std::printf("  \"%.*s\"\n  pieces ", int(sentence.size()), sentence.data());
    std::string_view longest;
    for (const std::string_view piece : tokenizer.split(sentence)) {
        std::printf(" [%s]", visible(tokenizer, tokenizer.byte_ids(piece)).c_str());
        if (piece.size() > longest.size()) longest = piece;
    }
    std::vector<int> ids = tokenizer.byte_ids(longest);
    std::printf("\n  merges  %s\n", visible(tokenizer, ids).c_str());
    while (merge_once(ids, tokenizer.merges()))
        std::printf("          %s\n", visible(tokenizer, ids).c_str());
    ids = tokenizer.encode(sentence);
    std::printf("  ids    ");
    for (const int id : ids) std::printf(" %d", id);
    std::printf("\n          %s\n\n", visible(tokenizer, ids).c_str());
}

// Vocabularies of several sizes on text that they were learned from and on text that they never saw.
inline void show_vocabularies(const std::vector<LearnedMerge>& merges) {
    Table table({"vocabulary", "tokens/byte, seen", "tokens/byte, unseen"});
    for (const size_t n : {size_t(0), merges.size() / 16, merges.size() / 4, merges.size()}) {
        const Tokenizer tokenizer(make_vocabulary({merges.begin(), merges.begin() + long(n)}));
        const auto ratio = [&](std::string_view text) {
            return number(double(tokenizer.encode(text).size()) / double(text.size()));
        };
        table.add({std::to_string(256 + n), ratio(seen_text), ratio(unseen_text)});
    }
    std::printf("What %zu bytes of English teach (lessons/04_tokenizer/sample_text.hpp)\n", seen_text.size());
    table.print();
}
