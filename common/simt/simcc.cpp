// simcc: compiles CUDA programs for the simulator, as nvcc compiles them for a GPU.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "common/files.hpp"
#include "common/simt/translate.hpp"

namespace {

using Words = std::vector<std::string>;

constexpr const char* usage =
    "simcc a.cu [b.cu c.cpp ...] -o program   compiles a CUDA program for the simulator\n"
    "  -c                  compiles only: a.cu becomes a.o, or what -o says\n"
    "  -I -D -U -O -g -std -l -L -f -W -m   as for g++ (default -O2 -std=c++20)\n"
    "  --trace first|all|off   watches the first three launches of each kernel (default), all, or none: "
    "races,\n"
    "                      accesses out of bounds, reads of what has no value\n"
    "  --translate         prints the C++ that a.cu becomes\n"
    "Flags of nvcc that choose an architecture (-arch, -gencode, --expt-..., -rdc, -lineinfo) are read and "
    "left out.\n";

struct Arguments {
    Words sources, flags, libraries;
    std::string output, trace = "first";
    bool compile_only = false, translate_only = false;
};

Arguments parse(int argc, char** argv) {
    Arguments a;
    Words words(argv + 1, argv + argc);
    for (size_t i = 0; i < words.size(); ++i) {
        const std::string& w = words[i];
        const auto starts = [&](const char* with) { return w.rfind(with, 0) == 0; };
        const auto next = [&]() -> const std::string& {
            if (i + 1 == words.size()) fail("simcc: %s needs a word after it", w.c_str());
            return words[++i];
        };
        if (w == "-h" || w == "--help") {
            std::printf("%s", usage);
            std::exit(0);
        } else if (w == "-o") {
            a.output = next();
        } else if (w == "-c") {
            a.compile_only = true;
        } else if (w == "--trace") {
            a.trace = next();
            if (a.trace != "first" && a.trace != "all" && a.trace != "off") {
                fail("simcc: --trace first, all or off");
            }
        } else if (w == "--translate") {
            a.translate_only = true;
        } else if (w == "-arch" || w == "-gencode" || w == "-code" || w == "-ccbin") {
            next();
        } else if (starts("-arch") || starts("-gencode") || starts("--gpu") || starts("--expt") ||
                   starts("-rdc") || starts("-lineinfo") || starts("--extended-lambda") ||
                   starts("-use_fast_math") || starts("--use_fast_math") || starts("--generate") ||
                   w == "-lcudart" || w == "-G") {
            continue;  // they choose an architecture, or what is so here anyway
        } else if (w == "-Xcompiler") {
            a.flags.push_back(next());
        } else if (w == "-I" || w == "-D" || w == "-U") {
            a.flags.push_back(w + next());
        } else if (starts("-l") || starts("-L")) {
            a.libraries.push_back(w);
        } else if (w == "-std=c++11" || w == "-std=c++14" || w == "-std=c++17") {
            continue;  // the simulator's headers are C++20
        } else if (starts("-I") || starts("-D") || starts("-U") || starts("-O") || starts("-g") ||
                   starts("-std") || starts("-f") || starts("-W") || starts("-m") || starts("-w")) {
            a.flags.push_back(w);
        } else if (starts("-")) {
            fail("simcc: what is %s? simcc --help says what there is", w.c_str());
        } else {
            a.sources.push_back(w);
        }
    }
    if (a.sources.empty()) fail("simcc: no source; simcc --help says how");
    if (a.compile_only && !a.output.empty() && a.sources.size() > 1) fail("simcc: -c -o takes one source");
    for (const std::string& s : a.sources) {
        if (!std::filesystem::exists(s)) fail("simcc: %s: there is no such file", s.c_str());
    }
    if (a.output.empty()) a.output = "a.out";
    return a;
}

// Runs a program; what it says is seen. -> its exit status
int run(const Words& words) {
    std::vector<char*> argv;
    for (const std::string& w : words) argv.push_back(const_cast<char*>(w.c_str()));
    argv.push_back(nullptr);
    const pid_t child = fork();
    if (child < 0) fail("simcc: cannot start %s", argv[0]);
    if (child == 0) {
        execvp(argv[0], argv.data());
        std::fprintf(stderr, "simcc: there is no %s\n", argv[0]);
        _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
struct CompilerFailed {};  // and has said why
void must_run(const Words& words) {
    if (run(words) != 0) throw CompilerFailed();
}

Words operator+(Words a, const Words& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

struct TemporaryFolder {
    std::string path = (std::filesystem::temp_directory_path() / "simcc_XXXXXX").string();
    TemporaryFolder() {
        if (!mkdtemp(path.data())) fail("simcc: no temporary folder %s", path.c_str());
    }
    ~TemporaryFolder() { std::filesystem::remove_all(path); }
};

// The simulator's library lies beside simcc, its headers in the repository around them; where the build is elsewhere, in
// the one that the Makefile says.
const std::filesystem::path beside = std::filesystem::read_symlink("/proc/self/exe").parent_path();
std::string repository() {
    for (std::filesystem::path folder = beside; folder != folder.root_path(); folder = folder.parent_path()) {
        if (std::filesystem::exists(folder / "common/simt/include/cuda_runtime.h")) return folder;
    }
    return SIMT_ROOT;
}
const Words headers = {"-I" + repository() + "/common/simt/include", "-I" + repository()};

// A .cu file, preprocessed and translated: on from there it is C++.
std::string translated(const std::string& source, const Arguments& a, const std::string& folder) {
    const std::string before = folder + "/before.i", after = folder + "/after.ii";
    must_run(Words{SIMT_CXX, "-E", "-x", "c++", "-std=c++20", "-D__CUDACC__", "-D__NVCC__", "-D__SIMT__",
                   "-include", "cuda_runtime.h"} +
             headers + a.flags + Words{source, "-o", before});
    // The choice goes with the program; SIMT_TRACE in its environment changes it.
    const std::string choice =
        "\nextern \"C\" { __attribute__((weak)) const char* simt_trace = \"" + a.trace + "\"; }\n";
    write_file(after, simt::translate(read_file(before, size_t(1) << 30), source) + choice);
    return after;
}

void compile(const std::string& source, const Arguments& a, const std::string& folder,
             const std::string& object) {
    // Aliasing as nvcc has it, no contraction, and lines for diagnoses.
    Words command = {SIMT_CXX,   "-std=c++20",           "-O2",
                     "-g1",      "-ffp-contract=off",    "-fno-strict-aliasing",
                     "-pthread", "-Wno-unknown-pragmas", "-Wno-attributes"};
    if (!source.ends_with(".cu")) {
        must_run(command + headers + a.flags + Words{"-c", source, "-o", object});
        return;
    }
    const std::string file = translated(source, a, folder);
    if (a.translate_only) {
        std::printf("%s", read_file(file, size_t(1) << 30).c_str());
        return;
    }
    if (a.trace != "off") {  // a call before each load and store; the simulator has the functions (tsan.cpp)
        command = command + Words{"-fsanitize=thread", "--param=tsan-instrument-func-entry-exit=0",
                                  "--param=tsan-distinguish-volatile=1", "-ftrivial-auto-var-init=pattern"};
    }
    must_run(command + a.flags + Words{"-x", "c++-cpp-output", "-c", file, "-o", object});
}

int build(const Arguments& a) {
    const TemporaryFolder folder;
    Words objects;
    for (const std::string& source : a.sources) {
        if (source.ends_with(".o") || source.ends_with(".a")) {
            objects.push_back(source);
            continue;
        }
        std::string object = folder.path + "/" + std::to_string(objects.size()) + ".o";
        if (a.compile_only) {
            object = a.output != "a.out" ? a.output : std::filesystem::path(source).stem().string() + ".o";
        }
        compile(source, a, folder.path, object);
        objects.push_back(object);
    }
    if (a.compile_only || a.translate_only) return 0;
    must_run(Words{SIMT_CXX, "-pthread"} + a.flags + objects + Words{beside / "simt.a"} + a.libraries +
             Words{"-o", a.output});
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return build(parse(argc, argv));
    } catch (const CompilerFailed&) { return 1; } catch (const std::exception& problem) {
        std::fprintf(stderr, "%s\n", problem.what());
        return 2;
    }
}
