/* Which calls are promoted: keys, their counts, reviews; and how a promoted plan runs. */

#include "promote.h"

#include "bootstrap.h"
#include "call.h"
#include "child.h"
#include "comm.h"
#include "cores.h"
#include "forced.h"
#include "hook.h"
#include "lock.h"
#include "mpich_version.h"
#include "process.h"
#include "report.h"
#include "waiting.h"

#include "ch4_coll_promote.h"

#include "offload/agree.h"
#include "offload/reduce/kernels.h"

enum {
    FIRST_AFTER = 4,     /* the first review comes after so many times the calls that make a plan */
    MAX_KEYS = 48,       /* of a communicator; later keys are not promoted */
    KEY_SLOTS = 64,      /* a power of two */
    MAX_PLANS = 16,      /* of a communicator */
    MAX_STATE = 1 << 20, /* bytes of its plans on a rank; the last one may exceed it */
    CACHED = 16          /* a power of two */
};

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
    MPIR_Comm *comm;
    uint64_t number;      /* of the last call */
    uint64_t review;      /* of the call of the next review; 0: there is none any more */
    uint64_t hash;        /* of all keys so far */
    uint64_t state_bytes; /* of the plans */
    bool is_closed;       /* MPICH serves the communicator */
    int nkeys, nplans;
    struct key keys[KEY_SLOTS];
};

bool MPIDI_PCOLL_promotes = false;
unsigned long MPIDI_PCOLL_promoted_plans = 0, MPIDI_PCOLL_promoted_calls = 0;

static enum { OFF, EXACT, ALL } level = OFF; /* what is promoted */
static bool is_agreed = false;               /* by all ranks of the node */
static struct calls *cached[CACHED];         /* by the address of the communicator */
static int keyval = MPI_KEYVAL_INVALID;

/* ---- the setting ---- */

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

/* Whether all ranks of this node promote the same; otherwise none of them promotes any more. The
 * ranks publish their settings at the end of MPI_Init without waiting for each other, so only a
 * rank that is not there yet is waited for. */
static bool agree_on_level(void)
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

void MPIDI_PCOLL_promotion_end(void)
{
    MPIDI_PCOLL_promotes = false;
}

/* ---- keys ---- */

/* What the bytes of a key say. */
union fields {
    uint64_t key;
    struct {
        uint32_t type; /* a number for it; of a reduction, as op */
        uint16_t root;
        uint8_t op;
        uint8_t coll : 5, length : 3; /* its class */
    };
};

_Static_assert(sizeof(union fields) == sizeof(uint64_t), "all fields are in the key");
_Static_assert(PCOLL_NUM_COLLS <= 32, "they fit into their field");

/* The first one fits beside a counter. None is longer than the last one: of 4 KiB, a broadcast on 2
 * ranks and an allreduce on 4 took longer than MPICH's calls. */
static const MPI_Aint classes[] = {0, PCOLL_CELL_BYTES, 256, 1024};
enum { CLASSES = sizeof(classes) / sizeof(*classes) };

/* The shortest class of whole elements that holds so many bytes; 0: there is none. */
static uint8_t class_of(MPI_Aint bytes, MPI_Aint element)
{
    if (bytes <= 0)
        return 0;
    for (uint8_t i = 1; i < CLASSES; i++)
        if (bytes <= classes[i] && classes[i] % element == 0)
            return i;
    return 0;
}

static MPI_Aint class_bytes(uint64_t key)
{
    return classes[(union fields){key}.length];
}

static enum pcoll_coll coll_of(uint64_t key)
{
    return (enum pcoll_coll)(union fields){key}.coll;
}

static uint64_t key_of(enum pcoll_coll coll, uint8_t length, int root, uint8_t op, uint32_t type)
{
    const union fields fields = {
        .coll = (uint8_t)coll,
        .length = length,
        .root = (uint16_t)root,
        .op = op,
        .type = type,
    };

    return length > 0 && root <= UINT16_MAX ? fields.key : 0;
}

uint64_t MPIDI_PCOLL_key(enum pcoll_coll coll, int root, MPI_Aint bytes)
{
    return key_of(coll, class_of(bytes, 1), root, 0, 0);
}

/* A number for each predefined type: the same for those whose elements are the same in memory,
 * since ranks may name them differently. */
static uint32_t number_of_type(MPI_Datatype type)
{
    enum { SLOTS = 256 };
    static struct {
        MPI_Datatype type;
        uint32_t number;
    } known[SLOTS];
    const int slot = (int)((uint32_t)type % SLOTS);

    if (known[slot].type != type) {
        const int element = MPIDI_PCOLL_element_of(type);

        known[slot].number = element >= 0 ? (uint32_t)element : (uint32_t)type;
        known[slot].type = type;
    }
    return known[slot].number;
}

