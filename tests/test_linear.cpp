// The fast linear layer: packing loses nothing, the product equals plain loops, and an element's bits depend on
// neither the tokens beside it nor the threads.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "common/check.hpp"
#include "common/memory.hpp"
#include "common/simd.hpp"
#include "kernels/linear/linear.hpp"
#include "kernels/linear/tile.hpp"

namespace {

bool same_bits(View<const float> a, View<const float> b) {
    return a.shape() == b.shape() && std::memcmp(a.data(), b.data(), a.count() * sizeof(float)) == 0;
}

Tensor random(Shape shape, uint64_t seed) {
    Tensor out(shape);
    fill_random(out, seed);
    return out;
}

Tensor poisoned(Shape shape) {
    Tensor out(shape);
    poison(out);
    return out;
}

// A matrix with its bytes: values of the seed, stored as the type holds them.
struct Stored {
    std::vector<std::byte> bytes;
    Matrix matrix;

    Stored(Type type, int rows, int columns, uint64_t seed) {
        const Tensor values = random(Shape(rows, columns), seed);
        const size_t size = size_t(rows) * row_bytes(type, columns);
        bytes.resize(size + 1);
        std::byte* at = bytes.data() + 1;  // files promise no alignment
        for (size_t i = 0; i < values.count(); ++i) {
            const float x = values.data()[i];
            if (type == Type::F32) std::memcpy(at + 4 * i, &x, 4);
            const uint16_t bits = type == Type::F16 ? to_half(x).bits : to_bf16(x).bits;
            if (type == Type::F16 || type == Type::BF16) std::memcpy(at + 2 * i, &bits, 2);
        }
        if (is_block_format(
                type)) {  // any bytes are quants; the scales, in front of each block, must be numbers
            const size_t block = type_unit_bytes(type);
            for (size_t i = 0; i < size; ++i) at[i] = std::byte(i * 37 + seed);
            for (size_t i = 0; i < size; i += block) {
                const half scale = to_half(0.01f + 0.001f * float(i / block % 7)), minimum = to_half(-0.1f);
                std::memcpy(at + i, &scale, 2);
                if (type == Type::Q4_1) std::memcpy(at + i + 2, &minimum, 2);
            }
        }
        matrix = {type, rows, columns, at, Layout::row_major};
    }
};

Tensor as_floats(const Matrix& m) {
    Tensor out(m.rows, m.columns);
    for (int row = 0; row < m.rows; ++row) dequantize(out.row(row), m.type, m.row(row));
    return out;
}

struct Packed {
    BigBuffer memory;
    Matrix matrix;
    Packed(const Matrix& m, Type type, const Worker& worker = {}) : memory(cpu::packed_bytes(m, type)) {
        matrix = cpu::pack(worker, memory.data(), m, type);
    }
};

Tensor multiply(View<const float> x, const Matrix& packed, int n_threads = 1) {
    Tensor out = poisoned(Shape(x.size(0), packed.rows));
    Team team(n_threads);
    team.run([&](const Worker& worker) { cpu::linear(worker, out, x, packed); });
    return out;
}

// One chain over k, in floats: what every element must be, to the bit.
Tensor chain(View<const float> x, View<const float> w) {
    Tensor out(x.size(0), w.size(0));
    for (int token = 0; token < x.size(0); ++token) {
        for (int row = 0; row < w.size(0); ++row) {
            float sum = 0;
            for (int k = 0; k < w.size(1); ++k) sum = scalar_fma(w(row, k), x(token, k), sum);
            out(token, row) = sum;
        }
    }
    return out;
}

Tensor reference(View<const float> x, View<const float> w) {  // in double
    Tensor out(x.size(0), w.size(0));
    for (int token = 0; token < x.size(0); ++token) {
        for (int row = 0; row < w.size(0); ++row) {
            double sum = 0;
            for (int k = 0; k < w.size(1); ++k) sum += double(w(row, k)) * double(x(token, k));
            out(token, row) = float(sum);
        }
    }
    return out;
}

constexpr Type all_types[] = {Type::F32, Type::F16, Type::BF16, Type::Q4_0, Type::Q4_1, Type::Q8_0};

}  // namespace

TEST_CASE(
    "linear: a packed matrix holds the same numbers, sixteen rows side by side, zeros behind the last") {
    for (const Type type : all_types) {
        for (const int rows : {1, 3, 16, 17, 33}) {
            const int columns = is_block_format(type) ? 288 : 271;
            const Stored stored(type, rows, columns, 1);
            const Tensor expected = as_floats(stored.matrix);
            const Packed packed(stored.matrix, Type::F32);
            CHECK(packed.matrix.layout == Layout::interleaved16);
            CHECK(packed.memory.size() == size_t((rows + 15) / 16 * 16 * columns) * sizeof(float));
            const auto* values = reinterpret_cast<const float*>(packed.memory.data());
            bool equal = true;
            for (int row = 0; row < (rows + 15) / 16 * 16; ++row) {
                for (int k = 0; k < columns; ++k) {
                    const float value = values[(row / 16 * columns + k) * 16 + row % 16];
                    equal = equal && value == (row < rows ? expected(row, k) : 0.0f);
                }
            }
            CHECK_MESSAGE(equal, type_name(type), " ", rows);
        }
    }
}

TEST_CASE("linear: 16-bit weights stay as they are stored") {
    for (const Type type : {Type::F16, Type::BF16}) {
        const Stored stored(type, 17, 33, 2);
        const Packed narrow(stored.matrix, type), wide(stored.matrix, Type::F32);
        CHECK(narrow.memory.size() * 2 == wide.memory.size());
        const Tensor x = random(Shape(3, 33), 3);
        CHECK(same_bits(multiply(x, narrow.matrix), multiply(x, wide.matrix)));
    }
}

