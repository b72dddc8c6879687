// Atomic operations. Blocks may run on several threads of the CPU, so they are atomic there too; each gives what
// stood there before. Many in a row let the other threads of the block run: somebody may be spinning.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "common/simt/include/simt/types.hpp"

namespace simt {

void before_atomic(const void* address, int n_bytes,
                   Place place);  // for diagnosis, and the chance of others to run
void fence(Place place);

template <int n>
using Unsigned = std::conditional_t<n == 8, uint64_t, std::conditional_t<n == 4, uint32_t, uint16_t>>;

// *address = op(*address); gives the old value.
template <class T, class Op>
__attribute__((no_sanitize("thread"))) T atomic(T* address, Place place, Op op) {
    before_atomic(address, sizeof(T), place);
    using Bits = Unsigned<sizeof(T)>;
    auto* bits = reinterpret_cast<Bits*>(address);
    Bits old_bits = __atomic_load_n(bits, __ATOMIC_RELAXED), new_bits;
    T old_value;
    do {
        std::memcpy(&old_value, &old_bits, sizeof(T));
        const T new_value = op(old_value);
        std::memcpy(&new_bits, &new_value, sizeof(T));
    } while (
        !__atomic_compare_exchange_n(bits, &old_bits, new_bits, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return old_value;
}

}  // namespace simt

// The scopes (_block, _system) differ in speed alone.
#define SIMT_ATOMIC(name, new_value)                                                                         \
    template <class T>                                                                                       \
    T name(T* address, std::type_identity_t<T> value, simt::Place place = simt::Place::here()) {             \
        return simt::atomic(address, place, [&](T old) -> T { return new_value; });                          \
    }                                                                                                        \
    template <class T>                                                                                       \
    T name##_block(T* address, std::type_identity_t<T> value, simt::Place place = simt::Place::here()) {     \
        return name(address, value, place);                                                                  \
    }                                                                                                        \
    template <class T>                                                                                       \
    T name##_system(T* address, std::type_identity_t<T> value, simt::Place place = simt::Place::here()) {    \
        return name(address, value, place);                                                                  \
    }
SIMT_ATOMIC(atomicAdd, old + value)
SIMT_ATOMIC(atomicSub, old - value)
SIMT_ATOMIC(atomicExch, value)
SIMT_ATOMIC(atomicMin, value < old ? value : old)
SIMT_ATOMIC(atomicMax, old < value ? value : old)
SIMT_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
SIMT_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)
SIMT_ATOMIC(atomicAnd, old& value)
SIMT_ATOMIC(atomicOr, old | value)
SIMT_ATOMIC(atomicXor, old ^ value)
#undef SIMT_ATOMIC

template <class T>
T atomicCAS(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> value,
            simt::Place place = simt::Place::here()) {
    return simt::atomic(address, place,
                        [&](T old) { return std::memcmp(&old, &expected, sizeof(T)) == 0 ? value : old; });
}

inline void __threadfence(simt::Place place = simt::Place::here()) { simt::fence(place); }
inline void __threadfence_block(simt::Place place = simt::Place::here()) { simt::fence(place); }
inline void __threadfence_system(simt::Place place = simt::Place::here()) { simt::fence(place); }
