// What else kernels call: atomics' diagnosis, fences, assert, trap.
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "common/error.hpp"
#include "common/simt/grid.hpp"
#include "common/simt/include/simt/atomics.hpp"
#include "common/simt/include/simt/intrinsics.hpp"
#include "common/simt/tracer.hpp"

namespace simt {
namespace {
// One in so many lets the other threads run: enough for a loop that waits, too few to be felt by a histogram.
constexpr int patience = 64;
thread_local constinit int n_asked = 0;
}  // namespace

void let_others_run(Place place) {
    if (current_block && ++n_asked % patience == 0) current_block->yield(place);
}
void before_atomic(const void* address, int n_bytes, bool reads, Place place) {
    let_others_run(place);  // first: what they do now is what this access will see
    if (!tracer) return;
    tracer->access({static_cast<const char*>(address), n_bytes, n_bytes, reads, true, true, nullptr, place});
}
void fence(bool for_other_blocks, Place place) {
    std::atomic_thread_fence(std::memory_order_seq_cst);  // blocks run on several cores
    if (tracer) tracer->fenced(for_other_blocks);
    let_others_run(place);
}

void trap(Place place) {
    if (!current_block) std::abort();
    end_kernel(cudaErrorLaunchFailure, format_text("%s:%d: trap: %s", place.file, place.line, who().c_str()));
}

}  // namespace simt

// assert() in a kernel ends the kernel, not the program.
extern "C" [[noreturn]] void __assert_fail(const char* text, const char* file, unsigned line,
                                           const char* function) noexcept {
    if (simt::current_block) {
        simt::end_kernel(cudaErrorAssert, format_text("%s:%u: assert: %s, in %s, %s", file, line, text,
                                                      function, simt::who().c_str()));
    }
    std::fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, text);
    std::abort();
}
