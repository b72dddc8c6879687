// Command lines: every wrong value is one line that names the option, and nothing is taken half.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>

#include "common/error.hpp"
#include "common/files.hpp"
#include "common/options.hpp"
#include "common/threads.hpp"
#include "tests/temporary_folder.hpp"

namespace {

struct Parsed {
    int n = 64;
    float temperature = 0.5f;
    std::string prompt, file, choice = "f32";
    std::vector<int> ids{7};
    uint64_t seed = 1;
    bool logits = false;
    bool n_given = false;
};

Parsed parsed(std::vector<std::string> words) {
    Parsed p;
    Options options("program", "What is asked?");
    options.add("-n,--max-tokens", p.n, "tokens at most", 1, 1000);
    options.add("--temperature,--temp", p.temperature, "0 is greedy", 0, 100);
    options.add("-p,--prompt", p.prompt, "text");
    options.add("-f,--prompt-file", p.file, "file with text");
    options.add("--weights", p.choice, "format", {"f32", "file"});
    options.add("--ids", p.ids, "token ids", 0, 999);
    options.add("-s,--seed", p.seed, "of the draws");
    options.flag("--logits", p.logits, "also the logits");
    options.exclusive({"--prompt", "--prompt-file", "--ids"});
    words.insert(words.begin(), "program");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    options.parse(int(argv.size()), argv.data());
    p.n_given = options.given("-n");
    return p;
}

std::string complaint(std::vector<std::string> words) {
    try {
        parsed(std::move(words));
    } catch (const Error& error) {
        CHECK(std::string(error.what()).find('\n') == std::string::npos);
        return error.what();
    }
    return "accepted";
}

// The complaint names the option and what is wrong with it.
void check_complaint(std::vector<std::string> words, const std::vector<std::string>& parts) {
    std::string line;
    for (const std::string& word : words) line += word + " ";
    const std::string text = complaint(std::move(words));
    for (const std::string& part : parts) {
        INFO(line, ": ", text);
        CHECK(text.find(part) != std::string::npos);
    }
}

}  // namespace

TEST_CASE("options: defaults stay, given values replace them") {
    const Parsed none = parsed({});
    CHECK(none.n == 64);
    CHECK(none.ids == std::vector<int>{7});
    CHECK(!none.n_given);
    const Parsed all = parsed({"-n", "5", "--temp=0.25", "-p", "text", "--weights", "file", "-s",
                               "18446744073709551615", "--logits"});
    CHECK(all.n == 5);
    CHECK(all.temperature == 0.25f);
    CHECK(all.prompt == "text");
    CHECK(all.choice == "file");
    CHECK(all.seed == UINT64_MAX);
    CHECK(all.logits);
    CHECK(all.n_given);
    CHECK(parsed({"--ids", "1,2,3"}).ids == std::vector<int>{1, 2, 3});
    CHECK(parsed({"-n5"}).n == 5);
}

TEST_CASE("options: a text is taken as it is") {
    for (const char* text :
         {"", "[a,b]", "{}", "\"quoted\"", "a\nb", "-5", "%%", "\xff\xfe", "a=b", "B\"(x)\""}) {
        CHECK(parsed({"-p", text}).prompt == text);
        if (*text) CHECK(parsed({std::string("--prompt=") + text}).prompt == text);
    }
    CHECK(parsed({"--prompt=--logits"}).prompt == "--logits");
}

TEST_CASE("options: a wrong number is refused and named") {
    for (const char* value :
         {"12x", "1e2", "1.0", "", " 5", "5 ", "+5", "nan", "inf", "0x10", "five", "--5"}) {
        check_complaint({"-n", value}, {"--max-tokens", "whole number"});
    }
    for (const char* value : {"0", "-1", "1001", "2147483648", "99999999999999999999"}) {
        check_complaint({"-n", value}, {"--max-tokens", value, "1 .. 1000"});
    }
    for (const char* value : {"nan", "inf", "-inf", "1x", "", " 1", "0x1p3", "1,5", "1e", "infinity"}) {
        check_complaint({"--temp", value}, {"--temperature", "not a number"});
    }
    for (const char* value : {"-1", "1e39", "101", "1e999"}) check_complaint({"--temp", value}, {"0 .. 100"});
    for (const char* value : {"-1", "1.5"}) check_complaint({"--seed", value}, {"--seed", "whole number"});
    check_complaint({"--seed", "18446744073709551616"}, {"--seed", "outside"});
}

