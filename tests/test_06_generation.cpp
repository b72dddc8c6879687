// Lesson 06: each filter on distributions small enough to work out by hand, the stream of text, the loop.
#include <doctest/doctest.h>

#include <limits>
#include <set>

#include "lessons/04_tokenizer/byte_alphabet.hpp"
#include "lessons/05_transformer/transformer.hpp"
#include "lessons/06_generation/generate.hpp"
#include "lessons/06_generation/log_probability.hpp"
#include "weights/tiny_model.hpp"

namespace {

using Ids = std::vector<int>;
using Texts = std::vector<std::string>;
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

std::vector<float> logits_of(const std::vector<double>& probabilities) {
    std::vector<float> logits;
    for (const double p : probabilities) logits.push_back(float(std::log(p)));
    return logits;
}

// The ids left by the filters, most likely first.
Ids kept(const std::vector<double>& probabilities, const Sampling& settings) {
    Ids ids;
    for (const Candidate& c : choices(logits_of(probabilities), Ids{}, settings)) ids.push_back(c.id);
    return ids;
}
Ids kept_by_top_p(const std::vector<double>& probabilities, float p) {
    return kept(probabilities, {.temperature = 1, .top_p = p});
}

int sample_once(const std::vector<float>& logits, const Sampling& settings = {}, const Ids& history = {}) {
    return sample(logits, history, settings, 0);
}

}  // namespace

TEST_CASE("06 greedy takes the largest logit, of equal ones the lowest id") {
    CHECK(sample_once({1, 3, 2}) == 1);
    CHECK(sample_once({-5, -1, -1, -2}) == 1);
    CHECK(sample_once({2, 2, 2}) == 0);
    CHECK(sample_once({-0.0f, 0.0f}) == 0);
    CHECK(sample_once({-7}) == 0);
    // No filter can take the most likely token away.
    CHECK(sample_once({1, 3, 2}, {.top_k = 1, .top_p = 0, .min_p = 1}) == 1);
}

TEST_CASE("06 top-k keeps k, of equal ones the lowest ids") {
    CHECK(kept({.1, .4, .2, .3}, {.temperature = 1, .top_k = 2}) == Ids{1, 3});
    CHECK(kept({.25, .25, .25, .25}, {.temperature = 1, .top_k = 3}) == Ids{0, 1, 2});
    CHECK(kept({.1, .4, .2, .3}, {.temperature = 1, .top_k = 0}) == Ids{1, 3, 2, 0});
    CHECK(kept({.1, .4, .2, .3}, {.temperature = 1, .top_k = 9}).size() == 4);
    CHECK(kept({.1, .4, .2, .3}, {.temperature = 1, .top_k = 1}) == Ids{1});
}

TEST_CASE("06 top-p keeps the fewest that reach p, the crossing one included") {
    CHECK(kept_by_top_p({.5, .41, .09}, .9f) == Ids{0, 1});
    CHECK(kept_by_top_p({.3, .1, .1, .5}, .8f) == Ids{3, 0});  // .5 + .3 is less than 0.8f
    CHECK(kept_by_top_p({.1, .2, .3, .4}, 0) == Ids{3});
    CHECK(kept_by_top_p({.1, .2, .3, .4}, .7f) == Ids{3, 2});
    CHECK(kept_by_top_p({.1, .2, .3, .4}, .8f) == Ids{3, 2, 1});
    CHECK(kept_by_top_p({.1, .2, .3, .4}, 1) == Ids{3, 2, 1, 0});
    CHECK(kept_by_top_p({.9, .1}, .5f) == Ids{0});
    CHECK(kept_by_top_p({.25, .25, .25, .25}, .5f) == Ids{0, 1});
    CHECK(kept_by_top_p({.2, .8}, 1e-8f) == Ids{1});
    // All of the tail too, however small.
    CHECK(kept({1, 1e-12, 1e-20}, {.temperature = 1, .top_p = 1}).size() == 3);
    CHECK(kept({1, 1e-12, 1e-20}, {.temperature = 1, .top_p = .999999f}).size() == 1);
}

