"""A Llama forward in NumPy, all of it in float64, on the dequantised weights of a GGUF file."""
import gguf
import numpy as np


class NumpyLlama:
    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        get = lambda key, default=None: (reader.fields[key].contents() if key in reader.fields else default)
        self.n_layers = get("llama.block_count")
        self.n_heads = get("llama.attention.head_count")
        self.n_kv_heads = get("llama.attention.head_count_kv", self.n_heads)
        self.head_dim = get("llama.attention.key_length", get("llama.embedding_length") // self.n_heads)
        self.epsilon = get("llama.attention.layer_norm_rms_epsilon")
        self.tensors = {t.name: gguf.quants.dequantize(t.data, t.tensor_type).astype(np.float64)
                        for t in reader.tensors}
        pairs = np.arange(0, self.head_dim, 2) / self.head_dim
        self.frequencies = get("llama.rope.freq_base", 10000.0) ** -pairs / self.tensors.get("rope_freqs.weight", 1.0)

    def norm(self, x, name):
        return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + self.epsilon) * self.tensors[name]

    def rope(self, x):
        """x [n_tokens, heads, head_dim]: neighbours 2i, 2i + 1 turn by position * frequency i."""
        angle = np.arange(len(x))[:, None, None] * self.frequencies
        even, odd = x[..., 0::2], x[..., 1::2]
        out = np.empty_like(x)
        out[..., 0::2] = even * np.cos(angle) - odd * np.sin(angle)
        out[..., 1::2] = even * np.sin(angle) + odd * np.cos(angle)
        return out

    def attention(self, x, layer):
        n_tokens = len(x)
        heads = lambda name: (x @ self.tensors[f"{layer}.{name}.weight"].T).reshape(n_tokens, -1, self.head_dim)
        group = self.n_heads // self.n_kv_heads
        q = self.rope(heads("attn_q"))
        k = np.repeat(self.rope(heads("attn_k")), group, axis=1)
        v = np.repeat(heads("attn_v"), group, axis=1)
        scores = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(self.head_dim)
        scores[:, np.triu(np.ones((n_tokens, n_tokens), bool), 1)] = -np.inf
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        mixed = np.einsum("hqk,khd->qhd", weights, v).reshape(n_tokens, -1)
        return mixed @ self.tensors[f"{layer}.attn_output.weight"].T

    def feed_forward(self, x, layer):
        gate = x @ self.tensors[f"{layer}.ffn_gate.weight"].T
        up = x @ self.tensors[f"{layer}.ffn_up.weight"].T
        return (gate / (1 + np.exp(-gate)) * up) @ self.tensors[f"{layer}.ffn_down.weight"].T

    def last_logits(self, ids):
        x = self.tensors["token_embd.weight"][ids]
        for i in range(self.n_layers):
            layer = f"blk.{i}"
            x = x + self.attention(self.norm(x, f"{layer}.attn_norm.weight"), layer)
            x = x + self.feed_forward(self.norm(x, f"{layer}.ffn_norm.weight"), layer)
        head = self.tensors.get("output.weight", self.tensors["token_embd.weight"])
        return self.norm(x[-1], "output_norm.weight") @ head.T


def norm_wise_error(x, reference):
    return float(np.linalg.norm(np.asarray(x, np.float64) - reference) / np.linalg.norm(reference))
