// A small random `llama` model, complete as a file: what runs when a lesson is started with --tiny, and what tests
// read. Its weights are a function of the seed alone, its vocabulary is the 256 bytes, some merges and three
// control tokens. It writes noise.
#pragma once

#include <cstdint>
#include <string>

#include "weights/gguf.hpp"

struct TinyModel {
    int n_layers = 2, d_model = 64, n_heads = 4, n_kv_heads = 2, d_ff = 96, context = 256;
    Type type = Type::F32;  // of all matrices; block formats need widths that are multiples of 32
    bool tied_head = true;  // the embedding is the head as well, as in SmolLM2
    float rope_base = 10000;
    uint64_t seed = 1;
};

GgufFile tiny_model(const TinyModel& shape = {});
void write_tiny_model(const std::string& path, const TinyModel& shape = {});
