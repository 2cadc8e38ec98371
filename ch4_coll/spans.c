/* Vectors of a reduction whose elements have gaps or overlap. */

#include "mpich_version.h"
#include "spans.h"

#include <sys/uio.h>

/* What plans keep in shared memory is aligned to this at least, cells included. */
#define MAX_ALIGNMENT 16

/* Elements of the user's vectors are aligned to this or less. */
static MPI_Aint alignment_of(MPI_Aint extent)
{
    const MPI_Aint lowest = extent & -extent;

    return lowest > 0 && lowest < MAX_ALIGNMENT ? lowest : MAX_ALIGNMENT;
}

static MPI_Aint round_down(MPI_Aint n, MPI_Aint to)
{
    return n & -to;
}

static MPI_Aint round_up(MPI_Aint n, MPI_Aint to)
{
    return round_down(n + to - 1, to);
}

/* Spans that follow each other like the elements, if those do not overlap and are mostly data;
 * otherwise the shortest that the alignment permits. */
static void set_form(struct MPIDI_PCOLL_spans *spans, MPI_Aint lb, MPI_Aint first, MPI_Aint end)
{
    const MPI_Aint alignment = alignment_of(spans->extent);
    const MPI_Aint begin = round_down(first, alignment), unit = round_up(end - begin, alignment);
    const bool fits = lb <= first && end <= lb + spans->extent && lb % alignment == 0;

    spans->is_regular = fits && spans->extent <= 2 * unit;
    spans->shift = spans->is_regular ? lb : begin;
    spans->unit = spans->is_regular ? spans->extent : unit;
}

/* Neighboring blocks become one. Returns the number of blocks. */
static MPI_Aint join_blocks(struct MPIDI_PCOLL_span_block *blocks, MPI_Aint n)
{
    MPI_Aint last = -1;

    for (MPI_Aint i = 0; i < n; i++) {
        if (blocks[i].bytes == 0)
            continue;
        if (last >= 0 && blocks[last].at + (MPI_Aint)blocks[last].bytes == blocks[i].at)
            blocks[last].bytes += blocks[i].bytes;
        else
            blocks[++last] = blocks[i];
    }
    return last + 1;
}

/* The blocks of an element, in the order of its type. */
static int find_blocks(struct MPIDI_PCOLL_spans *spans, MPI_Datatype type, MPI_Aint size)
{
    int mpi_errno = MPI_SUCCESS;
    struct iovec *iov = NULL;
    MPI_Aint n;

    mpi_errno = MPIDI_PCOLL_typerep_segments(type, size, &n);
    MPIR_ERR_CHECK(mpi_errno);
    iov = MPL_malloc(n * sizeof(*iov), MPL_MEM_COLL);
    spans->blocks = MPL_malloc(n * sizeof(*spans->blocks), MPL_MEM_COLL);
    MPIR_ERR_CHKANDJUMP(!iov || !spans->blocks, mpi_errno, MPI_ERR_OTHER, "**nomem");
    mpi_errno = MPIR_Typerep_to_iov_offset(NULL, 1, type, 0, iov, n, &n);
    MPIR_ERR_CHECK(mpi_errno);
    for (MPI_Aint i = 0; i < n; i++)
        spans->blocks[i] =
            (struct MPIDI_PCOLL_span_block){(MPI_Aint)iov[i].iov_base, iov[i].iov_len};
    spans->nblocks = join_blocks(spans->blocks, n);

fn_exit:
    MPL_free(iov);
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

int MPIDI_PCOLL_spans_create(MPI_Datatype type, struct MPIDI_PCOLL_spans **spans_p)
{
    struct MPIDI_PCOLL_spans *spans = MPL_calloc(1, sizeof(*spans), MPL_MEM_COLL);
    int mpi_errno = MPI_SUCCESS;
    MPIR_Datatype *pointer;
    MPI_Aint first, end;

    MPIR_ERR_CHKANDJUMP(!spans, mpi_errno, MPI_ERR_OTHER, "**nomem");
    MPIR_Datatype_get_ptr(type, pointer);
    mpi_errno = find_blocks(spans, type, pointer->size);
    MPIR_ERR_CHECK(mpi_errno);
    first = spans->blocks[0].at;
    end = first;
    for (MPI_Aint i = 0; i < spans->nblocks; i++) {
        first = MPL_MIN(first, spans->blocks[i].at);
        end = MPL_MAX(end, spans->blocks[i].at + (MPI_Aint)spans->blocks[i].bytes);
    }
    spans->extent = pointer->extent;
    set_form(spans, pointer->lb, first, end);
    *spans_p = spans;

fn_exit:
    return mpi_errno;
fn_fail:
    MPIDI_PCOLL_spans_destroy(spans);
    goto fn_exit;
}

void MPIDI_PCOLL_spans_destroy(struct MPIDI_PCOLL_spans *spans)
{
    if (!spans)
        return;
    MPL_free(spans->blocks);
    MPL_free(spans);
}

/* ---- the typed copy ---- */

/* Elements that are copied block by block, so that they stay in the nearest cache. */
enum { CHUNK = 64 };

/* The first elements of two vectors, and how far theirs are apart. */
struct route {
    char *to;
    const char *from;
    MPI_Aint to_step, from_step;
};

/* The same block of n elements. Blocks of frequent sizes become moves of registers. */
static void copy_blocks(struct route r, size_t bytes, MPI_Aint n)
{
    for (; n > 0; n--, r.to += r.to_step, r.from += r.from_step)
        switch (bytes) {
            case 2:
                memcpy(r.to, r.from, 2);
                break;
            case 4:
                memcpy(r.to, r.from, 4);
                break;
            case 8:
                memcpy(r.to, r.from, 8);
                break;
            case 12:
                memcpy(r.to, r.from, 12);
                break;
            case 16:
                memcpy(r.to, r.from, 16);
                break;
            default:
                memcpy(r.to, r.from, bytes);
        }
}

static void copy_elements(const struct MPIDI_PCOLL_spans *spans, struct route r, MPI_Aint count)
{
    for (MPI_Aint i = 0; i < count; i += CHUNK)
        for (MPI_Aint b = 0; b < spans->nblocks; b++) {
            const struct MPIDI_PCOLL_span_block *block = &spans->blocks[b];
            const struct route of_block = {
                .to = r.to + i * r.to_step + block->at,
                .from = r.from + i * r.from_step + block->at,
                .to_step = r.to_step,
                .from_step = r.from_step,
            };

            copy_blocks(of_block, block->bytes, MPL_MIN(count - i, CHUNK));
        }
}

void MPIDI_PCOLL_spans_fill(const struct MPIDI_PCOLL_spans *spans, char *vector, const char *user,
                            MPI_Aint count)
{
    const struct route in = {vector - spans->shift, user, spans->unit, spans->extent};

    copy_elements(spans, in, count);
}

void MPIDI_PCOLL_spans_empty(const struct MPIDI_PCOLL_spans *spans, const char *vector, char *user,
                             MPI_Aint count)
{
    const struct route out = {user, vector - spans->shift, spans->extent, spans->unit};

    copy_elements(spans, out, count);
}
