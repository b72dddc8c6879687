// Writes a GGUF file (version 3, alignment 32): settings first, then weights, each in the order they were given.
//   GgufWriter file;
//   file.set("general.architecture", "llama");
//   file.set("llama.block_count", uint32_t(2));          // the C++ type decides the kind in the file
//   file.add("blk.0.attn_q.weight", matrix);             // not copied: its bytes must live until the writing
//   file.write("model.gguf");
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "common/matrix.hpp"
#include "weights/gguf_parse.hpp"

template <class T>
constexpr GgufKind gguf_kind_of() {
    if constexpr (std::is_same_v<T, bool>)
        return GgufKind::boolean;
    else if constexpr (std::is_same_v<T, float>)
        return GgufKind::f32;
    else if constexpr (std::is_same_v<T, double>)
        return GgufKind::f64;
    else if constexpr (std::is_convertible_v<T, std::string_view>)
        return GgufKind::text;
    else {
        static_assert(std::is_integral_v<T>, "a GGUF file holds numbers, booleans and text");
        constexpr GgufKind unsigned_kinds[] = {GgufKind::u8, GgufKind::u16, GgufKind::u32, GgufKind::u64};
        constexpr GgufKind signed_kinds[] = {GgufKind::i8, GgufKind::i16, GgufKind::i32, GgufKind::i64};
        constexpr int log2_bytes = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
        return std::is_signed_v<T> ? signed_kinds[log2_bytes] : unsigned_kinds[log2_bytes];
    }
}

class GgufWriter {
  public:
    template <class T>
    void set(std::string_view key, const T& value) {
        begin_entry(key);
        put(gguf_kind_of<T>());
        put(value);
    }
    template <class T>
    void set(std::string_view key, const std::vector<T>& values) {
        begin_entry(key);
        put(GgufKind::array);
        put(gguf_kind_of<T>());
        put(uint64_t(values.size()));
        for (const auto& value : values) put(T(value));
    }
    // A setting of another file as it stands there; general.alignment is left out.
    void copy(const GgufEntry& entry);

    void add(std::string_view name, const Matrix& matrix);      // row_major
    void add(std::string_view name, View<const float> tensor);  // F32, of one to four sizes
    void add(const GgufTensor& tensor);                         // of another file as it stands there

    void write(const std::string& path) const;  // beside the target, then renamed
    std::vector<std::byte> bytes() const;       // the same in memory

  private:
    void begin_entry(std::string_view key);
    template <class T>
    void put(const T& value) {
        if constexpr (std::is_convertible_v<T, std::string_view>)
            put_text(value);
        else
            put_bytes(std::as_bytes(std::span(&value, 1)));
    }
    void put_text(std::string_view text);
    void put_bytes(std::span<const std::byte> bytes) {
        entries_.insert(entries_.end(), bytes.begin(), bytes.end());
    }
    // The whole file, part after part.
    void emit(const std::function<void(std::span<const std::byte>)>& sink) const;

    std::vector<std::byte> entries_;  // as they will stand in the file
    std::vector<GgufTensor> tensors_;
    std::set<std::string, std::less<>> keys_, names_;
};
