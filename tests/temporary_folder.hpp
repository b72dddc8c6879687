// A folder that goes with the test case.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "common/error.hpp"

struct TemporaryFolder {
    std::filesystem::path path;
    TemporaryFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "from_loops_XXXXXX").string();
        if (!mkdtemp(name.data())) fail("no temporary folder: %s", name.c_str());
        path = name;
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    ~TemporaryFolder() { std::filesystem::remove_all(path); }
    std::string operator/(const std::string& name) const { return (path / name).string(); }
    size_t n_files() const { return size_t(std::distance(std::filesystem::directory_iterator(path), {})); }
};
