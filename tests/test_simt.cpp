// The simulator runs CUDA programs: each of tests/simt in every order of threads, and what ends a kernel.
#include <doctest/doctest.h>

#include <cstdlib>

#include "tests/program.hpp"

namespace {

Ran run_in_order(const std::string& name, const char* order, const char* n_threads = "2") {
    setenv("SIMT_ORDER", order, 1);
    setenv("SIMT_THREADS", n_threads, 1);
    const Ran ran = run_program_at(program_path("tests/simt/" + name), {});
    unsetenv("SIMT_ORDER");
    unsetenv("SIMT_THREADS");
    return ran;
}

}  // namespace

TEST_CASE("simt: programs give the same in every order of their threads") {
    for (const char* name : {"elementwise", "shared", "warps", "atomics", "memory", "streams", "grid_sync",
                             "launches", "errors", "host"}) {
        for (const char* order : {"natural", "reversed", "shuffled:1", "shuffled:2"}) {
            CAPTURE(name);
            CAPTURE(order);
            const Ran ran = run_in_order(name, order);
            CHECK(ran.status == 0);
            CHECK(ran.out == "ok\n");
            CHECK(ran.err == "");
        }
    }
}

TEST_CASE("simt: what ends a kernel is told with its line, and is CUDA's error from then on") {
    setenv("SIMT_LIMIT", "0.3", 1);
    const struct {
        const char *way, *line, *error;
    } cases[] = {
        {"1", "hang.cu:31: hang: block (0, 0, 0): no thread can go on", "cudaErrorLaunchTimeout"},
        {"2", "hang.cu:16: hang: after 0.3 s", "cudaErrorLaunchTimeout"},
        {"3", "hang.cu:19: hang: after 0.3 s", "cudaErrorLaunchTimeout"},
        {"4", "hang.cu:21: assert: t < 63, in void wrong(int, int*, int), block (0, 0, 0), thread (63, 0, 0)",
         "cudaErrorAssert"},
        {"5", "hang.cu:22: trap: block (0, 0, 0), thread (5, 0, 0)", "cudaErrorLaunchFailure"},
        {"6", "hang.cu:23: out-of-bounds: there is no memory at", "cudaErrorIllegalAddress"},
        {"7", "hang.cu:24: integer division by zero", "cudaErrorIllegalInstruction"},
        {"8", "hang.cu:7: stack: a thread's 128 KB are full", "cudaErrorHardwareStackError"},
    };
    for (const auto& c : cases) {
        CAPTURE(c.way);
        const Ran ran = run_program_at(program_path("tests/simt/faults/hang"), {c.way});
        CHECK(ran.status == 0);
        CHECK(ran.err.find(c.line) != std::string::npos);
        const std::string error = std::string(c.error) + "\n";
        CHECK(ran.out == error + error + error);
    }
    unsetenv("SIMT_LIMIT");
    const Ran right = run_program_at(program_path("tests/simt/faults/hang"), {"0"});
    CHECK(right.out == "cudaSuccess\ncudaSuccess\ncudaSuccess\n");
    CHECK(right.err == "");
}

TEST_CASE("simt: simcc's own errors are one line") {
    const TemporaryFolder folder;
    const auto simcc = [&](const char* text, std::vector<std::string> flags = {}) {
        write_file(folder / "a.cu", text);
        flags.insert(flags.end(), {folder / "a.cu", "-o", folder / "a"});
        return run_program_at(program_path("simcc"), flags);
    };
    const struct {
        const char *text, *says;
    } refused[] = {
        {"__global__ void k() {\n  asm volatile(\"bar.sync 0;\");\n}\n",
         "a.cu:2: inline PTX is not simulated"},
        {"__global__ void a() {}\n\n__global__ void k() { a<<<1, 1>>>(); }\n",
         "a.cu:3: a launch from a kernel"},
        {"cudaTextureObject_t t;\n", "a.cu:1: cudaTextureObject_t: textures are not simulated"},
        {"__global__ void __cluster_dims__(2, 1, 1) k() {}\n", "a.cu:1: __cluster_dims__"},
        {"__global__ void k() {}\nint main() { k<<<1, 1; }\n", "a.cu:2: <<< without >>>("},
    };
    for (const auto& r : refused) {
        CAPTURE(r.text);
        const Ran ran = simcc(r.text);
        CHECK(ran.status == 2);
        CHECK(ran.err.find(r.says) != std::string::npos);
        CHECK(ran.err_lines() == 1);
    }
    CHECK(simcc("int main() {}", {"--what"}).status == 2);
    CHECK(run_program_at(program_path("simcc"), {}).status == 2);
    CHECK(run_program_at(program_path("simcc"), {folder / "none.cu"}).status == 2);
    CHECK(simcc("int main() { return nothing; }").status == 1);  // g++ has said why
}
