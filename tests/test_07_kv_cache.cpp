// Lesson 07: the engine's forward against lesson 05's, and the same bits however a sequence is computed.
#include <doctest/doctest.h>

#include <cstdlib>
#include <new>

#include "common/check.hpp"
#include "common/philox.hpp"
#include "lessons/04_tokenizer/tokenizer.hpp"
#include "lessons/05_transformer/transformer.hpp"
#include "lessons/07_kv_cache/reference_ops.hpp"
#include "lessons/07_kv_cache/runner.hpp"
#include "tests/tiny.hpp"

namespace {

std::atomic<long> n_allocations{0};

// A sequence of n ids of a vocabulary, a function of its number.
std::vector<int> some_ids(int n, int vocab_size, int number = 0) {
    std::vector<int> ids;
    for (int i = 0; i < n; ++i) ids.push_back((i * i * 31 + i * 7 + number * 13 + 5) % vocab_size);
    return ids;
}

void require_same_bits(View<const float> a, View<const float> b) {
    REQUIRE(a.shape() == b.shape());
    for (size_t i = 0; i < a.count(); ++i) {
        if (std::bit_cast<uint32_t>(a.data()[i]) != std::bit_cast<uint32_t>(b.data()[i])) {
            FAIL("element ", i, " of ", a.shape().text(), ": ", a.data()[i], " and ", b.data()[i]);
        }
    }
}

// The logits of every token, computed with Ops in steps of `step` tokens of one sequence.
template <class Ops>
Tensor in_steps(Ops& ops, const Weights& weights, const std::vector<int>& ids, int step, Type cache_type) {
    const Config& c = weights.config;
    const int n = int(ids.size());
    ContiguousCache cache(cache_type, c.n_layers, 1, c.n_kv_heads, n, c.head_dim);
    const Tensor rope = rope_table(n, c.n_rotated, c.rope_base, weights.rope_freqs);
    const Activations a(c, step, step);
    Tensor all(n, c.vocab_size);
    for (int first = 0; first < n; first += step) {
        const int count = std::min(step, n - first);
        std::vector<int> positions, slots, begin = {0, count}, rows;
        for (int i = 0; i < count; ++i) {
            positions.push_back(first + i);
            slots.push_back(cache.slot(0, first + i));
            rows.push_back(i);
        }
        cache.append(0, count);
        const Batch batch = {View<const int>(ids.data() + first, count), positions, slots, begin, rows};
        forward(ops, weights, rope, batch, cache, a);
        std::copy_n(a.logits.data(), size_t(count) * size_t(c.vocab_size), all.row(first).data());
    }
    return all;
}

Tensor run_in_chunks(const Weights& weights, const std::vector<int>& ids, int threads, int chunk,
                     Type cache_type) {
    Runner runner(weights, {.threads = threads, .context = 80, .chunk = chunk, .cache_type = cache_type});
    const View<const float> logits = runner.run(ids);
    Tensor copy(logits.shape());
    std::copy(logits.begin(), logits.end(), copy.begin());
    return copy;
}

}  // namespace

// Not inlined: g++ 12 would take a free() beside a new for a mistake.
[[gnu::noinline]] void* operator new(size_t n) {
    ++n_allocations;
    if (void* p = std::malloc(n ? n : 1)) return p;
    throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t n, std::align_val_t alignment) {
    ++n_allocations;
    if (void* p = std::aligned_alloc(size_t(alignment),
                                     (n + size_t(alignment) - 1) / size_t(alignment) * size_t(alignment)))
        return p;
    throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t n, const std::nothrow_t&) noexcept {  // std::stable_sort's
    ++n_allocations;
    return std::malloc(n ? n : 1);
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }

TEST_CASE("07 forward<ReferenceOps> equals lesson 05, bit for bit, in one step and token by token") {
    const GgufFile file = tiny_model(awkward);
    const Weights weights = load_weights(file);
    const std::vector<int> ids = some_ids(19, weights.config.vocab_size);
    const Tensor expected = forward(weights, ids);
    ReferenceOps ops;
    for (const int step : {19, 1, 7}) {
        CAPTURE(step);
        require_same_bits(in_steps(ops, weights, ids, step, Type::F32), expected);
    }
}

