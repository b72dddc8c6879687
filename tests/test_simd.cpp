// The sixteen-lane types against the same arithmetic one number at a time, on whatever machine this was built for.
#include <doctest/doctest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "common/check.hpp"
#include "common/simd.hpp"

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

struct Lanes {
    float lane[16];
    float operator[](int i) const { return lane[i]; }
};
Lanes lanes(f32x16 v) {
    Lanes out;
    store(out.lane, v);
    return out;
}
struct IntLanes {
    int32_t lane[16];
};
IntLanes lanes(i32x16 v) {
    IntLanes out;
    store(out.lane, v);
    return out;
}

std::vector<float> random(int n, uint64_t seed, float scale = 1) {
    std::vector<float> out(size_t(n), 0.0f);
    fill_random(out, seed, scale);
    return out;
}

bool same(float a, float b) { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b); }

// One memory page followed by one that must not be touched.
class GuardedPage {
  public:
    GuardedPage() : size_(size_t(sysconf(_SC_PAGESIZE))) {
        void* pages = mmap(nullptr, 2 * size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(pages != MAP_FAILED);
        data_ = static_cast<std::byte*>(pages);
        REQUIRE(mprotect(data_ + size_, size_, PROT_NONE) == 0);
    }
    ~GuardedPage() { munmap(data_, 2 * size_); }
    GuardedPage(const GuardedPage&) = delete;
    template <class T>
    T* last(int n) const {  // the last n elements that may be touched
        return reinterpret_cast<T*>(data_ + size_) - n;
    }

  private:
    size_t size_;
    std::byte* data_;
};

}  // namespace

TEST_CASE("simd: arithmetic is that of floats, lane by lane") {
    MESSAGE("built for ", simd::Machine::name);
    const std::vector<float> a = random(16, 1, 10), b = random(16, 2, 10), c = random(16, 3, 10);
    const f32x16 va = f32x16::load(a.data()), vb = f32x16::load(b.data()), vc = f32x16::load(c.data());
    for (int i = 0; i < 16; ++i) {
        const float x = a[size_t(i)], y = b[size_t(i)], z = c[size_t(i)];
        CHECK(same(lanes(va + vb)[i], x + y));
        CHECK(same(lanes(va - vb)[i], x - y));
        CHECK(same(lanes(va * vb)[i], x * y));
        CHECK(same(lanes(va / vb)[i], x / y));
        CHECK(same(lanes(fma(va, vb, vc))[i], scalar_fma(x, y, z)));
        CHECK(same(lanes(max(va, vb))[i], std::max(x, y)));
        CHECK(same(lanes(min(va, vb))[i], std::min(x, y)));
        CHECK(same(lanes(select(va < vb, va, vc))[i], x < y ? x : z));
        CHECK(same(lanes(select(va > vb, va, vc))[i], x > y ? x : z));
        CHECK(same(lanes(select(va == va, vb, vc))[i], y));
        CHECK(same(lanes(f32x16::broadcast(x))[3], x));
    }
    CHECK(same(lanes(f32x16::broadcast(-0.0f))[0], -0.0f));
    CHECK(same(lanes(f32x16{})[15], 0.0f));
}

TEST_CASE("simd: fma rounds once where the machine has the instruction, else it is a product, then a sum") {
    const float x =
        1 + 0x1p-12f;  // x * x = 1 + 2^-11 + 2^-24: the last bit is lost when the product is rounded
    const float expected = simd::Machine::has_fma ? 0x1p-24f : 0.0f;
    const f32x16 v = f32x16::broadcast(x);
    CHECK(lanes(fma(v, v, f32x16::broadcast(-1 - 0x1p-11f)))[7] == expected);
    CHECK(scalar_fma(x, x, -1 - 0x1p-11f) == expected);
}

TEST_CASE("simd: of NaN and a number, max and min give their second operand") {
    const f32x16 nan = f32x16::broadcast(not_a_number), one = f32x16::broadcast(1);
    CHECK(lanes(max(nan, one))[0] == 1);
    CHECK(lanes(min(nan, one))[0] == 1);
    CHECK(std::isnan(lanes(max(one, nan))[0]));
    CHECK(std::isnan(lanes(min(one, nan))[0]));
    CHECK(lanes(select(nan == nan, one, f32x16{}))[0] == 0);
}

