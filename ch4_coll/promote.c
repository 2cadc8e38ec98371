/* Which calls are promoted: keys, their counts, and reviews. */

#include "promote.h"

#include "child.h"
#include "comm.h"
#include "forced.h"
#include "lock.h"
#include "mpich_version.h"
#include "process.h"
#include "promote_key.h"
#include "report.h"
#include "session.h"

#include "ch4_coll_promote.h"

#include "offload/agree.h"
#include "offload/node/measure.h"
#include "offload/yield.h"

enum {
    KEY_SLOTS = 64,       /* of a communicator: a power of two, more than it has keys */
    MAX_PLANS = 16,       /* of a communicator, for short calls */
    MAX_DISTANCE = 16384, /* calls from one review to the next, before there are plans */
    PLAN_DISTANCE = 2048, /* the same, once there are */
    FIRST_NSEC = 1000000  /* the first plan of a communicator takes up to so long for each rank */
};

/* What a communicator has for its short calls, or its long ones. */
struct usage {
    int keys, plans;
    uint64_t bytes; /* of the plans, and of their buffers unless they work on user memory, on a
                     * rank */
};

enum { LENGTHS = 2 };

/* Further keys are not counted. The last plan may exceed the bytes; buffers alone never do. */
static const struct usage most[LENGTHS] = {
    [false] = {40, MAX_PLANS, 1 << 20}, [true] = {16, 8, 8 << 20}};

struct key {
    uint64_t key; /* 0: the slot is free */
    uint64_t calls;
    MPI_Op op; /* of a reduction, as the first call named them */
    MPI_Datatype type;
    struct MPIDI_PCOLL_promoted *plan;
    bool is_declined;
};

/* What has been called on a communicator; kept as an attribute, as its state. */
struct calls {
    struct MPIDI_PCOLL_tally tally; /* first, as slots point to it */
    uint64_t number;                /* of the last call, once these have been made */
    uint64_t noted_from;            /* calls with greater numbers are noted */
    uint64_t review;                /* up to this one; then the next review comes */
    uint64_t hash;                  /* of all noted keys */
    struct usage uses[LENGTHS];
    bool is_closed; /* MPICH serves the communicator */
    struct key keys[KEY_SLOTS];
};

static struct MPIDI_PCOLL_tally no_tally;

#define NO_TALLIES_4 &no_tally, &no_tally, &no_tally, &no_tally
struct MPIDI_PCOLL_tally *MPIDI_PCOLL_tallies[MPIDI_PCOLL_TALLIES] = {NO_TALLIES_4, NO_TALLIES_4,
                                                                      NO_TALLIES_4, NO_TALLIES_4};

static int keyval = MPI_KEYVAL_INVALID;
static uint64_t spent = 0;          /* by this process, in nanoseconds, on building plans */
static bool has_long_plans = false; /* and so the machine has been measured */

/* ---- keys of a communicator ---- */

/* The slot of a key, or the free one that it would get. */
static struct key *find_key(struct calls *calls, uint64_t key)
{
    enum { SHIFT = 58 }; /* leaves the number of a slot */
    unsigned i = (unsigned)(key * UINT64_C(0x9e3779b97f4a7c15) >> SHIFT);

    while (calls->keys[i].key != 0 && calls->keys[i].key != key)
        i = (i + 1) % KEY_SLOTS;
    return &calls->keys[i];
}

/* Note a call. */
static void note(struct calls *calls, uint64_t key, MPI_Op op, MPI_Datatype type)
{
    const bool is_long = MPIDI_PCOLL_key_is_long(key);
    struct key *slot;

    calls->hash = (calls->hash ^ key) * UINT64_C(0x9e3779b97f4a7c15) + 1;
    if (key == 0)
        return;
    slot = find_key(calls, key);
    if (slot->key == 0 && calls->uses[is_long].keys < most[is_long].keys) {
        *slot = (struct key){.key = key, .op = op, .type = type};
        calls->uses[is_long].keys++;
    }
    if (slot->key != 0)
        slot->calls++;
}

