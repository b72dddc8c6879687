// Byte pair encoding of one piece: begin with a token for each byte, then again and again replace the pair of
// neighbours that was learned first (the lowest rank; the leftmost of equals) until no neighbours have a merge.
//   "hello"  h e l l o  ->  he l l o  ->  he ll o  ->  hell o  ->  hello
// Neither the longest token nor the one further left goes first: only the rank counts.
#pragma once

#include "lessons/04_tokenizer/merge_table.hpp"
#include "lessons/04_tokenizer/rank_tree.hpp"

// One merge; false when there is none left. An id of -1 is a byte without a token: it merges with nothing.
inline bool merge_once(std::vector<int>& ids, const MergeTable& merges) {
    Merge best;
    size_t best_at = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
        const Merge merge = merges.find(ids[i], ids[i + 1]);
        if (merge.rank < best.rank) best = merge, best_at = i;
    }
    if (!best) return false;
    ids[best_at] = best.result;
    ids.erase(ids.begin() + long(best_at) + 1);
    return true;
}

// 1: look at every pair before every merge. Time ~ n^2, and the best there is for a piece of a few bytes.
inline void merge_scan(std::vector<int>& ids, const MergeTable& merges) {
    while (merge_once(ids, merges)) {}
    std::erase(ids, -1);
}

// 2: a linked list, so that a merge touches only its neighbours, and a tournament, so that the next merge is found
//    without looking at all. Time ~ n log n: a line of 200,000 underscores costs milliseconds, not minutes.
inline void merge_tree(std::vector<int>& ids, const MergeTable& merges) {
    struct Symbol {
        int id;
        uint32_t previous, next;  // n or more: there is none
    };
    const uint32_t n = uint32_t(ids.size());
    std::vector<Symbol> symbols(n);
    for (uint32_t i = 0; i < n; ++i) symbols[i] = {ids[i], i - 1, i + 1};
    const auto merge_at = [&](size_t left) {  // of the pair that begins here
        const uint32_t right = symbols[left].next;
        return right < n ? merges.find(symbols[left].id, symbols[right].id) : Merge();
    };
    RankTree tree(n, [&](size_t i) { return merge_at(i).rank; });
    while (tree.lowest() != INT_MAX) {
        const size_t at = tree.leftmost_lowest();
        Symbol& left = symbols[at];
        const uint32_t right = left.next, after = symbols[right].next;
        left.id = merge_at(at).result;
        left.next = after;
        if (after < n) symbols[after].previous = uint32_t(at);
        tree.set(right, INT_MAX);  // it is gone
        tree.set(at, merge_at(at).rank);
        if (left.previous < n) tree.set(left.previous, merge_at(left.previous).rank);
    }
    ids.clear();
    for (uint32_t i = 0; i < n; i = symbols[i].next) {
        if (symbols[i].id >= 0) ids.push_back(symbols[i].id);
    }
}

// 3: what the tokenizer calls. Up to about this length the scan's few looks beat setting up the tree.
constexpr size_t longest_scan = 24;
inline void merge_piece(std::vector<int>& ids, const MergeTable& merges) {
    ids.size() <= longest_scan ? merge_scan(ids, merges) : merge_tree(ids, merges);
}
