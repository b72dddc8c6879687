// The model that a lesson was told to use: a file, or with --tiny a seeded one in memory.
#pragma once

#include <string>

#include "weights/gguf.hpp"
#include "weights/tiny_model.hpp"

inline GgufFile open_model(const std::string& path, bool tiny) {
    if (!path.empty() && tiny) fail("--model and --tiny: one of them");
    if (tiny) return tiny_model();
    if (path.empty())
        fail("no model: `make model` fetches one for --model FILE; --tiny makes a seeded one without a file");
    return GgufFile(path);
}
