// Tiny seeded models for tests: awkward sizes, so that every tail is met.
#pragma once

#include "weights/gguf_writer.hpp"
#include "weights/tiny_model.hpp"

// Head width 20, three query heads to a key head, nothing a multiple of 16.
constexpr TinyModel awkward = {
    .n_layers = 2, .d_model = 120, .n_heads = 6, .n_kv_heads = 2, .d_ff = 100, .context = 128};

// A file's settings and tensors, but those settings that `changes` has; `from` must outlive the writing.
inline void copy_file(GgufWriter& to, const GgufFile& from, const GgufFile* changes = nullptr) {
    for (const GgufEntry& entry : from.entries()) {
        if (!changes || !changes->has(entry.key)) to.copy(entry);
    }
    for (const GgufTensor& tensor : from.tensors()) to.add(tensor);
}

// The same file with settings replaced or added: `change` is given a writer to set them on.
template <class Change>
GgufFile changed_tiny_model(Change&& change, const TinyModel& shape = awkward) {
    const GgufFile source = tiny_model(shape);
    GgufWriter changes, writer;
    change(changes);
    change(writer);
    const GgufFile replaced("changes", changes.bytes());
    copy_file(writer, source, &replaced);
    return GgufFile("changed", writer.bytes());
}
