// kernels/attention against lesson 01's loops: ragged shapes, every cache type, pages of any size, several sequences
// at once; and that a row's bits depend on nothing but its own query, keys and values.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "common/check.hpp"
#include "common/philox.hpp"
#include "common/threads.hpp"
#include "kernels/attention/attention.hpp"
#include "lessons/01_attention/attention.hpp"

namespace {

struct Heads {
    int n_heads, n_kv_heads, head_dim;
};

// Sequences of the given lengths in one cache, each of its keys and values a function of (sequence, key, head).
// Whatever no key lies in, between blocks and behind the last key, is NaN.
struct Cache {
    Heads heads;
    KeyValueView view;
    std::vector<std::byte> memory;
    std::vector<int> table, lengths;
    std::vector<Tensor> keys,
        values;  // of each sequence [n_keys, n_kv_heads, head_dim], as the cache rounds them

    // Blocks are shuffled, and lie [block][head][offset][dim] or, if `heads_inside`, [block][offset][head][dim].
    Cache(Heads heads_, std::vector<int> lengths_, Type type, int block_size, bool heads_inside = false)
        : heads(heads_), lengths(std::move(lengths_)) {
        const auto [n_heads, n_kv_heads, head_dim] = heads;
        const int n_seqs = int(lengths.size());
        const int max_blocks =
            (*std::max_element(lengths.begin(), lengths.end()) + block_size - 1) / block_size;
        const int n_blocks = max_blocks * n_seqs;
        for (int i = 0; i < n_blocks; ++i) table.push_back(i);
        for (int i = n_blocks - 1; i > 0; --i) {
            std::swap(table[size_t(i)], table[philox(1, {uint32_t(i), 0, 0, 0})[0] % uint32_t(i + 1)]);
        }
        view.type = type, view.n_kv_heads = n_kv_heads, view.head_dim = head_dim,
        view.block_size = block_size;
        view.token_stride = size_t(head_dim) * size_t(heads_inside ? n_kv_heads : 1);
        view.head_stride = size_t(head_dim) * size_t(heads_inside ? 1 : block_size);
        view.block_stride = size_t(head_dim) * size_t(n_kv_heads) * size_t(block_size);
        const size_t plane = view.block_stride * size_t(n_blocks) * type_unit_bytes(type);
        memory.assign(2 * plane, std::byte(0xff));  // NaN in all three types
        view.keys = memory.data(), view.values = memory.data() + plane;
        view.block_table = View<const int>(table.data(), n_seqs, max_blocks);
        view.lengths = lengths;
        for (int seq = 0; seq < n_seqs; ++seq) {
            keys.emplace_back(lengths[size_t(seq)], n_kv_heads, head_dim);
            values.emplace_back(lengths[size_t(seq)], n_kv_heads, head_dim);
            fill_random(keys.back(), uint64_t(100 + seq), 2);
            fill_random(values.back(), uint64_t(200 + seq));
            for (int key = 0; key < lengths[size_t(seq)]; ++key) {
                const int block = view.block_table(seq, key / block_size);
                for (int head = 0; head < n_kv_heads; ++head) {
                    const size_t at = view.offset(block, head, key % block_size);
                    put(view.keys, at, keys.back().row(key).row(head));
                    put(view.values, at, values.back().row(key).row(head));
                }
            }
        }
    }

    void put(std::byte* base, size_t at, View<float> numbers) const {
        for (float& x : numbers) {
            std::byte* to = base + at++ * type_unit_bytes(view.type);
            if (view.type == Type::F32) {
                std::memcpy(to, &x, 4);
            } else {
                const uint16_t bits = view.type == Type::F16 ? to_half(x).bits : to_bf16(x).bits;
                std::memcpy(to, &bits, 2);
                x = view.type == Type::F16 ? to_float(half{bits}) : to_float(bf16{bits});
            }
        }
    }
};

// The last `n_new` tokens of each sequence.
struct Tokens {
    std::vector<int> positions, slots, begin{0};
    Batch batch;

