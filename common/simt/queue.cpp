#include "common/simt/queue.hpp"

#include <algorithm>
#include <set>

namespace simt {

CUstream_st* Queue::create(bool blocking, int priority) {
    streams_.push_back(std::make_unique<CUstream_st>());
    streams_.back()->blocking = blocking;
    streams_.back()->priority = priority;
    return streams_.back().get();
}

bool Queue::knows(const CUstream_st* stream) const {
    return stream == &legacy_ ||
           std::any_of(streams_.begin(), streams_.end(), [&](const auto& s) { return s.get() == stream; });
}

bool Queue::destroy(
    CUstream_st* stream) {  // its work still runs, before what the legacy stream gets from now on
    if (stream != &legacy_ && knows(stream) && stream->blocking) add(legacy_, nullptr);
    return std::erase_if(streams_, [&](const auto& s) { return s.get() == stream; }) > 0;
}

Work Queue::add(CUstream_st& stream, std::function<void()> run) {
    auto work = std::make_shared<Operation>(Operation{n_asked_++, std::move(run), {}});
    const auto comes_after = [&](const Work& other) {
        if (other && !other->done) work->after.push_back(other);
    };
    comes_after(stream.last);
    if (&stream == &legacy_) {
        for (const auto& other : streams_) {
            if (other->blocking) comes_after(other->last);
        }
    } else if (stream.blocking) {
        comes_after(legacy_.last);
    }
    stream.last = work;
    pending_.push_back(work);
    return work;
}

std::vector<Work> Queue::before(const Work& work) const {
    std::vector<Work> found, to_look_at{work};
    std::set<const Operation*> seen;
    while (!to_look_at.empty()) {
        const Work w = to_look_at.back();
        to_look_at.pop_back();
        if (!w || w->done || !seen.insert(w.get()).second) continue;
        found.push_back(w);
        to_look_at.insert(to_look_at.end(), w->after.begin(), w->after.end());
    }
    std::sort(found.begin(), found.end(), [](const Work& a, const Work& b) { return a->number < b->number; });
    return found;
}

void Queue::run(Operation& operation) {
    operation.done = true;  // first: what it runs may look at the queue
    const auto body = std::move(operation.run);
    operation.after.clear();  // a long stream would else be a long chain of ends
    if (body) body();
}

void Queue::finish(const Work& work) {
    for (const Work& w : before(work)) run(*w);
    std::erase_if(pending_, [](const Work& w) { return w->done; });
}

void Queue::finish_all() {
    while (!pending_.empty()) {
        const auto all = std::move(pending_);
        pending_.clear();
        for (const Work& w : all) {
            if (!w->done) run(*w);
        }
    }
}

void Queue::forget_all() {
    for (const Work& w : pending_) w->done = true;
    pending_.clear();
}

bool Queue::step(const Work& work) {
    const auto left = before(work);
    if (!left.empty()) run(*left.front());
    std::erase_if(pending_, [](const Work& w) { return w->done; });
    return !work || work->done;
}

}  // namespace simt
