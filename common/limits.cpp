// The roofline of this machine: the most FLOP/s and the most bytes/s that plain loops get out of it.
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

#include "common/bench.hpp"
#include "common/error.hpp"
#include "common/files.hpp"
#include "common/memory.hpp"
#include "common/simd.hpp"

namespace {

// ---- What is measured

// Independent chains x = x * factor + term. Each fma waits some cycles for the one before it in its chain, so a
// core is busy only with enough chains side by side; too many no longer fit into its registers.
template <int n_chains>
float fma_chains(int n_steps, float factor) {
    const f32x16 multiply = f32x16::broadcast(factor), add = f32x16::broadcast(1 - factor);
    f32x16 chain[n_chains];
    // No two lanes are equal: the compiler would compute equal registers once.
    for (int i = 0; i < n_chains; ++i) { chain[i] = to_float(i32x16::iota() + i32x16::broadcast(16 * i)); }
    for (int step = 0; step < n_steps; ++step) {
        for (f32x16& x : chain) x = fma(x, multiply, add);
    }
    f32x16 sum{};
    for (const f32x16& x : chain) sum += x;
    return reduce_sum(sum);
}

volatile float opaque = 0.999f;  // a value that the compiler cannot compute with

template <int n_chains>
double flops_with_chains(Team& team) {
    constexpr int n_steps = 200'000 / n_chains;
    const Timing time = measure(
        team, [](const Worker&) { keep(fma_chains<n_chains>(n_steps, opaque)); }, 0.02, 3);
    return 2.0 * 16 * n_chains * n_steps * team.n_threads() / time.min;
}

double measure_flops(int n_threads) {
    Team team(n_threads);
    return std::max({flops_with_chains<2>(team), flops_with_chains<3>(team), flops_with_chains<4>(team),
                     flops_with_chains<6>(team), flops_with_chains<8>(team), flops_with_chains<12>(team)});
}

// Reads all whole blocks of 256 bytes, four loads at a time.
int32_t read_all(const std::byte* data, size_t n_bytes) {
    i32x16 bits[4];  // that all have set: any operation would do that cannot overflow
    for (i32x16& b : bits) b = i32x16::broadcast(-1);
    for (size_t at = 0; at + 256 <= n_bytes; at += 256) {
        const auto* block = reinterpret_cast<const int32_t*>(data + at);
        for (int i = 0; i < 4; ++i) bits[i] = bits[i] & i32x16::load(block + 16 * i);
    }
    int32_t lanes[16];
    store(lanes, bits[0] & bits[1] & bits[2] & bits[3]);
    return lanes[0];
}

// This thread's part of the memory: whole cache lines, neighbouring ones.
std::pair<size_t, size_t> part(const Worker& worker, size_t n_bytes) {
    const size_t lines = n_bytes / 64, n = size_t(worker.n_threads), thread = size_t(worker.thread);
    return {lines * thread / n * 64, lines * (thread + 1) / n * 64};
}

// Fresh pages all show one page of zeros until they are written.
void touch(std::byte* data, size_t n_bytes, Team& team) {
    team.run([&](const Worker& worker) {
        const auto [begin, end] = part(worker, n_bytes);
        std::fill(data + begin, data + end, std::byte(1));
    });
}

double measure_read(size_t n_bytes, int n_threads) {
    Team team(n_threads);
    double best = 0;
    {
        const BigBuffer huge(n_bytes);
        touch(huge.data(), n_bytes, team);
        best = read_bandwidth(huge.data(), n_bytes, team);
    }
    if (n_bytes >= size_t(64) << 20) {  // in smaller ones the pages make little difference
        const auto small = std::make_unique_for_overwrite<std::byte[]>(n_bytes);
        touch(small.get(), n_bytes, team);
        best = std::max(best, read_bandwidth(small.get(), n_bytes, team));
    }
    return best;
}

// ---- What is kept

std::string find_processor_name() {
    std::ifstream info("/proc/cpuinfo");
    std::string line, name;
    while (name.empty() && std::getline(info, line)) {
        const bool is_name = line.starts_with("model name") || line.starts_with("CPU part");
        if (is_name && line.find(": ") != line.npos) name = line.substr(line.find(": ") + 2);
    }
    return name.empty() ? "unknown processor" : name;
}

// Programs of different instruction sets reach different figures, and those with sanitizers low ones.
std::string build_kind() {
    return std::string(simd::Machine::name) + (has_sanitizers ? " with sanitizers" : "");
}

std::filesystem::path cache_file() {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    const char* home = std::getenv("HOME");
    if (cache && *cache) return std::filesystem::path(cache) / "from-loops-to-graphs" / "limits.json";
    if (home && *home) return std::filesystem::path(home) / ".cache" / "from-loops-to-graphs" / "limits.json";
    return {};
}

constexpr int64_t one_day = 24 * 60 * 60;

using Kept = std::map<std::string, std::pair<double, int64_t>>;  // what: figure, time of measuring

// No pipe or device, which could hold a program up.
bool is_missing_or_file(const std::filesystem::path& path) {
    return !std::filesystem::exists(path) || std::filesystem::is_regular_file(path);
}

// A file that is missing, of another day or of another shape holds nothing; that is no error.
Kept read_kept() {
    Kept kept;
    try {
        const int64_t now = std::time(nullptr);
        const std::filesystem::path path = cache_file();
        if (!is_missing_or_file(path)) return kept;
        const Json file = parse_json(read_file(path, size_t(1) << 20), path.c_str());
        for (const auto& [what, entry] : file.members()) {
            const double figure = entry["figure"].number();
            const int64_t time = entry["time"].integer();
            const bool recent = time <= now && now - time < one_day;
            if (recent && figure >= 1e6 && figure <= 1e15) kept[what] = {figure, time};  // else no machine's
        }
    } catch (const std::exception&) {}
    return kept;
}

void write_kept(const Kept& kept) {
    try {
        const std::filesystem::path path = cache_file();
        std::filesystem::create_directories(path.parent_path());
        Json json{Json::Object{}};
        for (const auto& [what, entry] : kept) {
            Json one;
            one.set("figure", entry.first).set("time", entry.second);
            json.set(what, one);
        }
        if (is_missing_or_file(path)) write_json(path, json);
    } catch (const std::exception&) {  // a folder that cannot be written to: measured again next time
    }
}

// The figure of this day, or a new one. `fresh` measures in any case; the better figure is the limit.
double limit(const std::string& what, int n_threads, bool fresh, const std::function<double()>& measured) {
    const std::string key = format_text("%s, %s, %d threads, %s", processor_name().c_str(),
                                        build_kind().c_str(), n_threads, what.c_str());
    static Kept known;
    if (!known.contains(key)) {
        const Kept kept = read_kept();
        if (kept.contains(key)) known[key] = kept.at(key);
    }
    if (fresh || !known.contains(key)) {
        const double figure = measured(), old = known.contains(key) ? known[key].first : 0;
        known[key] = {std::max(figure, old), int64_t(std::time(nullptr))};
        Kept kept = read_kept();
        kept[key] = known[key];
        write_kept(kept);
    }
    return known[key].first;
}

constexpr size_t memory_size = size_t(512) << 20;  // beyond every cache

}  // namespace

