// What would end the program ends the kernel: an access to no memory at all, and a thread that never comes to an end.
#pragma once

namespace simt {

// While it lives, faults of this thread's simulated threads end their kernel, and so does the end of the time.
class Guard {
  public:
    explicit Guard(double limit_seconds);
    ~Guard();
    Guard(const Guard&) = delete;
    void restart();  // the time

  private:
    double limit_seconds_;
    bool has_timer_ = false;
    void* timer_ = nullptr;  // the first one's name is 0
};

}  // namespace simt
