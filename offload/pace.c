/* How often this process polls the network; the contract is in pace.h. */
#include "offload/pace.h"

#include "offload/yield.h"

struct pcoll_pace pcoll_network_pace;

/* Until the first pause nobody has to know the time. */
static inline bool is_free(const struct pcoll_pace *pace)
{
    return pace->empty < PCOLL_PACE_FREE;
}

static bool is_due(struct pcoll_pace *pace, uint64_t now)
{
    uint64_t pause;

    if (pace->quiet == 0)
        pace->quiet = pace->polled = now;
    pause = (now - pace->quiet) / PCOLL_PACE_PART;
    if (pause > PCOLL_PACE_MAX_NS)
        pause = PCOLL_PACE_MAX_NS;
    return now - pace->polled >= pause;
}

bool pcoll_pace_polls_at(struct pcoll_pace *pace, uint64_t now)
{
    if (is_free(pace))
        pace->empty++;
    else if (is_due(pace, now))
        pace->polled = now;
    else
        return false;
    pace->polls++;
    return true;
}

bool pcoll_network_polls(void)
{
    struct pcoll_pace *pace = &pcoll_network_pace;

    return pcoll_pace_polls_at(pace, is_free(pace) ? 0 : pcoll_now());
}
