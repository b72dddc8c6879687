// C++ text as tokens: what the translator of CUDA reads. No grammar, only words: where a string, a comment or a raw
// string begins and ends, so that what looks like a launch inside one is left alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace simt {

struct Token {
    enum Kind { space, directive, word, number, text, symbol };  // text: strings and characters
    Kind kind;
    std::string_view view;  // into the text that was read

    bool is(std::string_view s) const { return kind != text && view == s; }
};

// All of `source`, spaces and comments (kind space) and preprocessor lines (kind directive) included: the views in a
// row are the source again. A symbol is one character, but ::, ->, << and >> are one token. An unclosed comment or
// string ends with the text.
std::vector<Token> tokens(std::string_view source);

}  // namespace simt
