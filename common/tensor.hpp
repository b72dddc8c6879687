// Shapes and memory for everything in this book: a View looks at numbers that somebody else owns,
// a Tensor owns them. Both are contiguous, row-major, with up to four sizes. There is no
// broadcasting, no stride and no expression: a loop says what happens.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "common/error.hpp"

struct Shape {
    std::array<int, 4> sizes{};
    int rank = 0;

    Shape() = default;
    template <class... Sizes>
    requires(sizeof...(Sizes) <= 4 && (std::is_convertible_v<Sizes, int> && ...)) explicit Shape(Sizes... n)
        : sizes{int(n)...}, rank(int(sizeof...(n))) {}

    bool operator==(const Shape&) const = default;

    // Elements in all; one for a shape without sizes.
    size_t count() const {
        size_t n = 1;
        for (int axis = 0; axis < rank; ++axis) n *= size_t(sizes[size_t(axis)]);
        return n;
    }
    std::string text() const {  // "[3, 9, 64]"
        std::string out = "[";
        for (int axis = 0; axis < rank; ++axis) {
            out += (axis ? ", " : "") + std::to_string(sizes[size_t(axis)]);
        }
        return out + "]";
    }
};

template <class T>
class View {
  public:
    View() = default;
    View(T* data, Shape shape) : data_(data), shape_(shape) {}
    template <class... Sizes>
    requires(sizeof...(Sizes) >= 1 && (std::is_convertible_v<Sizes, int> && ...)) View(T* data, Sizes... n)
        : View(data, Shape(n...)) {}
    View(std::vector<std::remove_const_t<T>>& v) : View(v.data(), int(v.size())) {}
    View(const std::vector<std::remove_const_t<T>>& v) requires std::is_const_v<T>
        : View(v.data(), int(v.size())) {}
    operator View<const T>() const requires(!std::is_const_v<T>) { return {data_, shape_}; }

    T* data() const { return data_; }
    const Shape& shape() const { return shape_; }
    int rank() const { return shape_.rank; }
    int size(int axis) const { return shape_.sizes[size_t(axis)]; }
    size_t count() const { return data_ ? shape_.count() : 0; }
    std::span<T> flat() const { return {data_, count()}; }
    T* begin() const { return data_; }
    T* end() const { return data_ + count(); }

    // One element: as many indices as the view has sizes.
    template <class... Index>
    T& operator()(Index... index) const {
        assert(int(sizeof...(index)) == rank());
        size_t offset = 0;
        int axis = 0;
        ((assert(int(index) >= 0 && int(index) < size(axis)),
          offset = offset * size_t(shape_.sizes[size_t(axis)]) + size_t(index), ++axis),
         ...);
        return data_[offset];
    }
    // Entry i of the first axis: of a view [n_tokens, d_model], the vector of token i.
    View row(int i) const { return rows(i, i + 1).drop_axis(); }
    // Entries begin .. end - 1 of the first axis.
    View rows(int first, int last) const {
        assert(rank() >= 1 && first >= 0 && first <= last && last <= size(0));
        Shape shape = shape_;
        shape.sizes[0] = last - first;
        const size_t per_row = shape_.sizes[0] ? shape_.count() / size_t(shape_.sizes[0]) : 0;
        return {data_ + size_t(first) * per_row, shape};
    }
    // The same numbers under other sizes, for example [n_tokens, n_heads * head_dim] by head.
    template <class... Sizes>
    View reshape(Sizes... n) const {
        if (Shape(n...).count() != shape_.count()) {
            fail("cannot view %s as %s", shape_.text().c_str(), Shape(n...).text().c_str());
        }
        return {data_, Shape(n...)};
    }
    template <class... Sizes>
    void require_shape(const char* name, Sizes... n) const {
        if (shape_ != Shape(n...)) {
            fail("%s has shape %s, expected %s", name, shape_.text().c_str(), Shape(n...).text().c_str());
        }
    }

  private:
    View drop_axis() const {
        Shape shape;
        shape.rank = shape_.rank - 1;
        for (int axis = 0; axis < shape.rank; ++axis) shape.sizes[size_t(axis)] = size(axis + 1);
        return {data_, shape};
    }
    T* data_ = nullptr;
    Shape shape_;
};

// 64 bytes: a cache line, and the widest SIMD register.
template <class T>
struct AlignedAllocator {
    using value_type = T;
    AlignedAllocator() = default;
    template <class U>
    AlignedAllocator(const AlignedAllocator<U>&) {}
    T* allocate(size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t(64))); }
    void deallocate(T* p, size_t) { ::operator delete(p, std::align_val_t(64)); }
    bool operator==(const AlignedAllocator&) const { return true; }
};

// Owns its floats, zero at first.
class Tensor : public View<float> {
  public:
    Tensor() = default;
    template <class... Sizes>
    requires(sizeof...(Sizes) >= 1 && (std::is_convertible_v<Sizes, int> && ...)) explicit Tensor(Sizes... n)
        : Tensor(Shape(n...)) {}
    explicit Tensor(Shape shape) : memory_(shape.count()) { see(shape); }
    Tensor(const Tensor& other) : View(), memory_(other.memory_) { see(other.shape()); }
    Tensor(Tensor&& other) noexcept : View(), memory_(std::move(other.memory_)) { see(other.shape()); }
    Tensor& operator=(Tensor other) noexcept {
        memory_.swap(other.memory_);
        see(other.shape());
        return *this;
    }

  private:
    void see(Shape shape) { static_cast<View<float>&>(*this) = View<float>(memory_.data(), shape); }
    std::vector<float, AlignedAllocator<float>> memory_;
};
