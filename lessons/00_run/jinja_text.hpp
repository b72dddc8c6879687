// Chat templates are small programs in the Jinja language. Two that differ only in how they are written become
// the same text here, so that they can be compared with the forms that we know: white space that means
// nothing goes, strings stand in backquotes with their escapes resolved, `a` + `b` is `ab`, message.role is
// message[`role`].
//   {% for message in messages %}\n{{ "<|im_start|>" + message.role }}  ->
//   {%formessageinmessages%}{{`<|im_start|>`+message[`role`]}}
// White space outside of tags is text, but for what trim_blocks and lstrip_blocks take: the line end after a
// {% %}, the blanks before one at the start of a line, and everything next to a {%- or -%}.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace jinja {

constexpr std::string_view blanks = " \t\n\r";

inline void trim_right(std::string& text, std::string_view characters) {
    text.erase(text.find_last_not_of(characters) + 1);
}

// A quoted string that begins at jinja[at]; `at` moves behind it. false: it does not end, or holds a backquote.
inline bool read_string(std::string& out, std::string_view jinja, size_t& at) {
    const char quote = jinja[at++];
    const bool joined = out.ends_with("`+");
    if (joined) out.resize(out.size() - 2);
    if (!joined) out += '`';
    for (; at < jinja.size() && jinja[at] != quote; ++at) {
        if (jinja[at] == '`') return false;
        if (jinja[at] == '\\' && at + 1 < jinja.size())
            ++at, out += jinja[at] == 'n' ? '\n' : jinja[at];
        else
            out += jinja[at];
    }
    out += '`';
    return at++ < jinja.size();
}

// The inside of a tag up to its end; `at` moves behind it. false: it does not end.
inline bool read_tag(std::string& out, std::string_view jinja, std::string_view end, size_t& at) {
    while (at < jinja.size()) {
        const std::string_view rest = jinja.substr(at);
        if (rest.starts_with(end)) return at += end.size(), true;
        if (rest[0] == '\'' || rest[0] == '"') {
            if (!read_string(out, jinja, at)) return false;
        } else if (rest.starts_with(".role") || rest.starts_with(".content")) {
            const std::string_view name = rest.substr(1, rest[1] == 'r' ? 4 : 7);
            out += "[`" + std::string(name) + "`]";
            at += 1 + name.size();
        } else {
            if (blanks.find(rest[0]) == blanks.npos) out += rest[0];
            ++at;
        }
    }
    return false;
}

// "" for what is no template: a tag or a string without an end.
inline std::string canonical(std::string_view jinja) {
    std::string out;
    bool line_start = true;  // nothing stands before `at` on its line, as far as blanks in front of a tag go
    bool strip = false;      // the tag before ended in -%} or -}}
    for (size_t at = 0; at < jinja.size();) {
        const size_t open =
            std::min({jinja.find("{%", at), jinja.find("{{", at), jinja.find("{#", at), jinja.size()});
        std::string text(jinja.substr(at, open - at));
        if (strip) text.erase(0, std::min(text.find_first_not_of(blanks), text.size()));
        if (open == jinja.size()) {
            if (text.ends_with('\n')) text.pop_back();  // the last line end of a template does not count
            return out + text;
        }
        const char kind = jinja[open + 1];
        at = open + 2;
        const bool strip_before = at < jinja.size() && jinja[at] == '-';
        if (strip_before) ++at;
        const size_t line = text.rfind('\n') + 1;  // 0 when there is none
        const bool only_blanks = text.find_first_not_of(" \t", line) == text.npos;
        if (strip_before)
            trim_right(text, blanks);
        else if (kind != '{' && only_blanks && (line > 0 || line_start))
            text.resize(line);
        out += text;

        const std::string end = {kind == '{' ? '}' : kind, '}'};
        std::string tag;
        if (kind == '#') {
            const size_t close = jinja.find(end, at);
            if (close == jinja.npos) return "";
            strip = jinja[close - 1] == '-';
            at = close + 2;
        } else {
            if (!read_tag(tag, jinja, end, at)) return "";
            strip = tag.ends_with('-');
            if (strip) tag.pop_back();
            out += "{" + (kind + tag) + end;
        }
        line_start = kind != '{' && at < jinja.size() && jinja[at] == '\n';
        if (line_start) ++at;
    }
    return out;
}

}  // namespace jinja
