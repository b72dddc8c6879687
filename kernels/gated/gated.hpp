// The gated activation of the feed-forward block: what lesson 05 does with loops.
#pragma once

#include "common/tensor.hpp"

namespace cpu {

// out = silu(gate) * up, element by element, with silu(g) = g / (1 + e^-g). All three have one shape; out may be
// gate or up. An element's bits depend on that element alone.
void silu_multiply(View<float> out, View<const float> gate, View<const float> up);

}  // namespace cpu