TEST_CASE("07 the fast kernels agree with the reference, for every cache type") {
    const GgufFile file = tiny_model(awkward);
    const Weights weights = load_weights(file);
    const std::vector<int> ids = some_ids(37, weights.config.vocab_size);
    for (const Type type : {Type::F32, Type::F16, Type::BF16}) {
        CAPTURE(type_name(type));
        ReferenceOps ops;
        const Tensor expected = in_steps(ops, weights, ids, 37, type);
        const Tensor got = run_in_chunks(weights, ids, 2, 64, type);
        // f32 differs by rounding along sums of up to a few hundred terms. In 16 bits a key that rounds the other
        // way is off by 2^-11 or 2^-8 of itself; few do.
        const double tolerance = type == Type::F32 ? 2e-6 : type == Type::F16 ? 2e-4 : 2e-3;
        const Comparison c = compare(got, expected.row(36), tolerance);
        CHECK_MESSAGE(c.ok, c.text());
    }
}

TEST_CASE("07 rope that turns a part of each head: 12 of 20 dimensions") {
    const GgufFile whole = tiny_model(awkward), part = changed_tiny_model([](GgufWriter&writer) {
                                                    writer.set("llama.rope.dimension_count", uint32_t(12));
                                                });
    const Weights weights = load_weights(part);
    REQUIRE(weights.config.n_rotated == 12);
    REQUIRE(weights.config.head_dim == 20);
    const std::vector<int> ids = some_ids(19, weights.config.vocab_size);
    const Tensor expected = forward(weights, ids);
    CHECK(!compare(forward(load_weights(whole), ids), expected, 1e-3).ok);  // the setting is heard
    ReferenceOps ops;
    require_same_bits(in_steps(ops, weights, ids, 7, Type::F32), expected);
    CHECK(compare(run_in_chunks(weights, ids, 2, 7, Type::F32), expected.row(18), 2e-6).ok);
}

TEST_CASE(
    "07 one prompt, the same bits: chunks of 1, 7, 64 and whole; 1, 2 and 4 threads; every cache type") {
    const GgufFile file = tiny_model(awkward);
    const Weights weights = load_weights(file);
    const std::vector<int> ids = some_ids(71, weights.config.vocab_size);
    for (const Type type : {Type::F32, Type::F16, Type::BF16}) {
        const Tensor whole = run_in_chunks(weights, ids, 1, 80, type);
        for (const int threads : {1, 2, 4}) {
            for (const int chunk : {1, 7, 64, 80}) {
                CAPTURE(type_name(type));
                CAPTURE(threads);
                CAPTURE(chunk);
                require_same_bits(run_in_chunks(weights, ids, threads, chunk, type), whole);
            }
        }
    }
}

TEST_CASE("07 every decode step equals a run of the whole sequence, bit for bit") {
    const GgufFile file = tiny_model(awkward);
    const Weights weights = load_weights(file);
    const std::vector<int> ids = some_ids(40, weights.config.vocab_size);
    Runner cached(weights, {.threads = 2, .context = 64}), uncached(weights, {.threads = 2, .context = 64});
    cached.run(View<const int>(ids.data(), 6));  // a prompt of six tokens: the next position is 6, not 12
    for (int n = 7; n <= 40; ++n) {
        CAPTURE(n);
        const View<const float> one = cached.run(View<const int>(&ids[size_t(n - 1)], 1));
        uncached.truncate(0);
        require_same_bits(one, uncached.run(View<const int>(ids.data(), n)));
    }
}

TEST_CASE("07 two sequences of unlike length in one batch: each gets what it gets alone") {
    const GgufFile file = tiny_model(awkward);
    const Weights weights = load_weights(file);
    const Config& c = weights.config;
    const std::vector<int> a_ids = some_ids(3, c.vocab_size, 1), b_ids = some_ids(7, c.vocab_size, 2);
    std::vector<int> ids = a_ids, positions = {0, 1, 2}, slots, begin = {0, 3, 10}, rows = {2, 9};
    ids.insert(ids.end(), b_ids.begin(), b_ids.end());
    for (int i = 0; i < 7; ++i) positions.push_back(i);

    Team team(2);
    const PackedWeights packed = pack_weights(team, weights, false);
    ContiguousCache cache(Type::F32, c.n_layers, 2, c.n_kv_heads, 16, c.head_dim);
    cache.append(0, 3);
    cache.append(1, 7);
    for (int i = 0; i < 10; ++i) slots.push_back(cache.slot(i < 3 ? 0 : 1, positions[size_t(i)]));
    const Tensor rope = rope_table(16, c.n_rotated, c.rope_base, weights.rope_freqs);
    const Activations a(c, 10, 2);
    CpuScratch scratch(2, 10, c.d_model, c.d_ff, c.head_dim);
    const Batch batch = {ids, positions, slots, begin, rows};
    team.run([&](const Worker& worker) {
        CpuOps ops(worker, scratch);
        forward(ops, packed.weights, rope, batch, cache, a);
    });
    require_same_bits(a.logits.row(0), run_in_chunks(weights, a_ids, 1, 80, Type::F32));
    require_same_bits(a.logits.row(1), run_in_chunks(weights, b_ids, 1, 80, Type::F32));
}

