// Watches a kernel: every load and store of its threads, and where they meet. The compiler calls us for each access of
// an instrumented program (tsan.cpp); the block tells where threads meet.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/simt/grid.hpp"
#include "common/simt/memory.hpp"
#include "common/simt/shadow.hpp"
#include "common/simt/shared.hpp"

namespace simt {

class Tracer {
  public:
    struct Watched {  // one access
        const char* address;
        int n_bytes, alignment;
        bool reads, writes, atomic;   // atomic: or volatile
        const void* program_counter;  // where; of one of our own calls null, and
        Place place{};
    };

    Tracer();
    // The host, or a copy, has written here; a copy from device memory hands on what has no value.
    void wrote(const void* to, size_t n_bytes);
    void copied(const void* to, const void* from, size_t n_bytes);
    void allocated(const void* begin, size_t n_bytes, bool by_host);
    void ran_unwatched() { unwatched_ = true; }  // a kernel: from now on any memory may have a value

    void begin(const Call& call, const Config& config);
    // Tells what was found, each fault once. -> the error that the launch ends with, if any
    Fault end();

    // --- From the block that runs ---------------------------------------------------------------------------
    void block_begins(size_t number, Block& block);
    void block_runs(size_t number, Block& block);  // again: blocks of a cooperative launch take turns
    void barrier_passed();                         // by all threads of the block
    void grid_barrier_passed();                    // by all of the grid
    void warp_met(int warp, uint32_t lanes);
    void fenced(bool for_other_blocks);  // what this block has written may be seen from now on
    void access(const Watched& a);
    void misuse(const char* kind, Place place, const std::string& what);  // a meeting that goes wrong

  private:
    void fault(const char* kind, const Watched& a, const std::string& what, cudaError error = cudaSuccess);
    void count(const std::string& place, const char* kind, const std::string& text);
    enum Space { global, shared, own, foreign };
    Space space_of(const char* address, Shadow*& shadow);
    bool in_bounds(const Watched& a);
    bool in_bounds_of_shared(const Watched& a);
    void check_written(const Watched& a, Shadow& shadow, Space space);
    void check_race(const Watched& a, Shadow& shadow, Space space);
    const Access* conflict(const Word& word, const Access& mine, bool writes, Space space) const;
    bool ordered(const Access& before, const Access& mine, Space space) const;
    void note_read(Access& read, const Access& mine, Space space) const;
    std::string told(const Access& other, const Access& mine, const char* has_done) const;

    struct Found {
        std::string text;
        size_t count = 0;
    };
    std::map<std::pair<std::string, std::string>, Found> found_;  // by place and kind
    cudaError error_ = cudaSuccess;
    bool unwatched_ = false;

    const Call* call_ = nullptr;
    const Config* config_ = nullptr;
    Block* block_ = nullptr;
    size_t block_number_ = 0;
    const Allocation* last_ = nullptr;  // that an access has met
    Shadow global_;
    std::unique_ptr<Shadow> shared_;  // of the thread of the CPU that runs the kernel
    SharedMemory memory_{};
    std::vector<std::unique_ptr<Shadow>>
        variables_;                                 // of the program's __device__ and __constant__ variables
    std::vector<std::span<const char>> constants_;  // the program's own that nobody can write

    // An access before the last point where both threads met is in order with this one.
    uint32_t now_ = 1, launch_ = 0, grid_ = 0;
    std::vector<uint32_t> barrier_;          // by block
    uint32_t met_[Block::max_threads] = {};  // by thread: when it met others of its warp
    // By block, the epochs of its last fence and of its last atomic access: one that wrote, fenced and set a flag is in
    // order with one that has read the flag and reads what was written.
    std::vector<uint32_t> published_, published_to_itself_, acquired_;
};

// Of an instrumented program; else null.
Tracer* the_tracer();
// The same while a launch runs that is watched; else null.
extern Tracer* tracer;
// Is this launch to be watched? SIMT_TRACE=first|all|off says: first is the first three of each kernel.
bool is_watched(const Call& call);

}  // namespace simt
