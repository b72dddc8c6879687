// Lesson 01: what attention must do, whoever writes it. The mask comes first: a row that sees its future is named.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "common/check.hpp"
#include "lessons/01_attention/attention.hpp"

namespace {

Tensor random_tensor(Shape shape, uint64_t seed) {
    Tensor x(shape);
    fill_random(x, seed);
    return x;
}

// One line a row: 1 where the row sees the key. "1000/1100/1110/1111"
std::string visible(int n_tokens, int n_keys) {
    const Tensor weights = attention_weights(Tensor(n_tokens, 4), Tensor(n_keys, 4));
    std::string rows;
    for (int token = 0; token < n_tokens; ++token) {
        for (int key = 0; key < n_keys; ++key) rows += weights(token, key) != 0 ? '1' : '0';
        if (token + 1 < n_tokens) rows += '/';
    }
    return rows;
}

struct Size {
    int n_tokens, n_keys, head_dim;
};
const std::vector<Size> sizes = {{1, 1, 1}, {5, 5, 4}, {17, 17, 31}, {31, 33, 64}, {1, 33, 3}, {5, 2, 8}};

}  // namespace

TEST_CASE("01 a row sees the keys up to its own and none after it") {
    for (auto [n_tokens, n_keys, head_dim] : sizes) {
        const Tensor weights = attention_weights(random_tensor(Shape(n_tokens, head_dim), 1),
                                                 random_tensor(Shape(n_keys, head_dim), 2));
        std::string wrong;
        int n_wrong = 0;
        for (int token = 0; token < n_tokens; ++token) {
            const int own_key = n_keys - n_tokens + token;  // the last row is the newest token
            for (int key = 0; key < n_keys; ++key) {
                const bool sees = weights(token, key) != 0;
                if (sees == (key <= own_key) || ++n_wrong > 5) continue;
                wrong += "\n  row " + std::to_string(token) + (sees ? " sees key " : " does not see key ") +
                         std::to_string(key) + ": its own key is " + std::to_string(own_key);
            }
        }
        if (n_wrong)
            FAIL(n_tokens, " tokens, ", n_keys, " keys, ", n_wrong,
                 " wrong weights, the first of them:", wrong);
    }
}

TEST_CASE("01 more or fewer tokens than keys: the mask is aligned at the last row and the last key") {
    CHECK(visible(4, 4) == "1000/1100/1110/1111");
    CHECK(visible(2, 5) == "11110/11111");
    CHECK(visible(5, 2) == "00/00/00/10/11");
    CHECK(visible(1, 3) == "111");
}

TEST_CASE("01 a row that sees no key is zero, not NaN") {
    const Tensor out = attention(random_tensor(Shape(5, 8), 1), random_tensor(Shape(2, 8), 2), Tensor(2, 8));
    const Tensor weights = attention_weights(random_tensor(Shape(5, 8), 1), random_tensor(Shape(2, 8), 2));
    for (float x : out.rows(0, 3)) CHECK(x == 0);
    for (float x : weights.rows(0, 3)) CHECK(x == 0);
    CHECK(weights(3, 0) == 1);
}

TEST_CASE("01 one head by hand") {
    // Scores 0 and ln 3 are shares 1/4 and 3/4. The first token sees only itself.
    const float ln3 = std::log(3.0f);
    Tensor q(2, 1), k(2, 1), v(2, 2);
    q(0, 0) = 5, q(1, 0) = 1;
    k(0, 0) = 0, k(1, 0) = ln3;
    v(0, 0) = 8, v(0, 1) = -4;
    v(1, 0) = 4, v(1, 1) = 4;
    const Tensor out = attention(q, k, v);
    CHECK(out(0, 0) == doctest::Approx(8));
    CHECK(out(0, 1) == doctest::Approx(-4));
    CHECK(out(1, 0) == doctest::Approx(0.25 * 8 + 0.75 * 4));
    CHECK(out(1, 1) == doctest::Approx(0.25 * -4 + 0.75 * 4));
}

TEST_CASE("01 scores are divided by the square root of head_dim") {
    // q k = 2 * 4 ln 3 / 8, so that only a division by sqrt(16) leaves the score ln 3.
    Tensor q(1, 16), k(2, 16);
    for (float& x : q) x = 1;
    for (float& x : k.row(0)) x = std::log(3.0f) / 4;
    const Tensor weights = attention_weights(q, k);
    CHECK(weights(0, 0) == doctest::Approx(0.75));
    CHECK(weights(0, 1) == doctest::Approx(0.25));
}

TEST_CASE("01 projections, then attention, by hand") {
    Tensor x(2, 2), w_q(1, 2), w_k(1, 2), w_v(1, 2);
    x(0, 0) = 1, x(0, 1) = 2;
    x(1, 0) = 3, x(1, 1) = 4;
    w_q(0, 0) = 1, w_q(0, 1) = -0.5f;    // q = 0, 1
    w_k(0, 0) = -0.5f * std::log(3.0f);  // k = -ln 3 / 2, -3 ln 3 / 2: the second is ln 3 smaller
    w_v(0, 0) = 10, w_v(0, 1) = 1;       // v = 12, 34
    const Tensor out = self_attention(x, w_q, w_k, w_v);
    REQUIRE(out.shape() == Shape(2, 1));
    CHECK(out(0, 0) == doctest::Approx(12));
    CHECK(out(1, 0) == doctest::Approx(0.75 * 12 + 0.25 * 34));
}

