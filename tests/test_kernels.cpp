// The small kernels (norm, gated activation, embedding, rope with the cache write) against the loops of lesson 05,
// at ragged sizes; and that a row's bits depend on neither its company nor the threads.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "common/check.hpp"
#include "kernels/embed/embed.hpp"
#include "kernels/gated/gated.hpp"
#include "kernels/norm/norm.hpp"
#include "kernels/rope/rope.hpp"
#include "lessons/05_transformer/rms_norm.hpp"
#include "lessons/05_transformer/rope.hpp"
#include "lessons/05_transformer/swiglu.hpp"
#include "weights/tiny_model.hpp"

namespace {

constexpr int widths[] = {1, 3, 15, 16, 17, 31, 33, 576, 1001};
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

Tensor random(Shape shape, uint64_t seed, float scale = 1) {
    Tensor out(shape);
    fill_random(out, seed, scale);
    return out;
}

Tensor poisoned(Shape shape) {
    Tensor out(shape);
    poison(out);
    return out;
}

bool same_bits(View<const float> a, View<const float> b) {
    return a.shape() == b.shape() && std::memcmp(a.data(), b.data(), a.count() * sizeof(float)) == 0;
}

void check_close(View<const float> actual, View<const float> expected, double tolerance) {
    const Comparison result = compare(actual, expected, tolerance);
    CHECK_MESSAGE(result.ok, actual.shape().text(), " ", result.text());
}

// The first element after a view of `rows`, of a tensor with one row more: kernels must not touch it.
bool guarded(const Tensor& tensor) {
    for (const float value : tensor.row(tensor.size(0) - 1)) {
        if (!is_poison(value)) return false;
    }
    return true;
}

}  // namespace

TEST_CASE("kernels norm: equals lesson 05 at every width, and writes nothing behind") {
    for (const int width : widths) {
        const Tensor x = random(Shape(3, width), 1, 5), weight = random(Shape(width), 2);
        Tensor expected(3, width), out = poisoned(Shape(4, width));
        rms_norm(expected, x, weight, 1e-5f);
        cpu::rms_norm(out.rows(0, 3), x, weight, 1e-5f);
        check_close(out.rows(0, 3), expected,
                    5e-7);  // 16 chains of up to 63 products, then a few roundings more
        CHECK(guarded(out));
    }
}

TEST_CASE("kernels norm: a row of 300s, whose squares overflow half precision; squares that overflow float; "
          "zeros") {
    for (const float value : {300.0f, to_float(to_half(300.0f)), 1e20f, -3e38f}) {
        Tensor x(1, 576), weight = random(Shape(576), 3), out = poisoned(Shape(1, 576));
        std::ranges::fill(x, value);
        cpu::rms_norm(out, x, weight, 0);
        for (int i = 0; i < 576; ++i) {
            const float expected = std::copysign(weight(i), weight(i) * value);
            REQUIRE(out(0, i) == doctest::Approx(expected).epsilon(1e-6));
        }
    }
    Tensor zeros(1, 33), weight = random(Shape(33), 3), out = poisoned(Shape(1, 33));
    cpu::rms_norm(out, zeros, weight, 1e-5f);
    for (const float value : out) CHECK(value == 0);
}

TEST_CASE("kernels norm: the input stays as it is; in place gives the same bits") {
    const Tensor x = random(Shape(5, 577), 4), weight = random(Shape(577), 5);
    const Tensor before = x;
    Tensor out(5, 577), in_place = x;
    cpu::rms_norm(out, x, weight, 1e-5f);
    CHECK(same_bits(x, before));
    cpu::rms_norm(in_place, in_place, weight, 1e-5f);
    CHECK(same_bits(in_place, out));
}

TEST_CASE("kernels norm: a row's bits do not depend on the rows beside it, not even on a NaN there") {
    for (const int width : widths) {
        Tensor x = random(Shape(5, width), 6);
        const Tensor weight = random(Shape(width), 7);
        x(2, width / 2) = not_a_number;
        Tensor together(5, width), alone(1, width);
        cpu::rms_norm(together, x, weight, 1e-5f);
        for (const int row : {0, 1, 3, 4}) {
            cpu::rms_norm(alone, x.rows(row, row + 1), weight, 1e-5f);
            CHECK(same_bits(alone.row(0), together.row(row)));
        }
        for (const float value : together.row(2)) CHECK(std::isnan(value));
    }
}

TEST_CASE("kernels norm: a shape that does not fit is refused") {
    Tensor x(2, 8), out(2, 9), weight(8);
    CHECK_THROWS_WITH_AS(cpu::rms_norm(out, x, weight, 0), doctest::Contains("[2, 9], expected [2, 8]"),
                         Error);
}

