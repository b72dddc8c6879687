// JSON values. The parser (nlohmann/json) is seen by json.cpp alone: it costs seconds a file.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

class Json {
  public:
    using Array = std::vector<Json>;
    using Object = std::vector<std::pair<std::string, Json>>;  // in the order of writing

    Json() = default;  // null
    Json(bool b) : value_(b) {}
    Json(int n) : value_(int64_t(n)) {}
    Json(int64_t n) : value_(n) {}
    Json(uint64_t n) : Json(n <= INT64_MAX ? Json(int64_t(n)) : Json(double(n))) {}
    Json(double x) : value_(x) {}
    Json(const char* text) : value_(std::string(text)) {}
    Json(std::string text) : value_(std::move(text)) {}
    Json(Array items) : value_(std::move(items)) {}
    Json(Object members) : value_(std::move(members)) {}
    template <class T>
    Json(const std::vector<T>& items) : value_(Array(items.begin(), items.end())) {}

    // A value of another kind throws Error.
    bool boolean() const;
    int64_t integer() const;
    double number() const;  // an integer also
    const std::string& text() const;
    const Array& items() const;
    const Object& members() const;
    std::vector<int> integers() const;  // an array of them

    bool has(const std::string& key) const;
    const Json& operator[](const std::string& key) const;  // a missing key throws Error
    const Json& operator[](size_t index) const;
    Json& set(const std::string& key, Json value);  // of an object (null becomes one)
    void append(std::string key, Json value);       // the same for a key that is known to be new
    void push(Json value);                          // onto an array (null becomes one)

    const auto& value() const { return value_; }

  private:
    std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> value_;
};

// source: named in errors. A key that occurs twice in one object is an error, as is anything after the value.
Json parse_json(const std::string& text, const char* source);
Json read_json(const std::string& path);
std::string to_text(const Json& json);  // infinities and NaN become null; invalid UTF-8 U+FFFD
// Written beside the target and renamed, so that no partial file is ever seen.
void write_json(const std::string& path, const Json& json);
