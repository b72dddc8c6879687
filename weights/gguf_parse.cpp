#include "weights/gguf_parse.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <sstream>

#include "common/error.hpp"

static_assert(std::endian::native == std::endian::little, "numbers are copied out of the file as they stand");

std::string quoted(std::string_view name) {
    constexpr size_t longest = 80;
    std::string out = "'";
    for (const char c : name.substr(0, longest)) {
        const auto byte = static_cast<unsigned char>(c);
        out += byte < 32 || byte == 127 ? format_text("\\x%02x", byte) : std::string(1, c);
    }
    return out + (name.size() > longest ? "..'" : "'");
}

namespace {

constexpr const char* cut =
    "the file is truncated or damaged; fetch it again (`make model` replaces its own)";

// Walks over the bytes of a file; no step leaves them.
class Reader {
  public:
    Reader(const std::string& path, std::span<const std::byte> bytes) : path_(path), bytes_(bytes) {}

    std::string place = "header";  // what is being read, for errors
    size_t position() const { return position_; }
    size_t remaining() const { return bytes_.size() - position_; }

    template <class... Parts>
    [[noreturn]] void refuse(const Parts&... parts) const {
        std::ostringstream text;
        text << path_ << ": " << place << ' ';
        (text << ... << parts);
        throw Error(text.str());
    }
    std::span<const std::byte> take(uint64_t n_bytes) {
        if (n_bytes > remaining()) {
            refuse("needs ", n_bytes, " bytes at byte ", position_, " of ", bytes_.size(), ": ", cut);
        }
        const auto taken = bytes_.subspan(position_, size_t(n_bytes));
        position_ += size_t(n_bytes);
        return taken;
    }
    template <class T>
    T number() {
        T value;
        std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
        return value;
    }
    std::string_view text() {
        const auto length = number<uint64_t>();
        const auto bytes = take(length);
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
    std::span<const std::byte> since(size_t begin) const { return bytes_.subspan(begin, position_ - begin); }
    // The bytes from the next multiple of `alignment` on; none if the file ends before.
    std::span<const std::byte> rest(uint64_t alignment) const {
        const uint64_t skip = (alignment - position_ % alignment) % alignment;
        return skip > remaining() ? bytes_.last(0) : bytes_.last(remaining() - size_t(skip));
    }

  private:
    const std::string& path_;
    std::span<const std::byte> bytes_;
    size_t position_ = 0;
};

struct Header {
    uint64_t n_tensors, n_entries;
};

Header read_header(Reader& file) {
    const auto magic = file.take(4);
    if (std::memcmp(magic.data(), "GGUF", 4) != 0) {
        file.place = "is not a GGUF file:";
        file.refuse("it begins with ", quoted({reinterpret_cast<const char*>(magic.data()), 4}));
    }
    const auto version = file.number<uint32_t>();
    if (version != 0 && (version & 0xffff) == 0)
        file.refuse("is big-endian; only little-endian files are read");
    if (version != 2 && version != 3) {
        file.refuse("says version ", version, "; versions 2 and 3 are read");
    }
    const auto n_tensors = file.number<uint64_t>(), n_entries = file.number<uint64_t>();
    // The shortest key takes 14 bytes (length, a letter, kind, a byte), the shortest tensor 25.
    if (n_entries > file.remaining() / 14 || n_tensors > file.remaining() / 25) {
        file.refuse("announces ", n_entries, " keys and ", n_tensors, " tensors, too many for the ",
                    file.remaining(), " bytes after it: ", cut);
    }
    return {n_tensors, n_entries};
}

GgufKind read_kind(Reader& file) {
    const auto kind = file.number<uint32_t>();
    if (kind >= std::size(gguf_kinds)) file.refuse("has unknown kind ", kind);
    return GgufKind(kind);
}

GgufEntry read_entry(Reader& file) {
    file.place = "a key";
    GgufEntry entry;
    entry.key = file.text();
    file.place = "key " + quoted(entry.key);
    if (entry.key.empty() || entry.key.size() > 65535) file.refuse("has no name of 1 to 65,535 bytes");
    entry.kind = entry.element = read_kind(file);
    if (entry.kind == GgufKind::array) {
        entry.element = read_kind(file);
        entry.length = file.number<uint64_t>();
        if (entry.element == GgufKind::array) file.refuse("is an array of arrays, which is not read");
    }
    const size_t begin = file.position();
    if (entry.element == GgufKind::text) {
        // Each text takes 8 bytes or more, so a length that lies ends at the end of the file.
        for (uint64_t i = 0; i < entry.length; ++i) file.text();
    } else {
        const size_t n_bytes = info(entry.element).n_bytes;
        if (entry.length > file.remaining() / n_bytes) {  // divided: a product could overflow
            file.refuse("announces ", entry.length, " values in ", file.remaining(), " bytes: ", cut);
        }
        file.take(entry.length * n_bytes);
    }
    entry.bytes = file.since(begin);
    return entry;
}

uint64_t read_alignment(Reader& file, const GgufContents& contents) {
    const auto found = contents.entry_index.find("general.alignment");
    if (found == contents.entry_index.end()) return 32;
    const GgufEntry& entry = contents.entries[found->second];
    file.place = "key 'general.alignment'";
    if (entry.kind != GgufKind::u32) file.refuse("is ", info(entry.kind).name, ", expected u32");
    uint32_t alignment;
    std::memcpy(&alignment, entry.bytes.data(), sizeof alignment);
    if (!std::has_single_bit(alignment)) file.refuse("is ", alignment, ", not a power of two");
    return alignment;
}

struct Extent {  // of a tensor, from the first tensor's byte on
    uint64_t begin, n_bytes;
};

// Reads one tensor's description; its bytes are found when the alignment's padding has been passed.
GgufTensor read_tensor(Reader& file, uint64_t alignment, Extent& extent) {
    file.place = "a tensor's name";
    GgufTensor tensor;
    tensor.name = file.text();
    file.place = "tensor " + quoted(tensor.name);
    if (tensor.name.empty() || tensor.name.size() > 63) file.refuse("has no name of 1 to 63 bytes");
    const auto n_dims = file.number<uint32_t>();
    if (n_dims > 4) file.refuse("has ", n_dims, " dimensions; 4 are the most");
    tensor.n_dims = int(n_dims);
    uint64_t n_elements = 1;
    for (int axis = 0; axis < tensor.n_dims; ++axis) {
        const auto size = file.number<uint64_t>();
        // Bounding the product of the nonzero sizes bounds every size as well.
        if (size > INT64_MAX || n_elements > uint64_t(INT64_MAX) / std::max<uint64_t>(size, 1)) {
            file.refuse("has a dimension of ", size, ": more elements than any file holds");
        }
        tensor.dims[size_t(axis)] = int64_t(size);
        n_elements *= size;
    }
    const auto number = file.number<uint32_t>();
    tensor.format = gguf_format(number);
    if (!tensor.format) file.refuse("has unknown format ", number);
    const auto unit_length = uint64_t(tensor.format->unit_length);
    const auto unit_bytes = uint64_t(tensor.format->unit_bytes);
    if (uint64_t(tensor.dims[0]) % unit_length != 0) {
        file.refuse("has rows of ", tensor.dims[0], " elements, not a multiple of the ", unit_length,
                    " that ", tensor.format->name, " stores together");
    }
    extent.begin = file.number<uint64_t>();
    if (n_elements / unit_length > UINT64_MAX / unit_bytes) file.refuse("has more bytes than any file");
    extent.n_bytes = n_elements / unit_length * unit_bytes;
    if (extent.begin % alignment != 0) {
        file.refuse("has offset ", extent.begin, ", not a multiple of the alignment ", alignment);
    }
    return tensor;
}

void place_tensors(Reader& file, GgufContents& contents, const std::vector<Extent>& extents,
                   uint64_t alignment) {
    const auto data = file.rest(alignment);
    for (size_t i = 0; i < extents.size(); ++i) {
        const auto [begin, n_bytes] = extents[i];
        file.place = "tensor " + quoted(contents.tensors[i].name);
        if (begin > data.size() || n_bytes > data.size() - begin) {
            file.refuse("has ", n_bytes, " bytes at offset ", begin, " of the ", data.size(),
                        " that follow: ", cut);
        }
        contents.tensors[i].bytes = data.subspan(size_t(begin), size_t(n_bytes));
    }
    // In the order of their place, each must end before the next begins. Those without bytes overlap nothing.
    std::vector<const GgufTensor*> order;
    for (const GgufTensor& tensor : contents.tensors) {
        if (!tensor.bytes.empty()) order.push_back(&tensor);
    }
    const auto begin = [](const GgufTensor* tensor) { return tensor->bytes.data(); };
    std::ranges::sort(order, {}, begin);
    for (size_t i = 1; i < order.size(); ++i) {
        if (order[i - 1]->bytes.data() + order[i - 1]->bytes.size() <= order[i]->bytes.data()) continue;
        file.place = "tensor " + quoted(order[i]->name);
        file.refuse("overlaps tensor ", quoted(order[i - 1]->name));
    }
}

}  // namespace

GgufContents parse_gguf(const std::string& path, std::span<const std::byte> bytes) {
    Reader file(path, bytes);
    const Header header = read_header(file);
    GgufContents contents;
    for (uint64_t i = 0; i < header.n_entries; ++i) {
        contents.entries.push_back(read_entry(file));
        const bool is_new = contents.entry_index.emplace(contents.entries.back().key, i).second;
        if (!is_new) file.refuse("appears twice");
    }
    const uint64_t alignment = read_alignment(file, contents);
    std::vector<Extent> extents(size_t(header.n_tensors));  // bounded by the file's size: see read_header
    for (uint64_t i = 0; i < header.n_tensors; ++i) {
        contents.tensors.push_back(read_tensor(file, alignment, extents[size_t(i)]));
        const bool is_new = contents.tensor_index.emplace(contents.tensors.back().name, i).second;
        if (!is_new) file.refuse("appears twice");
    }
    place_tensors(file, contents, extents, alignment);
    return contents;
}
