#include "weights/tiny_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>

#include "common/philox.hpp"
#include "weights/gguf_writer.hpp"

namespace {

// The vocabulary: control tokens 0, 1, 2 as SmolLM2 numbers them, then the bytes, then what merges make.
constexpr const char* control_tokens[] = {"<|endoftext|>", "<|im_start|>", "<|im_end|>"};
constexpr const char* merges[] = {"Ġ t", "h e", "i n", "r e",   "o n",  "Ġt he", "e r", "Ġ a",
                                  "Ġ s", "a t", "Ġ w", "o r",   "Ġ o",  "e n",   "Ġ c", "i t",
                                  "i s", "a n", "n d", "Ġa nd", "in g", "Ġ l",   "l l", "Ġl o"};
constexpr const char* chat_template =
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
    "'<|im_end|>' + "
    "'\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

// A byte as byte-level vocabularies write it (GPT-2's table): printable ones as themselves, the others as the
// code points from 256 on, in order. As UTF-8.
std::string byte_token(int byte) {
    const auto printable = [](int b) { return (b >= 33 && b <= 126) || (b >= 161 && b != 173); };
    int code = byte;
    if (!printable(byte)) {
        code = 256;
        for (int b = 0; b < byte; ++b) code += !printable(b);
    }
    if (code < 128) return std::string(1, char(code));
    return {char(0xC0 | code >> 6), char(0x80 | (code & 63))};
}

int set_vocabulary(GgufWriter& file) {
    std::vector<std::string> tokens(std::begin(control_tokens), std::end(control_tokens));
    std::vector<int32_t> kinds(tokens.size(), 3);  // 3: control
    for (int byte = 0; byte < 256; ++byte) tokens.push_back(byte_token(byte));
    for (std::string merge : merges) { tokens.push_back(merge.erase(merge.find(' '), 1)); }
    kinds.resize(tokens.size(), 1);  // 1: normal
    file.set("llama.vocab_size", uint32_t(tokens.size()));
    file.set("tokenizer.ggml.model", "gpt2");
    file.set("tokenizer.ggml.pre", "smollm");
    file.set("tokenizer.ggml.tokens", tokens);
    file.set("tokenizer.ggml.token_type", kinds);
    file.set("tokenizer.ggml.merges", std::vector<std::string>(std::begin(merges), std::end(merges)));
    file.set("tokenizer.ggml.bos_token_id", uint32_t(1));
    file.set("tokenizer.ggml.eos_token_id", uint32_t(2));
    file.set("tokenizer.ggml.add_bos_token", false);
    file.set("tokenizer.chat_template", chat_template);
    return int(tokens.size());
}

// Stores values from [-limit, limit) as `type`. Block formats take one scale for all, made from the limit.
void store(std::vector<std::byte>& out, Type type, View<const float> values, float limit) {
    const auto append = [&](const auto& unit) {
        const auto bytes = std::as_bytes(std::span(&unit, 1));
        out.insert(out.end(), bytes.begin(), bytes.end());
    };
    const auto nibble = [&](float value) { return std::clamp(int((value / limit + 1) * 8), 0, 15); };
    for (int i = 0; i < values.size(0); i += type_unit_length(type)) {
        const float* x = values.data() + i;
        switch (type) {
            case Type::F32: append(x[0]); break;
            case Type::F16: append(to_half(x[0])); break;
            case Type::BF16: append(to_bf16(x[0])); break;
            case Type::Q8_0: {
                BlockQ8_0 block{to_half(limit / 127), {}};
                for (int j = 0; j < 32; ++j) block.quants[j] = int8_t(std::lround(x[j] / limit * 127));
                append(block);
                break;
            }
            case Type::Q4_0: {
                BlockQ4_0 block{to_half(limit / 8), {}};
                for (int j = 0; j < 16; ++j)
                    block.nibbles[j] = uint8_t(nibble(x[j]) | nibble(x[j + 16]) << 4);
                append(block);
                break;
            }
            case Type::Q4_1: {
                BlockQ4_1 block{to_half(limit / 8), to_half(-limit), {}};
                for (int j = 0; j < 16; ++j)
                    block.nibbles[j] = uint8_t(nibble(x[j]) | nibble(x[j + 16]) << 4);
                append(block);
                break;
            }
        }
    }
}

class Weights {
  public:
    Weights(GgufWriter& file, const TinyModel& shape) : file_(file), shape_(shape) {}

