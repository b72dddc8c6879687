#include "common/simt/tracer.hpp"

#include <link.h>

#include <algorithm>
#include <cstring>

#include "common/error.hpp"
#include "common/simt/include/simt/builtins.hpp"
#include "common/simt/location.hpp"
#include "common/simt/runtime.hpp"
#include "common/simt/settings.hpp"
#include "common/simt/symbols.hpp"

extern "C" [[gnu::weak]] const char* simt_trace;  // simcc's --trace

namespace simt {

Tracer* tracer = nullptr;

namespace {

int read_only_parts(dl_phdr_info* object, size_t, void* out) {
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const auto& part = object->dlpi_phdr[i];
        const bool fixed = part.p_type == PT_LOAD && !(part.p_flags & PF_W);
        if (!fixed && part.p_type != PT_GNU_RELRO) continue;
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

}  // namespace

Tracer::Tracer() : global_(runtime().memory.base(), Memory::capacity) {
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
    published_to_itself_.assign(n_blocks, 0);
    acquired_.assign(n_blocks, 0);
    found_.clear();
    error_ = cudaSuccess;
    last_ = nullptr;
    // Another thread of the host may run this launch: its thread-local variables are others.
    memory_ = shared_memory();
    const char* end = memory_.behind.data() + memory_.behind.size();
    if (!shared_ || !shared_->holds(memory_.before.data()) || !shared_->holds(end - 1)) {
        shared_ = std::make_unique<Shadow>(memory_.before.data(), size_t(end - memory_.before.data()));
    }
    tracer = this;
}

void Tracer::block_begins(size_t number, Block& block) {
    block_runs(number, block);
    std::memset(shared_->written(memory_.before.data()), 0,
                memory_.before.size());  // nothing in it has a value
    std::memset(shared_->written(memory_.behind.data()), 0, memory_.behind.size());
    std::memset(shared_->written(memory_.dynamic.data()), 0, config_->shared_bytes);
}
void Tracer::block_runs(size_t number, Block& block) {
    block_ = &block;
    block_number_ = number % Access::any_block;
    std::fill(std::begin(met_), std::end(met_), launch_);
}
void Tracer::barrier_passed() { barrier_[block_number_] = ++now_; }
void Tracer::grid_barrier_passed() { grid_ = ++now_; }
void Tracer::warp_met(int warp, uint32_t lanes) {
    ++now_;
    for (int lane = 0; lane < Block::warp_size; ++lane) {
        if (lanes >> lane & 1) met_[warp * Block::warp_size + lane] = now_;
    }
}
void Tracer::fenced(bool for_other_blocks) {
    published_to_itself_[block_number_] = now_;
    if (for_other_blocks) published_[block_number_] = now_;
    ++now_;
}

// --- An access ---------------------------------------------------------------------------------------------------------

void Tracer::access(const Watched& a) {
    Shadow* shadow = nullptr;
    const Space space = space_of(a.address, shadow);
    if (space == own) return;
    if (space == foreign) {
        return fault("host-pointer", a, "which is memory of the host", cudaErrorIllegalAddress);
    }
    if (reinterpret_cast<uintptr_t>(a.address) & uintptr_t(a.alignment - 1)) {
        return fault("misaligned", a, format_text("which is no multiple of %d", a.alignment),
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
    if (shared_->holds(address)) return shadow = shared_.get(), is_builtin(address) ? own : shared;
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
        const size_t left = size_t(last_->begin + last_->n_bytes - a.address);  // wraps around behind the end
        fault("out-of-bounds", a,
              last_->holds(a.address)
                  ? format_text("of which %zu are behind its end", size_t(a.n_bytes) - left)
                  : format_text("which is %zu bytes behind its end", size_t(0) - left),
              cudaErrorIllegalAddress);
    } else {
        fault("out-of-bounds", a, "where nothing is allocated", cudaErrorIllegalAddress);
    }
    last_ = nullptr;
    return false;
}

bool Tracer::in_bounds_of_shared(const Watched& a) {
    const size_t offset = size_t(a.address - memory_.dynamic.data());
    if (offset >= max_shared_bytes || offset + size_t(a.n_bytes) <= config_->shared_bytes) return true;
    fault("shared-overflow", a,
          format_text("byte %zu of the %zu of dynamic shared memory that the launch asks for", offset,
                      config_->shared_bytes),
          cudaErrorIllegalAddress);
    return false;
}

void Tracer::check_written(const Watched& a, Shadow& shadow, Space space) {
    uint8_t* written = shadow.written(a.address);
    if (!a.reads) {
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

// In global memory a plain read beside atomic changes is how a loop around atomicCAS begins: no race by itself.
const Access* Tracer::conflict(const Word& word, const Access& mine, bool writes, Space space) const {
    const bool may_be_a_loop = space == global && word.write.atomic && !writes;
    if (!may_be_a_loop && !ordered(word.write, mine, space)) return &word.write;
    if (writes && !(mine.atomic && space == global) && !ordered(word.read, mine, space)) return &word.read;
    return nullptr;
}

std::string Tracer::told(const Access& other, const Access& mine, const char* has_done) const {
    std::string who = "other threads have";
    if (!other.many) {
        who = "thread " + text(position(other.thread, config_->block));
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
    const bool have_met =
        before.epoch < met_[mine.thread] && (before.many || before.epoch < met_[before.thread]);
    if (same_block && same_warp && have_met) return true;
    if (before.block == Access::any_block) return false;
    const uint32_t published = same_block ? published_to_itself_[mine.block] : published_[before.block];
    return before.epoch <= published && published < acquired_[mine.block];
}

// A word remembers one reading of its bytes: by one thread, or by many of whom all that matters is alike.
void Tracer::note_read(Access& read, const Access& mine, Space space) const {
    if (read.epoch == mine.epoch && read.block == mine.block && read.many && read.bytes == mine.bytes &&
        !read.atomic && (read.thread % 32 || read.thread == mine.thread / 32 * 32)) {
        return;  // one more of many
    }
    Access plain = mine;  // that both are atomic puts them into no order
    plain.atomic = 0;
    Access together = mine;
    if (!ordered(read, plain, space)) {
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
    const char* does = a.reads && a.writes ? "changes" : a.writes ? "writes" : "reads";
    count(
        place, kind,
        format_text("%s %d bytes of %s, %s", does, a.n_bytes, variable_at(a.address).c_str(), what.c_str()));
    if (error_ == cudaSuccess) error_ = error;
}
void Tracer::misuse(const char* kind, Place place, const std::string& what) {
    count(format_text("%s:%d", place.file, place.line), kind, what);
}
void Tracer::count(const std::string& place, const char* kind, const std::string& text) {
    Found& found = found_[{place, kind}];
    if (found.count++ > 0) return;
    found.text =
        format_text("%s: %s: %s, %s, %s", place.c_str(), kind, call_->name, who().c_str(), text.c_str());
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
        const std::string choice = text ? text : &simt_trace ? simt_trace : "first";
        if (choice != "first" && choice != "all" && choice != "off")
            refuse_setting("SIMT_TRACE: first, all or off");
        return choice;
    }();
    // By the function; by its name where that is all there is.
    static auto* n_seen = new std::map<std::pair<const void*, std::string>, int>;
    return which == "all" ||
           (which == "first" && (*n_seen)[{call.function, call.function ? "" : call.name}]++ < 3);
}

}  // namespace simt
