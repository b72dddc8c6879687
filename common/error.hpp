// The one error path: whatever goes wrong throws an Error whose text is one clear line, and
// run_program (options.hpp) prints it once and ends with status 2.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <stdexcept>
#include <string>

struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

namespace detail {
inline std::string print_into(const char* format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    const int length = std::vsnprintf(nullptr, 0, format, arguments);
    std::string text(length > 0 ? size_t(length) : 0, '\0');
    std::vsnprintf(text.data(), text.size() + 1, format, again);
    va_end(again);
    return text;
}
}  // namespace detail

// printf into a string.
__attribute__((format(printf, 1, 2))) inline std::string format_text(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::string text = detail::print_into(format, arguments);
    va_end(arguments);
    return text;
}

// Throws Error with a printf-formatted text: what is wrong, where, and what to do. (A function, since a macro of
// this name would rewrite fail() of the standard streams.)
[[noreturn]] __attribute__((format(printf, 1, 2))) inline void fail(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const std::string text = detail::print_into(format, arguments);
    va_end(arguments);
    throw Error(text);
}
