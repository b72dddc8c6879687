#include "kernels/attention/attention.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/attention/cache_tile.hpp"
#include "kernels/attention/product.hpp"

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
// Here the keys come in tiles of 64, counted from position 0, and `largest` changes once a tile. A tile is
// packed once and serves up to 96 rows: the tokens and heads that share its key and value head. A few rows at
// a time, six with AVX2:
//
//    queries [6][head_dim]  x  keys [head_dim][64]  ->  scores [6][64]  ->  shares
//    shares [6][64]  x  values [64][head_dim]  ->  added to means [6][head_dim]
//
// A row's bits depend on its own query, keys and values alone: not on the rows beside it, on where the cache
// keeps them, or on the number of threads.
namespace cpu {
namespace {

using namespace tiles;

constexpr int block_rows = 96;  // packing a tile costs as much as about five rows of work on it

// The online softmax of one row, so far.
struct Row {
    f32x16 total;   // the sum of shares, key % 16 a lane
    float* mean;    // [width], the sum of shares times values
    float largest;  // score; shares are relative to it
    int n_visible;  // keys that the row sees in all
    int token, head;
};

// The scores of this tile become shares; what was summed before is brought to the same scale.
void take_shares(Row& row, float* scores, int n_keys, int width) {
    const f32x16 hidden = f32x16::broadcast(-INFINITY);
    if (const int n = n_keys % lanes) {  // what lies behind the last key that the row sees gets no share
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

// One tile for up to max_rows rows. keys [width][tile_keys], queries [n_rows][width].
void attend(Row* rows, int n_rows, const float* queries, const float* keys, Rows values, int first_key,
            int width) {
    static constexpr float zeros[tile_keys] = {};
    int n_keys[max_rows], most = 0, fewest = tile_keys;  // of this tile, that a row sees
    for (int row = 0; row < n_rows; ++row) {
        n_keys[row] = std::clamp(rows[row].n_visible - first_key, 0, tile_keys);
        most = std::max(most, n_keys[row]);
        fewest = std::min(fewest, n_keys[row]);
    }
    alignas(64) float scores[max_rows * tile_keys];
    multiply(n_rows, {scores, zeros, queries, keys, tile_keys, 0, width, tile_keys, padded(most), width});
    for (int row = 0; row < n_rows; ++row) {
        if (n_keys[row] > 0) take_shares(rows[row], scores + row * tile_keys, n_keys[row], width);
    }
    // A value that a row does not see is not multiplied by 0 but left out: what lies there may be anything.
    // First what all rows see, then for each row the rest.
    float* means = rows->mean;
    if (fewest > 0) {
        multiply(n_rows,
                 {means, means, scores, values.data, width, width, tile_keys, values.stride, width, fewest});
    }
    for (int row = 0; row < n_rows; ++row) {
        if (n_keys[row] == fewest) continue;
        float* mean = rows[row].mean;
        multiply(1, {mean, mean, scores + row * tile_keys + fewest, values.data + fewest * values.stride, 0,
                     0, 0, values.stride, width, n_keys[row] - fewest});
    }
}

struct Inputs {
    View<float> out;
    View<const float> q;
    const Batch& batch;
    const KeyValueView& cache;

    int group() const { return q.size(1) / cache.n_kv_heads; }  // query heads on one key and value head
    int n_visible(int token) const {
        return batch.slots(token) < 0 ? 0 : std::max(0, batch.positions(token) + 1);
    }
};

struct Scratch {
    float *queries, *means;  // [block_rows][width], queries scaled by 1 / sqrt(head_dim)
    TileMemory tile;

    static size_t size(int width) { return size_t(2 * block_rows + 2 * tile_keys + lanes) * size_t(width); }
    Scratch(float* memory, int width)
        : queries(memory),
          means(queries + block_rows * width), tile{means + block_rows * width, tile.keys + tile_keys * width,
                                                    tile.values + tile_keys * width} {}
};

// Up to block_rows rows of one sequence and one key and value head: row r is head r % group of the sequence's
// token r / group.
void attend_block(const Inputs& in, const Scratch& scratch, int seq, int kv_head, Range range) {
    const int head_dim = in.cache.head_dim, width = padded(head_dim);
    const f32x16 scale = f32x16::broadcast(1 / std::sqrt(float(head_dim)));
    Row rows[block_rows];
    int n_rows = 0, longest = 0;
    for (int r = range.begin; r < range.end; ++r) {
        const int token = in.batch.sequence_begin(seq) + r / in.group();
        const int head = kv_head * in.group() + r % in.group();
        const int n_visible = in.n_visible(token);
        if (n_visible == 0) continue;
        longest = std::max(longest, n_visible);
        Row& row = rows[n_rows];
        row = {f32x16{}, scratch.means + n_rows * width, -INFINITY, n_visible, token, head};
        const float* query = &in.q(token, head, 0);
        for (int dim = 0; dim < width; dim += lanes) {
            const f32x16 scaled = f32x16::load(query + dim, std::min(lanes, head_dim - dim)) * scale;
            store(scratch.queries + n_rows * width + dim, scaled);
            store(row.mean + dim, f32x16{});
        }
        ++n_rows;
    }
    for (int first_key = 0; first_key < longest; first_key += tile_keys) {
        const Rows values = pack_tile(scratch.tile, in.cache, seq, kv_head, first_key, longest);
        for (int row = 0; row < n_rows; row += max_rows) {
            attend(rows + row, std::min(max_rows, n_rows - row), scratch.queries + row * width,
                   scratch.tile.keys, values, first_key, width);
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
    const int n_heads = q.size(1);
    q.require_shape("cpu::attention: q", batch.n_tokens(), n_heads, cache.head_dim);
    out.require_shape("cpu::attention: out", batch.n_tokens(), n_heads, cache.head_dim);
    if (n_heads % cache.n_kv_heads)
        fail("cpu::attention: %d heads cannot share %d", n_heads, cache.n_kv_heads);
    const Inputs in{out, q, batch, cache};
    const Scratch parts(scratch.data(), padded(cache.head_dim));

    // A row costs as many steps as it sees keys. Rows in order, by sequence, key and value head, token, head:
    // each thread takes a run of them with an equal share of the cost.
    int64_t total = 0, before = 0;
    for (int token = 0; token < batch.n_tokens(); ++token) total += int64_t(in.n_visible(token)) * n_heads;
    const int64_t from = total * worker.thread / worker.n_threads;
    const int64_t to = total * (worker.thread + 1) / worker.n_threads;
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
