// The lanes of a warp exchange values: shuffles, votes, matches, reductions.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "common/simt/include/simt/types.hpp"

namespace simt {

enum class Shuffle { index, up, down, exchange };

uint64_t shuffle(unsigned mask, uint64_t bits, Shuffle how, int operand, int width, Place place);
unsigned vote(unsigned mask, bool predicate, Place place);  // the lanes whose predicate holds
unsigned match(unsigned mask, uint64_t bits, Place place);  // the lanes with the same value
unsigned match_all(unsigned mask, uint64_t bits, int* all_equal, Place place);
void meet_warp(unsigned mask, Place place);
unsigned active_mask();
// op(a, b) over the values of all lanes in mask that came.
using Reduce = uint64_t (*)(uint64_t, uint64_t);
uint64_t reduce(unsigned mask, uint64_t bits, Reduce op, Place place);

template <class T>
uint64_t to_bits(T value) {
    static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>);
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    return bits;
}
template <class T>
T from_bits(uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    return value;
}

}  // namespace simt

// The lane that is read stays within `width` neighbouring lanes; past their end a lane reads its own value.
template <class T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32, simt::Place place = simt::Place::here()) {
    return simt::from_bits<T>(
        simt::shuffle(mask, simt::to_bits(value), simt::Shuffle::index, lane, width, place));
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32,
                 simt::Place place = simt::Place::here()) {
    return simt::from_bits<T>(
        simt::shuffle(mask, simt::to_bits(value), simt::Shuffle::up, int(by), width, place));
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32,
                   simt::Place place = simt::Place::here()) {
    return simt::from_bits<T>(
        simt::shuffle(mask, simt::to_bits(value), simt::Shuffle::down, int(by), width, place));
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int with, int width = 32, simt::Place place = simt::Place::here()) {
    return simt::from_bits<T>(
        simt::shuffle(mask, simt::to_bits(value), simt::Shuffle::exchange, with, width, place));
}

inline unsigned __ballot_sync(unsigned mask, int predicate, simt::Place place = simt::Place::here()) {
    return simt::vote(mask, predicate != 0, place);
}
inline int __any_sync(unsigned mask, int predicate, simt::Place place = simt::Place::here()) {
    return simt::vote(mask, predicate != 0, place) != 0;
}
inline int __all_sync(unsigned mask, int predicate, simt::Place place = simt::Place::here()) {
    return simt::vote(mask, predicate == 0, place) == 0;
}
inline void __syncwarp(unsigned mask = 0xffffffff, simt::Place place = simt::Place::here()) {
    simt::meet_warp(mask, place);
}
inline unsigned __activemask() { return simt::active_mask(); }

template <class T>
unsigned __match_any_sync(unsigned mask, T value, simt::Place place = simt::Place::here()) {
    return simt::match(mask, simt::to_bits(value), place);
}
template <class T>
unsigned __match_all_sync(unsigned mask, T value, int* all_equal, simt::Place place = simt::Place::here()) {
    return simt::match_all(mask, simt::to_bits(value), all_equal, place);
}

namespace simt {
template <class T, class Op>
T reduce_as(unsigned mask, T value, Op, Place place) {
    return from_bits<T>(reduce(
        mask, to_bits(value),
        [](uint64_t a, uint64_t b) { return to_bits(T(Op()(from_bits<T>(a), from_bits<T>(b)))); }, place));
}
struct Sum {
    template <class T>
    T operator()(T a, T b) const {
        return a + b;
    }
};
struct Min {
    template <class T>
    T operator()(T a, T b) const {
        return b < a ? b : a;
    }
};
struct Max {
    template <class T>
    T operator()(T a, T b) const {
        return a < b ? b : a;
    }
};
struct And {
    template <class T>
    T operator()(T a, T b) const {
        return a & b;
    }
};
struct Or {
    template <class T>
    T operator()(T a, T b) const {
        return a | b;
    }
};
struct Xor {
    template <class T>
    T operator()(T a, T b) const {
        return a ^ b;
    }
};
}  // namespace simt

#define SIMT_REDUCE(name, T, op)                                                                             \
    inline T name(unsigned mask, T value, simt::Place place = simt::Place::here()) {                         \
        return simt::reduce_as(mask, value, simt::op{}, place);                                              \
    }
SIMT_REDUCE(__reduce_add_sync, unsigned, Sum)
SIMT_REDUCE(__reduce_add_sync, int, Sum)
SIMT_REDUCE(__reduce_min_sync, unsigned, Min)
SIMT_REDUCE(__reduce_min_sync, int, Min)
SIMT_REDUCE(__reduce_max_sync, unsigned, Max)
SIMT_REDUCE(__reduce_max_sync, int, Max)
SIMT_REDUCE(__reduce_and_sync, unsigned, And)
SIMT_REDUCE(__reduce_or_sync, unsigned, Or)
SIMT_REDUCE(__reduce_xor_sync, unsigned, Xor)
#undef SIMT_REDUCE
