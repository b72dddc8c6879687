// Learning the merges from a text (Gage 1994; Sennrich et al. 2016): count which two tokens stand next to each other
// most often, make that pair a token, put it in place everywhere, and begin again. Token 256 + i is made by merge i.
//   "aaabdaaabac"   aa most often (4)  ->  256 abd 256 abac   (256 a): 2  ->  257 bd 257 bac   ..
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lessons/04_tokenizer/byte_alphabet.hpp"
#include "lessons/04_tokenizer/split.hpp"
#include "lessons/04_tokenizer/vocabulary.hpp"

struct LearnedMerge {
    int left = 0, right = 0;
    long count = 0;  // how often the pair stood in the text when it was learned
};

namespace detail {
struct Word {  // a piece of the text, and how often the text has it
    std::vector<int> ids;
    long count = 0;
};

// The distinct pieces in the order in which the text first has them. Pieces repeat, so this is much shorter.
inline std::vector<Word> count_words(std::string_view text, Split split) {
    std::vector<Word> words;
    std::unordered_map<std::string_view, size_t> index;
    for (const std::string_view piece : split_text(text, split)) {
        const auto [entry, is_new] = index.try_emplace(piece, words.size());
        if (is_new) {
            words.emplace_back();
            for (const char byte : piece) words.back().ids.push_back(uint8_t(byte));
        }
        ++words[entry->second].count;
    }
    return words;
}

// The pair with the highest count; of equals the one that is met first.
inline LearnedMerge most_frequent_pair(const std::vector<Word>& words) {
    std::vector<LearnedMerge> pairs;  // in the order of meeting
    std::unordered_map<uint64_t, size_t> index;
    for (const auto& [ids, count] : words) {
        for (size_t i = 0; i + 1 < ids.size(); ++i) {
            const uint64_t key = uint64_t(ids[i]) << 32 | uint64_t(ids[i + 1]);
            const auto [entry, is_new] = index.try_emplace(key, pairs.size());
            if (is_new) pairs.push_back({ids[i], ids[i + 1], 0});
            pairs[entry->second].count += count;
        }
    }
    LearnedMerge best;
    for (const LearnedMerge& pair : pairs) {
        if (pair.count > best.count) best = pair;
    }
    return best;
}

// left right -> result, from left to right: "aaa" becomes (aa) a.
inline void replace_pair(std::vector<int>& ids, int left, int right, int result) {
    size_t kept = 0;
    for (size_t i = 0; i < ids.size(); ++kept) {
        const bool here = ids[i] == left && i + 1 < ids.size() && ids[i + 1] == right;
        ids[kept] = here ? result : ids[i];
        i += here ? 2 : 1;
    }
    ids.resize(kept);
}
}  // namespace detail

// At most n_merges; fewer when no pair stands there twice, for a token seen once says nothing about other texts.
inline std::vector<LearnedMerge> train_bpe(std::string_view text, int n_merges, Split split = split_gpt2) {
    std::vector<detail::Word> words = detail::count_words(text, split);
    std::vector<LearnedMerge> merges;
    while (int(merges.size()) < n_merges) {
        const LearnedMerge pair = detail::most_frequent_pair(words);
        if (pair.count < 2) break;
        const int result = 256 + int(merges.size());
        for (detail::Word& word : words) detail::replace_pair(word.ids, pair.left, pair.right, result);
        merges.push_back(pair);
    }
    return merges;
}

// As a model file would hold it: the 256 bytes, then a token a merge.
inline Vocabulary make_vocabulary(const std::vector<LearnedMerge>& merges) {
    Vocabulary vocabulary;
    for (int byte = 0; byte < 256; ++byte)
        vocabulary.tokens.push_back(to_alphabet(std::string(1, char(byte))));
    for (const auto& [left, right, count] : merges) {
        const std::string &a = vocabulary.tokens[size_t(left)], &b = vocabulary.tokens[size_t(right)];
        vocabulary.merges.push_back(a + " " + b);
        vocabulary.tokens.push_back(a + b);
    }
    return vocabulary;
}
