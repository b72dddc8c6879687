// Atomic operations. Blocks may run on several threads of the CPU, so they are atomic there too; each gives what
// stood there before. Many in a row let the other threads of the block run: somebody may be spinning.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "common/simt/include/simt/types.hpp"

namespace simt {

void before_atomic(const void* address, int n_bytes, bool reads,
                   Place place);  // for diagnosis, and the chance of others to run
void fence(bool for_other_blocks, Place place);

template <int n>
using Unsigned = std::conditional_t<n == 8, uint64_t, std::conditional_t<n == 4, uint32_t, uint16_t>>;

// *address = op(*address); gives the old value.
template <class T, class Op>
__attribute__((no_sanitize("thread"))) T atomic(T* address, Place place, Op op, bool reads = true) {
    before_atomic(address, sizeof(T), reads, place);
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

// The narrower scopes are as good as the device's here. What an exchange finds may have no value yet.
#define SIMT_ATOMIC(name, reads, new_value)                                                                  \
    template <class T>                                                                                       \
    T name(T* address, std::type_identity_t<T> value, simt::Place place = simt::Place::here()) {             \
        return simt::atomic(                                                                                 \
            address, place, [&]([[maybe_unused]] T old) -> T { return new_value; }, reads);                  \
    }                                                                                                        \
    template <class T>                                                                                       \
    T name##_block(T* address, std::type_identity_t<T> value, simt::Place place = simt::Place::here()) {     \
        return name(address, value, place);                                                                  \
    }                                                                                                        \
    template <class T>                                                                                       \
    T name##_system(T* address, std::type_identity_t<T> value, simt::Place place = simt::Place::here()) {    \
        return name(address, value, place);                                                                  \
    }
SIMT_ATOMIC(atomicAdd, true, old + value)
SIMT_ATOMIC(atomicSub, true, old - value)
SIMT_ATOMIC(atomicExch, false, value)
SIMT_ATOMIC(atomicMin, true, value < old ? value : old)
SIMT_ATOMIC(atomicMax, true, old < value ? value : old)
SIMT_ATOMIC(atomicInc, true, old >= value ? 0 : old + 1)
SIMT_ATOMIC(atomicDec, true, old == 0 || old > value ? value : old - 1)
SIMT_ATOMIC(atomicAnd, true, old& value)
SIMT_ATOMIC(atomicOr, true, old | value)
SIMT_ATOMIC(atomicXor, true, old ^ value)
#undef SIMT_ATOMIC

template <class T>
T atomicCAS(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> value,
            simt::Place place = simt::Place::here()) {
    return simt::atomic(address, place,
                        [&](T old) { return std::memcmp(&old, &expected, sizeof(T)) == 0 ? value : old; });
}

inline void __threadfence(simt::Place place = simt::Place::here()) { simt::fence(true, place); }
inline void __threadfence_block(simt::Place place = simt::Place::here()) { simt::fence(false, place); }
inline void __threadfence_system(simt::Place place = simt::Place::here()) { simt::fence(true, place); }
