// What the environment says about a simulated program's run.
#pragma once

#include "common/simt/block.hpp"

namespace simt {

// SIMT_ORDER=natural|reversed|shuffled[:seed]   SIMT_THREADS=1 .. 256 of the CPU   SIMT_LIMIT=seconds for a block
struct Settings {
    Order order;
    int n_threads;
    double limit_seconds = 60;
};
const Settings& settings();

// Says what would be right, and ends the program with status 2.
[[noreturn]] void refuse_setting(const char* right);

}  // namespace simt
