/* User data as contiguous bytes. */

#include "pcoll.h"

int MPIDI_PCOLL_data_init(struct MPIDI_PCOLL_data *data, void *user, MPI_Aint count,
                          MPI_Datatype type, void *outer)
{
    int contiguous, mpi_errno = MPI_SUCCESS;
    MPI_Aint true_lb;

    MPIDI_Datatype_check_contig_size_lb(type, count, contiguous, data->bytes, true_lb);
    data->count = count;
    data->type = type;
    data->packed = NULL;
    data->owned = 0;
    data->user = user;
    if (data->bytes == 0)
        goto fn_exit;
    if (contiguous && !outer) {
        data->user = (char *)user + true_lb;
        goto fn_exit;
    }
    data->packed = outer ? outer : MPL_malloc(data->bytes, MPL_MEM_COLL);
    MPIR_ERR_CHKANDJUMP(!data->packed, mpi_errno, MPI_ERR_OTHER, "**nomem");
    data->owned = !outer;
    MPIR_Datatype_add_ref_if_not_builtin(type);

fn_exit:
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

int MPIDI_PCOLL_data_init_copy(struct MPIDI_PCOLL_data *data, void *user, MPI_Aint count,
                               MPI_Datatype type)
{
    int mpi_errno = MPIDI_PCOLL_data_init(data, user, count, type, NULL);
    MPIR_ERR_CHECK(mpi_errno);

    if (data->bytes == 0 || data->packed)
        goto fn_exit;
    data->user = user;
    data->packed = MPL_malloc(data->bytes, MPL_MEM_COLL);
    MPIR_ERR_CHKANDJUMP(!data->packed, mpi_errno, MPI_ERR_OTHER, "**nomem");
    data->owned = 1;
    MPIR_Datatype_add_ref_if_not_builtin(type);

fn_exit:
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

void MPIDI_PCOLL_data_fini(struct MPIDI_PCOLL_data *data)
{
    if (!data->packed)
        return;
    MPIR_Datatype_release_if_not_builtin(data->type);
    if (data->owned)
        MPL_free(data->packed);
    data->packed = NULL;
}

void *MPIDI_PCOLL_data_address(const struct MPIDI_PCOLL_data *data)
{
    return data->packed ? data->packed : data->user;
}

int MPIDI_PCOLL_data_pack(const struct MPIDI_PCOLL_data *data)
{
    MPI_Aint packed = 0;
    int mpi_errno = MPI_SUCCESS;

    if (!data->packed)
        goto fn_exit;
    mpi_errno = MPIR_Typerep_pack(data->user, data->count, data->type, 0, data->packed, data->bytes,
                                  &packed);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(packed != data->bytes, mpi_errno, MPI_ERR_TYPE, "**dtypemismatch");

fn_exit:
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

int MPIDI_PCOLL_data_unpack(const struct MPIDI_PCOLL_data *data)
{
    MPI_Aint unpacked = 0;
    int mpi_errno = MPI_SUCCESS;

    if (!data->packed)
        goto fn_exit;
    mpi_errno = MPIR_Typerep_unpack(data->packed, data->bytes, data->user, data->count, data->type,
                                    0, &unpacked);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(unpacked != data->bytes, mpi_errno, MPI_ERR_TYPE, "**dtypemismatch");

fn_exit:
    return mpi_errno;
fn_fail:
    goto fn_exit;
}