TEST_CASE("06 top-p counts shares of what top-k left") {
    // .4 and .3 become .57 and .43: the first alone reaches .5; of the whole it would not.
    CHECK(kept({.4, .3, .2, .1}, {.temperature = 1, .top_k = 2, .top_p = .5f}) == Ids{0});
    CHECK(kept({.4, .3, .2, .1}, {.temperature = 1, .top_p = .5f}) == Ids{0, 1});
    // And of the distribution after the temperature: at 0.5 the shares are 16 : 9 : 4 : 1.
    CHECK(kept({.4, .3, .2, .1}, {.temperature = .5f, .top_p = .53f}) == Ids{0});
}

TEST_CASE("06 min-p compares with the most likely one") {
    CHECK(kept({.1, .2, .3, .4}, {.temperature = 1, .min_p = .25f}) == Ids{3, 2, 1, 0});
    CHECK(kept({.1, .2, .3, .4}, {.temperature = 1, .min_p = .26f}) == Ids{3, 2, 1});
    CHECK(kept({.1, .2, .3, .4}, {.temperature = 1, .min_p = .75f}) == Ids{3, 2});
    CHECK(kept({.4, .2, .4}, {.temperature = 1, .min_p = 1}) == Ids{0, 2});
    CHECK(kept({.1, .2, .3, .4}, {.temperature = 1, .min_p = 0}).size() == 4);
}

TEST_CASE("06 temperature divides the differences; the extremes neither overflow nor divide by zero") {
    const auto cold = choices(std::vector<float>{0, 1, 2}, Ids{}, {.temperature = .5f});
    CHECK(cold[1].weight == doctest::Approx(std::exp(-2.0)));
    CHECK(cold[2].weight == doctest::Approx(std::exp(-4.0)));
    const auto hot = choices(std::vector<float>{0, 1, 2}, Ids{}, {.temperature = 4});
    CHECK(hot[1].weight == doctest::Approx(std::exp(-.25)));

    for (const float t : {0.0f, 1e-8f, std::numeric_limits<float>::denorm_min()}) {
        CAPTURE(t);
        CHECK(sample_once({100, 300, -200}, {.temperature = t}) == 1);
    }
    std::set<int> seen;
    for (int position = 0; position < 100; ++position) {
        seen.insert(sample(std::vector<float>{100, 300, -200}, Ids{}, {.temperature = 1e6f}, position));
    }
    CHECK(seen.size() == 3);
}

TEST_CASE("06 settings that make no sense are refused by name") {
    const auto refused = [](const Sampling& s, const char* name) {
        CAPTURE(name);
        std::string text;
        try {
            check_sampling(s);
        } catch (const Error& error) { text = error.what(); }
        CHECK(text.find(name) == 0);
    };
    for (const float wrong : {-1.0f, nan_value, infinity}) {
        refused({.temperature = wrong}, "temperature");
        refused({.top_p = wrong}, "top-p");
        refused({.min_p = wrong}, "min-p");
        refused({.repetition_penalty = wrong}, "repetition penalty");
    }
    refused({.top_k = -1}, "top-k");
    refused({.top_p = 1.01f}, "top-p");
    refused({.min_p = 1.01f}, "min-p");
    refused({.repetition_penalty = 0}, "repetition penalty");
    CHECK_NOTHROW(check_sampling({}));
    CHECK_NOTHROW(
        check_sampling({.temperature = 1, .top_k = 40, .top_p = 0, .min_p = 1, .repetition_penalty = .5f}));
}

TEST_CASE("06 broken logits give no token") {
    for (const float temperature : {0.0f, 1.0f}) {
        const Sampling s = {.temperature = temperature};
        CHECK(sample_once({1, nan_value, 2}, s) == no_token);
        CHECK(sample_once({nan_value, 1, 2}, s) == no_token);
        CHECK(sample_once({1, infinity, 2}, s) == no_token);
        CHECK(sample_once({-infinity, -infinity}, s) == no_token);
        CHECK(sample_once({-infinity, -3, -infinity}, s) == 1);  // a token forbidden is nothing broken
    }
}