TEST_CASE("options: a wrong list is refused") {
    for (const char* value : {"", ",", "1,", ",1", "1,,2", "1 2", "1,x", "[1,2]"}) {
        check_complaint({"--ids", value}, {"--ids", "whole number"});
    }
    check_complaint({"--ids", "1,1000"}, {"--ids", "1000", "0 .. 999"});
    check_complaint({"--ids", "-1"}, {"--ids", "outside"});
}

TEST_CASE("options: unknown words are named, the nearest option with them") {
    check_complaint({"--max-token", "5"}, {"--max-token;", "--max-tokens"});
    check_complaint({"--promt=x"}, {"--promt;", "--prompt?"});
    check_complaint({"--xyzzy"}, {"unknown option --xyzzy"});
    CHECK(complaint({"--xyzzy"}).find("did you mean") == std::string::npos);
    check_complaint({"-x"}, {"unknown option -x"});
    check_complaint({"word"}, {"unexpected argument 'word'"});
    check_complaint({"--", "-n"}, {"unexpected argument"});
    check_complaint({"-max-tokens", "5"}, {"two dashes", "--max-tokens"});
}

TEST_CASE("options: a value that is missing, doubled or no choice") {
    check_complaint({"-n"}, {"-n needs a value"});
    check_complaint({"--prompt", "--logits"}, {"--prompt needs a value", "--logits"});
    check_complaint({"--prompt="}, {"--prompt= has no value"});
    check_complaint({"-n", "1", "-n", "2"}, {"--max-tokens", "more than once"});
    check_complaint({"--weights", "f16"}, {"--weights", "'f16'", "f32, file"});
    check_complaint({"--logits=perhaps"}, {"--logits"});
    check_complaint({"-p", "a", "-f", "b"}, {"only one of", "--prompt", "--prompt-file"});
}

TEST_CASE("options: those that lessons share") {
    CommonOptions common;
    common.check();
    CHECK(common.threads == available_cores());
    common.threads = 3;
    common.check();
    CHECK(common.threads == 3);

    const std::vector<std::string> names{"ijk", "ikj", "blocked"};
    CHECK(common.chosen(names) == std::vector<int>{0, 1, 2});
    for (const auto& [word, index] : {std::pair{"2", 1}, {"blocked", 2}, {"1", 0}, {"ijk", 0}}) {
        common.variant.assign(word);
        CHECK(common.chosen(names) == std::vector<int>{index});
    }
    for (const char* wrong : {"0", "4", "ik", "-1", " 1"}) {
        common.variant.assign(wrong);
        CHECK_THROWS_AS(common.chosen(names), Error);
    }
    common.device = "cuda";
    CHECK_THROWS_AS(common.check(), Error);
}

TEST_CASE("options: a file for --json is looked at before anything is measured") {
    const TemporaryFolder folder;
    CommonOptions common;
    const auto refused = [&](const std::string& json, const char* part) {
        common.json = json;
        CHECK_THROWS_WITH_AS(common.check({folder / "model", ""}), doctest::Contains(part), Error);
    };
    refused(folder.path.string(), "it is a folder");
    refused(folder / "none/out", "there is no folder");
    write_file(folder / "model", "GGUF");
    refused(folder.path.string() + "/./model", "file to be read");
    common.json = folder / "out";
    common.check({folder / "model", ""});
    CHECK(folder.n_files() == 1);
}

TEST_CASE("options: an empty name is refused") {
    for (const char* name : {"--json", "--variant"}) {
        CommonOptions common;
        Options options("program", "What is asked?");
        common.add_to(options);
        std::string words[] = {"program", name, ""};
        char* argv[] = {words[0].data(), words[1].data(), words[2].data()};
        CHECK_THROWS_WITH_AS(options.parse(3, argv), doctest::Contains(name), Error);
    }
}

TEST_CASE("options: an error of any kind ends with status 2") {
    char name[] = "some/where/program";
    char* argv[] = {name};
    CHECK(run_program(1, argv, [](int, char**) { return 0; }) == 0);
    CHECK(run_program(1, argv, [](int, char**) { return 1; }) == 1);
    CHECK(run_program(1, argv, [](int, char**) -> int { fail("expected in this test, with a\nnewline"); }) ==
          2);
    CHECK(run_program(1, argv, [](int, char**) -> int { throw std::bad_alloc(); }) == 2);
    CHECK(run_program(1, argv,
                      [](int, char**) -> int { throw std::runtime_error("expected in this test"); }) == 2);
}
