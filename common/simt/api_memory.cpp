// Memory and copies.
#include <cstring>

#include "common/error.hpp"
#include "common/simt/runtime.hpp"
#include "common/simt/tracer.hpp"

using namespace simt;

namespace {

cudaError allocate(void** p, size_t n_bytes, Allocation::Kind kind, Place place) {
    return call([&] {
        if (!p) return cudaErrorInvalidValue;
        *p = nullptr;
        if (n_bytes == 0) return cudaSuccess;
        *p = runtime().memory.allocate(n_bytes, kind, place);
        if (!*p) return cudaErrorMemoryAllocation;
        if (the_tracer()) the_tracer()->allocated(*p, n_bytes, kind != Allocation::device);
        return cudaSuccess;
    });
}

// All work that may use it comes first, as on a device.
cudaError release(void* p, bool pinned, Place place) {
    return call([&] {
        if (!p) return cudaSuccess;
        runtime().queue.finish_all();
        if (runtime().sticky != cudaSuccess) return runtime().sticky;
        const Allocation* a = runtime().memory.find(p);
        if (a && a->begin == p && !a->freed && (a->kind == Allocation::pinned) != pinned)
            return cudaErrorInvalidValue;
        const Memory::Freed freed = runtime().memory.free(p, place);
        if (freed == Memory::done) return cudaSuccess;
        if (freed == Memory::freed_before) {
            say(format_text("%s:%d: double-free: this memory was freed at %s:%d", place.file, place.line,
                            a->freed_at.file, a->freed_at.line));
        }
        return cudaErrorInvalidValue;
    });
}

bool on_device(const void* p) {
    const Allocation* a = runtime().memory.holds(p) ? runtime().memory.find(p) : nullptr;
    return a && a->kind != Allocation::pinned;
}

// May a copy read or write n bytes here? Host memory may be anywhere; the device's must be one allocation's.
bool within(const void* p, size_t n_bytes) {
    if (!runtime().memory.holds(p)) return true;
    const Allocation* a = runtime().memory.find(p);
    return a && !a->freed && a->holds(p) &&
           n_bytes <= size_t(a->begin + a->n_bytes - static_cast<const char*>(p));
}

struct Copy {
    void* to;
    size_t to_pitch;
    const void* from;
    size_t from_pitch, width, height;

    cudaError check(cudaMemcpyKind kind) const {
        if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
        if (width == 0 || height == 0) return cudaSuccess;
        if (!to || !from) return cudaErrorInvalidValue;
        if (height > 1 && (to_pitch < width || from_pitch < width)) return cudaErrorInvalidPitchValue;
        if (!within(to, to_pitch * (height - 1) + width) ||
            !within(from, from_pitch * (height - 1) + width)) {
            return cudaErrorInvalidValue;
        }
        const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
        const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
        if (to_device && !is_device_address(to)) return cudaErrorInvalidValue;
        if (from_device && !is_device_address(from)) return cudaErrorInvalidValue;
        if (kind == cudaMemcpyHostToDevice && on_device(from) && !managed(from)) return cudaErrorInvalidValue;
        if (kind == cudaMemcpyDeviceToHost && on_device(to) && !managed(to)) return cudaErrorInvalidValue;
        return cudaSuccess;
    }
    static bool managed(const void* p) { return runtime().memory.find(p)->kind == Allocation::managed; }

    void run() const {
        for (size_t row = 0; row < height; ++row) {
            char* const into = static_cast<char*>(to) + row * to_pitch;
            const char* const out_of = static_cast<const char*>(from) + row * from_pitch;
            std::memmove(into, out_of, width);
            if (the_tracer()) the_tracer()->copied(into, out_of, width);
        }
    }
};

cudaError enqueue(cudaStream_t handle, bool wait, std::function<void()> run) {
    CUstream_st* stream = stream_of(handle);
    if (!stream) return cudaErrorInvalidResourceHandle;
    const Work work = runtime().queue.add(*stream, [run = std::move(run)] {
        if (runtime().sticky == cudaSuccess) run();
    });
    return wait ? finish(work) : cudaSuccess;
}

cudaError copy(const Copy& c, cudaMemcpyKind kind, bool wait, cudaStream_t stream) {
    return call([&] {
        if (const cudaError error = c.check(kind); error != cudaSuccess) return error;
        // Ordinary memory of the host: its values are read before the call returns, and a copy into it is then done.
        const bool into_ordinary = !is_device_address(c.to) && !runtime().registered.count(c.to);
        if (!wait && !into_ordinary && !is_device_address(c.from) && c.height > 0) {
            auto staged = std::make_shared<std::vector<char>>(c.width * c.height);
            Copy{staged->data(), c.width, c.from, c.from_pitch, c.width, c.height}.run();
            return enqueue(stream, false, [c, staged] {
                Copy{c.to, c.to_pitch, staged->data(), c.width, c.width, c.height}.run();
            });
        }
        return enqueue(stream, wait || into_ordinary, [c] { c.run(); });
    });
}

cudaError set(void* to, size_t pitch, int value, size_t width, size_t height, bool wait,
              cudaStream_t stream) {
    return call([&] {
        if (width == 0 || height == 0) return cudaSuccess;
        if (!is_device_address(to) || !within(to, pitch * (height - 1) + width)) return cudaErrorInvalidValue;
        return enqueue(stream, wait, [=] {
            for (size_t row = 0; row < height; ++row) {
                std::memset(static_cast<char*>(to) + row * pitch, value, width);
                if (the_tracer()) the_tracer()->wrote(static_cast<char*>(to) + row * pitch, width);
            }
        });
    });
}

}  // namespace

