"""Tiny random `llama` files, one feature or weight type each, and what two implementations compute with them."""
import tempfile
from pathlib import Path

import gguf
import numpy as np

from bpe import byte_alphabet, mapped
from f32_copy import f32_copy
from llama import Llama
from numpy_llama import NumpyLlama, norm_wise_error

F32, F16, BF16 = gguf.GGMLQuantizationType.F32, gguf.GGMLQuantizationType.F16, gguf.GGMLQuantizationType.BF16
Q8_0, Q4_0, Q4_1 = gguf.GGMLQuantizationType.Q8_0, gguf.GGMLQuantizationType.Q4_0, gguf.GGMLQuantizationType.Q4_1

SMALL = dict(d_model=32, n_heads=2, n_kv_heads=1, head_dim=16, d_ff=64, pre="smollm", base=100000.0)
WIDER = SMALL | dict(d_model=64, n_heads=4, n_kv_heads=2, d_ff=96)

# name -> what is particular about the file
FILES = {
    "f32_odd": SMALL | dict(type=F32, d_model=40, head_dim=20, d_ff=33),
    "f16_rope_freqs": SMALL | dict(type=F16, rope_freqs=True, base=10000.0, pre="gpt-2"),
    "f16_wide_heads": SMALL | dict(type=F16, n_heads=3, key_length=True),   # 3 x 16 is not d_model
    "bf16_untied": SMALL | dict(type=BF16, head="own"),
    "q8_0_bos": SMALL | dict(type=Q8_0, n_kv_heads=2, add_bos=True, pre="llama-bpe"),
    "q4_0": WIDER | dict(type=Q4_0),
    "q4_0_head_present": WIDER | dict(type=Q4_0, head="copy", same_as="q4_0"),
    "q4_1": WIDER | dict(type=Q4_1, n_kv_heads=1, embedding=Q8_0),          # the mixture of the real file
}

CORPUS = ("the tide comes in and the tide goes out; the sand is what the tide has read and set aside. "
          "a loop reads a number, adds it to a sum, and reads the next number until the numbers end. ") * 2
PROMPTS = ["t", "the sand reads 12 numbers", "A loop, a sum; the tide comes in, and then\n  the tide goes out (again)."]


def train_merges(n_merges):
    """Byte-pair merges of CORPUS: the most frequent pair, first seen on a tie."""
    words = [mapped((" " if i else "") + w) for i, w in enumerate(CORPUS.split())]
    words = [list(w) for w in words]
    merges = []
    while len(merges) < n_merges:
        counts = {}
        for word in words:
            for pair in zip(word, word[1:]): counts[pair] = counts.get(pair, 0) + 1
        best = max(counts, key=counts.get)
        merges.append(best)
        for word in words:
            i = 0
            while i + 1 < len(word):
                if (word[i], word[i + 1]) == best: word[i:i + 2] = ["".join(best)]
                i += 1
    return merges