/* Is the result the same to the last bit whichever way the ranks reduce? A minimum of numbers is
 * one of them; which one, if a zero has both signs or a value is no number, no implementation says.
 */
static bool is_exact(MPI_Op op, uint32_t number)
{
    return number <= PCOLL_ELEMENT_UINT64 || (op != MPI_SUM && op != MPI_PROD);
}

uint64_t MPIDI_PCOLL_reduction_key(enum pcoll_coll coll, int root, MPI_Aint bytes, MPI_Op op,
                                   MPI_Datatype type)
{
    uint32_t number;

    if (bytes > classes[CLASSES - 1] || !HANDLE_IS_BUILTIN(op) || !HANDLE_IS_BUILTIN(type))
        return 0;
    number = number_of_type(type);
    if (level != ALL && !is_exact(op, number))
        return 0;
    return key_of(coll, class_of(bytes, MPIR_Datatype_get_basic_size(type)), root,
                  (uint8_t)(op & 0xff), number);
}

/* The slot of a key, a new one if it has none yet; NULL: there is no room. */
static struct key *find_key(struct calls *calls, uint64_t key, MPI_Op op, MPI_Datatype type)
{
    unsigned i = (unsigned)(key * UINT64_C(0x9e3779b97f4a7c15) >> 58);

    for (; calls->keys[i].key != 0; i = (i + 1) % KEY_SLOTS)
        if (calls->keys[i].key == key)
            return &calls->keys[i];
    if (calls->nkeys == MAX_KEYS)
        return NULL;
    calls->nkeys++;
    calls->keys[i] = (struct key){.key = key, .op = op, .type = type};
    return &calls->keys[i];
}

/* ---- the calls of a communicator ---- */

static struct calls **cache_slot(const MPIR_Comm *comm)
{
    return &cached[(uintptr_t)comm / sizeof(*comm) % CACHED];
}

static void free_promoted(struct MPIDI_PCOLL_promoted *promoted)
{
    if (promoted->out != promoted->in)
        MPL_free(promoted->out);
    MPL_free(promoted->in);
    MPL_free(promoted);
}

static void free_plan(struct MPIDI_PCOLL_promoted *promoted)
{
    if (!promoted)
        return;
    MPIDI_PCOLL_plan_unbind(&promoted->plan);
    MPIDI_PCOLL_state_release(promoted->plan.state);
    MPIDI_PCOLL_plan_fini(&promoted->plan);
    free_promoted(promoted);
}

/* Local, as delete_state of comm.c. The child of a fork leaves everything as it is. */
static int delete_calls(MPI_Comm comm, int key, void *value, void *extra)
{
    struct calls *calls = value;

    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    if (*cache_slot(calls->comm) == calls)
        *cache_slot(calls->comm) = NULL;
    for (int i = 0; i < KEY_SLOTS && !MPIDI_PCOLL_is_child(); i++)
        free_plan(calls->keys[i].plan);
    MPL_free(calls);
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    return MPI_SUCCESS;
}

void MPIDI_PCOLL_promotion_free_keyval(void)
{
    memset(cached, 0, sizeof(cached));
    MPIDI_PCOLL_free_keyval(&keyval);
}

static int create_calls(MPIR_Comm *comm, struct calls **calls_p)
{
    struct calls *calls = MPL_calloc(1, sizeof(*calls), MPL_MEM_COLL);
    int mpi_errno = MPI_SUCCESS;

    *calls_p = NULL;
    MPIR_ERR_CHKANDJUMP(!calls, mpi_errno, MPI_ERR_OTHER, "**nomem");
    calls->comm = comm;
    calls->review = MPL_MAX(1, FIRST_AFTER * MPIDI_PCOLL_forced()->promote_after);
    calls->is_closed = !MPIDI_PCOLL_is_on_one_node(comm);
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
    struct calls *calls = *cache_slot(comm);
    int found = 0, mpi_errno = MPI_SUCCESS;

    *calls_p = calls;
    if (calls && calls->comm == comm)
        return MPI_SUCCESS;
    *calls_p = NULL;
    if (comm->comm_kind != MPIR_COMM_KIND__INTRACOMM || comm->local_size == 1 ||
        MPIDI_PCOLL_is_internal(comm))
        return MPI_SUCCESS;
    if (keyval != MPI_KEYVAL_INVALID)
        mpi_errno = MPIDI_PCOLL_get_attr(comm, keyval, &calls, &found);
    if (mpi_errno == MPI_SUCCESS && !found)
        mpi_errno = create_calls(comm, &calls);
    if (mpi_errno == MPI_SUCCESS)
        *cache_slot(comm) = *calls_p = calls;
    return mpi_errno;
}

