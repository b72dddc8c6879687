#include "common/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <new>
#include <numeric>
#include <utility>

#include "common/error.hpp"
#include "common/files.hpp"
#include "common/threads.hpp"

// CLI11 cuts the command line into options and values; every value is then read here, from its text, so that
// what counts as a number does not depend on the parser's version or on a locale.
struct Options::State {
    struct Entry {
        CLI::Option* option;
        std::function<void(const std::string& name, const std::string& text)> read;  // empty for a flag
    };
    CLI::App app;
    std::string group = "Options";
    std::vector<Entry> entries;
    std::vector<std::vector<std::string>> exclusive;

    CLI::Option* add(const char* names, std::string help) {
        CLI::Option* option = app.add_option(names)->description(std::move(help))->group(group);
        return option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);  // parse() refuses a second one
    }
    const Entry* find(const std::string& name) const {
        for (const Entry& entry : entries) {
            if (name.size() > 1 && name[0] == '-' && entry.option->check_name(name)) return &entry;
        }
        return nullptr;
    }
    std::string nearest(const std::string& name) const;
    void check_words(int argc, char** argv) const;
};

namespace {

// Insertions, deletions and replacements that turn a into b.
int edit_distance(const std::string& a, const std::string& b) {
    std::vector<int> row(b.size() + 1);
    std::iota(row.begin(), row.end(), 0);
    for (size_t i = 0; i < a.size(); ++i) {
        int diagonal = std::exchange(row[0], int(i) + 1);
        for (size_t j = 0; j < b.size(); ++j) {
            const int replaced = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row.back();
}

template <class T>
T whole_number(const std::string& name, const std::string& text, T low, T high) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || end != text.data() + text.size() || error == std::errc::invalid_argument) {
        fail("%s: '%s' is not a whole number", name.c_str(), text.c_str());
    }
    if (error == std::errc::result_out_of_range || value < low || value > high) {
        fail("%s: %s is outside %s .. %s", name.c_str(), text.c_str(), std::to_string(low).c_str(),
             std::to_string(high).c_str());
    }
    return value;
}

float real_number(const std::string& name, const std::string& text, float low, float high) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    // strtod also takes leading blanks, "nan", "inf" and hexadecimal: none of them is meant here.
    if (text.empty() || text.find_first_not_of("0123456789+-.eE") != std::string::npos ||
        end != text.c_str() + text.size()) {
        fail("%s: '%s' is not a number", name.c_str(), text.c_str());
    }
    if (!(value >= double(low) && value <= double(high))) {
        fail("%s: %s is outside %g .. %g", name.c_str(), text.c_str(), double(low), double(high));
    }
    return float(value);
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

[[noreturn]] void print_and_exit(const std::string& text) {
    std::fputs(text.c_str(), stdout);
    if (std::fflush(stdout) != 0 || std::ferror(stdout)) fail("cannot write to standard output");
    std::exit(0);
}

std::string range_text(int low, int high) {
    if (low == INT_MIN && high == INT_MAX) return "";
    if (high == INT_MAX) return format_text("at least %d, ", low);
    return format_text("%d .. %d, ", low, high);
}

std::string range_text(float low, float high) {
    if (high == std::numeric_limits<float>::max()) return format_text("at least %g, ", double(low));
    return format_text("%g .. %g, ", double(low), double(high));
}

}  // namespace

Options::Options(const char* program, const char* question) : state_(std::make_unique<State>()) {
    state_->app.name(program);
    state_->app.description(question);
    state_->app.set_help_flag("-h,--help", "this page");
    state_->app.allow_extras();  // so that an unknown option is named here, with the nearest one
}
Options::~Options() = default;

void Options::group(const char* title) { state_->group = title; }

void Options::add(const char* names, int& value, const char* help, int low, int high) {
    CLI::Option* option =
        state_->add(names, format_text("%s (%sdefault %d)", help, range_text(low, high).c_str(), value));
    option->type_name("N");
    state_->entries.push_back({option, [&value, low, high](const std::string& name, const std::string& text) {
                                   value = whole_number(name, text, low, high);
                               }});
}

