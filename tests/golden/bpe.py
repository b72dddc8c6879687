"""Tokenizer goldens: Hugging Face `tokenizers` built from a GGUF file, cross-checked with llama.cpp."""
import gguf
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

from texts import KNOWN_BUGS, LOSSY, SPECIAL, TEXTS

# Llama-3's published split; GPT-2's is built into ByteLevel.
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")


def byte_alphabet():
    """The printable character that stands for each byte in a GPT-2-style vocabulary."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    shifted = [b for b in range(256) if b not in plain]
    return {b: chr(b) for b in plain} | {b: chr(256 + i) for i, b in enumerate(shifted)}


def mapped(text):
    alphabet = byte_alphabet()
    return "".join(alphabet[b] for b in text.encode())


class Vocabulary:
    """What a GGUF file says of its tokenizer."""

    def __init__(self, path):
        fields = gguf.GGUFReader(path).fields
        get = lambda key: fields["tokenizer.ggml." + key].contents()
        self.pre, pieces, self.merges = get("pre"), get("tokens"), get("merges")
        self.special = {p: i for i, (p, kind) in enumerate(zip(pieces, get("token_type"))) if kind == 3}
        self.tokens = {p: i for i, p in enumerate(pieces) if p not in self.special}


def make_tokenizer(pre, tokens, merges, special=()):
    """Without `special`, control strings in a text are plain text."""
    pairs = [tuple(m.split(" ")) for m in merges]
    llama3 = pre == "llama-bpe"
    tokenizer = Tokenizer(models.BPE(vocab=dict(tokens) | dict(special), merges=pairs, ignore_merges=llama3))
    if llama3:
        steps = [pre_tokenizers.Split(Regex(LLAMA3), "isolated"),
                 pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    else:
        digits = [pre_tokenizers.Digits(individual_digits=True)] if pre == "smollm" else []
        steps = digits + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    tokenizer.decoder = decoders.ByteLevel()
    if special:
        tokenizer.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in special])
    return tokenizer


def encode(tokenizer, text):
    return tokenizer.encode(text, add_special_tokens=False).ids


def reduced(vocabulary):
    """The part of a vocabulary that TEXTS can reach: a merge can only happen in a text if its merged
    string stands in it. Real ids; merges in their real order, which is all that a rank is."""
    haystack = "\n".join(mapped(t) for t in [*TEXTS, *SPECIAL["gpt2"], *SPECIAL["llama3"]])
    single = set(byte_alphabet().values())
    tokens = {p: i for p, i in vocabulary.tokens.items() if p in single or p in haystack}
    merges = [m for m in vocabulary.merges if m.replace(" ", "") in haystack]
    return tokens, merges


def cases(plain, texts, llama, parse_special=False):
    """Ids of each text; both implementations must agree on every one."""
    out = []
    for text in texts:
        ids = encode(plain, text)
        other = llama.tokenize(text, parse_special=parse_special)
        assert ids == other, f"implementations differ on {text!r}: {ids} {other}"
        out.append({"text": text, "ids": ids})
    return out


def golden(name, path, llama, reduce_vocabulary):
    vocabulary = Vocabulary(path)
    plain = make_tokenizer(vocabulary.pre, vocabulary.tokens, vocabulary.merges)
    special = make_tokenizer(vocabulary.pre, vocabulary.tokens, vocabulary.merges, vocabulary.special)
    result = {"pre": vocabulary.pre}
    if reduce_vocabulary:
        tokens, merges = reduced(vocabulary)
        used = {s: i for s, i in vocabulary.special.items() if any(s in t for t in SPECIAL[name])}
        small = make_tokenizer(vocabulary.pre, tokens, merges)
        for text in TEXTS:
            assert encode(small, text) == encode(plain, text), text
        result |= {"tokens": tokens, "special": used, "merges": merges}
    else:
        result["lossy_cases"] = cases(plain, LOSSY, llama)
    result["cases"] = cases(plain, TEXTS, llama)
    result["special_cases"] = cases(special, SPECIAL[name], llama, parse_special=True)
    for case in result["cases"]:
        assert plain.decode(case["ids"], skip_special_tokens=False) == case["text"], case
    return result


# The table's own ids, made by others: the goldens must repeat them.
PUBLISHED_GPT2 = {
    "a  b": [64, 220, 275], "a   b": [64, 220, 220, 275], "x 3": [87, 513], "3333": [24840],
    "33333": [2091, 20370], "3333+777=": [24840, 10, 29331, 28], "\u00b2\u00bd\u0663": [31185, 23141, 149, 96],
    "don't DON'T": [9099, 470, 23917, 6, 51], "don\u2019t": [9099, 447, 247, 83],
    "Hello\r\nworld": [15496, 201, 198, 6894], "\n\n\nx": [628, 198, 87],
    "def f():\n    return  x": [4299, 277, 33529, 198, 220, 220, 220, 1441, 220, 2124],
    "a\u00a0b": [64, 1849, 65], "Hello  ": [15496, 220, 220], "   Hello": [220, 220, 18435],
    "\u00e9": [2634], "e\u0301": [68, 136, 223], "\U0001f638": [47249, 116], "\x00a": [188, 64],
    "<|endoftext|>": [27, 91, 437, 1659, 5239, 91, 29], "<|im_end|>": [27, 91, 320, 62, 437, 91, 29],
    "abc abc": [39305, 450, 66], "Hello,": [15496, 11],
}
PUBLISHED_LLAMA3 = {"3333": [8765, 18], "33333": [8765, 1644]}


def check_published(result, published):
    ids = {case["text"]: case["ids"] for case in result["cases"]}
    for text, expected in published.items():
        assert ids[text] == expected, f"{text!r}: {ids[text]}, published {expected}"
    return len(published)


assert set(PUBLISHED_GPT2) <= set(KNOWN_BUGS)
