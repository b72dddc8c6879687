// What the GGUF reader does with wrong files: one clear line that names the file and the key or tensor; never a
// crash, a hang or a huge allocation. Most are files that other readers once crashed on.
#include <doctest/doctest.h>

#include <cstring>
#include <fstream>

#include "common/philox.hpp"
#include "tests/gguf_bytes.hpp"
#include "tests/temporary_folder.hpp"

namespace {

constexpr uint64_t huge = UINT64_MAX;
constexpr uint32_t u8 = 0, u32 = 4, i32 = 5, boolean = 7, string = 8;
constexpr uint32_t f32 = 0, q4_1 = 3, q4_k = 12, i8 = 24, i64 = 27;

void check_refused(const char* what, const Bytes& file, const std::string& expected) {
    const std::string error = open_and_read_all(file);
    CAPTURE(what);
    CAPTURE(error);
    CHECK(error.starts_with("bad.gguf: "));
    CHECK(error.find(expected) != std::string::npos);
    CHECK(error.find('\n') == std::string::npos);
    CHECK(error.size() < 300);
}

void check_opens(const char* what, const Bytes& file) {
    CAPTURE(what);
    CHECK(open_and_read_all(file) == "");
}

Bytes with_alignment(uint32_t alignment, uint64_t n_tensors = 0) {
    return header(n_tensors, 1) + key("general.alignment", u32) + number(alignment);
}

// A file with one of everything, about a kilobyte.
Bytes one_of_everything() {
    GgufWriter file;
    set_every_kind(file);
    file.set("general.alignment", uint32_t(32));
    static const std::vector<std::byte> data(2 * 34 * 3, std::byte(0x3c));
    static const std::vector<float> floats = {1, 2, 3, 4, 5, 6};
    file.add("vector", View<const float>(floats.data(), 6));
    file.add("matrix", View<const float>(floats.data(), 2, 3));
    file.add("cube", View<const float>(floats.data(), 1, 2, 3));
    file.add("q8_0", Matrix{Type::Q8_0, 3, 64, data.data(), Layout::row_major});
    file.add("q4_1", Matrix{Type::Q4_1, 3, 32, data.data(), Layout::row_major});
    file.add("f16", Matrix{Type::F16, 5, 7, data.data(), Layout::row_major});
    return file.bytes();
}

}  // namespace

TEST_CASE("damaged weights: the header") {
    check_refused("other magic", header(0, 0, 3, "FUGG"), "not a GGUF file: it begins with 'FUGG'");
    check_refused("unprintable magic", header(0, 0, 3, std::string("\x7f\x00\n\x1b", 4)),
                  "'\\x7f\\x00\\x0a\\x1b'");
    check_refused("version 0", header(0, 0, 0), "version 0; versions 2 and 3 are read");
    check_refused("version 1", header(0, 0, 1), "version 1");
    check_refused("a version to come", header(0, 0, 4), "version 4");
    check_refused("big-endian", header(0, 0, 0x03000000), "big-endian");
    check_refused("2^64 - 1 tensors", header(huge, 0), "18446744073709551615 tensors");
    check_refused("2^64 - 1 keys", header(0, huge), "18446744073709551615 keys");
    check_refused("one key, none there", header(0, 1), "1 keys");
    check_refused("more tensors than bytes", header(2, 0) + zeros(49), "2 tensors");
    check_refused("three bytes", Bytes() + raw("GGU"), "truncated");
    check_opens("nothing but a header", header(0, 0));
    check_opens("version 2", header(0, 0, 2));
    check_opens("bytes behind it", header(0, 0) + zeros(100));
}

