// Characters out of bytes. UTF-8 writes a code point in one to four bytes; the lead byte tells how many:
//   0xxxxxxx                               U+0000 .. U+007F
//   110xxxxx 10xxxxxx                      U+0080 .. U+07FF
//   1110xxxx 10xxxxxx 10xxxxxx             U+0800 .. U+FFFF
//   11110xxx 10xxxxxx 10xxxxxx 10xxxxxx    U+10000 .. U+10FFFF
// A byte that fits nowhere is a "character" by itself, of the class `other`: no input is wrong, none is altered.
#pragma once

#include <utf8proc.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

struct Character {
    int code = -1;    // code point; -1: a byte that is not part of a valid character
    int size = 1;     // bytes
    int missing = 0;  // with code -1: the text ends inside what this many further bytes could complete
};

// The character at the front of a text that is not empty.
inline Character first_character(std::string_view text) {
    const auto byte = [&](int i) { return int(uint8_t(text[size_t(i)])); };
    const int lead = byte(0);
    if (lead < 0x80) return {lead, 1, 0};
    const int size = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
    if (size == 0) return {};
    int code = lead & (0x7F >> size);
    for (int i = 1; i < size; ++i) {
        if (i == int(text.size())) return {-1, 1, size - i};
        // A second byte has a narrower range after four of the leads: no code point is written longer than it
        // needs (E0, F0), none is half of a UTF-16 pair (ED), none lies above U+10FFFF (F4).
        const bool second = i == 1;
        const int low = second && lead == 0xE0 ? 0xA0 : second && lead == 0xF0 ? 0x90 : 0x80;
        const int high = second && lead == 0xED ? 0x9F : second && lead == 0xF4 ? 0x8F : 0xBF;
        if (byte(i) < low || byte(i) > high) return {};
        code = code << 6 | (byte(i) & 0x3F);
    }
    return {code, size, 0};
}

inline void append_utf8(std::string& text, int code) {
    uint8_t bytes[4];
    const auto n_bytes = utf8proc_encode_char(code, bytes);
    text.append(reinterpret_cast<const char*>(bytes), size_t(n_bytes));
}

// What the splits ask of a character: \p{L}, \p{N}, \s, or none of them (marks, signs, emoji, stray bytes).
enum class CharClass : uint8_t { letter, number, space, other };

namespace detail {
inline CharClass look_up_class(int code) {
    // \s is Unicode's White_Space property, which is not a category: U+200B, for one, is no space.
    if ((code >= 9 && code <= 13) || code == 0x85) return CharClass::space;
    switch (utf8proc_category(code)) {
        case UTF8PROC_CATEGORY_LU:
        case UTF8PROC_CATEGORY_LL:
        case UTF8PROC_CATEGORY_LT:
        case UTF8PROC_CATEGORY_LM:
        case UTF8PROC_CATEGORY_LO: return CharClass::letter;
        case UTF8PROC_CATEGORY_ND:
        case UTF8PROC_CATEGORY_NL:
        case UTF8PROC_CATEGORY_NO: return CharClass::number;
        case UTF8PROC_CATEGORY_ZS:
        case UTF8PROC_CATEGORY_ZL:
        case UTF8PROC_CATEGORY_ZP: return CharClass::space;
        default: return CharClass::other;
    }
}
}  // namespace detail

inline CharClass class_of(int code) {
    static const auto ascii = [] {  // most text is: one load a character
        std::array<CharClass, 128> table{};
        for (int i = 0; i < 128; ++i) table[size_t(i)] = detail::look_up_class(i);
        return table;
    }();
    if (code >= 0 && code < 128) return ascii[size_t(code)];
    return code < 0 ? CharClass::other : detail::look_up_class(code);
}
