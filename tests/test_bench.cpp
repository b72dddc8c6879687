// The instruments measure themselves: times, limits, and what is kept of them.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <thread>

#include "common/bench.hpp"
#include "common/error.hpp"
#include "common/files.hpp"
#include "common/memory.hpp"
#include "common/simd.hpp"
#include "tests/temporary_folder.hpp"

namespace {

// Another cache folder for the time of a test case.
class CacheFolder {
  public:
    explicit CacheFolder(const std::string& folder) {
        if (const char* old = std::getenv("XDG_CACHE_HOME")) old_ = old;
        setenv("XDG_CACHE_HOME", folder.c_str(), 1);
    }
    ~CacheFolder() { old_.empty() ? unsetenv("XDG_CACHE_HOME") : setenv("XDG_CACHE_HOME", old_.c_str(), 1); }

  private:
    std::string old_;
};

}  // namespace

TEST_CASE("bench: a body of known duration") {
    int n_calls = 0;
    const Timing time = measure(
        [&] {
            ++n_calls;
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        },
        0.01, 5);
    CHECK(time.n_samples >= 5);
    CHECK(n_calls >= time.n_samples);
    CHECK(time.min >= 0.002);
    CHECK(time.min <= time.median);
    CHECK(time.median <= time.max);
}

TEST_CASE("bench: a short body is repeated, so that the clock's grain does not count") {
    int64_t n_calls = 0;
    const Timing time = measure([&] { keep(++n_calls); }, 0.01, 5);
    CHECK(n_calls > 1000);
    CHECK(time.median < 1e-5);
}

TEST_CASE("bench: in a team every thread makes the same number of calls") {
    Team team(3);
    std::vector<int> n_calls(3, 0);
    const Timing time = measure(
        team,
        [&](const Worker& worker) {
            ++n_calls[size_t(worker.thread)];
            worker.sync();
        },
        0.01, 5);
    CHECK(n_calls[0] > time.n_samples);
    CHECK(n_calls[1] == n_calls[0]);
    CHECK(n_calls[2] == n_calls[0]);
}

// A copy reads and writes each byte once. No figure may pass the bandwidth measured over as many bytes by more
// than a tenth: what this harness reports as a limit would be none.
// Times of one moment: on a machine that others use too, this may fail without a fault, so it is one of the long ones.
TEST_CASE("bench: a copy stays within the measured bandwidth" * doctest::test_suite("long")) {
    const TemporaryFolder folder;
    const CacheFolder elsewhere(folder.path);  // no figure of another hour
    constexpr size_t n = size_t(64) << 20;     // two buffers of it make the working set
    const BigBuffer from(n), to(n);
    const auto copy = [&] {
        const auto* source = reinterpret_cast<const float*>(from.data());
        auto* target = reinterpret_cast<float*>(to.data());
        for (size_t i = 0; i < n / sizeof(float); i += 16) store(target + i, f32x16::load(source + i));
    };
    std::fill(from.data(), from.data() + n, std::byte(1));  // fresh pages would all be one page of zeros
    const double bytes_per_second = 2 * double(n) / measure(copy, 0.1, 4).min;
    double share = share_of_read(bytes_per_second, 2 * n, 1);
    // On a busy machine the copy may have met a quieter moment than the reading: the limit gets more chances.
    for (int again = 0; share > 1 && again < 5 && !has_sanitizers; ++again)
        share = share_of_read(bytes_per_second, 2 * n, 1);
    MESSAGE("copy of ", bytes_text(n), ": ", number(bytes_per_second / 1e9), " GB/s, ", percent(share),
            " of read");
    CHECK(share > 0);
    if (!has_sanitizers) CHECK(share < 1.1);  // their checks slow reading and copying by different factors
}

TEST_CASE("bench: limits are kept for a day, by processor, build and threads") {
    const TemporaryFolder folder;
    const CacheFolder elsewhere(folder.path);
    const size_t size = size_t(300) << 10;
    const double first = read_bandwidth(size, 1);
    CHECK(first > 1e6);
    const std::string path = folder / "from-loops-to-graphs/limits.json";
    const Json kept = read_json(path);
    REQUIRE(kept.members().size() == 1);
    CHECK(kept.members()[0].first.find("1 threads") != std::string::npos);
    CHECK(kept.members()[0].first.find(simd::Machine::name) != std::string::npos);
    CHECK(kept.members()[0].second["figure"].number() == first);
    CHECK(read_bandwidth(size, 1) == first);
    CHECK(read_bandwidth(size, 1, true) >= first);  // measured again, the better one stays
    read_bandwidth(size, 2);
    CHECK(read_json(path).members().size() == 2);
    // Sizes of one class share a figure.
    read_bandwidth(size + 5000, 2);
    CHECK(read_json(path).members().size() == 2);
}

