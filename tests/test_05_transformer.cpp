// Lesson 05: each small piece by hand-made numbers, then the whole model on tiny files. That the whole is
// right against other implementations is shown in test_golden.cpp.
#include <doctest/doctest.h>

#include <cmath>

#include "common/check.hpp"
#include "common/json.hpp"
#include "lessons/05_transformer/transformer.hpp"
#include "tests/tiny.hpp"

TEST_CASE("05 rms_norm: every row gets root mean square 1, then its weights") {
    Tensor x(2, 4), weight(4), out(2, 4);
    for (int i = 0; i < 8; ++i) x.data()[i] = float(i % 4 + 1) * (i < 4 ? 1.0f : -100.0f);
    for (int i = 0; i < 4; ++i) weight(i) = float(i + 1);
    const Tensor before = x;
    poison(out);
    rms_norm(out, x, weight, 0);
    const double rms = std::sqrt((1.0 + 4 + 9 + 16) / 4);
    for (int dim = 0; dim < 4; ++dim) {
        CHECK(double(out(0, dim)) == doctest::Approx((dim + 1) / rms * (dim + 1)));
        CHECK(double(out(1, dim)) == doctest::Approx(-(dim + 1) / rms * (dim + 1)));  // scale is taken out
    }
    CHECK(compare(x, before, 0).n_bad == 0);
    for (int i = 0; i < 8; ++i) CHECK(x.data()[i] == before.data()[i]);  // the residual stream is untouched
}

TEST_CASE("05 rms_norm: large values do not overflow, zeros do not divide by zero") {
    Tensor x(2, 576), weight(576), out(2, 576);
    for (int dim = 0; dim < 576; ++dim) {
        x(0, dim) = 1e30f;  // its square is no float
        weight(dim) = 0.5f;
    }
    rms_norm(out, x, weight, 1e-5f);
    for (int dim = 0; dim < 576; ++dim) {
        REQUIRE(out(0, dim) == doctest::Approx(0.5));
        REQUIRE(out(1, dim) == 0);
    }
}

TEST_CASE("05 rope: pairs are neighbours, turned by position * base^(-2i/d)") {
    const Tensor table = rope_table(8, 4, 100);
    Tensor x(1, 1, 4);
    x(0, 0, 0) = 1;  // pair 0 = (1, 0), pair 1 = (0, 1)
    x(0, 0, 3) = 1;
    const int position = 3;
    rope(x, View<const int>(&position, 1), table);
    CHECK(double(x(0, 0, 0)) == doctest::Approx(std::cos(3.0)));
    CHECK(double(x(0, 0, 1)) == doctest::Approx(std::sin(3.0)));
    CHECK(double(x(0, 0, 2)) == doctest::Approx(-std::sin(0.3)));
    CHECK(double(x(0, 0, 3)) == doctest::Approx(std::cos(0.3)));
}

TEST_CASE("05 rope: position 0 changes nothing, dimensions past n_rotated never change") {
    Tensor x(2, 3, 6);
    fill_random(x, 7);
    const Tensor before = x;
    const int positions[2] = {0, 5};
    rope(x, View<const int>(positions, 2), rope_table(6, 4, 10000));
    for (int head = 0; head < 3; ++head) {
        for (int dim = 0; dim < 6; ++dim) {
            CHECK(x(0, head, dim) == before(0, head, dim));
            if (dim >= 4) CHECK(x(1, head, dim) == before(1, head, dim));
            if (dim < 2) CHECK(x(1, head, dim) != before(1, head, dim));
        }
    }
}

TEST_CASE("05 rope: a query and a key know their distance, not their places") {
    const Tensor table = rope_table(64, 16, 10000);
    const auto dot = [&](int query_at, int key_at) {
        Tensor q(1, 1, 16), k(1, 1, 16);
        fill_random(q, 1);
        fill_random(k, 2);
        rope(q, View<const int>(&query_at, 1), table);
        rope(k, View<const int>(&key_at, 1), table);
        double sum = 0;
        for (int dim = 0; dim < 16; ++dim) sum += double(q(0, 0, dim)) * double(k(0, 0, dim));
        return sum;
    };
    CHECK(dot(20, 13) == doctest::Approx(dot(57, 50)).epsilon(1e-5));
    CHECK(std::abs(dot(20, 13) - dot(20, 14)) > 1e-3);
}

