#include "common/simt/tracer.hpp"

#include <link.h>

#include <algorithm>
#include <cstring>

#include "common/error.hpp"
#include "common/simt/include/simt/builtins.hpp"
#include "common/simt/location.hpp"
#include "common/simt/runtime.hpp"
#include "common/simt/symbols.hpp"

extern "C" [[gnu::weak]] const char* simt_trace;  // simcc's --trace

namespace simt {

Tracer* tracer = nullptr;

namespace {

std::span<const char> shared_range() {
    const SharedMemory m = shared_memory();
    return {m.before.data(), m.behind.data() + m.behind.size()};
}

int read_only_parts(dl_phdr_info* object, size_t, void* out) {
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const auto& part = object->dlpi_phdr[i];
        if (part.p_type != PT_LOAD || part.p_flags & PF_W) continue;
        const auto* begin = reinterpret_cast<const char*>(object->dlpi_addr + part.p_vaddr);
        static_cast<std::vector<std::span<const char>>*>(out)->push_back({begin, part.p_memsz});
    }
    return 1;  // the program only
}

bool is_builtin(const char* p) {
    const auto in = [p](const auto& variable) {
        return size_t(p - reinterpret_cast<const char*>(&variable)) < sizeof variable;
    };
    return in(threadIdx) || in(blockIdx) || in(blockDim) || in(gridDim);
}

std::string position(unsigned thread, dim3 shape) {
    const unsigned row = thread / shape.x;
    return format_text("(%u, %u, %u)", thread % shape.x, row % shape.y, row / shape.y);
}

}  // namespace

Tracer::Tracer()
    : global_(runtime().memory.base(), Memory::capacity),
      shared_(shared_range().data(), shared_range().size()) {
    dl_iterate_phdr(read_only_parts, &constants_);
    for (const std::span<char> section : device_sections()) {
        variables_.push_back(std::make_unique<Shadow>(section.data(), section.size()));
        std::memset(variables_.back()->written(section.data()), 1, section.size());
    }
}

// --- What the host does ------------------------------------------------------------------------------------------

void Tracer::wrote(const void* to, size_t n_bytes) {
    if (global_.holds(to)) std::memset(global_.written(to), 1, n_bytes);
}
void Tracer::copied(const void* to, const void* from, size_t n_bytes) {
    if (!global_.holds(to)) return;
    if (global_.holds(from))
        std::memmove(global_.written(to), global_.written(from), n_bytes);
    else
        wrote(to, n_bytes);
}
void Tracer::allocated(const void* begin, size_t n_bytes, bool by_host) {
    std::memset(global_.written(begin), by_host, n_bytes);  // the host may write where it can
}

// --- Where threads meet --------------------------------------------------------------------------------------------

void Tracer::begin(const Call& call, const Config& config) {
    call_ = &call, config_ = &config;
    launch_ = grid_ = ++now_;
    const size_t n_blocks =
        std::min<size_t>(size_t(config.grid.x) * config.grid.y * config.grid.z, Access::any_block);
    barrier_.assign(n_blocks, now_);
    published_.assign(n_blocks, 0);
    acquired_.assign(n_blocks, 0);
    found_.clear();
    error_ = cudaSuccess;
    last_ = nullptr;
    tracer = this;
}

void Tracer::block_begins(size_t number, Block& block) {
    block_runs(number, block);
    const SharedMemory memory = shared_memory();  // nothing in it has a value
    std::memset(shared_.written(memory.before.data()), 0, memory.before.size());
    std::memset(shared_.written(memory.behind.data()), 0, memory.behind.size());
    std::memset(shared_.written(memory.dynamic.data()), 0, config_->shared_bytes);
}
void Tracer::block_runs(size_t number, Block& block) {
    block_ = &block;
    block_number_ = number % Access::any_block;
    std::fill(std::begin(warp_), std::end(warp_), now_);
}
void Tracer::barrier_passed() { barrier_[block_number_] = ++now_; }
void Tracer::grid_barrier_passed() { grid_ = ++now_; }
void Tracer::warp_met(int warp) { warp_[warp] = ++now_; }
void Tracer::fenced() { published_[block_number_] = now_++; }

// --- An access ---------------------------------------------------------------------------------------------------------

