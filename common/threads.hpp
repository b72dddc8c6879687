// A team of threads that run one program together. A step enters the team once; each operation takes
// its share of the work by thread index, and a barrier stands between operations. Entering and leaving
// costs a few microseconds, a barrier well under one: a token of a 30-layer model has two hundred of them.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

// Everyone waits until the last one has arrived. Waiting spins for a bounded time, then sleeps in the
// kernel: with more threads than free cores a spinning thread would hold the core that the last one needs.
class Barrier {
  public:
    explicit Barrier(int n_threads) : n_threads_(n_threads) {}
    void wait();
    // For fewer than was thought: threads may wait already, but the last one must not have arrived.
    void shrink(int n_threads) { n_threads_ = n_threads; }

  private:
    std::atomic<int> n_threads_;
    alignas(64) std::atomic<int> arrived_{0};
    alignas(64) std::atomic<unsigned> generation_{0};  // wraps around
};

struct Range {
    int begin = 0, end = 0;
};

// One thread's view of the team, handed to every operation. The default is a team of one.
struct Worker {
    int thread = 0, n_threads = 1;
    Barrier* barrier = nullptr;

    // All writes of the team before the barrier are seen by all of it afterwards.
    void sync() const {
        if (barrier) barrier->wait();
    }
    // This thread's share of n items: neighbouring ones, sizes differing by one at the most.
    Range share(int n) const {
        return {int(int64_t(n) * thread / n_threads), int(int64_t(n) * (thread + 1) / n_threads)};
    }
};

class Team {
  public:
    explicit Team(int n_threads);  // threads that the system does not give: Error
    ~Team();
    Team(const Team&) = delete;

    int n_threads() const { return n_threads_; }
    // program(worker) on every thread of the team, the caller among them; returns when all are done.
    // The first exception of a thread is thrown again here; a program that throws must not leave
    // others waiting at a barrier, so check inputs before entering.
    void run(const std::function<void(const Worker&)>& program);

  private:
    void dissolve();
    void serve(int thread);
    void work(int thread);

    const int n_threads_;
    Barrier barrier_;         // for the program
    Barrier start_, finish_;  // around it
    // null: the team is dissolved
    const std::function<void(const Worker&)>* program_ = nullptr;
    std::exception_ptr error_;
    std::mutex error_mutex_;
    std::vector<std::thread> threads_;
};

// Cores that this process may use (its affinity mask; a container's CPU quota too, where Linux tells).
int available_cores();
