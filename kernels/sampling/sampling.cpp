// A choice needs no sorted vocabulary. The loop that this speeds up is lesson 06's sample(): sort, cut, draw.
// Here the logits are read once, 64 neighbours at a time, and of each block the largest is kept:
//
//   logits          . . . 3 . . | . 9 . . . . | . . . . 1 . | . . 7 . . . | ..      49152 in 768 blocks
//   block_largest         3     |   9         |         1   |     7       | ..
//
// What a filter keeps lies above some bound, and a block whose largest is below it is not looked at again:
//   top-k   the k-th largest of the blocks' largest: k logits are at least as large. Some 50 remain of 49152.
//   min-p   a weight can be compared at once: the most likely token's is 1.
//   top-p   needs the sum of all weights first. Those with less than (1 - p) / n of it each are together less
//           than 1 - p of it, so the share p is reached without them.
// Among what remains a partial selection finds the last one kept, the cut. The draw walks through the
// candidates in the order of ids, as lesson 06 does, past those that come after the cut.
#include "kernels/sampling/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "common/philox.hpp"
#include "common/simd.hpp"

namespace cpu {
namespace {

constexpr int block_width = 64;
constexpr double share_rounding = 1e-6;  // as in lesson 06: .5 + .3 reaches .8f

using Candidate = SampleScratch::Candidate;
using Row = SampleScratch::Row;

bool comes_before(const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

int n_blocks(int vocab_size) { return (vocab_size + block_width - 1) / block_width; }

// Of n <= 64 neighbours. Infinity when one of them is a NaN or +infinity.
float largest_of(const float* logits, int n) {
    const f32x16 infinity = f32x16::broadcast(INFINITY);
    const auto or_infinity = [&](f32x16 x) { return select(x < infinity, x, infinity); };  // NaN < x: never
    f32x16 largest = f32x16::broadcast(-INFINITY);
    int i = 0;
    for (; i + 16 <= n; i += 16) largest = max(largest, or_infinity(f32x16::load(logits + i)));
    const i32x16 inside = i32x16::iota() < i32x16::broadcast(n - i);
    if (i < n) largest = max(largest, select(inside, or_infinity(f32x16::load(logits + i, n - i)), largest));
    return reduce_max(largest);
}

// The id of the largest, as argmax; block_largest [n_blocks] is filled where there is one.
int scan(View<const float> logits, float* block_largest) {
    float best = -INFINITY;
    int best_begin = 0;
    for (int begin = 0; begin < logits.size(0); begin += block_width) {
        const float largest =
            largest_of(logits.data() + begin, std::min(block_width, logits.size(0) - begin));
        if (block_largest) block_largest[begin / block_width] = largest;
        if (largest > best) best = largest, best_begin = begin;
    }
    if (!(std::abs(best) < INFINITY)) return -1;
    return int(std::find(logits.data() + best_begin, logits.end(), best) - logits.data());
}

// The candidates from `bound` on, in the order of ids; returns how many.
int gather(Row& row, View<const float> logits, float bound) {
    int count = 0;
    for (int block = 0; block < n_blocks(logits.size(0)); ++block) {
        if (row.block_largest[size_t(block)] < bound) continue;
        const int begin = block * block_width, end = std::min(begin + block_width, logits.size(0));
        for (int id = begin; id < end; ++id) {  // written always, counted when it belongs: no branch to guess
            row.ids[size_t(count)] = id;
            row.logits[size_t(count)] = logits.data()[id];
            count += logits.data()[id] >= bound;
        }
    }
    return count;
}

// weight = exp((logit - largest) / T)
void weigh(Row& row, int count, float largest, float temperature) {
    const f32x16 top = f32x16::broadcast(largest), t = f32x16::broadcast(temperature);
    for (int i = 0; i < count; i += 16) {
        const int n = std::min(16, count - i);
        store(row.weights.data() + i, exp((f32x16::load(row.logits.data() + i, n) - top) / t), n);
    }
}

double weight_of(const Candidate* begin, const Candidate* end) {
    double sum = 0;
    for (const Candidate* c = begin; c < end; ++c) sum += double(c->weight);
    return sum;
}

// The last candidate, most likely first, of the fewest that reach `enough` together. Half of them at a time is
// put in its place, and the half that holds the crossing is looked at again: 2n steps in all.
Candidate crossing(Candidate* begin, Candidate* end, double enough) {
    while (end - begin > 1) {
        Candidate* middle = begin + (end - begin) / 2;
        std::nth_element(begin, middle, end, comes_before);
        const double half = weight_of(begin, middle);
        if (half >= enough) {
            end = middle;
        } else {
            begin = middle;
            enough -= half;
        }
    }
    return *begin;
}

// From where on candidates have to be looked at one by one.
float lower_bound(Row& row, const Sampling& s, float largest) {
    std::vector<float>& blocks = row.ranked_blocks;
    if (s.top_k > 0 && size_t(s.top_k) <= blocks.size()) {
        std::copy(row.block_largest.begin(), row.block_largest.end(), blocks.begin());
        std::nth_element(blocks.begin(), blocks.begin() + s.top_k - 1, blocks.end(), std::greater<>());
        return blocks[size_t(s.top_k) - 1];
    }
    if (s.top_k > 0 || s.top_p < 1 || s.min_p == 0) return -INFINITY;
    return largest + s.temperature * (std::log(s.min_p) - 1e-3f);  // a little lower: draw() decides
}

// The last of the candidates, most likely first, that top-k and top-p keep.
Candidate find_cut(Row& row, int count, const Sampling& s) {
    Candidate cut = {-INFINITY, std::numeric_limits<int>::max(), 0};
    if (s.top_k == 0 && s.top_p >= 1) return cut;
    double total = 0;
    for (int i = 0; i < count; ++i) total += double(row.weights[size_t(i)]);
    const double least = s.top_k == 0 ? (1 - double(s.top_p)) * total / count : 0;
    Candidate *const begin = row.ranked.data(), *end = begin;
    for (int i = 0; i < count; ++i) {
        *end = {row.logits[size_t(i)], row.ids[size_t(i)], row.weights[size_t(i)]};
        end += double(end->weight) >= least;
    }
    if (s.top_k > 0 && s.top_k < count) {
        std::nth_element(begin, begin + s.top_k - 1, end, comes_before);
        end = begin + s.top_k;
        cut = end[-1];
        total = weight_of(begin, end);
    }
    return s.top_p < 1 ? crossing(begin, end, (double(s.top_p) - share_rounding) * total) : cut;
}

// u in [0, 1) falls into the share of one of those kept, side by side in the order of ids.
int draw(Row& row, int count, Candidate cut, float min_p, float u) {
    const double least = double(min_p) * (1 - share_rounding);
    int n_kept = 0;
    double total = 0;
    for (int i = 0; i < count; ++i) {
        const Candidate c = {row.logits[size_t(i)], row.ids[size_t(i)], row.weights[size_t(i)]};
        if (comes_before(cut, c) || double(c.weight) < least) continue;
        row.ids[size_t(n_kept)] = c.id;
        row.weights[size_t(n_kept++)] = c.weight;
        total += double(c.weight);
    }
    const double target = double(u) * total;
    double sum = 0;
    for (int i = 0; i < n_kept; ++i) {
        sum += double(row.weights[size_t(i)]);
        if (sum > target) return row.ids[size_t(i)];
    }
    return row.ids[size_t(n_kept) - 1];  // not reached: u is at most 1 - 2^-24
}

}  // namespace

int argmax(View<const float> logits) { return scan(logits, nullptr); }

int sample(View<const float> logits, View<const int> history, const Sampling& s, int position,
           SampleScratch::Row& row) {
    if (s.repetition_penalty != 1) {
        std::copy(logits.begin(), logits.end(), row.scores.begin());
        for (const int id : history) {  // always from the original, so once however often the token occurs
            const float logit = logits(id);
            row.scores[size_t(id)] = logit > 0 ? logit / s.repetition_penalty : logit * s.repetition_penalty;
        }
        logits = row.scores;
    }
    const int best = scan(logits, row.block_largest.data());
    if (best < 0 || s.temperature == 0) return best;
    const float largest = logits(best);
    const int count = gather(row, logits, lower_bound(row, s, largest));
    weigh(row, count, largest, s.temperature);
    const float u = uniform(s.seed, uint32_t(position), uint32_t(s.sample_index), Purpose::sample);
    return draw(row, count, find_cut(row, count, s), s.min_p, u);
}

SampleScratch::SampleScratch(int n_threads, int vocab_size) : rows_(size_t(n_threads)) {
    const size_t n = size_t(vocab_size), blocks = size_t(n_blocks(vocab_size));
    for (Row& row : rows_) {
        row = {std::vector<float>(n),    std::vector<float>(blocks), std::vector<float>(blocks),
               std::vector<float>(n),    std::vector<int>(n),        std::vector<float>(n),
               std::vector<Candidate>(n)};
    }
}

void sample(const Worker& worker, View<int> next, View<const float> logits, View<const Sampling> sampling,
            View<const int> positions, View<const int> history, View<const int> history_begin,
            SampleScratch& scratch) {
    const Range rows = worker.share(next.size(0));
    for (int r = rows.begin; r < rows.end; ++r) {
        const View<const int> said =
            history.count() ? history.rows(history_begin(r), history_begin(r + 1)) : history;
        next(r) = sample(logits.row(r), said, sampling(r), positions(r), scratch.row(worker.thread));
    }
    worker.sync();  // every row is chosen before anyone reads one
}

}  // namespace cpu
