#include "common/simt/fiber.hpp"

#include <sys/mman.h>
#include <ucontext.h>

#include <cstdint>

#include "common/error.hpp"

#if !defined(__x86_64__) && !defined(__aarch64__)
#define SIMT_UCONTEXT
#endif

// The callee-saved registers go onto the stack that is left, the stack pointers are exchanged, and the same registers
// come from the stack that is taken up. The last one popped is the address at which its own switch returns; on a new
// stack it is the entry.
extern "C" void simt_switch(void** save, void* load);

#if defined(__x86_64__)
asm(R"(
.text
.p2align 4
.type simt_switch, @function
simt_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    popq %rdx
    jmp *%rdx
.size simt_switch, . - simt_switch
)");
namespace {
constexpr int return_slot = 6,
              n_slots = 8;  // one slot more: at the entry the stack is 8 off 16, as after a call
}
#elif defined(__aarch64__)
asm(R"(
.text
.p2align 4
.type simt_switch, %function
simt_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x2, sp
    str x2, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
.size simt_switch, . - simt_switch
)");
namespace {
constexpr int return_slot = 11, n_slots = 20;  // x30 is the twelfth
}
#endif

namespace simt {

#if !defined(SIMT_UCONTEXT)

void Fiber::start_at(void (*entry)()) {
    // Stacks that begin at the same place of their pages would fight for the same lines of the cache.
    const size_t colour = (reinterpret_cast<uintptr_t>(memory) >> 12) * 192 % 4096;
    auto** top = reinterpret_cast<void**>(memory + guard_bytes + stack_bytes - colour) - n_slots;
    for (int i = 0; i < n_slots; ++i) top[i] = nullptr;
    top[return_slot] = reinterpret_cast<void*>(entry);
    stack_pointer = top;
}

void switch_fibers(Fiber& from, Fiber& to) { simt_switch(&from.stack_pointer, to.stack_pointer); }

#else  // any other machine: the same by the C library, which asks the kernel at each switch

namespace {
struct Context {
    ucontext_t context;
};
ucontext_t& context_of(Fiber& fiber) {
    if (!fiber.stack_pointer) fiber.stack_pointer = new Context;
    return static_cast<Context*>(fiber.stack_pointer)->context;
}
}  // namespace

void Fiber::start_at(void (*entry)()) {
    ucontext_t& context = context_of(*this);
    getcontext(&context);
    context.uc_stack.ss_sp = memory + guard_bytes;
    context.uc_stack.ss_size = stack_bytes;
    makecontext(&context, entry, 0);
}

void switch_fibers(Fiber& from, Fiber& to) { swapcontext(&context_of(from), &context_of(to)); }

#endif

const void* program_counter(const void* context) {
    const mcontext_t& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
    return reinterpret_cast<const void*>(machine.gregs[REG_RIP]);
#elif defined(__aarch64__)
    return reinterpret_cast<const void*>(machine.pc);
#else
    (void)machine;
    return nullptr;
#endif
}

Fiber* FiberPool::take() {
    if (!free_.empty()) {
        Fiber* fiber = free_.back();
        free_.pop_back();
        return fiber;
    }
    void* p = mmap(nullptr, Fiber::guard_bytes + Fiber::stack_bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) fail("no memory for the stack of a simulated thread");
    mprotect(p, Fiber::guard_bytes, PROT_NONE);
    all_.push_back({nullptr, static_cast<char*>(p)});
    return &all_.back();
}

void FiberPool::take_all_back() {
    free_.clear();
    for (Fiber& fiber : all_) free_.push_back(&fiber);
}

FiberPool::~FiberPool() {
    for (const Fiber& fiber : all_) munmap(fiber.memory, Fiber::guard_bytes + Fiber::stack_bytes);
}

}  // namespace simt
