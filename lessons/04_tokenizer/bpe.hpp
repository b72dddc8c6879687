// Byte pair encoding of one piece: begin with a token for each byte, then again and again replace the pair of
// neighbours that was learned first (the lowest rank; the leftmost of equals) until no neighbours have a merge.
//   "hello"  h e l l o  ->  he l l o  ->  he ll o  ->  hell o  ->  hello
// Neither the longest token nor the one further left goes first: only the rank counts.
#pragma once

#include <algorithm>
#include <bit>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <vector>

struct Merge {
    int rank = INT_MAX;  // INT_MAX: there is no such merge
    int result = -1;     // the token that takes the place of the two
    explicit operator bool() const { return result >= 0; }
};

// (left, right) -> Merge. One array, read from the slot that a multiplication picks up to the first free one:
// one cache line a question, where a chained map needs two or three.
class MergeTable {
  public:
    explicit MergeTable(size_t n_merges = 0)
        : slots_(std::bit_ceil(n_merges * 3 / 2 + 2)), shift_(64 - std::countr_zero(slots_.size())) {}

    // A pair that is there already keeps its first rank: false.
    bool add(int left, int right, Merge merge) {
        Slot& slot = slots_[find_slot(left, right)];
        if (slot.merge) return false;
        slot = {left, right, merge};
        return true;
    }
    Merge find(int left, int right) const { return slots_[find_slot(left, right)].merge; }

  private:
    struct Slot {
        int left = -1, right = -1;
        Merge merge;
    };
    size_t find_slot(int left, int right) const {
        const uint64_t key = uint64_t(uint32_t(left)) << 32 | uint32_t(right);
        size_t at = (key * 0x9E3779B97F4A7C15u) >> shift_;  // 2^64 / golden ratio spreads neighbouring keys
        while (slots_[at].merge && (slots_[at].left != left || slots_[at].right != right)) {
            at = (at + 1) & (slots_.size() - 1);
        }
        return at;
    }
    std::vector<Slot> slots_;  // never full
    int shift_;
};

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

// The lowest rank of a row of pairs as a tournament: each inner node holds the lower of its two children's ranks.
//            3            leaf i is node n_leaves + i, the children of node k are 2k and 2k + 1, node 1 is the root;
//        3       7        to change a leaf is to play its matches again, up to the first whose result stays the same.
//      9   3   7   8
class RankTree {
  public:
    template <class RankOf>
    RankTree(size_t n, RankOf rank_of) : n_leaves_(std::bit_ceil(n + 1)), best_(2 * n_leaves_, INT_MAX) {
        for (size_t leaf = 0; leaf < n; ++leaf) best_[n_leaves_ + leaf] = rank_of(leaf);
        for (size_t node = n_leaves_ - 1; node > 0; --node) best_[node] = lower_child(node);
    }
    int lowest() const { return best_[1]; }
    size_t leftmost_lowest() const {
        size_t node = 1;
        while (node < n_leaves_) node = 2 * node + (best_[2 * node] != best_[node]);
        return node - n_leaves_;
    }
    void set(size_t leaf, int rank) {
        size_t node = n_leaves_ + leaf;
        best_[node] = rank;
        while (node /= 2, node > 0 && best_[node] != lower_child(node)) best_[node] = lower_child(node);
    }

  private:
    int lower_child(size_t node) const { return std::min(best_[2 * node], best_[2 * node + 1]); }
    size_t n_leaves_;
    std::vector<int> best_;
};

// 2: a linked list, so that a merge touches only its neighbours, and a tournament, so that the next merge is found
//    without looking at all. Time ~ n log n: a line of 200,000 underscores costs milliseconds, not minutes.
inline void merge_tree(std::vector<int>& ids, const MergeTable& merges) {
    const uint32_t n = uint32_t(ids.size());
    std::vector<uint32_t> previous(n), next(n);  // n or more: there is none
    for (uint32_t i = 0; i < n; ++i) previous[i] = i - 1, next[i] = i + 1;
    const auto rank_at = [&](size_t left) {  // of the pair that begins here
        return next[left] < n ? merges.find(ids[left], ids[next[left]]).rank : INT_MAX;
    };
    RankTree tree(n, rank_at);
    while (tree.lowest() != INT_MAX) {
        const size_t left = tree.leftmost_lowest(), right = next[left];
        ids[left] = merges.find(ids[left], ids[right]).result;
        ids[right] = -1;  // gone
        next[left] = next[right];
        if (next[left] < n) previous[next[left]] = uint32_t(left);
        tree.set(right, INT_MAX);
        tree.set(left, rank_at(left));
        if (previous[left] < n) tree.set(previous[left], rank_at(previous[left]));
    }
    std::erase(ids, -1);
}

// 3: what the tokenizer calls. Up to about this length the scan's few looks beat setting up the tree.
constexpr size_t longest_scan = 16;
inline void merge_piece(std::vector<int>& ids, const MergeTable& merges) {
    ids.size() <= longest_scan ? merge_scan(ids, merges) : merge_tree(ids, merges);
}
