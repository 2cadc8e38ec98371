/* What the user wants to be promoted, and whether all ranks of the node want the same. */

#include "promote.h"

#include "cores.h"
#include "mpich_version.h"
#include "process.h"
#include "report.h"
#include "waiting.h"

#include "ch4_coll_promote.h"

bool MPIDI_PCOLL_promotes = false;

static enum { OFF, EXACT, ALL } level = OFF; /* what is promoted */
static bool is_agreed = false;               /* by all ranks of the node */

static void read_level(void)
{
    static const char *const names[] = {[OFF] = "off", [EXACT] = "exact", [ALL] = "all"};
    const char *wish = MPIR_CVAR_COLL_OFFLOAD_PROMOTE;
    char text[120];

    if (!wish || !*wish)
        return;
    for (int i = OFF; i <= ALL; i++)
        if (strcmp(wish, names[i]) == 0) {
            level = i;
            return;
        }
    if (MPIR_Process.rank > 0)
        return;
    snprintf(text, sizeof(text),
             "MPIR_CVAR_COLL_OFFLOAD_PROMOTE: no '%.30s' (allowed: off, exact, all); using off",
             wish);
    MPIDI_PCOLL_report(text);
}

/* Whether MPICH has a lock for each VCI, as whether a process has threads, may differ between the
 * ranks of a communicator, so only the build decides. */
bool MPIDI_PCOLL_promotion_open(void)
{
    level = OFF;
    is_agreed = false;
    if (MPICH_THREAD_GRANULARITY == MPICH_THREAD_GRANULARITY__GLOBAL &&
        MPIDI_PCOLL_is_switched_on())
        read_level();
    if (MPIR_Process.local_size == 1 || !MPIDI_PCOLL_setting_publish((uint16_t)level))
        level = OFF;
    MPIDI_PCOLL_promotes = level != OFF;
    return MPIDI_PCOLL_promotes;
}

static uint16_t setting_of(int local_rank)
{
    uint16_t setting;

    for (unsigned round = 0; !MPIDI_PCOLL_setting_of(local_rank, &setting); round++) {
        MPID_Progress_test(NULL);
        MPIDI_PCOLL_wait_round(round);
    }
    return setting;
}

/* The ranks publish their settings at the end of MPI_Init without waiting for each other, so only a
 * rank that is not there yet is waited for. */
bool MPIDI_PCOLL_agree_on_promotion(void)
{
    int first = MPIR_Process.local_size; /* that promotes: it says why it no longer does */
    bool differs = false;

    if (is_agreed)
        return true;
    for (int i = MPIR_Process.local_size - 1; i >= 0; i--) {
        const uint16_t setting = setting_of(i);

        differs |= setting != level;
        if (setting != OFF)
            first = i;
    }
    is_agreed = !differs;
    MPIDI_PCOLL_promotes = is_agreed;
    if (differs && first == MPIR_Process.local_rank)
        MPIDI_PCOLL_report("MPIR_CVAR_COLL_OFFLOAD_PROMOTE: not the same on all ranks of this "
                           "node; using off");
    return is_agreed;
}

bool MPIDI_PCOLL_promotes_inexact(void)
{
    return level == ALL;
}

void MPIDI_PCOLL_promotion_end(void)
{
    MPIDI_PCOLL_promotes = false;
}
