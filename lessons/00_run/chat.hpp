// A conversation as the model was trained to see it: each message between marks, and at the end the head of
// the answer that the model is to write. The marks <|...|> are single tokens that no text can produce: what a
// user writes is encoded as plain text, also when it spells a mark.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "lessons/00_run/chat_template.hpp"
#include "lessons/04_tokenizer/tokenizer.hpp"
#include "weights/gguf.hpp"

struct Message {
    std::string role;  // system, user or assistant
    std::string content;
};

// A stretch of the conversation: one mark, or text.
struct ChatPiece {
    std::string text;
    bool mark = false;
};

// What Jinja's `trim` takes off both ends: Unicode's white space, and the separators 1C to 1F.
inline std::string_view trim_blanks(std::string_view text) {
    const auto blank = [](std::string_view one) {
        const Character c = first_character(one);
        return c.size == int(one.size()) &&
               (class_of(c.code) == CharClass::space || (c.code >= 0x1C && c.code <= 0x1F));
    };
    const auto n_blank = [&](bool front) {  // bytes of the blank at one end, or 0
        for (size_t n = 1; n <= std::min<size_t>(4, text.size()); ++n) {
            if (blank(front ? text.substr(0, n) : text.substr(text.size() - n))) return n;
        }
        return size_t(0);
    };
    while (const size_t n = n_blank(true)) text.remove_prefix(n);
    while (const size_t n = n_blank(false)) text.remove_suffix(n);
    return text;
}

inline std::vector<ChatPiece> render_chatml(const std::string& default_system,
                                            const std::vector<Message>& messages) {
    std::vector<ChatPiece> pieces;
    const auto turn = [&](const std::string& role, const std::string& content) {
        pieces.push_back({"<|im_start|>", true});
        pieces.push_back({role + "\n" + content});
        pieces.push_back({"<|im_end|>", true});
        pieces.push_back({"\n"});
    };
    const bool without_system = !messages.empty() && messages[0].role != "system";
    if (without_system && !default_system.empty()) turn("system", default_system);
    for (const Message& message : messages) turn(message.role, message.content);
    pieces.push_back({"<|im_start|>", true});
    pieces.push_back({"assistant\n"});
    return pieces;
}

inline std::vector<ChatPiece> render_llama3(const std::vector<Message>& messages) {
    std::vector<ChatPiece> pieces;
    const auto head = [&](const std::string& role) {
        pieces.push_back({"<|start_header_id|>", true});
        pieces.push_back({role});
        pieces.push_back({"<|end_header_id|>", true});
    };
    if (!messages.empty()) pieces.push_back({"<|begin_of_text|>", true});
    for (const Message& message : messages) {
        head(message.role);
        pieces.push_back({"\n\n" + std::string(trim_blanks(message.content))});
        pieces.push_back({"<|eot_id|>", true});
    }
    head("assistant");
    pieces.push_back({"\n\n"});
    return pieces;
}

inline std::vector<ChatPiece> render(const ChatTemplate& chat, const std::vector<Message>& messages) {
    for (const Message& message : messages) {
        if (message.role != "system" && message.role != "user" && message.role != "assistant") {
            fail("a message's role is system, user or assistant, not \"%s\"", message.role.c_str());
        }
    }
    return chat.form == ChatTemplate::Form::chatml ? render_chatml(chat.default_system, messages)
                                                   : render_llama3(messages);
}

// The pieces as ids: a mark is its own token, text is text. Begins with bos once, if the file asks for it.
inline std::vector<int> encode_chat(const Tokenizer& tokenizer, const std::vector<ChatPiece>& pieces) {
    std::vector<int> ids;
    for (const ChatPiece& piece : pieces) {
        if (piece.mark) {
            ids.push_back(tokenizer.id_of(piece.text));
            if (ids.back() < 0)
                fail("the chat template needs the token %s, which is not in the vocabulary",
                     piece.text.c_str());
        } else {
            const std::vector<int> text = tokenizer.encode(piece.text);
            ids.insert(ids.end(), text.begin(), text.end());
        }
    }
    return tokenizer.with_bos(ids);
}

// A conversation in the template of a model file.
inline std::vector<int> chat_ids(const GgufFile& file, const Tokenizer& tokenizer,
                                 const std::vector<Message>& messages) {
    const char* key = "tokenizer.chat_template";
    if (!file.has(key)) fail("%s: has no chat template; --prompt takes plain text", file.path().c_str());
    return encode_chat(tokenizer, render(recognise_template(file.text(key), file.path()), messages));
}
inline std::vector<int> chat_prompt(const GgufFile& file, const Tokenizer& tokenizer,
                                    const std::string& user) {
    return chat_ids(file, tokenizer, {{"user", user}});
}
