// From an address in the program's code to the line of source that it came from.
#pragma once

#include <string>

namespace simt {

// "file:line", or the function's name or the bare address where the program was built without lines. Inlined calls
// count as where they stand, unless that is a header of the simulator.
std::string location(const void* program_counter);

}  // namespace simt
