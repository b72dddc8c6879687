// The lessons' programs as a reader starts them: what they check holds, what they measured is printed and written.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "common/bench.hpp"
#include "tests/program.hpp"
#include "tests/skip.hpp"
#include "tests/tiny.hpp"

namespace {

using Arguments = std::vector<std::string>;

const std::string real_path = "weights/models/SmolLM2-135M-Instruct.Q4_1.gguf";
const char* const too_slow = "minutes under sanitizers; the other builds run it";

// One folder for all cases: the machine's limits are measured once, and those of the user stay as they are.
const TemporaryFolder& folder() {
    static const TemporaryFolder it;
    setenv("XDG_CACHE_HOME", it.path.c_str(), 1);
    return it;
}

bool has_notice(const std::string& text) { return text.find("\nNotice: ") != std::string::npos; }

// Runs a lesson, and gives back what it printed once that and its rows are seen to be in order.
std::string run_lesson(const std::string& lesson, Arguments arguments) {
    const std::string path = folder() / (lesson + ".json");
    arguments.insert(arguments.end(), {"--json", path});
    const Ran ran = run_program_at(program_path(lesson), arguments);
    CAPTURE(ran.out);
    CHECK(ran.err == "");
    REQUIRE(ran.status == 0);
    CHECK(ran.out.find("FAILED") == std::string::npos);

    const Json json = read_json(path);
    CHECK(json["lesson"].text() == lesson);
    CHECK(json["device"].text() == "cpu");
    REQUIRE(!json["rows"].items().empty());
    for (const Json& row : json["rows"].items()) {
        const std::string& variant = row["variant"].text();
        CAPTURE(variant);
        CHECK(row.members().size() == 9);
        CHECK(ran.out.find("\n" + variant + " ") != std::string::npos);  // a row of the printed table too
        CHECK(!row["size"].text().empty());
        CHECK(!row["unit"].text().empty());
        const bool was_run = row["cpu_1_thread"].value().index() != 0;
        CHECK((!was_run || row["cpu_1_thread"].number() > 0));
        for (const char* key : {"cpu_all_threads", "share_of_bound"}) {
            const bool is_null = row[key].value().index() == 0;
            CHECK((is_null || (was_run && row[key].number() > 0)));
        }
        for (const char* key : {"gpu_kernel", "gpu_with_copies", "gpu_over_cpu"}) {
            CHECK(row[key].value().index() == 0);  // null: no GPU ran
        }
    }
    return ran.out;
}

}  // namespace

TEST_CASE("program 01, the loops") {
    if (has_sanitizers) return note_skip(too_slow);
    run_lesson("01_attention", {"--variant", "1"});
}

TEST_CASE("program 02, the naive loops") {
    if (has_sanitizers) return note_skip(too_slow);
    run_lesson("02_softmax", {"--variant", "naive"});
    CHECK(!read_json(folder() / "02_softmax.json")["breaking_points"].items().empty());
}

TEST_CASE("program 03, a rung by its name") {
    if (has_sanitizers) return note_skip(too_slow);
    run_lesson("03_matmul", {"--variant", "ikj"});
    CHECK(run_program_at(program_path("03_matmul"), {"--variant", "list"}).out.starts_with("1 ijk\n2 ikj\n"));
}

TEST_CASE("program 04, the scan") {
    if (has_sanitizers) return note_skip(too_slow);
    run_lesson("04_tokenizer", {"--variant", "scan"});
}

TEST_CASE("program 04 as a tool has no variants") {
    const Ran ran = run_program_at(program_path("04_tokenizer"), {"--encode", "a", "--variant", "scan"});
    CHECK(ran.status == 2);
    CHECK(ran.err_lines() == 1);
    CHECK(ran.err.find("--variant") != std::string::npos);
}

TEST_CASE("program 05, a tiny model") { CHECK(has_notice(run_lesson("05_transformer", {"--tiny"}))); }

TEST_CASE("program 06, a tiny model") {
    CHECK(has_notice(run_lesson("06_generation", {"--tiny", "--variant", "greedy"})));
    const Json json = read_json(folder() / "06_generation.json");
    CHECK(json["steps"].items().size() == json["ids"].items().size());
    CHECK(json["choices"][0]["left: sure"].integer() == 1);
}

TEST_CASE("program 07, a tiny model") {
    CHECK(has_notice(run_lesson("07_kv_cache", {"--tiny", "--positions", "1,3", "--threads", "1"})));
}

TEST_CASE("programs 05 and 07 compare nothing with NaN") {
    GgufWriter writer;
    const GgufFile source = tiny_model();
    const std::vector<float> broken(64, NAN);
    for (const GgufEntry& entry : source.entries()) writer.copy(entry);
    for (const GgufTensor& tensor : source.tensors()) {
        if (tensor.name == "output_norm.weight")
            writer.add(tensor.name, View<const float>(broken));
        else
            writer.add(tensor);
    }
    writer.write(folder() / "broken");
    for (const char* lesson : {"05_transformer", "07_kv_cache"}) {
        Arguments arguments = {"--model", folder() / "broken"};
        if (lesson[1] == '5') arguments.insert(arguments.end(), {"--ids", "1,2,3"});
        const Ran ran = run_program_at(program_path(lesson), arguments);
        CHECK(ran.status == 2);
        CHECK(ran.err_lines() == 1);
        CHECK(ran.err.find("NaN") != std::string::npos);
    }
}

TEST_CASE("program 07, a model with few positions") {
    write_tiny_model(folder() / "short", {.context = 15});
    const Ran ran = run_program_at(program_path("07_kv_cache"), {"--model", folder() / "short"});
    CHECK(ran.status == 2);
    CHECK(ran.err_lines() == 1);
    CHECK(ran.err.find("reads 1 to 15") != std::string::npos);
}

TEST_CASE("program 07, the real model") {
    if (!std::filesystem::exists(real_path)) SKIP("no model file: make model");
    if (has_sanitizers) return note_skip(too_slow);
    run_lesson("07_kv_cache", {"--model", real_path, "--positions", "1", "--variant", "2"});
}
