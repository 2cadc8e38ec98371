/*
 * Two binary trees over the same teams, none of which has children in both.
 *
 * Idea: in a binary tree half of the teams pass on twice what they receive, and the others nothing.
 * Two trees with half of the message each, in which no team has children in both, balance this:
 * every team passes on at most two halves, one message, as in a chain, at the depth of a binary
 * tree.
 *
 * Number the P teams other than the root 1 .. P. The first tree is the binary search tree over
 * them: x, with l zeros at its low end, is the parent of x - 2^(l-1) and x + 2^(l-1), so odd teams
 * are leaves. The second tree is shifted by one: team x stands where x - 1 stands in the first
 * (team 1 where P does), so even teams are leaves. The root is above the top of each.
 *
 *      N = 8:        4               5           0 -> 4, 5
 *                 2     6         3     7
 *                1 3   5 7       2 4   6 1
 *
 * In order, team x of the second tree stands where x + 1 stands in a tree over 1 .. P + 1 that
 * lacks its leaf 1. So the teams of every subtree are consecutive, in both trees. If P + 1 is a
 * power of two, the second tree then has a level more.
 *
 *      P = 6:        4               3
 *                 2     6         1     5
 *                1 3   5            2  4 6
 *
 * Source: Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and
 * scan" (2009). Their edge coloring gives every rank one send and one receive in each step of a
 * lock-step schedule. Here there are no steps: a put fires when its segment has arrived, and a link
 * that has something to send never waits for its turn, so no schedule is needed. The second tree
 * in order is ours.
 */
#ifndef PCOLL_TWO_TREE_H
#define PCOLL_TWO_TREE_H

#include <stdbool.h>

#include "algorithms/shape/relatives.h"
#include "algorithms/shape/trees.h"
#include "algorithms/teams.h"

extern const struct pcoll_shape pcoll_shape_two_tree;

/*
 * The two trees over ranks, in order: between the leaders of teams (teams.h), and in each team from
 * its leader to all other members. With a root, its team is the root of both; without, the top of
 * each is the root of that one. Operands are listed in rank order, or if the operator commutes by
 * the places of teams without a root, from the root's team on, cyclically.
 */
struct pcoll_two_tree {
    struct pcoll_teams teams;
    struct pcoll_trees trees;
    struct pcoll_teams places;
    bool commutes;
};
struct pcoll_two_tree pcoll_two_tree_of(const struct pcoll_signature *signature,
                                        struct pcoll_teams teams);

/* The relatives of `rank` in tree 0 or 1; the number of its children there. */
enum pcoll_result pcoll_two_tree_relatives(const struct pcoll_two_tree *two, int tree, int rank,
                                           struct pcoll_relatives *relatives) PCOLL_MUST_CHECK;
int pcoll_two_tree_nchildren(const struct pcoll_two_tree *two, int tree, int rank);

/* The number of links between teams on the longest way to a root. */
int pcoll_two_tree_depth(const struct pcoll_two_tree *two);

#endif /* PCOLL_TWO_TREE_H */
