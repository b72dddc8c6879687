// An open GGUF file: settings by key, weights by name. gguf_parse.hpp draws the format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/matrix.hpp"
#include "weights/gguf_parse.hpp"
#include "weights/mapped_file.hpp"

class GgufFile {
  public:
    explicit GgufFile(const std::string& path);                // maps the file, and checks it whole
    GgufFile(std::string name, std::vector<std::byte> bytes);  // a file in memory, under a name for errors
    // Texts, matrices and views below live as long as the file; moving it leaves them valid.
    GgufFile(GgufFile&&) = default;
    GgufFile& operator=(GgufFile&&) = default;

    const std::string& path() const { return path_; }

    // Settings. A missing key, a value of another kind or out of range: an Error that names file and key.
    const std::vector<GgufEntry>& entries() const { return contents_.entries; }  // in the file's order
    bool has(std::string_view key) const { return contents_.entry_index.contains(key); }
    int64_t integer(std::string_view key) const;
    int integer(std::string_view key, int low, int high) const;  // one in low .. high
    double real(std::string_view key) const;                     // a finite one
    bool boolean(std::string_view key) const;
    std::string_view text(std::string_view key) const;
    std::vector<int> integers(std::string_view key) const;  // booleans count as 0 and 1
    std::vector<float> reals(std::string_view key) const;
    std::vector<std::string_view> texts(std::string_view key) const;

    // Weights. A missing tensor, another shape, a format that cannot be computed: an Error that names it.
    const std::vector<GgufTensor>& tensors() const { return contents_.tensors; }  // in the file's order
    bool has_tensor(std::string_view name) const { return contents_.tensor_index.contains(name); }
    const GgufTensor& tensor(std::string_view name) const;
    Matrix matrix(std::string_view name) const;             // of two dimensions, or of one: a single row
    View<const float> vector(std::string_view name) const;  // of one dimension, F32

  private:
    const GgufEntry& entry(std::string_view key, const char* expected, bool array) const;

    std::string path_;
    MappedFile mapping_;             // the file ..
    std::vector<std::byte> memory_;  // .. or this in its place
    GgufContents contents_;
};
