// Lesson 02: three loops in four number formats, where they break, and the kernel against them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "common/check.hpp"
#include "common/philox.hpp"
#include "kernels/softmax/softmax.hpp"
#include "lessons/02_softmax/breaking_points.hpp"
#include "lessons/02_softmax/rounded.hpp"
#include "lessons/02_softmax/softmax.hpp"

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
const int lengths[] = {1, 3, 15, 16, 17, 31, 33, 576, 1001};

using Row = std::vector<float>;

Row scores(int n, uint64_t seed, float scale = 8) {
    Row row(static_cast<size_t>(n));
    fill_random(row, seed, scale);
    return row;
}

// The shares of one row. 0: naive, 1: safe, 2: online, 3: the kernel.
Row softmax_of(int way, const Row& x) {
    if (way < 3) return shares<float>(way, x);
    Row out(x.size());
    poison(out);
    cpu::softmax({}, View<float>(out.data(), 1, int(x.size())),
                 View<const float>(x.data(), 1, int(x.size())));
    return out;
}

Row reference(const Row& x) {
    const std::vector<double> wide = shares<double>(1, x);
    return Row(wide.begin(), wide.end());
}

const char* const names[] = {"naive", "safe", "online", "kernel"};

// Shares next to each other and far from each other, in float: each of exp, division and the steps of the sum
// rounds by 2^-24 relative to its result, the steps to either side; 16 allows for sums of 1,001 terms.
constexpr double tolerance = 16 * 0x1p-24;

}  // namespace

TEST_CASE("02 shares worked out by hand") {
    const float third = std::log(3.0f);
    for (int way = 0; way < 4; ++way) {
        INFO(names[way]);
        CHECK(compare(softmax_of(way, {0, third}), Row{0.25f, 0.75f}, tolerance).ok);
        CHECK(compare(softmax_of(way, {-1, -1, -1, -1}), Row{0.25f, 0.25f, 0.25f, 0.25f}, tolerance).ok);
        CHECK(compare(softmax_of(way, {third, 0, third, 0}), Row{0.375f, 0.125f, 0.375f, 0.125f}, tolerance)
                  .ok);
        CHECK(softmax_of(way, {5}) == Row{1});
    }
}

TEST_CASE("02 every way agrees with the reference in double, at ragged lengths") {
    for (const int n : lengths) {
        for (int way = 0; way < 4; ++way) {
            const Row x = scores(n, uint64_t(n));
            const Comparison c = compare(softmax_of(way, x), reference(x), tolerance);
            INFO(names[way], ", ", n, " scores: ", c.text());
            CHECK(c.ok);
        }
    }
}

TEST_CASE("02 shares are positive, add up to one and keep the order of the scores") {
    for (const int n : lengths) {
        const Row x = scores(n, 7, 3);
        for (int way = 0; way < 4; ++way) {
            const Row out = softmax_of(way, x);
            INFO(names[way], ", ", n, " scores");
            CHECK(std::accumulate(out.begin(), out.end(), 0.0) == doctest::Approx(1).epsilon(1e-6));
            for (int i = 0; i < n; ++i) {
                if (!(out[size_t(i)] > 0)) FAIL("share ", i, " is ", out[size_t(i)]);
                const size_t j = size_t(i + 1) % size_t(n);
                if (x[size_t(i)] > x[j] && out[size_t(i)] < out[j]) FAIL("share ", i, " is out of order");
            }
        }
    }
}

TEST_CASE("02 adding a number to all scores changes nothing, however large it is") {
    Row x = scores(33, 3);
    for (float& score : x) score = std::round(score * 64) / 64;  // so that the sums below are exact
    const Row expected = softmax_of(1, x);
    for (const float shift : {100.0f, -200.0f, 65536.0f, -131072.0f}) {
        Row shifted = x;
        for (float& score : shifted) score += shift;
        for (int way = 1; way < 4; ++way) {
            INFO(names[way], " shifted by ", shift);
            CHECK(softmax_of(way, shifted) == softmax_of(way, x));
        }
        CHECK(!compare(softmax_of(0, shifted), expected, 1e-3).ok);  // naive does not survive it
    }
}

