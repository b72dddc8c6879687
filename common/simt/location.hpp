// From an address in the program's code to the line of source that it came from.
#pragma once

#include <cstddef>
#include <string>

namespace simt {

// Where the program lies in memory: an address less this is one in its file.
size_t program_base();

// "file:line", or the function's name or the bare address where the program was built without lines. Inlined calls
// count as where they stand, unless that is a header of the simulator.
std::string location(const void* program_counter);

}  // namespace simt
