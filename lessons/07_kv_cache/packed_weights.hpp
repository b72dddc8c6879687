// The weights as the fast kernels read them: repacked once, at load, into one large buffer.
#pragma once

#include "common/memory.hpp"
#include "common/threads.hpp"
#include "kernels/linear/linear.hpp"
#include "lessons/05_transformer/weights.hpp"

struct PackedWeights {
    Weights weights;   // token_embd and the norms still point into the file
    BigBuffer memory;  // what the other matrices point into
};

// Matrices in 16 or 32 bits keep their type unless `as_f32`; block formats become F32.
inline PackedWeights pack_weights(Team& team, const Weights& source, bool as_f32) {
    PackedWeights packed{source, {}};
    std::vector<Matrix*> matrices;
    for (Layer& l : packed.weights.layers) {
        for (Matrix* m :
             {&l.attn_q, &l.attn_k, &l.attn_v, &l.attn_output, &l.ffn_gate, &l.ffn_up, &l.ffn_down}) {
            matrices.push_back(m);
        }
    }
    matrices.push_back(&packed.weights.output);

    const auto target = [as_f32](const Matrix& m) {
        return as_f32 || is_block_format(m.type) ? Type::F32 : m.type;
    };
    std::vector<size_t> offsets = {0};
    for (const Matrix* m : matrices) {
        const size_t bytes = cpu::packed_bytes(*m, target(*m));
        offsets.push_back(offsets.back() + (bytes + 63) / 64 * 64);
    }
    packed.memory = BigBuffer(offsets.back());

    std::vector<Matrix> results(matrices.size());
    team.run([&](const Worker& worker) {
        for (size_t i = 0; i < matrices.size(); ++i) {
            const Matrix m =
                cpu::pack(worker, packed.memory.data() + offsets[i], *matrices[i], target(*matrices[i]));
            if (worker.thread == 0) results[i] = m;
        }
    });
    for (size_t i = 0; i < matrices.size(); ++i) *matrices[i] = results[i];
    return packed;
}
