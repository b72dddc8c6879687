#include "common/simt/translate.hpp"

#include <array>
#include <charconv>
#include <optional>

#include "common/error.hpp"
#include "common/simt/lexer.hpp"

namespace simt {
namespace {

// Words that are gone after translation; of these a bracket behind them is no argument list, of the others it goes too.
constexpr std::array functions = {"__global__", "__host__", "__device__", "__grid_constant__"};
constexpr std::array dropped = {"__global__",        "__host__",          "__device__",
                                "__grid_constant__", "__launch_bounds__", "__maxnreg__"};

struct Refused {
    std::string_view word, why;
};
constexpr std::array refused = {
    Refused{"__cluster_dims__", "thread block clusters are not simulated"},
    Refused{"__nv_pure__", "it is known to nvcc alone"},
    Refused{"cudaTextureObject_t", "textures are not simulated"},
    Refused{"cudaSurfaceObject_t", "surfaces are not simulated"},
    Refused{"cudaCreateTextureObject", "textures are not simulated"},
    Refused{"tex1Dfetch", "textures are not simulated"},
    Refused{"tex2D", "textures are not simulated"},
    Refused{"tex3D", "textures are not simulated"},
};

class Translator {
  public:
    Translator(std::string_view source, const std::string& file) : file_(file), all_(tokens(source)) {
        for (size_t i = 0; i < all_.size(); ++i) {
            out_.emplace_back(all_[i].view);
            if (all_[i].kind != Token::space && all_[i].kind != Token::directive) code_.push_back(i);
        }
        match_brackets();
    }

    std::string run() {
        for (int i = 0; i < size(); ++i) {
            if (token(i).kind == Token::word) word(i);
            if (token(i).is("<<") && token(i + 1).is("<") && touch(i)) launch(i);
        }
        std::string text;
        for (const std::string& t : out_) text += t;
        return text;
    }

  private:
    // --- The tokens without spaces: i counts these ----------------------------------------------------
    int size() const { return int(code_.size()); }
    const Token& token(int i) const {
        static constexpr Token none{Token::space, ""};
        return i >= 0 && i < size() ? all_[code_[size_t(i)]] : none;
    }
    std::string& out(int i) { return out_[code_[size_t(i)]]; }
    bool is_any(int i, const auto& words) const {
        for (const auto& w : words) {
            if (token(i).is(w)) return true;
        }
        return false;
    }

    bool touch(int i) const {
        return token(i).view.data() + token(i).view.size() == token(i + 1).view.data();
    }

    void match_brackets() {
        partner_.assign(code_.size(), -1);
        std::vector<int> open;
        for (int i = 0; i < size(); ++i) {
            if (token(i).kind != Token::symbol) continue;
            const char c = token(i).view[0];
            if (c == '(' || c == '[' || c == '{') open.push_back(i);
            if ((c == ')' || c == ']' || c == '}') && !open.empty()) {
                partner_[size_t(i)] = open.back();
                partner_[size_t(open.back())] = i;
                open.pop_back();
            }
        }
    }
    int partner(int i) const { return i >= 0 && i < size() ? partner_[size_t(i)] : -1; }
    // Behind the bracket that opens at i; i + 1 where it is none, or never closes.
    int past(int i) const { return std::max(partner(i), i) + 1; }

    // The > that closes the < at i, or -1. A comparison in an argument must stand in brackets, as in C++ itself.
    int angle_end(int i) const {
        for (int depth = 0; i < size(); i = past(i)) {
            const Token& t = token(i);
            if (t.is("<")) ++depth;
            if (t.is("<<")) depth += 2;
            if (t.is(">")) --depth;
            if (t.is(">>")) depth -= 2;
            if (t.is(";") || t.is("{") || t.is("}")) return -1;
            if (depth <= 0) return i;
        }
        return -1;
    }
    int angle_begin(int i) const {  // the < that the > at i closes, or -1
        for (int depth = 0; i >= 0; --i) {
            if (const int open = partner(i); open >= 0 && open < i) {
                i = open;
                continue;
            }
            const Token& t = token(i);
            if (t.is(">")) ++depth;
            if (t.is(">>")) depth += 2;
            if (t.is("<")) --depth;
            if (t.is("<<")) depth -= 2;
            if (t.is(";") || t.is("{") || t.is("}")) return -1;
            if (depth <= 0) return i;
        }
        return -1;
    }

    // "file:line" of a token, from the last line marker (# 12 "file.cu" 1) before it.
    [[noreturn]] void refuse(int i, const std::string& why) const {
        std::string file = file_;
        int line = 1;
        for (size_t t = 0; t < code_[size_t(i)]; ++t) {
            const std::string_view v = all_[t].view;
            const size_t digit = v.find_first_of("0123456789"), quote = v.find('"');
            if (all_[t].kind == Token::directive && quote != v.npos && v.find_first_not_of("# ") == digit) {
                std::from_chars(v.data() + digit, v.data() + v.size(), line);
                file = v.substr(quote + 1, v.rfind('"') - quote - 1);
                --line;  // its own newline counts
            } else {
                for (const char c : v) line += c == '\n';
            }
        }
        fail("%s:%d: %s", file.c_str(), line, why.c_str());
    }