    Tokens(const Cache& cache, const std::vector<int>& n_new) {
        for (size_t seq = 0; seq < n_new.size(); ++seq) {
            for (int i = 0; i < n_new[seq]; ++i) positions.push_back(cache.lengths[seq] - n_new[seq] + i);
            begin.push_back(int(positions.size()));
        }
        slots = positions;  // attention only asks whether there is one
        batch.ids = positions, batch.positions = positions, batch.slots = slots, batch.sequence_begin = begin;
    }
    Tokens(const Tokens&) = delete;
};

Tensor random_queries(int n_tokens, Heads heads) {
    Tensor q(n_tokens, heads.n_heads, heads.head_dim);
    fill_random(q, 300, 2);
    return q;
}

Tensor run(View<const float> q, const Batch& batch, const KeyValueView& view, int n_threads = 1) {
    Tensor out(q.shape());
    poison(out);
    Team team(n_threads);
    Tensor scratch(n_threads, int(cpu::attention_scratch(view.head_dim)));
    team.run([&](const Worker& worker) {
        cpu::attention(worker, out, q, batch, view, scratch.row(worker.thread));
    });
    return out;
}

Tensor reference(View<const float> q, const Cache& cache, const Tokens& tokens) {
    Tensor out(q.shape());
    for (size_t seq = 0; seq < cache.keys.size(); ++seq) {
        const int first = tokens.begin[seq], last = tokens.begin[seq + 1];
        if (first == last) continue;
        grouped_query_attention(out.rows(first, last), q.rows(first, last), cache.keys[seq],
                                cache.values[seq]);
    }
    return out;
}

bool same_bits(View<const float> a, View<const float> b) {
    return a.shape() == b.shape() && std::memcmp(a.data(), b.data(), a.count() * sizeof(float)) == 0;
}

// 24 bits in a number; a row's sums have up to 200 terms, whose errors add up like a random walk.
constexpr double tolerance = 1e-6;

const std::vector<Heads> shapes = {{9, 3, 64}, {1, 1, 1},  {6, 6, 3},  {4, 1, 17}, {8, 2, 20},
                                   {3, 3, 24}, {6, 2, 80}, {7, 1, 33}, {4, 2, 128}};

}  // namespace

TEST_CASE("attention kernel: equals lesson 01 at every shape and cache length") {
    for (const Heads heads : shapes) {
        for (const int n_keys : {1, 3, 15, 16, 17, 63, 64, 65, 129}) {
            for (const int n_new : {1, 2, 7, n_keys}) {
                if (n_new > n_keys) continue;
                const Cache cache(heads, {n_keys}, Type::F32, n_keys);
                const Tokens tokens(cache, {n_new});
                const Tensor q = random_queries(n_new, heads);
                const Comparison result =
                    compare(run(q, tokens.batch, cache.view), reference(q, cache, tokens), tolerance);
                CHECK_MESSAGE(result.ok, n_new, " of ", n_keys, " tokens, ", heads.n_heads, " heads on ",
                              heads.n_kv_heads, " of ", heads.head_dim, ": ", result.text());
            }
        }
    }
}

TEST_CASE("attention kernel: caches of 16 bits, pages of any size, both orders of memory") {
    for (const Type type : {Type::F32, Type::F16, Type::BF16}) {
        for (const Heads heads : {Heads{9, 3, 64}, Heads{4, 2, 20}}) {
            for (const int block_size : {1, 3, 16, 100}) {
                for (const bool heads_inside : {false, true}) {
                    const Cache cache(heads, {90, 1, 33}, type, block_size, heads_inside);
                    const Tokens tokens(cache, {40, 1, 5});
                    const Tensor q = random_queries(46, heads);
                    const Comparison result =
                        compare(run(q, tokens.batch, cache.view), reference(q, cache, tokens), tolerance);
                    CHECK_MESSAGE(result.ok, type_name(type), ", blocks of ", block_size, ": ",
                                  result.text());
                }
            }
        }
    }
}

TEST_CASE("attention kernel: paged and contiguous give the same bits") {
    for (const Type type : {Type::F32, Type::F16, Type::BF16}) {
        const Heads heads{9, 3, 64};
        const std::vector<int> lengths = {150, 64, 65}, n_new = {150, 1, 30};
        const Cache whole(heads, lengths, type, 150);
        const Tokens tokens(whole, n_new);
        const Tensor q = random_queries(181, heads), expected = run(q, tokens.batch, whole.view);
        for (const int block_size : {1, 3, 15, 16, 17, 64}) {
            INFO(type_name(type), ", blocks of ", block_size);
            const Cache paged(heads, lengths, type, block_size, block_size % 2 == 0);
            CHECK(same_bits(run(q, tokens.batch, paged.view), expected));
        }
    }
}

TEST_CASE("attention kernel: 1, 2, 4 and 7 threads give the same bits") {
    for (const Heads heads : shapes) {
        const Cache cache(heads, {90, 1, 33}, Type::F32, 16);
        const Tokens tokens(cache, {80, 1, 1});
        const Tensor q = random_queries(82, heads), expected = run(q, tokens.batch, cache.view);
        for (const int n_threads : {2, 4, 7}) {
            INFO(n_threads, " threads");
            CHECK(same_bits(run(q, tokens.batch, cache.view, n_threads), expected));
        }
    }
}

TEST_CASE("attention kernel: chunks, and tokens alone, give the same bits as the whole") {
    for (const Heads heads : shapes) {
        const int n = 140;
        const Cache cache(heads, {n}, Type::F32, 16);
        const Tokens all(cache, {n});
        const Tensor q = random_queries(n, heads), expected = run(q, all.batch, cache.view);
        for (const int chunk : {1, 7, 64}) {
            for (int first = 0; first < n; first += chunk) {
                const int last = std::min(n, first + chunk);
                const std::vector<int> begin = {0, last - first};
                Batch batch = all.batch;
                batch.ids = batch.positions = all.batch.positions.rows(first, last);
                batch.slots = all.batch.slots.rows(first, last);
                batch.sequence_begin = begin;
                INFO("tokens ", first, " to ", last, " of head_dim ", heads.head_dim);
                CHECK(same_bits(run(q.rows(first, last), batch, cache.view), expected.rows(first, last)));
            }
        }
    }
}

