// Softmax turns a row of scores into shares: all positive, together 1, the larger score the larger share.
//
//   share(i) = exp(x(i)) / (sum over all j of exp(x(j)))          x, out [n]
//
// Three ways to compute it, each once as a loop. Number is float, double (the reference), or a 16-bit number
// that rounds after every operation (rounded.hpp). A score of -infinity is a masked one: its share is 0.
// A row with nothing but masked scores has nothing to share: zeros. NaN in a row makes the whole row NaN.
#pragma once

#include <cmath>
#include <limits>
#include <utility>

#include "common/tensor.hpp"

template <class Number>
inline const Number minus_infinity = Number(-std::numeric_limits<float>::infinity());

// 1 naive: the formula as it stands. exp(89) is no float any more: infinity / infinity is NaN; and where all
// scores are below -104, every exp is 0 and so is their sum.
template <class Number>
void softmax_naive(View<Number> out, View<const Number> x) {
    using std::exp;
    const int n = x.size(0);
    Number sum = 0;
    for (int i = 0; i < n; ++i) sum += out(i) = exp(x(i));
    for (int i = 0; i < n; ++i) out(i) = out(i) / sum;
}

// The largest score of a row; 0 where all are masked, since -infinity - -infinity would be NaN.
template <class Number>
Number peak(View<const Number> x) {
    Number largest = minus_infinity<Number>;
    for (int i = 0; i < x.size(0); ++i) {
        if (x(i) > largest) largest = x(i);
    }
    return largest == minus_infinity<Number> ? Number(0) : largest;
}

// 2 safe: a number subtracted from all scores divides every exp by the same factor, and changes no share. With
// the largest score subtracted no exp is over 1, and one is 1: nothing overflows, and the sum is never 0.
// Reads the row three times: for its largest score, for the sum, for the shares.
template <class Number>
void softmax_safe(View<Number> out, View<const Number> x) {
    using std::exp;
    const int n = x.size(0);
    const Number largest = peak(x);
    Number sum = 0;
    for (int i = 0; i < n; ++i) sum += out(i) = exp(x(i) - largest);
    for (int i = 0; i < n; ++i) out(i) = sum == Number(0) ? Number(0) : out(i) / sum;
}

// What is known of a row after some of its scores: the largest of them, and the sum of exp(score - largest).
template <class Number>
struct RunningSum {
    Number largest = minus_infinity<Number>, sum = 0;

    void add(Number x) {
        using std::exp;
        if (x == minus_infinity<Number>) return;  // masked: adds nothing
        if (x > largest) {                        // the sum so far was measured from a lower peak
            sum = sum * exp(largest - x);
            largest = x;
        }
        sum += exp(x - largest);
    }
    // Two parts of a row, each seen by somebody else, become one: what flash attention (lesson 08) and a row
    // split over threads rest on.
    void add(RunningSum other) {
        using std::exp;
        if (other.largest > largest) std::swap(*this, other);
        if (other.sum == Number(0)) return;  // nothing in it
        sum += other.sum * exp(other.largest - largest);
    }
    // log(sum over j of exp(x(j))): what the row adds up to, in the scale of the scores. All masked: -infinity.
    Number log_sum_exp() const {
        using std::log;
        return sum == Number(0) ? minus_infinity<Number> : largest + log(sum);
    }
};

// 3 online: the largest score and the sum in one pass, so the row may come as a stream and need not be kept.
// Milakov and Gimelshein 2018, "Online normalizer calculation for softmax".
template <class Number>
void softmax_online(View<Number> out, View<const Number> x) {
    using std::exp;
    const int n = x.size(0);
    RunningSum<Number> row;
    for (int i = 0; i < n; ++i) row.add(x(i));
    const bool empty = row.sum == Number(0);
    for (int i = 0; i < n; ++i) out(i) = empty ? Number(0) : exp(x(i) - row.largest) / row.sum;
}

// Temperature divides the scores: below 1 the largest takes more, above 1 the shares come closer. The division
// comes after the subtraction: 3 / 1e-38 is infinity, (3 - 3) / 1e-38 is 0. At 0, the limit: all to the largest
// score, and equal ones share.
template <class Number>
void softmax_at_temperature(View<Number> out, View<const Number> x, float temperature) {
    if (!(temperature >= 0 && std::isfinite(temperature))) {
        fail("temperature %g: it has to be a finite number, 0 or more", double(temperature));
    }
    const Number largest = peak(x), divisor = temperature;
    for (int i = 0; i < x.size(0); ++i) {
        const Number below = x(i) - largest;  // 0 or less
        out(i) = divisor > Number(0) ? below / divisor : Number(0) > below ? minus_infinity<Number> : below;
    }
    softmax_safe<Number>(out, out);
}
