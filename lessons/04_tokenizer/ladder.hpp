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

// Prints the table of the chosen variants, and what to notice in it when all are there.
inline Table time_variants(const Tokenizer& tokenizer, const std::vector<int>& chosen, int n_threads) {
    const std::string prose(sample_text), small = one_piece(4'000), large = one_piece(200'000);
    Team one(1), all(n_threads);
    Table table({"variant", "size", "CPU 1 thread", "CPU all threads", "GPU kernel", "% of bound"}, "MB/s");
    double speed[3][2] = {};  // [variant][prose, small]
    for (const int i : chosen) {
        const EncodeVariant& variant = encode_variants[i];
        const auto add = [&](const char* size, const std::string& text) {
            const double alone = megabytes_per_second(one, tokenizer, variant, text);
            const double together = megabytes_per_second(all, tokenizer, variant, text);
            table.add(
                {format_text("%d %s", i + 1, variant.name), size, number(alone), number(together), "-", "-"});
            return alone;
        };
        speed[i][0] = add("prose, 4 KB", prose);
        speed[i][1] = add("one piece, 4 KB", small);
        if (i > 0) add("one piece, 200 KB", large);  // the scan would need minutes
    }
    table.print();
    if (chosen.size() == 3) {
        const double scan_seconds = double(small.size()) / (speed[0][1] * 1e6) * 50 * 50;
        std::printf("\nNotice: on one piece of 4 KB the tree is %.0fx the scan; 200 KB would cost the scan, "
                    "~ n^2, %.0f s.\n",
                    speed[1][1] / speed[0][1], scan_seconds);
        std::printf("It loses: on prose it is %.2fx the scan, for words are short; so the tokenizer uses "
                    "both, and remembers.\n",
                    speed[1][0] / speed[0][0]);
    }
    return table;
}