TEST_CASE("02 scores at the ends of float") {
    for (int way = 1; way < 4; ++way) {
        INFO(names[way]);
        CHECK(softmax_of(way, {3e38f, -3e38f}) == Row{1, 0});
        CHECK(softmax_of(way, {-3e38f, 3e38f, 3e38f}) == Row{0, 0.5f, 0.5f});
        CHECK(softmax_of(way, {1e-45f, 0}) == Row{0.5f, 0.5f});
    }
}

// ---- Masked scores

TEST_CASE("02 a masked score has share 0, and the others share as if it were not there") {
    for (const int n : lengths) {
        Row x = scores(n, 11), kept;
        for (size_t i = 0; i < x.size(); ++i) {
            if (i % 3 == 1)
                x[i] = -infinity;
            else
                kept.push_back(x[i]);
        }
        const Row expected = reference(kept);
        for (int way = 0; way < 4; ++way) {
            const Row out = softmax_of(way, x);
            Row visible;
            for (size_t i = 0; i < x.size(); ++i) {
                if (i % 3 == 1 && out[i] != 0) FAIL(names[way], ": masked score ", i, " has share ", out[i]);
                if (i % 3 != 1) visible.push_back(out[i]);
            }
            INFO(names[way], ", ", n, " scores");
            CHECK(compare(visible, expected, tolerance).ok);
        }
    }
}

TEST_CASE("02 a row with every score masked is zeros, never NaN") {
    for (const int n : lengths) {
        const Row masked(size_t(n), -infinity), zeros(size_t(n), 0.0f);
        for (int way = 1; way < 4; ++way) {
            INFO(names[way], ", ", n, " scores");
            CHECK(softmax_of(way, masked) == zeros);
        }
        CHECK(std::isnan(softmax_of(0, masked)[0]));
    }
    CHECK(sum_of_shares<Rounded<half>>(1, Row(5, -infinity)) == 0);
    CHECK(sum_of_shares<Rounded<bf16>>(2, Row(5, -infinity)) == 0);
}

// The causal mask aligned to the last query: query t of n_q sees the keys up to n_k - n_q + t.
TEST_CASE("02 causal rows: 5 queries on 2 keys, 2 queries on 5 keys") {
    for (const auto& size : {std::pair{5, 2}, {2, 5}, {3, 3}, {17, 33}, {33, 17}}) {
        const int n_q = size.first, n_k = size.second;
        Tensor x(n_q, n_k), out(n_q, n_k), logs(n_q);
        fill_random(x, 5);
        for (int q = 0; q < n_q; ++q) {
            for (int k = n_k - n_q + q + 1; k < n_k; ++k) {
                if (k >= 0) x(q, k) = -infinity;
            }
        }
        poison(out);
        poison(logs);
        cpu::softmax({}, out, x, logs);
        for (int q = 0; q < n_q; ++q) {
            const int n_visible = std::max(0, n_k - n_q + q + 1);
            double sum = 0;
            for (int k = 0; k < n_k; ++k) {
                INFO("row ", q, ", key ", k, " of ", n_q, " x ", n_k);
                CHECK((out(q, k) > 0) == (k < n_visible));
                CHECK(!std::isnan(out(q, k)));
                sum += out(q, k);
            }
            CHECK(sum == doctest::Approx(n_visible > 0 ? 1 : 0));
            CHECK((logs(q) == -infinity) == (n_visible == 0));
            CHECK(!std::isnan(logs(q)));
        }
    }
}

TEST_CASE("02 NaN is not hidden: one makes the whole row NaN, and no other row") {
    for (const float bad : {not_a_number, infinity}) {  // infinity - infinity is NaN too
        for (const int n : {1, 3, 17, 33}) {
            for (int at = 0; at < n; ++at) {
                Row x = scores(n, 2);
                x[size_t(at)] = bad;
                for (int way = 1; way < 4; ++way) {
                    const Row out = softmax_of(way, x);
                    const size_t clean = size_t(at == 0 && n > 1 ? 1 : 0);
                    INFO(names[way], ": ", bad, " at ", at, " of ", n);
                    CHECK(std::isnan(out[size_t(at)]));
                    if (std::isnan(bad)) CHECK(std::isnan(out[clean]));
                }
            }
        }
        Tensor x(3, 17), out(3, 17);
        x(1, 16) = bad;
        cpu::softmax({}, out, x);
        CHECK(out(0, 16) == doctest::Approx(1.0 / 17));
        CHECK(out(2, 16) == doctest::Approx(1.0 / 17));
    }
    // All masked but for a NaN: not taken for a row with nothing in it.
    for (int way = 1; way < 4; ++way)
        CHECK(std::isnan(softmax_of(way, {-infinity, not_a_number, -infinity})[1]));
}