TEST_CASE("06 repetition penalty lowers positive and negative logits, once a token") {
    const auto penalised = [](const std::vector<float>& logits, const Ids& history, float penalty) {
        const Tensor out = penalise_repetition(logits, history, penalty);
        return std::vector<float>(out.begin(), out.end());
    };
    const auto both = penalised({2, -2}, {0, 1}, 1.2f);
    CHECK(both[0] == doctest::Approx(1.667).epsilon(.001));
    CHECK(both[1] == doctest::Approx(-2.4));
    CHECK(penalised({2, -2}, {0, 0, 0}, 1.2f) == penalised({2, -2}, {0}, 1.2f));
    CHECK(penalised({2, -2, 0}, {2}, 1.2f) == std::vector<float>{2, -2, 0});
    CHECK(penalised({2, -2, 3}, {0, 1, 2}, 1) == std::vector<float>{2, -2, 3});
    CHECK(sample_once({2, 1.9f}, {.repetition_penalty = 1.2f}, {0}) == 1);
    CHECK(sample_once({2, 1.9f}, {.repetition_penalty = 1.2f}, {0, 1}) == 0);
}

TEST_CASE("06 the draw: shares side by side in the order of ids") {
    const auto at = [](const std::vector<double>& probabilities, float u) {
        return draw(choices(logits_of(probabilities), Ids{}, {.temperature = 1}), u);
    };
    CHECK(at({.25, .5, .25}, 0) == 0);
    CHECK(at({.25, .5, .25}, .2499f) == 0);
    CHECK(at({.25, .5, .25}, .2501f) == 1);
    CHECK(at({.25, .5, .25}, .7499f) == 1);
    CHECK(at({.25, .5, .25}, .7501f) == 2);
    CHECK(at({.25, .5, .25}, 1 - 0x1p-24f) == 2);
    // What has no share is never drawn, at neither end.
    CHECK(at({0, 1, 0}, 0) == 1);
    CHECK(at({0, 1, 0}, 1 - 0x1p-24f) == 1);
}

TEST_CASE("06 draws follow the distribution, and depend on seed, position and sample index alone") {
    const std::vector<double> probabilities = {.05, .4, .15, .3, .1};
    const std::vector<float> logits = logits_of(probabilities);
    constexpr int n = 20000;
    std::vector<int> count(5);
    for (int position = 0; position < n; ++position) {
        ++count[size_t(sample(logits, Ids{}, {.temperature = 1, .seed = 7}, position))];
    }
    for (size_t id = 0; id < 5; ++id) {
        const double p = probabilities[id];
        CHECK(std::abs(count[id] - n * p) < 5 * std::sqrt(n * p * (1 - p)));  // five standard deviations
    }

    const auto series = [&](uint64_t seed, int sample_index, int first) {
        Ids ids;
        for (int position = first; position < first + 40; ++position) {
            const Sampling s = {.temperature = 1, .seed = seed, .sample_index = sample_index};
            ids.push_back(sample(logits, Ids{}, s, position));
        }
        return ids;
    };
    CHECK(series(1, 0, 0) == series(1, 0, 0));
    CHECK(series(1, 0, 0) != series(2, 0, 0));
    CHECK(series(1, 0, 0) != series(uint64_t(1) << 32 | 1, 0, 0));
    CHECK(series(1, 0, 0) != series(1, 1, 0));
    CHECK(series(1, 0, 0) != series(1, 0, 1));
    // Of every 2^24 numbers, number k falls to the token whose share holds it.
    const uint32_t number = philox(9, {3, 2, uint32_t(Purpose::sample), 0})[0] >> 8;
    const std::vector<float> even(1 << 10, 0.0f);
    CHECK(sample(even, Ids{}, {.temperature = 1, .seed = 9, .sample_index = 2}, 3) == int(number >> 14));
}

TEST_CASE("06 log-probabilities are the model's own") {
    const std::vector<float> logits = logits_of({.5, .125, .25, .125});
    CHECK(log_probability(logits, 2) == doctest::Approx(std::log(.25)));
    std::vector<float> shifted = logits;
    for (float& logit : shifted) logit += 1000;  // exp of it would overflow
    CHECK(log_probability(shifted, 2) == doctest::Approx(std::log(.25)).epsilon(1e-4));
    const auto best = most_likely(logits, 3);
    REQUIRE(best.size() == 3);
    CHECK(best[0].first == 0);
    CHECK(best[1].first == 2);
    CHECK(best[2].first == 1);
    CHECK(best[1].second == doctest::Approx(std::log(.25)));
    CHECK(most_likely(logits, 99).size() == 4);
    CHECK(log_probability(std::vector<float>{0, -infinity}, 1) == -infinity);
}

