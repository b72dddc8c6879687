// Comparing an output with the reference's. Both measures must hold, so that neither one wrong
// element among millions nor a small error everywhere slips through.
#pragma once

#include <string>

#include "common/tensor.hpp"

struct Comparison {
    double norm_error = 0;   // |actual - expected| / |expected| as vectors
    double worst_error = 0;  // of one element: |actual - expected| / root mean square of expected
    size_t worst_index = 0;
    size_t n_bad = 0;  // elements that are NaN or infinite on one side only, or still poison
    bool ok = false;
    std::string text() const;  // "norm 1.2e-07, worst 3.0e-06 at 17 (got .., expected ..)"
    float worst_actual = 0, worst_expected = 0;
};

// ok when norm_error <= tolerance and worst_error <= worst_tolerance (0: 32 * tolerance) and n_bad is 0.
// Equal infinities and NaN on both sides agree. A shape mismatch throws Error.
Comparison compare(View<const float> actual, View<const float> expected, double tolerance,
                   double worst_tolerance = 0);

// For a model's logits that others are compared with, where NaN would agree with NaN: Error if one is not finite.
void check_finite(View<const float> logits);

// Fills an output before it is computed with one NaN pattern that no kernel makes: an element left unwritten is then
// found by compare(), also where the expected value is NaN.
void poison(View<float> out);
bool is_poison(float value);

// Values for tests and benches: uniform in [-1, 1) * scale, element i a function of (seed, i).
void fill_random(View<float> out, uint64_t seed, float scale = 1);
