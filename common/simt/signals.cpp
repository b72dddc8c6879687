#include "common/simt/signals.hpp"

#include <execinfo.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <mutex>

#include "common/error.hpp"
#include "common/simt/fiber.hpp"
#include "common/simt/grid.hpp"
#include "common/simt/location.hpp"
#include "common/simt/settings.hpp"

#if !defined(sigev_notify_thread_id)
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace simt {
namespace {

const int time_is_up = SIGRTMIN + 3;
thread_local constinit bool handling = false;

bool in_kernel(const std::string& at) {
    return at.find(':') != at.npos && at.find("common/simt/") == at.npos;
}

// Where the kernel was when the signal came: of the calls in progress the innermost that is the program's own.
std::string interrupted(const void* context) {
    const std::string at = location(program_counter(context));
    if (in_kernel(at)) return at;
    void* calls[64];
    const int n = backtrace(calls, 64);
    for (int i = 0; i < n; ++i) {
        const std::string call = location(static_cast<char*>(calls[i]) - 1);  // it returns behind the call
        if (in_kernel(call)) return call;
    }
    const Place waited = current_block->place();
    return waited.line > 0 ? format_text("%s:%d", waited.file, waited.line) : at;
}

// Runs on a stack of its own, since the thread's may be the trouble. end_kernel leaves it for good by switching to the
// block's caller, as a longjmp would; with SA_NODEFER no signal stays blocked by that.
void handle(int signal, siginfo_t* info, void* context) {
    if (!current_block) {  // the host's own fault: as without us
        if (signal != time_is_up) std::signal(signal, SIG_DFL);
        return;
    }
    if (handling) return;  // one is enough
    handling = true;
    const std::string where = interrupted(context) + ": ";
    if (signal == time_is_up) {
        end_kernel(cudaErrorLaunchTimeout,
                   where + format_text("hang: after %g s (SIMT_LIMIT) this still runs: %s",
                                       settings().limit_seconds, who().c_str()));
    }
    if (signal == SIGFPE)
        end_kernel(cudaErrorIllegalInstruction, where + "integer division by zero: " + who());
    const char* address = static_cast<char*>(info->si_addr);
    if (current_block->fiber()->stack_holds(address)) {
        end_kernel(cudaErrorHardwareStackError,
                   where + format_text("stack: a thread's %zu KB are full: ", Fiber::stack_bytes / 1024) +
                       who());
    }
    end_kernel(cudaErrorIllegalAddress,
               where + format_text("out-of-bounds: there is no memory at %p: ", info->si_addr) + who());
}

void install() {
    static std::once_flag once;
    std::call_once(once, [] {
        struct sigaction action = {};
        action.sa_sigaction = handle;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, time_is_up}) sigaction(signal, &action, nullptr);
    });
    thread_local char stack[64 * 1024];
    stack_t alternative = {};
    alternative.ss_sp = stack, alternative.ss_size = sizeof stack;
    sigaltstack(&alternative, nullptr);
}

}  // namespace

Guard::Guard(double limit_seconds) : limit_seconds_(limit_seconds) {
    install();
    handling = false;
    sigevent event = {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = time_is_up;
    event.sigev_notify_thread_id = pid_t(syscall(SYS_gettid));
    has_timer_ = timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
    restart();
}

void Guard::restart() {
    if (!has_timer_) return;
    itimerspec when = {};
    when.it_value.tv_sec = time_t(limit_seconds_);
    when.it_value.tv_nsec = long((limit_seconds_ - double(when.it_value.tv_sec)) * 1e9);
    timer_settime(timer_, 0, &when, nullptr);
}

Guard::~Guard() {
    if (has_timer_) timer_delete(timer_);
}

}  // namespace simt
