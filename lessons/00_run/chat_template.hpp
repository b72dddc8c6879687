// The chat template of a model file is a small program in the Jinja language. Running such programs is not our
// subject: we know two forms, and refuse any template that is not exactly one of them.
//   ChatML    <|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n
//   Llama-3   <|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|> ...
#pragma once

#include <string>
#include <string_view>

#include "common/error.hpp"
#include "lessons/00_run/jinja_text.hpp"

struct ChatTemplate {
    enum class Form { chatml, llama3 } form = Form::chatml;
    std::string
        default_system;  // ChatML: the system message of a conversation that begins without one; or ""
};

namespace jinja {

// Reads a canonical template from the front, part by part.
struct Front {
    std::string_view rest;
    bool take(std::string_view part) {
        const bool there = rest.starts_with(part);
        if (there) rest.remove_prefix(part.size());
        return there;
    }
};

inline bool is_chatml(std::string_view canonical_text, ChatTemplate& chat) {
    Front front{canonical_text};
    front.take("{%ifnotadd_generation_promptisdefined%}{%setadd_generation_prompt=false%}{%endif%}");
    if (!front.take("{%formessageinmessages%}")) return false;
    if (front.take("{%ifloop.firstandmessages[0][`role`]!=`system`%}{{`<|im_start|>system\n")) {
        chat.default_system = front.rest.substr(0, front.rest.find_first_of("`<"));
        front.take(chat.default_system);
        if (!front.take("<|im_end|>\n`}}{%endif%}")) return false;
    }
    return front.take(
               "{{`<|im_start|>`+message[`role`]+`\n`+message[`content`]+`<|im_end|>\n`}}{%endfor%}") &&
           front.take("{%ifadd_generation_prompt%}{{`<|im_start|>assistant\n`}}{%endif%}") &&
           front.rest.empty();
}

inline bool is_llama3(std::string_view canonical_text) {
    Front front{canonical_text};
    const bool loop = front.take(
        "{%setloop_messages=messages%}{%formessageinloop_messages%}"
        "{%setcontent=`<|start_header_id|>`+message[`role`]+`<|end_header_id|>\n\n`+message[`content`]|trim+"
        "`<|eot_id|>`%}{%ifloop.index0==0%}{%setcontent=bos_token+content%}{%endif%}{{content}}{%endfor%}");
    const bool asked = front.take("{%ifadd_generation_prompt%}");  // the first files wrote the prompt unasked
    return loop && front.take("{{`<|start_header_id|>assistant<|end_header_id|>\n\n`}}") &&
           (!asked || front.take("{%endif%}")) && front.rest.empty();
}

}  // namespace jinja

// source: the file, named in the error.
inline ChatTemplate recognise_template(std::string_view text, const std::string& source) {
    const std::string canonical_text = jinja::canonical(text);
    ChatTemplate chat;
    if (jinja::is_chatml(canonical_text, chat)) return chat;
    if (jinja::is_llama3(canonical_text)) return {ChatTemplate::Form::llama3, ""};
    fail("%s: its chat template is in neither of the forms known here, ChatML and Llama-3; --prompt takes "
         "plain "
         "text",
         source.c_str());
}
