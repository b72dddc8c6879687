// Whole files, read and written in one piece.
#pragma once

#include <string>

// All bytes of a file. A missing file, a folder or a failed read throws Error that names it.
std::string read_file(const std::string& path);

// Written beside the target and renamed, so that no partial file is ever seen. A pipe or a device such as
// /dev/stdout is written to as it is.
void write_file(const std::string& path, const std::string& bytes);
