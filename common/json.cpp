#include "common/json.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "common/error.hpp"
#include "common/files.hpp"

namespace {

const char* kind(const Json& json) {
    static const char* const names[] = {"null",   "true or false", "a whole number", "a number",
                                        "a text", "an array",      "an object"};
    return names[std::min<size_t>(json.value().index(), 6)];
}

template <class T>
const T& get(const Json& json, const char* expected) {
    if (const T* value = std::get_if<T>(&json.value())) return *value;
    fail("JSON: expected %s, found %s", expected, kind(json));
}

}  // namespace

bool Json::boolean() const { return get<bool>(*this, "true or false"); }
int64_t Json::integer() const { return get<int64_t>(*this, "a whole number"); }
double Json::number() const {
    if (const auto* n = std::get_if<int64_t>(&value_)) return double(*n);
    return get<double>(*this, "a number");
}
const std::string& Json::text() const { return get<std::string>(*this, "a text"); }
const Json::Array& Json::items() const { return get<Array>(*this, "an array"); }
const Json::Object& Json::members() const { return get<Object>(*this, "an object"); }

std::vector<int> Json::integers() const {
    std::vector<int> out;
    for (const Json& item : items()) {
        const int64_t n = item.integer();
        if (n != int(n)) fail("JSON: %lld does not fit into 32 bits", static_cast<long long>(n));
        out.push_back(int(n));
    }
    return out;
}

bool Json::has(const std::string& key) const {
    return std::any_of(members().begin(), members().end(),
                       [&](const auto& member) { return member.first == key; });
}

const Json& Json::operator[](const std::string& key) const {
    for (const auto& [name, value] : members()) {
        if (name == key) return value;
    }
    fail("JSON: the key \"%s\" is missing", key.c_str());
}

const Json& Json::operator[](size_t index) const {
    if (index >= items().size()) fail("JSON: element %zu of an array of %zu", index, items().size());
    return items()[index];
}

Json& Json::set(const std::string& key, Json value) {
    if (auto* object = std::get_if<Object>(&value_)) {
        for (auto& [name, old] : *object) {
            if (name == key) {
                old = std::move(value);
                return *this;
            }
        }
    }
    append(key, std::move(value));
    return *this;
}

void Json::append(std::string key, Json value) {
    if (std::holds_alternative<std::monostate>(value_)) value_ = Object{};
    members();  // nothing but an object has keys
    std::get<Object>(value_).emplace_back(std::move(key), std::move(value));
}

void Json::push(Json value) {
    if (std::holds_alternative<std::monostate>(value_)) value_ = Array{};
    items();
    std::get<Array>(value_).push_back(std::move(value));
}

namespace {

constexpr size_t max_depth =
    256;  // a Json is destroyed by recursion: a hostile file must not exhaust the stack

// The parser reports what it reads, value by value; the open arrays and objects are kept on a stack.
struct Builder {
    const char* source;
    std::vector<Json> open;
    std::vector<std::string> keys;  // of the member that each open object waits for
    Json root;

    bool put(Json value) {
        if (open.empty()) {
            root = std::move(value);
        } else if (std::holds_alternative<Json::Array>(open.back().value())) {
            open.back().push(std::move(value));
        } else {
            open.back().append(std::move(keys.back()), std::move(value));
            keys.pop_back();
        }
        return true;
    }
    bool begin(Json container) {
        if (open.size() == max_depth) fail("%s: JSON nested deeper than %zu levels", source, max_depth);
        open.push_back(std::move(container));
        return true;
    }
    bool end() {
        Json done = std::move(open.back());
        open.pop_back();
        return put(std::move(done));
    }

    bool null() { return put({}); }
    bool boolean(bool b) { return put(b); }
    bool number_integer(int64_t n) { return put(n); }
    bool number_unsigned(uint64_t n) { return n <= INT64_MAX ? put(int64_t(n)) : put(double(n)); }
    bool number_float(double x, const std::string&) { return put(x); }
    bool string(std::string& text) { return put(std::move(text)); }
    bool binary(std::vector<uint8_t>&) { return false; }  // not in JSON text
    bool start_object(size_t) { return begin(Json::Object{}); }
    bool start_array(size_t) { return begin(Json::Array{}); }
    bool key(std::string& name) {
        keys.push_back(std::move(name));
        return true;
    }
    bool end_array() { return end(); }
    bool end_object() {
        std::vector<std::string_view> names;
        for (const auto& member : open.back().members()) names.push_back(member.first);
        std::sort(names.begin(), names.end());
        const auto twice = std::adjacent_find(names.begin(), names.end());
        if (twice != names.end())
            fail("%s: JSON key \"%s\" occurs twice", source, std::string(*twice).c_str());
        return end();
    }
    bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) {
        const std::string what =
            error.what();  // "[json.exception.parse_error.101] parse error at line 1, ..."
        const size_t id_end = what.find("] ");
        fail("%s: not JSON: %s", source, what.c_str() + (id_end == what.npos ? 0 : id_end + 2));
    }
};

bool is_container(const Json& json) { return json.value().index() >= 5; }

// Numbers and texts are written by the library: the shortest digits that read back as the same double, and
// U+FFFD for bytes that are not UTF-8.
std::string scalar_text(const Json& json) {
    nlohmann::json scalar;
    if (const auto* b = std::get_if<bool>(&json.value())) scalar = *b;
    if (const auto* n = std::get_if<int64_t>(&json.value())) scalar = *n;
    if (const auto* x = std::get_if<double>(&json.value())) scalar = *x;
    if (const auto* text = std::get_if<std::string>(&json.value())) scalar = *text;
    return scalar.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void write(std::string& out, const Json& json, const std::string& indent) {
    if (!is_container(json)) {
        out += scalar_text(json);
        return;
    }
    const auto* object = std::get_if<Json::Object>(&json.value());
    const size_t n = object ? object->size() : json.items().size();
    // An array without containers, such as a list of ids, takes one line.
    const bool one_line =
        n == 0 || (!object && std::none_of(json.items().begin(), json.items().end(), is_container));
    const std::string inner = indent + "  ";
    out += object ? '{' : '[';
    for (size_t i = 0; i < n; ++i) {
        if (i > 0) out += one_line ? ", " : ",";
        if (!one_line) out += '\n' + inner;
        if (object) out += scalar_text((*object)[i].first) + ": ";
        write(out, object ? (*object)[i].second : json.items()[i], inner);
    }
    if (!one_line) out += '\n' + indent;
    out += object ? '}' : ']';
}

}  // namespace

Json parse_json(const std::string& text, const char* source) {
    Builder builder{source, {}, {}, {}};
    nlohmann::json::sax_parse(text, &builder);
    return std::move(builder.root);
}

Json read_json(const std::string& path) { return parse_json(read_file(path), path.c_str()); }

std::string to_text(const Json& json) {
    std::string out;
    write(out, json, "");
    return out += '\n';
}

void write_json(const std::string& path, const Json& json) { write_file(path, to_text(json)); }
