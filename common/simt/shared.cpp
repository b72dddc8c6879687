#include "common/simt/shared.hpp"

#include <link.h>

#include <algorithm>

#include "common/error.hpp"

// `extern __shared__ T x[];` of every kernel is this array (common/simt/translate.hpp).
alignas(1024) __thread char simt_dynamic[simt::max_shared_bytes] __asm__("simt_dynamic_shared");

namespace simt {
namespace {

int find_program(dl_phdr_info* object, size_t, void* result) {
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const auto& part = object->dlpi_phdr[i];
        if (part.p_type != PT_TLS || !object->dlpi_tls_data) continue;
        *static_cast<std::span<char>*>(result) = {static_cast<char*>(object->dlpi_tls_data), part.p_memsz};
    }
    return 1;  // the first object is the program
}

}  // namespace

SharedMemory shared_memory() {
    std::span<char> all;
    dl_iterate_phdr(find_program, &all);
    char* dynamic = simt_dynamic;
    if (all.empty() || dynamic < all.data())
        fail("the simulator does not find the program's thread-local variables");
    const size_t n_before = size_t(dynamic - all.data());
    return {all.first(n_before), all.subspan(n_before + max_shared_bytes),
            all.subspan(n_before, max_shared_bytes)};
}

void SharedCopy::load() const {
    if (before_.empty() && behind_.empty()) return;
    const SharedMemory here = shared_memory();
    std::copy(before_.begin(), before_.end(), here.before.begin());
    std::copy(behind_.begin(), behind_.end(), here.behind.begin());
    std::copy(dynamic_.begin(), dynamic_.end(), here.dynamic.begin());
}

void SharedCopy::store() {
    const SharedMemory here = shared_memory();
    before_.assign(here.before.begin(), here.before.end());
    behind_.assign(here.behind.begin(), here.behind.end());
    dynamic_.assign(here.dynamic.begin(), here.dynamic.begin() + std::ptrdiff_t(n_dynamic_));
}

}  // namespace simt
