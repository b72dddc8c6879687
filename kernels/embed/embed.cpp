#include "kernels/embed/embed.hpp"

#include <algorithm>
#include <limits>

// The loop is the kernel: one row of a few hundred numbers a token is no work beside the matrices.
//
//   for (token = 0; token < n_tokens; ++token) x[token] = floats of table[ids[token]]
//
//   table | row 0 | row 1 | .. | row vocab_size - 1 |      each row whole blocks: row_bytes(type, d_model) bytes
namespace cpu {

void embed(const Worker& worker, View<float> x, const Matrix& table, View<const int> ids) {
    x.require_shape("cpu::embed: x", ids.size(0), table.columns);
    const Range mine = worker.share(ids.size(0));
    for (int token = mine.begin; token < mine.end; ++token) {
        const int id = ids(token);
        const View<float> row = x.row(token);
        if (id < 0 || id >= table.rows) {
            std::ranges::fill(row.flat(), std::numeric_limits<float>::quiet_NaN());
        } else {
            dequantize(row, table.type, table.row(id));
        }
    }
}

}  // namespace cpu