TEST_CASE("bench: a cache that cannot be used is no error") {
    const TemporaryFolder folder;
    size_t size = 20 << 10;  // a size class of its own each time: what was measured in this process is known
    {
        const CacheFolder elsewhere("/dev/null");
        CHECK(read_bandwidth(size, 1) > 0);
    }
    const std::string path = folder / "from-loops-to-graphs/limits.json";
    std::filesystem::create_directories(folder / "from-loops-to-graphs");
    const CacheFolder elsewhere(folder.path);
    const std::string now = std::to_string(std::time(nullptr)),
                      too_fast = "{\"a\": {\"figure\": 1e16, \"time\": " + now + "}}";
    for (const char* content : {"", "not JSON", "[]", "{\"a\": 1}", "{\"a\": {\"figure\": -1, \"time\": 0}}",
                                "{\"a\": {\"figure\": \"x\", \"time\": 1e99}}", too_fast.c_str()}) {
        write_file(path, content);
        size *= 2;
        CHECK(read_bandwidth(size, 1) > 0);
        CHECK(read_json(path).members().size() == 1);  // replaced by what was measured
    }
    std::filesystem::remove(path);
    REQUIRE(mkfifo(path.c_str(), 0600) == 0);  // nobody is waited for
    CHECK(read_bandwidth(2 * size, 1) > 0);
    CHECK(std::filesystem::is_fifo(path));
}

TEST_CASE("bench: figures of another day are measured again") {
    const TemporaryFolder folder;
    const CacheFolder elsewhere(folder.path);
    const std::string path = folder / "from-loops-to-graphs/limits.json";
    read_bandwidth(3 << 20, 1);
    Json kept = read_json(path);
    const std::string key = kept.members()[0].first;
    Json old;
    old.set("figure", 1e14).set("time", kept[key]["time"].integer() - 25 * 60 * 60);
    kept.set(key, old);
    write_json(path, kept);
    // Another class: this process knows the first. Writing it drops the old figure.
    read_bandwidth(6 << 20, 1);
    CHECK(!read_json(path).has(key));
}

TEST_CASE("bench: numbers as a table shows them") {
    CHECK(number(0) == "0");
    CHECK(number(0.01234) == "0.0123");
    CHECK(number(4.5649) == "4.56");
    CHECK(number(-4.5649) == "-4.56");
    CHECK(number(99.96) == "100");
    CHECK(number(999.6) == "1,000");
    CHECK(number(1234) == "1,230");
    CHECK(number(-1234567) == "-1,230,000");
    CHECK(number(1234567, 7) == "1,234,567");
    CHECK(number(3.2e-7) == "3.20e-07");
    CHECK(number(NAN) == "nan");
    CHECK(number(INFINITY) == "inf");
    CHECK(percent(0.853) == "85 %");
    CHECK(percent(0.0341) == "3.4 %");
    CHECK(percent(0.0999) == "10 %");
    CHECK(percent(1.12) == "112 %");
    CHECK(percent(NAN) == "-");
    CHECK(bytes_text(0) == "0 B");
    CHECK(bytes_text(999) == "999 B");
    CHECK(bytes_text(23040) == "23.0 KB");
    CHECK(bytes_text(999600) == "1.00 MB");
    CHECK(bytes_text(538e6) == "538 MB");
}

TEST_CASE("bench: a table as data") {
    Table table({"step", "tokens", "ms"}, "a title");
    table.add({"first", 5, 1234.5});
    table.add({"second", 6, NAN});
    CHECK_THROWS_AS(table.add({"too few"}), Error);
    CHECK(Cell(1234.5).text == "1,230");
    CHECK(Cell(0.99961, 4).text == "0.9996");
    const Json json = parse_json(to_text(table.json()), "test");
    REQUIRE(json.items().size() == 2);
    CHECK(json[0]["step"].text() == "first");
    CHECK(json[0]["tokens"].integer() == 5);
    CHECK(json[0]["ms"].number() == 1234.5);
    CHECK(json[1]["ms"].value().index() == 0);  // null
}

TEST_CASE("bench: the rows that every lesson ends with, as data: numbers, or null") {
    BenchRow row{numbered(0, "ijk"), "1 x 2 x 3", "GFLOP/s", 1.5};
    row.share_of_bound = 0.25;
    const Json json = parse_json(to_text(rows_json("03_matmul", "cpu", {row})), "test");
    CHECK(json["lesson"].text() == "03_matmul");
    CHECK(json["device"].text() == "cpu");
    REQUIRE(json["rows"].items().size() == 1);
    const Json& data = json["rows"][0];
    CHECK(data["variant"].text() == "1 ijk");
    CHECK(data["size"].text() == "1 x 2 x 3");
    CHECK(data["unit"].text() == "GFLOP/s");
    CHECK(data["cpu_1_thread"].number() == 1.5);
    CHECK(data["share_of_bound"].number() == 0.25);
    for (const char* key : {"cpu_all_threads", "gpu_kernel", "gpu_with_copies", "gpu_over_cpu"}) {
        CHECK(data[key].value().index() == 0);  // null
    }
}
