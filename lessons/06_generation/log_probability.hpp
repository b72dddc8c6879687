// How sure the model was: log-probabilities of its own distribution, before penalty, temperature and filters,
// so that they do not depend on how we choose.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "common/tensor.hpp"

// log of the sum of exp of all logits [vocab_size]. The largest is taken out first, so nothing overflows.
inline double log_sum_exp(View<const float> logits) {
    const double largest = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const float logit : logits) sum += std::exp(double(logit) - largest);
    return largest + std::log(sum);
}

inline double log_probability(View<const float> logits, int id) {
    return double(logits(id)) - log_sum_exp(logits);
}

// The n most likely tokens with their log-probabilities, most likely first, the lower id first among equals.
inline std::vector<std::pair<int, double>> most_likely(View<const float> logits, int n) {
    std::vector<int> ids(size_t(logits.size(0)));
    std::iota(ids.begin(), ids.end(), 0);
    n = std::clamp(n, 0, logits.size(0));
    std::partial_sort(ids.begin(), ids.begin() + n, ids.end(),
                      [&](int a, int b) { return logits(a) != logits(b) ? logits(a) > logits(b) : a < b; });
    const double log_sum = log_sum_exp(logits);
    std::vector<std::pair<int, double>> best;
    for (int i = 0; i < n; ++i) best.emplace_back(ids[size_t(i)], double(logits(ids[size_t(i)])) - log_sum);
    return best;
}
