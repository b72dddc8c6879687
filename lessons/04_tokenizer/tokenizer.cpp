#include "lessons/04_tokenizer/tokenizer.hpp"

#include <unordered_map>

#include "lessons/04_tokenizer/byte_alphabet.hpp"

Tokenizer::Tokenizer(const Vocabulary& vocabulary)
    : tokens_(vocabulary.tokens.size()), types_(vocabulary.tokens.size(), TokenType::normal),
      index_(tokens_.size()), merges_(vocabulary.merges.size()), split_(find_split(vocabulary.pre)),
      whole_pieces_(vocabulary.pre == "llama-bpe"), bos_(vocabulary.bos), eos_(vocabulary.eos),
      adds_bos_(vocabulary.adds_bos) {
    if (vocabulary.model != "gpt2")
        fail("the tokenizer model \"%s\" is not known here", vocabulary.model.c_str());
    if (tokens_.empty()) fail("the vocabulary has no tokens");
    if (!vocabulary.types.empty() && vocabulary.types.size() != tokens_.size()) {
        fail("%zu token types for %zu tokens", vocabulary.types.size(), tokens_.size());
    }
    for (size_t id = 0; id < tokens_.size(); ++id) {
        if (!vocabulary.types.empty()) types_[id] = TokenType(vocabulary.types[id]);
        add_token(int(id), vocabulary.tokens[id], types_[id]);
    }
    std::ranges::stable_sort(specials_, std::greater<>(), [&](int id) { return tokens_[size_t(id)].size(); });
    for (int byte = 0; byte < 256; ++byte) {
        const char bytes[] = {char(byte)};
        byte_ids_[size_t(byte)] = index_.find(tokens_, {bytes, 1});
    }
    add_merges(vocabulary.merges);

    for (const int id : {bos_, eos_, vocabulary.eot}) {
        if (id < -1 || id >= vocab_size()) fail("special token id %d, of %d tokens", id, vocab_size());
    }
    if (adds_bos_ && bos_ < 0) fail("prompts are to begin with a BOS token, but the vocabulary names none");
    // Files name one id; models end a turn with one token and a text with another, so the known ones count too.
    std::vector<int> ends = {eos_, vocabulary.eot};
    for (const char* text : {"<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>"}) {
        ends.push_back(id_of(text));
    }
    for (const int id : ends) {
        if (id >= 0 && !ends_generation(id)) end_of_generation_.push_back(id);
    }
}

// Normal tokens stand in the file in the alphabet of bytes, all others as they are.
void Tokenizer::add_token(int id, const std::string& text, TokenType type) {
    std::string& bytes = tokens_[size_t(id)];
    const bool known = type >= TokenType::normal && type <= TokenType::byte;
    if (!known) fail("token %d has the unknown type %d", id, int(type));
    if (type == TokenType::byte) fail("token %d is a byte token, which byte-level BPE does not have", id);
    if (text.empty()) return;  // never made
    if (type == TokenType::normal) {
        const auto decoded = from_alphabet(text);
        if (!decoded) fail("token %d, \"%s\", is not written in the alphabet of bytes", id, text.c_str());
        bytes = *decoded;
        index_.add(tokens_, id);
        return;
    }
    bytes = text;
    if (type == TokenType::unused) return;
    const bool control = type != TokenType::user_defined;
    specials_.push_back(id);
    first_bytes_[size_t(SpecialTokens::parse)].set(uint8_t(text[0]));
    if (!control) first_bytes_[size_t(SpecialTokens::as_text)].set(uint8_t(text[0]));
}

void Tokenizer::add_merges(const std::vector<std::string>& merges) {
    for (size_t id = 0; merges.empty() && id < tokens_.size(); ++id) {
        const bool unreachable = types_[id] == TokenType::normal && tokens_[id].size() > 1;
        if (unreachable) fail("the vocabulary has tokens of several bytes but no merges");
    }
    const auto find = [&](const std::string& text) {
        const auto bytes = from_alphabet(text);
        return bytes ? index_.find(tokens_, *bytes) : -1;
    };
    for (size_t rank = 0; rank < merges.size(); ++rank) {
        const std::string& merge = merges[rank];
        const size_t space = merge.find(' ');
        const bool is_pair = space != std::string::npos;
        const int left = is_pair ? find(merge.substr(0, space)) : -1;
        const int right = is_pair ? find(merge.substr(space + 1)) : -1;
        const int result =
            left < 0 || right < 0 ? -1 : find(merge.substr(0, space) + merge.substr(space + 1));
        if (result < 0) fail("merge %zu, \"%s\", is not two tokens that make a third", rank, merge.c_str());
        merges_.add(left, right, {int(rank), result});
    }
}

