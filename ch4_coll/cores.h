/* Which cores the ranks of this node may use. */

#ifndef CORES_H_INCLUDED
#define CORES_H_INCLUDED

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

struct MPIDI_PCOLL_cores {
    int count;      /* cores that at least one rank of the node may use, or what the user's word
                     * (MPIR_CVAR_COLL_OFFLOAD_OVERSUBSCRIBED) makes of them */
    bool crowded;   /* this rank may have to share its core: more ranks are confined to its cores
                     * than there are such cores, or all ranks outnumber all cores, or the user
                     * says so */
    bool all_known; /* otherwise some rank has not published, and is assumed to use the same cores
                     * as this one */
};

/* Publish to the other ranks of this node, if any, which cores this rank may use now. Returns an
 * errno: they cannot see it. */
int MPIDI_PCOLL_cores_publish(void);
struct MPIDI_PCOLL_cores MPIDI_PCOLL_cores(void);

/* The same with a setting. */
int MPIDI_PCOLL_setting_publish(uint16_t setting);

/* The setting of a local rank; 0: it has published none that this rank can see. */
uint16_t MPIDI_PCOLL_setting_of(int local_rank);

/* The cores of a local rank; false: it has not published them. */
bool MPIDI_PCOLL_cores_of(int local_rank, cpu_set_t *set);

#endif /* CORES_H_INCLUDED */
