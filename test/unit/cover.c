/* Lines for the matrix of tests; the contract is in cover.h. */
#include "test/unit/cover.h"

#include <stdio.h>
#include <time.h>

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