TEST_CASE("simd: integers") {
    const i32x16 lane = i32x16::iota(), minus_three = i32x16::broadcast(-3);
    for (int i = 0; i < 16; ++i) {
        CHECK(lanes(lane + minus_three).lane[i] == i - 3);
        CHECK(lanes(lane - minus_three).lane[i] == i + 3);
        CHECK(lanes(lane << 5).lane[i] == i << 5);
        CHECK(lanes((lane + minus_three) >> 1).lane[i] == (i - 3) >> 1);
        CHECK(lanes(lane & i32x16::broadcast(6)).lane[i] == (i & 6));
        CHECK(lanes(lane < i32x16::broadcast(5)).lane[i] == (i < 5 ? -1 : 0));
        CHECK(lanes(select(lane > i32x16::broadcast(5), lane, minus_three)).lane[i] == (i > 5 ? i : -3));
        CHECK(lanes(select(lane == i32x16::broadcast(5), lane, minus_three)).lane[i] == (i == 5 ? i : -3));
        CHECK(lanes(to_float(lane + minus_three))[i] == float(i - 3));
        CHECK(lanes(as_bits(f32x16::broadcast(1))).lane[i] == 0x3f800000);
        CHECK(lanes(from_bits(i32x16::broadcast(0x40000000)))[i] == 2);
    }
}

TEST_CASE("simd: exp within 1 ulp of e^x") {
    // Every 3,001st float of those whose exponential is neither 0 nor infinity, both signs.
    double worst = 0;
    float worst_at = 0;
    float x[16];
    int n = 0;
    for (uint32_t bits = 0x30000000; bits < 0x42d00000; bits += 3001) {
        for (const float candidate : {std::bit_cast<float>(bits), -std::bit_cast<float>(bits)}) {
            if (candidate > 88.72f) continue;
            x[n++] = candidate;
        }
        if (n < 15) continue;
        const Lanes y = lanes(exp(f32x16::load(x, n)));
        for (int i = 0; i < n; ++i) {
            const double expected = std::exp(double(x[i]));
            const float rounded = float(expected);
            const double ulp = double(std::nextafter(rounded, infinity)) - double(rounded);
            const double error = std::abs(double(y[i]) - expected) / ulp;
            if (!(error <= worst)) worst = error, worst_at = x[i];
        }
        n = 0;
    }
    MESSAGE("worst: ", worst, " ulp at ", worst_at);
    CHECK(worst <= 1.0);
}

TEST_CASE("simd: exp at its ends") {
    const float x[16] = {-infinity, -1e30f, -104,   -88,   0,        -0.0f,
                         1,         88.7f,  88.73f, 1e30f, infinity, not_a_number};
    const Lanes y = lanes(exp(f32x16::load(x)));
    CHECK(same(y[0], 0.0f));
    CHECK(same(y[1], 0.0f));
    CHECK(same(y[2], 0.0f));
    CHECK(y[3] == doctest::Approx(std::exp(-88.0)).epsilon(1e-6));  // under 2^-126: not flushed to zero
    CHECK(y[4] == 1);
    CHECK(y[5] == 1);
    CHECK(y[6] == float(std::exp(1.0)));
    CHECK(std::isfinite(y[7]));
    CHECK(y[8] == infinity);
    CHECK(y[9] == infinity);
    CHECK(y[10] == infinity);
    CHECK(std::isnan(y[11]));
}

TEST_CASE("simd: 16-bit numbers widen and round as half.hpp says, all of them") {
    int wrong = 0;
    for (int first = 0; first < 65536; first += 16) {
        half h[16], h_back[16];
        bf16 b[16], b_back[16];
        for (int i = 0; i < 16; ++i) h[i].bits = b[i].bits = uint16_t(first + i);
        const f32x16 from_h = f32x16::load(h), from_b = f32x16::load(b);
        store(h_back, from_h);
        store(b_back, from_b);
        for (int i = 0; i < 16; ++i) {
            wrong += !same(lanes(from_h)[i], to_float(h[i])) + !same(lanes(from_b)[i], to_float(b[i]));
            // There and back: a compiler may leave both ways out, and then a signalling NaN stays one.
            const bool nan_stays = std::isnan(to_float(h[i])) && std::isnan(to_float(h_back[i]));
            wrong += !nan_stays && h_back[i].bits != h[i].bits;
            wrong += b_back[i].bits != to_bf16(to_float(b[i])).bits;
        }
    }
    CHECK(wrong == 0);
}

