"""llama.cpp as the independent implementation: f32 keys and values, flash attention off, greedy."""
import ctypes

import llama_cpp as lib
import numpy as np


@lib.llama_log_callback
def _quiet(level, text, user_data):
    if level == 4: print(text.decode(errors="replace"), end="")  # errors only


_keep_alive = _quiet  # ctypes holds no reference of its own
lib.llama_log_set(_quiet, ctypes.c_void_p(0))
lib.llama_backend_init()


class Llama:
    def __init__(self, path, n_threads=1, vocab_only=False, n_context=512):
        params = lib.llama_model_default_params()
        params.vocab_only = vocab_only
        params.n_gpu_layers = 0
        self.model = lib.llama_model_load_from_file(str(path).encode(), params)
        assert self.model, f"llama.cpp does not load {path}"
        self.vocab = lib.llama_model_get_vocab(self.model)
        self.vocab_size = lib.llama_vocab_n_tokens(self.vocab)
        self.context = None
        if vocab_only: return
        params = lib.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = n_context
        params.n_threads = params.n_threads_batch = n_threads
        params.type_k = params.type_v = 0  # GGML_TYPE_F32
        params.flash_attn_type = lib.LLAMA_FLASH_ATTN_TYPE_DISABLED
        self.context = lib.llama_init_from_model(self.model, params)
        assert self.context, f"llama.cpp makes no context for {path}"

    def close(self):
        if self.context: lib.llama_free(self.context)
        lib.llama_model_free(self.model)

    def tokenize(self, text, parse_special=False, add_special=False):
        data = text.encode()
        ids = (lib.llama_token * (len(data) + 8))()
        n = lib.llama_tokenize(self.vocab, data, len(data), ids, len(ids), add_special, parse_special)
        assert n >= 0
        return list(ids[:n])

    def decode(self, ids):
        """Appends ids to the context; the last one's logits [vocab_size]."""
        tokens = (lib.llama_token * len(ids))(*ids)
        assert lib.llama_decode(self.context, lib.llama_batch_get_one(tokens, len(ids))) == 0
        logits = lib.llama_get_logits_ith(self.context, -1)
        return np.ctypeslib.as_array(logits, shape=(self.vocab_size,)).copy()

    def greedy(self, prompt, n_tokens, stop=None):
        """The prompt's last logits, then up to n_tokens ids and the gap between the two best logits at each.
        The id that stops the text is among them."""
        lib.llama_memory_clear(lib.llama_get_memory(self.context), True)
        first = logits = self.decode(prompt)
        ids, margins = [], []
        for step in range(n_tokens):
            second, best = np.partition(logits, -2)[-2:]
            ids.append(int(np.argmax(logits)))
            margins.append(float(best - second))
            if ids[-1] == stop or step + 1 == n_tokens: break
            logits = self.decode([ids[-1]])
        return first, ids, margins
