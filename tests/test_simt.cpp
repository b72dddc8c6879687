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
                             "launches", "errors", "host", "half", "silent"}) {
        for (const char* order : {"natural", "reversed", "shuffled:1", "shuffled:2"}) {
            CAPTURE(std::string(name));
            CAPTURE(std::string(order));
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
        {"1", "hang.cu:29: hang: block (0, 0, 0): no thread can go on", "cudaErrorLaunchTimeout"},
        {"2", "hang.cu:9: hang: after 0.3 s", "cudaErrorLaunchTimeout"},
        {"3", "hang.cu:10: hang: after 0.3 s", "cudaErrorLaunchTimeout"},
        {"4", "hang.cu:19: assert: t < 63, in void wrong(int, int*, int), block (0, 0, 0), thread (63, 0, 0)",
         "cudaErrorAssert"},
        {"5", "hang.cu:20: trap: block (0, 0, 0), thread (5, 0, 0)", "cudaErrorLaunchFailure"},
        {"6", "hang.cu:21: out-of-bounds: there is no memory at", "cudaErrorIllegalAddress"},
        {"7", "hang.cu:22: integer division by zero", "cudaErrorIllegalInstruction"},
        {"8", "hang.cu:8: stack: a thread's 128 KB are full", "cudaErrorHardwareStackError"},
    };
    for (const auto& c : cases) {
        CAPTURE(std::string(c.way));
        const Ran ran = run_program_at(program_path("tests/simt/faults/hang"), {c.way});
        CAPTURE(ran.err);
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
        CAPTURE(std::string(r.text));
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

TEST_CASE("simt: each fault in a kernel's memory is found, at its line, and its right twin is silent") {
    const struct {
        const char *number, *kind, *error;
    } cases[] = {
        {"1", "race", "cudaSuccess"},
        {"2", "race", "cudaSuccess"},
        {"3", "race", "cudaSuccess"},
        {"4", "race", "cudaSuccess"},
        {"5", "out-of-bounds", "cudaErrorIllegalAddress"},
        {"6", "out-of-bounds", "cudaErrorIllegalAddress"},
        {"7", "uninitialised", "cudaSuccess"},
        {"8", "uninitialised", "cudaSuccess"},
        {"9", "host-pointer", "cudaErrorIllegalAddress"},
        {"10", "use-after-free", "cudaErrorIllegalAddress"},
        {"11", "misaligned", "cudaErrorMisalignedAddress"},
        {"12", "shared-overflow", "cudaErrorIllegalAddress"},
        {"13", "race", "cudaSuccess"},
        {"14", "race", "cudaSuccess"},
        {"15", "race", "cudaSuccess"},
    };
    // The line that ends with the number is the one to be named.
    const std::string source = read_file("tests/simt/faults/memory.cu");
    const auto line_of = [&](const std::string& number) {
        size_t at = source.find("// ");
        while (at != source.npos) {
            const std::string comment = " " + source.substr(at + 3, source.find('\n', at) - at - 3) + " ";
            if (comment.find(" " + number + " ") != comment.npos) break;
            at = source.find("// ", at + 1);
        }
        return std::to_string(1 + std::count(source.begin(), source.begin() + long(at), '\n'));
    };
    for (const auto& c : cases) {
        CAPTURE(std::string(c.number));
        const Ran wrong = run_program_at(program_path("tests/simt/faults/memory"), {c.number});
        CHECK(wrong.out == std::string(c.error) + "\n");
        CAPTURE(wrong.err);
        CHECK(wrong.err.find("memory.cu:" + line_of(c.number) + ": " + c.kind + ": ") != std::string::npos);
        for (const char* order : {"natural", "reversed", "shuffled:1"}) {
            if (c.number == std::string("14") && order != std::string("natural"))
                continue;  // it waits for block 0
            setenv("SIMT_ORDER", order, 1);
            const Ran right = run_program_at(program_path("tests/simt/faults/memory"), {c.number, "right"});
            unsetenv("SIMT_ORDER");
            CHECK(right.out == "cudaSuccess\n");
            CHECK(right.err == "");
        }
    }
}
