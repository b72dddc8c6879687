"""The real model: what llama.cpp writes on an f32 copy of it, and the last logits of a float64 forward."""
import tempfile
from pathlib import Path

import numpy as np

from bpe import Vocabulary, encode, make_tokenizer
from chat import encode_chat, render, template
from f32_copy import f32_copy
from llama import Llama
from numpy_llama import NumpyLlama, norm_wise_error
from prompts import CHAT, RAW

N_TOKENS, EOS, END_OF_TEXT, STRIDE = 64, 2, 0, 48


def golden(model):
    vocabulary = Vocabulary(model)
    plain = make_tokenizer(vocabulary.pre, vocabulary.tokens, vocabulary.merges)
    chat_template = template(model)
    reference = NumpyLlama(model)
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "f32.gguf"
        f32_copy(model, copy)
        llama = Llama(copy)
        prompts = []
        for kind, text in [("raw", t) for t in RAW] + [("chat", t) for t in CHAT]:
            if kind == "raw":
                prompt, ids = text, encode(plain, text)
            else:
                prompt, ids = render(chat_template, text), encode_chat(chat_template, plain, vocabulary.special, text)
            assert ids == llama.tokenize(prompt, parse_special=kind == "chat"), text
            logits = reference.last_logits(ids)
            first, generated, margins = llama.greedy(ids, N_TOKENS, stop=EOS)
            error = norm_wise_error(first, logits)
            assert error < 1e-5 and END_OF_TEXT not in generated, (text, error)
            print(f"{kind}: {len(ids)} ids, {len(generated)} written, llama.cpp to float64 {error:.1e}, "
                  f"smallest margin {min(margins):.3g} at step {int(np.argmin(margins))}")
            print("   ", repr(plain.decode(generated)))
            prompts.append({kind: text, "prompt_ids": ids, "ids": generated,
                            "margins": [float(f"{m:.4g}") for m in margins],
                            "logits_norm": float(np.linalg.norm(logits)),
                            "logits": [float(f"{x:.7g}") for x in logits[::STRIDE]]})
        llama.close()
    return {"logits_stride": STRIDE, "prompts": prompts}
