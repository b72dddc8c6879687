// All blocks of one launch.
#pragma once

#include <string>

#include "common/simt/block.hpp"
#include "common/simt/include/simt/errors.hpp"
#include "common/simt/include/simt/launch.hpp"

namespace simt {

// Why a kernel was ended: the runtime's code, and what to tell.
struct Fault {
    cudaError code = cudaSuccess;
    std::string text;
};

// Runs the kernel to its end. Blocks run one after the other, several at a time on a machine with several cores; those
// of a cooperative launch all live at once and take turns, since they may wait for each other.
Fault run_grid(const Call& call, const Config& config);

// Called by a simulated thread: ends the kernel.
[[noreturn]] void end_kernel(cudaError code, const std::string& text);
// Now and then, of many calls one: a thread that waits for another must let it run.
void let_others_run(Place place);
// "block (0, 0, 0), thread (5, 0, 0)" of the thread that runs here.
std::string who();

}  // namespace simt
