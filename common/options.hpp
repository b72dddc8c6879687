// Command lines. The parser itself (CLI11) is seen by options.cpp alone: it costs seconds a file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

class Options {
  public:
    // `question`: the sentence that --help opens with.
    Options(const char* program, const char* question);
    ~Options();

    // The options that follow stand under this title in --help.
    void group(const char* title);
    // names: "-n,--max-tokens". The value's default is what `value` holds. A number outside
    // [low, high], not a number at all, or with a tail ("12x") is an error. NaN is always refused.
    void add(const char* names, int& value, const char* help, int low, int high);
    void add(const char* names, uint64_t& value, const char* help);
    void add(const char* names, float& value, const char* help, float low, float high);
    void add(const char* names, std::string& value, const char* help);
    void add(const char* names, std::string& value, const char* help, std::vector<std::string> choices);
    // The name of a file or of a choice: an empty one is an error.
    void add_name(const char* names, std::string& value, const char* help);
    // A list of integers: 1,2,3. An empty list is an error.
    void add(const char* names, std::vector<int>& values, const char* help, int low, int high);
    void flag(const char* names, bool& value, const char* help);
    // At most one of these options may be given.
    void exclusive(std::vector<std::string> names);
    bool given(const char* name) const;  // was it on the command line?

    // Throws Error on wrong input. --help prints and ends the program with status 0.
    void parse(int argc, char** argv);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

// The options that lessons share.
struct CommonOptions {
    std::string device = "cpu";
    std::string variant;  // number, name, or "list"
    uint64_t seed = 1;
    int threads = 0;   // 0: as many as there are cores
    std::string json;  // file that the measured rows are also written to

    void add_to(Options& options);
    // After parse: `threads` gets its number; a device that this build lacks is refused by name, and so is a file for
    // --json that cannot be written, or that is among `inputs`, the files that are read.
    void check(const std::vector<std::string>& inputs = {});
    // Which of the lesson's variants to run, as indices: all, or the one that --variant gives by number (from
    // 1) or name. "list" prints them and ends the program with status 0.
    std::vector<int> chosen(const std::vector<std::string>& names) const;
};

// Runs body(argc, argv) and returns its status; an exception becomes one line on standard error,
// "program: text", and status 2.
int run_program(int argc, char** argv, const std::function<int(int, char**)>& body);
