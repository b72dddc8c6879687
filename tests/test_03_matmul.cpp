// Every rung of the ladder against the first, at sizes that no block or tile divides; and the last ones bit for bit.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/linear/tile.hpp"
#include "lessons/03_matmul/ladder.hpp"

namespace {

bool same_bits(View<const float> a, View<const float> b) {
    return a.shape() == b.shape() && std::memcmp(a.data(), b.data(), a.count() * sizeof(float)) == 0;
}

Tensor computed(const Rung& rung, Product& product, int n_threads = 1) {
    poison(product.c);
    Team team(n_threads);
    team.run([&](const Worker& worker) { rung.multiply(worker, product); });
    return product.c;
}

}  // namespace

TEST_CASE("03 two by two, by hand") {
    for (const Rung& rung : ladder) {
        Product p(2, 2, 3, 1);
        const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {7, 8, 9, 10, 11, 12}, expected[] = {58, 64, 139, 154};
        std::copy(a, a + 6, p.a.begin());
        std::copy(b, b + 6, p.b.begin());
        p.packed = cpu::pack_columns({}, p.memory.data(), p.b);
        CHECK_MESSAGE(same_bits(computed(rung, p), View<const float>(expected, 2, 2)), rung.name);
    }
}

TEST_CASE("03 every rung equals the first, at ragged sizes") {
    const int tile = cpu::tile_tokens;
    const std::array<int, 3> sizes[] = {{1, 1, 1},      {1, 17, 1},          {3, 1, 3},      {17, 31, 33},
                                        {31, 33, 17},   {4, 16, 8},          {5, 15, 9},     {3, 17, 7},
                                        {tile, 16, 31}, {tile + 1, 33, 320}, {97, 13, 641},  {2, 513, 65},
                                        {13, 511, 63},  {tile - 1, 48, 321}, {7, 1001, 576}, {101, 67, 1001}};
    for (const auto [n_rows, n_columns, n_inner] : sizes) {
        if (n_rows < 1) continue;  // a tile of one row has none smaller
        Product product(n_rows, n_columns, n_inner, 3);
        const Tensor expected = computed(ladder[0], product);
        for (const Rung& rung : ladder) {
            // A sum of n_inner products is rounded as often; the errors add up like a random walk.
            const Comparison c =
                compare(computed(rung, product), expected, std::sqrt(double(n_inner) + 3) * 0x1p-24);
            CHECK_MESSAGE(c.ok, rung.name, " ", product.size(), " ", c.text());
        }
    }
}

TEST_CASE("03 rung 1 is the definition") {
    Product p(3, 5, 4, 5);
    const Tensor c = computed(ladder[0], p);
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 5; ++j) {
            double sum = 0;
            for (int k = 0; k < 4; ++k) sum += double(p.a(i, k)) * double(p.b(k, j));
            CHECK(c(i, j) == float(sum));
        }
    }
}

TEST_CASE("03 blocks change the order of the loops, not of a sum: rungs 2 and 3 bit for bit") {
    for (const auto [n_rows, n_columns, n_inner] : {std::array{5, 513, 65}, {3, 1025, 129}, {17, 31, 200}}) {
        Product product(n_rows, n_columns, n_inner, 6);
        CHECK(same_bits(computed(ladder[2], product), computed(ladder[1], product)));
    }
}

TEST_CASE("03 rungs 4, 5 and 6 are one fma chain an element: the same bits, on any number of threads") {
    for (const auto [n_rows, n_columns, n_inner] : {std::array{1, 33, 700}, {9, 65, 321}, {103, 49, 1001}}) {
        Product product(n_rows, n_columns, n_inner, 7);
        const Tensor expected = computed(ladder[3], product);
        for (const int n_threads : {1, 2, 4}) {
            CHECK(same_bits(computed(ladder[4], product, n_threads), expected));
            CHECK(same_bits(computed(ladder[5], product, n_threads), expected));
        }
    }
}

TEST_CASE(
    "03 a GEMV is a row of the GEMM, bit for bit: it does not matter how many rows are computed together") {
    const int n_rows = 2 * cpu::tile_tokens + 97;
    Product all(n_rows, 35, 999, 8);
    const Tensor expected = computed(ladder[5], all);
    for (const int n : {1, 2, cpu::tile_tokens, 64}) {
        for (const int first : {0, 1, n_rows - n}) {
            Tensor out(n, 35);
            cpu::linear({}, out, all.a.rows(first, first + n), all.packed);
            CHECK(same_bits(out, expected.rows(first, first + n)));
        }
    }
}

TEST_CASE("03 what lies beside a ragged matrix stays out of the sums") {
    for (const Rung& rung : ladder) {
        Product product(3, 17, 5, 9);
        // Zero columns fill the last group of 16; infinity times such a zero is NaN, and must not come out anywhere.
        product.a(1, 2) = std::numeric_limits<float>::infinity();
        for (float& b : product.b) b = std::abs(b) + 1;
        product.packed = cpu::pack_columns({}, product.memory.data(), product.b);
        const Tensor c = computed(rung, product);
        for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 17; ++j) CHECK_MESSAGE(std::isinf(c(i, j)) == (i == 1), rung.name, i, j);
        }
        for (const float x : c) CHECK(!std::isnan(x));
    }
}

TEST_CASE("03 shapes that do not fit are named") {
    const Tensor a(2, 3), b(4, 5);
    Tensor c(2, 5);
    BigBuffer memory(cpu::packed_columns_bytes(b));
    for (const auto multiply : {matmul_ijk, matmul_ikj, matmul_blocked, matmul_tiled}) {
        CHECK_THROWS_WITH_AS(multiply(c, a, b), "matmul: b has shape [4, 5], expected [3, 5]", Error);
        CHECK_THROWS_WITH_AS(multiply(Tensor(2, 4), Tensor(2, 4), b),
                             "matmul: c has shape [2, 4], expected [2, 5]", Error);
    }
    CHECK_THROWS_WITH_AS(cpu::matmul({}, c, a, b, memory.data()),
                         "matmul: b has shape [4, 5], expected [3, 5]", Error);
}
