#include "common/bench.hpp"

#include <chrono>

namespace {

using Clock = std::chrono::steady_clock;

constexpr double shortest_sample = 200e-6;  // seconds: a thousand times the clock's own cost and grain

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

// sample(n): the seconds that n calls take.
Timing collect(const std::function<double(int)>& sample, double min_seconds, int min_samples) {
    sample(1);  // warms caches, pages and the clock rate up
    int n_calls = 1;
    double last = sample(n_calls);
    while (last < shortest_sample && n_calls < 1 << 24) last = sample(n_calls *= 2);

    std::vector<double> seconds{last / n_calls};
    for (double total = last; total < min_seconds || int(seconds.size()) < min_samples; total += last) {
        last = sample(n_calls);
        seconds.push_back(last / n_calls);
    }
    std::sort(seconds.begin(), seconds.end());
    const size_t middle = seconds.size() / 2;
    const double median = seconds.size() % 2 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
    return {median, seconds.front(), seconds.back(), int(seconds.size())};
}

}  // namespace

Timing measure(const std::function<void()>& body, double min_seconds, int min_samples) {
    const auto sample = [&](int n_calls) {
        const Clock::time_point begin = Clock::now();
        for (int call = 0; call < n_calls; ++call) body();
        return seconds_since(begin);
    };
    return collect(sample, min_seconds, min_samples);
}

Timing measure(Team& team, const std::function<void(const Worker&)>& body, double min_seconds,
               int min_samples) {
    const auto sample = [&](int n_calls) {
        double seconds = 0;
        team.run([&](const Worker& worker) {
            worker.sync();  // all are here: waking them is not part of the time
            const Clock::time_point begin = Clock::now();
            for (int call = 0; call < n_calls; ++call) body(worker);
            worker.sync();  // all are done: the slowest thread counts
            if (worker.thread == 0) seconds = seconds_since(begin);
        });
        return seconds;
    };
    return collect(sample, min_seconds, min_samples);
}
