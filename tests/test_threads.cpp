// The team and its barrier, also with more threads than cores. A fault here tends to hang: the runner's time
// limit then names the case.
#include <doctest/doctest.h>

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "common/bench.hpp"
#include "common/error.hpp"
#include "common/threads.hpp"

namespace {

// One thread, a few, twice as many as there are cores, and many.
std::vector<int> team_sizes() { return {1, 2, 3, 2 * available_cores(), 17}; }

}  // namespace

TEST_CASE("threads: shares cover all items once, in order, sizes differing by one") {
    for (const int n_threads : {1, 2, 3, 7, 64}) {
        for (const int n : {0, 1, 2, 3, 17, 31, 33, 576, 1001, 2147483647}) {
            int next = 0, smallest = n, largest = 0;
            for (int thread = 0; thread < n_threads; ++thread) {
                const Range range = Worker{thread, n_threads, nullptr}.share(n);
                CHECK(range.begin == next);
                next = range.end;
                smallest = std::min(smallest, range.end - range.begin);
                largest = std::max(largest, range.end - range.begin);
            }
            CHECK(next == n);
            CHECK(largest - smallest <= 1);
        }
    }
}

TEST_CASE("threads: every thread of the team runs the program once") {
    for (const int n_threads : team_sizes()) {
        Team team(n_threads);
        CHECK(team.n_threads() == n_threads);
        std::vector<int> runs(size_t(n_threads), 0);
        for (int round = 0; round < 20; ++round) {
            team.run([&](const Worker& worker) {
                CHECK(worker.n_threads == n_threads);
                ++runs[size_t(worker.thread)];
            });
        }
        for (const int n : runs) CHECK(n == 20);
    }
}

TEST_CASE("threads: after a barrier each thread sees what all wrote before it") {
    for (const int n_threads : team_sizes()) {
        constexpr int n_rounds = 300;
        Team team(n_threads);
        std::vector<int> row(size_t(n_threads), -1);  // plain ints: the barrier alone orders the accesses
        std::vector<int> n_wrong(size_t(n_threads), 0);
        team.run([&](const Worker& worker) {
            for (int round = 0; round < n_rounds; ++round) {
                row[size_t(worker.thread)] = round;
                worker.sync();  // all have written before any reads
                for (const int value : row) n_wrong[size_t(worker.thread)] += value != round;
                worker.sync();  // all have read before any writes again
            }
        });
        CHECK(std::accumulate(n_wrong.begin(), n_wrong.end(), 0) == 0);
    }
}

TEST_CASE("threads: an exception in any thread reaches the caller, and the team goes on") {
    for (const int n_threads : team_sizes()) {
        Team team(n_threads);
        for (int thrower = 0; thrower < n_threads; ++thrower) {
            std::atomic<int> finished = 0;
            CHECK_THROWS_WITH_AS(team.run([&](const Worker& worker) {
                if (worker.thread == thrower) fail("thread %d", worker.thread);
                ++finished;
            }),
                                 format_text("thread %d", thrower).c_str(), Error);
            CHECK(finished == n_threads - 1);
        }
        std::atomic<int> after = 0;
        team.run([&](const Worker&) { ++after; });
        CHECK(after == n_threads);
    }
}

TEST_CASE("threads: teams come and go") {
    for (int i = 0; i < 50; ++i) Team team(1 + i % 5);
    CHECK_THROWS_AS(Team(0), Error);
    CHECK(available_cores() >= 1);
}

TEST_CASE("threads: what a barrier and entering a team cost here") {
    for (const int n_threads : {2, 2 * available_cores()}) {
        Team team(n_threads);
        constexpr int n_barriers = 100;
        const Timing barrier = measure(
            team,
            [](const Worker& worker) {
                for (int i = 0; i < n_barriers; ++i) worker.sync();
            },
            0.05);
        const Timing entry = measure([&] { team.run([](const Worker&) {}); }, 0.05);
        MESSAGE(n_threads, " threads on ", available_cores(), " cores: a barrier takes ",
                number(barrier.median / n_barriers * 1e6), " us, entering and leaving ",
                number(entry.median * 1e6), " us");
    }
}
