// What a simulated thread calls to meet others: the block and the warp of the thread that runs here.
#include <bit>

#include "common/error.hpp"
#include "common/simt/block.hpp"
#include "common/simt/include/simt/builtins.hpp"
#include "common/simt/include/simt/warp.hpp"

namespace simt {
namespace {

Block& here(Place place) {
    if (!current_block) fail("%s:%d: only a kernel can wait for other threads", place.file, place.line);
    return *current_block;
}

template <class Use>
auto meet(unsigned mask, uint64_t bits, Meeting kind, Place place, Use use) {
    const Block::Met met = here(place).meet(mask, bits, kind, place);
    return use(met.values, met.arrived);
}

}  // namespace

int barrier(bool predicate, Place place) { return here(place).barrier(predicate, place); }
void grid_barrier(Place place) { here(place).grid_barrier(place); }

uint64_t shuffle(unsigned mask, uint64_t bits, Shuffle how, int operand, int width, Place place) {
    return meet(mask, bits, Meeting::shuffle, place, [&](const uint64_t* values, uint32_t arrived) {
        const int lane = current_block->lane(), first = lane & ~(width - 1), end = first + width;
        int from = lane;
        switch (how) {
            case Shuffle::index: from = first | (operand & (width - 1)); break;
            case Shuffle::up: from = lane - operand < first ? lane : lane - operand; break;
            case Shuffle::down: from = lane + operand >= end ? lane : lane + operand; break;
            case Shuffle::exchange: from = (lane ^ operand) >= end ? lane : lane ^ operand; break;
        }
        return arrived >> from & 1 ? values[from] : bits;  // what a lane that is not there holds is undefined
    });
}

unsigned vote(unsigned mask, bool predicate, Place place) {
    return meet(mask, predicate, Meeting::vote, place, [](const uint64_t* values, uint32_t arrived) {
        uint32_t lanes = 0;
        for (uint32_t left = arrived; left; left &= left - 1) {
            const int lane = std::countr_zero(left);
            lanes |= uint32_t(values[lane]) << lane;
        }
        return lanes;
    });
}

unsigned match(unsigned mask, uint64_t bits, Place place) {
    return meet(mask, bits, Meeting::match, place, [&](const uint64_t* values, uint32_t arrived) {
        uint32_t lanes = 0;
        for (uint32_t left = arrived; left; left &= left - 1) {
            const int lane = std::countr_zero(left);
            if (values[lane] == bits) lanes |= 1u << lane;
        }
        return lanes;
    });
}

unsigned match_all(unsigned mask, uint64_t bits, int* all_equal, Place place) {
    return meet(mask, bits, Meeting::match, place, [&](const uint64_t* values, uint32_t arrived) {
        bool equal = true;
        for (uint32_t left = arrived; left; left &= left - 1) {
            equal = equal && values[std::countr_zero(left)] == bits;
        }
        *all_equal = equal;
        return equal ? arrived : 0;
    });
}

uint64_t reduce(unsigned mask, uint64_t bits, Reduce op, Place place) {
    return meet(mask, bits, Meeting::reduce, place, [&](const uint64_t* values, uint32_t arrived) {
        uint64_t result = values[std::countr_zero(arrived)];
        for (uint32_t left = arrived & (arrived - 1); left; left &= left - 1) {
            result = op(result, values[std::countr_zero(left)]);
        }
        return result;
    });
}

void meet_warp(unsigned mask, Place place) { here(place).meet(mask, 0, Meeting::sync, place); }

// Threads run one by one here, so a lane runs with no other: a right program works with that too.
unsigned active_mask() { return 1u << here({}).lane(); }

}  // namespace simt
