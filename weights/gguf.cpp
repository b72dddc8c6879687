#include "weights/gguf.hpp"

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstring>
#include <optional>

namespace {

template <class T>
T load(const GgufEntry& entry, size_t index) {
    T value;
    std::memcpy(&value, entry.bytes.data() + index * sizeof(T), sizeof(T));
    return value;
}

// Value `index` of an entry that holds integers or booleans; nothing for other kinds and numbers past int64_t.
std::optional<int64_t> load_integer(const GgufEntry& entry, size_t index) {
    switch (entry.element) {
        case GgufKind::u8: return load<uint8_t>(entry, index);
        case GgufKind::i8: return load<int8_t>(entry, index);
        case GgufKind::u16: return load<uint16_t>(entry, index);
        case GgufKind::i16: return load<int16_t>(entry, index);
        case GgufKind::u32: return load<uint32_t>(entry, index);
        case GgufKind::i32: return load<int32_t>(entry, index);
        case GgufKind::i64: return load<int64_t>(entry, index);
        case GgufKind::boolean: return load<uint8_t>(entry, index) != 0;
        case GgufKind::u64:
            if (load<uint64_t>(entry, index) > uint64_t(INT64_MAX)) return {};
            return int64_t(load<uint64_t>(entry, index));
        default: return {};
    }
}

std::optional<double> load_real(const GgufEntry& entry, size_t index) {
    if (entry.element == GgufKind::f32) return load<float>(entry, index);
    if (entry.element == GgufKind::f64) return load<double>(entry, index);
    return {};
}

[[noreturn]] void refuse(const std::string& path, const GgufEntry& entry, const char* expected) {
    fail("%s: key %s is %s%s, expected %s", path.c_str(), quoted(entry.key).c_str(),
         entry.kind == GgufKind::array ? "an array of " : "", info(entry.element).name, expected);
}

bool can_compute(const GgufFormat& format) {
    constexpr Type types[] = {Type::F32, Type::F16, Type::BF16, Type::Q8_0, Type::Q4_0, Type::Q4_1};
    return std::ranges::find(types, Type(format.number)) != std::end(types);
}

// Files name the fastest dimension first, this book the slowest.
std::string shape_text(const GgufTensor& tensor) {
    std::string out;
    for (int axis = tensor.n_dims - 1; axis >= 0; --axis) {
        out += std::to_string(tensor.dims[size_t(axis)]) + (axis > 0 ? ", " : "");
    }
    return "[" + out + "]";
}

}  // namespace

GgufFile::GgufFile(const std::string& path)
    : path_(path), mapping_(path), contents_(parse_gguf(path_, mapping_.bytes())) {}

GgufFile::GgufFile(std::string name, std::vector<std::byte> bytes)
    : path_(std::move(name)), memory_(std::move(bytes)), contents_(parse_gguf(path_, memory_)) {}

const GgufEntry& GgufFile::entry(std::string_view key, const char* expected, bool array) const {
    const auto found = contents_.entry_index.find(key);
    if (found == contents_.entry_index.end())
        fail("%s: key %s is missing", path_.c_str(), quoted(key).c_str());
    const GgufEntry& entry = contents_.entries[found->second];
    if (array != (entry.kind == GgufKind::array)) refuse(path_, entry, expected);
    return entry;
}

int64_t GgufFile::integer(std::string_view key) const {
    const GgufEntry& value = entry(key, "an integer", false);
    const auto n = load_integer(value, 0);
    if (!n || value.kind == GgufKind::boolean) refuse(path_, value, "an integer");
    return *n;
}

int GgufFile::integer(std::string_view key, int low, int high) const {
    const int64_t n = integer(key);
    if (n < low || n > high) {
        fail("%s: key %s is %s, expected %d to %d", path_.c_str(), quoted(key).c_str(),
             std::to_string(n).c_str(), low, high);
    }
    return int(n);
}

double GgufFile::real(std::string_view key) const {
    const GgufEntry& value = entry(key, "a real number", false);
    const auto x = load_real(value, 0);
    if (!x) refuse(path_, value, "a real number");
    if (!std::isfinite(*x))
        fail("%s: key %s is %g, expected a real number", path_.c_str(), quoted(key).c_str(), *x);
    return *x;
}

