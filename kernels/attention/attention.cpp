#include "kernels/attention/attention.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "common/simd.hpp"

// The loop that this file speeds up, for one row: one head of one token (online softmax, lesson 02).
//
//   largest = -infinity, total = 0, mean[] = 0
//   for (key = 0; key <= position; ++key) {
//       score = dot(q, k[key]) / sqrt(head_dim)
//       if (score > largest) { total, mean[] *= exp(largest - score); largest = score }
//       share = exp(score - largest)
//       total += share, mean[] += share * v[key][]
//   }
//   out[] = mean[] / total
//
// Here the keys come in tiles of 64, counted from position 0, and `largest` changes once a tile. A tile is packed
// once, as floats, then up to 96 rows use it: those tokens and heads that share this key and value head.
//
//   keys, turned [head_dim][64]          scores [rows][64]       values [64][head_dim]
//    dim 0: key 0 key 1 .. key 63         row 0: key 0 .. 63      key 0: dim 0 dim 1 .. dim 63
//    dim 1: key 0 key 1 .. key 63         row 1: key 0 .. 63      key 1: dim 0 dim 1 .. dim 63
//
// So both products, q k over dims and shares v over keys, are one micro-kernel: a few rows of coefficients times
// rows of 16 numbers, each sum one fma chain. A row's bits depend on its own query and keys alone: not on the rows
// beside it, on blocks of the cache, or on the number of threads.
namespace cpu {
namespace {

constexpr int lanes = 16;
constexpr int tile_keys = 64;   // a multiple of 16; packed keys and values of 64 dims: 32 KB
constexpr int block_rows = 96;  // packing a tile costs as much as about five rows of work on it
// Sums of 16 lanes that stay in registers, beside the numbers they are made of.
constexpr int max_sums = simd::n_parts == 1 ? 24 : simd::n_parts == 2 ? 6 : 3;
constexpr int group_rows = std::min(max_sums, 12);

int padded(int n) { return (n + lanes - 1) / lanes * lanes; }

struct Scratch {     // width = padded(head_dim)
    float* queries;  // [block_rows][width], scaled by 1 / sqrt(head_dim)
    float* means;    // [block_rows][width]
    float* keys;     // [width][tile_keys]
    float* values;   // [tile_keys][width]
    float* staging;  // [16][width]
    int width;

