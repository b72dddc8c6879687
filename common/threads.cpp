#include "common/threads.hpp"

#include <fstream>
#include <string>

#include "common/error.hpp"
#include "common/simd.hpp"

#ifdef __linux__
#include <sched.h>
#endif

namespace {
// About 20 microseconds: longer than any operation's imbalance, shorter than a time slice.
constexpr int max_spins = 1000;
}  // namespace

void Barrier::wait() {
    const int generation = generation_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) == n_threads_ - 1) {
        arrived_.store(0, std::memory_order_relaxed);
        generation_.store(generation + 1, std::memory_order_release);
        generation_.notify_all();
        return;
    }
    for (int spin = 0; spin < max_spins; ++spin) {
        if (generation_.load(std::memory_order_acquire) != generation) return;
        cpu_relax();
    }
    while (generation_.load(std::memory_order_acquire) == generation) {
        generation_.wait(generation, std::memory_order_acquire);
    }
}

Team::Team(int n_threads)
    : n_threads_(n_threads), barrier_(n_threads), start_(n_threads), finish_(n_threads) {
    if (n_threads < 1) fail("a team needs at least one thread, got %d", n_threads);
    for (int thread = 1; thread < n_threads; ++thread) {
        threads_.emplace_back([this, thread] { serve(thread); });
    }
}

Team::~Team() {
    program_ = nullptr;
    start_.wait();
    for (std::thread& thread : threads_) thread.join();
}

void Team::run(const std::function<void(const Worker&)>& program) {
    program_ = &program;
    error_ = nullptr;
    start_.wait();   // the program is in place before anyone reads it
    work(0);
    finish_.wait();  // every thread's writes are done before the caller goes on
    if (error_) std::rethrow_exception(error_);
}

void Team::serve(int thread) {
    while (true) {
        start_.wait();
        if (!program_) return;
        work(thread);
        finish_.wait();
    }
}

void Team::work(int thread) {
    try {
        (*program_)({thread, n_threads_, n_threads_ > 1 ? &barrier_ : nullptr});
    } catch (...) {
        const std::lock_guard lock(error_mutex_);
        if (!error_) error_ = std::current_exception();
    }
}

int available_cores() {
    int cores = int(std::max(1u, std::thread::hardware_concurrency()));
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0) cores = std::max(1, CPU_COUNT(&set));
    std::ifstream quota("/sys/fs/cgroup/cpu.max");  // "200000 100000": two cores; "max 100000": no limit
    std::string limit;
    double period = 0;
    if (quota >> limit >> period && limit != "max" && period > 0) {
        cores = std::clamp(int(std::stod(limit) / period + 0.5), 1, cores);
    }
#endif
    return cores;
}
