// Texts that end an answer. A token may hold only a part of such a text, so what has been generated is held
// back for as long as it may still become one, and no longer; whatever does not is shown, none of it is lost.
//
//   stop at "END"    pushed   "The E"   "N"   "ergy E"   "ND of"
//                    shown    "The "    ""    "ENergy "  ""       found
//                    held     "E"       "EN"  "E"
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/error.hpp"
#include "lessons/04_tokenizer/unicode.hpp"

// One text to look for in a stream of bytes. Nothing is read twice: after a mismatch the search goes on
// with the longest shorter prefix that still fits (Knuth, Morris, Pratt 1977).
class StopString {
  public:
    explicit StopString(std::string text) : text_(std::move(text)), shorter_(text_.size() + 1, 0) {
        if (text_.empty()) fail("a stop string is empty: it would end every answer at once");
        for (size_t at = 0;
             at < text_.size();) {  // whole characters, so that nothing is ever cut inside of one
            const Character c = first_character(std::string_view(text_).substr(at));
            if (c.code < 0) fail("a stop string is not valid UTF-8: byte %zu of it", at + 1);
            at += size_t(c.size);
        }
        for (size_t n = 1; n < text_.size(); ++n) shorter_[n + 1] = extend(shorter_[n], text_[n]);
    }

    size_t matched() const { return matched_; }  // so many last bytes of the stream are its first ones
    bool found() const { return matched_ == text_.size(); }
    void push(char byte) { matched_ = extend(matched_, byte); }

  private:
    // The longest prefix of the text that ends the stream, when one of n bytes did before this byte.
    size_t extend(size_t n, char byte) const {
        while (n > 0 && text_[n] != byte) n = shorter_[n];
        return text_[n] == byte ? n + 1 : 0;
    }

    std::string text_;
    std::vector<size_t> shorter_;  // [n]: the longest prefix, shorter than n, that ends the prefix of n bytes
    size_t matched_ = 0;
};

// Several at once. The one that is complete first ends the text; of two that end together, the longer one.
// So the answer does not depend on how the text was cut into tokens.
class StopStrings {
  public:
    explicit StopStrings(const std::vector<std::string>& texts) : stops_(texts.begin(), texts.end()) {}

    bool found() const { return found_; }

    // Text goes in, and out comes what may be shown. After a stop string nothing does.
    std::string push(std::string_view text) {
        if (found_) return "";
        for (const char byte : text) {
            held_ += byte;
            if (const size_t n = advance(byte)) {
                found_ = true;
                held_.resize(held_.size() - n);
                return finish();
            }
        }
        size_t n_held = 0;
        for (const StopString& stop : stops_) n_held = std::max(n_held, stop.matched());
        std::string shown = held_.substr(0, held_.size() - n_held);
        held_.erase(0, shown.size());
        return shown;
    }

    // The end of the text: what was held back can become nothing else any more.
    std::string finish() { return std::exchange(held_, ""); }

  private:
    // One more byte; returns the length of the stop string that is now complete, or 0.
    size_t advance(char byte) {
        size_t n_complete = 0;
        for (StopString& stop : stops_) {
            stop.push(byte);
            if (stop.found()) n_complete = std::max(n_complete, stop.matched());
        }
        return n_complete;
    }

    std::vector<StopString> stops_;
    std::string held_;
    bool found_ = false;
};
