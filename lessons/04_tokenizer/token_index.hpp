// bytes -> id. The slots hold ids alone, and the bytes are compared where they lie, in the list of all tokens: two
// cache lines a question. A vocabulary of 49,152 tokens with its 48,900 merges asks 200,000 of them at loading.
#pragma once

#include <bit>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

class TokenIndex {
  public:
    explicit TokenIndex(size_t n_tokens) : slots_(std::bit_ceil(2 * n_tokens + 1), -1) {}

    void add(const std::vector<std::string>& tokens, int id) {
        int& slot = slots_[find_slot(tokens, tokens[size_t(id)])];
        if (slot < 0) slot = id;  // of equal tokens the first counts
    }
    int find(const std::vector<std::string>& tokens, std::string_view bytes) const {  // -1: no such token
        return slots_[find_slot(tokens, bytes)];
    }

  private:
    size_t find_slot(const std::vector<std::string>& tokens, std::string_view bytes) const {
        size_t at = std::hash<std::string_view>()(bytes) & (slots_.size() - 1);
        while (slots_[at] >= 0 && tokens[size_t(slots_[at])] != bytes) at = (at + 1) & (slots_.size() - 1);
        return at;
    }
    std::vector<int> slots_;  // at most half full
};
