#include "common/simt/grid.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <numeric>

#include "common/error.hpp"
#include "common/simt/include/simt/builtins.hpp"
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

uint3 position(size_t index, dim3 grid) {
    const size_t row = index / grid.x;
    return {unsigned(index % grid.x), unsigned(row % grid.y), unsigned(row / grid.y)};
}

std::string block_name(uint3 b) { return format_text("block (%u, %u, %u)", b.x, b.y, b.z); }

Fault stuck(const Block& block, const Config& config) {
    return {cudaErrorLaunchTimeout,
            format_text("%s:%d: hang: %s: no thread can go on%s", config.place.file, config.place.line,
                        block_name(block.index()).c_str(), block.waiting().c_str())};
}

// Blocks one after the other, on this thread.
struct Worker1 {
    FiberPool fibers;
    Block block{fibers};

    Fault run(const Call& call, const Config& config, size_t number) {
        Fault fault;
        fault_here = &fault;
        Body body{call};
        block.begin(position(number, config.grid), config.grid, config.block, settings().order, &Body::run,
                    &body);
        if (tracer) tracer->block_begins(number, block);
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
Worker1& worker() {
    thread_local Worker1 w;
    return w;
}

Fault run_together(const Call& call, const Config& config, const std::vector<size_t>& order) {
    Fault fault;
    FiberPool fibers;
    std::vector<std::unique_ptr<Block>> blocks;
    std::vector<SharedCopy> shared(order.size(), SharedCopy(config.shared_bytes));
    Body body{call};
    for (const size_t index : order) {
        blocks.push_back(std::make_unique<Block>(fibers));
        blocks.back()->begin(position(index, config.grid), config.grid, config.block, settings().order,
                             &Body::run, &body);
    }
    fault_here = &fault;
    bool is_first = true;
    for (size_t n_finished = 0; n_finished < blocks.size() && fault.code == cudaSuccess; is_first = false) {
        n_finished = 0;
        for (size_t i = 0; i < blocks.size(); ++i) {
            shared[i].load();
            if (tracer)
                is_first ? tracer->block_begins(order[i], *blocks[i])
                         : tracer->block_runs(order[i], *blocks[i]);
            const Block::State state = blocks[i]->run();
            shared[i].store();
            if (state == Block::finished) ++n_finished;
            if (state == Block::stuck) fault = stuck(*blocks[i], config);
            if (state == Block::stopped || state == Block::stuck) break;
        }
        if (n_finished > 0 && n_finished < blocks.size() && fault.code == cudaSuccess) {
            fault = {cudaErrorLaunchTimeout,
                     format_text("%s:%d: hang: %zu of %zu blocks have ended, the others wait at the "
                                 "grid's barrier",
                                 config.place.file, config.place.line, n_finished, blocks.size())};
        }
        for (auto& block : blocks) block->release_grid_barrier();
        if (tracer) tracer->grid_barrier_passed();
    }
    fault_here = nullptr;
    return fault;
}

}  // namespace

Fault run_grid(const Call& call, const Config& config) {
    const size_t n_blocks = size_t(config.grid.x) * config.grid.y * config.grid.z;
    const std::vector<size_t> order = block_order(n_blocks, settings().order);
    const Guard guard(settings().limit_seconds);
    if (config.cooperative) return run_together(call, config, order);
    static Team team(settings().n_threads);
    if (tracer || team.n_threads() == 1 || n_blocks < size_t(2 * team.n_threads())) {
        for (const size_t index : order) {
            Fault fault = worker().run(call, config, index);
            if (fault.code != cudaSuccess) return fault;
        }
        return {};
    }
    std::atomic<size_t> next{0};
    std::vector<Fault> faults(size_t(team.n_threads()));
    team.run([&](const ::Worker& mine) {
        const Guard its_guard(settings().limit_seconds);
        Fault& fault = faults[size_t(mine.thread)];
        for (size_t i; fault.code == cudaSuccess && (i = next.fetch_add(1)) < n_blocks;) {
            fault = worker().run(call, config, order[i]);
        }
        if (fault.code != cudaSuccess) next = n_blocks;
    });
    for (const Fault& fault : faults) {
        if (fault.code != cudaSuccess) return fault;
    }
    return {};
}

void end_kernel(cudaError code, const std::string& text) {
    *fault_here = {code, text};
    current_block->stop();
}

std::string who() {
    return block_name(blockIdx) + format_text(", thread (%u, %u, %u)", threadIdx.x, threadIdx.y, threadIdx.z);
}

const Settings& settings() {
    static const Settings s = [] {
        Settings out{{}, available_cores(), 60};
        if (const char* text = std::getenv("SIMT_ORDER")) {
            const std::string name = text, kind = name.substr(0, name.find(':'));
            out.order.kind = kind == "reversed"   ? Order::reversed
                             : kind == "shuffled" ? Order::shuffled
                                                  : Order::natural;
            if (out.order.kind == Order::natural && kind != "natural")
                fail("SIMT_ORDER: natural, reversed or shuffled[:seed]");
            if (name.size() > kind.size())
                out.order.seed = std::strtoull(name.c_str() + kind.size() + 1, nullptr, 10);
        }
        if (const char* text = std::getenv("SIMT_THREADS"))
            out.n_threads = std::clamp(std::atoi(text), 1, 256);
        if (const char* text = std::getenv("SIMT_LIMIT")) out.limit_seconds = std::atof(text);
        return out;
    }();
    return s;
}

}  // namespace simt
