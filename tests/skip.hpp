// A test case that cannot run here says why and returns; `make test` names it with the reason.
//     if (!std::filesystem::exists(model)) SKIP("no model file: make model");
// Where CI=true nothing may be missing: there it fails.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

void note_skip(const std::string& reason);  // tests/main.cpp

#define SKIP(reason)                                                                                         \
    do {                                                                                                     \
        const char* ci = std::getenv("CI");                                                                  \
        if (ci && std::string(ci) == "true") FAIL(reason);                                                   \
        note_skip(reason);                                                                                   \
        return;                                                                                              \
    } while (0)
