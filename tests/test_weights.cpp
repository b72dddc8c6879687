// Reading and writing GGUF files, the tiny model, and weights as floats.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "common/check.hpp"
#include "common/files.hpp"
#include "common/json.hpp"
#include "tests/gguf_bytes.hpp"
#include "tests/temporary_folder.hpp"
#include "weights/tiny_model.hpp"

namespace {

GgufFile file_of_settings() {
    GgufWriter file;
    set_every_kind(file);
    return GgufFile("settings.gguf", file.bytes());
}

}  // namespace

TEST_CASE("weights: settings of every kind are read back") {
    const GgufFile file = file_of_settings();
    CHECK(file.entries().size() == 22);
    CHECK(file.has("u8"));
    CHECK(!file.has("u9"));
    CHECK(file.integer("u8") == 200);
    CHECK(file.integer("i8") == -100);
    CHECK(file.integer("u16") == 60000);
    CHECK(file.integer("i16") == -30000);
    CHECK(file.integer("u32") == 4000000000);
    CHECK(file.integer("i32") == -2000000000);
    CHECK(file.integer("u64") == int64_t(1) << 62);
    CHECK(file.integer("i64") == -(int64_t(1) << 62));
    CHECK(file.integer("u8", 200, 200) == 200);
    CHECK(file.real("f32") == double(0.1f));
    CHECK(file.real("f64") == 0.1);
    CHECK(file.boolean("yes"));
    CHECK(!file.boolean("no"));
    CHECK(file.text("name") == "Grüße\n");
    CHECK(file.integers("integers") == std::vector<int>{1, -2, 2147483647});
    CHECK(file.integers("flags") == std::vector<int>{1, 0, 1});
    CHECK(file.reals("reals") == std::vector<float>{0.5f, -1.5f});
    CHECK(file.reals("doubles") == std::vector<float>{0.5f, -1.5f});
    CHECK(file.texts("texts") == std::vector<std::string_view>{"a", "", "three"});
    CHECK(file.texts("none").empty());
}

TEST_CASE("weights: a setting of another kind, out of range or missing is refused by its key") {
    const GgufFile file = file_of_settings();
    const auto refused = [&](auto&& ask, const std::string& expected) {
        CHECK_THROWS_WITH_AS(ask(), ("settings.gguf: key " + expected).c_str(), Error);
    };
    refused([&] { file.integer("size"); }, "'size' is missing");
    refused([&] { file.integer("f32"); }, "'f32' is f32, expected an integer");
    refused([&] { file.integer("yes"); }, "'yes' is boolean, expected an integer");
    refused([&] { file.integer("too large"); }, "'too large' is u64, expected an integer");
    refused([&] { file.integer("integers"); }, "'integers' is an array of i64, expected an integer");
    refused([&] { file.integer("u8", 0, 199); }, "'u8' is 200, expected 0 to 199");
    refused([&] { file.integer("i64", 0, 199); }, "'i64' is -4611686018427387904, expected 0 to 199");
    refused([&] { file.real("u8"); }, "'u8' is u8, expected a real number");
    refused([&] { file.real("nan"); }, "'nan' is nan, expected a real number");
    refused([&] { file.boolean("u8"); }, "'u8' is u8, expected a boolean");
    refused([&] { file.text("u8"); }, "'u8' is u8, expected text");
    refused([&] { file.text("texts"); }, "'texts' is an array of text, expected text");
    refused([&] { file.integers("u8"); }, "'u8' is u8, expected an array of integers");
    refused([&] { file.integers("reals"); },
            "'reals' is an array of f32, expected an array of 32-bit integers");
    refused([&] { file.integers("wide"); },
            "'wide' is an array of i64, expected an array of 32-bit integers");
    refused([&] { file.reals("integers"); },
            "'integers' is an array of i64, expected an array of real numbers");
    refused([&] { file.texts("reals"); }, "'reals' is an array of f32, expected an array of text");
    refused([&] { file.texts("name"); }, "'name' is text, expected an array of text");
}

