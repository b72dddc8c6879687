// A sentence small enough to be read as numbers. Its vectors are made by hand, so that every share can be
// followed; a trained model finds such vectors by itself, hundreds of numbers long.
#pragma once

#include <cstdio>
#include <vector>

#include "lessons/01_attention/attention.hpp"

inline const std::vector<const char*> sentence = {"the", "cat", "sat", "on",   "the",
                                                  "mat", "and", "it",  "slept"};

// x [n_words, 5]: what kind of word each is.
inline Tensor sentence_vectors() {
    enum Kind { article, animal, thing, action, pronoun, other };
    const Kind kinds[] = {article, animal, action, other, article, thing, other, pronoun, action};
    Tensor x(int(sentence.size()), 5);
    for (int word = 0; word < x.size(0); ++word) {
        if (kinds[word] != other) x(word, kinds[word]) = 1;
    }
    return x;
}

// The weights that the words of the sentence give each other [n_words, n_words].
inline Tensor sentence_attention() {
    // k: a word is found by its kind. w_k [4, 5]
    Tensor w_k(4, 5);
    for (int kind = 0; kind < 4; ++kind) w_k(kind, kind) = 1;
    // q: what each kind looks for, and how badly. w_q [4, 5]: a row is what is sought, a column who seeks.
    //                   article animal thing action pronoun
    const float sought[4][5] = {{0, 4, 4, 0, 0},   // an article
                                {0, 0, 0, 5, 6},   // an animal
                                {0, 0, 0, 0, 0},   // a thing
                                {0, 0, 0, 0, 0}};  // an action
    Tensor w_q(4, 5);
    for (int row = 0; row < 4; ++row) {
        for (int column = 0; column < 5; ++column) w_q(row, column) = sought[row][column];
    }
    const Tensor x = sentence_vectors();
    return attention_weights(matmul(x, transpose(w_q)), matmul(x, transpose(w_k)));
}

inline void print_attention(const std::vector<const char*>& words, View<const float> weights) {
    std::printf("%8s", "");
    for (const char* word : words) std::printf("%7s", word);
    std::printf("\n");
    for (int token = 0; token < weights.size(0); ++token) {
        std::printf("%8s", words[size_t(token)]);
        for (int key = 0; key < weights.size(1); ++key) {
            if (key > token && weights(token, key) == 0) {
                std::printf("%7s", ".");
            } else {
                std::printf("%7.2f", double(weights(token, key)));
            }
        }
        std::printf("\n");
    }
}
