#include "common/simt/symbols.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "common/error.hpp"
#include "common/files.hpp"
#include "common/simt/location.hpp"
#include "common/simt/runtime.hpp"

namespace simt {
namespace {

struct Variable {
    size_t begin,
        n_bytes;  // of thread-local ones, within their segment; of others, from where the program lies
    std::string name;
};
struct Symbols {
    std::vector<Variable> thread_local_ones, others;
};

std::string short_name(const char* mangled) {
    int status = 0;
    char* text = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
    std::string name = status == 0 ? text : mangled;
    std::free(text);
    // "void kernel<4>(float*)::tile" is a variable of a function: its last part will do.
    const size_t last = name.rfind("::");
    return last == std::string::npos ? name : name.substr(last + 2);
}

// Every size is checked: the file is the program itself, but a truncated one must not bring the simulator down.
Symbols read_symbols() {
    Symbols out;
    const std::string file = read_file("/proc/self/exe", size_t(1) << 30);
    const auto at = [&](size_t offset, size_t n) {
        return offset <= file.size() && n <= file.size() - offset;
    };
    if (!at(0, sizeof(ElfW(Ehdr)))) return out;
    ElfW(Ehdr) head;
    std::memcpy(&head, file.data(), sizeof head);
    std::vector<ElfW(Shdr)> sections(head.e_shnum);
    if (!at(head.e_shoff, sections.size() * sizeof(ElfW(Shdr)))) return out;
    std::memcpy(sections.data(), file.data() + head.e_shoff, sections.size() * sizeof(ElfW(Shdr)));
    for (const auto& section : sections) {
        if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size()) continue;
        const auto& names = sections[section.sh_link];
        if (!at(section.sh_offset, section.sh_size) || !at(names.sh_offset, names.sh_size)) continue;
        for (size_t i = 0; i < section.sh_size / sizeof(ElfW(Sym)); ++i) {
            ElfW(Sym) symbol;
            std::memcpy(&symbol, file.data() + section.sh_offset + i * sizeof symbol, sizeof symbol);
            const int type = symbol.st_info & 15;
            if ((type != STT_TLS && type != STT_OBJECT) || symbol.st_size == 0 ||
                symbol.st_name >= names.sh_size)
                continue;
            const char* name = file.data() + names.sh_offset + symbol.st_name;
            (type == STT_TLS ? out.thread_local_ones : out.others)
                .push_back({size_t(symbol.st_value), size_t(symbol.st_size), name});
        }
    }
    return out;
}

std::string within(const std::vector<Variable>& variables, size_t offset) {
    for (const Variable& v : variables) {
        if (offset - v.begin < v.n_bytes)
            return short_name(v.name.c_str()) + format_text(" + %zu", offset - v.begin);
    }
    return "";
}

}  // namespace

std::string variable_at(const char* address) {
    static const Symbols symbols = read_symbols();
    if (runtime().memory.holds(address)) {
        const Allocation* a = runtime().memory.find(address);
        if (!a) return format_text("%p", static_cast<const void*>(address));
        return format_text("%zu bytes allocated at %s:%d, + %zu", a->n_bytes, a->place.file, a->place.line,
                           size_t(address - a->begin));
    }
    const SharedMemory shared = shared_memory();
    if (size_t(address - shared.dynamic.data()) < shared.dynamic.size()) {
        return format_text("dynamic shared memory + %zu", size_t(address - shared.dynamic.data()));
    }
    const size_t n_shared = size_t(shared.behind.data() + shared.behind.size() - shared.before.data());
    std::string name;
    if (const size_t offset = size_t(address - shared.before.data()); offset < n_shared) {
        name = within(symbols.thread_local_ones, offset);
    } else {
        name = within(symbols.others, reinterpret_cast<size_t>(address) - program_base());
    }
    return name.empty() ? format_text("%p", static_cast<const void*>(address)) : name;
}

}  // namespace simt