// ---------------------------------------------------------------------------------------------------
// Text

namespace {

// Pushed piece by piece, with what finish gives as the last one.
Texts shown(const Texts& pieces, const Texts& stops = {}) {
    TextStream stream(stops);
    Texts out;
    for (const std::string& piece : pieces) out.push_back(stream.push(piece));
    out.push_back(stream.finish());
    return out;
}
std::string joined(const Texts& texts) {
    std::string all;
    for (const std::string& text : texts) all += text;
    return all;
}

// What must come out of a text: everything before the stop string that is complete first.
std::string before_stop(const std::string& text, const Texts& stops) {
    for (size_t end = 1; end <= text.size(); ++end) {
        size_t longest = 0;
        for (const std::string& stop : stops) {
            if (text.substr(0, end).ends_with(stop)) longest = std::max(longest, stop.size());
        }
        if (longest) return text.substr(0, end - longest);
    }
    return text;
}

}  // namespace

TEST_CASE("06 text comes in whole characters, and none of it is lost") {
    CHECK(shown({"\xF0\x9F\x98", "\xB8"}) == Texts{"", "\U0001F638", ""});
    CHECK(joined(shown({"\xFF"})) == "\xFF");
    CHECK(shown({"\xE2", "a"}) == Texts{"",
                                        "\xE2"
                                        "a",
                                        ""});
    CHECK(shown({"caf\xC3", "\xA9!"}) == Texts{"caf", "\u00e9!", ""});
    CHECK(shown({"a\xF0\x9F"}) == Texts{"a", "\xF0\x9F"});  // the end: what waited is no character any more
}

TEST_CASE("06 a stop string over several tokens is found and not shown") {
    CHECK(shown({"The E", "N", "ergy E", "ND of"}, {"END"}) == Texts{"The ", "", "ENergy ", "", ""});
    CHECK(shown({"a", "b", "c"}, {"abcd"}) == Texts{"", "", "", "abc"});  // held, then not lost
    CHECK(shown({"ab", "ab", "c"}, {"abc"}) == Texts{"", "ab", "", ""});  // the second beginning counts
    CHECK(shown({"aa", "a", "b"}, {"aab"}) == Texts{"", "a", "", ""});
    CHECK(shown({"xENDy"}, {"END"}) == Texts{"x", ""});
    CHECK(shown({"END"}, {"END"}) == Texts{"", ""});
    CHECK(shown({"a\n", "\n", "b"}, {"\n\n"}) == Texts{"a", "", "", ""});
    CHECK(shown({"one two"}, {}) == Texts{"one two", ""});
    // The first to be complete ends it; of two that end together, the longer.
    CHECK(joined(shown({"abcd"}, {"abcd", "bc"})) == "a");
    CHECK(joined(shown({"xabc"}, {"bc", "abc"})) == "x");
    // Half of a character and half of a stop string at once.
    CHECK(shown({"a\xC3", "\xA9", "."}, {"\u00e9."}) == Texts{"a", "", "", ""});
    CHECK(shown({"a\xC3", "\xA9", "!"}, {"\u00e9."}) == Texts{"a", "", "\u00e9!", ""});
    CHECK(shown({"a\xC3"}, {"\u00e9."}) == Texts{"a", "\xC3"});
}

