/* Two processes measure this machine, as the ranks of a job do. */
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "offload/node/measure.h"
#include "tools/info.h"

#define ATTEMPTS 300 /* a busy machine may have a core for only one of two processes */

static void print_parameter(const char *name, double value)
{
    for (int i = 0; i < PCOLL_NUM_PARAMETERS; i++)
        if (strcmp(pcoll_parameters[i].name, name) == 0)
            printf("  %-7s %-9.3g %-8s %s\n", name, value, pcoll_parameters[i].unit,
                   pcoll_parameters[i].what);
}

static void print_measured(const struct pcoll_machine *machine)
{
    printf("Two processes of this machine measured:\n");
#define ROW(member)                                                                                \
    if (machine->member > 0)                                                                       \
        print_parameter(#member, machine->member);
    PCOLL_MEASURED_MEMBERS(ROW)
#undef ROW
    printf("\n");
}

/* Returns false if no child could be made. */
static bool measure_with_child(struct pcoll_measure_place *place, struct pcoll_machine *machine)
{
    const pid_t child = fork();

    if (child < 0)
        return false;
    pcoll_node_measure(place, child == 0, true, machine);
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    return true;
}

bool info_measure(struct pcoll_machine *machine)
{
    struct pcoll_measure_place *place =
        mmap(NULL, sizeof(*place), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (place == MAP_FAILED)
        return false;
    *machine = (struct pcoll_machine){.L = 0};
    for (int i = 0; i < ATTEMPTS && machine->L == 0; i++) {
        pcoll_node_clear_place(NULL, (char *)place);
        if (!measure_with_child(place, machine))
            break;
    }
    munmap(place, sizeof(*place));
    if (machine->L == 0)
        return false;
    print_measured(machine);
    return true;
}
