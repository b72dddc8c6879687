#include "common/simt/lexer.hpp"

#include <algorithm>
#include <cctype>

namespace simt {
namespace {

bool is_letter(char c) { return std::isalpha((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Lexer {
    std::string_view source;
    size_t at = 0;

    char look(size_t ahead = 0) const { return at + ahead < source.size() ? source[at + ahead] : '\0'; }
    bool here(std::string_view s) const { return source.substr(at, s.size()) == s; }
    void to(size_t position) { at = std::min(position, source.size()); }
    void past(std::string_view s, size_t from) {  // behind the next s, or to the end
        const size_t found = source.find(s, from);
        to(found == std::string_view::npos ? found : found + s.size());
    }

    void line() {  // to its newline; one behind a backslash goes on
        while (at < source.size() && source[at] != '\n') at += source[at] == '\\' ? 2 : 1;
        to(at);
    }
    void quoted(char quote) {
        for (++at; at < source.size() && source[at] != quote && source[at] != '\n'; ++at) {
            if (source[at] == '\\') ++at;
        }
        to(at + 1);
    }
    // R"mark(anything)mark"
    void raw_string() {
        const size_t quote = source.find('"', at), open = source.find('(', quote);
        if (open == std::string_view::npos) return to(open);
        past(")" + std::string(source.substr(quote + 1, open - quote - 1)) + "\"", open);
    }
    void number() {  // with its suffix; 1e+3, 0x1p-3 and 1'000 are one
        for (; at < source.size(); ++at) {
            const char c = source[at], before = char(std::tolower(at ? source[at - 1] : 0));
            const bool sign = (c == '+' || c == '-') && (before == 'e' || before == 'p');
            const bool separator = c == '\'' && is_letter(look(1)) + is_digit(look(1)) > 0;
            if (!is_letter(c) && !is_digit(c) && c != '.' && !sign && !separator) return;
        }
    }

    Token::Kind next(bool line_start) {
        const char c = look();
        if (std::isspace((unsigned char)c)) return ++at, Token::space;
        if (here("//")) return line(), Token::space;
        if (here("/*")) return past("*/", at + 2), Token::space;
        if (c == '#' && line_start) return line(), Token::directive;
        for (const char* prefix : {"R\"", "LR\"", "uR\"", "UR\"", "u8R\""}) {
            if (here(prefix)) return raw_string(), Token::text;
        }
        for (const char* prefix : {"", "L", "u", "U", "u8"}) {
            for (const char quote : {'"', '\''}) {
                const std::string_view p = prefix;
                if (here(p) && look(p.size()) == quote) return to(at + p.size()), quoted(quote), Token::text;
            }
        }
        if (is_letter(c)) {
            while (at < source.size() && (is_letter(source[at]) || is_digit(source[at]))) ++at;
            return Token::word;
        }
        if (is_digit(c) || (c == '.' && is_digit(look(1)))) return number(), Token::number;
        for (const char* pair : {"::", "->", "<<", ">>"}) {
            if (here(pair)) return at += 2, Token::symbol;
        }
        return ++at, Token::symbol;
    }
};

}  // namespace

std::vector<Token> tokens(std::string_view source) {
    std::vector<Token> out;
    Lexer lexer{source};
    bool line_start = true;
    while (lexer.at < source.size()) {
        const size_t begin = lexer.at;
        const Token::Kind kind = lexer.next(line_start);
        const std::string_view view = source.substr(begin, lexer.at - begin);
        out.push_back({kind, view});
        if (kind != Token::space) line_start = false;
        if (view.find('\n') != std::string_view::npos && kind != Token::text) line_start = true;
    }
    return out;
}

}  // namespace simt
