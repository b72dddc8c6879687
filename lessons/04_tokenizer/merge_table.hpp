// Which two neighbouring tokens become one, and which of several pairs goes first.
#pragma once

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