// Of the floats `step` apart, those that the machine rounds to 16 bits in another way than half.hpp.
static uint64_t rounded_otherwise(uint64_t step) {
    uint64_t wrong = 0;
    for (uint64_t first = 0; first < uint64_t(1) << 32; first += 16 * step) {
        float x[16];
        half h[16];
        bf16 b[16];
        for (uint64_t i = 0; i < 16; ++i) x[i] = std::bit_cast<float>(uint32_t(first + i * step));
        store(h, f32x16::load(x));
        store(b, f32x16::load(x));
        for (int i = 0; i < 16; ++i) {
            wrong += (h[i].bits != to_half(x[i]).bits) + (b[i].bits != to_bf16(x[i]).bits);
        }
    }
    return wrong;
}

TEST_CASE("simd: floats of every magnitude and kind round as half.hpp says") {
    CHECK(rounded_otherwise(20011) == 0);
    CHECK(rounded_otherwise(4096) == 0);  // halfway cases
}
TEST_CASE("simd: all 2^32 floats round as half.hpp says" * doctest::test_suite("long")) {
    CHECK(rounded_otherwise(1) == 0);
}

TEST_CASE("simd: tails of n touch n, and the lanes behind are zero") {
    const GuardedPage page;
    const std::vector<float> values = random(16, 4);
    for (int n = 0; n <= 16; ++n) {
        float* f = page.last<float>(n);
        std::copy(values.begin(), values.begin() + n, f);
        const f32x16 v = f32x16::load(f, n);
        for (int i = 0; i < 16; ++i) CHECK(same(lanes(v)[i], i < n ? values[size_t(i)] : 0.0f));

        store(f, v + f32x16::broadcast(1), n);  // the page behind would end the program
        for (int i = 0; i < n; ++i) CHECK(f[i] == values[size_t(i)] + 1);
        float out[16] = {};
        store(out, f32x16::broadcast(1), n);
        for (int i = 0; i < 16; ++i) CHECK(out[i] == (i < n ? 1 : 0));

        half* h = page.last<half>(n);
        store(h, v, n);
        bf16 b[16] = {};
        store(b, v, n);
        for (int i = 0; i < n; ++i) CHECK(h[i].bits == to_half(values[size_t(i)]).bits);
        for (int i = 0; i < 16; ++i) CHECK(b[i].bits == (i < n ? to_bf16(values[size_t(i)]).bits : 0));
        for (int i = 0; i < 16; ++i) CHECK(lanes(f32x16::load(h, n))[i] == (i < n ? to_float(h[i]) : 0));
    }
}

TEST_CASE("simd: sixteen lanes are reduced as a tree of halves") {
    const std::vector<float> x = random(16, 5);
    std::vector<float> tree = x;
    for (size_t width = 8; width > 0; width /= 2) {
        for (size_t i = 0; i < width; ++i) tree[i] += tree[i + width];
    }
    CHECK(same(reduce_sum(f32x16::load(x.data())), tree[0]));
    for (size_t largest = 0; largest < 16; ++largest) {
        std::vector<float> y = x;
        y[largest] = 2;
        CHECK(reduce_max(f32x16::load(y.data())) == 2);
    }
}

TEST_CASE("simd: a transposed block, and nothing beside it") {
    const int in_stride = 19, out_stride = 21;
    const std::vector<float> in = random(16 * in_stride, 6);
    std::vector<float> out(16 * out_stride, -7.0f);
    transpose16x16(out.data(), out_stride, in.data(), in_stride);
    for (int row = 0; row < 16; ++row) {
        for (int column = 0; column < out_stride; ++column) {
            const float expected = column < 16 ? in[size_t(column * in_stride + row)] : -7.0f;
            CHECK(out[size_t(row * out_stride + column)] == expected);
        }
    }
}
