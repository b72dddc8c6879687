// Streams and events.
#include <chrono>

#include "common/simt/runtime.hpp"

using namespace simt;

namespace {

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<std::unique_ptr<CUevent_st>>& events() {
    static auto* all = new std::vector<std::unique_ptr<CUevent_st>>;
    return *all;
}
bool known(const CUevent_st* event) {
    for (const auto& e : events()) {
        if (e.get() == event) return true;
    }
    return false;
}

template <class Body>
cudaError with(cudaStream_t handle, Body body) {
    return call([&] {
        CUstream_st* stream = stream_of(handle);
        return stream ? body(*stream) : cudaErrorInvalidResourceHandle;
    });
}
template <class Body>
cudaError with(cudaEvent_t event, Body body) {
    return call([&] { return known(event) ? body(*event) : cudaErrorInvalidResourceHandle; });
}

// Asking runs one piece of what is asked about, so that a host which asks until it is done comes to an end.
cudaError query(const Work& work) {
    if (!work || work->done) return cudaSuccess;
    const bool done = runtime().queue.step(work);
    if (runtime().sticky != cudaSuccess) return runtime().sticky;
    return done ? cudaSuccess : cudaErrorNotReady;
}

}  // namespace

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
    return call([&] {
        if (!stream || flags > cudaStreamNonBlocking) return cudaErrorInvalidValue;
        *stream = runtime().queue.create(flags != cudaStreamNonBlocking, priority);
        return cudaSuccess;
    });
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    return call(
        [&] { return runtime().queue.destroy(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle; });
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    return with(stream, [](CUstream_st& s) { return finish(s.last); });
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
    return with(stream, [](CUstream_st& s) { return query(s.last); });
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
    return with(stream, [&](CUstream_st& s) { return *priority = s.priority, cudaSuccess; });
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
    return with(stream, [&](CUstream_st& s) {
        *flags = s.blocking ? cudaStreamDefault : cudaStreamNonBlocking;
        return cudaSuccess;
    });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    return with(stream, [&](CUstream_st& s) {
        if (!known(event)) return cudaErrorInvalidResourceHandle;
        if (event->recorded &&
            !event->recorded->done) {  // what is recorded now counts, not what may be later
            runtime().queue.add(s, nullptr)->after.push_back(event->recorded);
        }
        return cudaSuccess;
    });
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
    return with(stream, [&](CUstream_st& s) {
        if (!function) return cudaErrorInvalidValue;
        runtime().queue.add(s, [=] { function(data); });
        return cudaSuccess;
    });
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned) {
    return with(stream, [&](CUstream_st& s) {
        if (!callback) return cudaErrorInvalidValue;
        runtime().queue.add(s, [=] { callback(stream, runtime().sticky, data); });
        return cudaSuccess;
    });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }
cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned flags) {
    return cudaEventCreateWithFlags(event, flags);
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
    return call([&] {
        if (!event) return cudaErrorInvalidValue;
        events().push_back(std::make_unique<CUevent_st>());
        *event = events().back().get();
        (*event)->with_time = !(flags & cudaEventDisableTiming);
        return cudaSuccess;
    });
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    return with(event, [](CUevent_st& gone) {
        std::erase_if(events(), [&](const auto& e) { return e.get() == &gone; });
        return cudaSuccess;
    });
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return with(event, [&](CUevent_st& e) {
        CUstream_st* s = stream_of(stream);
        if (!s) return cudaErrorInvalidResourceHandle;
        e.recorded = runtime().queue.add(*s, [event] {
            if (known(event)) event->seconds = now();
        });
        return cudaSuccess;
    });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    return with(event, [](CUevent_st& e) { return finish(e.recorded); });
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
    return with(event, [](CUevent_st& e) { return query(e.recorded); });
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
    return call([&] {
        if (!known(start) || !known(end)) return cudaErrorInvalidResourceHandle;
        if (!milliseconds || !start->with_time || !end->with_time || !start->recorded || !end->recorded) {
            return cudaErrorInvalidResourceHandle;
        }
        if (!start->recorded->done || !end->recorded->done) return cudaErrorNotReady;
        *milliseconds = float(1e3 * (end->seconds - start->seconds));
        static const bool told = (std::atexit([] {
                                      say("simt: the times of cudaEventElapsedTime are those of the "
                                          "simulation on this CPU, not of a GPU");
                                  }),
                                  true);
        (void)told;
        return cudaSuccess;
    });
}
