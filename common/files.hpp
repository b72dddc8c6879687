// Whole files, read and written in one piece.
#pragma once

#include <cstddef>
#include <string>

// All bytes of a file, or of a pipe or a device: "" from a pipe that nobody writes to. A missing file, a folder, a
// failed read or more than `most` bytes (of /dev/zero there is no end) throws Error that names it.
std::string read_file(const std::string& path, size_t most = size_t(256) << 20);

// Written beside the target and renamed, so that no partial file is ever seen; one that is replaced keeps its mode.
// A pipe or a device such as /dev/stdout is written to as it is.
void write_file(const std::string& path, const std::string& bytes);
// What can be known before there is anything to write: an Error as write_file would throw it.
void check_writable(const std::string& path);
