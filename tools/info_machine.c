/* Processes measure this machine, as the ranks of a job do; and which of its cores share what. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for cpu_set_t */
#endif

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "offload/node/measure.h"
#include "offload/node/sharing.h"
#include "offload/sysfs.h"
#include "offload/yield.h"
#include "tools/info.h"

#define ATTEMPTS 300 /* a busy machine may have a core for only one of two processes */

static void print_parameter(const char *name, double value)
{
    for (int i = 0; i < PCOLL_NUM_PARAMETERS; i++)
        if (strcmp(pcoll_parameters[i].name, name) == 0)
            printf("  %-9s %-9.3g %-8s %s\n", name, value, pcoll_parameters[i].unit,
                   pcoll_parameters[i].what);
}

static void print_measured(const struct pcoll_machine *machine)
{
    printf("%s processes of this machine measured:\n", machine->exclusive > 0 ? "Four" : "Two");
#define ROW(member)                                                                                \
    if (machine->member > 0)                                                                       \
        print_parameter(#member, machine->member);
    PCOLL_MEASURED_MEMBERS(ROW)
#undef ROW
    printf("\n");
}

/* Fills localities[0 .. return), of the CPUs that this process may use. */
static int see_cpus(struct pcoll_locality localities[CPU_SETSIZE])
{
    cpu_set_t all, one;
    int n = 0;

    if (sched_getaffinity(0, sizeof(all), &all) != 0)
        return 0;
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &all))
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        localities[n++] = pcoll_sysfs_read(PCOLL_SYSFS_ROOT, &one).locality;
    }
    return n;
}

static void print_sharing(void)
{
    static struct pcoll_locality localities[CPU_SETSIZE];
    const int n = see_cpus(localities);
    struct pcoll_sharing sharing;
    char text[4096];

    if (n == 0 || pcoll_sharing_init(&sharing, localities, sizeof(*localities), n) != PCOLL_OK)
        return;
    printf("With a rank on each CPU that this process may use (%d), they share\n", n);
    for (int what = 0; what < PCOLL_NUM_SHARED; what++) {
        pcoll_sharing_text(&sharing, (enum pcoll_shared)what, text, sizeof(text));
        printf("  %-15s %s\n", pcoll_shared_names[what], *text ? text : "unknown");
    }
    pcoll_sharing_levels_text(&sharing, text, sizeof(text));
    printf("Levels below the node: %s\n\n", text);
    pcoll_sharing_fini(&sharing);
}

/* As many as measure with a core each. */
static int count_processes(void)
{
    cpu_set_t all;
    const bool has_cores =
        sched_getaffinity(0, sizeof(all), &all) == 0 && CPU_COUNT(&all) >= PCOLL_MEASURE_RANKS;

    return has_cores ? PCOLL_MEASURE_RANKS : 2;
}

static void take_part(struct pcoll_measure_place *place, int rank, int nprocesses,
                      struct pcoll_machine *machine)
{
    const uint64_t deadline = pcoll_now() + PCOLL_MEASURE_NSEC;

    if (rank <= 1)
        pcoll_node_measure(place, rank, true, machine);
    if (nprocesses == PCOLL_MEASURE_RANKS)
        pcoll_node_measure_readers(place, rank, true, deadline, machine);
}

/* Returns false if a child could not be made. Rank 1, which would wait for this process, is the
 * last of them. */
static bool measure_with_children(struct pcoll_measure_place *place, int nprocesses,
                                  struct pcoll_machine *machine)
{
    pid_t child = 1;

    for (int rank = nprocesses - 1; rank > 0 && child > 0; rank--) {
        child = fork();
        if (child == 0) {
            take_part(place, rank, nprocesses, machine);
            _exit(0);
        }
    }
    if (child > 0)
        take_part(place, 0, nprocesses, machine);
    while (wait(NULL) > 0)
        ;
    return child > 0;
}

bool info_measure(struct pcoll_machine *machine)
{
    const int nprocesses = count_processes();
    struct pcoll_measure_place *place =
        mmap(NULL, sizeof(*place), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (place == MAP_FAILED)
        return false;
    *machine = (struct pcoll_machine){.L = 0};
    for (int i = 0; i < ATTEMPTS && machine->L == 0; i++) {
        pcoll_node_clear_place(NULL, (char *)place);
        if (!measure_with_children(place, nprocesses, machine))
            break;
    }
    munmap(place, sizeof(*place));
    if (machine->L == 0)
        return false;
    print_measured(machine);
    print_sharing();
    return true;
}
