/* A rank and its relatives; the contract is in relatives.h. */
#include "algorithms/shape/relatives.h"

#include <stdlib.h>

#include "algorithms/util.h"

/* The number of children of `rank`, which become relatives->children. */
static int find_children(struct pcoll_relatives *relatives, const struct pcoll_relatives_tree *tree,
                         int rank)
{
    const int n = tree->children(tree->tree, rank, relatives->children);
    const int place = tree->place ? tree->place(tree->tree, rank) : rank;
    int *children = relatives->children;

    for (int i = 0; tree->place && i < n; i++)
        children[i] = tree->place(tree->tree, children[i]);
    qsort(children, (size_t)n, sizeof(*children), pcoll_compare_ints);
    relatives->left = 0;
    while (relatives->left < n && children[relatives->left] < place)
        relatives->left++;
    for (int i = 0; tree->place && i < n; i++)
        children[i] = tree->rank(tree->tree, children[i]);
    return n;
}

enum pcoll_result pcoll_relatives_init(struct pcoll_relatives *relatives,
                                       const struct pcoll_relatives_tree *tree, int rank)
{
    *relatives = (struct pcoll_relatives){
        .parent = tree->parent(tree->tree, rank),
        .children = malloc((size_t)tree->max * sizeof(*relatives->children)),
    };
    if (relatives->children == NULL)
        return PCOLL_ERR_NOMEM;
    if (!pcoll_relatives_is_root(relatives)) {
        relatives->siblings = find_children(relatives, tree, relatives->parent);
        while (relatives->children[relatives->number] != rank)
            relatives->number++;
    }
    relatives->nchildren = find_children(relatives, tree, rank);
    return PCOLL_OK;
}

void pcoll_relatives_fini(struct pcoll_relatives *relatives)
{
    free(relatives->children);
    relatives->children = NULL;
}