TEST_CASE("kernels gated: equals lesson 05, far out too, and writes nothing behind") {
    for (const int width : widths) {
        Tensor gate = random(Shape(3, width), 8, 20), up = random(Shape(3, width), 9);
        const float far[] = {-1000, -200,   -104, -89, -88, -87, -1e-30f, -0.0f,
                             0,     1e-30f, 87,   88,  89,  200, 1e38f};
        for (int i = 0; i < std::min(width, int(std::size(far))); ++i) gate(1, i) = far[i], up(1, i) = 0.75f;
        Tensor expected(3, width), out = poisoned(Shape(4, width));
        swiglu(expected, gate, up);
        cpu::silu_multiply(out.rows(0, 3), gate, up);
        CHECK(guarded(out));
        for (int row = 0; row < 3; ++row) {
            for (int i = 0; i < width; ++i) {  // each element by itself: the far ones are of any size
                // Under e^-88 the result is a subnormal number, or the zero of an infinite e^-gate.
                const bool tiny = std::abs(expected(row, i)) < 1e-35f;
                const double tolerance = tiny ? 1e-35 : 5e-7 * std::abs(double(expected(row, i)));
                REQUIRE(std::abs(double(out(row, i)) - double(expected(row, i))) <= tolerance);
            }
        }
    }
}

TEST_CASE("kernels gated: an element's bits do not depend on its place; a NaN stays where it is") {
    Tensor gate = random(Shape(64), 10, 5), up = random(Shape(64), 11), whole(64);
    gate(40) = not_a_number;
    up(50) = not_a_number;
    gate(60) = infinity;
    cpu::silu_multiply(whole, gate, up);
    for (int first = 0; first < 64; ++first) {
        Tensor part(64 - first);
        cpu::silu_multiply(part, gate.rows(first, 64), up.rows(first, 64));
        CHECK(same_bits(part, whole.rows(first, 64)));
    }
    for (int i = 0; i < 64; ++i) CHECK(std::isnan(whole(i)) == (i == 40 || i == 50));
    Tensor in_place = gate;
    cpu::silu_multiply(in_place, in_place, up);
    CHECK(same_bits(in_place, whole));
}

TEST_CASE("kernels embed: rows of every type, any number of threads; a wrong id harms its own row alone") {
    for (const Type type : {Type::F32, Type::F16, Type::BF16, Type::Q8_0, Type::Q4_0, Type::Q4_1}) {
        const GgufFile file = tiny_model({.type = type});
        const Matrix table = file.matrix("token_embd.weight");
        const std::vector<int> ids = {0, table.rows - 1, 7, 7, -1, 100, table.rows, 3};
        Tensor expected(int(ids.size()), table.columns);
        for (int token = 0; token < int(ids.size()); ++token) {
            const int id = ids[size_t(token)];
            if (id >= 0 && id < table.rows) dequantize(expected.row(token), table.type, table.row(id));
        }
        for (const int n_threads : {1, 2, 3, 4}) {
            Tensor out = poisoned(expected.shape());
            Team(n_threads).run([&](const Worker& worker) { cpu::embed(worker, out, table, ids); });
            for (int token = 0; token < int(ids.size()); ++token) {
                if (token == 4 || token == 6) {
                    for (const float value : out.row(token)) CHECK((std::isnan(value) && !is_poison(value)));
                } else {
                    CHECK(same_bits(out.row(token), expected.row(token)));
                }
            }
        }
    }
}

namespace {

// A batch of six tokens of two sequences in a cache of five blocks of three slots; token 2 has no slot.
struct RopeCase {
    static constexpr int n_tokens = 6, n_heads = 4, n_kv_heads = 2, n_positions = 50, n_blocks = 5,
                         block_size = 3;
    int head_dim, n_rotated;
    Type type;
    std::vector<int> ids = std::vector<int>(n_tokens, 0), positions = {0, 1, 49, 7, 20, 3};
    std::vector<int> slots = {4, 5, -1, 14, 0, 7}, sequence_begin = {0, 3, 6};
    Tensor q{n_tokens, n_heads, head_dim}, k{n_tokens, n_kv_heads, head_dim},
        v{n_tokens, n_kv_heads, head_dim};
    Tensor turns = rope_table(n_positions, n_rotated, 10000);
    std::vector<std::byte> keys, values;
    KeyValueView cache;

