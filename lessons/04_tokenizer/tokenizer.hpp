// Text to ids and back: special tokens are found, the text between them is split, each piece is merged.
//   text [n_bytes]  ->  pieces  ->  ids [n_tokens], each in 0 .. vocab_size - 1  ->  bytes_of(id) in a row: the text
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <string>
#include <string_view>
#include <vector>

#include "common/tensor.hpp"
#include "lessons/04_tokenizer/bpe.hpp"
#include "lessons/04_tokenizer/split.hpp"
#include "lessons/04_tokenizer/token_index.hpp"
#include "lessons/04_tokenizer/vocabulary.hpp"

// What "<|im_end|>" in a text means. What users write is plain text: they must not be able to end their turn and
// write the system's. Only a chat template, which is ours, parses.
enum class SpecialTokens { as_text, parse };

class Tokenizer {  // never changed once made: threads may share it
  public:
    explicit Tokenizer(const Vocabulary& vocabulary);  // checks it whole; tokenizer.cpp

    std::vector<int> encode(std::string_view text, SpecialTokens special = SpecialTokens::as_text) const;
    std::string decode(View<const int> ids) const;
    std::string_view bytes_of(int id) const;  // may be a part of a character: see stream_decoder.hpp

    int vocab_size() const { return int(tokens_.size()); }
    bool is_control(int id) const;
    int id_of(std::string_view special) const;  // of the special token with this text; -1: there is none
    int bos() const { return bos_; }            // -1: there is none
    int eos() const { return eos_; }
    bool adds_bos() const { return adds_bos_; }
    // A prompt as the model wants it: beginning with bos if the file says so, and never with two.
    std::vector<int> with_bos(std::vector<int> ids) const;
    // The ids after which an answer is over: eos, and whatever else ends a turn or a text.
    const std::vector<int>& end_of_generation() const { return end_of_generation_; }
    bool ends_generation(int id) const { return std::ranges::count(end_of_generation_, id) > 0; }

    // The steps by themselves, as the lesson shows them.
    std::vector<std::string_view> split(std::string_view text) const { return split_text(text, split_); }
    std::vector<int> byte_ids(std::string_view piece) const;  // -1: a byte that has no token
    const MergeTable& merges() const { return merges_; }
    // Llama-3 takes a piece that is a token as that token, whatever the merges would make of it. -1: it is none.
    int whole_piece(std::string_view piece) const { return whole_pieces_ ? index_.find(tokens_, piece) : -1; }
    // A vocabulary may lack bytes that its makers never met (SmolLM2's: 21 of the 256). encode leaves them out.
    size_t n_lost_bytes(std::string_view text) const {
        return size_t(std::ranges::count(byte_ids(text), -1));
    }

  private:
    struct SpecialAt {
        size_t at;
        int id;  // -1: none to the end of the text
    };
    void add_token(int id, const std::string& text, TokenType type);
    void add_merges(const std::vector<std::string>& merges);
    SpecialAt find_special(std::string_view text, size_t begin, SpecialTokens special) const;

    std::vector<std::string> tokens_;  // [vocab_size] as bytes
    std::vector<TokenType> types_;
    TokenIndex index_;  // of normal tokens
    std::array<int, 256> byte_ids_{};
    MergeTable merges_;
    Split split_;
    bool whole_pieces_;
    std::vector<int> specials_;                    // ids, the longest text first
    std::array<std::bitset<256>, 2> first_bytes_;  // of the special tokens that count, by SpecialTokens
    int bos_, eos_;
    bool adds_bos_;
    std::vector<int> end_of_generation_;
};

Tokenizer load_tokenizer(const GgufFile& file);
