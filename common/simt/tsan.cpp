// What an instrumented program calls: g++ -fsanitize=thread puts a call before each load and store, and the program is
// linked with these functions in the place of that sanitizer's. On the host, and in a launch that nobody watches, they
// return at once.
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "common/simt/block.hpp"
#include "common/simt/tracer.hpp"

namespace {
bool is_instrumented = false;
}

namespace simt {

Tracer* the_tracer() {
    static Tracer* const t = is_instrumented ? new Tracer : nullptr;
    return t;
}

namespace {

enum Way { reads, writes };
inline void watch(const void* address, size_t n_bytes, size_t alignment, Way way, bool is_volatile,
                  const void* from) {
    if (!tracer || !current_block) return;
    tracer->access({static_cast<const char*>(address), int(n_bytes), int(alignment), way == reads,
                    way == writes, is_volatile, from});
}
// A volatile access may be a loop that waits.
inline void watch_volatile(const void* address, size_t n_bytes, Way way, const void* from) {
    if (!current_block) return;
    let_others_run(current_block->place());
    watch(address, n_bytes, n_bytes, way, true, from);
}

}  // namespace
}  // namespace simt

#define FROM __builtin_return_address(0)
// What g++ calls unaligned, and whole ranges, may stand anywhere.
#define SIMT_HOOKS(n)                                                                                        \
    void __tsan_read##n(void* p) { simt::watch(p, n, n, simt::reads, false, FROM); }                         \
    void __tsan_write##n(void* p) { simt::watch(p, n, n, simt::writes, false, FROM); }                       \
    void __tsan_unaligned_read##n(void* p) { simt::watch(p, n, 1, simt::reads, false, FROM); }               \
    void __tsan_unaligned_write##n(void* p) { simt::watch(p, n, 1, simt::writes, false, FROM); }             \
    void __tsan_volatile_read##n(void* p) { simt::watch_volatile(p, n, simt::reads, FROM); }                 \
    void __tsan_volatile_write##n(void* p) { simt::watch_volatile(p, n, simt::writes, FROM); }               \
    void __tsan_unaligned_volatile_read##n(void* p) { simt::watch_volatile(p, n, simt::reads, FROM); }       \
    void __tsan_unaligned_volatile_write##n(void* p) { simt::watch_volatile(p, n, simt::writes, FROM); }

extern "C" {

void __tsan_init() { is_instrumented = true; }
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
SIMT_HOOKS(1)
SIMT_HOOKS(2)
SIMT_HOOKS(4)
SIMT_HOOKS(8)
SIMT_HOOKS(16)
void __tsan_read_range(void* p, size_t n) { simt::watch(p, n, 1, simt::reads, false, FROM); }
void __tsan_write_range(void* p, size_t n) { simt::watch(p, n, 1, simt::writes, false, FROM); }
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

// The host's own atomics, which g++ has turned into calls.
#define SIMT_ATOMICS(bits, T)                                                                                \
    T __tsan_atomic##bits##_load(const volatile T* p, int) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); }  \
    void __tsan_atomic##bits##_store(volatile T* p, T v, int) { __atomic_store_n(p, v, __ATOMIC_SEQ_CST); }  \
    T __tsan_atomic##bits##_exchange(volatile T* p, T v, int) {                                              \
        return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                                  \
    }                                                                                                        \
    T __tsan_atomic##bits##_fetch_add(volatile T* p, T v, int) {                                             \
        return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);                                                   \
    }                                                                                                        \
    T __tsan_atomic##bits##_fetch_sub(volatile T* p, T v, int) {                                             \
        return __atomic_fetch_sub(p, v, __ATOMIC_SEQ_CST);                                                   \
    }                                                                                                        \
    T __tsan_atomic##bits##_fetch_and(volatile T* p, T v, int) {                                             \
        return __atomic_fetch_and(p, v, __ATOMIC_SEQ_CST);                                                   \
    }                                                                                                        \
    T __tsan_atomic##bits##_fetch_or(volatile T* p, T v, int) {                                              \
        return __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST);                                                    \
    }                                                                                                        \
    T __tsan_atomic##bits##_fetch_xor(volatile T* p, T v, int) {                                             \
        return __atomic_fetch_xor(p, v, __ATOMIC_SEQ_CST);                                                   \
    }                                                                                                        \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile T* p, T* e, T v, int, int) {                  \
        return __atomic_compare_exchange_n(p, e, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);              \
    }                                                                                                        \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile T* p, T* e, T v, int, int) {                    \
        return __atomic_compare_exchange_n(p, e, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);              \
    }                                                                                                        \
    T __tsan_atomic##bits##_compare_exchange_val(volatile T* p, T e, T v, int, int) {                        \
        __atomic_compare_exchange_n(p, &e, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                    \
        return e;                                                                                            \
    }
SIMT_ATOMICS(8, uint8_t)
SIMT_ATOMICS(16, uint16_t)
SIMT_ATOMICS(32, uint32_t)
SIMT_ATOMICS(64, uint64_t)
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) {}

}  // extern "C"