/* ---- reviews ---- */

static void note_end(struct MPIDI_PCOLL_plan *plan, int mpi_errno)
{
    ((struct MPIDI_PCOLL_promoted *)plan)->mpi_errno = mpi_errno;
}

/* NULL: out of memory. */
static struct MPIDI_PCOLL_promoted *create_promoted(uint64_t key)
{
    struct MPIDI_PCOLL_promoted *promoted = MPL_calloc(1, sizeof(*promoted), MPL_MEM_COLL);

    if (!promoted)
        return NULL;
    promoted->plan.completed = note_end;
    promoted->in = MPL_calloc(1, (size_t)class_bytes(key), MPL_MEM_COLL);
    promoted->out = coll_of(key) == PCOLL_BCAST
                        ? promoted->in
                        : MPL_calloc(1, (size_t)class_bytes(key), MPL_MEM_COLL);
    if (promoted->in && promoted->out)
        return promoted;
    free_promoted(promoted);
    return NULL;
}

/* What the user would pass to the init of such a plan. */
static struct MPIDI_PCOLL_arguments arguments_of(const struct key *key, MPIR_Comm *comm, void *in,
                                                 void *out)
{
    const bool reduces = pcoll_coll_has(coll_of(key->key), PCOLL_REDUCES);
    const MPI_Datatype type = reduces ? key->type : MPIDI_PCOLL_BYTE;

    return (struct MPIDI_PCOLL_arguments){
        .send = {.buffer = in},
        .receive = {.buffer = out,
                    .count = class_bytes(key->key) / MPIR_Datatype_get_basic_size(type),
                    .type = type},
        .op = key->op,
        .root = (union fields){key->key}.root,
        .comm = comm,
    };
}

static MPIDI_PCOLL_describe *const describe[PCOLL_NUM_COLLS] = {
    [PCOLL_BCAST] = MPIDI_PCOLL_describe_bcast,
    [PCOLL_REDUCE] = MPIDI_PCOLL_describe_reduce,
    [PCOLL_ALLREDUCE] = MPIDI_PCOLL_describe_allreduce,
};

/* Collective, as an init. A rank without memory takes part. */
static int build_plan(struct calls *calls, struct key *key)
{
    struct MPIDI_PCOLL_promoted *promoted = create_promoted(key->key);
    struct MPIDI_PCOLL_call call = {
        .arguments = arguments_of(key, calls->comm, promoted ? promoted->in : NULL,
                                  promoted ? promoted->out : NULL),
        .signature = {.coll = coll_of(key->key),
                      .nranks = calls->comm->local_size,
                      .root = (union fields){key->key}.root},
        .comm = calls->comm,
        .eligible = promoted != NULL,
        .is_promoted = true,
    };
    bool made;
    const int mpi_errno = MPIDI_PCOLL_call_plan(&call, describe[coll_of(key->key)],
                                                promoted ? &promoted->plan : NULL, &made);

    if (made) {
        key->plan = promoted;
        calls->nplans++;
        calls->state_bytes += pcoll_plan_account(promoted->plan.plan).state_bytes;
        MPIDI_PCOLL_promoted_plans++;
    } else {
        key->is_declined = true;
        if (promoted)
            free_promoted(promoted);
    }
    return mpi_errno;
}

/* A key that has earned a plan; NULL: there is none. */
static struct key *next_key(struct calls *calls)
{
    for (int i = 0; i < KEY_SLOTS; i++) {
        struct key *key = &calls->keys[i];

        if (key->key != 0 && !key->plan && !key->is_declined &&
            key->calls >= (uint64_t)MPIDI_PCOLL_forced()->promote_after)
            return key;
    }
    return NULL;
}

/* The distance of reviews grows with the number of calls, within bounds: a review takes as long as
 * many calls, and a key that comes late waits for one. */
static uint64_t next_review(const struct calls *calls)
{
    enum { GROWTH = 4, MAX_DISTANCE = 256 };
    const uint64_t after = (uint64_t)MPIDI_PCOLL_forced()->promote_after;
    const uint64_t distance = MPL_MIN(calls->number / GROWTH, MAX_DISTANCE * after);

    return calls->number + MPL_MAX(distance, MPL_MAX(after, 1));
}

