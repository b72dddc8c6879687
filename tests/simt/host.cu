// The host's side as programs have it: exceptions, classes that own device memory, recursion, printf from a kernel.
#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "tests/simt/check.cuh"

template <class T>
class Buffer {
  public:
    explicit Buffer(size_t n) : n_(n) {
        if (cudaMalloc(&data_, n * sizeof(T)) != cudaSuccess) {
            cudaGetLastError();
            throw std::runtime_error("no room for " + std::to_string(n));
        }
    }
    ~Buffer() { cudaFree(data_); }
    Buffer(Buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), n_(other.n_) {}
    Buffer(const Buffer&) = delete;
    T* get() const { return data_; }
    std::vector<T> read() const { return to_host(data_, n_); }

  private:
    T* data_ = nullptr;
    size_t n_;
};

__device__ unsigned next_random(unsigned& state) {  // a generator of its own, a stream for each thread
    state ^= state << 13, state ^= state >> 17, state ^= state << 5;
    return state;
}
__global__ void estimate_pi(unsigned* inside, int n_each) {
    unsigned state = (blockIdx.x * blockDim.x + threadIdx.x + 1) * 2654435761u, n = 0;
    for (int i = 0; i < n_each; ++i) {
        const float x = float(next_random(state)) / 4294967296.0f,
                    y = float(next_random(state)) / 4294967296.0f;
        n += x * x + y * y < 1;
    }
    atomicAdd(inside, n);
}

struct Body {
    float3 position, velocity;
    float mass;
};
__global__ void forces(const Body* bodies, float3* out, int n) {
    extern __shared__ float4 near[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float3 p = i < n ? bodies[i].position : make_float3(0, 0, 0);
    float3 sum = make_float3(0, 0, 0);
    for (int first = 0; first < n; first += blockDim.x) {
        const int j = first + threadIdx.x;
        near[threadIdx.x] = j < n ? make_float4(bodies[j].position.x, bodies[j].position.y,
                                                bodies[j].position.z, bodies[j].mass)
                                  : make_float4(0, 0, 0, 0);
        __syncthreads();
        for (int k = 0; k < blockDim.x; ++k) {
            const float dx = near[k].x - p.x, dy = near[k].y - p.y, dz = near[k].z - p.z;
            const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f),
                        f = near[k].w * inverse * inverse * inverse;
            sum.x += dx * f, sum.y += dy * f, sum.z += dz * f;
        }
        __syncthreads();
    }
    if (i < n) out[i] = sum;
}

__global__ void speak() {
    if (threadIdx.x == 0) printf("block %d of %d\n", blockIdx.x, gridDim.x);
}

int main(int argc, char** argv) {
    try {
        Buffer<char> too_large(size_t(1) << 45);
        return 1;
    } catch (const std::exception& e) { EXPECT(std::string(e.what()).rfind("no room", 0) == 0); }
    std::map<std::string, Buffer<float>> named;
    named.emplace("a", Buffer<float>(10));
    CHECK(cudaMemset(named.at("a").get(), 0, 10 * sizeof(float)));
    EXPECT(named.at("a").read() == std::vector<float>(10));

    Buffer<unsigned> inside(1);
    CHECK(cudaMemset(inside.get(), 0, sizeof(unsigned)));
    estimate_pi<<<8, 64>>>(inside.get(), 200);
    EXPECT(std::fabs(4.0 * inside.read()[0] / (8 * 64 * 200) - 3.14159) < 0.02);

    const int n = 100;
    std::vector<Body> bodies(n);
    for (int i = 0; i < n; ++i)
        bodies[i] = {make_float3(std::sin(i), std::cos(i), i * 0.01f), make_float3(0, 0, 0), 1.0f};
    Body* on_device = to_device(bodies);
    Buffer<float3> out(n);
    forces<<<(n + 63) / 64, 64, 64 * sizeof(float4)>>>(on_device, out.get(), n);
    double total = 0;  // action is reaction
    for (const float3& f : out.read()) total += f.x + f.y + f.z;
    EXPECT(std::fabs(total) < 1e-2);
    CHECK(cudaFree(on_device));

    if (argc > 1) speak<<<2, 32>>>();
    CHECK(cudaDeviceSynchronize());
    std::puts("ok");
    (void)argv;
}
