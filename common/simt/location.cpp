#include "common/simt/location.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <mutex>

#include "common/error.hpp"

namespace simt {
namespace {

// addr2line comes with the compiler that built the program. Its answer: a function and a file:line for each level of
// inlining, the innermost first.
std::string ask(const char* program, unsigned long offset) {
    const std::string command = format_text("addr2line -i -e '%s' 0x%lx 2>/dev/null", program, offset);
    FILE* answer = popen(command.c_str(), "r");
    if (!answer) return "";
    char line[4096];
    std::string best;
    while (std::fgets(line, sizeof line, answer)) {
        std::string text = line;
        text = text.substr(0, text.find_first_of("\n("));
        while (text.ends_with(' ')) text.pop_back();
        if (text.ends_with("?") || text.ends_with(":0")) continue;
        best = text;
        if (text.find("/common/simt/") == std::string::npos) break;
    }
    pclose(answer);
    std::error_code none;
    const std::string here = std::filesystem::current_path(none).string() + "/";
    return best.rfind(here, 0) == 0 ? best.substr(here.size()) : best;
}

}  // namespace

size_t program_base() {
    size_t base = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* object, size_t, void* out) {
            *static_cast<size_t*>(out) = object->dlpi_addr;
            return 1;  // the first object is the program
        },
        &base);
    return base;
}

std::string location(const void* program_counter) {
    static std::mutex mutex;
    static auto* known = new std::map<const void*, std::string>;
    const std::lock_guard lock(mutex);
    std::string& text = (*known)[program_counter];
    if (!text.empty()) return text;
    char program[4096] = {};  // by name: in the shell that asks, /proc/self is the shell
    if (readlink("/proc/self/exe", program, sizeof program - 1) > 0) {
        text = ask(program, reinterpret_cast<size_t>(program_counter) - program_base());
    }
    Dl_info info;
    if (text.empty() && dladdr(program_counter, &info) && info.dli_sname) text = info.dli_sname;
    if (text.empty()) text = format_text("%p", program_counter);
    return text;
}

}  // namespace simt
