// The loop that writes: the model scores the next token, one is chosen, it is appended, and again. It ends at
// a token that says so, at a stop string, at a length, or at logits that nothing can be chosen from.
//
//   ids [n_tokens] -> step -> logits [vocab_size] -> sample -> id -> Generation -> text to show
//      ^                                                        |
//      +--------------------------- appended -------------------+
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lessons/04_tokenizer/stream_decoder.hpp"
#include "lessons/04_tokenizer/tokenizer.hpp"
#include "lessons/06_generation/sampling.hpp"
#include "lessons/06_generation/stop.hpp"

// The bytes of tokens become text in two stages, and each may hold some of it back for a while: half of a
// character, then what may become a stop string. What has been shown is never taken back.
class TextStream {
  public:
    explicit TextStream(const std::vector<std::string>& stops) : stops_(stops) {}

    bool stopped() const { return stops_.found(); }
    std::string push(std::string_view bytes) { return stops_.push(decoder_.push(bytes)); }
    std::string finish() {
        std::string text = stops_.push(decoder_.finish());
        return text + stops_.finish();
    }

  private:
    StreamDecoder decoder_;
    StopStrings stops_;
};

enum class Finish { not_yet, stop, length, error, cancelled };

inline const char* finish_name(Finish finish) {
    switch (finish) {
        case Finish::not_yet: return "not yet";
        case Finish::stop: return "stop";
        case Finish::length: return "length";
        case Finish::error: return "error";
        case Finish::cancelled: return "cancelled";
    }
    return "";
}

// One answer in the making: fed token by token, it says what to show and when it is over. It does not care
// where tokens come from, so every engine of this book feeds the same one.
class Generation {
  public:
    // The tokenizer must outlive it. max_tokens 0: over before it begins.
    Generation(const Tokenizer& tokenizer, std::vector<int> prompt, int max_tokens,
               const std::vector<std::string>& stops = {})
        : tokenizer_(&tokenizer), ids_(std::move(prompt)), n_prompt_(ids_.size()), stream_(stops) {
        if (max_tokens < 0) fail("max-tokens must be 0 or more, got %d", max_tokens);
        max_tokens_ = size_t(max_tokens);
        if (max_tokens == 0) finish_ = Finish::length;
    }

    Finish finish() const { return finish_; }
    bool finished() const { return finish_ != Finish::not_yet; }
    View<const int> ids() const { return ids_; }  // prompt and answer
    View<const int> answer_ids() const { return ids().rows(int(n_prompt_), int(ids_.size())); }
    const std::string& text() const { return text_; }  // of the answer, as shown so far
    int position() const { return int(ids_.size()); }  // where the next token will stand

    // The next token, or no_token; returns the text that may be shown now. The token that ends an answer
    // counts among its ids, but not to its text.
    std::string push(int id) {
        if (id == no_token) return end(Finish::error);
        ids_.push_back(id);
        if (tokenizer_->ends_generation(id)) return end(Finish::stop);
        std::string shown = show(stream_.push(tokenizer_->bytes_of(id)));
        if (stream_.stopped()) return shown + end(Finish::stop);
        if (ids_.size() - n_prompt_ == max_tokens_) return shown + end(Finish::length);
        return shown;
    }

    // From outside: the reader has gone, or the context is full. Returns what was still held back.
    std::string end(Finish why) {
        if (finished()) return "";
        finish_ = why;
        return show(stream_.finish());
    }

  private:
    std::string show(std::string text) {
        text_ += text;
        return text;
    }

    const Tokenizer* tokenizer_;
    std::vector<int> ids_;
    size_t n_prompt_, max_tokens_ = 0;
    TextStream stream_;
    std::string text_;
    Finish finish_ = Finish::not_yet;
};

// ids [n_tokens] -> the logits [vocab_size] after the last of them. How it gets there is its own affair:
// lesson 05 computes every token again at every step, lesson 07 only the ones that it has not seen.
using Step = std::function<Tensor(View<const int> ids)>;

inline void generate(Generation& answer, const Step& step, const Sampling& sampling,
                     const std::function<void(std::string_view)>& show) {
    check_sampling(sampling);
    while (!answer.finished()) {
        const Tensor logits = step(answer.ids());
        show(answer.push(sample(logits, answer.ids(), sampling, answer.position())));
    }
}