static bool has_used_up_keys(const struct calls *calls, bool is_long)
{
    return calls->uses[is_long].keys == most[is_long].keys;
}

/* Where keys are used up, those that have been called less than so often make room for others. */
static void forget_rare(struct calls *calls, uint64_t enough)
{
    const bool is_used_up[LENGTHS] = {has_used_up_keys(calls, false),
                                      has_used_up_keys(calls, true)};
    struct key keys[KEY_SLOTS];

    if (!is_used_up[false] && !is_used_up[true])
        return;
    memcpy(keys, calls->keys, sizeof(keys));
    memset(calls->keys, 0, sizeof(keys));
    for (int i = 0; i < KEY_SLOTS; i++) {
        const bool is_long = MPIDI_PCOLL_key_is_long(keys[i].key);

        if (keys[i].key == 0)
            continue;
        if (keys[i].plan || keys[i].calls >= enough || !is_used_up[is_long])
            *find_key(calls, keys[i].key) = keys[i];
        else
            calls->uses[is_long].keys--;
    }
}

/* ---- the calls of a communicator ---- */

static int count_plans(const struct calls *calls)
{
    return calls->uses[false].plans + calls->uses[true].plans;
}

/* Local, as delete_state of comm.c. The child of a fork leaves everything as it is. */
static int delete_calls(MPI_Comm comm, int key, void *value, void *extra)
{
    struct calls *calls = value;

    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    for (int i = 0; i < MPIDI_PCOLL_TALLIES; i++)
        if (MPIDI_PCOLL_tallies[i] == &calls->tally)
            MPIDI_PCOLL_tallies[i] = &no_tally;
    for (int i = 0; i < KEY_SLOTS && !MPIDI_PCOLL_is_child(); i++)
        MPIDI_PCOLL_promoted_free(calls->keys[i].plan);
    MPL_free(calls);
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    return MPI_SUCCESS;
}

void MPIDI_PCOLL_promotion_free_keyval(void)
{
    for (int i = 0; i < MPIDI_PCOLL_TALLIES; i++)
        MPIDI_PCOLL_tallies[i] = &no_tally;
    MPIDI_PCOLL_free_keyval(&keyval);
}

/* MPICH serves the communicator: all further calls only count. */
static void leave_to_mpich(struct calls *calls)
{
    calls->is_closed = true;
    calls->tally.plain = UINT64_MAX;
    calls->tally.awaits_barrier = false;
}

/* Calls whose keys a review sees: the last ones before it. */
static uint64_t max_noted(void)
{
    enum { LEAST = 16, PART = 32 /* of the calls before the first review */ };

    return MPL_MAX((uint64_t)MPIDI_PCOLL_forced()->promote_after / PART, LEAST);
}

/* So many of them earn a plan. */
static uint64_t enough_calls(void)
{
    return max_noted() / MAX_PLANS;
}

/* The next review comes after so many more calls, 0: after the next one. Until there are plans, the
 * calls that are not noted only count. */
static void schedule(struct calls *calls, uint64_t distance)
{
    const uint64_t further = MPL_MAX(distance, 1);

    calls->review = calls->number + further;
    calls->noted_from = calls->review - MPL_MIN(further, max_noted());
    calls->tally.awaits_barrier = false;
    if (count_plans(calls) > 0)
        return;
    calls->tally.plain = calls->noted_from - calls->number;
    calls->number = calls->noted_from;
}

/* How many calls a review waits for a barrier. */
static uint64_t patience(void)
{
    return (uint64_t)MPIDI_PCOLL_forced()->promote_after;
}

/* The next calls only count, unless there are plans; but a barrier ends that. */
static void await_barrier(struct calls *calls)
{
    calls->tally.awaits_barrier = true;
    if (count_plans(calls) > 0)
        return;
    calls->tally.plain = patience();
    calls->number += calls->tally.plain;
}

static void stop_awaiting(struct calls *calls)
{
    calls->number -= calls->tally.plain;
    calls->tally.plain = 0;
}

