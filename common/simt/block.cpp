#include "common/simt/block.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <numeric>
#include <string>

#include "common/error.hpp"
#include "common/simt/include/simt/builtins.hpp"
#include "common/simt/tracer.hpp"

__thread uint3 threadIdx, blockIdx;
__thread dim3 blockDim __attribute__((nocommon)), gridDim;

namespace simt {

thread_local constinit Block* current_block = nullptr;

namespace {

constexpr int warps(int n_threads) { return (n_threads + Block::warp_size - 1) / Block::warp_size; }

uint64_t random_after(uint64_t x) {  // xorshift (Marsaglia 2003)
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    return x;
}

int one_of(uint32_t bits, Order::Kind order, uint64_t& random) {
    if (order == Order::natural) return std::countr_zero(bits);
    if (order == Order::reversed) return 31 - std::countl_zero(bits);
    random = random_after(random);
    for (int skip = int(random % uint64_t(std::popcount(bits))); skip > 0; --skip) bits &= bits - 1;
    return std::countr_zero(bits);
}

}  // namespace

uint3 position(size_t index, dim3 shape) {
    const size_t row = index / shape.x;
    return {unsigned(index % shape.x), unsigned(row % shape.y), unsigned(row / shape.y)};
}
std::string text(uint3 position) { return format_text("(%u, %u, %u)", position.x, position.y, position.z); }

void Block::begin(uint3 index, dim3 grid, dim3 threads, Order order, void (*body)(void*), void* argument) {
    index_ = index, grid_ = grid, threads_ = threads, order_ = order;
    body_ = body, argument_ = argument;
    const int n = int(threads.x * threads.y * threads.z);
    random_ = random_after((order.seed + 1) * 0x9e3779b97f4a7c15 ^ (index.x + 1) * 0xbf58476d1ce4e5b9);
    if (order.kind == Order::shuffled) {
        start_.resize(size_t(n));
        std::iota(start_.begin(), start_.end(), 0);
        for (int i = n - 1; i > 0; --i) {
            random_ = random_after(random_);
            std::swap(start_[size_t(i)], start_[size_t(random_ % uint64_t(i + 1))]);
        }
    }
    n_threads_ = n;
    n_started_ = n_ended_ = n_at_barrier_ = n_true_ = n_at_grid_barrier_ = 0;
    ready_warps_ = 0, turn_ = 0, stopped_ = false;
    for (int w = 0; w < warps(n); ++w) {
        const int lanes = std::min(n - w * warp_size, warp_size);
        warps_[w].alive = uint32_t((uint64_t(1) << lanes) - 1);
        warps_[w].at_barrier = warps_[w].at_grid_barrier = warps_[w].ready = warps_[w].resting = 0;
        for (auto& group : warps_[w].groups) group->arrived = 0, group->n_to_read = 0;
    }
}

Block::State Block::run() {
    current_block = this;
    blockIdx = index_, blockDim = threads_, gridDim = grid_;
    wake_resting();
    if (Fiber* fiber = next()) {
        fiber_ = fiber;
        switch_fibers(home_, *fiber);
    }
    current_block = nullptr;
    if (stopped_) return stopped;
    if (n_ended_ == n_threads_) return finished;
    for (int w = 0; w < warps(n_threads_); ++w) {
        if (warps_[w].resting) return rests;
    }
    return n_at_grid_barrier_ == n_threads_ - n_ended_ ? waits_for_grid : stuck;
}

void Block::enter(int thread) {
    thread_ = thread;
    const bool in_a_row = threads_.y == 1 && threads_.z == 1;  // most are, and need no division
    threadIdx = in_a_row ? uint3{unsigned(thread), 0, 0} : position(size_t(thread), threads_);
}

// The thread that begins as number i.
int Block::in_order(int i) const {
    if (order_.kind == Order::natural) return i;
    return order_.kind == Order::reversed ? n_threads_ - 1 - i : start_[size_t(i)];
}

// A fiber's whole life: threads that have not begun, until one that waited may continue.
void Block::work() {
    Block& block = *current_block;
    while (block.n_started_ < block.n_threads_ && !block.ready_warps_) {
        block.enter(block.in_order(block.n_started_++));
        block.place_[block.thread_] = {};
        block.body_(block.argument_);
        block.leave();
    }
    Fiber* mine = block.fiber_;
    block.fibers_.give(mine);
    Fiber* to = block.next();
    block.fiber_ = to;
    switch_fibers(*mine, to ? *to : block.home_);  // not taken up here again: a new thread begins at the top
}

// Who goes on: a thread that waited and may continue, else a new one on a fiber of its own, else one that let the
// others run, else nobody.
Fiber* Block::next() {
    if (ready_warps_) return waiting_fiber_[pick()];
    if (n_started_ == n_threads_) {
        if (takes_turns_ || !wake_resting()) return nullptr;
        return waiting_fiber_[pick()];
    }
    Fiber* fiber = fibers_.take();
    fiber->start_at(&Block::work);
    return fiber;
}

int Block::pick() {
    if (order_.kind == Order::shuffled || !(ready_warps_ >> turn_ & 1)) {  // a warp runs as long as it can
        turn_ = one_of(ready_warps_, order_.kind, random_);
    }
    uint32_t& ready = warps_[turn_].ready;
    const int lane = one_of(ready, order_.kind, random_);
    ready &= ~(1u << lane);
    if (!ready) ready_warps_ &= ~(1u << turn_);
    enter(turn_ * warp_size + lane);
    return thread_;
}

void Block::wait(Place place) {
    waiting_fiber_[thread_] = fiber_;
    place_[thread_] = place;
    Fiber* mine = fiber_;
    Fiber* to = next();
    if (to == mine) return;
    fiber_ = to;
    switch_fibers(*mine, to ? *to : home_);
}

void Block::make_ready(int warp, uint32_t lanes) {
    if (!lanes) return;
    warps_[warp].ready |= lanes;
    ready_warps_ |= 1u << warp;
}

void Block::leave() {
    ++n_ended_;
    Warp& w = warp();
    w.alive &= ~bit();
    for (auto& group : w.groups) {  // who waited for this lane alone waits no more
        if (group->arrived && group->arrived == (group->mask & w.alive)) complete(*group);
    }
    if (n_at_barrier_ && n_at_barrier_ == n_threads_ - n_ended_) barrier_complete();
}

// --- The block's barrier -----------------------------------------------------------------------------------

int Block::barrier(bool predicate, Place place) {
    if (n_at_barrier_++ == 0) barrier_place_ = place;
    if (tracer && (place.line != barrier_place_.line || std::strcmp(place.file, barrier_place_.file) != 0)) {
        tracer->misuse("barrier", place,
                       format_text("while others of the block are at the barrier of %s:%d",
                                   barrier_place_.file, barrier_place_.line));
    }
    n_true_ += predicate;
    warp().at_barrier |= bit();
    if (n_at_barrier_ == n_threads_ - n_ended_) barrier_complete();
    wait(place);
    return n_true_before_;
}

void Block::barrier_complete() {
    for (int w = 0; w < warps(n_threads_); ++w) {
        make_ready(w, warps_[w].at_barrier);
        warps_[w].at_barrier = 0;
    }
    if (tracer) tracer->barrier_passed();
    n_true_before_ = n_true_;
    n_at_barrier_ = n_true_ = 0;
}

void Block::grid_barrier(Place place) {
    ++n_at_grid_barrier_;
    warp().at_grid_barrier |= bit();
    wait(place);
}

void Block::release_grid_barrier() {
    for (int w = 0; w < warps(n_threads_); ++w) {
        make_ready(w, warps_[w].at_grid_barrier);
        warps_[w].at_grid_barrier = 0;
    }
    n_at_grid_barrier_ = 0;
}

// --- The warp's meetings -----------------------------------------------------------------------------------

Block::Met Block::meet(uint32_t mask, uint64_t value, Meeting kind, Place place) {
    if (tracer && !(mask & bit())) {
        tracer->misuse("shuffle-mask", place,
                       format_text("a lane calls with a mask, %08x, that does not name it", mask));
    }
    Group& group = group_of(mask | bit());
    if (tracer && group.arrived && group.kind != kind) {
        tracer->misuse("shuffle-mask", place, "the lanes of one mask call different functions");
    }
    group.kind = kind;
    const uint64_t* values = group.values[group.turn];
    group.values[group.turn][lane()] = value;
    group.arrived |= bit();
    if (group.arrived == (group.mask & warp().alive)) {
        complete(group);
        warp().ready &= ~bit();  // the last one goes on at once
        if (!warp().ready) ready_warps_ &= ~(1u << thread_ / warp_size);
    } else {
        wait(place);
    }
    --group.n_to_read;
    return {values, group.met};
}

Block::Group& Block::group_of(uint32_t mask) {
    Group* free = nullptr;
    for (auto& group : warp().groups) {
        if (group->mask == mask) return *group;
        if (!group->arrived && !group->n_to_read) free = group.get();
    }
    if (!free) {
        warp().groups.push_back(std::make_unique<Group>());
        free = warp().groups.back().get();
    }
    free->mask = mask;
    return *free;
}

void Block::complete(Group& group) {
    make_ready(thread_ / warp_size, group.arrived);
    if (tracer) tracer->warp_met(thread_ / warp_size, group.arrived);
    group.n_to_read += std::popcount(group.arrived);
    group.met = group.arrived;
    group.arrived = 0;
    group.turn ^= 1;
}

void Block::yield(Place place) {
    warp().resting |= bit();
    wait(place);
}

bool Block::wake_resting() {
    for (int w = 0; w < warps(n_threads_); ++w) {
        make_ready(w, warps_[w].resting);
        warps_[w].resting = 0;
    }
    return ready_warps_ != 0;
}

void Block::stop() {
    stopped_ = true;
    switch_fibers(*fiber_, home_);
    __builtin_unreachable();
}

std::string Block::waiting() const {
    std::map<std::string, std::vector<int>> threads;  // by what they wait for
    for (int t = 0; t < n_threads_; ++t) {
        const Warp& w = warps_[t / warp_size];
        const uint32_t lane = 1u << t % warp_size;
        if (!(w.alive & lane)) continue;
        std::string what = w.at_barrier & lane        ? "for the block's barrier"
                           : w.at_grid_barrier & lane ? "for the grid's barrier"
                                                      : "";
        for (const auto& group : w.groups) {
            if (!(group->arrived & lane)) continue;
            what = format_text("for lanes %08x of warp %d", group->mask & w.alive & ~group->arrived,
                               t / warp_size);
        }
        threads[format_text("at %s:%d ", place_[t].file, place_[t].line) + what].push_back(t);
    }
    std::string text;
    for (const auto& [what, which] : threads) {
        text +=
            format_text("\n  %zu of %d threads, %d the first, wait ", which.size(), n_threads_, which[0]) +
            what;
    }
    return text;
}

}  // namespace simt
