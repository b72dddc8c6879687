// The choice of the next token: small functions over the model's scores, and `sample`, which is their order.
//
//   logits [vocab_size]
//    | repetition penalty   tokens that were there before get less likely
//    | temperature          every logit divided by T: under 1 sharper, over 1 flatter; 0 leaves the largest alone
//    | top-k                of the candidates, most likely first, the first k ..
//    | top-p                .. of those, as few as hold the share p of what is left ..
//    | min-p                .. of those, the ones at least min_p times as likely as the first
//    | draw                 one of the rest, by its share
//   id
//
// Each filter sees what the one before it left. The temperature comes before them all, so that "the share p"
// is one of the distribution that is drawn from; and k, which needs no probabilities, comes first of them.
// Top-p: Holtzman et al. 2020. Min-p: Nguyen et al. 2024. Repetition penalty: Keskar et al. 2019, section 4.1.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/batch.hpp"
#include "common/philox.hpp"

constexpr int no_token = -1;  // what a choice among broken logits gives

struct Candidate {
    int id;
    float logit;
    double weight;  // exp of how far it lies under the largest logit; over the sum of all: the probability
};

inline bool comes_before(const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

// Two shares that differ by less count as equal: .5 + .3 reaches .8, though 0.5 + 0.3 < 0.8f.
constexpr double share_rounding = 1e-6;

inline double total_weight(const std::vector<Candidate>& candidates) {
    double sum = 0;
    for (const Candidate& c : candidates) sum += c.weight;
    return sum;
}

// Settings that make no sense are refused before the first token, with the name that the flag has.
inline void check_sampling(const Sampling& s) {
    const auto refuse = [](const char* name, const char* range, double value) {
        fail("%s must be %s, got %g", name, range, value);
    };
    if (!(s.temperature >= 0 && s.temperature <= 1e6f))
        refuse("temperature", "0 (greedy) to 1e6", s.temperature);
    if (s.top_k < 0) refuse("top-k", "0 (all) or more", s.top_k);
    if (!(s.top_p >= 0 && s.top_p <= 1)) refuse("top-p", "0 to 1 (all)", s.top_p);
    if (!(s.min_p >= 0 && s.min_p <= 1)) refuse("min-p", "0 (all) to 1", s.min_p);
    if (!(s.repetition_penalty >= 0.01f && s.repetition_penalty <= 100)) {
        refuse("repetition penalty", "0.01 to 100 (1: none)", s.repetition_penalty);
    }
}

// Of a NaN or +infinity nothing can be said, and one score at least must be finite. -infinity alone is fine:
// a token that must not come.
inline bool can_choose(View<const float> logits) {
    bool any = false;
    for (const float logit : logits) {
        if (std::isnan(logit) || logit == INFINITY) return false;
        any = any || logit > -INFINITY;
    }
    return any;
}

// The lowest id of equal ones.
inline int argmax(View<const float> logits) {
    return int(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

// Prompt and answer are the history. Dividing a negative logit would make it more likely, so those are
// multiplied; a token is penalised once, however often it occurred.
inline Tensor penalise_repetition(View<const float> logits, View<const int> history, float penalty) {
    Tensor out(logits.size(0));
    std::copy(logits.begin(), logits.end(), out.begin());
    for (const int id : history) out(id) = logits(id) > 0 ? logits(id) / penalty : logits(id) * penalty;
    return out;
}

// Most likely first. The largest is subtracted before the division: for T = 1e-8 the other order would give
// infinity - infinity.
inline std::vector<Candidate> at_temperature(View<const float> logits, float temperature) {
    const int best = argmax(logits);
    if (temperature == 0) return {{best, logits(best), 1}};
    std::vector<Candidate> candidates;
    for (int id = 0; id < logits.size(0); ++id) {
        const double weight = std::exp(double((logits(id) - logits(best)) / temperature));
        candidates.push_back({id, logits(id), weight});
    }
    std::sort(candidates.begin(), candidates.end(), comes_before);
    return candidates;
}

// 0: all.
inline void keep_top_k(std::vector<Candidate>& candidates, int k) {
    if (k > 0 && size_t(k) < candidates.size()) candidates.resize(size_t(k));
}

// The fewest that together reach the share p, the one that crosses it included; never none. 1: all.
inline void keep_top_p(std::vector<Candidate>& candidates, float p) {
    if (p >= 1) return;
    const double enough = (double(p) - share_rounding) * total_weight(candidates);
    size_t n_kept = 0;
    for (double sum = 0; n_kept == 0 || (n_kept < candidates.size() && sum < enough); ++n_kept) {
        sum += candidates[n_kept].weight;
    }
    candidates.resize(n_kept);
}

// Against the first one, whose weight is 1. 0: all.
inline void keep_min_p(std::vector<Candidate>& candidates, float min_p) {
    const double least = double(min_p) * (1 - share_rounding);
    while (candidates.back().weight < least) candidates.pop_back();
}

// All that is left to draw from, most likely first; nothing when the logits are broken.
inline std::vector<Candidate> choices(View<const float> logits, View<const int> history, const Sampling& s) {
    const Tensor scores = penalise_repetition(logits, history, s.repetition_penalty);
    if (!can_choose(scores)) return {};
    std::vector<Candidate> candidates = at_temperature(scores, s.temperature);
    keep_top_k(candidates, s.top_k);
    keep_top_p(candidates, s.top_p);
    keep_min_p(candidates, s.min_p);
    return candidates;
}

// u in [0, 1) falls into one candidate's share; the shares lie side by side in the order of ids. In the order
// of likelihood two nearly equal tokens could change places by a rounding error elsewhere in the model, and
// the draw with them; and a GPU would have to sort what it only has to add up.
inline int draw(std::vector<Candidate> candidates, float u) {
    std::sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    const double target = double(u) * total_weight(candidates);
    double sum = 0;
    for (const Candidate& c : candidates) {
        sum += c.weight;
        if (sum > target) return c.id;
    }
    return candidates.empty() ? no_token : candidates.back().id;  // not reached: u is at most 1 - 2^-24
}

// position: where the new token will stand in its sequence. With the seed it is all that the draw depends on.
inline int sample(View<const float> logits, View<const int> history, const Sampling& s, int position) {
    return draw(choices(logits, history, s),
                uniform(s.seed, uint32_t(position), uint32_t(s.sample_index), Purpose::sample));
}