    static size_t size(int width) { return size_t(2 * block_rows + 2 * tile_keys + lanes) * size_t(width); }
    Scratch(float* memory, int width_) : width(width_) {
        queries = memory;
        means = queries + block_rows * width;
        keys = means + block_rows * width;
        values = keys + tile_keys * width;
        staging = values + tile_keys * width;
    }
};

// out[row][column] = start[row][column] + sum over i of a[row][i] * b[i][column]
struct Product {
    float* out;
    const float *start, *a, *b;
    int out_stride, start_stride, a_stride, b_stride;
    int n_columns, n;  // columns: a multiple of 16; n >= 1
};
constexpr float zeros[tile_keys] = {};

template <int n_rows, int n_vectors>
void multiply_columns(const Product& p, int column) {
    const auto [out, start, a, b, out_stride, start_stride, a_stride, b_stride, n_columns, n] = p;
    f32x16 sum[n_rows][n_vectors];
#pragma GCC unroll 16
    for (int row = 0; row < n_rows; ++row) {
#pragma GCC unroll 16
        for (int v = 0; v < n_vectors; ++v)
            sum[row][v] = f32x16::load(start + row * start_stride + column + v * lanes);
    }
    int i = 0;
    do {
        f32x16 b_row[n_vectors];
#pragma GCC unroll 16
        for (int v = 0; v < n_vectors; ++v) b_row[v] = f32x16::load(b + i * b_stride + column + v * lanes);
#pragma GCC unroll 16
        for (int row = 0; row < n_rows; ++row) {
            const f32x16 factor = f32x16::broadcast(a[row * a_stride + i]);
#pragma GCC unroll 16
            for (int v = 0; v < n_vectors; ++v) sum[row][v] = fma(factor, b_row[v], sum[row][v]);
        }
    } while (++i < n);
#pragma GCC unroll 16
    for (int row = 0; row < n_rows; ++row) {
#pragma GCC unroll 16
        for (int v = 0; v < n_vectors; ++v) store(out + row * out_stride + column + v * lanes, sum[row][v]);
    }
}

// Few rows take several vectors of columns at once: an fma takes four cycles or more, two can begin in each.
template <int n_rows>
void multiply(const Product& p) {
    constexpr int together = std::min(4, max_sums / n_rows);
    int column = 0;
    for (; column + together * lanes <= p.n_columns; column += together * lanes)
        multiply_columns<n_rows, together>(p, column);
    for (; column < p.n_columns; column += lanes) multiply_columns<n_rows, 1>(p, column);
}

template <int... n>
constexpr auto multiply_table(std::integer_sequence<int, n...>) {
    return std::array{&multiply<n + 1>...};
}
void multiply(int n_rows, const Product& product) {
    static constexpr auto table = multiply_table(std::make_integer_sequence<int, group_rows>());
    table[size_t(n_rows - 1)](product);
}

// The online softmax of one row, so far.
struct Row {
    float* mean;    // [width], the sum of shares times values
    f32x16 total;   // the sum of shares, key % 16 a lane
    float largest;  // score; shares are relative to it
    int n_visible;  // keys that the row sees in all
    int token, head;
};

// The scores of this tile become shares; what was summed before is brought to the same scale.
void take_shares(Row& row, float* scores, int n_keys, int width) {
    const f32x16 hidden = f32x16::broadcast(-INFINITY);
    if (const int n = n_keys % lanes) {
        float* last = scores + n_keys - n;
        store(last, select(i32x16::iota() < i32x16::broadcast(n), f32x16::load(last), hidden));
    }
    f32x16 most = hidden;
    for (int key = 0; key < n_keys; key += lanes) most = max(most, f32x16::load(scores + key));
    const float largest = std::max(row.largest, reduce_max(most));
    if (largest > row.largest) {
        const f32x16 rescale = exp(f32x16::broadcast(row.largest - largest));  // 0 in the first tile
        row.largest = largest;
        row.total *= rescale;
        for (int dim = 0; dim < width; dim += lanes) {
            store(row.mean + dim, f32x16::load(row.mean + dim) * rescale);
        }
    }
    f32x16 total = row.total;
    for (int key = 0; key < n_keys; key += lanes) {
        const f32x16 share = exp(f32x16::load(scores + key) - f32x16::broadcast(largest));
        total += share;
        store(scores + key, share);
    }
    row.total = total;
}

template <class T>
void widen(float* out, const T* in, int n) {
    int i = 0;
    for (; i + lanes <= n; i += lanes) store(out + i, f32x16::load(in + i));
    if (i < n) store(out + i, f32x16::load(in + i, n - i));  // the rest of the sixteen: zeros
}

// Keys first_key .. first_key + n_keys - 1 of a sequence into scratch.keys and scratch.values.
template <class T>
void pack_tile(const Scratch& scratch, const KeyValueView& cache, int seq, int kv_head, int first_key,
               int n_keys) {
    const int width = scratch.width;
    int block = first_key / cache.block_size, offset = first_key % cache.block_size;
    for (int key = 0; key < n_keys; ++key) {
        const size_t at = cache.offset(cache.block_table(seq, block), kv_head, offset);
        widen(scratch.staging + key % lanes * width, reinterpret_cast<const T*>(cache.keys) + at,
              cache.head_dim);
        widen(scratch.values + key * width, reinterpret_cast<const T*>(cache.values) + at, cache.head_dim);
        if (++offset == cache.block_size) ++block, offset = 0;
        if (key % lanes == lanes - 1 || key == n_keys - 1) {  // staging holds 16, or all that are left
            float* out = scratch.keys + key / lanes * lanes;
            for (int dim = 0; dim < width; dim += lanes) {
                transpose16x16(out + dim * tile_keys, tile_keys, scratch.staging + dim, size_t(width));
            }
        }
    }
}

// One tile for a group of rows: scores, shares, and the values added up.
void attend(Row* rows, int n_rows, const float* queries, const Scratch& scratch, int first_key) {
    const int width = scratch.width;
    int n_keys[group_rows], most = 0, fewest = tile_keys;  // of this tile, that a row sees
    for (int row = 0; row < n_rows; ++row) {
        n_keys[row] = std::clamp(rows[row].n_visible - first_key, 0, tile_keys);
        most = std::max(most, n_keys[row]);
        fewest = std::min(fewest, n_keys[row]);
    }
    alignas(64) float scores[group_rows * tile_keys];
    multiply(n_rows,
             {scores, zeros, queries, scratch.keys, tile_keys, 0, width, tile_keys, padded(most), width});
    for (int row = 0; row < n_rows; ++row) {
        if (n_keys[row] > 0) take_shares(rows[row], scores + row * tile_keys, n_keys[row], width);
    }
    // A key that a row does not see is not multiplied by zero but left out: what lies there may be anything.
    if (fewest > 0)
        multiply(n_rows, {rows->mean, rows->mean, scores, scratch.values, width, width, tile_keys, width,
                          width, fewest});
    for (int row = 0; row < n_rows; ++row) {
        if (n_keys[row] == fewest) continue;
        multiply(1, {rows[row].mean, rows[row].mean, scores + row * tile_keys + fewest,
                     scratch.values + fewest * width, 0, 0, 0, width, width, n_keys[row] - fewest});
    }
}

struct Inputs {
    View<float> out;
    View<const float> q;
    const Batch& batch;
    const KeyValueView& cache;

