// GGUF files made by hand, byte by byte, right or wrong.
//   header(1, 0) + tensor("w", {4, 2}, 0, 0) + padding(32) + zeros(32)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weights/gguf.hpp"
#include "weights/gguf_writer.hpp"

using Bytes = std::vector<std::byte>;
using Part = std::function<void(Bytes&)>;  // appends to a file

inline Bytes operator+(Bytes file, const Part& part) {
    part(file);
    return file;
}
inline Part operator+(Part first, Part second) {
    return [=](Bytes& file) { first(file), second(file); };
}

template <class T>
Part number(T value) {
    return [=](Bytes& file) {
        const auto bytes = std::as_bytes(std::span(&value, 1));
        file.insert(file.end(), bytes.begin(), bytes.end());
    };
}
inline Part raw(std::string text) {
    return [=](Bytes& file) {
        for (const char c : text) file.push_back(std::byte(c));
    };
}
inline Part text(std::string value) { return number(uint64_t(value.size())) + raw(value); }
inline Part zeros(size_t n) {
    return [=](Bytes& file) { file.resize(file.size() + n); };
}
inline Part padding(size_t alignment) {
    return [=](Bytes& file) { file.resize((file.size() + alignment - 1) / alignment * alignment); };
}

inline Bytes header(uint64_t n_tensors, uint64_t n_keys, uint32_t version = 3, std::string magic = "GGUF") {
    return Bytes() + raw(magic) + number(version) + number(n_tensors) + number(n_keys);
}
inline Part key(std::string name, uint32_t kind) { return text(name) + number(kind); }
inline Part array(std::string name, uint32_t element, uint64_t length) {
    return key(name, 9) + number(element) + number(length);
}
inline Part tensor(std::string name, std::vector<uint64_t> dims, uint32_t format, uint64_t offset) {
    return [=](Bytes& file) {
        file = file + text(name) + number(uint32_t(dims.size()));
        for (const uint64_t size : dims) file = file + number(size);
        file = file + number(format) + number(offset);
    };
}

// 22 settings: one of every kind, then numbers that no int holds and arrays.
inline void set_every_kind(GgufWriter& file) {
    file.set("u8", uint8_t(200));
    file.set("i8", int8_t(-100));
    file.set("u16", uint16_t(60000));
    file.set("i16", int16_t(-30000));
    file.set("u32", uint32_t(4000000000));
    file.set("i32", int32_t(-2000000000));
    file.set("u64", uint64_t(1) << 62);
    file.set("i64", -(int64_t(1) << 62));
    file.set("f32", 0.1f);
    file.set("f64", 0.1);
    file.set("nan", std::numeric_limits<float>::quiet_NaN());
    file.set("yes", true);
    file.set("no", false);
    file.set("name", "Grüße\n");
    file.set("too large", uint64_t(1) << 63);
    file.set("integers", std::vector<int64_t>{1, -2, 2147483647});
    file.set("wide", std::vector<int64_t>{1, 2147483648});
    file.set("flags", std::vector<bool>{true, false, true});
    file.set("reals", std::vector<float>{0.5f, -1.5f});
    file.set("doubles", std::vector<double>{0.5, -1.5});
    file.set("texts", std::vector<std::string>{"a", "", "three"});
    file.set("none", std::vector<std::string>{});
}

// Opens the file and asks for all that is in it, as every kind of thing. Whether or not it answers, nothing may
// crash. Returns the first error of opening, "" if it opens.
inline std::string open_and_read_all(Bytes bytes) {
    bytes.shrink_to_fit();  // a read past the end is then one past the memory, which a sanitizer sees
    try {
        const GgufFile file("bad.gguf", std::move(bytes));
        const auto attempt = [](auto&& ask) {
            try {
                ask();
            } catch (const Error&) {}
        };
        for (const GgufEntry& entry : file.entries()) {
            attempt([&] { file.integer(entry.key); });
            attempt([&] { file.integer(entry.key, 0, 10); });
            attempt([&] { file.real(entry.key); });
            attempt([&] { file.boolean(entry.key); });
            attempt([&] { file.text(entry.key); });
            attempt([&] { file.integers(entry.key); });
            attempt([&] { file.reals(entry.key); });
            attempt([&] {
                size_t n_bytes = 0;
                for (const std::string_view value : file.texts(entry.key)) {
                    n_bytes += size_t(std::ranges::count(value, 'e'));
                }
                if (n_bytes > entry.bytes.size()) fail("more letters than bytes");
            });
        }
        for (const GgufTensor& tensor : file.tensors()) {
            attempt([&] {
                float sum = 0;
                for (const float value : file.vector(tensor.name)) sum += value;
                if (sum == 12345) fail("%g", double(sum));
            });
            attempt([&] {
                const Matrix matrix = file.matrix(tensor.name);
                Tensor row(matrix.columns);
                for (int i = 0; i < matrix.rows; ++i) dequantize(row, matrix.type, matrix.row(i));
            });
        }
    } catch (const Error& error) { return error.what(); }
    return "";
}
