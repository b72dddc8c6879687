// The six rungs behind one signature, and what each is measured on.
#pragma once

#include <functional>
#include <string>

#include "common/bench.hpp"
#include "common/check.hpp"
#include "common/memory.hpp"
#include "kernels/linear/linear.hpp"
#include "kernels/matmul/matmul.hpp"
#include "lessons/03_matmul/matmul.hpp"

// One product with its memory. `packed` is b as rungs 5 and 6 read it: rung 5 fills it in every call, rung 6 finds it
// filled, as a model's weights are after loading.
struct Product {
    Tensor a, b, c;
    BigBuffer memory;
    Matrix packed;

    Product(int n_rows, int n_columns, int n_inner, uint64_t seed)
        : a(n_rows, n_inner), b(n_inner, n_columns), c(n_rows, n_columns),
          memory(cpu::packed_columns_bytes(b)) {
        fill_random(a, seed);
        fill_random(b, seed + 1);
        packed = cpu::pack_columns({}, memory.data(), b);
    }
    double flops() const { return 2.0 * double(c.count()) * a.size(1); }
    double b_bytes() const { return 4.0 * double(b.count()); }
    std::string size() const {
        return std::to_string(a.size(0)) + " x " + std::to_string(b.size(1)) + " x " +
               std::to_string(a.size(1));
    }
};

struct Rung {
    const char* name;
    bool threaded;  // the others leave the work to one thread
    void (*multiply)(const Worker&, Product&);
};

inline const Rung ladder[] = {
    {"ijk", false, [](const Worker&, Product& p) { matmul_ijk(p.c, p.a, p.b); }},
    {"ikj", false, [](const Worker&, Product& p) { matmul_ikj(p.c, p.a, p.b); }},
    {"blocked", false, [](const Worker&, Product& p) { matmul_blocked(p.c, p.a, p.b); }},
    {"register tile", false, [](const Worker&, Product& p) { matmul_tiled(p.c, p.a, p.b); }},
    {"packed", true, [](const Worker& w, Product& p) { cpu::matmul(w, p.c, p.a, p.b, p.memory.data()); }},
    {"packed at load", true, [](const Worker& w, Product& p) { cpu::linear(w, p.c, p.a, p.packed); }},
};

// Seconds of one product on the whole team. The slow rungs run once, which is long enough to be measured.
inline double product_seconds(const Rung& rung, Product& product, Team& team) {
    const auto once = [&] { team.run([&](const Worker& worker) { rung.multiply(worker, product); }); };
    const double first = measure(once, 0, 1).median;
    if (first > 0.5) return first;
    const auto body = [&](const Worker& worker) {
        rung.multiply(worker, product);
        worker.sync();  // the next product may not begin while this one is read or written
    };
    return measure(team, body, 0.3, 7).median;
}

// The least time that n threads of this machine can take: its multiplications or reading b once.
inline double product_bound(const Product& product, int n_threads) {
    return std::max(product.flops() / machine_limits(n_threads).f32_flops,
                    product.b_bytes() / read_bandwidth(size_t(product.b_bytes()), n_threads));
}
