// Streams and events: work that was asked for and has not run. Nothing runs before somebody waits for it or asks
// whether it is done, so that a program which forgets to wait sees old data here each time, not now and then.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "common/simt/include/simt/types.hpp"

namespace simt {

struct Operation {
    uint64_t number;  // in the order of asking; it comes after operations with smaller numbers only
    std::function<void()> run;
    std::vector<std::shared_ptr<Operation>> after;
    bool done = false;
};
using Work = std::shared_ptr<Operation>;

}  // namespace simt

struct CUstream_st {
    bool blocking = true;  // the legacy stream waits for it, and it for the legacy stream
    int priority = 0;
    simt::Work last;
};

struct CUevent_st {
    bool with_time = true;
    simt::Work recorded;
    double seconds = 0;  // of the simulation, when it was reached
};

namespace simt {

class Queue {
  public:
    CUstream_st* create(bool blocking, int priority);
    bool destroy(CUstream_st* stream);  // false: there is no such stream
    bool knows(const CUstream_st* stream) const;
    CUstream_st& legacy() { return legacy_; }

    Work add(CUstream_st& stream, std::function<void()> run);
    // Runs the work and all that comes before it.
    void finish(const Work& work);
    void finish_all();
    void forget_all();  // without running it
    // Runs one operation that the work waits for, or itself. -> is it done?
    bool step(const Work& work);

  private:
    std::vector<Work> before(const Work& work) const;  // what has not run, itself included, in order
    void run(Operation& operation);

    CUstream_st legacy_;
    std::vector<std::unique_ptr<CUstream_st>> streams_;
    std::vector<Work> pending_;  // in order
    uint64_t n_asked_ = 0;
};

}  // namespace simt
