// kernels/sampling against lesson 06: the same choice, whatever the settings, the size, the batch, the threads.
#include <doctest/doctest.h>

#include <limits>

#include "common/check.hpp"
#include "kernels/sampling/sampling.hpp"
#include "lessons/06_generation/samplers.hpp"

namespace {

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr int sizes[] = {1, 2, 3, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 576, 1001};

// Logits as a model gives them: most far below a few.
Tensor model_logits(int n, uint64_t seed, float spread = 4) {
    Tensor logits(n);
    fill_random(logits, seed);
    for (float& logit : logits) logit = spread * std::atanh(.999f * logit);
    return logits;
}

int fast_sample(View<const float> logits, const Sampling& settings, int position = 0,
                const std::vector<int>& history = {}) {
    cpu::SampleScratch scratch(1, logits.size(0));
    std::vector<int> next = {-7};
    const std::vector<int> positions = {position}, begin = {0, int(history.size())};
    const std::vector<Sampling> sampling = {settings};
    cpu::sample(Worker{}, next, logits.reshape(1, logits.size(0)), sampling, positions, history, begin,
                scratch);
    return next[0];
}

std::vector<Sampling> many_settings() {
    std::vector<Sampling> all;
    for (const float temperature : {0.0f, 1e-8f, .3f, .8f, 1.0f, 3.0f, 100.0f}) {
        for (const int top_k : {0, 1, 5, 40, 2000}) {
            for (const float top_p : {0.0f, 1e-8f, .3f, .9f, .999f, 1.0f}) {
                for (const float min_p : {0.0f, .05f, 1.0f}) {
                    all.push_back(
                        {.temperature = temperature, .top_k = top_k, .top_p = top_p, .min_p = min_p});
                }
            }
        }
    }
    return all;
}

}  // namespace

TEST_CASE("sampling: argmax as the lesson's, the lowest id among equals") {
    for (const int n : sizes) {
        CAPTURE(n);
        for (uint64_t seed = 0; seed < 20; ++seed) {
            const Tensor logits = model_logits(n, seed);
            CHECK(cpu::argmax(logits) == argmax(logits));
        }
        Tensor equal(n);
        CHECK(cpu::argmax(equal) == 0);
        equal(n / 2) = equal(n - 1) = 1;
        CHECK(cpu::argmax(equal) == n / 2);
        for (float& logit : equal) logit = -1e30f;  // the tail's empty lanes must not win
        CHECK(cpu::argmax(equal) == 0);
    }
}

TEST_CASE("sampling: broken logits give -1 wherever they stand") {
    for (const int n : sizes) {
        CAPTURE(n);
        for (int at = 0; at < n; at = at < 70 ? at + 1 : at + 61) {
            for (const float broken : {nan_value, -nan_value, infinity}) {
                Tensor logits = model_logits(n, 1);
                logits(at) = broken;
                CHECK(cpu::argmax(logits) == no_token);
                CHECK(fast_sample(logits, {.temperature = 1, .top_k = 3}) == no_token);
            }
        }
        Tensor logits(n);
        std::fill(logits.begin(), logits.end(), -infinity);
        CHECK(cpu::argmax(logits) == no_token);
        CHECK(fast_sample(logits, {.temperature = 1}) == no_token);
        logits(n - 1) = -5;
        CHECK(cpu::argmax(logits) == n - 1);
        CHECK(fast_sample(logits, {.temperature = 1, .top_p = .5f}) == n - 1);
    }
}

TEST_CASE("sampling: the lesson's choice under every filter") {
    int n_compared = 0, n_different = 0;
    for (const Sampling& settings : many_settings()) {
        for (const int n : {1, 3, 65, 576}) {
            const Tensor logits = model_logits(n, uint64_t(n_compared));
            for (int position = 0; position < 3; ++position) {
                Sampling s = settings;
                s.seed = uint64_t(n_compared++);
                const int fast = fast_sample(logits, s, position), slow = sample(logits, {}, s, position);
                if (fast == slow) continue;
                ++n_different;
                CAPTURE(s.temperature);
                CAPTURE(s.top_k);
                CAPTURE(s.top_p);
                CAPTURE(s.min_p);
                const float u = uniform(s.seed, uint32_t(position), 0, Purpose::sample);
                CHECK(distance_from_share(choices(logits, {}, s), fast, u) <= 1e-6);
            }
        }
    }
    CHECK(n_different * 1000 <= n_compared);
}

TEST_CASE("sampling: the lesson's choice in a real vocabulary") {
    for (const float spread : {.01f, 1.0f, 4.0f}) {
        const Tensor logits = model_logits(49152, 3, spread);
        for (const Sampling& s : {Sampling{},
                                  {.temperature = 1},
                                  {.temperature = .8f, .top_k = 40, .top_p = .95f},
                                  {.temperature = .8f, .top_p = .95f},
                                  {.temperature = 2, .top_p = .5f},
                                  {.temperature = 1, .top_k = 1000},
                                  {.temperature = 1, .min_p = .1f}}) {
            const float u = uniform(s.seed, 11, 0, Purpose::sample);
            CHECK(distance_from_share(choices(logits, {}, s), fast_sample(logits, s, 11), u) <= 1e-5);
        }
    }
}

