// The lowest of many ranks, kept while they change, as a tournament in groups of 16 neighbours (one cache line): each
// group sends its lowest to the round above, and the last round has one. A changed rank plays its rounds again.
//   round 2                3
//   round 1        3               7
//   round 0   9 3 3 8 ..      7 12 7 ..
#pragma once

#include <algorithm>
#include <climits>
#include <vector>

#include "common/tensor.hpp"

class RankTree {
  public:
    template <class RankOf>
    RankTree(size_t n, RankOf rank_of) {
        Round round(padded(n), INT_MAX);
        for (size_t i = 0; i < n; ++i) round[i] = rank_of(i);
        while (round.size() > 1) {
            Round above(padded(round.size() / 16), INT_MAX);
            for (size_t i = 0; i < round.size() / 16; ++i) above[i] = lowest_of(round, i);
            rounds_.push_back(std::move(round));
            round = std::move(above);
        }
        rounds_.push_back(std::move(round));
    }
    int lowest() const { return rounds_.back()[0]; }
    size_t leftmost_lowest() const {
        size_t at = 0;
        for (size_t i = rounds_.size() - 1; i-- > 0;) {
            at *= 16;
            while (rounds_[i][at] != lowest()) ++at;
        }
        return at;
    }
    void set(size_t at, int rank) {
        rounds_[0][at] = rank;
        for (size_t i = 1; i < rounds_.size(); ++i) {
            const int low = lowest_of(rounds_[i - 1], at /= 16);
            if (rounds_[i][at] == low) break;  // and so is everything above
            rounds_[i][at] = low;
        }
    }

  private:
    using Round = std::vector<int, AlignedAllocator<int>>;
    static size_t padded(size_t n) { return n <= 1 ? 1 : (n + 15) / 16 * 16; }
    static int lowest_of(const Round& round, size_t group) {
        int low = INT_MAX;
        for (size_t i = 16 * group; i < 16 * group + 16; ++i) low = std::min(low, round[i]);
        return low;
    }
    std::vector<Round> rounds_;
};
