// Some English to learn from where no model is at hand. The last fifth is kept back: text that the training never saw.
#pragma once

#include <string_view>

inline constexpr std::string_view sample_text =
    R"(The lamp on the harbour wall was lit at dusk, as it had been every evening for a hundred years. Nobody in the
town remembered who had lit it first. They remembered the storms, and the boats that came home in them, and the
one that didn't. The keeper was an old woman who counted everything: the steps of the tower (there were 212), the
boats in the harbour, the gulls on the rail, the days between one letter and the next.

Her letters came with the supply boat on the first day of the month. She read them twice, once for the words and
once for what the words left out, and then she wrote down in a ledger what they said. "What is written can be
counted," she used to say, "and what is counted isn't lost." The ledger was the seventh of its kind. The other six
stood on a shelf beside the lamp, where the air was dry, and the boy who carried the oil was allowed to read them
if his hands were clean.

The boy liked the oldest one best. In it the keeper before the keeper had invented signs of his own, because ink
was dear and the winters were long. At first he had written every letter of every word. Then he noticed that some
letters were always together, and he gave each such pair a sign, so that he could write it with one stroke of the
pen. Later he noticed that some signs were always together, and gave those a sign as well. By the end of the book
the word "harbour" was one stroke, and so was "lighthouse", and so was "the boats came home". A rare word, a
stranger's name, was still written letter by letter, as it had been in the beginning.

"But how did you know which sign to write?" the boy asked. "There's often more than one way."

"There's a list inside the cover," the keeper said. "The signs stand in the order in which they were made. You
begin with the letters, and you look for the oldest sign that fits, and you write it, and then you look again. If
everyone does that, everyone writes the same thing. It doesn't matter that another way would be shorter. It matters
that the one who reads and the one who writes have the same list, in the same order."

He tried it with his own name and needed three strokes. He tried it with hers and needed one, because the book had
been written in this tower, by people who wrote her name, or her mother's, nearly every day. Then he tried it with
a line from the newspaper, about a railway in another country, and it took as many strokes as it had letters. The
list knew the sea and the weather and the boats. It did not know the railway.

"Then the list is only good for us," he said.

"Every list is only good for those who made it," the keeper said. "If you want one that is good for everyone, you
must read what everyone has written, and count for a long time."

In the spring the company sent a telegraph, and with it a man who explained that every word cost a penny. The
keeper thought about this for an evening. Next morning she sent the company a copy of the list, with her regards,
and after that a month of weather went over the wire for the price of a short letter. The man from the company
wanted to know who had thought of it. "Nobody thought of it," she said. "It was counted."

The boy became the keeper when he was thirty, and by then there were 11 ledgers. He still began each one with the
letters by themselves, and he still made a new sign only when a pair had come so often that his hand was tired of
it. But he left a wide margin. Words change, and boats are given other names, and a list that was made for one
hundred years of weather isn't always right for the next. In the margin he wrote the date, the wind, the height of
the water, and whether the lamp had burned all night. It had. It always had: 365 nights in a year, and one more in
every fourth.
)";