TEST_CASE("weights: tensors are read back, rows and columns as they were") {
    const float numbers[] = {1, 2, 3, 4, 5, 6};
    GgufWriter writer;
    writer.add("vector", View<const float>(numbers, 6));
    writer.add("matrix", as_matrix(View<const float>(numbers, 2, 3)));
    writer.add("cube", View<const float>(numbers, 1, 2, 3));
    const GgufFile file("tensors.gguf", writer.bytes());
    CHECK(file.tensors().size() == 3);
    CHECK(file.has_tensor("cube"));
    CHECK(!file.has_tensor("sphere"));
    CHECK(file.tensor("cube").dims ==
          std::array<int64_t, 4>{3, 2, 1, 1});  // as the format has it: fastest first

    const Matrix matrix = file.matrix("matrix");
    matrix.require_shape("matrix", 2, 3);
    Tensor row(3);
    dequantize(row, matrix.type, matrix.row(1));
    CHECK((row(0) == 4 && row(1) == 5 && row(2) == 6));

    file.matrix("vector").require_shape("a vector is a single row", 1, 6);
    const View<const float> vector = file.vector("vector");
    vector.require_shape("vector", 6);
    CHECK((vector(0) == 1 && vector(5) == 6));
    CHECK_THROWS_WITH_AS(file.matrix("sphere"), "tensors.gguf: tensor 'sphere' is missing", Error);
    CHECK_THROWS_WITH_AS(file.matrix("cube"),
                         "tensors.gguf: tensor 'cube' has shape [1, 2, 3], expected a matrix", Error);
    CHECK_THROWS_WITH_AS(file.vector("matrix"),
                         "tensors.gguf: tensor 'matrix' is F32 [2, 3], expected a vector of F32", Error);
}

TEST_CASE("weights: a format that cannot be computed is refused by its name, when it is asked for") {
    for (const GgufFormat& format : gguf_formats) {
        const std::string name = format.name;
        const bool computed = name == "F32" || name == "F16" || name == "BF16" || name == "Q8_0" ||
                              name == "Q4_0" || name == "Q4_1";
        const size_t n_bytes = size_t(format.unit_bytes);
        const GgufFile file("formats.gguf",
                            header(1, 0) + tensor("w", {uint64_t(format.unit_length)}, format.number, 0) +
                                padding(32) + zeros(n_bytes));
        if (computed) {
            const Matrix matrix = file.matrix("w");
            CHECK(type_name(matrix.type) == name);  // the table here and the one in matrix.cpp agree
            CHECK(row_bytes(matrix.type, matrix.columns) == n_bytes);
        } else {
            CHECK_THROWS_WITH_AS(file.matrix("w"), doctest::Contains(("tensor 'w' is " + name).c_str()),
                                 Error);
        }
    }
}

TEST_CASE("weights: a file written again from what was read has the same bytes") {
    for (const Type type : {Type::F32, Type::F16, Type::BF16, Type::Q8_0, Type::Q4_0, Type::Q4_1}) {
        const TemporaryFolder folder;
        const std::string path = folder / "tiny.gguf", again = folder / "again.gguf";
        write_tiny_model(path, {.type = type, .tied_head = false});
        const GgufFile file(path);
        GgufWriter writer;
        for (const GgufEntry& entry : file.entries()) writer.copy(entry);
        for (const GgufTensor& tensor : file.tensors()) writer.add(tensor);
        writer.write(again);
        CHECK(read_file(path) == read_file(again));
        CHECK(folder.n_files() == 2);  // nothing unfinished stays behind
    }
}

TEST_CASE("weights: what was read stays valid when the file object is moved") {
    GgufFile first = tiny_model();
    const View<const float> norm = first.vector("output_norm.weight");
    const std::string_view name = first.text("general.name");
    const float value = norm(3);
    const GgufFile second = std::move(first);
    CHECK(name == "random weights");
    CHECK(norm(3) == value);
    CHECK(second.vector("output_norm.weight").data() == norm.data());
}

TEST_CASE("weights: the writer refuses what a reader would") {
    GgufWriter writer;
    const Tensor x(4, 4);
    writer.set("k", 1);
    CHECK_THROWS_WITH_AS(writer.set("k", 2), "key 'k' is set twice", Error);
    writer.add("w", x);
    CHECK_THROWS_WITH_AS(writer.add("w", x), "tensor 'w' is added twice", Error);
    Matrix packed = as_matrix(x);
    packed.layout = Layout::interleaved16;
    CHECK_THROWS_WITH_AS(writer.add("v", packed), "tensor 'v' is not row_major", Error);
    CHECK_THROWS_WITH_AS(writer.write("no such folder/x.gguf"), doctest::Contains("no such folder"), Error);
}

