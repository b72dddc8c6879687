// A prompt as ids, and what of it is lost: a vocabulary may lack bytes that its makers never met.
#pragma once

#include <cstdio>
#include <string_view>
#include <vector>

#include "lessons/04_tokenizer/tokenizer.hpp"

// Says on standard error how many bytes of a text its tokens leave out.
inline void note_lost_bytes(const Tokenizer& tokenizer, std::string_view text) {
    if (const size_t n = tokenizer.n_lost_bytes(text)) {
        std::fprintf(stderr, "%zu %s left out: this vocabulary has no token for %s\n", n,
                     n == 1 ? "byte" : "bytes", n == 1 ? "it" : "them");
    }
}

// With BOS, if the file asks for it. Says what is lost; nothing left, or nothing at all: Error.
inline std::vector<int> encode_prompt(const Tokenizer& tokenizer, std::string_view text) {
    const std::vector<int> plain = tokenizer.encode(text), ids = tokenizer.with_bos(plain);
    if (plain.empty() && !text.empty()) {
        fail("nothing is left of the prompt: this vocabulary has no token for any of its %zu bytes",
             text.size());
    }
    if (ids.empty()) fail("the prompt is empty");
    note_lost_bytes(tokenizer, text);
    return ids;
}