bool GgufFile::boolean(std::string_view key) const {
    const GgufEntry& value = entry(key, "a boolean", false);
    if (value.kind != GgufKind::boolean) refuse(path_, value, "a boolean");
    return *load_integer(value, 0) != 0;
}

std::string_view GgufFile::text(std::string_view key) const {
    const GgufEntry& value = entry(key, "text", false);
    if (value.kind != GgufKind::text) refuse(path_, value, "text");
    return {reinterpret_cast<const char*>(value.bytes.data()) + 8, value.bytes.size() - 8};
}

std::vector<int> GgufFile::integers(std::string_view key) const {
    const GgufEntry& value = entry(key, "an array of integers", true);
    std::vector<int> out;
    out.reserve(value.length);
    for (size_t i = 0; i < value.length; ++i) {
        const auto n = load_integer(value, i);
        if (!n || *n < INT_MIN || *n > INT_MAX) refuse(path_, value, "an array of 32-bit integers");
        out.push_back(int(*n));
    }
    return out;
}

std::vector<float> GgufFile::reals(std::string_view key) const {
    const GgufEntry& value = entry(key, "an array of real numbers", true);
    std::vector<float> out;
    out.reserve(value.length);
    for (size_t i = 0; i < value.length; ++i) {
        const auto x = load_real(value, i);
        if (!x) refuse(path_, value, "an array of real numbers");
        out.push_back(float(*x));
    }
    return out;
}

std::vector<std::string_view> GgufFile::texts(std::string_view key) const {
    const GgufEntry& value = entry(key, "an array of text", true);
    if (value.element != GgufKind::text) refuse(path_, value, "an array of text");
    std::vector<std::string_view> out;
    out.reserve(value.length);
    const auto* next = reinterpret_cast<const char*>(value.bytes.data());
    for (size_t i = 0; i < value.length; ++i) {  // the lengths were checked when the file was opened
        uint64_t length;
        std::memcpy(&length, next, sizeof length);
        out.emplace_back(next + sizeof length, length);
        next += sizeof length + length;
    }
    return out;
}

const GgufTensor& GgufFile::tensor(std::string_view name) const {
    const auto found = contents_.tensor_index.find(name);
    if (found == contents_.tensor_index.end()) {
        fail("%s: tensor %s is missing", path_.c_str(), quoted(name).c_str());
    }
    return contents_.tensors[found->second];
}

Matrix GgufFile::matrix(std::string_view name) const {
    const GgufTensor& found = tensor(name);
    const auto refuse_tensor = [&](const std::string& what) {
        fail("%s: tensor %s %s", path_.c_str(), quoted(name).c_str(), what.c_str());
    };
    if (!can_compute(*found.format)) {
        refuse_tensor("is " + std::string(found.format->name) +
                      "; F32, F16, BF16, Q8_0, Q4_0, Q4_1 can be computed");
    }
    const int64_t columns = found.dims[0], rows = found.dims[1];
    if (found.n_dims < 1 || found.n_dims > 2 || found.bytes.empty() || columns > INT_MAX || rows > INT_MAX) {
        refuse_tensor("has shape " + shape_text(found) + ", expected a matrix");
    }
    return {Type(found.format->number), int(rows), int(columns), found.bytes.data(), Layout::row_major};
}

View<const float> GgufFile::vector(std::string_view name) const {
    const GgufTensor& found = tensor(name);
    const auto* values = reinterpret_cast<const float*>(found.bytes.data());
    const bool aligned =
        reinterpret_cast<uintptr_t>(values) % alignof(float) == 0;  // general.alignment may be 1
    if (found.n_dims != 1 || found.format->number != uint32_t(Type::F32) || !aligned) {
        fail("%s: tensor %s is %s %s, expected a vector of F32", path_.c_str(), quoted(name).c_str(),
             found.format->name, shape_text(found).c_str());
    }
    const Matrix row = matrix(name);
    return {values, row.columns};
}
