// Work in streams: what comes before what, and that nothing has run before somebody waits.
#include <thread>

#include "tests/simt/check.cuh"

__global__ void add(int* x, int by) { *x += by; }
__global__ void times(int* x, int by) { *x *= by; }
__global__ void sum(int* out, const int* a, const int* b) { *out = *a + *b; }

int main() {
    int* x;
    CHECK(cudaMalloc(&x, 4 * sizeof(int)));
    CHECK(cudaMemset(x, 0, 4 * sizeof(int)));

    // A diamond: start -> (left, right) -> end.
    cudaStream_t left, right;
    CHECK(cudaStreamCreateWithFlags(&left, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&right, cudaStreamNonBlocking));
    cudaEvent_t start, done;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    add<<<1, 1, 0, left>>>(x, 5);
    CHECK(cudaMemcpyAsync(x + 1, x, sizeof(int), cudaMemcpyDeviceToDevice, left));
    CHECK(cudaEventRecord(start, left));
    CHECK(cudaStreamWaitEvent(right, start, 0));
    times<<<1, 1, 0, left>>>(x, 10);
    times<<<1, 1, 0, right>>>(x + 1, 100);
    CHECK(cudaEventRecord(done, right));
    CHECK(cudaStreamWaitEvent(left, done));
    sum<<<1, 1, 0, left>>>(x + 2, x, x + 1);
    int *result, called = 0;
    CHECK(cudaMallocHost(&result, sizeof(int)));
    *result = -1;
    CHECK(cudaMemcpyAsync(result, x + 2, sizeof(int), cudaMemcpyDeviceToHost, left));
    CHECK(cudaLaunchHostFunc(
        left, [](void* p) { ++*static_cast<int*>(p); }, &called));
    CHECK(cudaStreamSynchronize(left));
    EXPECT(*result == 550 && called == 1);
    EXPECT(cudaEventQuery(done) == cudaSuccess);

    // Asking until it is done.
    for (int i = 0; i < 20; ++i) add<<<1, 1, 0, right>>>(x + 3, 1);
    CHECK(cudaEventRecord(done, right));
    while (cudaEventQuery(done) == cudaErrorNotReady) {}
    CHECK(cudaEventSynchronize(done));
    EXPECT(to_host(x + 3, 1)[0] == 20);

    // The legacy stream and blocking ones wait for each other.
    cudaStream_t blocking;
    CHECK(cudaStreamCreate(&blocking));
    CHECK(cudaMemset(x, 0, sizeof(int)));
    add<<<1, 1, 0, blocking>>>(x, 1);
    times<<<1, 1>>>(x, 7);
    add<<<1, 1, 0, blocking>>>(x, 1);
    EXPECT(to_host(x, 1)[0] == 8);

    // Ordinary memory of the host is read before the call returns.
    int value = 3;
    CHECK(cudaMemcpyAsync(x, &value, sizeof value, cudaMemcpyHostToDevice, blocking));
    value = 4;
    CHECK(cudaStreamSynchronize(blocking));
    EXPECT(to_host(x, 1)[0] == 3);

    // Several threads of the host.
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([x, i] {
            cudaStream_t mine;
            CHECK(cudaStreamCreateWithFlags(&mine, cudaStreamNonBlocking));
            for (int j = 0; j < 10; ++j) add<<<1, 1, 0, mine>>>(x + i, 1);
            CHECK(cudaStreamSynchronize(mine));
            CHECK(cudaStreamDestroy(mine));
        });
    }
    CHECK(cudaMemset(x, 0, 0));
    for (std::thread& t : threads) t.join();
    EXPECT(to_host(x, 4)[3] == 30);

    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(done));
    CHECK(cudaStreamDestroy(left));
    CHECK(cudaStreamDestroy(right));
    CHECK(cudaStreamDestroy(blocking));
    CHECK(cudaFreeHost(result));
    CHECK(cudaFree(x));
    CHECK(cudaDeviceSynchronize());
    std::puts("ok");
}
