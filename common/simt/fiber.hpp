// A fiber: a stack that a thread of the simulated GPU can be left on and taken up again. Switching costs a few
// nanoseconds, because it saves what a function call must keep and nothing else.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

namespace simt {

struct Fiber {
    static constexpr size_t stack_bytes = 128 * 1024, guard_bytes = 4096;

    void* stack_pointer = nullptr;  // where it was left
    char* memory = nullptr;         // the guard page, then the stack, which grows down towards it

    // The next switch to it calls entry(), which must not return.
    void start_at(void (*entry)());
    bool stack_holds(const void* p) const { return p >= memory && p < memory + guard_bytes + stack_bytes; }
};

// Leaves the current stack, its pointer in `from`, and goes on where `to` was left.
void switch_fibers(Fiber& from, Fiber& to);

// Where the thread was that a signal interrupted: `context` is the handler's third argument.
const void* program_counter(const void* context);

// Fibers that are free, kept for the next thread.
class FiberPool {
  public:
    FiberPool() = default;
    FiberPool(const FiberPool&) = delete;
    ~FiberPool();
    Fiber* take();
    void give(Fiber* fiber) { free_.push_back(fiber); }
    void take_all_back();  // also those on which somebody still waits

  private:
    std::deque<Fiber> all_;
    std::vector<Fiber*> free_;
};

}  // namespace simt