void Tracer::access(const Watched& a) {
    Shadow* shadow = nullptr;
    const Space space = space_of(a.address, shadow);
    if (space == own) return;
    if (space == foreign) {
        return fault("host-pointer", a, "which is memory of the host", cudaErrorIllegalAddress);
    }
    if (a.n_bytes <= 16 && reinterpret_cast<uintptr_t>(a.address) & uintptr_t(a.n_bytes - 1)) {
        return fault("misaligned", a, format_text("which is no multiple of %d", a.n_bytes),
                     cudaErrorMisalignedAddress);
    }
    if (space == global && global_.holds(a.address) && !in_bounds(a)) return;
    if (space == shared && !in_bounds_of_shared(a)) return;
    check_written(a, *shadow, space);
    if (a.atomic) acquired_[block_number_] = ++now_;
    check_race(a, *shadow, space);
}

Tracer::Space Tracer::space_of(const char* address, Shadow*& shadow) {
    if (block_->fiber()->stack_holds(address)) return own;
    if (global_.holds(address)) return shadow = &global_, global;
    if (shared_.holds(address)) return shadow = &shared_, is_builtin(address) ? own : shared;
    for (const auto& v : variables_) {
        if (v->holds(address)) return shadow = v.get(), global;
    }
    const auto* arguments = static_cast<const char*>(call_->arguments.get());
    if (address >= arguments && address < arguments + call_->n_argument_bytes) return own;
    for (const auto& c : constants_) {
        if (address >= c.data() && address < c.data() + c.size()) return own;
    }
    for (const auto& [begin, n_bytes] : runtime().registered) {
        if (size_t(address - static_cast<const char*>(begin)) < n_bytes) return own;
    }
    return foreign;
}

bool Tracer::in_bounds(const Watched& a) {
    if (!last_ || !last_->holds(a.address)) last_ = runtime().memory.find(a.address);
    if (last_ && !last_->freed && last_->holds(a.address) && last_->holds(a.address + a.n_bytes - 1))
        return true;
    if (last_ && last_->freed && last_->holds(a.address)) {
        fault("use-after-free", a,
              format_text("which was freed at %s:%d", last_->freed_at.file, last_->freed_at.line),
              cudaErrorIllegalAddress);
    } else if (last_) {
        fault("out-of-bounds", a,
              format_text("which is %zu bytes behind its end",
                          size_t(a.address - (last_->begin + last_->n_bytes))),
              cudaErrorIllegalAddress);
    } else {
        fault("out-of-bounds", a, "where nothing is allocated", cudaErrorIllegalAddress);
    }
    last_ = nullptr;
    return false;
}

bool Tracer::in_bounds_of_shared(const Watched& a) {
    const char* dynamic = shared_memory().dynamic.data();
    const size_t offset = size_t(a.address - dynamic);
    if (offset >= max_shared_bytes || offset + size_t(a.n_bytes) <= config_->shared_bytes) return true;
    fault("shared-overflow", a,
          format_text("byte %zu of the %zu of dynamic shared memory that the launch asks for", offset,
                      config_->shared_bytes),
          cudaErrorIllegalAddress);
    return false;
}

void Tracer::check_written(const Watched& a, Shadow& shadow, Space space) {
    uint8_t* written = shadow.written(a.address);
    if (a.writes && !a.atomic) {
        std::memset(written, 1, size_t(a.n_bytes));
        return;
    }
    if (space == global && unwatched_) return;
    if (!std::memchr(written, 0, size_t(a.n_bytes))) return;
    std::memset(written, 1, size_t(a.n_bytes));  // once is enough
    fault("uninitialised", a, "which has no value yet");
}

void Tracer::check_race(const Watched& a, Shadow& shadow, Space space) {
    const auto first = reinterpret_cast<uintptr_t>(a.address), end = first + uintptr_t(a.n_bytes);
    for (uintptr_t at = first & ~uintptr_t(3); at < end; at += 4) {
        Access mine;
        mine.epoch = now_;
        mine.thread = unsigned(block_->thread()), mine.block = unsigned(block_number_);
        mine.atomic = a.atomic;
        for (uintptr_t byte = std::max(at, first); byte < std::min(at + 4, end); ++byte)
            mine.bytes |= 1u << (byte - at);
        Word& word = shadow.word(reinterpret_cast<const char*>(at));
        if (const Access* other = conflict(word, mine, a.writes, space)) {
            fault("race", a, told(*other, mine, other == &word.write ? "written" : "read"));
        }
        if (a.writes)
            word.write = mine;
        else
            note_read(word.read, mine, space);
    }
}

