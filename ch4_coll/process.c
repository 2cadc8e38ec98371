/* What holds for the whole process. */

#include "process.h"

#include "cores.h"
#include "lock.h"
#include "mpich_version.h"

#include "algorithms/plan/collective.h"

bool MPIDI_PCOLL_crowded = false;
bool MPIDI_PCOLL_on_one_node = false;

bool MPIDI_PCOLL_is_switched_on(void)
{
    if (MPIR_CVAR_DEVICE_COLLECTIVES != MPIR_CVAR_DEVICE_COLLECTIVES_percoll)
        return MPIR_CVAR_DEVICE_COLLECTIVES == MPIR_CVAR_DEVICE_COLLECTIVES_all;
#define IS_ON(NAME, name) || MPIR_CVAR_##NAME##_INIT_DEVICE_COLLECTIVE
    return false PCOLL_COLLECTIVES(IS_ON);
#undef IS_ON
}

/* ---- the progress hook ---- */

static int hook_id = -1;
static bool needs[MPIDI_PCOLL_NUM_NEEDS];

static bool is_needed(void)
{
    for (int i = 0; i < MPIDI_PCOLL_NUM_NEEDS; i++)
        if (needs[i])
            return true;
    return false;
}

/* Plans may outlast a finalization of MPI. */
void MPIDI_PCOLL_hook_set(int id)
{
    hook_id = id;
    needs[MPIDI_PCOLL_NEED_CORES] = needs[MPIDI_PCOLL_NEED_NETWORK] = false;
    if (hook_id >= 0 && is_needed())
        MPIR_Progress_hook_activate(hook_id);
}

int MPIDI_PCOLL_hook_id(void)
{
    return hook_id;
}

void MPIDI_PCOLL_hook_need(enum MPIDI_PCOLL_need need)
{
    needs[need] = true;
    if (hook_id >= 0)
        MPIR_Progress_hook_activate(hook_id);
}

void MPIDI_PCOLL_hook_drop(enum MPIDI_PCOLL_need need)
{
    needs[need] = false;
    if (hook_id >= 0 && !is_needed())
        MPIR_Progress_hook_deactivate(hook_id);
}

/* ---- cores ---- */

static bool cores_known = false;

void MPIDI_PCOLL_see_cores(void)
{
    const struct MPIDI_PCOLL_cores cores = MPIDI_PCOLL_cores();

    cores_known = cores.all_known;
    MPIDI_PCOLL_crowded = cores.crowded;
    MPIDI_PCOLL_lock_lists();
    if (cores.crowded)
        MPIDI_PCOLL_hook_need(MPIDI_PCOLL_NEED_CORES);
    else
        MPIDI_PCOLL_hook_drop(MPIDI_PCOLL_NEED_CORES);
    MPIDI_PCOLL_unlock_lists();
}

void MPIDI_PCOLL_see_missing_cores(void)
{
    if (!cores_known)
        MPIDI_PCOLL_see_cores();
}

/* ---- MPICH's polls of the network ---- */

bool MPIDI_PCOLL_network_turn(void)
{
    enum { PASSES = 16 };
    static _Thread_local unsigned passes;

    return ++passes % PASSES == 0 || MPIDI_PCOLL_has_met_others();
}