cudaError_t cudaMalloc(void** p, size_t n_bytes, Place place) {
    return allocate(p, n_bytes, Allocation::device, place);
}
cudaError_t cudaMallocAsync(void** p, size_t n_bytes, cudaStream_t, Place place) {
    return allocate(p, n_bytes, Allocation::device, place);
}
cudaError_t cudaMallocManaged(void** p, size_t n_bytes, unsigned, Place place) {
    if (n_bytes == 0) return record(cudaErrorInvalidValue);
    return allocate(p, n_bytes, Allocation::managed, place);
}
cudaError_t cudaMallocHost(void** p, size_t n_bytes, unsigned, Place place) {
    return allocate(p, n_bytes, Allocation::pinned, place);
}
cudaError_t cudaHostAlloc(void** p, size_t n_bytes, unsigned, Place place) {
    return allocate(p, n_bytes, Allocation::pinned, place);
}
cudaError_t cudaMallocPitch(void** p, size_t* pitch, size_t width, size_t height, Place place) {
    *pitch = (width + 511) / 512 * 512;
    return allocate(p, *pitch * height, Allocation::device, place);
}
cudaError_t cudaFree(void* p, Place place) { return release(p, false, place); }
cudaError_t cudaFreeHost(void* p, Place place) { return release(p, true, place); }
cudaError_t cudaFreeAsync(void* p, cudaStream_t stream, Place place) {
    return call([&] { return enqueue(stream, false, [p, place] { runtime().memory.free(p, place); }); });
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
    return call([&] {
        if (!runtime().memory.holds(host) && !runtime().registered.count(host)) return cudaErrorInvalidValue;
        *device = host;
        return cudaSuccess;
    });
}
cudaError_t cudaHostRegister(void* p, size_t n_bytes, unsigned, Place) {
    return call([&] {
        if (!p || !n_bytes) return cudaErrorInvalidValue;
        return runtime().registered.emplace(p, n_bytes).second ? cudaSuccess
                                                               : cudaErrorHostMemoryAlreadyRegistered;
    });
}
cudaError_t cudaHostUnregister(void* p) {
    return call(
        [&] { return runtime().registered.erase(p) ? cudaSuccess : cudaErrorHostMemoryNotRegistered; });
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
    return call([&] {
        *total = Memory::capacity, *free = Memory::capacity - runtime().memory.n_used();
        return cudaSuccess;
    });
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* p) {
    return call([&] {
        *attributes = {};
        const Allocation* a = runtime().memory.holds(p) ? runtime().memory.find(p) : nullptr;
        if (!a || a->freed || !a->holds(p)) return attributes->device = -2, cudaSuccess;
        void* const same = const_cast<void*>(p);
        attributes->type = a->kind == Allocation::device    ? cudaMemoryTypeDevice
                           : a->kind == Allocation::managed ? cudaMemoryTypeManaged
                                                            : cudaMemoryTypeHost;
        attributes->devicePointer = same;
        attributes->hostPointer = a->kind == Allocation::device ? nullptr : same;
        return cudaSuccess;
    });
}
cudaError_t cudaMemPrefetchAsync(const void*, size_t, int, cudaStream_t) {
    return call([] { return cudaSuccess; });
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t n_bytes, cudaMemcpyKind kind, Place) {
    return copy({to, n_bytes, from, n_bytes, n_bytes, 1}, kind, true, nullptr);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t n_bytes, cudaMemcpyKind kind,
                            cudaStream_t stream, Place) {
    return copy({to, n_bytes, from, n_bytes, n_bytes, 1}, kind, false, stream);
}
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                         size_t height, cudaMemcpyKind kind, Place) {
    return copy({to, to_pitch, from, from_pitch, width, height}, kind, true, nullptr);
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream, Place) {
    return copy({to, to_pitch, from, from_pitch, width, height}, kind, false, stream);
}
cudaError_t cudaMemset(void* to, int value, size_t n_bytes, Place) {
    return set(to, n_bytes, value, n_bytes, 1, true, nullptr);
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t n_bytes, cudaStream_t stream, Place) {
    return set(to, n_bytes, value, n_bytes, 1, false, stream);
}
cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height, Place) {
    return set(to, pitch, value, width, height, true, nullptr);
}
cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream, Place) {
    return set(to, pitch, value, width, height, false, stream);
}

cudaError_t simt::copy_symbol(void* to, const void* from, size_t n_bytes, cudaMemcpyKind kind, bool wait,
                              cudaStream_t stream, const void*, size_t symbol_bytes, size_t offset, Place) {
    if (offset > symbol_bytes || n_bytes > symbol_bytes - offset) return record(cudaErrorInvalidValue);
    return copy({to, n_bytes, from, n_bytes, n_bytes, 1}, kind, wait, stream);
}
