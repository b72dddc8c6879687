// One block of simulated threads on one thread of the CPU.
//
// A worker fiber runs the bodies of threads in a loop, one after the other. Where a thread must wait (a barrier, a
// shuffle), the fiber stays with it, and another fiber goes on: with a thread that may continue, else with the next
// one that has not begun. A kernel that never waits is one loop on one fiber.
//
//   fiber 0: thread 0 ... waits        thread 0 goes on ..  thread 3 ...
//   fiber 1:              thread 1 .. waits
//   fiber 2:                           thread 2 .. arrives last: all three may continue
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/simt/fiber.hpp"
#include "common/simt/include/simt/types.hpp"

namespace simt {

// The place of number `index` in a grid or a block of this shape: x runs fastest. And as a report shows it.
uint3 position(size_t index, dim3 shape);
std::string text(uint3 position);

// Which of the threads that could run runs first. A program without races gives the same result in each.
struct Order {
    enum Kind { natural, reversed, shuffled } kind = natural;
    uint64_t seed = 1;
};

// What the lanes of a warp meet for; those that meet must mean the same.
enum class Meeting : uint8_t { none, shuffle, vote, match, reduce, sync };

class Block {
  public:
    static constexpr int max_threads = 1024, warp_size = 32;

    explicit Block(FiberPool& fibers) : fibers_(fibers) {}

    // body(argument) is what each thread runs.
    void begin(uint3 index, dim3 grid, dim3 threads, Order order, void (*body)(void*), void* argument);

    // Runs its threads until all are done, none of them can go on (they wait for other blocks, or for ever), or one
    // of them has called stop(); of a block that takes turns, also until all others would let somebody else run.
    enum State { finished, waits_for_grid, rests, stuck, stopped };
    State run();
    void take_turns() { takes_turns_ = true; }
    // All of the grid has come to grid_barrier().
    void release_grid_barrier();
    // Where its threads wait, in lines for a report.
    std::string waiting() const;

    // --- What a simulated thread calls ---------------------------------------------------------------------
    // Waits for all threads of the block that have not ended. -> how many of them came with `predicate`.
    int barrier(bool predicate, Place place);
    // Waits for the lanes of `mask` that have not ended, and gives the value of each: [32], of those in `arrived`.
    struct Met {
        const uint64_t* values;
        uint32_t arrived;
    };
    Met meet(uint32_t mask, uint64_t value, Meeting kind, Place place);
    void grid_barrier(Place place);
    // Lets all others run first: what spins on memory would wait for ever otherwise.
    void yield(Place place);
    // Ends the block here and now; its other threads stay where they are.
    [[noreturn]] void stop();

    int thread() const { return thread_; }  // within the block: x + y * width + z * width * height
    int lane() const { return thread_ % warp_size; }
    uint3 index() const { return index_; }
    Place place() const { return place_[thread_]; }  // where its thread waited last; line 0: nowhere yet
    Fiber* fiber() const { return fiber_; }

  private:
    struct Group {  // lanes of one warp that meet under one mask
        uint32_t mask = 0, arrived = 0;
        uint32_t met = 0;   // who came to the meeting before
        int n_to_read = 0;  // of them, those that have not gone on yet
        Meeting kind = Meeting::none;
        uint64_t values[2][warp_size];  // of this meeting, and of the one before
        int turn = 0;
    };
    struct Warp {
        uint32_t alive, at_barrier, at_grid_barrier, ready, resting;
        std::vector<std::unique_ptr<Group>> groups;  // at most one a lane
    };
    Warp& warp() { return warps_[size_t(thread_ / warp_size)]; }
    uint32_t bit() const { return 1u << lane(); }

    static void work();
    int in_order(int i) const;
    void enter(int thread);
    void leave();
    void wait(Place place);
    void make_ready(int warp, uint32_t lanes);
    Group& group_of(uint32_t mask);
    void complete(Group& group);
    void barrier_complete();
    bool wake_resting();
    Fiber* next();
    int pick();

    FiberPool& fibers_;
    Fiber home_;  // whoever called run()
    Fiber* fiber_ = nullptr;
    void (*body_)(void*) = nullptr;
    void* argument_ = nullptr;

    uint3 index_{};
    dim3 grid_, threads_;
    int n_threads_ = 0, n_started_ = 0, n_ended_ = 0, thread_ = 0;
    int n_at_barrier_ = 0, n_true_ = 0, n_true_before_ = 0, n_at_grid_barrier_ = 0;
    bool stopped_ = false, takes_turns_ = false;
    Place barrier_place_;  // of the first to arrive

    Order order_;
    std::vector<int> start_;  // the order in which threads begin, if shuffled
    uint64_t random_ = 1;

    Warp warps_[max_threads / warp_size];
    uint32_t ready_warps_ = 0;  // those with a lane that may continue
    int turn_ = 0;              // the warp that ran last
    Fiber* waiting_fiber_[max_threads];
    Place place_[max_threads];
};

// The block whose thread runs here, or null on the host.
extern thread_local constinit Block* current_block;

}  // namespace simt
