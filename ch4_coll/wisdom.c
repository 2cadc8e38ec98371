/* What races have found, in a file that outlives the job. */

#include "wisdom.h"

#include "mpidimpl.h"

#include "settings.h"

#include "tuning/table/wisdom.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_COLL_OFFLOAD_WISDOM
      category    : COLLECTIVE
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : >-
        A file with what races have found on this machine (MPIR_CVAR_COLL_OFFLOAD_EFFORT). Values:
        a path; unset, what they find ends with the job. Rank 0 of a communicator reads the file
        before it chooses, and what has been raced is not raced again; MPI_Finalize adds what
        races have found. The file is a tuning table, which pcoll-info shows. Set it with
        ..._EFFORT=measure, and then also without.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

static struct {
    char path[MPIDI_PCOLL_PATH_BYTES]; /* "": none */
    struct pcoll_rule *rules;          /* not in the file yet */
    size_t n;
    bool is_refused; /* the file is not to be written */
} found;

void MPIDI_PCOLL_wisdom_read(struct pcoll_table *table, FILE *out)
{
    MPIDI_PCOLL_absolute_path(MPIR_CVAR_COLL_OFFLOAD_WISDOM, found.path);
    if (!found.path[0])
        return;
    found.is_refused = pcoll_wisdom_read(found.path, table, out) != PCOLL_OK;
    if (found.is_refused)
        fprintf(out, "MPIR_CVAR_COLL_OFFLOAD_WISDOM: going on without, and leaving it as it is\n");
}

/* Where memory is scarce, there is nothing to note. */
void MPIDI_PCOLL_wisdom_add(struct pcoll_table *table, const struct pcoll_rule *rule)
{
    struct pcoll_rule *rules;

    if (!found.path[0] || found.is_refused || pcoll_table_prefer(table, rule) != PCOLL_OK)
        return;
    rules = MPL_realloc(found.rules, (found.n + 1) * sizeof(*rules), MPL_MEM_COLL);
    if (!rules)
        return;
    found.rules = rules;
    rules[found.n++] = *rule;
}

void MPIDI_PCOLL_wisdom_keep(struct pcoll_table *table, FILE *out)
{
    if (found.n > 0 && pcoll_wisdom_merge(found.path, table, found.rules, found.n, out) != PCOLL_OK)
        fprintf(out, "MPIR_CVAR_COLL_OFFLOAD_WISDOM: what races found is lost\n");
    MPL_free(found.rules);
    memset(&found, 0, sizeof(found));
}