TEST_CASE("damaged weights: keys") {
    const Part end = zeros(64);  // so that it is not the file's end that is complained about
    check_refused("a key of 2^48 - 1 bytes in 32", header(0, 1) + number(uint64_t(0xFFFFFFFFFFFF)),
                  "1 keys and 0 tensors, too many");
    check_refused("the same in a longer file", header(0, 1) + number(uint64_t(0xFFFFFFFFFFFF)) + end,
                  "a key needs 281474976710655 bytes");
    check_refused("a key of 2^64 - 1 bytes", header(0, 1) + number(huge) + end,
                  "a key needs 18446744073709551615");
    check_refused("a key without a name", header(0, 1) + key("", u32) + number(1u) + end,
                  "key '' has no name");
    check_refused("a key of 65,536 bytes", header(0, 1) + key(std::string(65536, 'k'), u32) + number(1u),
                  "kk..' has no name");
    check_refused("kind 13", header(0, 1) + key("k", 13) + end, "key 'k' has unknown kind 13");
    check_refused("kind 2^32 - 1", header(0, 1) + key("k", 0xFFFFFFFF) + end, "unknown kind 4294967295");
    check_refused("an array of kind 13", header(0, 1) + array("k", 13, 1) + end,
                  "key 'k' has unknown kind 13");
    check_refused("an array of arrays", header(0, 1) + array("k", 9, 1) + end,
                  "key 'k' is an array of arrays");
    check_refused("an array of 2^64 - 1 bytes", header(0, 1) + array("k", u8, huge) + end,
                  "key 'k' announces 18446744073709551615 values");
    check_refused("2^62 numbers: 2^64 bytes", header(0, 1) + array("k", u32, 1ull << 62) + end,
                  "key 'k' announces");
    check_refused("2^61 + 1 of 8 bytes: 8 bytes", header(0, 1) + array("k", 10, (1ull << 61) + 1) + end,
                  "'k' announces");
    check_refused("2^64 - 1 texts", header(0, 1) + array("k", string, huge) + end, "key 'k' needs 8 bytes");
    check_refused("a text of 2^64 - 8 bytes", header(0, 1) + key("k", string) + number(huge - 7) + end,
                  "key 'k' needs 18446744073709551608 bytes");
    check_refused("a key twice", header(0, 2) + (key("k", u32) + number(1u)) + (key("k", u32) + number(1u)),
                  "key 'k' appears twice");
    check_refused("a name of two lines", header(0, 1) + key("a\nb", 13) + end, "key 'a\\x0ab' has");
    check_opens("empty arrays", header(0, 2) + array("a", u32, 0) + array("b", string, 0) + end);
    check_opens("a boolean of any byte", header(0, 1) + key("k", boolean) + number(uint8_t(77)) + end);
}

TEST_CASE("damaged weights: the alignment") {
    check_refused("0", with_alignment(0), "'general.alignment' is 0, not a power of two");
    check_refused("13", with_alignment(13), "is 13, not a power of two");
    check_refused("48", with_alignment(48), "is 48");
    check_refused("of another kind", header(0, 1) + key("general.alignment", i32) + number(32),
                  "is i32, expected u32");
    check_refused("a list", header(0, 1) + array("general.alignment", u32, 1) + number(32u),
                  "is array, expected u32");
    const auto w_at_4 = tensor("v", {1}, f32, 0) + tensor("w", {1}, f32, 4);
    check_refused("tensors packed tighter", header(2, 0) + w_at_4 + padding(32) + zeros(64),
                  "tensor 'w' has offset 4, not a multiple of the alignment 32");
    check_opens("4", with_alignment(4, 2) + w_at_4 + padding(4) + zeros(8));
    check_opens("1", with_alignment(1, 2) + w_at_4 + zeros(8));
    check_opens("2^31 without tensors", with_alignment(1u << 31));
    check_refused("2^31, so that the data begins behind the file",
                  with_alignment(1u << 31, 1) + tensor("w", {1}, f32, 0) + zeros(64),
                  "tensor 'w' has 4 bytes at offset 0 of the 0");
    // Floats at odd addresses are readable as a matrix, which is copied out, not as a vector.
    const GgufFile odd("odd.gguf",
                       with_alignment(1, 1) + tensor("ww", {1}, f32, 1) + zeros(1) + number(2.5f));
    CHECK(odd.matrix("ww").columns == 1);
    if (reinterpret_cast<uintptr_t>(odd.matrix("ww").bytes) % 4 != 0) {
        CHECK_THROWS_WITH_AS(odd.vector("ww"), doctest::Contains("tensor 'ww'"), Error);
    }
}