static int create_calls(MPIR_Comm *comm, struct calls **calls_p)
{
    struct calls *calls = MPL_calloc(1, sizeof(*calls), MPL_MEM_COLL);
    int mpi_errno = MPI_SUCCESS;

    *calls_p = NULL;
    MPIR_ERR_CHKANDJUMP(!calls, mpi_errno, MPI_ERR_OTHER, "**nomem");
    calls->tally.comm = comm;
    if (MPIDI_PCOLL_session_open() == MPI_SUCCESS)
        schedule(calls, (uint64_t)MPIDI_PCOLL_forced()->promote_after);
    else
        leave_to_mpich(calls);
    mpi_errno = MPIDI_PCOLL_attach(comm, &keyval, delete_calls, calls);
    MPIR_ERR_CHECK(mpi_errno);
    *calls_p = calls;

fn_exit:
    return mpi_errno;
fn_fail:
    MPL_free(calls);
    goto fn_exit;
}

/* *calls_p is NULL, on all ranks, if nothing is ever promoted here. Ranks that could not count
 * would miss the next review, so this may fail. */
static int calls_of(MPIR_Comm *comm, struct calls **calls_p)
{
    struct MPIDI_PCOLL_tally **slot = MPIDI_PCOLL_tally_slot(comm);
    struct calls *calls = (struct calls *)*slot;
    int found = 0, mpi_errno = MPI_SUCCESS;

    *calls_p = calls;
    if ((*slot)->comm == comm)
        return MPI_SUCCESS;
    *calls_p = NULL;
    if (comm->comm_kind != MPIR_COMM_KIND__INTRACOMM || comm->local_size == 1 ||
        MPIDI_PCOLL_is_internal(comm))
        return MPI_SUCCESS;
    if (keyval != MPI_KEYVAL_INVALID)
        mpi_errno = MPIDI_PCOLL_get_attr(comm, keyval, &calls, &found);
    if (mpi_errno == MPI_SUCCESS && !found)
        mpi_errno = create_calls(comm, &calls);
    if (mpi_errno == MPI_SUCCESS) {
        *calls_p = calls;
        *slot = &calls->tally;
    }
    return mpi_errno;
}

/* ---- reviews ---- */

/* Collective. */
static int build_plan(struct calls *calls, struct key *key)
{
    struct usage *usage = &calls->uses[MPIDI_PCOLL_key_is_long(key->key)];
    const uint64_t begin = pcoll_now();
    const int mpi_errno =
        MPIDI_PCOLL_promoted_create(calls->tally.comm, key->key, key->op, key->type, &key->plan);

    spent += pcoll_now() - begin;
    key->is_declined = key->plan == NULL;
    if (key->is_declined)
        return mpi_errno;
    usage->plans++;
    usage->bytes += MPIDI_PCOLL_promoted_bytes(key->plan);
    has_long_plans = has_long_plans || MPIDI_PCOLL_key_is_long(key->key);
    return mpi_errno;
}

/* Whether further plans may be built. The greatest answer of all ranks counts. */
enum room { HAS_ROOM, IS_EARLY, IS_FULL };

/* What all ranks know after they have compared their calls. */
struct standing {
    enum room room[LENGTHS]; /* for plans of short, or long, calls */
    bool is_crowded;         /* some rank may have to share its core */
};

/* Whether a key has been called often enough, and may have a plan. */
static bool has_earned(const struct calls *calls, const struct key *key,
                       const struct standing *standing)
{
    const bool is_long = MPIDI_PCOLL_key_is_long(key->key);

    return key->key != 0 && !key->plan && !key->is_declined && key->calls >= enough_calls() &&
           standing->room[is_long] == HAS_ROOM &&
           MPIDI_PCOLL_promoted_buffer_bytes(calls->tally.comm, key->key) <= most[is_long].bytes &&
           (!standing->is_crowded || MPIDI_PCOLL_key_suits_crowded(key->key));
}

