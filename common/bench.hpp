// Measuring: a time with its spread, and the limits of this machine that it stands beside.
#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "common/json.hpp"
#include "common/threads.hpp"

struct Timing {
    double median = 0, min = 0, max = 0;  // seconds a call
    int n_samples = 0;
};

// Warms up, then calls `body` until at least min_samples samples and min_seconds are measured; a sample
// repeats a short body so that it lasts at least 200 microseconds. Median of the samples.
Timing measure(const std::function<void()>& body, double min_seconds = 0.2, int min_samples = 5);
// The same inside a team: every thread of it runs body(worker), which brings its own barriers.
Timing measure(Team& team, const std::function<void(const Worker&)>& body, double min_seconds = 0.2,
               int min_samples = 5);

// Makes the compiler compute a result that nobody reads.
template <class T>
void keep(const T& value) {
    asm volatile("" : : "r"(&value) : "memory");
}

// Was this built with checks at every access? Then no time says anything about the machine.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool has_sanitizers = true;
#elif defined(__has_feature)
constexpr bool has_sanitizers = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool has_sanitizers = false;
#endif

// What this machine can do with n threads, measured, kept for a day in the user's cache folder.
struct Limits {
    std::string cpu;  // the processor's name
    int n_threads = 1;
    double f32_flops = 0;   // FLOP/s of independent f32 fma chains
    double read_bytes = 0;  // bytes/s read over 512 MiB (the better of 4 KiB and huge pages)
};
Limits machine_limits(int n_threads, bool fresh = false);
std::string processor_name();
double f32_peak(int n_threads, bool fresh = false);  // FLOP/s
// Bytes/s read over a working set of this size, which caches may hold. Measured once per size class.
double read_bandwidth(size_t working_set, int n_threads, bool fresh = false);
// The same over memory that is there already, such as a model's weights: nothing is reserved, nothing is kept.
double read_bandwidth(const std::byte* data, size_t n_bytes, Team& team);

// A result as a share of its limit. One above the limit measures the limit once more, which may have been
// disturbed; a share that is still above 1 is then what it is: a cache that held more than was thought.
double share_of_peak(double flops, int n_threads);
double share_of_read(double bytes_per_second, size_t working_set, int n_threads);

// A cell as a table shows it, and the same as data.
struct Cell {
    std::string text;
    Json data;
    Cell(std::string words) : text(words), data(std::move(words)) {}
    Cell(const char* words) : Cell(std::string(words)) {}
    Cell(int n) : text(std::to_string(n)), data(n) {}
    Cell(double x, int digits = 3);
};

class Table {
  public:
    explicit Table(std::vector<std::string> columns, std::string title = "");
    void add(std::vector<Cell> cells);  // as many as there are columns
    void print() const;                 // aligned; text left, numbers right
    Json json() const;                  // [{"sampler": "greedy", "bits": 1.5}, ...]

  private:
    std::vector<std::string> columns_;
    std::string title_;
    std::vector<std::vector<Cell>> rows_;
};

// A row of the table that every lesson ends with. NaN: not measured, printed "-" and null as data.
struct BenchRow {
    std::string variant;  // "1 ijk"
    std::string size;     // "1024 x 1024 x 1024"
    std::string unit;     // of the next four: "GFLOP/s"
    double cpu_1_thread = NAN, cpu_all_threads = NAN, gpu_kernel = NAN, gpu_with_copies = NAN;
    double share_of_bound = NAN;  // with the most threads that ran
    double gpu_over_cpu = NAN;    // how many times as fast
};
std::string numbered(int variant, const std::string& name);  // (0, "ijk") -> "1 ijk"
void print_rows(const std::vector<BenchRow>& rows);
// {"lesson": "03_matmul", "device": "cpu", "rows": [{"variant": "1 ijk", ...}, ...]}
Json rows_json(const char* lesson, const std::string& device, const std::vector<BenchRow>& rows);

std::string number(double x, int digits = 3);  // three significant digits: "0.0123", "4.56", "1,230"
std::string percent(double share);             // 0.853 -> "85 %"
std::string bytes_text(double n_bytes);        // "23.0 KB", "538 MB": powers of ten