// ---- The running sum

TEST_CASE("02 a row seen in parts, in any order and cut anywhere, is the same row") {
    for (const int n : {1, 3, 17, 33, 1001}) {
        const Row x = scores(n, 23);
        double expected = 0;
        for (const float score : x) expected += std::exp(double(score));
        for (const int cut : {0, 1, n / 2, n - 1, n}) {
            RunningSum<float> front, back;
            for (int i = 0; i < cut; ++i) front.add(x[size_t(i)]);
            for (int i = cut; i < n; ++i) back.add(x[size_t(i)]);
            RunningSum<float> forward = front, backward = back;
            forward.add(back);
            backward.add(front);
            INFO(n, " scores cut at ", cut);
            CHECK(forward.largest == *std::max_element(x.begin(), x.end()));
            CHECK(forward.log_sum_exp() == doctest::Approx(std::log(expected)).epsilon(1e-6));
            CHECK(backward.log_sum_exp() == doctest::Approx(std::log(expected)).epsilon(1e-6));
        }
    }
    RunningSum<float> nothing, also_nothing, some;
    nothing.add(-infinity);
    nothing.add(also_nothing);
    CHECK(nothing.log_sum_exp() == -infinity);
    some.add(3);
    nothing.add(some);
    CHECK(nothing.log_sum_exp() == 3);
    some.add(also_nothing);
    CHECK(some.log_sum_exp() == 3);
}

TEST_CASE("02 rising scores: the online sum is rescaled at each and still right") {
    Row rising;
    for (int i = 0; i < 1001; ++i) rising.push_back(float(i) / 8);
    const Row falling(rising.rbegin(), rising.rend());
    // Each of the 1,001 factors rounds: more error than in one sum, and no more than a few hundred roundings.
    CHECK(compare(softmax_of(2, rising), reference(rising), 256 * 0x1p-24).ok);
    CHECK(compare(softmax_of(2, falling), reference(falling), tolerance).ok);
}

// ---- Temperature

namespace {

Row at_temperature(const Row& x, float temperature) {
    Row out(x.size());
    softmax_at_temperature<float>(out, x, temperature);
    return out;
}

}  // namespace

TEST_CASE("02 temperature 1 changes nothing, lower sharpens, higher flattens") {
    const Row x = scores(33, 4);
    CHECK(at_temperature(x, 1) == softmax_of(1, x));
    Row halved = x;
    for (float& score : halved) score /= 2;
    CHECK(at_temperature(x, 2) == softmax_of(1, halved));
    const auto largest = [](const Row& row) { return *std::max_element(row.begin(), row.end()); };
    float before = 1.1f;
    for (const float temperature : {0.1f, 0.5f, 1.0f, 3.0f, 100.0f}) {
        const float now = largest(at_temperature(x, temperature));
        CHECK(now < before);
        before = now;
    }
    for (const float share : at_temperature(x, 1e30f)) CHECK(share == doctest::Approx(1.0 / 33));
    CHECK(at_temperature({1, -infinity, 1}, 1e30f) == Row{0.5f, 0, 0.5f});
}

TEST_CASE("02 temperature towards 0 ends at the largest score, without NaN") {
    for (const float temperature : {0.0f, 1e-45f, 1e-38f, 1e-8f}) {
        INFO(temperature);
        CHECK(at_temperature({1, 3, 2}, temperature) == Row{0, 1, 0});
        CHECK(at_temperature({-3e38f, 3e38f, -infinity}, temperature) == Row{0, 1, 0});
        CHECK(at_temperature({2, -1, 2, -infinity}, temperature) == Row{0.5f, 0, 0.5f, 0});
        CHECK(at_temperature({-infinity, -infinity}, temperature) == Row{0, 0});
        CHECK(std::isnan(at_temperature({1, not_a_number, 2}, temperature)[0]));
    }
    const std::vector<Rounded<half>> x{1, 3, 2};
    std::vector<Rounded<half>> out(3);
    softmax_at_temperature<Rounded<half>>(out, x, 1e-8f);  // rounds to 0 in half
    CHECK(float(out[1]) == 1);
    CHECK(float(out[0]) == 0);
}