    RopeCase(int head_dim_, int n_rotated_, Type type_)
        : head_dim(head_dim_), n_rotated(n_rotated_), type(type_) {
        fill_random(q, 1);
        fill_random(k, 2);
        fill_random(v, 3);
        const size_t n_bytes = size_t(n_blocks * n_kv_heads * block_size * head_dim) * type_unit_bytes(type);
        keys.assign(n_bytes, std::byte(0xAA));
        values.assign(n_bytes, std::byte(0x55));
        cache = {.keys = keys.data(),
                 .values = values.data(),
                 .type = type,
                 .n_kv_heads = n_kv_heads,
                 .head_dim = head_dim,
                 .block_size = block_size,
                 .block_stride = size_t(n_kv_heads * block_size * head_dim),
                 .head_stride = size_t(block_size * head_dim),
                 .token_stride = size_t(head_dim),
                 .block_table = {},
                 .lengths = {}};
    }
    Batch batch() const {
        Batch out;
        out.ids = ids, out.positions = positions, out.slots = slots, out.sequence_begin = sequence_begin;
        return out;
    }
    void run(int n_threads) {
        Team(n_threads).run(
            [&](const Worker& worker) { cpu::rope_store(worker, q, k, v, turns, batch(), cache); });
    }
    Tensor stored(const std::vector<std::byte>& bytes, int slot, int kv_head) const {
        Tensor out(head_dim);
        const size_t offset = cache.offset(slot / block_size, kv_head, slot % block_size);
        dequantize(out, type, bytes.data() + offset * type_unit_bytes(type));
        return out;
    }
};

Tensor rounded_to(Type type, View<const float> x) {
    Tensor out(x.shape());
    for (size_t i = 0; i < x.count(); ++i) {
        const float value = x.data()[i];
        out.data()[i] = type == Type::F16    ? to_float(to_half(value))
                        : type == Type::BF16 ? to_float(to_bf16(value))
                                             : value;
    }
    return out;
}

}  // namespace

TEST_CASE("kernels rope_store: turns as lesson 05 does, stores what it turned, and nothing else") {
    for (const Type type : {Type::F32, Type::F16, Type::BF16}) {
        for (const auto& [head_dim, n_rotated] :
             {std::pair(64, 64), {20, 20}, {17, 16}, {80, 32}, {33, 2}, {2, 2}}) {
            RopeCase t(head_dim, n_rotated, type);
            Tensor q = t.q, k = t.k;
            rope(q, t.positions, t.turns);
            rope(k, t.positions, t.turns);
            const RopeCase before = t;
            t.run(1);
            for (int token = 0; token < t.n_tokens; ++token) {
                const bool skipped = t.slots[size_t(token)] < 0;
                check_close(t.q.row(token), skipped ? before.q.row(token) : q.row(token), 2e-7);
                check_close(t.k.row(token), skipped ? before.k.row(token) : k.row(token), 2e-7);
                if (skipped) continue;
                for (int head = 0; head < t.n_kv_heads; ++head) {
                    const int slot = t.slots[size_t(token)];
                    CHECK(
                        same_bits(t.stored(t.keys, slot, head), rounded_to(type, t.k.row(token).row(head))));
                    CHECK(same_bits(t.stored(t.values, slot, head),
                                    rounded_to(type, t.v.row(token).row(head))));
                }
            }
            CHECK(same_bits(t.v, before.v));
            // Of fifteen slots five are written; the others must hold the bytes they were filled with.
            for (const int slot : {1, 2, 3, 6, 8, 9, 10, 11, 12, 13}) {
                for (int head = 0; head < t.n_kv_heads; ++head) {
                    CHECK(same_bits(t.stored(t.keys, slot, head), before.stored(before.keys, slot, head)));
                    CHECK(
                        same_bits(t.stored(t.values, slot, head), before.stored(before.values, slot, head)));
                }
            }
        }
    }
}

TEST_CASE("kernels rope_store: the same bits with any number of threads") {
    for (const Type type : {Type::F32, Type::F16, Type::BF16}) {
        RopeCase one(20, 16, type);
        one.run(1);
        for (const int n_threads : {2, 3, 4, 7}) {
            RopeCase many(20, 16, type);
            many.run(n_threads);
            CHECK(same_bits(one.q, many.q));
            CHECK(same_bits(one.k, many.k));
            CHECK(one.keys == many.keys);
            CHECK(one.values == many.values);
        }
    }
}

TEST_CASE("kernels rope_store: a cache of a block format is refused") {
    RopeCase t(32, 32, Type::F32);
    t.cache.type = Type::Q8_0;
    CHECK_THROWS_WITH_AS(t.run(1), "a cache cannot be Q8_0", Error);
}