TEST_CASE("linear: every element is one chain over k, at ragged sizes") {
    for (const int rows : {1, 3, 15, 16, 17, 31, 33, 65}) {
        for (const int columns : {1, 3, 17, 31, 33, 319, 321, 576, 1001}) {
            const Stored stored(Type::F32, rows, columns, 4);
            const Tensor w = as_floats(stored.matrix);
            const Packed packed(stored.matrix, Type::F32);
            for (const int n_tokens :
                 {1, 2, 3, cpu::tile_tokens - 1, cpu::tile_tokens, cpu::tile_tokens + 1, 31}) {
                if (n_tokens < 1) continue;
                const Tensor x = random(Shape(n_tokens, columns), 5);
                const Tensor out = multiply(x, packed.matrix);
                REQUIRE_MESSAGE(same_bits(out, chain(x, w)), n_tokens, " x ", rows, " x ", columns);
            }
        }
    }
}

TEST_CASE("linear: close to sums in double") {
    for (const auto [n_tokens, rows, columns] : {std::array{1, 960, 576}, {7, 576, 1536}, {200, 33, 576}}) {
        const Stored stored(Type::F32, rows, columns, 6);
        const Packed packed(stored.matrix, Type::F32);
        const Tensor x = random(Shape(n_tokens, columns), 7);
        // Each of `columns` roundings is at most half an ulp of the sum so far; they add up like a random walk.
        const double tolerance = std::sqrt(double(columns)) * 0x1p-24;
        const Comparison c =
            compare(multiply(x, packed.matrix), reference(x, as_floats(stored.matrix)), tolerance);
        CHECK_MESSAGE(c.ok, c.text());
    }
}

TEST_CASE("linear: a token's bits do not depend on the tokens beside it") {
    const int columns = 1001, most = 3 * cpu::tile_tokens + 101;
    const Stored stored(Type::BF16, 49, columns, 8);
    const Packed packed(stored.matrix, Type::BF16);
    const Tensor x = random(Shape(most, columns), 9);
    const Tensor all = multiply(x, packed.matrix);
    for (const int n : {1, 2, 7, 64, 96, 97, most - 1}) {
        CHECK(same_bits(multiply(x.rows(0, n), packed.matrix), all.rows(0, n)));
        CHECK(same_bits(multiply(x.rows(most - n, most), packed.matrix), all.rows(most - n, most)));
    }
}

TEST_CASE("linear: the bits do not depend on the number of threads, nor does what is packed") {
    for (const int rows : {1, 16, 33, 65, 200}) {
        const Stored stored(Type::Q8_0, rows, 64, 10);
        const Packed packed(stored.matrix, Type::F16);
        const Tensor x = random(Shape(19, 64), 11);
        const Tensor one = multiply(x, packed.matrix, 1);
        for (const int n_threads : {2, 3, 4, 7}) {
            CHECK(same_bits(multiply(x, packed.matrix, n_threads), one));
            BigBuffer memory(packed.memory.size());
            Team team(n_threads);
            team.run(
                [&](const Worker& worker) { cpu::pack(worker, memory.data(), stored.matrix, Type::F16); });
            CHECK(std::memcmp(memory.data(), packed.memory.data(), memory.size()) == 0);
        }
    }
}

TEST_CASE("linear: the rows of the threads are all rows, each once") {
    for (const int rows : {1, 15, 16, 17, 33, 576}) {
        for (const int n_threads : {1, 2, 4, 9}) {
            int next = 0;
            for (int thread = 0; thread < n_threads; ++thread) {
                const Range mine = cpu::shared_rows({thread, n_threads, nullptr}, rows);
                CHECK(mine.begin == next);
                next = mine.end;
            }
            CHECK(next == rows);
        }
    }
}

TEST_CASE("linear: with a residual the chain starts at zero, and one addition follows") {
    for (const int columns : {33, 700}) {
        const Stored stored(Type::F32, 37, columns, 12);
        const Packed packed(stored.matrix, Type::F32);
        const Tensor x = random(Shape(100, columns), 13), residual = random(Shape(100, 37), 14);
        const Tensor product = multiply(x, packed.matrix);
        Tensor expected = residual, out = residual;
        for (size_t i = 0; i < expected.count(); ++i) expected.data()[i] += product.data()[i];
        Team team(2);
        team.run([&](const Worker& worker) { cpu::linear_add(worker, out, x, packed.matrix); });
        CHECK(same_bits(out, expected));
    }
}

TEST_CASE("linear: a wrong shape or layout is named") {
    const Stored stored(Type::F32, 32, 16, 15);
    const Packed packed(stored.matrix, Type::F32);
    Tensor out(2, 32);
    CHECK_THROWS_WITH_AS(cpu::linear({}, out, Tensor(2, 15), packed.matrix),
                         doctest::Contains("[2, 15], expected [2, 16]"), Error);
    CHECK_THROWS_WITH_AS(cpu::linear({}, Tensor(2, 31), Tensor(2, 16), packed.matrix),
                         doctest::Contains("[2, 31], expected [2, 32]"), Error);
    CHECK_THROWS_WITH_AS(cpu::linear({}, out, Tensor(2, 16), stored.matrix), doctest::Contains("not packed"),
                         Error);
    CHECK_THROWS_WITH_AS(Packed(stored.matrix, Type::Q8_0), doctest::Contains("Q8_0"), Error);
    cpu::linear({}, Tensor(0, 32), Tensor(0, 16), packed.matrix);  // no tokens: nothing to do
}
