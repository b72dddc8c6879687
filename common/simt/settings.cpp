#include "common/simt/settings.hpp"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "common/threads.hpp"

namespace simt {
namespace {

template <class T>
std::optional<T> number(const std::string& text, T least, T most) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(value >= least && value <= most))
        return {};
    return value;
}

std::optional<Order> order(const std::string& text) {
    if (text == "natural") return Order{Order::natural};
    if (text == "reversed") return Order{Order::reversed};
    if (text == "shuffled") return Order{Order::shuffled};
    const std::string prefix = "shuffled:";
    if (!text.starts_with(prefix)) return {};
    const auto seed = number<uint64_t>(text.substr(prefix.size()), 0, UINT64_MAX);
    return seed ? std::optional(Order{Order::shuffled, *seed}) : std::nullopt;
}

// The setting, read by `read`; the default where it is not set.
template <class T, class Read>
T setting(const char* name, T otherwise, const char* right, Read read) {
    const char* text = std::getenv(name);
    if (!text) return otherwise;
    const auto value = read(std::string(text));
    if (!value) refuse_setting(right);
    return *value;
}

}  // namespace

const Settings& settings() {
    static const Settings s = {
        setting("SIMT_ORDER", Order{}, "SIMT_ORDER: natural, reversed, shuffled or shuffled:SEED", order),
        setting("SIMT_THREADS", available_cores(), "SIMT_THREADS: 1 to 256",
                [](const std::string& t) { return number<int>(t, 1, 256); }),
        setting("SIMT_LIMIT", 60.0, "SIMT_LIMIT: seconds for a block, 0.001 to 1000000",
                [](const std::string& t) { return number<double>(t, 1e-3, 1e6); })};
    return s;
}

void refuse_setting(const char* right) {
    std::fflush(stdout);
    std::fprintf(stderr, "simt: %s\n", right);
    std::_Exit(2);
}

}  // namespace simt
