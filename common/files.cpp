#include "common/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "common/error.hpp"

namespace fs = std::filesystem;

std::string read_file(const std::string& path, size_t most) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe must not block here ..
    if (file < 0) fail("cannot read %s: %s", path.c_str(), std::strerror(errno));
    fcntl(file, F_SETFL, 0);  // .. but a writer that is there is waited for
    std::string bytes, block(size_t(1) << 16, '\0');
    ssize_t n = 0;
    while (bytes.size() <= most && (n = read(file, block.data(), block.size())) > 0) {
        bytes.append(block, 0, size_t(n));
    }
    const int error = errno;
    close(file);
    if (n < 0) fail("cannot read %s: %s", path.c_str(), std::strerror(error));
    if (bytes.size() > most) fail("cannot read %s: it has more than %zu bytes", path.c_str(), most);
    return bytes;
}

namespace {

[[noreturn]] void refuse(const std::string& path, const char* why) {
    fail("cannot write %s: %s", path.c_str(), why);
}

void write_and_close(int file, const std::string& path, const std::string& bytes) {
    size_t done = 0;
    ssize_t n = 0;
    while (done < bytes.size() && (n = write(file, bytes.data() + done, bytes.size() - done)) > 0) {
        done += size_t(n);
    }
    const int error = errno;
    if (close(file) != 0 && done == bytes.size()) refuse(path, std::strerror(errno));
    if (done < bytes.size()) refuse(path, std::strerror(error));
}

// A pipe that nobody reads must not block.
void write_device(const std::string& path, const std::string& bytes) {
    const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) refuse(path, errno == ENXIO ? "nobody reads it" : std::strerror(errno));
    fcntl(file, F_SETFL, 0);
    write_and_close(file, path, bytes);
}

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : "."; }

}  // namespace

void check_writable(const std::string& path) {
    std::error_code error;  // a file that is not there yet is no error
    const fs::file_status status = fs::status(path, error);
    if (path.empty()) refuse(path, "its name is empty");
    if (fs::is_directory(status)) refuse(path, "it is a folder");
    if (fs::exists(status) && access(path.c_str(), W_OK) != 0) refuse(path, std::strerror(errno));
    if (fs::exists(status) && !fs::is_regular_file(status)) return;
    if (!fs::exists(status) && fs::is_symlink(path, error)) refuse(path, "it is a link to nothing");
    const fs::path folder = folder_of(fs::exists(status) ? fs::canonical(path, error) : fs::path(path));
    if (!fs::is_directory(folder, error)) refuse(path, ("there is no folder " + folder.string()).c_str());
    if (access(folder.c_str(), W_OK | X_OK) != 0) {
        refuse(path, format_text("its folder: %s", std::strerror(errno)).c_str());
    }
}

void write_file(const std::string& path, const std::string& bytes) {
    check_writable(path);
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (fs::exists(status) && !fs::is_regular_file(status)) return write_device(path, bytes);
    // A link is followed, so that the file it names is replaced and not the link.
    const fs::path target = fs::exists(status) ? fs::canonical(path, error) : fs::path(path);
    const fs::path beside = folder_of(target) / (".part." + std::to_string(getpid()));
    fs::remove(beside, error);  // of a process that was killed
    const int file = open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) refuse(path, std::strerror(errno));
    try {
        if (fs::exists(status)) fchmod(file, mode_t(status.permissions()));
        write_and_close(file, path, bytes);
        fs::rename(beside, target, error);
        if (error) refuse(path, error.message().c_str());
    } catch (...) {
        fs::remove(beside, error);
        throw;
    }
}