// The first special token from `begin` on; where several begin, the longest.
Tokenizer::SpecialAt Tokenizer::find_special(std::string_view text, size_t begin,
                                             SpecialTokens special) const {
    const std::bitset<256>& first_bytes = first_bytes_[size_t(special)];
    for (size_t at = begin; first_bytes.any() && at < text.size(); ++at) {
        if (!first_bytes[uint8_t(text[at])]) continue;
        for (const int id : specials_) {
            const bool counts = special == SpecialTokens::parse || !is_control(id);
            if (counts && text.substr(at).starts_with(bytes_of(id))) return {at, id};
        }
    }
    return {text.size(), -1};
}

std::vector<int> Tokenizer::byte_ids(std::string_view piece) const {
    std::vector<int> ids;
    for (const char byte : piece) ids.push_back(byte_ids_[uint8_t(byte)]);
    return ids;
}

std::vector<int> Tokenizer::encode(std::string_view text, SpecialTokens special) const {
    if (text.size() > INT_MAX) fail("a text of %zu bytes is too long", text.size());
    std::vector<int> ids, piece_ids;
    // Words repeat. Where a piece was encoded before, its ids stand in the result already: [first, first + count).
    // The map lives for one call, so threads need no lock, and it stops growing at a size that caches hold.
    struct Place {
        size_t first, count;
    };
    constexpr size_t most_places = 1 << 16;
    std::unordered_map<std::string_view, Place> places;

    for (size_t begin = 0; begin < text.size();) {
        const SpecialAt found = find_special(text, begin, special);
        const std::string_view plain = text.substr(0, found.at);  // to the split the text ends there
        while (begin < found.at) {
            const std::string_view piece = plain.substr(begin, split_(plain, begin) - begin);
            begin += piece.size();
            if (const auto seen = places.find(piece); seen != places.end()) {
                const auto [first, count] = seen->second;
                for (size_t i = first; i < first + count; ++i) ids.push_back(int(ids[i]));
                continue;
            }
            const int whole = whole_piece(piece);
            piece_ids.clear();
            if (whole >= 0) {
                piece_ids.push_back(whole);
            } else {
                for (const char byte : piece) piece_ids.push_back(byte_ids_[uint8_t(byte)]);
                merge_piece(piece_ids, merges_);
            }
            if (places.size() < most_places) places.emplace(piece, Place{ids.size(), piece_ids.size()});
            ids.insert(ids.end(), piece_ids.begin(), piece_ids.end());
        }
        if (found.id >= 0) {
            ids.push_back(found.id);
            begin += bytes_of(found.id).size();
        }
    }
    return ids;
}

std::string_view Tokenizer::bytes_of(int id) const {
    if (id < 0 || id >= vocab_size())
        fail("token id %d is not in the vocabulary of %d tokens", id, vocab_size());
    return tokens_[size_t(id)];
}

std::string Tokenizer::decode(View<const int> ids) const {
    std::string text;
    for (const int id : ids) text += bytes_of(id);
    return text;
}

bool Tokenizer::is_control(int id) const {
    bytes_of(id);  // in range?
    return types_[size_t(id)] == TokenType::control || types_[size_t(id)] == TokenType::unknown;
}

int Tokenizer::id_of(std::string_view special) const {
    const auto found = std::ranges::find_if(specials_, [&](int id) { return bytes_of(id) == special; });
    return found == specials_.end() ? -1 : *found;
}

std::vector<int> Tokenizer::with_bos(std::vector<int> ids) const {
    if (adds_bos_ && (ids.empty() || ids[0] != bos_)) ids.insert(ids.begin(), bos_);
    return ids;
}

Tokenizer load_tokenizer(const GgufFile& file) {
    const Vocabulary vocabulary = read_vocabulary(file);
    try {
        return Tokenizer(vocabulary);
    } catch (const Error& error) { fail("%s: %s", file.path().c_str(), error.what()); }
}