TEST_CASE("damaged weights: tensors") {
    const Part end = padding(32) + zeros(4096);
    const auto file = [&](const Part& description) { return header(1, 0) + description + end; };
    const auto n_dims = [](uint32_t n) { return text("w") + number(n) + zeros(32); };
    check_refused("5 dimensions", file(n_dims(5)), "tensor 'w' has 5 dimensions");
    check_refused("a million", file(n_dims(1000000)), "tensor 'w' has 1000000 dimensions");
    check_refused("2^32 - 1", file(n_dims(0xFFFFFFFF)), "tensor 'w' has 4294967295 dimensions");
    check_refused("a dimension of -1", file(tensor("w", {4, huge}, f32, 0)),
                  "tensor 'w' has a dimension of 1844674407");
    check_refused("2^33 x 2^33", file(tensor("w", {1ull << 33, 1ull << 33}, f32, 0)),
                  "tensor 'w' has a dimension of");
    check_refused("2^32 x 2^30: 2^64 bytes", file(tensor("w", {1ull << 32, 1ull << 30}, f32, 0)),
                  "more bytes than");
    check_refused("3 * 10^9 squared numbers of 8 bytes", file(tensor("w", {3037000500, 3037000499}, i64, 0)),
                  "'w' has");
    check_refused("2^64 - 16 bytes", file(tensor("w", {4, 1073741823, 1073741825}, f32, 0)),
                  "tensor 'w' has 1844674407");
    check_refused("two of 2^63 - 64 bytes",
                  header(2, 0) + tensor("v", {0x7FFFFFFFFFFFFFC0}, i8, 0) +
                      tensor("w", {0x7FFFFFFFFFFFFFC0}, i8, 0x7FFFFFFFFFFFFFC0) + end,
                  "tensor 'v' has 9223372036854775744");
    check_refused("format 4, which no longer is one", file(tensor("w", {4}, 4, 0)),
                  "tensor 'w' has unknown format 4");
    check_refused("format 2^32 - 1", file(tensor("w", {4}, 0xFFFFFFFF, 0)), "unknown format 4294967295");
    check_refused("rows of 33 in blocks of 32", file(tensor("w", {33, 32}, q4_1, 0)), "rows of 33 elements");
    check_refused("rows of 576 in blocks of 256", file(tensor("w", {576}, q4_k, 0)), "the 256 that Q4_K");
    check_refused("offset 2^64 - 1", file(tensor("w", {4}, f32, huge)),
                  "tensor 'w' has offset 18446744073709551615");
    check_refused("offset 2^64 - 32", file(tensor("w", {16}, f32, huge - 31)),
                  "tensor 'w' has 64 bytes at offset");
    check_refused("offset at the end", file(tensor("w", {1}, f32, 4096)),
                  "tensor 'w' has 4 bytes at offset 4096 of the");
    check_refused("without a name", file(tensor("", {4}, f32, 0)), "tensor '' has no name");
    check_refused("a name of 64 bytes", file(tensor(std::string(64, 'n'), {4}, f32, 0)), "nn' has no name");
    check_refused("a name twice", header(2, 0) + tensor("w", {4}, f32, 0) + tensor("w", {4}, f32, 32) + end,
                  "tensor 'w' appears twice");
    check_refused("two in one place",
                  header(2, 0) + tensor("v", {4}, f32, 64) + tensor("w", {4}, f32, 64) + end,
                  "overlaps tensor");
    check_refused("one inside another",
                  header(2, 0) + tensor("v", {4}, f32, 32) + tensor("w", {40}, f32, 0) + end,
                  "tensor 'v' overlaps tensor 'w'");
    check_opens("any order, with gaps",
                header(2, 0) + tensor("v", {4}, f32, 1024) + tensor("w", {4}, f32, 0) + end);
    check_opens("a name of 63 bytes", file(tensor(std::string(63, 'n'), {4}, f32, 0)));
    check_opens("four dimensions", file(tensor("w", {2, 3, 5, 7}, f32, 0)));
    check_opens("no dimension: one number", file(tensor("w", {}, f32, 0)));
    for (const GgufFormat& format : gguf_formats) {
        check_opens(format.name, file(tensor("w", {uint64_t(format.unit_length), 3}, format.number, 0)));
    }
}

TEST_CASE("damaged weights: a dimension of 0 is a tensor without bytes, which cannot be computed with") {
    for (const std::vector<uint64_t>& dims :
         {std::vector<uint64_t>{0}, {0, 4}, {32, 0}, {0, 0}, {huge >> 1, 0}}) {
        const Bytes bytes = header(1, 0) + tensor("w", dims, q4_1, 0) + padding(32);
        if (dims[0] % 32 != 0) continue;
        const GgufFile file("zero.gguf", bytes);
        CHECK(file.tensor("w").bytes.empty());
        CHECK_THROWS_WITH_AS(file.matrix("w"), doctest::Contains("zero.gguf: tensor 'w' has shape ["), Error);
    }
    const GgufFile file("zero.gguf", header(1, 0) + tensor("w", {0}, f32, 0) + padding(32));
    CHECK_THROWS_WITH_AS(file.vector("w"), doctest::Contains("tensor 'w'"), Error);
}

