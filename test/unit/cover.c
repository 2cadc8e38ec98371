/* Lines for the matrix of tests; the contract is in cover.h. */
#include "test/unit/cover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "offload/media.h"

double cover_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void cover_row(const struct pcoll_algorithm *row, const char *kind, int jobs, double begin)
{
    if (jobs == 0)
        return;
    fflush(stdout);
    printf("# covers %s/%s %s %d %.2f\n", pcoll_coll_name(row->coll), row->name, kind, jobs,
           cover_clock() - begin);
    fflush(stdout);
}

void cover_excuse(const struct pcoll_algorithm *row, const char *kind, const char *reason)
{
    fflush(stdout);
    printf("# excuses %s/%s %s %s\n", pcoll_coll_name(row->coll), row->name, kind, reason);
    fflush(stdout);
}

static int is_wanted(const struct pcoll_algorithm *row)
{
    const char *wanted = getenv("PCOLL_TEST_ROW");
    char name[100];

    snprintf(name, sizeof(name), "%s/%s", pcoll_coll_name(row->coll), row->name);
    return wanted == NULL || strcmp(wanted, name) == 0;
}

/* Returns whether `kind` is a medium that reads no memory of other ranks. */
static int loads_nothing(const char *kind)
{
    const int medium = pcoll_media_find(kind);

    return medium != PCOLL_NONE && !(pcoll_media[medium]->traits & PCOLL_LOADS);
}

int cover_skips(const struct pcoll_algorithm *row, const char *kind)
{
    const struct pcoll_collective *collective = pcoll_collectives[row->coll];
    char reason[100];

    if (!is_wanted(row))
        return 1;
    if (row->must_map && loads_nothing(kind)) {
        cover_excuse(row, kind, "it reads memory of other ranks");
        return 1;
    }
    if (collective->pattern == NULL)
        return 0;
    PCOLL_EACH_ALGORITHM (other) {
        if (other == row)
            return 0;
        if (other->generate != row->generate ||
            pcoll_collectives[other->coll]->pattern != collective->pattern)
            continue;
        snprintf(reason, sizeof(reason), "its plans are those of %s/%s",
                 pcoll_coll_name(other->coll), other->name);
        cover_excuse(row, kind, reason);
        return 1;
    }
    return 0;
}
