#include "weights/gguf_writer.hpp"

#include "common/error.hpp"
#include "common/files.hpp"

namespace {

constexpr size_t alignment = 32;
size_t padded(size_t n_bytes) { return (n_bytes + alignment - 1) / alignment * alignment; }

template <class T>
void append(std::vector<std::byte>& out, const T& value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    out.insert(out.end(), bytes.begin(), bytes.end());
}

void append_text(std::vector<std::byte>& out, std::string_view text) {
    append(out, uint64_t(text.size()));
    const auto bytes = std::as_bytes(std::span(text));
    out.insert(out.end(), bytes.begin(), bytes.end());
}

}  // namespace

void GgufWriter::begin_entry(std::string_view key) {
    if (!keys_.emplace(key).second) fail("key %s is set twice", quoted(key).c_str());
    put_text(key);
}

void GgufWriter::put_text(std::string_view text) { append_text(entries_, text); }

void GgufWriter::copy(const GgufEntry& entry) {
    if (entry.key == "general.alignment") return;
    begin_entry(entry.key);
    put(entry.kind);
    if (entry.kind == GgufKind::array) {
        put(entry.element);
        put(entry.length);
    }
    put_bytes(entry.bytes);
}

void GgufWriter::add(const GgufTensor& tensor) {
    const auto [name, is_new] = names_.emplace(tensor.name);
    if (!is_new) fail("tensor %s is added twice", quoted(tensor.name).c_str());
    tensors_.push_back(tensor);
    tensors_.back().name = *name;  // our own copy
}

void GgufWriter::add(std::string_view name, const Matrix& matrix) {
    if (matrix.layout != Layout::row_major) fail("tensor %s is not row_major", quoted(name).c_str());
    add({name,
         gguf_format(uint32_t(matrix.type)),
         2,
         {matrix.columns, matrix.rows, 1, 1},
         {matrix.bytes, matrix.size_bytes()}});
}

void GgufWriter::add(std::string_view name, View<const float> tensor) {
    GgufTensor out{
        name, gguf_format(uint32_t(Type::F32)), tensor.rank(), {1, 1, 1, 1}, std::as_bytes(tensor.flat())};
    for (int axis = 0; axis < tensor.rank(); ++axis)
        out.dims[size_t(tensor.rank() - 1 - axis)] = tensor.size(axis);
    add(out);
}

void GgufWriter::emit(const std::function<void(std::span<const std::byte>)>& sink) const {
    std::vector<std::byte> head;
    for (const char c : {'G', 'G', 'U', 'F'}) append(head, c);
    append(head, uint32_t(3));
    append(head, uint64_t(tensors_.size()));
    append(head, uint64_t(keys_.size()));
    head.insert(head.end(), entries_.begin(), entries_.end());
    uint64_t offset = 0;
    for (const GgufTensor& tensor : tensors_) {
        append_text(head, tensor.name);
        append(head, uint32_t(tensor.n_dims));
        for (int axis = 0; axis < tensor.n_dims; ++axis) append(head, tensor.dims[size_t(axis)]);
        append(head, tensor.format->number);
        append(head, offset);
        offset += padded(tensor.bytes.size());
    }
    head.resize(padded(head.size()));
    sink(head);
    const std::vector<std::byte> zeros(alignment);
    for (const GgufTensor& tensor : tensors_) {
        sink(tensor.bytes);
        sink(std::span(zeros).first(padded(tensor.bytes.size()) - tensor.bytes.size()));
    }
}

std::vector<std::byte> GgufWriter::bytes() const {
    std::vector<std::byte> out;
    emit([&](std::span<const std::byte> part) { out.insert(out.end(), part.begin(), part.end()); });
    return out;
}

void GgufWriter::write(const std::string& path) const {
    std::string out;
    emit([&](std::span<const std::byte> part) {
        out.append(reinterpret_cast<const char*>(part.data()), part.size());
    });
    write_file(path, out);
}