TEST_CASE("damaged weights: cut after any byte") {
    const Bytes whole = one_of_everything();
    const GgufFile file("whole.gguf", whole);
    const GgufTensor& last = file.tensors().back();
    // Only the padding behind the last tensor may be missing.
    const size_t needed = whole.size() - (32 - last.bytes.size() % 32) % 32;
    for (size_t length = 0; length <= whole.size(); ++length) {
        const std::string error =
            open_and_read_all(Bytes(whole.begin(), whole.begin() + std::ptrdiff_t(length)));
        CAPTURE(length);
        REQUIRE(error.empty() == (length >= needed));
        if (!error.empty()) REQUIRE(error.find(length < 4 ? "header" : "truncated") != std::string::npos);
    }
}

TEST_CASE("damaged weights: files on the disk") {
    const TemporaryFolder folder;
    const std::string path = folder / "model.gguf";
    const auto error_of = [&](const std::string& name) -> std::string {
        try {
            const GgufFile file(name);
            return "";
        } catch (const Error& error) { return error.what(); }
    };
    CHECK(error_of(path) == "cannot open " + path + ": No such file or directory");
    CHECK(error_of(folder.path) == folder.path.string() + " is not a file");
    std::ofstream(path).close();
    CHECK(error_of(path) == path + " is empty");
    const Bytes whole = one_of_everything();
    const auto write = [&](size_t length) {
        std::ofstream(path, std::ios::binary)
            .write(reinterpret_cast<const char*>(whole.data()), std::streamsize(length));
    };
    write(whole.size());
    CHECK(error_of(path) == "");
    write(whole.size() - 32);
    CHECK(error_of(path).starts_with(path + ": tensor 'f16' has 70 bytes at offset "));
}

// Ten thousand wrong files from one seed: bytes replaced, numbers made extreme, pieces removed, doubled, swapped.
TEST_CASE("damaged weights: 10,000 mutations of a file") {
    const Bytes whole = one_of_everything();
    uint32_t draw = 0;
    const auto random = [&](size_t n) { return size_t(philox(1, {draw++, 0, 0, 0})[0]) % n; };
    int n_opened = 0;
    for (int mutation = 0; mutation < 10000; ++mutation) {
        Bytes bytes = whole;
        for (size_t change = random(3) + 1; change > 0 && !bytes.empty(); --change) {
            const size_t at = random(bytes.size()), n = std::min(bytes.size() - at, random(40) + 1);
            const auto place = bytes.begin() + std::ptrdiff_t(at), end = place + std::ptrdiff_t(n);
            switch (random(6)) {
                case 0: *place = std::byte(random(256)); break;
                case 1: *place ^= std::byte(1u << random(8)); break;
                case 2: {  // the numbers at which arithmetic on sizes goes wrong
                    constexpr uint64_t extremes[] = {0,          1,          4,          5,
                                                     31,         0x7FFFFFFF, 0xFFFFFFFF, 1ull << 32,
                                                     1ull << 61, 1ull << 62, INT64_MAX,  UINT64_MAX - 31,
                                                     UINT64_MAX};
                    const uint64_t value = extremes[random(std::size(extremes))];
                    std::memcpy(&*place, &value, std::min<size_t>(bytes.size() - at, random(2) ? 8 : 4));
                    break;
                }
                case 3: bytes.erase(place, end); break;
                case 4: {
                    const Bytes piece(place, end);
                    bytes.insert(bytes.begin() + std::ptrdiff_t(random(bytes.size())), piece.begin(),
                                 piece.end());
                    break;
                }
                case 5: bytes.resize(at); break;
            }
        }
        const std::string error = open_and_read_all(bytes);
        n_opened += error.empty();
        CAPTURE(mutation);
        CAPTURE(error);
        REQUIRE((error.empty() || error.starts_with("bad.gguf: ")));
        REQUIRE(error.find('\n') == std::string::npos);
    }
    CHECK(n_opened >
          1000);  // among the changes are harmless ones: the test would notice a reader that refuses all
    CHECK(n_opened < 8000);
}