void Options::add(const char* names, uint64_t& value, const char* help) {
    CLI::Option* option =
        state_->add(names, format_text("%s (default %llu)", help, static_cast<unsigned long long>(value)));
    option->type_name("N");
    state_->entries.push_back({option, [&value](const std::string& name, const std::string& text) {
                                   value = whole_number<uint64_t>(name, text, 0, UINT64_MAX);
                               }});
}

void Options::add(const char* names, float& value, const char* help, float low, float high) {
    CLI::Option* option = state_->add(
        names, format_text("%s (%sdefault %g)", help, range_text(low, high).c_str(), double(value)));
    option->type_name("X");
    state_->entries.push_back({option, [&value, low, high](const std::string& name, const std::string& text) {
                                   value = real_number(name, text, low, high);
                               }});
}

void Options::add(const char* names, std::string& value, const char* help) {
    CLI::Option* option =
        state_->add(names, value.empty() ? help : format_text("%s (default %s)", help, value.c_str()));
    option->type_name("TEXT");
    state_->entries.push_back(
        {option, [&value](const std::string&, const std::string& text) { value = text; }});
}

void Options::add_name(const char* names, std::string& value, const char* help) {
    add(names, value, help);
    state_->entries.back().read = [&value](const std::string& name, const std::string& text) {
        if (text.empty()) fail("%s: the name is empty", name.c_str());
        value = text;
    };
}

void Options::add(const char* names, std::string& value, const char* help, std::vector<std::string> choices) {
    CLI::Option* option = state_->add(
        names, format_text("%s (one of: %s; default %s)", help, joined(choices).c_str(), value.c_str()));
    option->type_name("NAME");
    state_->entries.push_back(
        {option, [&value, choices = std::move(choices)](const std::string& name, const std::string& text) {
             if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
                 fail("%s: '%s' is none of: %s", name.c_str(), text.c_str(), joined(choices).c_str());
             }
             value = text;
         }});
}

void Options::add(const char* names, std::vector<int>& values, const char* help, int low, int high) {
    CLI::Option* option = state_->add(names, help);
    option->type_name("N,N,...");
    state_->entries.push_back(
        {option, [&values, low, high](const std::string& name, const std::string& text) {
             values.clear();
             for (size_t begin = 0; begin <= text.size();) {
                 const size_t end = std::min(text.find(',', begin), text.size());
                 values.push_back(whole_number(name, text.substr(begin, end - begin), low, high));
                 begin = end + 1;
             }
         }});
}

void Options::flag(const char* names, bool& value, const char* help) {
    state_->entries.push_back({state_->app.add_flag(names, value, help)->group(state_->group), nullptr});
}

void Options::exclusive(std::vector<std::string> names) { state_->exclusive.push_back(std::move(names)); }

bool Options::given(const char* name) const {
    const State::Entry* entry = state_->find(name);
    if (!entry) fail("no option is called %s", name);
    return entry->option->count() > 0;
}

std::string Options::State::nearest(const std::string& name) const {
    std::string best;
    int best_distance = int(name.size()) / 3 + 1;  // further away it is no misspelling
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& other : option->get_lnames()) {
            const int distance = edit_distance(name, "--" + other);
            if (distance <= best_distance) best = "--" + other, best_distance = distance - 1;
        }
    }
    return best;
}

// What CLI11 would accept in silence, or refuse in words that do not help.
void Options::State::check_words(int argc, char** argv) const {
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "--") return;
        if (const Entry* entry = find(word); entry && entry->read) {
            if (i + 1 == argc) fail("%s needs a value", word.c_str());
            if (find(argv[++i])) {
                fail("%s needs a value, but the option %s follows; if that is the value, write %s=%s",
                     word.c_str(), argv[i], entry->option->get_name().c_str(), argv[i]);
            }
        } else if (word.size() > 2 && word.back() == '=' && find(word.substr(0, word.size() - 1))) {
            fail("%s has no value", word.c_str());
        } else if (word.size() > 2 && word[0] == '-' && word[1] != '-') {
            const std::string two_dashes = "-" + word.substr(0, word.find('='));
            if (find(two_dashes)) fail("%s is written with two dashes: %s", word.c_str(), two_dashes.c_str());
        }
    }
}