TEST_CASE("01 weights are shares: none negative, each row adds up to 1") {
    for (auto [n_tokens, n_keys, head_dim] : sizes) {
        const Tensor weights = attention_weights(random_tensor(Shape(n_tokens, head_dim), 1),
                                                 random_tensor(Shape(n_keys, head_dim), 2));
        for (int token = std::max(0, n_tokens - n_keys); token < n_tokens; ++token) {
            double sum = 0;
            for (float share : weights.row(token)) {
                CHECK(share >= 0);
                sum += double(share);
            }
            CHECK(sum == doctest::Approx(1).epsilon(1e-6));
        }
    }
}

TEST_CASE("01 huge scores stay finite") {
    Tensor q(3, 4), k(3, 4);
    for (float& x : q) x = 1e4f;
    fill_random(k, 3, 1e4f);
    for (float share : attention_weights(q, k)) CHECK(std::isfinite(share));
}

TEST_CASE("01 a change in the future changes nothing before it") {
    const int n_tokens = 9, head_dim = 8;
    const Tensor q = random_tensor(Shape(n_tokens, head_dim), 1);
    Tensor k = random_tensor(Shape(n_tokens, head_dim), 2), v = random_tensor(Shape(n_tokens, head_dim), 3);
    const Tensor before = attention(q, k, v);
    for (int changed = n_tokens - 1; changed > 0; --changed) {
        for (float& x : k.row(changed)) x = 100;
        for (float& x : v.row(changed)) x = -100;
        const Tensor after = attention(q, k, v);
        for (int token = 0; token < n_tokens; ++token) {
            const bool same =
                std::equal(before.row(token).begin(), before.row(token).end(), after.row(token).begin());
            INFO("row ", token, " after a change of key ", changed);
            CHECK(same == (token < changed));
        }
    }
}

TEST_CASE("01 keys and values are a set: their order does not matter to the last token") {
    const int n_keys = 7, head_dim = 8;
    const Tensor q = random_tensor(Shape(1, head_dim), 1), k = random_tensor(Shape(n_keys, head_dim), 2),
                 v = random_tensor(Shape(n_keys, head_dim), 3);
    Tensor k_turned(n_keys, head_dim), v_turned(n_keys, head_dim);
    for (int key = 0; key < n_keys; ++key) {
        for (int dim = 0; dim < head_dim; ++dim) {
            k_turned((key + 3) % n_keys, dim) = k(key, dim);
            v_turned((key + 3) % n_keys, dim) = v(key, dim);
        }
    }
    CHECK(compare(attention(q, k_turned, v_turned), attention(q, k, v), 1e-6).ok);
}

TEST_CASE("01 heads are independent of each other") {
    const int n = 6, n_heads = 3, head_dim = 5;
    const Tensor q = random_tensor(Shape(n, n_heads, head_dim), 1),
                 k = random_tensor(Shape(n, n_heads, head_dim), 2),
                 v = random_tensor(Shape(n, n_heads, head_dim), 3);
    Tensor out(n, n_heads, head_dim);
    poison(out);
    grouped_query_attention(out, q, k, v);
    for (int head = 0; head < n_heads; ++head) {
        INFO("head ", head);
        const Tensor alone = attention(take_head(q, head), take_head(k, head), take_head(v, head));
        CHECK(compare(take_head(out, head), alone, 0).ok);
    }
}

TEST_CASE("01 grouped-query attention is multi-head attention with each key head repeated") {
    const int n_tokens = 4, n_keys = 6, head_dim = 5;
    for (int n_kv_heads : {1, 2, 3, 6}) {
        const int n_heads = 6, group = n_heads / n_kv_heads;
        const Tensor q = random_tensor(Shape(n_tokens, n_heads, head_dim), 1),
                     k = random_tensor(Shape(n_keys, n_kv_heads, head_dim), 2),
                     v = random_tensor(Shape(n_keys, n_kv_heads, head_dim), 3);
        Tensor k_repeated(n_keys, n_heads, head_dim), v_repeated(n_keys, n_heads, head_dim);
        for (int key = 0; key < n_keys; ++key) {
            for (int head = 0; head < n_heads; ++head) {
                for (int dim = 0; dim < head_dim; ++dim) {
                    k_repeated(key, head, dim) = k(key, head / group, dim);
                    v_repeated(key, head, dim) = v(key, head / group, dim);
                }
            }
        }
        Tensor shared(n_tokens, n_heads, head_dim), repeated(n_tokens, n_heads, head_dim);
        poison(shared);
        grouped_query_attention(shared, q, k, v);
        grouped_query_attention(repeated, q, k_repeated, v_repeated);
        INFO(n_kv_heads, " key and value heads for ", n_heads, " query heads");
        CHECK(compare(shared, repeated, 0).ok);
    }
}

TEST_CASE("01 shapes that do not fit are refused") {
    Tensor q(2, 6, 4), k(2, 4, 4), out(2, 6, 4);
    CHECK_THROWS_AS(grouped_query_attention(out, q, k, k), Error);  // 6 heads cannot share 4
    Tensor k_narrow(2, 3, 3), v(2, 3, 4), out_short(1, 6, 4);
    CHECK_THROWS_AS(grouped_query_attention(out, q, k_narrow, v), Error);
    CHECK_THROWS_AS(grouped_query_attention(out_short, q, v, v), Error);
    CHECK_THROWS_AS(attention(Tensor(2, 4), Tensor(3, 4), Tensor(2, 4)), Error);
}
