// What would end the program ends the kernel: an access to no memory at all, and a thread that never comes to an end.
#pragma once

namespace simt {

// While it lives, faults of this thread's simulated threads end their kernel, and so does the end of the time.
class Guard {
  public:
    explicit Guard(double limit_seconds);
    ~Guard();
    Guard(const Guard&) = delete;

  private:
    void* timer_ = nullptr;
};

}  // namespace simt
