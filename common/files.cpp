#include "common/files.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "common/error.hpp"

namespace fs = std::filesystem;

std::string read_file(const std::string& path) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) fail("cannot read %s: it is a folder", path.c_str());
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    if (!file) fail("cannot read %s: %s", path.c_str(), std::strerror(errno));
    std::string bytes(std::istreambuf_iterator<char>(file), {});
    if (file.bad()) fail("cannot read %s to its end", path.c_str());
    return bytes;
}

namespace {

void write_directly(const fs::path& path, const std::string& bytes) {
    errno = 0;
    std::ofstream file(path, std::ios::binary);
    if (file) file.write(bytes.data(), std::streamsize(bytes.size()));
    file.close();
    if (!file) fail("cannot write %s: %s", path.c_str(), std::strerror(errno ? errno : EIO));
}

}  // namespace

void write_file(const std::string& path, const std::string& bytes) {
    std::error_code error;  // a file that is not there yet is no error
    const fs::file_status status = fs::status(path, error);
    if (fs::is_directory(status)) fail("cannot write %s: it is a folder", path.c_str());
    if (fs::exists(status) && !fs::is_regular_file(status)) return write_directly(path, bytes);
    // A link is followed, so that the file it names is replaced and not the link.
    const fs::path target = fs::exists(status) ? fs::canonical(path, error) : fs::path(path);
    const fs::path folder = target.has_parent_path() ? target.parent_path() : ".";
    if (!fs::is_directory(folder, error)) {
        fail("cannot write %s: there is no folder %s", path.c_str(), folder.c_str());
    }
    const fs::path beside = target.string() + ".part." + std::to_string(getpid());
    try {
        write_directly(beside, bytes);
        fs::rename(beside, target, error);
        if (error) fail("cannot write %s: %s", path.c_str(), error.message().c_str());
    } catch (...) {
        fs::remove(beside, error);
        throw;
    }
}