static bool comes_before(const struct key *a, const struct key *b)
{
    const bool is_long = MPIDI_PCOLL_key_is_long(a->key);

    return is_long == MPIDI_PCOLL_key_is_long(b->key) ? a->calls > b->calls : !is_long;
}

/* The key whose plan is built next, of those that have earned one; NULL: there is none. Plans of
 * long calls take more time, so they come last. */
static struct key *next_key(struct calls *calls, const struct standing *standing)
{
    struct key *next = NULL;

    for (int i = 0; i < KEY_SLOTS; i++) {
        struct key *key = &calls->keys[i];

        if (has_earned(calls, key, standing) && (!next || comes_before(key, next)))
            next = key;
    }
    return next;
}

/* The distance of reviews grows with the number of calls, within bounds: a key that comes late
 * waits for one, and behind a barrier that is a plan its calls took up to a third longer meanwhile.
 * As long as there are no plans, calls are noted for reviews only, so these are farther apart. */
static uint64_t next_distance(const struct calls *calls)
{
    enum { GROWTH = 4 };

    return count_plans(calls) > 0 ? MPL_MIN(calls->number / GROWTH, PLAN_DISTANCE)
                                  : MPL_MIN(calls->number, MAX_DISTANCE);
}

/* Whether this process would have spent more than its part of the time since MPI_Init if the next
 * plans were built now. The first one for long calls may have the machine measured. */
static bool is_early(const struct calls *calls, bool is_long)
{
    const uint64_t nranks = (uint64_t)calls->tally.comm->local_size;
    uint64_t more = count_plans(calls) > 0 ? 0 : nranks * FIRST_NSEC;

    if (is_long && !has_long_plans)
        more += PCOLL_MEASURE_NSEC;
    return (spent + more) * (uint64_t)MPIDI_PCOLL_forced()->promote_part >
           pcoll_now() - MPIDI_PCOLL_promotion_opened();
}

static enum room find_room(const struct calls *calls, bool is_long)
{
    const struct usage *usage = &calls->uses[is_long];

    if (usage->plans == most[is_long].plans || usage->bytes >= most[is_long].bytes)
        return IS_FULL;
    return is_early(calls, is_long) ? IS_EARLY : HAS_ROOM;
}

/* What the calls that are reviewed do themselves; so it needs no memory and no messages that they
 * have not used yet. */
static enum pcoll_result combine(void *comm, uint64_t *words, int n)
{
    return MPIDI_PCOLL_allreduce_max(words, n, comm) == MPI_SUCCESS ? PCOLL_OK : PCOLL_ERR_SYSTEM;
}

static bool is_crowded(void)
{
    MPIDI_PCOLL_see_missing_cores();
    return MPIDI_PCOLL_crowded;
}

/* Collective: have all ranks made the same calls, and is all well so far (mpi_errno)? Otherwise, or
 * if it is crowded and plans are not for such ranks, the communicator is closed, on all ranks. */
