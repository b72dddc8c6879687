// The next token from the logits, fast: lesson 06's filters in its order, with its choices, without sorting
// the vocabulary.
#pragma once

#include <vector>

#include "common/batch.hpp"
#include "common/threads.hpp"

namespace cpu {

// The id of the largest of logits [vocab_size], the lowest among equals. -1 when nothing can be chosen: a NaN
// or +infinity among them, or nothing finite.
int argmax(View<const float> logits);

// What one row's choice needs, sized for the vocabulary. Threads work on different rows, each in its own.
class SampleScratch {
  public:
    SampleScratch(int n_threads, int vocab_size);

    struct Candidate {
        float logit;
        int id;
        float weight;
    };
    struct Row {
        std::vector<float> scores;         // [vocab_size] logits after the repetition penalty
        std::vector<float> block_largest;  // [n_blocks] the largest logit of each block of neighbours ..
        std::vector<float> ranked_blocks;  // [n_blocks] .. and a copy to select from
        std::vector<float> logits;         // [vocab_size] of the candidates, in the order of ids ..
        std::vector<int> ids;              // [vocab_size]
        std::vector<float> weights;        // [vocab_size]
        std::vector<Candidate> ranked;     // [vocab_size] .. and a copy to select from
    };
    Row& row(int thread) { return rows_[size_t(thread)]; }

  private:
    std::vector<Row> rows_;
};

// One choice, with the arguments of the lesson's sample. -1: the logits are broken.
//   position   where the new token will stand in its sequence: the draw depends on it and on the seed
//   history    prompt and answer; read only where a repetition penalty is asked for
// Settings and ids must have been checked (lesson 06: check_sampling).
int sample(View<const float> logits, View<const int> history, const Sampling& settings, int position,
           SampleScratch::Row& row);

// The same for a batch, the rows shared among the team: next [n_rows], logits [n_rows, vocab_size], sampling and
// positions [n_rows]. Row r's history is history[begin[r]] .. history[begin[r + 1] - 1], begin [n_rows + 1]. A row
// with broken logits gets -1; the others do not notice.
void sample(const Worker& worker, View<int> next, View<const float> logits, View<const Sampling> sampling,
            View<const int> positions, View<const int> history, View<const int> history_begin,
            SampleScratch& scratch);

}  // namespace cpu
