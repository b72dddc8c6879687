#include "common/simt/grid.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "common/error.hpp"
#include "common/simt/include/simt/builtins.hpp"
#include "common/simt/settings.hpp"
#include "common/simt/shared.hpp"
#include "common/simt/signals.hpp"
#include "common/simt/tracer.hpp"
#include "common/threads.hpp"

namespace simt {
namespace {

thread_local constinit Fault* fault_here = nullptr;  // of the grid that this thread works on

struct Body {  // what each thread of the grid runs
    const Call& call;
    static void run(void* body) {
        const Call& call = static_cast<Body*>(body)->call;
        call.run(call.function, call.arguments.get());
    }
};

std::vector<size_t> block_order(size_t n_blocks, Order order) {
    std::vector<size_t> indices(n_blocks);
    std::iota(indices.begin(), indices.end(), size_t(0));
    if (order.kind == Order::reversed) std::reverse(indices.begin(), indices.end());
    uint64_t random = order.seed * 2 + 1;
    for (size_t i = n_blocks; i > 1 && order.kind == Order::shuffled; --i) {
        random = random * 6364136223846793005 + 1442695040888963407;  // Knuth's
        std::swap(indices[i - 1], indices[(random >> 33) % i]);
    }
    return indices;
}

std::string block_name(uint3 index) { return "block " + text(index); }

Fault stuck(const Block& block, const Config& config) {
    return {cudaErrorLaunchTimeout,
            format_text("%s:%d: hang: %s: no thread can go on%s", config.place.file, config.place.line,
                        block_name(block.index()).c_str(), block.waiting().c_str())};
}

// Blocks one after the other, on this thread.
struct OneByOne {
    FiberPool fibers;
    Block block{fibers};

    Fault run(const Call& call, const Config& config, size_t number, Guard& guard) {
        Fault fault;
        fault_here = &fault;
        Body body{call};
        block.begin(position(number, config.grid), config.grid, config.block, settings().order, &Body::run,
                    &body);
        if (tracer) tracer->block_begins(number, block);
        guard.restart();
        const Block::State state = block.run();
        fault_here = nullptr;
        if (state == Block::stuck) fault = stuck(block, config);
        if (state == Block::waits_for_grid) {
            fault = {cudaErrorLaunchFailure,
                     format_text("%s:%d: barrier: a grid's barrier needs cudaLaunchCooperativeKernel",
                                 config.place.file, config.place.line)};
        }
        if (state != Block::finished) fibers.take_all_back();  // nobody goes on there
        return fault;
    }
};
// Like the team below, for as long as the program lives: destructors of its objects may still run kernels.
OneByOne& one_by_one() {
    thread_local auto* mine = new OneByOne;
    return *mine;
}

// All blocks live at once and take turns, since they may wait for each other.
struct Together {
    const Config& config;
    FiberPool fibers;
    std::vector<std::unique_ptr<Block>> blocks;
    std::vector<SharedCopy> shared;
    Body body;
    Fault fault;

    Together(const Call& call, const Config& c, const std::vector<size_t>& order)
        : config(c), shared(order.size(), SharedCopy(c.shared_bytes)), body{call} {
        for (const size_t number : order) {
            blocks.push_back(std::make_unique<Block>(fibers));
            blocks.back()->take_turns();
            blocks.back()->begin(position(number, c.grid), c.grid, c.block, settings().order, &Body::run,
                                 &body);
        }
    }

    Block::State turn(size_t i, size_t number, bool is_first) {
        shared[i].load();
        if (tracer && is_first) tracer->block_begins(number, *blocks[i]);
        if (tracer && !is_first) tracer->block_runs(number, *blocks[i]);
        const Block::State state = blocks[i]->run();
        shared[i].store();
        if (state == Block::stuck) fault = stuck(*blocks[i], config);
        return state;
    }

    Fault run(const std::vector<size_t>& order) {
        Guard guard(settings().limit_seconds);
        fault_here = &fault;
        std::vector<Block::State> states(blocks.size(), Block::rests);
        for (bool is_first = true; fault.code == cudaSuccess; is_first = false) {
            size_t n[Block::stopped + 1] = {};
            for (size_t i = 0; i < blocks.size() && fault.code == cudaSuccess; ++i) {
                if (states[i] != Block::finished) states[i] = turn(i, order[i], is_first);
                ++n[states[i]];
            }
            if (n[Block::finished] == blocks.size()) break;
            if (n[Block::rests] > 0 || fault.code != cudaSuccess) continue;
            if (n[Block::finished] > 0) {
                fault = {
                    cudaErrorLaunchTimeout,
                    format_text(
                        "%s:%d: hang: %zu of %zu blocks have ended, the others wait at the grid's barrier",
                        config.place.file, config.place.line, n[Block::finished], blocks.size())};
            }
            for (auto& block : blocks) block->release_grid_barrier();
            if (tracer) tracer->grid_barrier_passed();
        }
        fault_here = nullptr;
        return fault;
    }
};

}  // namespace

Fault run_grid(const Call& call, const Config& config) {
    const size_t n_blocks = size_t(config.grid.x) * config.grid.y * config.grid.z;
    const std::vector<size_t> order = block_order(n_blocks, settings().order);
    if (config.cooperative) return Together(call, config, order).run(order);
    static Team& team = *new Team(settings().n_threads);
    std::atomic<size_t> next{0};
    std::vector<Fault> faults(size_t(team.n_threads()));
    const auto take_blocks = [&](const ::Worker& mine) {
        Guard guard(settings().limit_seconds);
        Fault& fault = faults[size_t(mine.thread)];
        for (size_t i; fault.code == cudaSuccess && (i = next.fetch_add(1)) < n_blocks;) {
            fault = one_by_one().run(call, config, order[i], guard);
        }
        if (fault.code != cudaSuccess) next = n_blocks;
    };
    // The tracer looks at one block at a time; for a few blocks waking the others costs more than they help.
    if (tracer || n_blocks < size_t(2 * team.n_threads()))
        take_blocks({});
    else
        team.run(take_blocks);
    for (const Fault& fault : faults) {
        if (fault.code != cudaSuccess) return fault;
    }
    return {};
}

void end_kernel(cudaError code, const std::string& text) {
    *fault_here = {code, text};
    current_block->stop();
}

std::string who() { return block_name(blockIdx) + ", thread " + text(threadIdx); }

}  // namespace simt
