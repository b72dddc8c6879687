#include "weights/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/error.hpp"

MappedFile::MappedFile(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe must not block here
    if (file < 0) fail("cannot open %s: %s", path.c_str(), std::strerror(errno));
    struct stat status {};
    const bool known = fstat(file, &status) == 0;
    void* memory = MAP_FAILED;
    if (known && S_ISREG(status.st_mode) && status.st_size > 0) {
        memory = mmap(nullptr, size_t(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    }
    const int error = errno;
    close(file);  // the mapping stays
    if (known && !S_ISREG(status.st_mode)) fail("%s is not a file", path.c_str());
    if (known && status.st_size == 0) fail("%s is empty", path.c_str());
    if (memory == MAP_FAILED) fail("cannot map %s: %s", path.c_str(), std::strerror(error));
    bytes_ = {static_cast<const std::byte*>(memory), size_t(status.st_size)};
}

MappedFile::~MappedFile() {
    if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}