    int group() const { return q.size(1) / cache.n_kv_heads; }  // query heads that share a key and value head
    int n_visible(int token) const { return batch.slots(token) < 0 ? 0 : batch.positions(token) + 1; }
};

// Up to block_rows rows of one sequence and one key and value head: row r is head r % group of token r / group.
void attend_block(const Inputs& in, const Scratch& scratch, int seq, int kv_head, Range range) {
    const int head_dim = in.cache.head_dim, width = scratch.width;
    const f32x16 scale = f32x16::broadcast(1 / std::sqrt(float(head_dim)));
    Row rows[block_rows];
    int n_rows = 0, longest = 0;
    for (int r = range.begin; r < range.end; ++r) {
        const int token = in.batch.sequence_begin(seq) + r / in.group();
        const int head = kv_head * in.group() + r % in.group();
        const int n_visible = in.n_visible(token);
        if (n_visible <= 0) continue;
        longest = std::max(longest, n_visible);
        rows[n_rows] = {scratch.means + n_rows * width, f32x16{}, -INFINITY, n_visible, token, head};
        const float* query = &in.q(token, head, 0);
        float* scaled = scratch.queries + n_rows * width;
        for (int dim = 0; dim < width; dim += lanes) {
            store(scaled + dim, f32x16::load(query + dim, std::min(lanes, head_dim - dim)) * scale);
            store(rows[n_rows].mean + dim, f32x16{});
        }
        ++n_rows;
    }
    for (int first_key = 0; first_key < longest; first_key += tile_keys) {
        const int n_keys = std::min(tile_keys, longest - first_key);
        switch (in.cache.type) {
            case Type::F32: pack_tile<float>(scratch, in.cache, seq, kv_head, first_key, n_keys); break;
            case Type::F16: pack_tile<half>(scratch, in.cache, seq, kv_head, first_key, n_keys); break;
            case Type::BF16: pack_tile<bf16>(scratch, in.cache, seq, kv_head, first_key, n_keys); break;
            default: fail("cpu::attention: a cache cannot be %s", type_name(in.cache.type));
        }
        for (int row = 0; row < n_rows; row += group_rows) {
            attend(rows + row, std::min(group_rows, n_rows - row), scratch.queries + row * width, scratch,
                   first_key);
        }
    }
    for (int row = 0; row < n_rows; ++row) {
        float* out = &in.out(rows[row].token, rows[row].head, 0);
        const f32x16 total = f32x16::broadcast(reduce_sum(rows[row].total));
        for (int dim = 0; dim < head_dim; dim += lanes) {
            store(out + dim, f32x16::load(rows[row].mean + dim) / total, std::min(lanes, head_dim - dim));
        }
    }
}

}  // namespace

size_t attention_scratch(int head_dim) { return Scratch::size(padded(head_dim)); }

void attention(const Worker& worker, View<float> out, View<const float> q, const Batch& batch,
               const KeyValueView& cache, View<float> scratch) {
    q.require_shape("cpu::attention: q", batch.n_tokens(), q.size(1), cache.head_dim);
    out.require_shape("cpu::attention: out", batch.n_tokens(), q.size(1), cache.head_dim);
    if (q.size(1) % cache.n_kv_heads)
        fail("cpu::attention: %d heads cannot share %d", q.size(1), cache.n_kv_heads);
    const Inputs in{out, q, batch, cache};
    const Scratch parts(scratch.data(), padded(cache.head_dim));

    // A row costs as many steps as it sees keys. Rows in order, by sequence, key and value head, token, head:
    // each thread takes a run of them with an equal share of the cost.
    int64_t total = 0;
    for (int token = 0; token < batch.n_tokens(); ++token) total += int64_t(in.n_visible(token)) * q.size(1);
    const int64_t from = total * worker.thread / worker.n_threads;
    const int64_t to = total * (worker.thread + 1) / worker.n_threads;
    int64_t before = 0;
    for (int seq = 0; seq < batch.n_seqs(); ++seq) {
        const int n_rows = (batch.sequence_begin(seq + 1) - batch.sequence_begin(seq)) * in.group();
        for (int kv_head = 0; kv_head < cache.n_kv_heads; ++kv_head) {
            Range mine{n_rows, 0};
            for (int row = 0; row < n_rows; ++row) {
                if (before >= from && before < to) mine = {std::min(mine.begin, row), row + 1};
                before += in.n_visible(batch.sequence_begin(seq) + row / in.group());
            }
            for (int row = mine.begin; row < mine.end; row += block_rows) {
                attend_block(in, parts, seq, kv_head, {row, std::min(row + block_rows, mine.end)});
            }
        }
    }
}

}  // namespace cpu