TEST_CASE("07 a token with slot -1 writes nothing into the cache") {
    const GgufFile file = tiny_model(awkward);
    const Config c = load_weights(file).config;
    ContiguousCache cache(Type::F32, 1, 1, c.n_kv_heads, 4, c.head_dim);
    cache.append(0, 2);
    const KeyValueView kv = cache.layer(0);
    const size_t n = kv.block_stride;
    const View<float> keys(reinterpret_cast<float*>(kv.keys), int(n));
    fill_random(keys, 3);
    const std::vector<float> before(keys.begin(), keys.end());
    Tensor q(2, c.n_heads, c.head_dim), k(2, c.n_kv_heads, c.head_dim), v(2, c.n_kv_heads, c.head_dim);
    fill_random(k, 4);
    const std::vector<int> ids = {1, 2}, positions = {0, 1}, slots = {-1, 1}, begin = {0, 2};
    const Batch batch = {ids, positions, slots, begin, {}};
    const Tensor rope = rope_table(4, c.n_rotated, c.rope_base);
    const auto check = [&] {
        for (int head = 0; head < c.n_kv_heads; ++head) {
            for (int dim = 0; dim < c.head_dim; ++dim) {
                REQUIRE(keys(int(kv.offset(0, head, 0)) + dim) ==
                        before[kv.offset(0, head, 0) + size_t(dim)]);
                REQUIRE(keys(int(kv.offset(0, head, 1)) + dim) !=
                        before[kv.offset(0, head, 1) + size_t(dim)]);
            }
        }
    };
    ReferenceOps().rope_store(q, k, v, rope, batch, kv);
    check();
    std::copy(before.begin(), before.end(), keys.begin());
    CpuScratch scratch(1, 2, c.d_model, c.d_ff, c.head_dim);
    CpuOps(Worker{}, scratch).rope_store(q, k, v, rope, batch, kv);
    check();
}

TEST_CASE("07 rows with slot -1 between others: CpuOps and ReferenceOps leave the same rows alone") {
    const GgufFile file = tiny_model(awkward);
    const Config c = load_weights(file).config;
    ContiguousCache cache(Type::F32, 1, 2, c.n_kv_heads, 8, c.head_dim);
    cache.append(0, 3);
    cache.append(1, 2);
    const std::vector<int> ids(7, 1), positions = {-1, 0, 1, 2, 0, -1, 1}, begin = {0, 4, 7};
    const std::vector<int> slots = {
        -1, cache.slot(0, 0), cache.slot(0, 1), cache.slot(0, 2), cache.slot(1, 0), -1, cache.slot(1, 1)};
    const Batch batch = {ids, positions, slots, begin, {}};
    const Tensor rope = rope_table(8, c.n_rotated, c.rope_base);
    Tensor inputs(7, c.n_heads, c.head_dim), k(7, c.n_kv_heads, c.head_dim), v(7, c.n_kv_heads, c.head_dim);
    fill_random(inputs, 1);
    fill_random(v, 3);
    const auto run = [&](auto&& ops, View<float> out) {
        Tensor q = inputs;
        fill_random(k, 2);
        poison(out);
        ops.rope_store(q, k, v, rope, batch, cache.layer(0));
        ops.attention(out, q, batch, cache.layer(0));
    };
    Tensor expected(inputs.shape()), got(inputs.shape());
    run(ReferenceOps(), expected);
    CpuScratch scratch(1, 7, c.d_model, c.d_ff, c.head_dim);
    run(CpuOps(Worker{}, scratch), got);
    for (int token = 0; token < 7; ++token) {
        CAPTURE(token);
        const bool left_alone = slots[size_t(token)] < 0;
        CHECK(is_poison(expected(token, 0, 0)) == left_alone);
        CHECK(is_poison(got(token, 0, 0)) == left_alone);
        if (!left_alone) CHECK(compare(got.row(token), expected.row(token), 1e-6).ok);
    }
}

