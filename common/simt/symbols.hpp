// The names of a program's variables, from its own symbol table, and what an address is part of.
#pragma once

#include <string>

namespace simt {

// "tile + 12", "400 bytes allocated at a.cu:7, + 16", "dynamic shared memory + 0", or the bare address.
std::string variable_at(const char* address);

}  // namespace simt