void Options::parse(int argc, char** argv) {
    State& state = *state_;
    state.check_words(argc, argv);
    try {
        state.app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        print_and_exit(state.app.help());
    } catch (const CLI::ParseError& error) { fail("%s (--help lists the options)", error.what()); }
    for (const std::string& word : state.app.remaining()) {
        if (word.size() < 2 || word[0] != '-' || word == "--") {
            fail("unexpected argument '%s' (--help lists the options)", word.c_str());
        }
        const std::string name = word.substr(0, word.find('='));
        const std::string near = state.nearest(name);
        if (near.empty()) fail("unknown option %s (--help lists all)", name.c_str());
        fail("unknown option %s; did you mean %s? (--help lists all)", name.c_str(), near.c_str());
    }
    for (const State::Entry& entry : state.entries) {
        const std::string name = entry.option->get_name();
        if (!entry.read || entry.option->count() == 0) continue;
        if (entry.option->count() > 1) fail("%s is given more than once", name.c_str());
        entry.read(name, entry.option->results()[0]);
    }
    for (const std::vector<std::string>& names : state.exclusive) {
        std::vector<std::string> present;
        for (const std::string& name : names) {
            if (given(name.c_str())) present.push_back(name);
        }
        if (present.size() > 1) fail("give only one of %s", joined(present).c_str());
    }
}

void CommonOptions::add_to(Options& options) {
    options.group("In every lesson");
    options.add("--device", device, "where it runs", {"cpu", "sim", "cuda"});
    options.add_name("--variant", variant, "only this variant: its number, its name, or list");
    options.add("-s,--seed", seed, "of all random numbers");
    options.add("-t,--threads", threads, "threads; 0: as many as there are cores", 0, 1024);
    options.add_name("--json", json, "write the results to this file too");
}

void CommonOptions::check(const std::vector<std::string>& inputs) {
    if (device != "cpu") fail("--device %s: this program was built for the cpu alone", device.c_str());
    if (threads == 0) threads = available_cores();
    if (json.empty()) return;
    check_writable(json);
    for (const std::string& input : inputs) {
        std::error_code none;  // files that are not there are not the same
        if (std::filesystem::equivalent(json, input, none)) {
            fail("--json %s: that is the file to be read; name another", json.c_str());
        }
    }
}

std::vector<int> CommonOptions::chosen(const std::vector<std::string>& names) const {
    std::vector<int> all(names.size());
    std::iota(all.begin(), all.end(), 0);
    if (variant.empty()) return all;
    if (variant == "list") {
        std::string lines;
        for (const int i : all) lines += format_text("%d %s\n", i + 1, names[size_t(i)].c_str());
        print_and_exit(lines);
    }
    for (const int i : all) {
        if (variant == names[size_t(i)] || variant == std::to_string(i + 1)) return {i};
    }
    fail("--variant: '%s' is none of 1 .. %zu: %s", variant.c_str(), names.size(), joined(names).c_str());
}

int run_program(int argc, char** argv, const std::function<int(int, char**)>& body) {
    std::string problem;
    try {
        const int status = body(argc, argv);
        if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return status;
        problem = "cannot write to standard output";
    } catch (const std::bad_alloc&) { problem = "out of memory"; } catch (const std::exception& error) {
        problem = error.what();
    }
    // One line, whatever a file's name or content has put into it.
    for (char& c : problem) {
        if (static_cast<unsigned char>(c) < ' ' || c == 127) c = ' ';
    }
    const std::string program = argc > 0 ? argv[0] : "program";
    std::fprintf(stderr, "%s: %s\n", program.substr(program.rfind('/') + 1).c_str(), problem.c_str());
    return 2;
}
