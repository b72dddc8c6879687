// A file seen as memory, read-only: pages arrive from the disk when they are first touched, and processes that
// read the same file share them. A program that truncates a file which is mapped elsewhere takes pages away
// from under its readers, so a model file is replaced by renaming, never by rewriting.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

class MappedFile {
  public:
    MappedFile() = default;
    explicit MappedFile(const std::string& path);  // throws Error that names the file
    ~MappedFile();
    MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
    MappedFile& operator=(MappedFile&& other) noexcept {
        std::swap(bytes_, other.bytes_);
        return *this;
    }

    std::span<const std::byte> bytes() const { return bytes_; }

  private:
    std::span<const std::byte> bytes_;
};
