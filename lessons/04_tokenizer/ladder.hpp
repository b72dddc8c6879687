// The ways from text to ids side by side: the same result, checked, and how fast each one is.
#pragma once

#include <cstdio>

#include "common/bench.hpp"
#include "lessons/04_tokenizer/sample_text.hpp"
#include "lessons/04_tokenizer/tokenizer.hpp"

// One way from text to ids.
struct EncodeVariant {
    const char* name;
    std::vector<int> (*encode)(const Tokenizer&, std::string_view);
};

template <void (*merge)(std::vector<int>&, const MergeTable&)>
std::vector<int> encode_by_piece(const Tokenizer& tokenizer, std::string_view text) {
    std::vector<int> ids;
    for (const std::string_view piece : tokenizer.split(text)) {
        const int whole = tokenizer.whole_piece(piece);
        std::vector<int> piece_ids = whole >= 0 ? std::vector<int>{whole} : tokenizer.byte_ids(piece);
        merge(piece_ids, tokenizer.merges());
        ids.insert(ids.end(), piece_ids.begin(), piece_ids.end());
    }
    return ids;
}

inline const EncodeVariant encode_variants[] = {
    {"scan", encode_by_piece<merge_scan>},
    {"tree", encode_by_piece<merge_tree>},
    {"remembered", [](const Tokenizer& tokenizer, std::string_view text) { return tokenizer.encode(text); }},
};

// MB/s of text, where every thread of the team encodes a text of its own.
inline double megabytes_per_second(Team& team, const Tokenizer& tokenizer, const EncodeVariant& variant,
                                   std::string_view text) {
    const Timing timing = measure(team, [&](const Worker&) { keep(variant.encode(tokenizer, text)); });
    return double(text.size()) * team.n_threads() / timing.median / 1e6;
}

// Writing without spaces is one piece to the split: here the letters of the sample, again and again.
inline std::string one_piece(size_t length) {
    std::string piece;
    for (size_t i = 0; piece.size() < length; i = (i + 1) % sample_text.size()) {
        if (class_of(uint8_t(sample_text[i])) == CharClass::letter) piece += sample_text[i];
    }
    return piece;
}

// The same ids as the first variant's, and the way back gives the text.
inline bool check_variant(const Tokenizer& tokenizer, const EncodeVariant& variant, const char* what,
                          std::string_view text) {
    const std::vector<int> ids = variant.encode(tokenizer, text);
    const bool ok = ids == encode_variants[0].encode(tokenizer, text) && tokenizer.decode(ids) == text;
    std::printf("  %-10s  %-20s  %6zu bytes, %5zu tokens: %s\n", variant.name, what, text.size(), ids.size(),
                ok ? "0 ids differ from the scan's (tolerance 0), the text comes back: ok" : "FAILED");
    return ok;
}

// The rows of the chosen variants, in MB/s: prose, one piece, and one long piece (none for the scan).
inline std::vector<BenchRow> time_variants(const Tokenizer& tokenizer, const std::vector<int>& chosen,
                                           int n_threads) {
    Team one(1), all(n_threads);
    std::vector<BenchRow> rows;
    for (const int i : chosen) {
        const EncodeVariant& variant = encode_variants[i];
        const auto add = [&](const char* size, const std::string& text) {
            rows.push_back({numbered(i, variant.name), size, "MB/s",
                            megabytes_per_second(one, tokenizer, variant, text),
                            megabytes_per_second(all, tokenizer, variant, text)});
        };
        add("prose, 4 KB", std::string(sample_text));
        add("one piece, 4 KB", one_piece(4'000));
        if (i > 0) add("one piece, 200 KB", one_piece(200'000));  // the scan would need minutes
    }
    return rows;
}

// What to notice in the rows of all variants.
inline void print_notice(const std::vector<BenchRow>& rows) {
    const BenchRow *scan = &rows[0], *tree = &rows[2];
    const double scan_seconds = 4'000 / (scan[1].cpu_1_thread * 1e6) * 50 * 50;
    std::printf("\nNotice: on one piece of 4 KB the tree is %.0fx the scan; 200 KB would cost the scan, "
                "~ n^2, %.0f s.\n",
                tree[1].cpu_1_thread / scan[1].cpu_1_thread, scan_seconds);
    std::printf("It loses: on prose it is %.2fx the scan, for words are short; so the tokenizer uses "
                "both, and remembers.\n",
                tree[0].cpu_1_thread / scan[0].cpu_1_thread);
}
