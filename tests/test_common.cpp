// What everything else is tested with: tensors, comparison, random numbers, 16-bit numbers, JSON, files.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <thread>

#include "common/check.hpp"
#include "common/files.hpp"
#include "common/half.hpp"
#include "common/json.hpp"
#include "common/memory.hpp"
#include "common/philox.hpp"
#include "common/tensor.hpp"
#include "tests/temporary_folder.hpp"

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

std::string complaint(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) { return error.what(); }
    return "accepted";
}

bool contains(const std::string& text, const char* part) {
    INFO(text);
    const bool found = text.find(part) != std::string::npos;
    CHECK(found);
    return found;
}

}  // namespace

// ---- Tensors

TEST_CASE("common: rows of a view are the numbers of that row") {
    Tensor t(3, 4, 5);
    for (size_t i = 0; i < t.count(); ++i) t.data()[i] = float(i);
    CHECK(t(1, 2, 3) == 1 * 20 + 2 * 5 + 3);
    CHECK(t.row(2).shape() == Shape(4, 5));
    CHECK(t.row(2)(3, 4) == 59);
    CHECK(t.rows(1, 3).shape() == Shape(2, 4, 5));
    CHECK(t.rows(1, 3)(0, 0, 0) == 20);
    CHECK(t.rows(1, 1).count() == 0);
    CHECK(t.reshape(12, 5)(11, 4) == 59);
    CHECK(contains(complaint([&] { (void)t.reshape(7, 9); }), "[3, 4, 5]"));
    CHECK(contains(complaint([&] { t.require_shape("t", 3, 5, 4); }),
                   "t has shape [3, 4, 5], expected [3, 5, 4]"));
    t.require_shape("t", 3, 4, 5);
}

TEST_CASE("common: a tensor is zero at first, aligned, and copies its numbers") {
    for (const int n : {1, 3, 17, 1001}) {
        Tensor a(n);
        CHECK(reinterpret_cast<uintptr_t>(a.data()) % 64 == 0);
        for (const float x : a) CHECK(x == 0);
        Tensor b = a;
        b(0) = 1;
        CHECK(a(0) == 0);
        const float* kept = b.data();
        const Tensor c = std::move(b);
        CHECK(c.data() == kept);
        a = c;
        CHECK(a(0) == 1);
        CHECK(a.data() != c.data());
    }
    CHECK(Tensor(0, 5).count() == 0);
    CHECK(Tensor().count() == 0);
}

TEST_CASE("common: big memory is zero, aligned, moves, and says when there is not enough") {
    BigBuffer buffer(3'000'000);
    CHECK(reinterpret_cast<uintptr_t>(buffer.data()) % (size_t(2) << 20) == 0);
    CHECK(buffer.data()[0] == std::byte(0));
    CHECK(buffer.data()[2'999'999] == std::byte(0));
    std::byte* const data = buffer.data();
    BigBuffer other = std::move(buffer);
    CHECK(other.data() == data);
    CHECK(buffer.data() == nullptr);
    CHECK(BigBuffer(0).data() == nullptr);
    CHECK_THROWS_AS(BigBuffer(SIZE_MAX), Error);
    CHECK_THROWS_AS(BigBuffer(size_t(1) << 62), Error);
}

// ---- Comparison

TEST_CASE("common: equal outputs agree, also where both are infinite or NaN") {
    const std::vector<float> values{1, -2, infinity, -infinity, not_a_number, 0};
    const Comparison same = compare(values, values, 0);
    CHECK(same.ok);
    CHECK(same.norm_error == 0);
    CHECK(compare(std::vector<float>{}, std::vector<float>{}, 0).ok);
    const std::vector<float> zeros(5, 0.0f);
    CHECK(compare(zeros, zeros, 0).ok);
}