TEST_CASE("sampling: near ties at a tiny temperature, where few floats lie between kept and cut") {
    for (const float largest : {-3.0f, .5f, 20.0f, 1000.0f}) {
        Tensor logits(200);  // differences of 1e-6 to 1e-3, then to 0.1, in no order
        for (int i = 0; i < 200; ++i) {
            logits(i * 77 % 200) = i < 2 ? largest : largest - 1e-6f * std::pow(1e5f, float(i - 2) / 197);
        }
        for (const float temperature : {1e-3f, 1e-2f}) {
            for (const float min_p : {.05f, .5f, 1.0f}) {
                for (const float top_p : {.9f, 1.0f}) {
                    INFO(largest, ", T ", temperature, ", min-p ", min_p, ", top-p ", top_p);
                    const Sampling s = {.temperature = temperature, .top_p = top_p, .min_p = min_p};
                    const std::vector<Candidate> kept = choices(logits, {}, s);
                    for (int position = 0; position < 200; ++position) {
                        const float u = uniform(s.seed, uint32_t(position), 0, Purpose::sample);
                        CHECK(distance_from_share(kept, fast_sample(logits, s, position), u) <= 1e-6);
                    }
                }
            }
        }
    }
}

TEST_CASE("sampling: ties and what public bugs got wrong") {
    const auto draws = [](const std::vector<float>& logits, const Sampling& settings) {
        std::vector<bool> seen(logits.size());
        for (int position = 0; position < 300; ++position) {
            seen[size_t(fast_sample(logits, settings, position))] = true;
        }
        return seen;
    };
    const auto logits_of = [](const std::vector<double>& probabilities) {
        std::vector<float> logits;
        for (const double p : probabilities) logits.push_back(float(std::log(p)));
        return logits;
    };
    using Seen = std::vector<bool>;
    CHECK(draws({1, 1, 1, 1}, {.temperature = 1, .top_k = 2}) == Seen{true, true, false, false});
    CHECK(draws({1, 1, 1, 1}, {.temperature = 1, .top_p = .5f}) == Seen{true, true, false, false});
    CHECK(draws(logits_of({.5, .41, .09}), {.temperature = 1, .top_p = .9f}) == Seen{true, true, false});
    CHECK(draws(logits_of({.3, .1, .1, .5}), {.temperature = 1, .top_p = .8f}) ==
          Seen{true, false, false, true});
    CHECK(draws(logits_of({.1, .2, .3, .4}), {.temperature = 1, .top_p = 0}) ==
          Seen{false, false, false, true});
    CHECK(draws(logits_of({.1, .2, .3, .4}), {.temperature = 1}) == Seen{true, true, true, true});
    CHECK(draws(logits_of({.4, .3, .2, .1}), {.temperature = 1, .top_k = 2, .top_p = .5f}) ==
          Seen{true, false, false, false});
    CHECK(draws({-infinity, 0, -infinity}, {.temperature = 1}) == Seen{false, true, false});
}

TEST_CASE("sampling: the repetition penalty, once a token") {
    Tensor logits = model_logits(100, 2);
    for (int i = 0; i < 100; ++i) logits(i) += 1;
    for (const float penalty : {1.0f, 1.3f, .7f}) {
        for (const std::vector<int>& history : {std::vector<int>{}, {0, 5, 5, 5, 99}, {argmax(logits)}}) {
            for (const float temperature : {0.0f, .9f}) {
                const Sampling s = {.temperature = temperature, .repetition_penalty = penalty};
                CHECK(fast_sample(logits, s, 4, history) == sample(logits, history, s, 4));
            }
        }
    }
}

TEST_CASE("sampling: a row does not notice its neighbours, nor the threads") {
    constexpr int n_rows = 13, vocab_size = 1001;
    Tensor logits(n_rows, vocab_size);
    std::vector<Sampling> sampling;
    std::vector<int> positions, history, begin = {0};
    for (int row = 0; row < n_rows; ++row) {
        const Tensor one = model_logits(vocab_size, uint64_t(row));
        std::copy(one.begin(), one.end(), logits.row(row).begin());
        sampling.push_back({.temperature = row % 4 ? .5f * float(row % 4) : 0,
                            .top_k = row % 3 ? 0 : 40,
                            .top_p = row % 2 ? .9f : 1,
                            .repetition_penalty = row % 5 ? 1 : 1.5f,
                            .seed = uint64_t(row) << 33});
        positions.push_back(100 - row);
        for (int i = 0; i < row % 4; ++i) history.push_back(argmax(one) * i / 3);
        begin.push_back(int(history.size()));
    }
    logits(3, 1000) = nan_value;
    logits(7, 0) = infinity;
    for (const int n_threads : {1, 2, 4}) {
        CAPTURE(n_threads);
        Team team(n_threads);
        cpu::SampleScratch scratch(n_threads, vocab_size);
        std::vector<int> next(n_rows, -7);
        for (int round = 0; round < 2; ++round) {  // the second in used scratch
            team.run([&](const Worker& worker) {
                cpu::sample(worker, next, logits, sampling, positions, history, begin, scratch);
            });
            for (int row = 0; row < n_rows; ++row) {
                CAPTURE(row);
                const std::vector<int> own(history.begin() + begin[size_t(row)],
                                           history.begin() + begin[size_t(row) + 1]);
                CHECK(next[size_t(row)] ==
                      sample(logits.row(row), own, sampling[size_t(row)], positions[size_t(row)]));
                CHECK((next[size_t(row)] == -1) == (row == 3 || row == 7));
            }
        }
    }
}