    // Uniform with variance 1 / columns: outputs are then about as large as inputs.
    void matrix(const std::string& name, int rows, int columns) {
        const float limit = std::sqrt(3.0f / float(columns));
        std::vector<std::byte>& bytes = memory_.emplace_back();
        store(bytes, shape_.type, random(rows * columns, 0, limit), limit);
        file_.add(name, Matrix{shape_.type, rows, columns, bytes.data(), Layout::row_major});
    }
    void norm(const std::string& name) {
        std::vector<std::byte>& bytes = memory_.emplace_back();
        store(bytes, Type::F32, random(shape_.d_model, 1, 0.25f), 1);
        file_.add(name, View<const float>(reinterpret_cast<const float*>(bytes.data()), shape_.d_model));
    }

  private:
    Tensor random(int count, float center, float limit) {
        Tensor out(count);
        for (int i = 0; i < count; ++i) {
            out(i) =
                center + limit * (2 * uniform(shape_.seed, uint32_t(i), n_tensors_, Purpose::weights) - 1);
        }
        ++n_tensors_;
        return out;
    }
    GgufWriter& file_;
    const TinyModel& shape_;
    uint32_t n_tensors_ = 0;
    std::deque<std::vector<std::byte>> memory_;  // a deque: what the file looks at never moves
};

void build(const TinyModel& shape, const std::function<void(const GgufWriter&)>& use) {
    const int head_dim = shape.n_heads > 0 ? shape.d_model / shape.n_heads : 0;
    if (shape.n_layers < 1 || shape.n_kv_heads < 1 || head_dim < 2 || head_dim % 2 != 0 || shape.d_ff < 1 ||
        shape.n_heads * head_dim != shape.d_model || shape.n_heads % shape.n_kv_heads != 0) {
        fail("a tiny model cannot have %d layers, width %d, %d and %d heads, feed-forward %d", shape.n_layers,
             shape.d_model, shape.n_heads, shape.n_kv_heads, shape.d_ff);
    }
    GgufWriter file;
    file.set("general.architecture", "llama");
    file.set("general.name", "random weights");
    file.set("llama.block_count", uint32_t(shape.n_layers));
    file.set("llama.context_length", uint32_t(shape.context));
    file.set("llama.embedding_length", uint32_t(shape.d_model));
    file.set("llama.feed_forward_length", uint32_t(shape.d_ff));
    file.set("llama.attention.head_count", uint32_t(shape.n_heads));
    file.set("llama.attention.head_count_kv", uint32_t(shape.n_kv_heads));
    file.set("llama.attention.layer_norm_rms_epsilon", 1e-5f);
    file.set("llama.rope.freq_base", shape.rope_base);
    file.set("llama.rope.dimension_count", uint32_t(head_dim));
    const int vocab_size = set_vocabulary(file);

    Weights weights(file, shape);
    weights.matrix("token_embd.weight", vocab_size, shape.d_model);
    for (int layer = 0; layer < shape.n_layers; ++layer) {
        const std::string prefix = "blk." + std::to_string(layer) + ".";
        weights.norm(prefix + "attn_norm.weight");
        weights.matrix(prefix + "attn_q.weight", shape.d_model, shape.d_model);
        weights.matrix(prefix + "attn_k.weight", shape.n_kv_heads * head_dim, shape.d_model);
        weights.matrix(prefix + "attn_v.weight", shape.n_kv_heads * head_dim, shape.d_model);
        weights.matrix(prefix + "attn_output.weight", shape.d_model, shape.d_model);
        weights.norm(prefix + "ffn_norm.weight");
        weights.matrix(prefix + "ffn_gate.weight", shape.d_ff, shape.d_model);
        weights.matrix(prefix + "ffn_up.weight", shape.d_ff, shape.d_model);
        weights.matrix(prefix + "ffn_down.weight", shape.d_model, shape.d_ff);
    }
    weights.norm("output_norm.weight");
    if (!shape.tied_head) weights.matrix("output.weight", vocab_size, shape.d_model);
    use(file);
}

}  // namespace

GgufFile tiny_model(const TinyModel& shape) {
    std::vector<std::byte> bytes;
    build(shape, [&](const GgufWriter& file) { bytes = file.bytes(); });
    return {"tiny model", std::move(bytes)};
}

void write_tiny_model(const std::string& path, const TinyModel& shape) {
    build(shape, [&](const GgufWriter& file) { file.write(path); });
}
