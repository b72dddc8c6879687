// Rows of scores at which one way of computing softmax breaks in one number format, and what comes out: the sum
// of the shares, which should be 1.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "common/bench.hpp"
#include "lessons/02_softmax/rounded.hpp"
#include "lessons/02_softmax/softmax.hpp"

struct BreakingPoint {
    const char* name;  // the column's head
    const char* what;
    std::vector<float> scores;
};

inline std::vector<BreakingPoint> breaking_points() {
    const auto spread = [](int n, float low, float high) {  // n scores, evenly spaced and rising
        std::vector<float> scores;
        for (int i = 0; i < n; ++i) scores.push_back(low + (high - low) * float(i) / float(n - 1));
        return scores;
    };
    const auto with = [&](float last) {
        std::vector<float> scores = spread(33, -3, 3);
        scores.back() = last;
        return scores;
    };
    const float masked = minus_infinity<float>;
    return {
        {"-3..3", "33 scores: what everybody tests with", spread(33, -3, 3)},
        {"one 12", "and one of 12: exp(12) = 162,755, half ends at 65,504", with(12)},
        {"one 89", "and one of 89: exp(89) = 4.5e38, float and bf16 end at 3.4e38", with(89)},
        {"all -20", "33 scores of -20: exp(-20) = 2.1e-9, half begins at 6.0e-8",
         std::vector<float>(33, -20)},
        {"all -110", "33 scores of -110: exp(-110) = 1.7e-48, float begins at 1.4e-45",
         std::vector<float>(33, -110)},
        {"1001 x 5", "1,001 scores of 5: each exp fits into half, their sum does not",
         std::vector<float>(1001, 5)},
        {"4096 x 0", "4,096 equal scores: adding 1 ends at 256 in bf16 and at 2,048 in half",
         std::vector<float>(4096, 0)},
        {"rising", "1,001 scores from 0 to 10: the online sum is rescaled at each", spread(1001, 0, 10)},
        {"masked", "33 masked scores: the right sum is 0", std::vector<float>(33, masked)},
    };
}

// The shares of a row, computed in Number. 0: naive, 1: safe, 2: online.
template <class Number>
std::vector<Number> shares(int way, const std::vector<float>& scores) {
    const std::vector<Number> x(scores.begin(), scores.end());
    std::vector<Number> out(x.size());
    if (way == 0) softmax_naive<Number>(out, x);
    if (way == 1) softmax_safe<Number>(out, x);
    if (way == 2) softmax_online<Number>(out, x);
    return out;
}

template <class Number>
double sum_of_shares(int way, const std::vector<float>& scores) {
    double sum = 0;
    for (const Number share : shares<Number>(way, scores)) sum += double(share);
    return sum;
}

// What machines do about it: the scores are stored in 16 bits, and all arithmetic is float.
template <class Format>
double sum_with_float_arithmetic(const std::vector<float>& scores) {
    std::vector<float> x;
    for (const float score : scores) x.push_back(to_float(round_to<Format>(score)));
    double sum = 0;
    for (const float share : shares<float>(1, x)) sum += to_float(round_to<Format>(share));
    return sum;
}

inline Table breaking_table() {
    const std::vector<BreakingPoint> points = breaking_points();
    std::vector<std::string> head{"computed", "in"};
    for (const BreakingPoint& point : points) head.push_back(point.name);
    Table table(head, "sum of the shares, by row of scores (right: 1, and 0 for masked)");
    const auto add = [&](const char* way, const char* format, auto sum) {
        std::vector<Cell> cells{way, format};
        for (const BreakingPoint& point : points) cells.push_back({sum(point.scores), 4});
        table.add(cells);
    };
    const char* const ways[] = {"naive", "safe", "online"};
    for (int way = 0; way < 3; ++way) {
        add(ways[way], "float", [=](const auto& x) { return sum_of_shares<float>(way, x); });
        add(ways[way], "half", [=](const auto& x) { return sum_of_shares<Rounded<half>>(way, x); });
        add(ways[way], "bf16", [=](const auto& x) { return sum_of_shares<Rounded<bf16>>(way, x); });
    }
    add("safe", "half, float inside", [](const auto& x) { return sum_with_float_arithmetic<half>(x); });
    add("safe", "bf16, float inside", [](const auto& x) { return sum_with_float_arithmetic<bf16>(x); });
    return table;
}
