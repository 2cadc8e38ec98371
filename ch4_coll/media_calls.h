/* The media, as this library of MPI calls them. */

#ifndef MEDIA_CALLS_H_INCLUDED
#define MEDIA_CALLS_H_INCLUDED

#include <stdbool.h>

#include "offload/medium.h"

/* The medium that this rank's settings ask for, as an index of pcoll_media; PCOLL_NONE: MPICH's
 * path. */
int MPIDI_PCOLL_medium_hint(bool one_node);

/* The medium to try next if medium `number` is unavailable, likewise. */
int MPIDI_PCOLL_medium_next(int number, bool one_node);

/* Returns whether the medium is a network over libfabric, whose provider is MPIDI_PCOLL_provider.
 */
bool MPIDI_PCOLL_is_libfabric(const struct pcoll_medium *medium);

/* ---- functions of a medium, and a race on it (offload/race.h); if it is a network, the agent is
 * kept away from it meanwhile ---- */

enum pcoll_result MPIDI_PCOLL_group_create(const struct pcoll_medium *medium,
                                           const struct pcoll_bootstrap *bootstrap,
                                           struct pcoll_group **group_p);
void MPIDI_PCOLL_group_destroy(const struct pcoll_medium *medium, struct pcoll_group *group);
enum pcoll_result MPIDI_PCOLL_bind(struct pcoll_group *group, const struct pcoll_plan *plan,
                                   const struct pcoll_memory *memory, struct pcoll_bound **bound_p);
enum pcoll_result MPIDI_PCOLL_run_race(struct pcoll_group *group,
                                       const struct pcoll_plan *const *plans, int n,
                                       const struct pcoll_memory *memory, double *us);

/* ---- the network, from the first group of such a medium on ---- */

/* Do what peers need, unless the agent is doing it or there is no network. */
void MPIDI_PCOLL_network_poll(void);

bool MPIDI_PCOLL_network_used(void);

/* How often this process has polled the network for plans (offload/pace.h), and for how many ns it
 * has had one. */
struct MPIDI_PCOLL_polls {
    uint64_t polls, ns;
};
struct MPIDI_PCOLL_polls MPIDI_PCOLL_network_polls(void);

/* Returns whether peers have also unbound all plans that were unbound here. */
bool MPIDI_PCOLL_network_left(void);

void MPIDI_PCOLL_network_close(void);

/* A child of a fork never polls its parent's network. */
void MPIDI_PCOLL_network_disown(void);

#endif /* MEDIA_CALLS_H_INCLUDED */
