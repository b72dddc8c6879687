"""The texts of the tokenizer goldens: where byte-level BPE implementations tend to part ways."""

# The table of public bugs first (one row, one or two texts), in its order.
KNOWN_BUGS = [
    "a  b", "a   b",
    "x 3",
    "3333", "33333", "3333+777=",
    "\u00b2\u00bd\u0663",                       # superscript two, one half, arabic-indic three
    "don't DON'T", "don\u2019t",
    "Hello\r\nworld", "\n\n\nx",
    "def f():\n    return  x",
    "(foo)",
    "a\u00a0b",                                 # no-break space
    "Hello  ", "   Hello",
    "\u00e9", "e\u0301",                        # composed and decomposed: no normalisation
    "\U0001f638",                               # one character over two tokens
    "\x00a",
    "<|endoftext|>", "<|im_end|>",              # as user text: plain
    "abc abc", "Hello,",
    "The capital of France is",
    "<|im_end|>\n<|im_start|>system",
]

MORE = [
    "", " ", "  ", "\n", "\t", "\r\n", " \n ", "\n \n", "a\n", " a", "a ", "\ta\t\tb",
    "The quick brown fox jumps over the lazy dog.",
    "I'll say we've won; they're sure he'd agree, I'm told it's so.",
    "I'LL SAY WE'VE WON; THEY'RE SURE.",
    "'s 't 'x '' ' 'S",
    "x=1;y = 22 ;z  =  333 ;w\t=\t4444",
    "1 12 123 1234 12345 123456 1234567",
    "3.14159, -2.5e-10, 0x1F, 1_000_000, 50%, $9.99",
    "2024-02-29T23:59:59Z",
    "for (int i = 0; i < n; ++i) { sum += a[i] * b[i]; }",
    "#include <vector>\n\nint main() {\n\treturn 0;\n}\n",
    "class A:\n    def __init__(self, x=None):\n        self.x = x  # keep\n\n\n    pass\n",
    "SELECT * FROM users WHERE name LIKE '%o''brien%';",
    "<div class=\"a b\">&nbsp;</div><!-- end -->",
    "https://example.org/path?q=1&r=%20#frag",
    "user.name+tag@example.com",
    "snake_case camelCase PascalCase SCREAMING_SNAKE kebab-case",
    "____ ---- ==== .... !!!! ???? ...",
    "wait... what?! (really?) [no] {yes} <maybe>",
    "caf\u00e9 na\u00efve \u00fcber stra\u00dfe \u0152uvre \u00c5ngstr\u00f6m",
    "cafe\u0301 n\u0303 o\u0308 a\u030a\u0301",                        # combining marks (not letters)
    "\u041f\u0440\u0438\u0432\u0435\u0442, \u043a\u0430\u043a \u0434\u0435\u043b\u0430?",
    "\u0393\u03b5\u03b9\u03ac \u03c3\u03bf\u03c5 \u039a\u03cc\u03c3\u03bc\u03b5",
    "\u4f60\u597d\uff0c\u4e16\u754c\u3002\u4eca\u5929\u662f2024\u5e74\u3002",
    "\u3053\u3093\u306b\u3061\u306f\u4e16\u754c\u30ab\u30bf\u30ab\u30ca",
    "\uc548\ub155\ud558\uc138\uc694 \uc138\uacc4",
    "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645 \u0661\u0662\u0663",
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd",
    "\u0939\u093f\u0928\u094d\u0926\u0940 \u092d\u093e\u0937\u093e \u0967\u0968",   # vowel signs are marks
    "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01",
    "\U0001f44d\U0001f3fd \U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1eb\U0001f1f7 \u2764\ufe0f",
    "\u2200x\u2208\u211d: x\u00b2 \u2265 0 \u2227 \u2211\u1d62 x\u1d62 \u2260 \u221e",
    "\u2167 \u2460 \u00bc \u0664\u0665 \u4e09 \u09e7\u09e8",           # other kinds of number, and a letter
    "a\u2003b\u2009c\u3000d\u200be",                                   # wide, thin, ideographic, zero-width
    "a\u0085b\u2028c\u2029d\u000be\u000cf\u001cg",                     # what counts as white space
    "\u00a0\u00a0x \u00a0 y\u00a0",
    "line one\r\n\r\nline two\rline three\n\r\n",
    "trailing spaces   \n   leading   \n\n",
    "\x01\x02\x7f\x1b[0m",
    "\ufeffBOM", "\ufffd", "\ue000\U000f0000",                         # byte-order mark, private use
    "_" * 100, "ab" * 40, "A" * 33, " " * 17 + "x", "\n" * 9,
    "Supercalifragilisticexpialidocious antidisestablishmentarianism",
    "\u201cquotes\u201d \u2018single\u2019 \u2014 dash \u2013 en \u2026",
    "na\u00efve's \u00e9t\u00e9's 3's \u4e2d's",
    "\u0130stanbul \u01c5 \u02b0 \u1fb3 \u02c7",                       # title case, modifier letters, a modifier symbol
]

TEXTS = KNOWN_BUGS + MORE

# Special tokens count here: (vocabulary, text).
SPECIAL = {
    "smollm2": [
        "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n",
        "a<|im_end|>", "<|im_end|><|im_end|> <|im_start|>", "<|im_end|", "x <|endoftext|> y",
    ],
    "gpt2": ["a<|endoftext|>b", "<|endoftext|>", "<|endoftext|> <|im_end|>"],
    "llama3": [
        "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>",
        "<|eot_id|>\n\n<|eot_id|>",
    ],
}

# Bytes that SmolLM2's vocabulary lacks (it has 235 of the 256): the tokenizers that we asked drop them.
LOSSY = ["a\x04b", "\x06", "\x13x\x14 \x16\x1d", "\U00050000z"]
