// Launches as people write them, and things that only look like one.
// The forms are the point here:
// clang-format off
#include <string>
#include <utility>

#include "tests/simt/check.cuh"

namespace deep::down {
template <class T, int n = 1>
__global__ void add(T* x, T by) { for (int i = 0; i < n; ++i) atomicAdd(x, by); }
}  // namespace deep::down

__global__ void add(int* x, int by) { atomicAdd(x, by); }
__global__ void add(float* x, float by) { atomicAdd(x, by); }  // an overload

template <class A, class B> struct Pair { A a; B b; };
template <class T> __global__ void pair_sum(int* x, Pair<T, Pair<T, T>> p) { atomicAdd(x, p.a + p.b.a + p.b.b); }

struct Wrapper {
    int* x;
    template <int n> void run() const { deep::down::add<int, n><<<1, n>>>(x, n); }
};

static __global__ __launch_bounds__(64, 2) void bounded(int* x) { atomicAdd(x, 1); }
__global__ void
on_its_own_line(int* x)
{
    atomicAdd(x, 1);
}
__forceinline__ __device__ int helper() { return 1; }
__device__ __noinline__ int other_helper() { return helper(); }
extern "C" __global__ void c_name(int* x) { atomicAdd(x, other_helper()); }

#define LAUNCH(kernel, grid, block, ...) kernel<<<(grid), (block)>>>(__VA_ARGS__)
#define TIMES_TWO(call) do { call; call; } while (0)

template <typename Kernel, typename... Arguments>
void launch_any(Kernel kernel, dim3 grid, dim3 block, Arguments... arguments) {
    kernel<<<grid, block>>>(arguments...);
}

int main() {
    int* x = to_device(std::vector<int>{0});
    int expected = 0;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));

    add<<<1, 1>>>(x, 1), expected += 1;
    add<<< dim3( 2 ) , dim3(2, 2) >>> (x, 1), expected += 8;
    add<<<1, 1, 0>>>(x, 1), expected += 1;
    add<<<1, 1, 0, stream>>>(x, 1), expected += 1;
    add  // the name
        <<<  /* the grid */ 1,
           32 >> 2>>>  // 8 threads: a shift is no end
        (x, 1);
    expected += 8;
    add<<<(4 >> 1), (1 << 1)>>>(x, 1), expected += 4;
    ::deep::down::add<int><<<1, 3>>>(x, 2), expected += 6;
    deep::down::add<int, (3 > 2) ? 2 : 1><<<1, 1>>>(x, 1), expected += 2;
    deep::down::add<<<1, 1>>>(x, 5), expected += 5;
    pair_sum<<<1, 1>>>(x, Pair<int, Pair<int, int>>{1, {2, 3}}), expected += 6;
    pair_sum<int><<<1, 1>>>(x, {1, {1, 1}}), expected += 3;
    Wrapper{x}.run<3>(), expected += 27;
    bounded<<<1, 64>>>(x), expected += 64;
    on_its_own_line<<<1, 1>>>(x), expected += 1;
    c_name<<<1, 1>>>(x), expected += 1;
    LAUNCH(add, 1, 2, x, 1), expected += 2;
    TIMES_TWO((add<<<1, 1>>>(x, 1)));
    expected += 2;
    TIMES_TWO(LAUNCH(deep::down::add<int>, 1, 1, x, 1));
    expected += 2;
    launch_any(bounded, 1, 2, x), expected += 2;
    if (expected > 0) add<<<1, 1>>>(x, 1), expected += 1;
    else add<<<1, 1>>>(x, 1000);
    void (*kernel)(int*, int) = add;
    kernel<<<1, 1>>>(x, 1), expected += 1;
    (*kernel)<<<1, 1>>>(x, 1), expected += 1;
    auto later = [&](int times) { for (int i = 0; i < times; ++i) add<<<1, 1>>>(x, 1); };
    later(3), expected += 3;
    int one = 1;
    void* arguments[] = {&x, &one};
    CHECK(cudaLaunchKernel((void*)on_its_own_line, dim3(1), dim3(3), arguments, 0, stream));
    expected += 3;
    CHECK(cudaLaunchKernel((const void*)c_name, 1, 1, arguments, 0, 0));
    expected += 1;
    CHECK(cudaLaunchKernel(bounded, dim3(1), dim3(2), arguments, 0, stream));
    expected += 2;
    cudaLaunchConfig_t config = {};
    config.gridDim = 1, config.blockDim = 2, config.stream = stream;
    CHECK(cudaLaunchKernelEx(&config, bounded, x));
    expected += 2;
    char by = 2;
    add<<<1, 1>>>(x, by), expected += 2;  // a char becomes the int of the parameter

    const std::string text = "add<<<1, 1>>>(x, 1000); // not code";
    const char* raw = R"cuda(add<<<1, 1>>>(x, "1000"); )" <<<)cuda";
    const char character = '<';
    // add<<<1, 1>>>(x, 1000);
    /* add<<<1, 1>>>(x, 1000); */
    EXPECT(text.size() == 35 && raw[0] == 'a' && character == '<' && 1'000 == 1000 && 0x1p-3 < 1);
    EXPECT((1 << 2 << 3) == 32 && 100 >> 2 > 3);
    CHECK(cudaGetLastError());
    EXPECT(to_host(x, 1)[0] == expected);
    std::puts("ok");
}