TEST_CASE("02 a temperature that is none is refused") {
    for (const float wrong : {-1.0f, -1e-30f, infinity, not_a_number})
        CHECK_THROWS_AS(at_temperature({1, 2}, wrong), Error);
}

// ---- 16-bit arithmetic

TEST_CASE("02 every 16-bit operation is the exact result, rounded once") {
    const auto check = [](auto number, int n) {
        using Number = decltype(number);
        for (int i = 0; i < n; ++i) {
            const PhiloxBlock bits = philox(1, {uint32_t(i), 0, 0, 0});
            Number a, b;
            a.stored.bits = uint16_t(bits[0]);
            b.stored.bits = uint16_t(bits[1]);
            const double x = double(a), y = double(b);
            if (!std::isfinite(x) || !std::isfinite(y)) continue;
            // 53 bits hold each of these well enough: rounded to 24 and to 16 bits they round as the exact one.
            for (const auto& [got, exact] :
                 {std::pair{a + b, x + y}, {a - b, x - y}, {a * b, x * y}, {a / b, x / y}}) {
                const Number expected(static_cast<float>(exact));
                if (std::isnan(exact) ? !std::isnan(float(got)) : got.stored.bits != expected.stored.bits) {
                    FAIL(x, " and ", y, ": ", double(got), " for ", exact);
                }
            }
        }
    };
    check(Rounded<half>(), 50'000);
    check(Rounded<bf16>(), 50'000);
}

TEST_CASE("02 where counting ends: 2,048 in half, 256 in bf16") {
    CHECK(float(Rounded<half>(2048) + Rounded<half>(1)) == 2048);
    CHECK(float(Rounded<half>(2047) + Rounded<half>(1)) == 2048);
    CHECK(float(Rounded<bf16>(256) + Rounded<bf16>(1)) == 256);
    CHECK(float(Rounded<bf16>(255) + Rounded<bf16>(1)) == 256);
}

TEST_CASE("02 the formula overflows at the score where exp leaves the format, and not before") {
    const auto finite = [](auto number, float score) {
        using Number = decltype(number);
        return std::isfinite(sum_of_shares<Number>(0, {score}));
    };
    CHECK(finite(1.0f, 88.72f));
    CHECK(!finite(1.0f, 88.73f));
    CHECK(finite(Rounded<half>(), 11.085f));  // the largest half number that still works: exp = 65,190
    CHECK(!finite(Rounded<half>(), 11.1f));
    CHECK(finite(Rounded<bf16>(), 88.5f));
    CHECK(!finite(Rounded<bf16>(), 89));
    CHECK(finite(1.0f, -103.9f));
    CHECK(!finite(1.0f, -104));  // exp is 0, and 0 / 0
    CHECK(finite(Rounded<half>(), -17.3f));
    CHECK(!finite(Rounded<half>(), -17.4f));
}

TEST_CASE("02 the breaking points break as the lesson says") {
    const auto row = [](const char* name) {
        for (const BreakingPoint& point : breaking_points()) {
            if (point.name == std::string(name)) return point.scores;
        }
        FAIL("no row called ", name);
        return Row{};
    };
    using Half = Rounded<half>;
    using Bf16 = Rounded<bf16>;
    // Naive: NaN by overflow, NaN by underflow, and zeros without any NaN.
    CHECK(std::isnan(sum_of_shares<Half>(0, row("one 12"))));
    CHECK(std::isnan(sum_of_shares<float>(0, row("one 89"))));
    CHECK(std::isnan(sum_of_shares<Bf16>(0, row("one 89"))));
    CHECK(std::isnan(sum_of_shares<Half>(0, row("all -20"))));
    CHECK(std::isnan(sum_of_shares<float>(0, row("all -110"))));
    CHECK(sum_of_shares<Half>(0, row("1001 x 5")) == 0);
    // Safe and online: no NaN anywhere, but a sum that stops growing.
    for (const BreakingPoint& point : breaking_points()) {
        for (int way = 1; way < 3; ++way) {
            INFO(names[way], " at ", point.name);
            const double right = point.name == std::string("masked") ? 0 : 1;
            CHECK(sum_of_shares<float>(way, point.scores) == doctest::Approx(right).epsilon(1e-4));
            CHECK(std::isfinite(sum_of_shares<Half>(way, point.scores)));
            CHECK(std::isfinite(sum_of_shares<Bf16>(way, point.scores)));
            if (right == 0) CHECK(sum_of_shares<Half>(way, point.scores) == 0);
        }
        // Stored in 16 bits and computed in float, only the rounding of each share is left: half a unit of it.
        const double right = point.name == std::string("masked") ? 0 : 1;
        CHECK(sum_with_float_arithmetic<half>(point.scores) == doctest::Approx(right).epsilon(0x1p-11));
        CHECK(sum_with_float_arithmetic<bf16>(point.scores) == doctest::Approx(right).epsilon(0x1p-8));
    }
    CHECK(sum_of_shares<Half>(1, row("4096 x 0")) == 2);
    CHECK(sum_of_shares<Bf16>(1, row("4096 x 0")) == 16);
    CHECK(sum_of_shares<Bf16>(2, row("4096 x 0")) == 16);
    CHECK(sum_of_shares<Bf16>(1, row("1001 x 5")) == doctest::Approx(1001 / 256.0).epsilon(1e-3));
}

// ---- The kernel

TEST_CASE("02 the kernel: any shape, in place too, with the log of the sum") {
    for (const int n_rows : {1, 3, 17}) {
        for (const int n_columns : lengths) {
            Tensor x(n_rows, n_columns), out(n_rows, n_columns), logs(n_rows);
            fill_random(x, uint64_t(n_columns), 20);
            poison(out);
            poison(logs);
            cpu::softmax({}, out, x, logs);
            for (int row = 0; row < n_rows; ++row) {
                const Row scores_of_row(x.row(row).begin(), x.row(row).end());
                double sum = 0;
                for (const float score : scores_of_row) sum += std::exp(double(score));
                CHECK(compare(out.row(row), reference(scores_of_row), tolerance).ok);
                CHECK(logs(row) == doctest::Approx(std::log(sum)).epsilon(1e-6));
            }
            Tensor same = x;
            cpu::softmax({}, same, same);
            CHECK(std::equal(same.begin(), same.end(), out.begin()));
        }
    }
    Tensor x(3, 5), wrong(5, 3);
    CHECK_THROWS_AS(cpu::softmax({}, wrong, x), Error);
    CHECK_THROWS_AS(cpu::softmax({}, x, x, wrong), Error);
    Tensor none(0, 5), empty_rows(3, 0);
    cpu::softmax({}, none, none);
    cpu::softmax({}, empty_rows, empty_rows);
}

TEST_CASE("02 the kernel: the same bits for any number of threads, and whatever the other rows are") {
    Tensor x(33, 1001), alone(33, 1001);
    fill_random(x, 8, 10);
    cpu::softmax({}, alone, x);
    for (const int n_threads : {2, 4, 40}) {
        Tensor out(33, 1001);
        poison(out);
        Team team(n_threads);
        team.run([&](const Worker& worker) { cpu::softmax(worker, out, x); });
        CHECK(std::equal(out.begin(), out.end(), alone.begin()));
    }
    for (const int row : {0, 16, 32}) {
        const Row out = softmax_of(3, Row(x.row(row).begin(), x.row(row).end()));
        CHECK(std::equal(out.begin(), out.end(), alone.row(row).begin()));
    }
}

TEST_CASE("02 the kernel: a tail is computed as if masked scores filled it up") {
    for (int n = 1; n <= 48; ++n) {
        const Row x = scores(n, 31);
        Row filled = x;
        filled.resize(size_t(n + 15) / 16 * 16, -infinity);
        const Row out = softmax_of(3, x), full = softmax_of(3, filled);
        INFO(n, " scores");
        CHECK(std::equal(out.begin(), out.end(), full.begin()));
    }
}
