// A launch: kernel<<<grid, block, shared, stream>>>(arguments), as the translator writes it.
#pragma once

#include <cstddef>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "common/simt/include/simt/types.hpp"

typedef struct CUstream_st* cudaStream_t;

namespace simt {

struct Config {
    dim3 grid, block;
    size_t shared_bytes;  // dynamic
    cudaStream_t stream;
    Place place;
    bool cooperative = false;
    Config(dim3 grid_, dim3 block_, size_t shared_bytes_ = 0, cudaStream_t stream_ = nullptr,
           Place place_ = Place::here())
        : grid(grid_), block(block_), shared_bytes(shared_bytes_), stream(stream_), place(place_) {}
};

// A kernel with its arguments, as a stream or a graph keeps it.
struct Call {
    const char* name;
    void* function;  // null where only its name is known
    std::shared_ptr<void> arguments;
    size_t n_argument_bytes;
    void (*run)(void* function, void* arguments);  // one thread
};

// What is known of a kernel whose bare address is given: cudaLaunchKernel, graph nodes.
struct Signature {
    const char* name;
    std::shared_ptr<void> (*arguments)(void** at);  // copies of what the pointers point at
    size_t n_argument_bytes;
    void (*run)(void* function, void* arguments);
};
void know(const void* function, const Signature& signature);
const Signature* signature_of(const void* function);  // null: never heard of

// Into the stream's queue. Errors are those that cudaGetLastError gives.
void launch(const Call& call, const Config& config);

// The function's parameters are known: arguments are converted to them here, as nvcc does.
template <class... Parameter>
struct Typed {
    void (*function)(Parameter...);
    const char* name = nullptr;
    const Config* config = nullptr;

    using Arguments = std::tuple<std::remove_cv_t<Parameter>...>;
    static void run(void* function, void* arguments) {
        // Each thread has a copy of its own, which it may change.
        std::apply(reinterpret_cast<void (*)(Parameter...)>(function), *static_cast<Arguments*>(arguments));
    }
    template <size_t... i>
    static std::shared_ptr<void> copied(void** at, std::index_sequence<i...>) {
        return std::make_shared<Arguments>(*static_cast<std::remove_cv_t<Parameter>*>(at[i])...);
    }
    static Signature signature(const char* name) {
        return {name, [](void** at) { return copied(at, std::index_sequence_for<Parameter...>()); },
                sizeof(Arguments), &run};
    }
    void operator()(Parameter... parameter) const {
        launch({name, reinterpret_cast<void*>(function), std::make_shared<Arguments>(std::move(parameter)...),
                sizeof(Arguments), &run},
               *config);
    }
};

// A template whose arguments follow from the call.
template <class Kernel>
struct Deduced {
    Kernel kernel;
    const char* name = nullptr;
    const Config* config = nullptr;

    template <class... Argument>
    void operator()(Argument... argument) const {
        using Both = std::pair<Kernel, std::tuple<Argument...>>;
        launch({name, nullptr,
                std::make_shared<Both>(kernel, std::tuple<Argument...>(std::move(argument)...)), sizeof(Both),
                [](void*, void* both) {
                    std::apply(static_cast<Both*>(both)->first, static_cast<Both*>(both)->second);
                }},
               *config);
    }
};

struct Pick {
    // Of an overloaded name Function cannot be deduced: then it is the call that decides.
    template <class Function>
    static auto typed(Function* function) {
        return typed_as(function);
    }
    template <class... Parameter>
    static Typed<Parameter...> typed_as(void (*function)(Parameter...)) {
        return {function};
    }
    template <class Function>
    static void know(Function* function, const char* name) {
        simt::know(reinterpret_cast<const void*>(function), decltype(typed_as(function))::signature(name));
    }
    template <class Kernel>
    static Deduced<Kernel> deduced(Kernel kernel) {
        return {std::move(kernel)};
    }
};

// The translator's note on each kernel of a program.
template <class PickKernel>
int know(PickKernel pick) {
    pick(Pick());
    return 0;
}

// pick(Pick()) -> one of the two above.
template <class PickKernel>
auto kernel(PickKernel pick, const char* name, const Config& config) {
    auto launcher = pick(Pick());
    launcher.name = name, launcher.config = &config;
    return launcher;
}

}  // namespace simt
