// Runs a program of the build as a user does, and gives back what it said.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "common/error.hpp"
#include "common/files.hpp"
#include "tests/temporary_folder.hpp"

struct Ran {
    int status = -1;  // 128 + the signal's number when one ended it
    std::string out, err;
    size_t err_lines() const { return size_t(std::count(err.begin(), err.end(), '\n')); }
};

// The program `name` beside the folder of this test program: build/tests/test_x -> build/name.
inline std::string program_path(const std::string& name) {
    std::error_code none;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", none);
    return ((none ? "build" : self.parent_path().parent_path()) / name).string();
}

struct RunHow {
    std::string out = "";    // a path that standard output goes to, or "closed"; "": into Ran
    bool interrupt = false;  // Ctrl-C as soon as something has been written
};

inline Ran run_program_at(const std::string& program, std::vector<std::string> arguments,
                          const RunHow& how = {}) {
    const TemporaryFolder folder;
    const std::string out = how.out.empty() ? folder / "out" : how.out, err = folder / "err";
    arguments.insert(arguments.begin(), program);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    const pid_t child = fork();
    if (child < 0) fail("cannot start %s", program.c_str());
    if (child == 0) {
        const auto redirect = [](const std::string& path, int to) {
            const int file = open(path.c_str(), O_WRONLY | O_CREAT, 0600);
            if (file < 0 || dup2(file, to) < 0) _exit(126);
            close(file);
        };
        if (out == "closed")
            close(STDOUT_FILENO);
        else
            redirect(out, STDOUT_FILENO);
        redirect(err, STDERR_FILENO);
        execv(program.c_str(), argv.data());
        _exit(127);
    }
    if (how.interrupt) {
        std::error_code none;
        for (int i = 0; i < 6000 && (std::filesystem::file_size(out, none) == 0 || none); ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        kill(child, SIGINT);
    }
    int status = 0;
    waitpid(child, &status, 0);
    Ran ran;
    ran.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (how.out.empty()) ran.out = read_file(out);
    ran.err = read_file(err);
    return ran;
}