    // --- Words ------------------------------------------------------------------------------------------
    void word(int i) {
        const Token& t = token(i);
        if (t.is("__shared__")) return shared(i);
        if (t.is("__device__") || t.is("__constant__") || t.is("__managed__")) {
            if (is_variable(i)) return device_variable(i);
        }
        if (t.is("__global__") || t.is("__device__")) note_function(i);
        if (is_any(i, dropped)) return drop(i);
        if (t.is("__noinline__") && !in_attribute(i)) out(i) = "__attribute__((noinline))";
        if (t.is("__forceinline__")) out(i) = "inline __attribute__((always_inline))";
        if (t.is("__align__")) out(i) = "__attribute__((aligned", out(past(i + 1) - 1) = ")))";
        if ((t.is("asm") || t.is("__asm__")) && in_kernel(i)) refuse(i, "inline PTX is not simulated");
        for (const Refused& r : refused) {
            if (t.is(r.word)) refuse(i, std::string(r.word) + ": " + std::string(r.why));
        }
    }

    void drop(int i) {
        const int end = token(i + 1).is("(") && !is_any(i, functions) ? past(i + 1) : i + 1;
        for (; i < end; ++i) out(i).clear();
    }
    bool in_attribute(int i) const { return token(i - 1).is("(") && token(i - 2).is("("); }

    // --- Declarations -----------------------------------------------------------------------------------
    // The token after the declarator's name: ( of a function, else one of [ = ; { , of a variable.
    int declarator_end(int i) const {
        while (i < size()) {
            const Token& t = token(i);
            const bool takes_list = t.is("alignas") || t.is("__align__") || t.is("__launch_bounds__") ||
                                    t.is("__attribute__") || t.is("decltype") || t.is("explicit");
            if (t.is("operator")) {  // operator+ (, operator() (, operator float (
                i = token(i + 1).is("(") ? past(i + 1) : i + 1;
                while (i < size() && !token(i).is("(") && !token(i).is(";")) ++i;
                return i;
            }
            if (takes_list && token(i + 1).is("(")) {
                i = past(i + 1);
            } else if (t.is("<") && angle_end(i) > 0) {
                i = angle_end(i) + 1;
            } else if (t.is("[") && token(i + 1).is("[")) {  // [[attribute]]
                i = past(i);
            } else if (t.is("(") || t.is("[") || t.is("=") || t.is(";") || t.is("{") || t.is(",")) {
                return i;
            } else {
                ++i;
            }
        }
        return i;
    }
    bool is_variable(int i) const {
        if (token(i - 1).is("]")) return false;  // a lambda's, behind its captures
        const int end = declarator_end(i + 1);
        return !token(end).is("(") || token(end + 1).is("*");  // T (*x)(..) is a pointer to a function
    }

    // One section for each kind: what is __constant__ or __managed__ may say __device__ too. Const variables have their
    // own, since a section that can be written cannot hold them.
    void device_variable(int i) {
        int begin = i, end = declarator_end(i + 1);
        while (token(begin - 1).kind == Token::word) --begin;
        std::string kind = "device";
        bool is_const = false, is_first = true;
        for (int j = begin; j < end; ++j) {
            if (token(j).is("__constant__")) kind = "constant";
            if (token(j).is("__managed__")) kind = "managed";
            if (token(j).is("const") || token(j).is("constexpr")) is_const = true;
            if (token(j).is("*")) is_const = false;  // of const T* x it is not x that is const
            if (j < i &&
                (token(j).is("__device__") || token(j).is("__constant__") || token(j).is("__managed__"))) {
                is_first = false;
            }
        }
        out(i) =
            is_first ? "__attribute__((section(\"simt_" + kind + (is_const ? "_const" : "") + "\")))" : "";
    }

    void shared(int i) {
        std::optional<int> is_extern;
        bool is_static = false;
        for (int j = i - 1; token(j).kind == Token::word; --j) {
            if (token(j).is("extern")) is_extern = j;
            if (token(j).is("static")) is_static = true;
        }
        const int end = declarator_end(i + 1);
        for (int j = i + 1; j < end; ++j) {
            if (token(j).is("extern")) is_extern = j;
            if (token(j).is("alignas")) out(j) = "__attribute__((aligned", out(past(j + 1) - 1) = ")))";
            if (token(j).is("static")) out(j).clear();
        }
        out(i) = is_static ? "__thread" : "static __thread";
        if (!is_extern) return;
        out(i) = "extern __thread";
        out(*is_extern).clear();
        int last = end;
        while (token(last).is("[")) last = past(last);
        out(last - 1) += " __asm__(\"simt_dynamic_shared\")";
    }