TEST_CASE("attention kernel: many sequences together give the bits of each alone") {
    const Heads heads{9, 3, 64};
    const std::vector<int> lengths = {5, 130, 64, 1, 77}, n_new = {1, 1, 64, 1, 0};
    const Cache cache(heads, lengths, Type::F16, 16);
    const Tokens together(cache, n_new);
    const Tensor q = random_queries(67, heads), expected = run(q, together.batch, cache.view, 2);
    for (int seq = 0; seq < 4; ++seq) {
        INFO("sequence ", seq);
        const int first = together.begin[size_t(seq)], last = together.begin[size_t(seq) + 1];
        const std::vector<int> begin = {0, last - first};
        Batch batch = together.batch;
        batch.positions = batch.positions.rows(first, last), batch.slots = batch.slots.rows(first, last);
        batch.ids = batch.positions, batch.sequence_begin = begin;
        KeyValueView view = cache.view;
        view.block_table = view.block_table.rows(seq, seq + 1),
        view.lengths = view.lengths.rows(seq, seq + 1);
        CHECK(same_bits(run(q.rows(first, last), batch, view), expected.rows(first, last)));
    }
}

TEST_CASE("attention kernel: positions need not follow each other") {
    const Heads heads{6, 2, 16};
    const Cache cache(heads, {130}, Type::F32, 16);
    Tokens tokens(cache, {130});
    const Tensor q = random_queries(130, heads), expected = run(q, tokens.batch, cache.view);
    Tensor q_turned(130, heads.n_heads, heads.head_dim);
    for (int token = 0; token < 130; ++token) {  // 37 and 130 have no common divisor: every position once
        tokens.positions[size_t(token)] = token * 37 % 130;
        const View<const float> from = q.row(token * 37 % 130);
        std::copy(from.begin(), from.end(), q_turned.row(token).begin());
    }
    const Tensor out = run(q_turned, tokens.batch, cache.view, 2);
    for (int token = 0; token < 130; ++token)
        CHECK(same_bits(out.row(token), expected.row(token * 37 % 130)));
}

TEST_CASE("attention kernel: a token without slot or position is skipped") {
    const Heads heads{4, 2, 20};
    const Cache cache(heads, {30}, Type::F32, 30);
    Tokens tokens(cache, {30});
    const Tensor q = random_queries(30, heads), expected = run(q, tokens.batch, cache.view);
    tokens.slots[3] = -1, tokens.slots[29] = -1;
    tokens.positions[4] = -1, tokens.slots[4] = -1;
    for (const int n_threads : {1, 3}) {
        const Tensor out = run(q, tokens.batch, cache.view, n_threads);
        for (int token = 0; token < 30; ++token) {
            INFO("token ", token);
            if (tokens.slots[size_t(token)] < 0) {
                for (const float x : out.row(token)) CHECK(is_poison(x));
            } else {
                CHECK(same_bits(out.row(token), expected.row(token)));
            }
        }
    }
    std::fill(tokens.slots.begin(), tokens.slots.end(), -1);  // nothing to do at all
    for (const float x : run(q, tokens.batch, cache.view, 2)) CHECK(is_poison(x));
}

TEST_CASE("attention kernel: huge scores stay finite, a NaN stays in its row") {
    const Heads heads{2, 1, 64};
    const Cache cache(heads, {70}, Type::F32, 70);
    const Tokens tokens(cache, {70});
    Tensor q = random_queries(70, heads);
    for (float& x : q.row(10)) x *= 1e6f;
    q(20, 1, 5) = std::numeric_limits<float>::quiet_NaN();
    const Tensor out = run(q, tokens.batch, cache.view), expected = reference(q, cache, tokens);
    for (int token = 0; token < 70; ++token) {
        for (int head = 0; head < 2; ++head) {
            INFO("token ", token, " head ", head);
            for (const float x : out.row(token).row(head)) CHECK(std::isnan(x) == (token == 20 && head == 1));
        }
    }
    CHECK(compare(out.rows(0, 20), expected.rows(0, 20), tolerance).ok);
}

TEST_CASE("attention kernel: shapes that do not fit are refused") {
    const Cache cache({4, 2, 16}, {3}, Type::F32, 3);
    const Tokens tokens(cache, {3});
    CHECK_THROWS_AS(run(Tensor(3, 5, 16), tokens.batch, cache.view), Error);
    CHECK_THROWS_AS(run(Tensor(3, 4, 15), tokens.batch, cache.view), Error);
    CHECK_THROWS_AS(run(Tensor(2, 4, 16), tokens.batch, cache.view), Error);
    KeyValueView blocks = cache.view;
    blocks.type = Type::Q8_0;
    CHECK_THROWS_AS(run(Tensor(3, 4, 16), tokens.batch, blocks), Error);
}
