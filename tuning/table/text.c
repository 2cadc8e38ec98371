#include "tuning/table/text.h"

#include <string.h>

static void step(struct pcoll_text *text)
{
    text->line += *text->at == '\n';
    text->at += *text->at != '\0';
}

static void skip_space(struct pcoll_text *text)
{
    while (*text->at != '\0' && strchr(" \t\r\n\v\f", *text->at))
        step(text);
}

/* From the opening quote to the character after the closing one. */
static void skip_string(struct pcoll_text *text)
{
    step(text);
    while (*text->at != '\0' && *text->at != '"') {
        if (*text->at == '\\')
            step(text);
        step(text);
    }
    step(text);
}

void pcoll_text_enter(struct pcoll_text *text)
{
    skip_space(text);
    step(text);
    skip_space(text);
}

size_t pcoll_text_key(struct pcoll_text *text, const char **key_p)
{
    size_t length;

    skip_space(text);
    *key_p = text->at;
    if (*text->at != '"')
        return 0;
    skip_string(text);
    length = (size_t)(text->at - *key_p);
    *key_p += 1;
    skip_space(text);
    if (*text->at == ':')
        step(text);
    skip_space(text);
    return length < 2 ? 0 : length - 2;
}

void pcoll_text_skip(struct pcoll_text *text)
{
    int depth = 0;

    skip_space(text);
    while (*text->at != '\0' && (depth > 0 || !strchr(",]}", *text->at))) {
        if (*text->at == '"') {
            skip_string(text);
            continue;
        }
        depth += *text->at == '{' || *text->at == '[';
        depth -= *text->at == '}' || *text->at == ']';
        step(text);
    }
    if (*text->at == ',')
        step(text);
    skip_space(text);
}

void pcoll_text_advance(struct pcoll_text *text, size_t bytes)
{
    for (; bytes > 0 && *text->at != '\0'; bytes--)
        step(text);
}

void pcoll_text_quote(char *to, size_t size, const char *from, size_t length)
{
    size_t used = 0;

    for (; used + 1 < size && used < length && from[used] != '\0'; used++)
        to[used] = from[used] >= ' ' && from[used] <= '~' ? from[used] : '?';
    to[used] = '\0';
}

void pcoll_text_names(enum pcoll_coll coll, char *to, size_t size)
{
    size_t used = 0;

    to[0] = '\0';
    PCOLL_EACH_ALGORITHM (row) {
        if (row->coll != coll || used >= size)
            continue;
        used += (size_t)snprintf(to + used, size - used, "%s%s", used ? ", " : "", row->name);
    }
}
