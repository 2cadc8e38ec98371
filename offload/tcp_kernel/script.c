/* Scripts: what a rank does in a phase, in order. */
#include <assert.h>
#include <stdlib.h>

#include "offload/tcp_kernel/state.h"

/* The kernel moves less than 2 GiB in one request. */
#define MAX_BYTES ((size_t)1 << 30)

/* Returns whether the second action continues the first one, on the connection and in memory. */
static bool continues(const struct tcp_action *first, const struct tcp_action *second)
{
    if (!tcp_is_kernels(first) || first->kind != second->kind ||
        first->neighbor != second->neighbor || first->bytes + second->bytes > MAX_BYTES)
        return false;
    return first->kind == TCP_SEND ? first->from + first->bytes == second->from
                                   : first->to + first->bytes == second->to;
}

bool pcoll_tcp_script_add(struct tcp_script *script, struct tcp_action action)
{
    if (script->n > 0 && continues(&script->actions[script->n - 1], &action)) {
        script->actions[script->n - 1].bytes += action.bytes;
        return true;
    }
    if (script->n == script->room) {
        const int room = script->room > 0 ? 2 * script->room : 16;
        struct tcp_action *actions =
            realloc(script->actions, (size_t)room * sizeof(*script->actions));

        if (actions == NULL)
            return false;
        script->actions = actions;
        script->room = room;
    }
    script->actions[script->n++] = action;
    return true;
}

/* ---- the order of processor and kernel ---- */

static bool overlaps(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    return a != NULL && b != NULL && a < b + b_bytes && b < a + a_bytes;
}

static bool reads(const struct tcp_action *action, const char *at, size_t bytes)
{
    const struct pcoll_reduction *reduction = action->reduction;

    for (int i = 0; reduction && i < reduction->n; i++)
        if (overlaps((const char *)reduction->operands[i], reduction->bytes, at, bytes))
            return true;
    return overlaps(action->from, action->bytes, at, bytes);
}

/* Returns whether the order of both makes a difference. */
static bool conflict(const struct tcp_action *a, const struct tcp_action *b)
{
    return reads(a, b->to, b->bytes) || reads(b, a->to, a->bytes) ||
           overlaps(a->to, a->bytes, b->to, b->bytes);
}

/* Move action i behind the kernel's actions that follow it, until one conflicts. */
static int defer(struct tcp_script *script, int i)
{
    const struct tcp_action action = script->actions[i];
    int to = i;

    while (to + 1 < script->n && tcp_is_kernels(&script->actions[to + 1]) &&
           !conflict(&action, &script->actions[to + 1])) {
        script->actions[to] = script->actions[to + 1];
        to++;
    }
    script->actions[to] = action;
    return to;
}

/* Join what has become adjacent. */
static void join(struct tcp_script *script)
{
    const int n = script->n;

    script->n = 0;
    for (int i = 0; i < n; i++) {
        const bool added = pcoll_tcp_script_add(script, script->actions[i]);

        assert(added); /* it has room */
        (void)added;
    }
}

/* An action at the head of the script conflicts with nothing of the chain that it moves behind. */
void pcoll_tcp_script_defer(struct tcp_script *script)
{
    int nhead = 0;

    while (nhead < script->n && !tcp_is_kernels(&script->actions[nhead]))
        nhead++;
    for (int i = script->n - 1; i >= 0; i--)
        if (!tcp_is_kernels(&script->actions[i])) {
            const int to = defer(script, i);

            script->actions[to].is_free = i < nhead && to > i;
        }
    join(script);
}