TEST_CASE("common: NaN or infinity on one side only fails at any tolerance") {
    const std::vector<float> good{1, 2, 3};
    for (const float bad : {not_a_number, infinity, -infinity}) {
        for (size_t at = 0; at < 3; ++at) {
            std::vector<float> other = good;
            other[at] = bad;
            CHECK(!compare(other, good, 1e9).ok);
            CHECK(!compare(good, other, 1e9).ok);
            CHECK(compare(other, good, 1e9).worst_index == at);
        }
    }
    CHECK(!compare(std::vector<float>{infinity}, std::vector<float>{-infinity}, 1e9).ok);
    CHECK(!compare(std::vector<float>{not_a_number}, std::vector<float>{infinity}, 1e9).ok);
}

TEST_CASE("common: an element that was never written fails, even where NaN is expected") {
    std::vector<float> out(3), expected{1, not_a_number, 3};
    poison(out);
    for (const float x : out) CHECK(is_poison(x));
    CHECK(!is_poison(not_a_number));
    out[0] = 1, out[2] = 3;
    const Comparison result = compare(out, expected, 1e9);
    CHECK(!result.ok);
    CHECK(result.n_bad == 1);
    CHECK(result.worst_index == 1);
    CHECK(contains(result.text(), "nothing written"));
}

TEST_CASE("common: a shape mismatch always fails, also of as many elements") {
    const Tensor a(2, 3), b(3, 2), c(6);
    CHECK(contains(complaint([&] { compare(a, b, 1e9); }), "[2, 3]"));
    CHECK(contains(complaint([&] { compare(a, c, 1e9); }), "[6]"));
}

