#!/usr/bin/env python3
"""Block formats as floats, by the `gguf` package (llama.cpp's own Python): bytes in, numbers out.

    pip install gguf==0.19.0 && python3 tests/golden/dequantize.py     writes tests/golden/dequantize.json
"""
import json
import pathlib

import gguf
import numpy as np

TYPES = {"F16": 0, "BF16": 0, "Q8_0": 1, "Q4_0": 1, "Q4_1": 2}  # how many half-precision numbers open a block
SCALES = [0.0123, -3.5, 6e-8, 6.1e-5, 0.0, 1000.0]  # 6e-8 and 6.1e-5: the smallest half, and about the smallest normal


def main():
    random = np.random.default_rng(20)
    cases = []
    for name, n_halves in TYPES.items():
        kind = gguf.GGMLQuantizationType[name]
        length, n_bytes = gguf.GGML_QUANT_SIZES[kind]
        if n_halves == 0:
            values = np.concatenate([random.normal(size=26), SCALES]).astype(np.float32)
            data = gguf.quantize(values, kind).view(np.uint8).reshape(-1)
        else:
            data = random.integers(0, 256, size=(len(SCALES), n_bytes), dtype=np.uint8)
            heads = np.array([[s, -0.7 * s + 0.1][:n_halves] for s in SCALES], dtype=np.float16)
            data[:, :2 * n_halves] = heads.view(np.uint8)
            data = data.reshape(-1)
        values = gguf.dequantize(data, kind).reshape(-1)
        cases.append({"type": name, "bytes": data.tobytes().hex(), "values": [float(v) for v in values]})
    path = pathlib.Path(__file__).with_suffix(".json")
    path.write_text(json.dumps(cases).replace('}, {', '},\n{') + "\n")


main()
