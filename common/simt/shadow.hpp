// What is known about each byte of a range of memory that kernels use: has it been written, and who touched it last?
#pragma once

#include <cstddef>
#include <cstdint>

namespace simt {

// Who accessed a word last, and when: an epoch is a stretch of time between two points where threads meet.
struct Access {
    uint32_t epoch = 0;
    unsigned thread : 10 = 0;
    unsigned block : 16 = 0;  // its number, modulo any_block
    unsigned bytes : 4 = 0;   // which of the word's; 0: nobody has accessed it
    unsigned many : 1 =
        0;  // several threads have: of one warp where thread is a multiple of 32, else of several
    unsigned atomic : 1 = 0;  // or volatile

    static constexpr unsigned any_block = 0xffff;
};
static_assert(sizeof(Access) == 8);

struct Word {  // four bytes
    Access write, read;
};

// Memory that the system gives when it is touched, zero at first: of a range of gigabytes only what is used costs.
class Shadow {
  public:
    Shadow(const void* begin, size_t n_bytes);
    ~Shadow();
    Shadow(const Shadow&) = delete;

    bool holds(const void* p) const { return size_t(static_cast<const char*>(p) - begin_) < n_bytes_; }
    uint8_t* written(const void* p) const { return written_ + (static_cast<const char*>(p) - begin_); }
    Word& word(const void* p) const { return words_[size_t(static_cast<const char*>(p) - begin_) / 4]; }

  private:
    const char* begin_;
    size_t n_bytes_;
    uint8_t* written_;  // 1: this byte has a value
    Word* words_;
};

}  // namespace simt