double read_bandwidth(const std::byte* data, size_t n_bytes, Team& team) {
    const Timing time = measure(
        team,
        [&](const Worker& worker) {
            const auto [begin, end] = part(worker, n_bytes);
            keep(read_all(data + begin, end - begin));
        },
        0.4, 6);  // the best of half a second: others use the memory too
    return double(n_bytes) / time.min;
}

double read_bandwidth(size_t working_set, int n_threads, bool fresh) {
    // Four size classes an octave; nothing is larger than memory_size.
    const double least = 4096.0 * n_threads;  // whole blocks for every thread
    const double step = std::round(4 * std::log2(std::max(double(working_set), least))) / 4;
    const size_t size = std::min(memory_size, size_t(std::exp2(step)) / 4096 * 4096);
    return limit(format_text("read %zu KiB", size >> 10), n_threads, fresh,
                 [&] { return measure_read(size, n_threads); });
}

std::string processor_name() {
    static const std::string name = find_processor_name();
    return name;
}

double f32_peak(int n_threads, bool fresh) {
    return limit("f32 fma", n_threads, fresh, [&] { return measure_flops(n_threads); });
}

Limits machine_limits(int n_threads, bool fresh) {
    return {processor_name(), n_threads, f32_peak(n_threads, fresh),
            read_bandwidth(memory_size, n_threads, fresh)};
}

double share_of_peak(double flops, int n_threads) {
    const double share = flops / f32_peak(n_threads);
    return share > 1 ? flops / f32_peak(n_threads, true) : share;
}

double share_of_read(double bytes_per_second, size_t working_set, int n_threads) {
    const double share = bytes_per_second / read_bandwidth(working_set, n_threads);
    return share > 1 ? bytes_per_second / read_bandwidth(working_set, n_threads, true) : share;
}
