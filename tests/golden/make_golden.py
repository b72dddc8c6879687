#!/usr/bin/env python3
"""Writes the golden data beside this file from implementations that are not ours. Run by hand:

    python3 -m venv build/venv
    build/venv/bin/pip install numpy gguf tokenizers jinja2 llama-cpp-python
    build/venv/bin/python tests/golden/make_golden.py tokenizer --vocabularies llama.cpp/models
    build/venv/bin/python tests/golden/make_golden.py tiny
    build/venv/bin/python tests/golden/make_golden.py real

`tokenizer` also reads ggml-vocab-gpt-2.gguf and ggml-vocab-llama-bpe.gguf, which the source package of
llama-cpp-python carries under vendor/llama.cpp/models. `real` takes about ten minutes.

    tokenizer  tokenizer_smollm2.json, tokenizer_gpt2.json, tokenizer_llama3.json   bpe.py
    tiny       tiny/*.gguf, tiny.json                                               tiny.py
    real       smollm2.json                                                         real.py

Text to ids: Hugging Face `tokenizers` and llama.cpp agree on every text, or nothing is written.
Ids to logits: llama.cpp on an f32 copy of the file, and a NumPy forward in float64 (numpy_llama.py).
"""
import argparse
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODEL = HERE.parents[1] / "weights/models/SmolLM2-135M-Instruct.Q4_1.gguf"


def write(name, data):
    """JSON with one case a line, so that a diff shows which case changed."""
    lines = []
    for key, value in data.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            text = "[\n" + ",\n".join(json.dumps(item) for item in value) + "\n]"
        else:
            text = json.dumps(value, separators=(",", ":"))
        lines.append(f"{json.dumps(key)}: {text}")
    path = HERE / name
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{name}: {path.stat().st_size} bytes")


def tokenizer(arguments):
    import bpe
    from chat import chat_cases
    from llama import Llama

    folder = Path(arguments.vocabularies)
    files = {"smollm2": MODEL, "gpt2": folder / "ggml-vocab-gpt-2.gguf", "llama3": folder / "ggml-vocab-llama-bpe.gguf"}
    published = {"gpt2": bpe.PUBLISHED_GPT2, "llama3": bpe.PUBLISHED_LLAMA3}
    for name, path in files.items():
        llama = Llama(path, vocab_only=True)
        result = bpe.golden(name, path, llama, reduce_vocabulary=name in published)
        if name == "smollm2": result["chat_cases"] = chat_cases(path, llama)
        checked = bpe.check_published(result, published.get(name, {}))
        llama.close()
        print(f"{name}: {len(result['cases'])} texts, {checked} of them published")
        write(f"tokenizer_{name}.json", result)


def tiny(arguments):
    import tiny
    write("tiny.json", tiny.golden(HERE / "tiny"))


def real(arguments):
    import real
    write("smollm2.json", real.golden(MODEL))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["tokenizer", "tiny", "real"])
    parser.add_argument("--vocabularies", help="folder of llama.cpp's ggml-vocab-*.gguf")
    arguments = parser.parse_args()
    if arguments.what == "tokenizer" and not arguments.vocabularies:
        parser.error("tokenizer needs --vocabularies")
    {"tokenizer": tokenizer, "tiny": tiny, "real": real}[arguments.what](arguments)


if __name__ == "__main__":
    sys.exit(main())
