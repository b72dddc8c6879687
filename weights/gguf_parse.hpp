// GGUF, the file format of llama.cpp: one file holds a model's settings, its vocabulary and its weights.
//
//   "GGUF"  version u32  n_tensors u64  n_metadata u64                     all numbers little-endian
//   n_metadata times:  key  kind u32  value               a text: length u64, bytes
//                                                         an array: kind u32, length u64, values
//   n_tensors times:   name  n_dims u32  dims u64[n_dims]  format u32  offset u64
//   padding to a multiple of general.alignment (32 where the file does not say), then the tensors' bytes;
//   offsets count from here and are multiples of the alignment
//
// Everything is checked here, once, so that nothing read later can lie outside of the file. Choices where
// readers differ: a tensor may have a dimension of 0 (it has no bytes, and nothing computes with it); the padding
// after the last tensor may be missing; tensors may stand in any order and with gaps, but share no byte; an array
// of arrays is refused, as llama.cpp does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weights/gguf_types.hpp"

struct GgufEntry {  // one key with its value
    std::string_view key;
    GgufKind kind{}, element{};        // element: what an array holds
    uint64_t length = 1;               // values: of an array as many as it holds, else 1
    std::span<const std::byte> bytes;  // the value or values as they stand in the file
};

struct GgufTensor {
    std::string_view name;
    const GgufFormat* format = nullptr;
    int n_dims = 0;
    std::array<int64_t, 4> dims{1, 1, 1, 1};  // the fastest first: of a matrix [rows, columns] columns, rows
    std::span<const std::byte> bytes;
};

struct GgufContents {  // in the file's order, and by name; all views look into the file's bytes
    std::vector<GgufEntry> entries;
    std::vector<GgufTensor> tensors;
    std::unordered_map<std::string_view, size_t> entry_index, tensor_index;
};

// What is wrong ends in an Error that names the file (`path`) and the key or tensor.
GgufContents parse_gguf(const std::string& path, std::span<const std::byte> bytes);

// A name from a file as an error may show it: in quotes, on one line, not too long.
std::string quoted(std::string_view name);