/* Collective: have all ranks made the same calls, and is all well so far (mpi_errno)? Then *bytes_p
 * is the most memory that the plans have on a rank. Otherwise the communicator is closed, on all
 * ranks. */
static int compare(struct calls *calls, int mpi_errno, uint64_t *bytes_p)
{
    enum { HASH, BYTES, NTERMS };
    const struct pcoll_bootstrap bootstrap = MPIDI_PCOLL_bootstrap(calls->comm);
    struct pcoll_term terms[NTERMS] = {
        [HASH] = {.kind = PCOLL_TERM_SAME, .value = calls->hash},
        [BYTES] = {.kind = PCOLL_TERM_MAX, .value = calls->state_bytes},
    };
    const enum pcoll_result mine = mpi_errno == MPI_SUCCESS ? PCOLL_OK : PCOLL_ERR_SYSTEM;
    const enum pcoll_result result =
        pcoll_agree(&bootstrap, PCOLL_ROUND_REVIEW, mine, terms, NTERMS);

    *bytes_p = terms[BYTES].value;
    calls->is_closed = result != PCOLL_OK || terms[HASH].differs;
    if (result != PCOLL_OK && mpi_errno == MPI_SUCCESS)
        MPIR_ERR_SET(mpi_errno, MPI_ERR_OTHER, "**coll_fail");
    else if (calls->is_closed && result == PCOLL_OK && calls->comm->rank == 0 &&
             MPIR_CVAR_COLL_OFFLOAD_VERBOSE > 0)
        MPIDI_PCOLL_report("ranks of a communicator do not make the same calls, so none of them is "
                           "promoted");
    return mpi_errno;
}

/* Collective: build the plans that have been earned. */
static int review(struct calls *calls)
{
    uint64_t bytes;
    struct key *key;
    int mpi_errno = MPI_SUCCESS;

    calls->is_closed = !agree_on_level();
    if (!calls->is_closed)
        mpi_errno = compare(calls, MPI_SUCCESS, &bytes);
    while (mpi_errno == MPI_SUCCESS && !calls->is_closed) {
        const bool is_full = calls->nplans == MAX_PLANS || bytes >= MAX_STATE;

        calls->review = is_full ? 0 : next_review(calls);
        key = is_full ? NULL : next_key(calls);
        if (!key)
            break;
        mpi_errno = compare(calls, build_plan(calls, key), &bytes);
    }
    return mpi_errno;
}

int MPIDI_PCOLL_promote(MPIR_Comm *comm, uint64_t key, MPI_Op op, MPI_Datatype type,
                        struct MPIDI_PCOLL_promoted **plan_p)
{
    struct calls *calls;
    struct key *slot;
    int mpi_errno;

    if (MPIDI_PCOLL_crowded)
        MPIDI_PCOLL_hook_new_wait();
    mpi_errno = calls_of(comm, &calls);
    *plan_p = NULL;
    if (mpi_errno != MPI_SUCCESS || !calls || calls->is_closed)
        return mpi_errno;
    calls->hash = (calls->hash ^ key) * UINT64_C(0x9e3779b97f4a7c15) + 1;
    slot = key != 0 ? find_key(calls, key, op, type) : NULL;
    if (slot)
        slot->calls++;
    if (++calls->number == calls->review) {
        mpi_errno = review(calls);
        if (mpi_errno != MPI_SUCCESS || calls->is_closed)
            return mpi_errno;
    }
    if (slot)
        *plan_p = slot->plan;
    return MPI_SUCCESS;
}

/* ---- a promoted plan ---- */

/* Other threads enter MPI meanwhile, and may complete the plan. */
static void wait_with_threads(const struct MPIDI_PCOLL_plan *plan)
{
    while (plan->active) {
        MPID_Progress_test(NULL);
        MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    }
}

int MPIDI_PCOLL_promoted_run(struct MPIDI_PCOLL_promoted *promoted)
{
    struct MPIDI_PCOLL_plan *plan = &promoted->plan;
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_CHKANDJUMP(plan->past == MPIDI_PCOLL_FAILED, mpi_errno, MPI_ERR_OTHER, "**coll_fail");
    MPIDI_PCOLL_promoted_calls++;
    mpi_errno = MPIDI_PCOLL_plan_start(plan);
    MPIR_ERR_CHECK(mpi_errno);
    if (MPIR_ThreadInfo.isThreaded)
        wait_with_threads(plan);
    else
        MPIDI_PCOLL_plan_wait(plan);
    mpi_errno = promoted->mpi_errno;

fn_fail:
    return mpi_errno;
}
