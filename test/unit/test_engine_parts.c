/* The parts of the discrete-event engine: its queue, its symbolic data, its networks. */
#include <stdlib.h>

#include "test/unit/tap.h"
#include "tuning/sim/network.h"
#include "tuning/sim/queue.h"
#include "tuning/sim/symbol.h"

/* ---- the queue ---- */

static void check_queue(void)
{
    struct pcoll_event_queue queue;
    struct pcoll_event event = {0};
    double last = 0;
    int32_t last_number = -1;
    int right = 1, taken = 0;

    pcoll_event_queue_init(&queue, false);
    srand(1);
    for (int32_t i = 0; i < 20000; i++) {
        event = (struct pcoll_event){.time = last + rand() % 8 * 0.125, .from = i};
        pcoll_event_queue_put(&queue, &event);
        if (rand() % 2 && pcoll_event_queue_take(&queue, &event)) {
            right = right && event.time >= last && (event.time > last || event.from > last_number);
            last = event.time;
            last_number = event.from;
            taken++;
        }
    }
    while (pcoll_event_queue_take(&queue, &event)) {
        right = right && (event.time > last || (event.time == last && event.from > last_number));
        last = event.time;
        last_number = event.from;
        taken++;
    }
    pcoll_event_queue_fini(&queue);
    tap_ok(right && taken == 20000,
           "events come in order of time, equal times in order of insertion");
}

/* ---- symbolic data ---- */

/* Two blocks of 10 bytes in RECV of rank 0, read in these instances and placed at these offsets. */
static int gathers(const int instance[2], const uint64_t place[2])
{
    const struct pcoll_signature signature = {.coll = PCOLL_ALLGATHER, .nranks = 2, .bytes = 10};
    struct pcoll_symbols *symbols;
    uint32_t load[2];
    int right;

    if (pcoll_symbols_create(&signature, &symbols) != PCOLL_OK)
        abort();
    for (int r = 0; r < 2; r++) {
        pcoll_symbols_start(symbols, r, instance[r]);
        load[r] = pcoll_symbols_read(symbols, r, pcoll_at(PCOLL_SEND, 0), 10);
    }
    pcoll_symbols_start(symbols, 0, 3);
    for (int r = 0; r < 2; r++)
        pcoll_symbols_write(symbols, 0, pcoll_at(PCOLL_RECV, place[r]), 10, load[r]);
    right = pcoll_symbols_complete(symbols, 0, 3);
    pcoll_symbols_destroy(symbols);
    return right;
}

/* Ten bytes of the root's message arrive, starting at byte `first`. */
static int arrives(uint64_t first)
{
    const struct pcoll_signature signature = {.coll = PCOLL_BCAST, .nranks = 2, .bytes = 10};
    struct pcoll_symbols *symbols;
    int right;

    if (pcoll_symbols_create(&signature, &symbols) != PCOLL_OK)
        abort();
    pcoll_symbols_start(symbols, 0, 0);
    pcoll_symbols_start(symbols, 1, 0);
    pcoll_symbols_write(symbols, 1, pcoll_at(PCOLL_RECV, 0), 10,
                        pcoll_symbols_read(symbols, 0, pcoll_at(PCOLL_SEND, first), 10));
    right = pcoll_symbols_complete(symbols, 1, 0);
    pcoll_symbols_destroy(symbols);
    return right;
}

static void check_symbols(void)
{
    tap_ok(arrives(0) && !arrives(1), "a message is accepted, a shifted one is not");
    tap_ok(gathers((int[]){3, 3}, (uint64_t[]){0, 10}), "two blocks are accepted");
    tap_ok(!gathers((int[]){3, 3}, (uint64_t[]){10, 0}), "swapped blocks are refused");
    tap_ok(!gathers((int[]){3, 3}, (uint64_t[]){0, 9}), "overlapping blocks are refused");
    tap_ok(!gathers((int[]){3, 2}, (uint64_t[]){0, 10}), "a block of another instance is refused");
    tap_ok(!gathers((int[]){2, 2}, (uint64_t[]){0, 10}),
           "two blocks of another instance are refused");
}

/* ---- the network ---- */

static int way_length(const struct pcoll_network *network, int nnodes, int from, int to)
{
    int hops = 0;

    while (pcoll_network_link(network, nnodes, from, to, hops) != PCOLL_NONE)
        hops++;
    return hops;
}

/* Follows link after link on a torus of 3 x 4 x 5 from `from`; returns where the route ends. */
static int way_end(const struct pcoll_network *network, int from, int to)
{
    const int side[] = {3, 4, 5}, stride[] = {1, 3, 12};
    int at = from;
    int64_t link;

    for (int hop = 0; (link = pcoll_network_link(network, 60, from, to, hop)) != PCOLL_NONE;
         hop++) {
        int axis = (int)(link / 2 % 3), place = at / stride[axis] % side[axis];
        int next = (place + (link % 2 ? side[axis] - 1 : 1)) % side[axis];

        if (link / 6 != at)
            return PCOLL_NONE;
        at += (next - place) * stride[axis];
    }
    return at;
}

static int ring_distance(int a, int b, int side)
{
    int d = abs(a - b);

    return d < side - d ? d : side - d;
}

static void check_torus_ways(void)
{
    struct pcoll_network network;
    int right = pcoll_network_parse("torus:3x4x5", &network) == PCOLL_OK;

    for (int a = 0; a < 60; a++)
        for (int b = 0; b < 60; b++) {
            int expected = ring_distance(a % 3, b % 3, 3) + ring_distance(a / 3 % 4, b / 3 % 4, 4) +
                           ring_distance(a / 12, b / 12, 5);

            right = right && way_length(&network, 60, a, b) == expected;
            right = right && way_end(&network, a, b) == b;
        }
    tap_ok(right, "routes on a torus of 3 x 4 x 5 are shortest, link after link");
    right = pcoll_network_parse("fat_tree:4:2", &network) == PCOLL_OK;
    right = right && way_length(&network, 16, 0, 3) == 0 && way_length(&network, 16, 0, 4) == 2;
    right = right &&
            pcoll_network_link(&network, 16, 0, 4, 0) != pcoll_network_link(&network, 16, 0, 5, 0);
    tap_ok(right, "a fat tree: two links between leaves, by the spine of the receiver");
    tap_ok(pcoll_network_parse("torus:3x4", &network) == PCOLL_ERR_INVALID &&
               pcoll_network_parse("fat_tree:0:1", &network) == PCOLL_ERR_INVALID &&
               pcoll_network_parse("flat ", &network) == PCOLL_ERR_INVALID,
           "malformed networks are refused");
}

int main(void)
{
    check_queue();
    check_symbols();
    check_torus_ways();
    return tap_done();
}
