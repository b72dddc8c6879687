// A character may reach over two tokens, and half of one is not text. The stream decoder takes the tokens' bytes as
// they come and gives out whole characters: what may still become one waits, three bytes at most. Bytes that cannot
// become a character pass as they are, so all that it gives, in a row, is what decode() gives at once.
//   push(F0 9F 98) -> ""    push(B8) -> the four bytes of U+1F638    push(E2) -> ""    push("a") -> E2 "a"
#pragma once

#include <string>
#include <utility>

#include "lessons/04_tokenizer/unicode.hpp"

// Bytes at the end of the text that are the beginning of a character: 0 to 3.
inline size_t incomplete_suffix(std::string_view text) {
    for (size_t n = 1; n <= 3 && n <= text.size(); ++n) {
        if (first_character(text.substr(text.size() - n)).missing > 0) return n;
    }
    return 0;
}

class StreamDecoder {
  public:
    std::string push(std::string_view bytes) {
        waiting_ += bytes;
        std::string later = waiting_.substr(waiting_.size() - incomplete_suffix(waiting_));
        waiting_.resize(waiting_.size() - later.size());
        return std::exchange(waiting_, std::move(later));
    }
    // The text is over: what waited will not become a character any more.
    std::string finish() { return std::exchange(waiting_, {}); }

  private:
    std::string waiting_;
};