TEST_CASE("05 rope: frequency factors slow their pairs down") {
    const float factors[2] = {1, 8};
    const Tensor plain = rope_table(9, 4, 100), slowed = rope_table(9, 4, 100, View<const float>(factors, 2));
    for (int part = 0; part < 2; ++part) {
        CHECK(slowed(8, 0, part) == plain(8, 0, part));
        CHECK(double(slowed(8, 1, part)) == doctest::Approx(double(plain(1, 1, part))));
    }
}

TEST_CASE("05 swiglu: silu of the gate times up") {
    const float gates[4] = {0, 100, -100, 1}, ups[4] = {3, 2, 2, -4};
    Tensor out(1, 4);
    poison(out);
    swiglu(out, View<const float>(gates, 1, 4), View<const float>(ups, 1, 4));
    CHECK(out(0, 0) == 0);
    CHECK(out(0, 1) == 200);
    CHECK(std::abs(out(0, 2)) < 1e-30f);
    CHECK(double(out(0, 3)) == doctest::Approx(-4 / (1 + std::exp(-1.0))));
    CHECK_THROWS_AS(swiglu(out, View<const float>(gates, 2, 2), View<const float>(ups, 1, 4)), Error);
}

TEST_CASE("05 linear: a row of weights is one output, for every token") {
    const float weights[6] = {1, 2, 3, -1, 0, 1}, inputs[6] = {1, 1, 1, 10, 20, 30};
    Tensor out(2, 2);
    poison(out);
    linear(out, View<const float>(inputs, 2, 3), as_matrix(View<const float>(weights, 2, 3)));
    CHECK(out(0, 0) == 6);
    CHECK(out(0, 1) == 0);
    CHECK(out(1, 0) == 140);
    CHECK(out(1, 1) == 20);
    CHECK_THROWS_AS(linear(out, View<const float>(inputs, 3, 2), as_matrix(View<const float>(weights, 2, 3))),
                    Error);
}

TEST_CASE("05 forward follows an independent float64 forward on every tiny golden file") {
    const Json goldens = read_json("tests/golden/tiny.json");
    for (const Json& golden : goldens["files"].items()) {
        const std::string name = golden["file"].text();
        CAPTURE(name);
        const GgufFile file("tests/golden/tiny/" + name);
        const Weights weights = load_weights(file);
        for (const Json& prompt : golden["prompts"].items()) {
            const std::vector<int> ids = prompt["ids"].integers();
            Tensor expected(weights.config.vocab_size);
            for (int i = 0; i < expected.size(0); ++i)
                expected(i) = float(prompt["logits"][size_t(i)].number());
            const Tensor logits = forward(weights, ids);
            // Every step is rounded to float once (6e-8); a few dozen steps in a row, and eight digits in the file.
            const Comparison c = compare(logits.row(logits.size(0) - 1), expected, 2e-6);
            CHECK_MESSAGE(c.ok, c.text());
        }
    }
}

TEST_CASE("05 forward: a later token changes no earlier logits, and does change its own") {
    const GgufFile file = tiny_model(awkward);
    const Weights weights = load_weights(file);
    std::vector<int> ids = {5, 17, 3, 60, 9};
    const Tensor before = forward(weights, ids);
    before.require_shape("logits", 5, weights.config.vocab_size);
    ids[4] = 10;
    const Tensor after = forward(weights, ids);
    for (int token = 0; token < 4; ++token) {
        for (int i = 0; i < weights.config.vocab_size; ++i) REQUIRE(after(token, i) == before(token, i));
    }
    CHECK(compare(after.row(4), before.row(4), 1e-3).ok == false);
}

