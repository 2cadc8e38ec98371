! Persistent collectives with the module mpi: integer handles, error codes, a user's operator.
program f90_data
    use mpi
    use frame
    implicit none

    interface
        subroutine add(invec, inoutvec, len, datatype)
            integer :: invec(*), inoutvec(*), len, datatype
        end subroutine
    end interface
    integer :: me, ranks, root, step, i, from, ierror, op, requests(4), statuses(MPI_STATUS_SIZE, 4)
    integer, allocatable, asynchronous :: all(:, :)
    integer, asynchronous :: mine(n), sums(n)
    double precision, asynchronous :: vector(n)

    call frame_begin()
    call MPI_INIT(ierror)
    call frame_attach()
    call MPI_COMM_RANK(MPI_COMM_WORLD, me, ierror)
    call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierror)
    call MPI_OP_CREATE(add, .true., op, ierror)
    allocate (all(n, 0:ranks - 1))
    do root = 0, ranks - 1
        call frame_want()
        call MPI_BCAST_INIT(vector, n, MPI_DOUBLE_PRECISION, root, MPI_COMM_WORLD, MPI_INFO_NULL, requests(1), ierror)
        call got("BCAST_INIT")
        call frame_want()
        call MPI_ALLGATHER_INIT(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, n, MPI_INTEGER, MPI_COMM_WORLD, &
                                MPI_INFO_NULL, requests(2), ierror)
        call got("ALLGATHER_INIT")
        call frame_want()
        call MPI_ALLREDUCE_INIT(mine, sums, n, MPI_INTEGER, op, MPI_COMM_WORLD, MPI_INFO_NULL, requests(3), ierror)
        call got("ALLREDUCE_INIT")
        call frame_want()
        call MPI_BARRIER_INIT(MPI_COMM_WORLD, MPI_INFO_NULL, requests(4), ierror)
        call got("BARRIER_INIT")
        do step = 1, starts
            vector = merge(step + 0.25d0*root, -1d0, me == root)
            mine = [(step + i*me, i=1, n)]
            sums = -1
            all = -1
            all(:, me) = words(step, me, -1)
            call frame_delay()
            call MPI_STARTALL(4, requests, ierror)
            call expect(ierror == MPI_SUCCESS, "STARTALL", step)
            call frame_delay()
            call MPI_WAITALL(4, requests, statuses, ierror)
            call expect(ierror == MPI_SUCCESS, "WAITALL", step)
            call expect(.not. any(vector /= step + 0.25d0*root), "bcast", step)
            call expect(.not. any(sums /= [(step*ranks + i*(ranks*(ranks - 1)/2), i=1, n)]), "allreduce", step)
            do from = 0, ranks - 1
                call expect(.not. any(all(:, from) /= words(step, from, -1)), "allgather", step)
            end do
        end do
        do i = 1, 4
            call MPI_REQUEST_FREE(requests(i), ierror)
            call expect(requests(i) == MPI_REQUEST_NULL, "REQUEST_FREE", i)
        end do
    end do
    call MPI_OP_FREE(op, ierror)
    call frame_sum()
    call MPI_FINALIZE(ierror)
    call finish()
end program

subroutine add(invec, inoutvec, len, datatype)
    use mpi
    implicit none
    integer :: invec(*), inoutvec(*), len, datatype

    if (datatype == MPI_INTEGER) inoutvec(:len) = inoutvec(:len) + invec(:len)
end subroutine