    // --- Functions that run in a kernel --------------------------------------------------------------------
    void note_function(int i) {
        bool on_host = false;
        for (int j = i - 1; token(j).kind == Token::word; --j) on_host = on_host || token(j).is("__host__");
        const int list = token(i - 1).is("]") ? i + 1 : declarator_end(i + 1);
        for (int j = i + 1; j < list; ++j) on_host = on_host || token(j).is("__host__");
        int body = past(list);
        while (body < size() && !token(body).is("{") && !token(body).is(";") && !token(body).is("}"))
            body = past(body);
        if (!token(body).is("{") || partner(body) < 0) return;
        kernels_.push_back({body, partner(body), on_host});
        if (token(i).is("__global__") && token(list).is("(") && !is_template(i))
            make_known(list - 1, partner(body));
    }
    bool is_template(int i) const {  // template <..> static __global__
        for (--i; token(i).kind == Token::word || token(i).kind == Token::text; --i) {}
        return token(i).is(">") || token(i).is(">>");
    }
    // A kernel's bare address says nothing of its parameters, which cudaLaunchKernel((void*)k, ..) needs.
    void make_known(int name, int end) {
        const std::string k(token(name).view);
        out(end) += " [[maybe_unused]] static const int simt_knows_" + k + "_" + std::to_string(name) +
                    " = ::simt::know([](auto simt_) { if constexpr (requires { simt_.typed(" + k +
                    "); }) simt_.know(" + k + ", \"" + k + "\"); });";
    }
    struct Body {
        int begin, end;
        bool on_host;
    };
    bool in_kernel(int i, bool on_host_too = true) const {
        for (const Body& b : kernels_) {
            if (i > b.begin && i < b.end && (on_host_too || !b.on_host)) return true;
        }
        return false;
    }

    // --- Launches ---------------------------------------------------------------------------------------
    // Where the expression that names the kernel begins: ns::k<T, 16>, (k), table[i], object.k
    int kernel_begin(int end) const {
        int i = end;
        while (true) {
            if (token(i).is(">") || token(i).is(">>")) i = angle_begin(i) - 1;
            while (token(i).is("]") && partner(i) >= 0) i = partner(i) - 1;
            if (token(i).is(")") && partner(i) >= 0) {
                i = partner(i);
                if (token(i - 1).kind != Token::word) return i;
                --i;
            }
            if (token(i).kind != Token::word) return -1;
            if (token(i - 1).is("template")) --i;
            if (token(i - 1).is("::") || token(i - 1).is(".") || token(i - 1).is("->")) {
                const bool global =
                    token(i - 1).is("::") && token(i - 2).kind != Token::word && !token(i - 2).is(">");
                if (global) return i - 1;
                i -= 2;
            } else {
                return i;
            }
        }
    }

    void launch(int open) {
        if (in_kernel(open, false))
            refuse(open, "a launch from a kernel (dynamic parallelism) is not simulated");
        int close = open + 2;
        while (close < size() &&
               !(token(close).is(">>") && token(close + 1).is(">") && token(close + 2).is("("))) {
            if (token(close).is(";")) refuse(open, "<<< without >>>(");
            close = past(close);
        }
        const int begin = kernel_begin(open - 1);
        if (begin < 0 || close >= size()) refuse(open, "this launch names no kernel");
        std::string name;
        for (size_t t = code_[size_t(begin)]; t < code_[size_t(open)]; ++t) {
            name += all_[t].kind == Token::space ? std::string(" ") : std::string(all_[t].view);
        }
        while (name.ends_with(' ')) name.pop_back();
        // Its type is known, and arguments are converted at the launch; or it is a template whose arguments follow
        // from the call, and they are passed as they are.
        out(begin) = "::simt::kernel([&](auto simt_) { if constexpr (requires { simt_.typed(" + out(begin);
        out(open) = "); }) return simt_.typed(" + name +
                    "); else return simt_.deduced([=](auto... simt_a) { " + name +
                    "(simt_a...); }); }, R\"(" + name + ")\", ::simt::Config(";
        out(open + 1).clear();
        out(close) = "))";
        out(close + 1).clear();
    }

    std::string file_;
    std::vector<Token> all_;
    std::vector<std::string> out_;  // what becomes of each token
    std::vector<size_t> code_;      // the tokens that are neither space nor directive
    std::vector<int> partner_;      // of each bracket, -1 for others
    std::vector<Body> kernels_;
};

}  // namespace

std::string translate(std::string_view source, const std::string& file) {
    return Translator(source, file).run();
}

}  // namespace simt