TEST_CASE("05 forward: the order of earlier tokens matters") {
    const GgufFile file = tiny_model(awkward);
    const Weights weights = load_weights(file);
    const std::vector<int> one = {5, 17, 3}, other = {17, 5, 3};
    CHECK(compare(forward(weights, one).row(2), forward(weights, other).row(2), 1e-3).ok == false);
}

TEST_CASE("05 forward: a shared head and the same head stored twice give the same logits") {
    const GgufFile tied = tiny_model(awkward);
    GgufWriter writer;
    copy_file(writer, tied);
    writer.add("output.weight", tied.matrix("token_embd.weight"));
    const GgufFile twice("twice", writer.bytes());
    const Weights one = load_weights(tied), two = load_weights(twice);
    CHECK(one.output.bytes == one.token_embd.bytes);
    CHECK(two.output.bytes != two.token_embd.bytes);
    const std::vector<int> ids = {1, 2, 3};
    const Tensor a = forward(one, ids), b = forward(two, ids);
    for (size_t i = 0; i < a.count(); ++i) REQUIRE(a.data()[i] == b.data()[i]);
}

TEST_CASE("05 forward: ids outside the vocabulary, none, and too many are refused") {
    const GgufFile file = tiny_model(awkward);
    const Weights weights = load_weights(file);
    for (const std::vector<int>& ids :
         {std::vector<int>{}, std::vector<int>{-1}, std::vector<int>{weights.config.vocab_size},
          std::vector<int>(size_t(weights.config.context + 1), 1)}) {
        CHECK_THROWS_AS(forward(weights, ids), Error);
    }
}

TEST_CASE("05 weights: a file that could only run in part is refused by name") {
    const auto message = [](auto&& change) -> std::string {
        try {
            load_weights(changed_tiny_model(change));
        } catch (const Error& error) { return error.what(); }
        return "accepted";
    };
    const auto nothing = [](GgufWriter&) {};
    CHECK(message(nothing) == "accepted");
    CHECK(message([](GgufWriter& w) { w.set("general.architecture", "gpt2"); }).find("its architecture is") !=
          std::string::npos);
    CHECK(message([](GgufWriter& w) {
              w.set("llama.rope.scaling.type", "yarn");
          }).find("llama.rope.scaling.type") != std::string::npos);
    CHECK(message([](GgufWriter& w) {
              w.set("llama.attention.sliding_window", 16);
          }).find("sliding_window") != std::string::npos);
    CHECK(message([](GgufWriter& w) { w.set("llama.attention.head_count_kv", 4); }).find("share") !=
          std::string::npos);
    CHECK(message([](GgufWriter& w) { w.set("llama.block_count", 3); }).find("blk.2.") != std::string::npos);
    CHECK(message([](GgufWriter& w) { w.set("llama.block_count", 1); }).find("blk.1.") != std::string::npos);
    CHECK(message([](GgufWriter& w) { w.set("llama.feed_forward_length", 77); }).find("ffn_gate") !=
          std::string::npos);
    CHECK(message([](GgufWriter& w) { w.set("llama.vocab_size", 7); }).find("vocab_size") !=
          std::string::npos);
    CHECK(message([](GgufWriter& w) {
              w.set("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b"});
          }).find("tokenizer.ggml.tokens") != std::string::npos);
    CHECK(message([](GgufWriter& w) {  // 2^32 would be 0 in an int
              w.set("llama.attention.head_count", 65536);
              w.set("llama.attention.head_count_kv", 65536);
              w.set("llama.attention.key_length", 65536);
          })
              .find("65536 heads of 65536") != std::string::npos);
    CHECK(message([](GgufWriter& w) { w.set("llama.block_count", 0); }).find("block_count") !=
          std::string::npos);
    CHECK(message([](GgufWriter& w) { w.set("llama.rope.dimension_count", 5); }).find("dimension_count") !=
          std::string::npos);
}
