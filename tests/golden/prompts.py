"""The twelve prompts of the real model's goldens: a question, code, digits, non-ASCII, a long one, one word."""

LONG = """A lighthouse keeper kept two books. In the first he wrote what he saw: the hour, the wind, the ships and
the colour of their sails. In the second he wrote only what surprised him. The first book grew by a page every day,
and after a year it filled a shelf. The second book stayed thin. When the harbour master came to read them he asked
why anyone should keep the thick book at all, since everything of interest stood in the thin one. The keeper said that
he could not have written the thin book without the thick one. To be surprised, he said, one must first have expected
something, and every line of the thick book was a small expectation. A ship that comes each Tuesday is no news on the
tenth Tuesday; but on the day it does not come, the thin book gains a line. The harbour master thought about this for
a while. Then he asked what the keeper would do if the shelf broke under the thick books. The keeper said that he
would keep the newest ones, and of the old ones he would keep a summary: which ships, which days, which winds. What
he could not do was to throw them all away and still be surprised. The harbour master went down the stairs, counted
one hundred and twelve steps, and found that he had expected one hundred and ten."""

RAW = [
    "The capital of France is",
    "def fibonacci(n):\n    \"\"\"Return the n-th Fibonacci number.\"\"\"\n",
    "1, 2, 4, 8, 16, 32, 64, 128,",
    "La tour Eiffel se trouve \u00e0 Paris, o\u00f9 l'\u00e9t\u00e9 est",
    LONG + "\n\nThe moral of the story is",
    "Once",
]

CHAT = [
    "Why is the sky blue?",
    "Write a C++ function that returns the sum of a std::vector<int>.",
    "What is 17 + 25? Answer with one number.",
    "\u00bfC\u00f3mo se dice \u201cgood morning\u201d en espa\u00f1ol, fran\u00e7ais et \u65e5\u672c\u8a9e? \U0001f600",
    LONG + "\n\nIn two sentences, what did the keeper do?",
    "Hello",
]
