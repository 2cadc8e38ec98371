/* What tests force, so that one machine reaches the paths that others take by themselves:
 * environment variables PCOLL_TEST_..., which are no settings. They are read once, and any release
 * may change them. test/mpi/README.md lists them. */

#include "forced.h"

#include "mpidimpl.h"

#include "algorithms/plan/topology.h"
#include "offload/bootstrap.h"

/* The number in an environment variable; `otherwise` if it is not set. */
static int number(const char *variable, int otherwise)
{
    const char *text = getenv(variable);

    return text ? atoi(text) : otherwise;
}

/* This rank's character of each of three texts, as `00001111/00112233/01234567`: its socket, NUMA
 * domain and cache; unknown where there is none, or no digit. NULL: the variable is not set. */
static const struct pcoll_locality *find_locality(const char *variable)
{
    static struct pcoll_locality found;
    int32_t *const members[] = {&found.package, &found.numa, &found.cache};
    const char *text = getenv(variable);

    if (!text)
        return NULL;
    for (int i = 0; i < 3; i++) {
        const size_t length = strcspn(text, "/"), at = (size_t)MPIR_Process.local_rank;

        *members[i] =
            at < length && text[at] >= '0' && text[at] <= '9' ? text[at] - '0' : PCOLL_NONE;
        text += length + (text[length] == '/');
    }
    return &found;
}

const struct MPIDI_PCOLL_forced *MPIDI_PCOLL_forced(void)
{
    static struct MPIDI_PCOLL_forced forced;
    static bool is_read = false;

    if (!is_read) {
        forced = (struct MPIDI_PCOLL_forced){
            .cma = number("PCOLL_TEST_CMA", 1) != 0,
            .cma_from = (uint64_t)number("PCOLL_TEST_CMA_FROM", 0),
            .coop_from = (uint64_t)number("PCOLL_TEST_COOP_FROM", PCOLL_COOP_FROM),
            .share_ucx = number("PCOLL_TEST_SHARE_UCX", 1) != 0,
            .agent_from = (uint64_t)number("PCOLL_TEST_AGENT_FROM", 65536),
            .reuse = number("PCOLL_TEST_REUSE", 1) != 0,
            .promote_after = number("PCOLL_TEST_PROMOTE_AFTER", 2048),
            .promote_part =
                number("PCOLL_TEST_PROMOTE_PART", getenv("PCOLL_TEST_PROMOTE_AFTER") ? 0 : 50),
            .teams = number("PCOLL_TEST_TEAMS", 0),
            .locality = find_locality("PCOLL_TEST_LOCALITY"),
            .agent_spin_usec = (unsigned)number("PCOLL_TEST_AGENT_SPIN", 50),
        };
        is_read = true;
    }
    return &forced;
}
