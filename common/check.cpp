#include "common/check.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "common/philox.hpp"

namespace {
constexpr uint32_t poison_bits = 0x7fb0150a;  // a signalling NaN: arithmetic would make it quiet
}

void poison(View<float> out) {
    for (float& value : out) value = std::bit_cast<float>(poison_bits);
}

bool is_poison(float value) { return std::bit_cast<uint32_t>(value) == poison_bits; }

Comparison compare(View<const float> actual, View<const float> expected, double tolerance,
                   double worst_tolerance) {
    if (actual.shape() != expected.shape()) {
        fail("cannot compare shape %s with the expected %s", actual.shape().text().c_str(),
             expected.shape().text().c_str());
    }
    if (worst_tolerance == 0) worst_tolerance = 32 * tolerance;

    Comparison result;
    double difference_squared = 0, expected_squared = 0, worst = 0;
    size_t n_finite = 0;
    for (size_t i = 0; i < expected.count(); ++i) {
        const float a = actual.data()[i], e = expected.data()[i];
        const bool unwritten = is_poison(a) || is_poison(e);
        if (!unwritten && !std::isfinite(e) && (a == e || (std::isnan(a) && std::isnan(e)))) continue;
        if (unwritten || !std::isfinite(a) || !std::isfinite(e)) {
            if (result.n_bad++ == 0) result.worst_index = i;
            continue;
        }
        const double difference = std::abs(double(a) - double(e));
        difference_squared += difference * difference;
        expected_squared += double(e) * double(e);
        ++n_finite;
        if (difference > worst) {
            worst = difference;
            if (result.n_bad == 0) result.worst_index = i;
        }
    }
    if (expected.count() > 0) {
        result.worst_actual = actual.data()[result.worst_index];
        result.worst_expected = expected.data()[result.worst_index];
    }
    // Where zeros are expected, any difference is infinitely large beside them.
    const auto relative = [](double x, double unit) {
        return x == 0 ? 0 : unit > 0 ? x / unit : std::numeric_limits<double>::infinity();
    };
    result.norm_error = relative(std::sqrt(difference_squared), std::sqrt(expected_squared));
    result.worst_error = relative(worst, std::sqrt(expected_squared / double(std::max<size_t>(n_finite, 1))));
    result.ok = result.n_bad == 0 && result.norm_error <= tolerance && result.worst_error <= worst_tolerance;
    return result;
}

void check_finite(View<const float> logits) {
    for (const float logit : logits) {
        if (!std::isfinite(logit)) fail("the model's logits are broken: NaN or infinite");
    }
}

std::string Comparison::text() const {
    std::string out = format_text("norm %.1e, worst %.1e", norm_error, worst_error);
    if (n_bad > 0) out += format_text(", %zu unwritten or not finite, the first", n_bad);
    if (worst_error == 0 && n_bad == 0) return out;
    const std::string got =
        is_poison(worst_actual) ? "nothing written" : format_text("%g", double(worst_actual));
    return out +
           format_text(" at %zu (got %s, expected %g)", worst_index, got.c_str(), double(worst_expected));
}

void fill_random(View<float> out, uint64_t seed, float scale) {
    for (size_t i = 0; i < out.count(); i += 4) {
        const PhiloxBlock block =
            philox(seed, {uint32_t(i), uint32_t(uint64_t(i) >> 32), uint32_t(Purpose::test_data), 0});
        for (size_t lane = 0; lane < 4 && i + lane < out.count(); ++lane) {
            out.data()[i + lane] = (float(block[lane] >> 8) * 0x1p-23f - 1) * scale;
        }
    }
}