static int compare(struct calls *calls, int mpi_errno, struct standing *standing)
{
    enum { HASH, SHORT, LONG, CROWDED, NTERMS };
    const struct pcoll_bootstrap bootstrap = {.rank = calls->tally.comm->rank,
                                              .nranks = calls->tally.comm->local_size,
                                              .context = calls->tally.comm,
                                              .combine = combine};
    struct pcoll_term terms[NTERMS] = {
        [HASH] = {.kind = PCOLL_TERM_SAME, .value = calls->hash},
        [SHORT] = {.kind = PCOLL_TERM_MAX, .value = find_room(calls, false)},
        [LONG] = {.kind = PCOLL_TERM_MAX, .value = find_room(calls, true)},
        [CROWDED] = {.kind = PCOLL_TERM_MAX, .value = is_crowded()},
    };
    const enum pcoll_result mine = mpi_errno == MPI_SUCCESS ? PCOLL_OK : PCOLL_ERR_SYSTEM;
    const enum pcoll_result result =
        pcoll_agree(&bootstrap, PCOLL_ROUND_REVIEW, mine, terms, NTERMS);

    *standing = (struct standing){
        .room = {[false] = (enum room)terms[SHORT].value, [true] = (enum room)terms[LONG].value},
        .is_crowded = terms[CROWDED].value != 0};
    if (result == PCOLL_OK && !terms[HASH].differs &&
        (!standing->is_crowded || MPIDI_PCOLL_promotes_crowded()))
        return mpi_errno;
    leave_to_mpich(calls);
    if (result != PCOLL_OK && mpi_errno == MPI_SUCCESS)
        MPIR_ERR_SET(mpi_errno, MPI_ERR_OTHER, "**coll_fail");
    else if (result == PCOLL_OK && calls->tally.comm->rank == 0 &&
             MPIR_CVAR_COLL_OFFLOAD_VERBOSE > 0)
        MPIDI_PCOLL_report(terms[HASH].differs
                               ? "ranks of a communicator do not make the same calls, so none of "
                                 "them is promoted"
                               : "ranks of a communicator may have to share cores, so its calls "
                                 "are promoted only if MPIR_CVAR_COLL_OFFLOAD_PROMOTE asks for it");
    return mpi_errno;
}

/* Collective: build the plans that have been earned. Every rank finds without messages, and with
 * the same result, whether its nodes and settings exclude a communicator. The first review asks,
 * not the first call, since most communicators have few calls. */
static int review(struct calls *calls)
{
    MPIR_Comm *comm = calls->tally.comm;
    struct standing standing;
    struct key *key = NULL;
    bool is_full;
    int mpi_errno = MPI_SUCCESS;

    if (count_plans(calls) == 0 &&
        !(MPIDI_PCOLL_is_on_one_node(comm) && MPIDI_PCOLL_all_promote(comm))) {
        leave_to_mpich(calls);
        return MPI_SUCCESS;
    }
    do {
        if (key)
            mpi_errno = build_plan(calls, key);
        mpi_errno = compare(calls, mpi_errno, &standing);
        if (mpi_errno != MPI_SUCCESS || calls->is_closed)
            return mpi_errno;
        key = next_key(calls, &standing);
    } while (key);
    forget_rare(calls, enough_calls());
    is_full = standing.room[false] == IS_FULL && standing.room[true] == IS_FULL;
    schedule(calls, is_full ? UINT64_MAX - calls->number : next_distance(calls));
    return MPI_SUCCESS;
}

static bool is_barrier(uint64_t key)
{
    return key != 0 && MPIDI_PCOLL_key_coll(key) == PCOLL_BARRIER;
}

static int count(struct calls *calls, uint64_t key, MPI_Op op, MPI_Datatype type)
{
    calls->number++;
    if (calls->number > calls->noted_from && calls->number <= calls->review)
        note(calls, key, op, type);
    if (calls->number < calls->review)
        return MPI_SUCCESS;
    if (is_barrier(key) || calls->number - calls->review >= patience())
        return review(calls);
    if (!calls->tally.awaits_barrier)
        await_barrier(calls);
    return MPI_SUCCESS;
}

int MPIDI_PCOLL_promote(MPIR_Comm *comm, uint64_t key, MPI_Op op, MPI_Datatype type,
                        struct MPIDI_PCOLL_promoted **plan_p)
{
    struct calls *calls;
    int mpi_errno;

    *plan_p = NULL;
    mpi_errno = calls_of(comm, &calls);
    if (mpi_errno != MPI_SUCCESS || !calls)
        return mpi_errno;
    if (calls->tally.awaits_barrier && is_barrier(key))
        stop_awaiting(calls);
    if (calls->tally.plain > 0) {
        calls->tally.plain--; /* another communicator had the place of its tally */
        return MPI_SUCCESS;
    }
    mpi_errno = count(calls, key, op, type);
    if (mpi_errno == MPI_SUCCESS && key != 0 && !calls->is_closed)
        *plan_p = find_key(calls, key)->plan;
    return mpi_errno;
}