TEST_CASE("weights: the tiny model is a function of its seed, in every type about the same model") {
    const GgufFile a = tiny_model(), b = tiny_model(), c = tiny_model({.seed = 2});
    const Matrix floats = a.matrix("blk.1.ffn_down.weight");
    floats.require_shape("ffn_down", 64, 96);
    CHECK(std::memcmp(floats.bytes, b.matrix("blk.1.ffn_down.weight").bytes, floats.size_bytes()) == 0);
    CHECK(std::memcmp(floats.bytes, c.matrix("blk.1.ffn_down.weight").bytes, floats.size_bytes()) != 0);
    // How far a stored value may lie from the drawn one, in units of the largest: half a step, and what rounding
    // the scale adds; four bits are cut off, not rounded, so a whole step.
    const std::pair<Type, double> types[] = {{Type::F16, 0x1p-11},
                                             {Type::BF16, 0x1p-8},
                                             {Type::Q8_0, 0.5 / 127 + 0x1p-11},
                                             {Type::Q4_0, 1.01 / 8},
                                             {Type::Q4_1, 1.01 / 8}};
    const double limit = std::sqrt(3.0 / 96);
    for (const auto& [type, step] : types) {
        const GgufFile file = tiny_model({.type = type});
        const Matrix matrix = file.matrix("blk.1.ffn_down.weight");
        CHECK(matrix.type == type);
        Tensor expected(64 * 96), actual(64 * 96);
        dequantize(expected, Type::F32, floats.bytes);
        dequantize(actual, type, matrix.bytes);
        for (int i = 0; i < 64 * 96; ++i) {
            REQUIRE(std::abs(double(actual(i)) - double(expected(i))) <= step * limit);
        }
    }
    CHECK(!a.has_tensor("output.weight"));
    CHECK(tiny_model({.tied_head = false}).matrix("output.weight").rows ==
          int(a.texts("tokenizer.ggml.tokens").size()));
    CHECK_THROWS_AS(tiny_model({.n_heads = 3}), Error);
    CHECK_THROWS_AS(tiny_model({.d_ff = 100, .type = Type::Q4_1}), Error);
}

TEST_CASE("weights: the tiny vocabulary holds every byte once, and what its merges make") {
    const GgufFile file = tiny_model();
    const auto tokens = file.texts("tokenizer.ggml.tokens"), merges = file.texts("tokenizer.ggml.merges");
    const std::set<std::string_view> known(tokens.begin(), tokens.end());
    CHECK(known.size() == tokens.size());
    CHECK(tokens.size() == 3 + 256 + merges.size());
    CHECK(file.integers("tokenizer.ggml.token_type").size() == tokens.size());
    CHECK(known.contains("Ġ"));  // the space
    CHECK(known.contains("Ċ"));  // the line feed
    for (const std::string_view merge : merges) {
        const size_t space = merge.find(' ');
        const std::string left(merge.substr(0, space)), right(merge.substr(space + 1));
        CHECK((known.contains(left) && known.contains(right) && known.contains(left + right)));
    }
}

TEST_CASE("weights: blocks as floats, by hand") {
    Tensor out(32);
    BlockQ4_0 q4_0{to_half(0.5f), {}};
    BlockQ4_1 q4_1{to_half(0.5f), to_half(-2.0f), {}};
    BlockQ8_0 q8_0{to_half(0.25f), {}};
    for (int i = 0; i < 16; ++i) q4_0.nibbles[i] = q4_1.nibbles[i] = uint8_t(i | (15 - i) << 4);
    for (int i = 0; i < 32; ++i) q8_0.quants[i] = int8_t(i % 2 ? -4 * i : 4 * i);
    q8_0.quants[31] = -128;
    dequantize(out, Type::Q4_0, reinterpret_cast<const std::byte*>(&q4_0));
    for (int i = 0; i < 16; ++i) CHECK((out(i) == 0.5f * float(i - 8) && out(i + 16) == 0.5f * float(7 - i)));
    dequantize(out, Type::Q4_1, reinterpret_cast<const std::byte*>(&q4_1));
    for (int i = 0; i < 16; ++i)
        CHECK((out(i) == 0.5f * float(i) - 2 && out(i + 16) == 0.5f * float(15 - i) - 2));
    dequantize(out, Type::Q8_0, reinterpret_cast<const std::byte*>(&q8_0));
    for (int i = 0; i < 31; ++i) CHECK(out(i) == float(i % 2 ? -i : i));
    CHECK(out(31) == -32);
    Tensor part(16);
    CHECK_THROWS_WITH_AS(dequantize(part, Type::Q8_0, nullptr), doctest::Contains("multiple of 32"), Error);
}

TEST_CASE("weights: blocks as floats, as the gguf package has them") {
    const Json cases = read_json("tests/golden/dequantize.json");
    CHECK(cases.items().size() == 5);
    for (const Json& one : cases.items()) {
        const std::string& hex = one["bytes"].text();
        std::vector<std::byte> bytes;
        for (size_t i = 0; i < hex.size(); i += 2)
            bytes.push_back(std::byte(std::stoi(hex.substr(i, 2), nullptr, 16)));
        const Json::Array& values = one["values"].items();
        const GgufFormat* format = std::ranges::find(gguf_formats, one["type"].text(),
                                                     [](const GgufFormat& f) { return std::string(f.name); });
        Tensor out(int(values.size()));
        const Type type = Type(format->number);
        REQUIRE(bytes.size() == row_bytes(type, out.size(0)));
        bytes.insert(bytes.begin(), std::byte(0));  // blocks lie at any address
        dequantize(out, type, bytes.data() + 1);
        for (int i = 0; i < out.size(0); ++i) {
            CAPTURE(format->name);
            CAPTURE(i);
            REQUIRE(double(out(i)) == values[size_t(i)].number());
        }
    }
}