TEST_CASE("07 a damaged model file is refused or runs: 2,000 mutations of its settings, through to a step") {
    const std::vector<std::byte> whole = [] {
        GgufWriter writer;
        const GgufFile source = tiny_model(awkward);
        copy_file(writer, source);
        return writer.bytes();
    }();
    const GgufFile intact("intact", whole);
    const size_t settings =
        whole.size() - size_t(intact.tensors().back().bytes.data() + intact.tensors().back().bytes.size() -
                              intact.tensors().front().bytes.data());
    int n_ran = 0, n_refused = 0;
    for (uint32_t i = 0; i < 2000; ++i) {
        std::vector<std::byte> bytes = whole;
        for (uint32_t change = 0; change <= i % 3; ++change) {
            const PhiloxBlock random = philox(7, {i, change, 0, 0});
            bytes[random[0] % settings] = std::byte(random[1]);
        }
        CAPTURE(i);
        try {
            const GgufFile file("mutated", bytes);
            const Weights weights = load_weights(file);
            const Tokenizer tokenizer = load_tokenizer(file);
            Runner runner(weights, {.threads = 1, .context = std::min(4, weights.config.context)});
            runner.run(tokenizer.encode("a"));
            ++n_ran;
        } catch (const Error&) { ++n_refused; }
    }
    CHECK(n_ran > 0);
    CHECK(n_refused > 0);
}

TEST_CASE("07 a full context is an error that changes nothing, and so is a wrong id") {
    const GgufFile file = tiny_model(awkward);
    const Weights weights = load_weights(file);
    Runner runner(weights, {.threads = 1, .context = 5});
    runner.run(std::vector<int>{1, 2, 3, 4});
    CHECK_THROWS_AS(runner.run(std::vector<int>{5, 6}), Error);
    CHECK(runner.length() == 4);
    CHECK_THROWS_AS(runner.run(std::vector<int>{weights.config.vocab_size}), Error);
    CHECK_THROWS_AS(runner.run(std::vector<int>{-1}), Error);
    CHECK_THROWS_AS(runner.run(std::vector<int>{}), Error);
    CHECK(runner.length() == 4);
    runner.run(std::vector<int>{5});
    CHECK(runner.room() == 0);
    CHECK_THROWS_AS(runner.run(std::vector<int>{1}), Error);
}

TEST_CASE("07 a step allocates nothing") {
    const GgufFile file = tiny_model(awkward);
    const Weights weights = load_weights(file);
    Runner runner(weights, {.threads = 2, .context = 64, .chunk = 16});
    const std::vector<int> ids = some_ids(40, weights.config.vocab_size);
    runner.run(View<const int>(ids.data(), 3));
    const long before = n_allocations;
    runner.run(View<const int>(ids.data() + 3, 30));
    for (int i = 33; i < 40; ++i) runner.run(View<const int>(&ids[size_t(i)], 1));
    CHECK(n_allocations - before == 0);
}

TEST_CASE("07 bytes a token: 23,040 for SmolLM2-135M in 16 bits") {
    const ContiguousCache cache(Type::F16, 30, 1, 3, 8, 64);
    CHECK(cache.bytes_per_token() == 23040);
    CHECK(ContiguousCache(Type::F32, 30, 1, 3, 8, 64).bytes_per_token() == 2 * 23040);
}

TEST_CASE("07 a cache that cannot be is refused") {
    CHECK_THROWS_AS(ContiguousCache(Type::Q8_0, 1, 1, 1, 8, 64), Error);
    CHECK_THROWS_AS(ContiguousCache(Type::F32, 1, 1, 1, 0, 64), Error);
    CHECK_THROWS_AS(ContiguousCache(Type::F32, 1 << 20, 1 << 10, 1 << 10, 1 << 20, 1 << 10), Error);
    ContiguousCache cache(Type::F32, 1, 2, 1, 8, 4);
    cache.append(1, 8);
    CHECK_THROWS_AS(cache.append(1, 1), Error);
    CHECK(cache.room(0) == 8);
    CHECK_THROWS_AS(cache.truncate(0, 1), Error);
}
