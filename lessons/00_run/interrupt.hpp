// Ctrl-C asks to stop instead of ending the program, so that what was measured is still printed. A second
// one ends it. A reader of our output that goes away is seen as a failed write, not as a signal.
#pragma once

#include <csignal>

inline volatile std::sig_atomic_t interrupted = 0;

inline void catch_interrupts() {
    std::signal(SIGINT, [](int) {
        interrupted = 1;
        std::signal(SIGINT, SIG_DFL);
    });
    std::signal(SIGPIPE, SIG_IGN);
}
