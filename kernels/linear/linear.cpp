#include "kernels/linear/linear.hpp"

#include "kernels/linear/tile.hpp"

// The loop that this file speeds up:
//
//   for (token) for (row) { sum = 0; for (k) sum += x[token][k] * W[row][k]; out[token][row] = sum; }
//
// One token: every weight is used once, so the time is that of reading them: each thread streams its part of W
// from front to back, once. Many tokens: the same weights serve all of them, and the sums are the time. Then
// the loops are cut so that what is used again soon is still near:
//
//          k ->  n_k                   per thread
//        +------+------+               for a block of tokens           x of the block stays in the L2
//      t | x    |      |  n_tokens       for a group of 16 rows        their sums stay in the L1
//        +------+------+                   for a piece of k            16 x n_k weights stay in the L1,
//                                                                      and the next ones are asked for
//                                            for a tile of tokens      the sums of a tile are in registers
//
// No sum changes its order by this: a tile carries its sums on from the piece of k before.
namespace cpu {
namespace {

constexpr int max_block_tokens = 96 / tile_tokens * tile_tokens;
constexpr int block_floats = 64 * 1024;  // of x in one block: 256 KB, half of a small L2
constexpr int piece_floats = 320;        // of k in one piece: 16 rows of them are 20 KB, half of an L1

template <class Element>
struct Product {
    View<float> out;
    View<const float> x;
    const Element* weights;
    bool add;  // onto what out holds

    // While a piece of weights is used, the next one comes into the caches: with each tile of tokens its share.
    template <int n_groups>
    static void ask(const Element* next, size_t group_stride, int n_k, int token, int n_tokens) {
        const int begin = token * n_k / n_tokens,
                  end = std::min(token + tile_tokens, n_tokens) * n_k / n_tokens;
        for (int group = 0; group < n_groups; ++group) {
            for (int k = begin; k < end; ++k) {
                prefetch(next + size_t(group) * group_stride + size_t(k) * group_rows);
            }
        }
    }

    // Rows of n_groups groups from `group` on, for the tokens first .. last - 1.
    template <int n_groups>
    void groups(int group, int first, int last) const {
        const int n_rows = out.size(1), n_columns = x.size(1);
        const size_t group_stride = size_t(n_columns) * group_rows;
        const Element* w = weights + size_t(group) * group_stride;
        alignas(64) float sums[max_block_tokens][n_groups][16];
        std::fill_n(&sums[0][0][0], (last - first) * n_groups * 16, 0.0f);

        // Cutting k pays where the piece is used again.
        const int n_pieces = last - first > tile_tokens ? (n_columns + piece_floats - 1) / piece_floats : 1;
        for (int piece = 0; piece < n_pieces; ++piece) {
            const int k = int(int64_t(n_columns) * piece / n_pieces);
            const int k_end = int(int64_t(n_columns) * (piece + 1) / n_pieces);
            const Element* next =
                w + (k_end < n_columns ? size_t(k_end) * group_rows : n_groups * group_stride);
            for (int token = first; token < last; token += tile_tokens) {
                multiply_tile<tile_tokens, n_groups>(
                    std::min(tile_tokens, last - token), &sums[token - first][0][0], &x(token, 0) + k,
                    size_t(n_columns), w + size_t(k) * group_rows, group_stride, k_end - k);
                if (n_pieces > 1) ask<n_groups>(next, group_stride, k_end - k, token - first, last - first);
            }
        }
        for (int token = first; token < last; ++token) {
            for (int i = 0; i < n_groups; ++i) {
                const int row = (group + i) * group_rows, n = std::min(16, n_rows - row);
                float* to = out.data() + size_t(token) * size_t(n_rows) + row;
                const f32x16 sum = f32x16::load(sums[token - first][i]);
                store(to, add ? f32x16::load(to, n) + sum : sum, n);
            }
        }
    }

    void rows(Range groups_of_mine) const {
        const int n_tokens = x.size(0);
        const int fitting = block_floats / std::max(1, x.size(1)) / tile_tokens * tile_tokens;
        const int block = std::clamp(fitting, tile_tokens, max_block_tokens);
        for (int first = 0; first < n_tokens; first += block) {
            const int last = std::min(first + block, n_tokens);
            int group = groups_of_mine.begin;
            for (; group + tile_groups <= groups_of_mine.end; group += tile_groups) {
                groups<tile_groups>(group, first, last);
            }
            for (; group < groups_of_mine.end; ++group) groups<1>(group, first, last);
        }
    }
};

Range shared_groups(const Worker& worker, int n_rows) {
    return worker.share((n_rows + group_rows - 1) / group_rows);
}

template <class Element>
void multiply_as(const Worker& worker, View<float> out, View<const float> x, const Matrix& weights,
                 bool add) {
    const auto* elements = reinterpret_cast<const Element*>(weights.bytes);
    Product<Element>{out, x, elements, add}.rows(shared_groups(worker, weights.rows));
}

void multiply(const Worker& worker, View<float> out, View<const float> x, const Matrix& weights, bool add) {
    x.require_shape("linear: x", out.size(0), weights.columns);
    out.require_shape("linear: out", x.size(0), weights.rows);
    if (weights.layout != Layout::interleaved16) fail("linear: the weights are not packed");
    switch (weights.type) {
        case Type::F32: return multiply_as<float>(worker, out, x, weights, add);
        case Type::F16: return multiply_as<half>(worker, out, x, weights, add);
        case Type::BF16: return multiply_as<bf16>(worker, out, x, weights, add);
        default: fail("linear: no kernel for %s weights", type_name(weights.type));
    }
}

}  // namespace

void linear(const Worker& worker, View<float> out, View<const float> x, const Matrix& weights) {
    multiply(worker, out, x, weights, false);
}

void linear_add(const Worker& worker, View<float> out, View<const float> x, const Matrix& weights) {
    multiply(worker, out, x, weights, true);
}

Range shared_rows(const Worker& worker, int n_rows) {
    const Range groups = shared_groups(worker, n_rows);
    return {std::min(groups.begin * group_rows, n_rows), std::min(groups.end * group_rows, n_rows)};
}

}  // namespace cpu
