// The translator of CUDA: words, and the C++ that comes out. That the C++ does the same is tested in test_simt.
#include <doctest/doctest.h>

#include <algorithm>

#include "common/error.hpp"
#include "common/simt/lexer.hpp"
#include "common/simt/translate.hpp"

using simt::Token;

namespace {

std::vector<std::string> code(std::string_view text) {
    std::vector<std::string> out;
    for (const Token& t : simt::tokens(text)) {
        if (t.kind != Token::space) out.emplace_back(t.view);
    }
    return out;
}
std::string translate(const std::string& text) { return simt::translate(text, "a.cu"); }

}  // namespace

TEST_CASE("translate: words, with what only looks like code inside strings and comments") {
    using Words = std::vector<std::string>;
    CHECK(code("a<<<1, 2>>>(x)") == Words{"a", "<<", "<", "1", ",", "2", ">>", ">", "(", "x", ")"});
    CHECK(code("x /* <<< \" */ + // <<<\ny") == Words{"x", "+", "y"});
    CHECK(code(R"(f("a\"<<<", '"', u8"x"))") ==
          Words{"f", "(", R"("a\"<<<")", ",", "'\"'", ",", "u8\"x\"", ")"});
    CHECK(code("R\"x(a)\" b)x\" + 1'000 - 0x1p-3f.x") ==
          Words{"R\"x(a)\" b)x\"", "+", "1'000", "-", "0x1p-3f.x"});
    CHECK(code("#define a \\\n  b\nc") == Words{"#define a \\\n  b", "c"});
    CHECK(code("a # b") == Words{"a", "#", "b"});
    CHECK(code("std::vector<int>p->q") == Words{"std", "::", "vector", "<", "int", ">", "p", "->", "q"});
}

TEST_CASE("translate: the tokens in a row are the text again, also of broken text") {
    const std::string text = "int a = 1; \"open\n R\"x(never closed /* \n '\\";
    for (size_t n = 0; n <= text.size(); ++n) {
        std::string joined;
        for (const Token& t : simt::tokens(std::string_view(text).substr(0, n))) joined += t.view;
        CHECK(joined == text.substr(0, n));
    }
}

TEST_CASE("translate: host code stays as it is, to the letter") {
    for (const char* text : {"int main() { return 1 << 2 >> 1; }\n", "std::cout << \"k<<<1,1>>>()\" << x;",
                             "# 1 \"a.cu\"\nauto x = a < b > c;\n", "asm(\"nop\");", "T<U<V<int>>> x;"}) {
        CHECK(translate(text) == text);
    }
}

TEST_CASE("translate: declarations") {
    CHECK(translate("__global__ void k(int* x);") == " void k(int* x);");
    CHECK(translate("__host__ __device__ int f();") == "  int f();");
    CHECK(translate("__launch_bounds__(64, 2) void k();") == "  void k();");
    CHECK(translate("__shared__ float a[2], b[3];") == "static __thread float a[2], b[3];");
    CHECK(translate("static __shared__ int x;") == "static __thread int x;");
    CHECK(translate("extern __shared__ float s[];") ==
          " extern __thread float s[] __asm__(\"simt_dynamic_shared\");");
    CHECK(translate("__shared__ alignas(16) char c[4];") ==
          "static __thread __attribute__((aligned(16))) char c[4];");
    CHECK(translate("__device__ int x;") == "__attribute__((section(\"simt_device\"))) int x;");
    CHECK(translate("__constant__ const int x[2] = {1, 2};") ==
          "__attribute__((section(\"simt_constant_const\"))) const int x[2] = {1, 2};");
    CHECK(translate("__device__ float (*f)(float) = g;") ==
          "__attribute__((section(\"simt_device\"))) float (*f)(float) = g;");
    CHECK(translate("__device__ int f(int);") == " int f(int);");
    CHECK(translate("__align__(8) struct") == "__attribute__((aligned(8))) struct");
}

TEST_CASE("translate: a launch keeps its lines") {
    const std::string out = translate("void f() {\n  a::k<int, (1>2)>\n  <<<\n  1, 2\n  >>>\n  (x);\n}\n");
    CHECK(std::count(out.begin(), out.end(), '\n') == 7);
    CHECK(out.find("::simt::Config(\n  1, 2\n  ))\n  (x);") != std::string::npos);
    CHECK(out.find("R\"(a::k<int, (1>2)>)\"") != std::string::npos);
}

TEST_CASE(
    "translate: what cannot be simulated is refused, with the line that the preprocessor's markers give") {
    const auto error = [](const char* text) {
        try {
            translate(text);
        } catch (const Error& e) { return std::string(e.what()); }
        return std::string("nothing");
    };
    CHECK(error("# 1 \"x.cu\"\nint a;\n# 40 \"y.cuh\" 1\n__device__ void f() {\n asm(\"ret;\");\n}\n") ==
          "y.cuh:41: inline PTX is not simulated");
    CHECK(error("__global__ void k() {\n k<<<1, 1>>>(); }") ==
          "a.cu:2: a launch from a kernel (dynamic parallelism) is not simulated");
    CHECK(error("void f() { k<<<1, 1; }") == "a.cu:1: <<< without >>>(");
    CHECK(error("void f() { = <<<1, 1>>>(x); }") == "a.cu:1: this launch names no kernel");
}
