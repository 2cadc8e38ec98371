/* The state of a communicator. */

#include "state.h"

#include "algorithms/plan/topology.h"
#include "media_calls.h"

static struct MPIDI_PCOLL_comm *all_states = NULL;

struct MPIDI_PCOLL_comm *MPIDI_PCOLL_state_create(MPIR_Comm *comm,
                                                  const struct pcoll_bootstrap *bootstrap)
{
    struct MPIDI_PCOLL_comm *state = MPL_calloc(1, sizeof(*state), MPL_MEM_COLL);

    if (!state)
        return NULL;
    state->refs = 1;
    state->comm = comm;
    state->bootstrap = *bootstrap;
    DL_APPEND(all_states, state);
    return state;
}

void MPIDI_PCOLL_state_release(struct MPIDI_PCOLL_comm *state)
{
    if (--state->refs > 0)
        return;
    DL_DELETE(all_states, state);
    MPIDI_PCOLL_idle_destroy(state->idle);
    if (state->group)
        MPIDI_PCOLL_group_destroy(state->medium, state->group);
    pcoll_topology_fini(&state->places);
    MPL_free(state->known);
    MPL_free(state->slots);
    MPL_free(state);
}

struct MPIDI_PCOLL_comm *MPIDI_PCOLL_states(void)
{
    return all_states;
}
