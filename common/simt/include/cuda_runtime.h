// What nvcc includes first in every .cu file: the simulator's own, under the toolkit's name.
#pragma once

#include <cassert>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CUDART_VERSION 13000
#define CUDARTAPI
#define CUDART_CB
#define CUDART_INF_F __builtin_inff()
#define CUDART_NAN_F __builtin_nanf("")
#define CUDART_PI_F 3.141592654f

#include "common/simt/include/simt/api.hpp"
#include "common/simt/include/simt/atomics.hpp"
#include "common/simt/include/simt/builtins.hpp"
#include "common/simt/include/simt/intrinsics.hpp"
#include "common/simt/include/simt/launch.hpp"
#include "common/simt/include/simt/vectors.hpp"
#include "common/simt/include/simt/warp.hpp"