// A plain read beside atomic changes is how a loop around atomicCAS begins: no race by itself.
const Access* Tracer::conflict(const Word& word, const Access& mine, bool writes, Space space) const {
    if (!(word.write.atomic && !writes) && !ordered(word.write, mine, space)) return &word.write;
    if (writes && !mine.atomic && !ordered(word.read, mine, space)) return &word.read;
    return nullptr;
}

std::string Tracer::told(const Access& other, const Access& mine, const char* has_done) const {
    std::string who = "other threads have";
    if (!other.many) {
        who = "thread " + position(other.thread, config_->block);
        if (other.block != mine.block) who += format_text(" of block %u", other.block);
        who += " has";
    }
    return format_text("which %s %s, with no %s between", who.c_str(), has_done,
                       other.block == mine.block ? "barrier" : "end of the kernel");
}

bool Tracer::ordered(const Access& before, const Access& mine, Space space) const {
    if (!(before.bytes & mine.bytes) || before.epoch < grid_ || before.epoch < launch_) return true;
    if (before.atomic && mine.atomic) return true;
    const bool same_block = before.block == mine.block;
    if (!same_block && space == shared) return true;  // that block's memory is another
    if (same_block && !before.many && before.thread == mine.thread) return true;
    if (same_block && before.epoch < barrier_[mine.block]) return true;
    const bool same_warp = before.thread / 32 == mine.thread / 32 && !(before.many && before.thread % 32);
    if (same_block && same_warp && before.epoch < warp_[mine.thread / 32]) return true;
    if (before.block == Access::any_block) return false;
    const uint32_t published = published_[before.block];
    return before.epoch <= published && published < acquired_[mine.block];
}

void Tracer::note_read(Access& read, const Access& mine, Space space) const {
    if (read.epoch == mine.epoch && read.block == mine.block && read.many && read.bytes == 15 &&
        !read.atomic && (read.thread % 32 || read.thread == mine.thread / 32 * 32)) {
        return;  // one more of many
    }
    Access whole = mine;  // whatever of the word the other one has read
    whole.bytes = 15, whole.atomic = 0;
    Access together = mine;
    if (!ordered(read, whole, space)) {
        const bool same_block = read.block == mine.block;
        const bool same_warp =
            same_block && read.thread / 32 == mine.thread / 32 && !(read.many && read.thread % 32);
        together.bytes |= read.bytes;
        together.atomic &= read.atomic;
        together.many = 1;
        together.thread = same_warp ? mine.thread / 32 * 32 : 1;
        if (!same_block) together.block = Access::any_block;
    }
    read = together;
}

// --- What is told ----------------------------------------------------------------------------------------------------------

void Tracer::fault(const char* kind, const Watched& a, const std::string& what, cudaError error) {
    const std::string place =
        a.program_counter ? location(a.program_counter) : format_text("%s:%d", a.place.file, a.place.line);
    Found& found = found_[{place, kind}];
    if (found.count++ == 0) {
        found.text = format_text("%s: %s: %s, %s, %s %d bytes of %s, %s", place.c_str(), kind, call_->name,
                                 who().c_str(), a.writes ? (a.atomic ? "changes" : "writes") : "reads",
                                 a.n_bytes, variable_at(a.address).c_str(), what.c_str());
    }
    if (error_ == cudaSuccess) error_ = error;
}

Fault Tracer::end() {
    tracer = nullptr;
    std::string text;
    for (const auto& [key, found] : found_) {
        if (!text.empty()) text += "\n";
        text += found.text + (found.count > 1 ? format_text(" (%zu times)", found.count) : "");
    }
    return {error_, text};
}

bool is_watched(const Call& call) {
    if (!the_tracer()) return false;
    static const std::string which = [] {
        const char* text = std::getenv("SIMT_TRACE");
        return std::string(text ? text : &simt_trace ? simt_trace : "first");
    }();
    static std::map<std::string, int> n_seen;
    return which == "all" || (which == "first" && n_seen[call.name]++ < 3);
}

}  // namespace simt