TEST_CASE("common: both measures must hold") {
    std::vector<float> expected(10'000, 1.0f);
    // One wrong element among many: small as a vector, large by itself.
    std::vector<float> one = expected;
    one[4321] = 1.01f;
    const Comparison spike = compare(one, expected, 1e-3);
    CHECK(spike.norm_error <= 1e-3);
    CHECK(compare(one, expected, 1e-3, 1e-2).ok);
    CHECK(!compare(one, expected, 1.1e-4).ok);
    CHECK(spike.worst_index == 4321);
    CHECK(spike.worst_error == doctest::Approx(0.01).epsilon(1e-4));
    // A small error everywhere: no element stands out.
    std::vector<float> all(10'000, 1.002f);
    CHECK(!compare(all, expected, 1e-3).ok);
    CHECK(compare(all, expected, 1e-3).worst_error < 32e-3);
    // Where zeros are expected, nothing else is near.
    CHECK(!compare(std::vector<float>{1e-30f}, std::vector<float>{0}, 1e9).ok);
    CHECK(!compare(one, expected, std::numeric_limits<double>::quiet_NaN()).ok);
}

// ---- Random numbers

TEST_CASE("common: Philox 4x32-10 gives the published answers") {
    // The known answers of the reference implementation (Random123), counter and key in words.
    CHECK(philox(0, {0, 0, 0, 0}) == PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    CHECK(philox(~uint64_t(0), {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}) ==
          PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    CHECK(philox(0x299f31d0a4093822, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}) ==
          PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("common: uniform draws are in [0, 1), spread evenly, each purpose its own") {
    double sum = 0, squares = 0;
    constexpr int n = 20'000;
    for (int i = 0; i < n; ++i) {
        const float u = uniform(5, uint32_t(i), 0, Purpose::sample);
        CHECK(u >= 0);
        CHECK(u < 1);
        sum += u;
        squares += u * u;
    }
    CHECK(sum / n == doctest::Approx(0.5).epsilon(0.02));
    CHECK(squares / n == doctest::Approx(1.0 / 3).epsilon(0.02));
    CHECK(uniform(5, 7, 0, Purpose::sample) == uniform(5, 7, 0, Purpose::sample));
    CHECK(uniform(5, 7, 0, Purpose::sample) != uniform(6, 7, 0, Purpose::sample));
    CHECK(uniform(5, 7, 0, Purpose::sample) != uniform(5, 7, 1, Purpose::sample));
    CHECK(uniform(5, 7, 0, Purpose::sample) != uniform(5, 7, 0, Purpose::weights));
}

TEST_CASE("common: test values do not depend on how many are made") {
    Tensor small(33), large(1001);
    fill_random(small, 3);
    fill_random(large, 3);
    for (int i = 0; i < 33; ++i) CHECK(small(i) == large(i));
    double sum = 0;
    for (const float x : large) {
        CHECK(x >= -1);
        CHECK(x < 1);
        sum += x;
    }
    CHECK(std::abs(sum / 1001) < 0.06);
    Tensor other(33), scaled(33);
    fill_random(other, 4);
    fill_random(scaled, 3, 100);
    CHECK(other(0) != small(0));
    CHECK(scaled(5) == small(5) * 100);
}

// ---- 16-bit numbers

namespace {

// What the bits mean, from the definition: sign, exponent, mantissa.
double value_of(uint16_t bits, int exponent_bits, int mantissa_bits) {
    const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
    const int mantissa = bits & ((1 << mantissa_bits) - 1), bias = (1 << (exponent_bits - 1)) - 1;
    const double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1) return mantissa ? std::nan("") : sign * HUGE_VAL;
    if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
    return sign * std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
}

// Every number goes to float and back; halfway between two neighbours the even one is taken, to either side of
// the middle the nearer one.
template <class Number>
void check_all_numbers(Number (*from_float)(float), int exponent_bits, int mantissa_bits) {
    for (uint32_t bits = 0; bits < 65536; ++bits) {
        const Number number{uint16_t(bits)};
        const double expected = value_of(uint16_t(bits), exponent_bits, mantissa_bits);
        const float wide = to_float(number);
        if (std::isnan(expected)) {
            if (!std::isnan(wide) || !std::isnan(to_float(from_float(wide)))) FAIL("NaN lost: ", bits);
            continue;
        }
        if (double(wide) != expected || std::signbit(wide) != std::signbit(expected)) FAIL("widening ", bits);
        if (from_float(wide).bits != bits) FAIL("rounding the exact value of ", bits);
        if (std::isinf(expected)) continue;
        // The neighbour away from zero; behind the largest number stands infinity, at what would be next.
        const double next = std::isinf(value_of(uint16_t(bits + 1), exponent_bits, mantissa_bits))
                                ? 2 * expected - value_of(uint16_t(bits - 1), exponent_bits, mantissa_bits)
                                : value_of(uint16_t(bits + 1), exponent_bits, mantissa_bits);
        const float middle = float((expected + next) / 2);
        if (std::isinf(middle) || double(middle) != (expected + next) / 2)
            continue;  // no float: nothing to round
        const uint32_t even = bits % 2 == 0 ? bits : bits + 1;
        if (from_float(middle).bits != even) FAIL("tie above ", bits);
        if (from_float(std::nextafter(middle, 0.0f)).bits != bits) FAIL("below the tie above ", bits);
        if (from_float(std::nextafter(middle, middle * 2)).bits != bits + 1)
            FAIL("over the tie above ", bits);
    }
}

}  // namespace

TEST_CASE("common: all 65,536 half numbers, and the ties between them") {
    check_all_numbers<half>(to_half, 5, 10);
    CHECK(to_half(65'519.996f).bits == 0x7bff);
    CHECK(to_half(65'520.0f).bits == 0x7c00);
    CHECK(to_half(1e30f).bits == 0x7c00);
    CHECK(to_half(-1e30f).bits == 0xfc00);
    CHECK(to_half(1e-30f).bits == 0);
    CHECK(to_half(-1e-30f).bits == 0x8000);
}

TEST_CASE("common: all 65,536 bf16 numbers, and the ties between them") {
    check_all_numbers<bf16>(to_bf16, 8, 7);
    CHECK(to_bf16(std::numeric_limits<float>::max()).bits == 0x7f80);
    CHECK(to_bf16(std::bit_cast<float>(0x7f800001)).bits != 0x7f80);  // a NaN whose upper half is infinity's
}

// ---- JSON

TEST_CASE("common: JSON goes out and comes back, doubles to the last bit") {
    for (uint32_t i = 0; i < 5000; ++i) {
        const PhiloxBlock block = philox(9, {i, 0, 0, 0});
        const double x = std::bit_cast<double>(uint64_t(block[0]) << 32 | block[1]);
        if (!std::isfinite(x)) continue;
        const Json back = parse_json(to_text(Json(x)), "test");
        if (std::bit_cast<uint64_t>(back.number()) != std::bit_cast<uint64_t>(x))
            FAIL(format_text("%.17g", x));
    }
    Json json;
    json.set("whole", int64_t(-9007199254740993)).set("largest", INT64_MAX).set("least", INT64_MIN);
    json.set("yes", true)
        .set("none", Json())
        .set("text", "a \"b\"\n\t\\ \u00e9")
        .set("ids", std::vector<int>{1, 2, 3});
    json.set("empty", Json::Array{}).set("nothing", Json::Object{}).set("zero", -0.0).set("tenth", 0.1);
    json.set("nested", Json::Array{Json::Array{1, "x"}, Json(Json::Object{{"k", 2.5}})});
    const Json back = parse_json(to_text(json), "test");
    CHECK(to_text(back) == to_text(json));
    CHECK(back["whole"].integer() == -9007199254740993);
    CHECK(back["largest"].integer() == INT64_MAX);
    CHECK(back["least"].integer() == INT64_MIN);
    CHECK(back["ids"].integers() == std::vector<int>{1, 2, 3});
    CHECK(back["text"].text() == "a \"b\"\n\t\\ \u00e9");
    CHECK(std::signbit(back["zero"].number()));
    CHECK(back["tenth"].number() == 0.1);
    CHECK(back["nested"][1]["k"].number() == 2.5);
    CHECK(back.members()[0].first == "whole");  // the order of writing stays
    CHECK(parse_json("18446744073709551615", "test").number() == 18446744073709551615.0);
}

TEST_CASE("common: what JSON cannot hold becomes null or U+FFFD") {
    CHECK(to_text(Json(std::nan(""))) == "null\n");
    CHECK(to_text(Json(HUGE_VAL)) == "null\n");
    CHECK(to_text(Json("\xff\xe2\x82")) == "\"\xef\xbf\xbd\xef\xbf\xbd\"\n");
    CHECK(parse_json(to_text(Json(std::string("a\0b", 3))), "test").text() == std::string("a\0b", 3));
    Json key;
    key.set("\xff", 1);
    CHECK(parse_json(to_text(key), "test").has("\xef\xbf\xbd"));
}

TEST_CASE("common: wrong JSON is one line that names its source") {
    for (const char* text :
         {"", " ", "{", "[1,]", "{\"a\" 1}", "nul", "1 2", "{} x", "'a'", "[1", "\"a", "01", "1e999", "NaN",
          "\"\xff\"", "[\"\n\"]", "{\"a\": 1, \"b\": 2, \"a\": 3}", "\"\\ud800\""}) {
        const std::string line = complaint([&] { parse_json(text, "some.json"); });
        INFO(text);
        CHECK(contains(line, "some.json: "));
    }
    CHECK(contains(complaint([&] { parse_json("{\"a\": 1, \"a\": 2}", "x"); }), "\"a\" occurs twice"));
    // Depth is bounded: a million brackets would otherwise exhaust the stack.
    CHECK(contains(complaint([&] { parse_json(std::string(1'000'000, '['), "x"); }), "nested deeper"));
    CHECK(parse_json(std::string(200, '[') + std::string(200, ']'), "x").items().size() == 1);
}

TEST_CASE("common: asking a JSON value for what it is not") {
    const Json json = parse_json("{\"a\": [1, 2.5, \"x\", 3000000000, null]}", "test");
    CHECK(contains(complaint([&] { (void)json["b"]; }), "\"b\" is missing"));
    CHECK(contains(complaint([&] { (void)json["a"].text(); }), "expected a text, found an array"));
    CHECK(contains(complaint([&] { (void)json["a"][5]; }), "element 5"));
    CHECK(contains(complaint([&] { (void)json["a"][1].integer(); }), "whole number"));
    CHECK(contains(complaint([&] { (void)json["a"].integers(); }), "whole number"));
    CHECK(contains(complaint([&] { (void)Json(Json::Array{int64_t(3000000000)}).integers(); }), "32 bits"));
    CHECK(json["a"][0].number() == 1);
    Json text("x");
    CHECK_THROWS_AS(text.set("a", 1), Error);
    CHECK_THROWS_AS(text.push(1), Error);
}

// ---- Files

TEST_CASE("common: a file is replaced whole, and nothing is left beside it") {
    const TemporaryFolder folder;
    const std::string path = folder / "out.json";
    write_json(path, Json("first"));
    write_json(path, Json("second"));
    CHECK(read_json(path).text() == "second");
    CHECK(folder.n_files() == 1);
    const std::string bytes("\0\xff\r\n", 4);
    write_file(path, bytes);
    CHECK(read_file(path) == bytes);
    // A link stays one, and its file gets the bytes.
    std::filesystem::create_symlink(path, folder / "link");
    write_file(folder / "link", "through");
    CHECK(std::filesystem::is_symlink(folder / "link"));
    CHECK(read_file(path) == "through");
    // So does its mode, and the longest name is not too long.
    std::filesystem::permissions(path, std::filesystem::perms(0640));
    write_file(path, "kept");
    CHECK(std::filesystem::status(path).permissions() == std::filesystem::perms(0640));
    write_file(folder / std::string(255, 'n'), "long");
    CHECK(folder.n_files() == 3);
    write_file("/dev/null", "a device is written to, not replaced");
    CHECK(std::filesystem::is_character_file("/dev/null"));
}

TEST_CASE("common: a file that cannot be read or written is one clear line") {
    const TemporaryFolder folder;
    CHECK(contains(complaint([&] { read_file(folder / "none"); }), "/none: No such file"));
    CHECK(contains(complaint([&] { read_file(folder.path); }), "Is a directory"));
    CHECK(contains(complaint([&] { write_file(folder.path, "x"); }), "it is a folder"));
    CHECK(contains(complaint([&] { write_file(folder / "a/b.json", "x"); }), "there is no folder"));
    CHECK(contains(complaint([&] { write_file("", "x"); }), "cannot write"));
    CHECK(contains(complaint([&] { write_file("/dev/full", "x"); }), "No space left"));
    CHECK(contains(complaint([&] { read_file("/proc/self/mem"); }), "/proc/self/mem: "));
    for (const std::string& wrong : {folder.path.string(), folder / "a/b.json", std::string()}) {
        CHECK(contains(complaint([&] { check_writable(wrong); }), ("cannot write " + wrong).c_str()));
    }
    check_writable(folder / "new");
    CHECK(contains(complaint([&] { read_json(folder / "none"); }), "/none"));
    CHECK(contains(complaint([&] { read_file(""); }), "cannot read"));
    CHECK(folder.n_files() == 0);
    std::filesystem::create_symlink(folder / "none", folder / "link");
    CHECK(contains(complaint([&] { write_file(folder / "link", "x"); }), "link to nothing"));
}

TEST_CASE("common: reading ends, whatever is read: a device, a long file, a pipe that nobody writes to") {
    const TemporaryFolder folder;
    const std::string path = folder / "file", pipe = folder / "pipe";
    CHECK(contains(complaint([&] { read_file("/dev/zero", 100'000); }),
                   "/dev/zero: it has more than 100000 bytes"));
    const std::string bytes(100'000, 'x');
    write_file(path, bytes);
    CHECK(read_file(path, 100'000) == bytes);
    CHECK(contains(complaint([&] { read_file(path, 99'999); }), "more than 99999 bytes"));
    CHECK(read_file("/dev/null").empty());
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    CHECK(read_file(pipe).empty());
    CHECK(contains(complaint([&] { write_file(pipe, "x"); }), "pipe: nobody reads it"));
    // A writer that takes its time is waited for.
    const int out = open(pipe.c_str(), O_RDONLY | O_NONBLOCK), in = open(pipe.c_str(), O_WRONLY);
    REQUIRE(in >= 0);
    std::thread writer([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        write_file(pipe, "late");
        close(in);
    });
    CHECK(read_file(pipe) == "late");
    writer.join();
    close(out);
}
