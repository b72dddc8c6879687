// A text is cut into pieces before any merging, roughly at words, so that no token ever reaches across two words
// and each piece can be encoded by itself. The cut is part of the model: it must be the one of the training.
// The published rules are regular expressions (tried from left to right, at each position the first that fits):
//   GPT-2     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//   SmolLM2   every number character alone first, then GPT-2's on what lies between
//   Llama-3   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*
//             |\s*[\r\n]+|\s+(?!\S)|\s+
// `\s+(?!\S)` takes white space up to but not including its last character, which goes to the word after it.
#pragma once

#include <algorithm>
#include <vector>

#include "common/error.hpp"
#include "lessons/04_tokenizer/unicode.hpp"

namespace detail {
struct Cursor {  // a position in a text, and the class of the character there
    std::string_view text;
    size_t at;
    Character character = {};
    CharClass kind = CharClass::other;

    Cursor(std::string_view t, size_t position) : text(t), at(position) { read(); }
    bool done() const { return at >= text.size(); }
    bool is(CharClass k) const { return !done() && kind == k; }
    bool is_newline() const { return !done() && (character.code == '\n' || character.code == '\r'); }
    void next() {
        at += size_t(character.size);
        read();
    }
    void read() {
        if (done()) return;
        character = first_character(text.substr(at));
        kind = class_of(character.code);
    }
    size_t skip(CharClass k) {
        while (is(k)) next();
        return at;
    }
};

// Length of 's 't 're 've 'm 'll 'd at `begin`, else 0. Without regard to case the long s (U+017F) is an s.
inline size_t contraction(std::string_view text, size_t begin, bool any_case) {
    if (text[begin] != '\'') return 0;
    const auto rest = text.substr(begin + 1, 2);
    if (any_case && rest == "\xC5\xBF") return 3;
    const auto letter = [&](size_t i) {
        const char c = i < rest.size() ? rest[i] : '\0';
        return any_case && c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
    };
    const char a = letter(0), b = letter(1);
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
    return (a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
}

// The end of the white space at `begin`, by \s+(?!\S)|\s+ : its last character is left to what follows, if anything
// follows and something remains.
inline size_t spaces_end(const Cursor& begin, bool number_ends_text) {
    Cursor cursor = begin;
    size_t last = cursor.at;
    for (; cursor.is(CharClass::space); cursor.next()) last = cursor.at;
    const bool ends = cursor.done() || (number_ends_text && cursor.is(CharClass::number));
    return ends || last == begin.at ? cursor.at : last;
}

inline size_t gpt2_end(std::string_view text, size_t begin, bool digits_alone) {
    if (const size_t length = contraction(text, begin, false)) return begin + length;
    const Cursor first(text, begin);
    Cursor word = first;
    if (digits_alone && word.is(CharClass::number)) return begin + size_t(word.character.size);
    if (text[begin] == ' ') word.next();  // one space may lead
    const bool word_follows = !word.done() && word.kind != CharClass::space;
    if (word_follows && !(digits_alone && word.kind == CharClass::number)) return word.skip(word.kind);
    return spaces_end(first, digits_alone);
}
}  // namespace detail

// A split gives the end of the piece that begins at `begin` < text.size().
using Split = size_t (*)(std::string_view text, size_t begin);

inline size_t split_gpt2(std::string_view text, size_t begin) { return detail::gpt2_end(text, begin, false); }
inline size_t split_smollm(std::string_view text, size_t begin) {
    return detail::gpt2_end(text, begin, true);
}

inline size_t split_llama3(std::string_view text, size_t begin) {
    if (const size_t length = detail::contraction(text, begin, true)) return begin + length;
    const detail::Cursor first(text, begin);
    detail::Cursor word = first;
    if (word.is(CharClass::number)) {  // up to three
        for (int i = 0; i < 3 && word.is(CharClass::number); ++i) word.next();
        return word.at;
    }
    // Letters, led by any one character that is no number and no line break: " the", "(foo", "\tint".
    if (!word.is(CharClass::letter) && !word.is_newline()) word.next();
    if (word.is(CharClass::letter)) return word.skip(CharClass::letter);
    // Signs, led by one space, with the line breaks after them.
    word = first;
    if (text[begin] == ' ') word.next();
    if (word.is(CharClass::other)) {
        for (word.skip(CharClass::other); word.is_newline();) word.next();
        return word.at;
    }
    // White space to its last line break; without a line break as in GPT-2.
    size_t last_break = begin;
    for (word = first; word.is(CharClass::space);) {
        const bool line_break = word.is_newline();
        word.next();
        if (line_break) last_break = word.at;
    }
    return last_break > begin ? last_break : detail::spaces_end(first, false);
}

// By the name that GGUF files give it (tokenizer.ggml.pre).
inline Split find_split(const std::string& pre) {
    if (pre == "gpt-2") return split_gpt2;
    if (pre == "smollm") return split_smollm;
    if (pre == "llama-bpe") return split_llama3;
    fail("the pre-tokenizer \"%s\" is not known here: only gpt-2, smollm and llama-bpe are", pre.c_str());
}

inline std::vector<std::string_view> split_text(std::string_view text, Split split) {
    std::vector<std::string_view> pieces;
    for (size_t begin = 0; begin < text.size(); begin += pieces.back().size()) {
        pieces.push_back(text.substr(begin, split(text, begin) - begin));
    }
    return pieces;
}
