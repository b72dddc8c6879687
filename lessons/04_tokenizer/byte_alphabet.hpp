// How a vocabulary file writes bytes. Tokens are byte strings, but the file holds readable text, so GPT-2 gave
// each byte a printable character: itself where it has one in Latin-1, else the next free one from U+0100 on.
//   "a" -> a    space (0x20) -> U+0120 (a G with a dot)    newline (0x0A) -> U+010A    0xFF -> U+00FF
#pragma once

#include <array>
#include <optional>

#include "lessons/04_tokenizer/unicode.hpp"

// [256] the character that stands for each byte.
inline const std::array<int, 256>& byte_alphabet() {
    static const auto alphabet = [] {
        std::array<int, 256> table{};
        int next_free = 0x100;
        for (int byte = 0; byte < 256; ++byte) {
            const bool printable = (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
            table[size_t(byte)] = printable ? byte : next_free++;
        }
        return table;
    }();
    return alphabet;
}

inline std::string to_alphabet(std::string_view bytes) {
    std::string text;
    for (const char byte : bytes) append_utf8(text, byte_alphabet()[uint8_t(byte)]);
    return text;
}

// The way back; nothing if a character stands for no byte.
inline std::optional<std::string> from_alphabet(std::string_view text) {
    static const auto byte_of = [] {
        std::array<int, 0x144> table;  // the highest character in use is U+0143
        table.fill(-1);
        for (int byte = 0; byte < 256; ++byte) table[size_t(byte_alphabet()[size_t(byte)])] = byte;
        return table;
    }();
    std::string bytes;
    for (size_t at = 0; at < text.size();) {
        const Character character = first_character(text.substr(at));
        const bool known = character.code >= 0 && character.code < int(byte_of.size());
        const int byte = known ? byte_of[size_t(character.code)] : -1;
        if (byte < 0) return std::nullopt;
        bytes += char(byte);
        at += size_t(character.size);
    }
    return bytes;
}