def write_file(path, spec, seed):
    random = np.random.default_rng(seed)
    merges = train_merges(22)
    pieces = ["<|endoftext|>", "<|bos|>", "<|stop|>", *byte_alphabet().values(), *("".join(m) for m in merges)]
    kinds = [gguf.TokenType.CONTROL] * 3 + [gguf.TokenType.NORMAL] * (len(pieces) - 3)
    d_model, d_ff, head_dim, n_layers = spec["d_model"], spec["d_ff"], spec["head_dim"], 2
    q_size, kv_size = spec["n_heads"] * head_dim, spec["n_kv_heads"] * head_dim

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(f"tiny {path.stem}")
    writer.add_block_count(n_layers)
    writer.add_context_length(256)
    writer.add_embedding_length(d_model)
    writer.add_feed_forward_length(d_ff)
    writer.add_head_count(spec["n_heads"])
    writer.add_head_count_kv(spec["n_kv_heads"])
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(spec["base"])
    writer.add_rope_dimension_count(head_dim)
    writer.add_vocab_size(len(pieces))
    if spec.get("key_length"):
        writer.add_key_length(head_dim)
        writer.add_value_length(head_dim)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(spec["pre"])
    writer.add_token_list(pieces)
    writer.add_token_types(kinds)
    writer.add_token_merges([" ".join(m) for m in merges])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(bool(spec.get("add_bos")))

    def matrix(name, rows, columns, kind, scale):
        values = (random.standard_normal((rows, columns)) * scale).astype(np.float32)
        data = gguf.quants.quantize(values, kind)
        writer.add_tensor(name, data, raw_dtype=kind)
        return data

    def norm(name):
        writer.add_tensor(name, (1 + 0.2 * random.standard_normal(d_model)).astype(np.float32))

    kind = spec["type"]
    embedding = matrix("token_embd.weight", len(pieces), d_model, spec.get("embedding", kind), 0.6)
    for i in range(n_layers):
        layer = f"blk.{i}"
        norm(f"{layer}.attn_norm.weight")
        matrix(f"{layer}.attn_q.weight", q_size, d_model, kind, 1.5 * d_model ** -0.5)
        matrix(f"{layer}.attn_k.weight", kv_size, d_model, kind, 1.5 * d_model ** -0.5)
        matrix(f"{layer}.attn_v.weight", kv_size, d_model, kind, d_model ** -0.5)
        matrix(f"{layer}.attn_output.weight", d_model, q_size, kind, 2.0 * q_size ** -0.5)
        norm(f"{layer}.ffn_norm.weight")
        matrix(f"{layer}.ffn_gate.weight", d_ff, d_model, kind, 1.5 * d_model ** -0.5)
        matrix(f"{layer}.ffn_up.weight", d_ff, d_model, kind, 1.5 * d_model ** -0.5)
        matrix(f"{layer}.ffn_down.weight", d_model, d_ff, kind, 2.0 * d_ff ** -0.5)
    norm("output_norm.weight")
    if spec.get("head") == "own": matrix("output.weight", len(pieces), d_model, kind, 0.6)
    if spec.get("head") == "copy": writer.add_tensor("output.weight", embedding, raw_dtype=kind)
    if spec.get("rope_freqs"):
        writer.add_tensor("rope_freqs.weight", np.linspace(1.0, 6.0, head_dim // 2).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def golden(folder):
    folder.mkdir(exist_ok=True)
    files, seen = [], {}
    for index, (name, spec) in enumerate(FILES.items()):
        path = folder / f"{name}.gguf"
        seed = list(FILES).index(spec.get("same_as", name)) + 1
        write_file(path, spec, seed)
        reference = NumpyLlama(path)
        with tempfile.TemporaryDirectory() as scratch:
            copy = Path(scratch) / "f32.gguf"
            f32_copy(path, copy)
            llama = Llama(copy, n_context=256)
            prompts = []
            for text in PROMPTS:
                ids = llama.tokenize(text, add_special=True)
                assert (ids[0] == 1) == bool(spec.get("add_bos")) and ids.count(1) == (ids[0] == 1)
                logits = reference.last_logits(ids)
                first, generated, margins = llama.greedy(ids, 16)
                error = norm_wise_error(first, logits)
                assert error < 5e-6 and 2 not in generated, (name, text, error, generated)
                prompts.append({"text": text, "ids": ids, "logits": [float(f"{x:.8g}") for x in logits],
                                "greedy": generated, "margins": [float(f"{m:.4g}") for m in margins]})
                print(f"{name}: {len(ids)} ids, llama.cpp to float64 {error:.1e}, "
                      f"smallest margin {min(margins):.3g}, {len(set(generated))} different ids of 16")
            llama.close()
        seen[name] = prompts
        if "same_as" in spec: assert prompts == seen[spec["same_as"]], "a head given twice changes nothing"
        files.append({"file": f"{name}.gguf", "prompts": prompts})
    return {"files": files}