TEST_CASE("06 stop strings: any cut of the text gives the same, and nothing waits without need") {
    const Texts stop_sets[] = {{"ab"}, {"aab", "ba"}, {"abab"}, {"bb", "abba", "aaaa"}, {"a"}};
    for (uint32_t trial = 0; trial < 4000; ++trial) {
        const PhiloxBlock r = philox(trial, {}), cuts = philox(trial, {1});
        const Texts& stops = stop_sets[r[0] % std::size(stop_sets)];
        std::string text;
        for (uint32_t i = 0; i < 1 + r[1] % 16; ++i) text += "abcb"[r[2] >> (2 * i) & 3];
        CAPTURE(text);
        CAPTURE(stops[0]);
        StopStrings stream(stops);
        std::string out, pushed;
        for (size_t n_read = 1; n_read <= text.size(); ++n_read) {
            pushed += text[n_read - 1];
            if (n_read < text.size() && cuts[0] >> n_read & 1) continue;
            out += stream.push(std::exchange(pushed, ""));
            const std::string so_far = text.substr(0, n_read);
            if (stream.found()) break;
            // Held back: the longest end of the text that begins a stop string.
            size_t longest = 0;
            for (const std::string& stop : stops) {
                for (size_t n = 1; n <= std::min(stop.size(), so_far.size()); ++n) {
                    if (so_far.ends_with(stop.substr(0, n))) longest = std::max(longest, n);
                }
            }
            REQUIRE(out == so_far.substr(0, so_far.size() - longest));
        }
        CHECK(stream.found() == (before_stop(text, stops) != text));
        out += stream.finish();
        CHECK(out == before_stop(text, stops));
        CHECK(stream.push("c") == (stream.found() ? "" : "c"));
    }
}

TEST_CASE("06 a stop string that can never be right is refused") {
    CHECK_THROWS_AS(StopStrings({""}), Error);
    CHECK_THROWS_AS(StopStrings({"ok", "\xC3"}), Error);
    CHECK_THROWS_AS(StopStrings({"\xFF"}), Error);
}

TEST_CASE("06 a very long stop string costs time in proportion, not squared") {
    const std::string stop = std::string(200000, 'a') + "b";
    StopStrings stream({stop});
    std::string out;
    for (int i = 0; i < 300; ++i) out += stream.push(std::string(1000, 'a'));
    CHECK(out.size() == 100000);
    CHECK(stream.push("b").empty());
    CHECK(stream.found());
}

// ---------------------------------------------------------------------------------------------------
// The loop

namespace {

// Ids 0 .. 255 are the bytes; 256 is <|end|>, which ends an answer; 257 is "EN"; 258 the first half of an emoji.
Tokenizer small_tokenizer() {
    Vocabulary v;
    for (int byte = 0; byte < 256; ++byte) v.tokens.push_back(to_alphabet(std::string(1, char(byte))));
    v.tokens.insert(v.tokens.end(), {"<|end|>", "EN", to_alphabet("\xF0\x9F")});
    v.types.assign(v.tokens.size(), int(TokenType::normal));
    v.types[256] = int(TokenType::control);
    v.merges = {"E N", to_alphabet("\xF0") + " " + to_alphabet("\x9F")};
    v.eos = 256;
    return Tokenizer(v);
}

// Feeds ids and returns what was shown.
std::string feed(Generation& answer, const Ids& ids) {
    std::string text;
    for (const int id : ids) {
        if (!answer.finished()) text += answer.push(id);
    }
    return text;
}

}  // namespace

TEST_CASE("06 an answer ends by a token, a stop string, its length or broken logits") {
    const Tokenizer tokenizer = small_tokenizer();
    const Ids prompt = {'Q', '?'};
    SUBCASE("the end token: counted, not shown") {
        Generation answer(tokenizer, prompt, 10);
        CHECK(feed(answer, {'O', 'K', 256, 'x'}) == "OK");
        CHECK(finish_name(answer.finish()) == std::string("stop"));
        CHECK(Ids(answer.answer_ids().begin(), answer.answer_ids().end()) == Ids{'O', 'K', 256});
        CHECK(answer.ids().size(0) == 5);
    }
    SUBCASE("the end token counts before the length") {
        Generation answer(tokenizer, prompt, 2);
        CHECK(feed(answer, {'O', 256}) == "O");
        CHECK(answer.finish() == Finish::stop);
    }
    SUBCASE("a stop string, in two tokens") {
        Generation answer(tokenizer, prompt, 10, {"END"});
        CHECK(feed(answer, {'a', 257, 'D', 'x'}) == "a");
        CHECK(answer.finish() == Finish::stop);
        CHECK(answer.answer_ids().size(0) == 3);
    }
    SUBCASE("a stop string with the last token allowed") {
        Generation answer(tokenizer, prompt, 3, {"END"});
        CHECK(feed(answer, {'a', 257, 'D'}) == "a");
        CHECK(answer.finish() == Finish::stop);
    }
    SUBCASE("length: what was held back is shown") {
        Generation answer(tokenizer, prompt, 2, {"END"});
        CHECK(feed(answer, {'a', 257, 'D'}) == "aEN");
        CHECK(finish_name(answer.finish()) == std::string("length"));
        CHECK(answer.text() == "aEN");
    }
    SUBCASE("no length at all") {
        Generation answer(tokenizer, prompt, 0);
        CHECK(answer.finish() == Finish::length);
        CHECK(answer.answer_ids().size(0) == 0);
        CHECK_THROWS_AS(Generation(tokenizer, prompt, -1), Error);
    }
    SUBCASE("broken logits") {
        Generation answer(tokenizer, prompt, 10, {"END"});
        CHECK(feed(answer, {'a', 257, no_token}) == "aEN");
        CHECK(finish_name(answer.finish()) == std::string("error"));
        CHECK(answer.answer_ids().size(0) == 2);
    }
    SUBCASE("from outside, in the middle of a character; only the first end counts") {
        Generation answer(tokenizer, prompt, 10);
        CHECK(feed(answer, {'a', 258}) == "a");
        CHECK(answer.end(Finish::cancelled) == "\xF0\x9F");
        CHECK(answer.end(Finish::length).empty());
        CHECK(answer.finish() == Finish::cancelled);
        CHECK(answer.text() == tokenizer.decode(answer.answer_ids()));
    }
}

