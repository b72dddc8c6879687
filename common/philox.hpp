// Random numbers that are a pure function of (seed, counter): Philox 4x32-10.
// Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
// No state is kept, so a draw does not depend on what was drawn before or on who else draws.
#pragma once

#include <array>
#include <cstdint>

using PhiloxBlock = std::array<uint32_t, 4>;

inline PhiloxBlock philox(uint64_t key, PhiloxBlock counter) {
    uint32_t k0 = uint32_t(key), k1 = uint32_t(key >> 32);
    for (int round = 0; round < 10; ++round) {
        const uint64_t a = uint64_t(0xD2511F53) * counter[0];
        const uint64_t b = uint64_t(0xCD9E8D57) * counter[2];
        counter = {uint32_t(b >> 32) ^ counter[1] ^ k0, uint32_t(b), uint32_t(a >> 32) ^ counter[3] ^ k1,
                   uint32_t(a)};
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
    return counter;
}

// What a draw is for: draws of different purposes at one position are independent.
enum class Purpose : uint32_t { sample = 0, test_data = 1, weights = 2 };

// Uniform in [0, 1), 24 bits. key: the request's own seed. counter: position, sample index, purpose.
inline float uniform(uint64_t seed, uint32_t position, uint32_t sample, Purpose purpose) {
    return float(philox(seed, {position, sample, uint32_t(purpose), 0})[0] >> 8) * 0x1p-24f;
}
