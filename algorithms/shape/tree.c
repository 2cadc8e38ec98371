/* The k-nomial tree and the cost of sending a message down it; the contract is in shape/tree.h. */
#include "algorithms/shape/tree.h"

#include <assert.h>

#include "algorithms/number.h"

/* The place value radix^j of the lowest nonzero digit of v; for 0, the first place value beyond all
 * ranks. */
static int64_t lowest_place(struct pcoll_tree tree, int v)
{
    int64_t place = 1;

    while (place < tree.nranks && (v / place) % tree.radix == 0)
        place *= tree.radix;
    return place;
}

int pcoll_tree_parent(struct pcoll_tree tree, int v)
{
    int64_t place = lowest_place(tree, v);

    return v == 0 ? PCOLL_NONE : (int)(v - (v / place) % tree.radix * place);
}

int pcoll_tree_nchildren(struct pcoll_tree tree, int v)
{
    int n = 0;

    for (int64_t place = lowest_place(tree, v) / tree.radix; place >= 1; place /= tree.radix) {
        int64_t fit = (tree.nranks - 1 - v) / place;

        n += (int)(fit < tree.radix - 1 ? fit : tree.radix - 1);
    }
    return n;
}

int pcoll_tree_child(struct pcoll_tree tree, int v, int i)
{
    for (int64_t place = lowest_place(tree, v) / tree.radix; place >= 1; place /= tree.radix) {
        int64_t fit = (tree.nranks - 1 - v) / place;
        int here = (int)(fit < tree.radix - 1 ? fit : tree.radix - 1);

        if (i < here)
            return (int)(v + (i + 1) * place);
        i -= here;
    }
    assert(0 && "no such child");
    return PCOLL_NONE;
}

int pcoll_tree_span(struct pcoll_tree tree, int v)
{
    int64_t place = lowest_place(tree, v);

    return place < tree.nranks - v ? (int)place : tree.nranks - v;
}

int pcoll_tree_depth(struct pcoll_tree tree)
{
    return pcoll_log_ceil(tree.nranks, tree.radix);
}

/* The time from a rank that has the message to the last of the radix^depth ranks that it leads. A
 * child of the first digit begins with one digit less when the last child of that digit has the
 * message; or, if the port is the limit, the rank itself continues. */
static double cost_of_full(struct pcoll_hop hop, double radix, int depth)
{
    double others = (radix - 2) * hop.gap, next = hop.first > hop.gap ? hop.first : hop.gap;

    return depth == 0 ? 0 : others + hop.first + (depth - 1) * (others + next);
}

/* c children of the first digit; the last of them leads the remaining ranks. */
double pcoll_cost_knomial(struct pcoll_tree tree, struct pcoll_hop hop)
{
    int64_t n = tree.nranks, radix = tree.radix;
    double full, max, last;
    int64_t place = 1, c;
    int depth = 0;

    if (n <= 1)
        return 0;
    for (; place * radix < n; place *= radix)
        depth++;
    c = (n - 1) / place;
    full = cost_of_full(hop, (double)radix, depth);
    max = depth > 0 ? (double)c * hop.gap + full : 0;
    if (c > 1 && (double)(c - 2) * hop.gap + hop.first + full > max)
        max = (double)(c - 2) * hop.gap + hop.first + full;
    last = (double)(c - 1) * hop.gap + hop.first +
           pcoll_cost_knomial((struct pcoll_tree){(int)(n - c * place), tree.radix}, hop);
    return last > max ? last : max;
}

/* c children of the first digit lead `place` ranks each, the last of them the remaining ones. As
 * `place` is a power of the radix, the work is O(log^2 nranks). */
double pcoll_cost_spans(struct pcoll_tree tree, double bytes,
                        const struct pcoll_signature *signature,
                        const struct pcoll_machine *machine)
{
    const int64_t n = tree.nranks, radix = tree.radix;
    struct pcoll_tree below = tree;
    struct pcoll_hop hop, end;
    double full, last;
    int64_t place = 1, c;

    if (n <= 1)
        return 0;
    while (place * radix < n)
        place *= radix;
    c = (n - 1) / place;
    below.nranks = (int)place;
    full = pcoll_cost_spans(below, bytes, signature, machine);
    hop = pcoll_cost_hop(signature, machine, (double)place * bytes);
    below.nranks = (int)(n - c * place);
    last = below.nranks == place ? full : pcoll_cost_spans(below, bytes, signature, machine);
    end = pcoll_cost_hop(signature, machine, (double)below.nranks * bytes);
    last += (double)(c - 1) * hop.gap + end.first;
    if (c > 1)
        last = pcoll_larger(last, (double)(c - 2) * hop.gap + hop.first + full);
    return pcoll_larger(last, (place > 1 ? (double)(c - 1) * hop.gap + end.gap : 0) + full);
}
