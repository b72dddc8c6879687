#!/usr/bin/env python3
"""f32_copy.py IN.gguf OUT.gguf: the same model with every tensor as f32, so that another engine computes
with exactly our weights and rounds no activation to fit a narrower format. Needs the gguf package."""
import os
import sys

import gguf


def f32_copy(source, target):
    reader = gguf.GGUFReader(source)
    partial = f"{target}.partial"
    writer = gguf.GGUFWriter(partial, reader.fields["general.architecture"].contents())
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture": continue
        kind, sub_kind = field.types[0], field.types[-1] if len(field.types) > 1 else None
        writer.add_key_value(name, 0 if name == "general.file_type" else field.contents(), kind, sub_kind)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, gguf.quants.dequantize(tensor.data, tensor.tensor_type))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    os.replace(partial, target)


if __name__ == "__main__":
    if len(sys.argv) != 3: sys.exit(__doc__)
    f32_copy(sys.argv[1], sys.argv[2])