TEST_CASE("06 the loop gives the step all ids so far, and each choice its position") {
    const Tokenizer tokenizer = small_tokenizer();
    std::vector<Ids> seen;
    // Says the next letter, and after "d" the end.
    const Step step = [&](View<const int> ids) {
        seen.emplace_back(ids.begin(), ids.end());
        Tensor logits(tokenizer.vocab_size());
        const int last = ids(ids.size(0) - 1);
        logits(last == 'd' ? 256 : last + 1) = 5;
        return logits;
    };
    Generation answer(tokenizer, {'x', 'a'}, 10);
    std::string text;
    generate(answer, step, {}, [&](std::string_view piece) { text += piece; });
    CHECK(text == "bcd");
    CHECK(answer.finish() == Finish::stop);
    CHECK(seen ==
          std::vector<Ids>{{'x', 'a'}, {'x', 'a', 'b'}, {'x', 'a', 'b', 'c'}, {'x', 'a', 'b', 'c', 'd'}});

    const Step broken = [&](View<const int> ids) {
        Tensor logits(tokenizer.vocab_size());
        if (ids.size(0) > 3) logits(7) = nan_value;
        logits('o') = 1;
        return logits;
    };
    Generation failing(tokenizer, {'x'}, 10);
    generate(failing, broken, {}, [](std::string_view) {});
    CHECK(failing.finish() == Finish::error);
    CHECK(failing.text() == "ooo");
    CHECK_THROWS_AS(generate(failing, broken, {.temperature = -1}, [](std::string_view) {}), Error);
}

TEST_CASE("06 a real forward: the seed makes the text, and greedy has no use for it") {
    const GgufFile file = tiny_model();
    const Weights weights = load_weights(file);
    const Tokenizer tokenizer = load_tokenizer(file);
    const Step step = [&](View<const int> ids) {
        const Tensor logits = forward(weights, ids);
        Tensor last(weights.config.vocab_size);
        std::copy(logits.row(ids.size(0) - 1).begin(), logits.row(ids.size(0) - 1).end(), last.begin());
        return last;
    };
    const auto write = [&](const Sampling& s) {
        Generation answer(tokenizer, tokenizer.encode("Once upon"), 12);
        generate(answer, step, s, [](std::string_view) {});
        CHECK(answer.answer_ids().size(0) >= 1);
        CHECK(answer.text() == tokenizer.decode(answer.answer_ids().rows(
                                   0, answer.answer_ids().size(0) - (answer.finish() == Finish::stop))));
        return Ids(answer.answer_ids().begin(), answer.answer_ids().end());
    };
    CHECK(write({.seed = 1}) == write({.seed = 2}));
    CHECK(write({.temperature = 1, .seed = 1}) == write({.temperature = 1, .seed = 1}));
    CHECK(write({.temperature = 1, .seed = 1}) != write({.temperature = 1, .seed = 2}));
    CHECK(write({.temperature = 1, .top_k = 1, .seed = 5}) == write({}));
}
