! Persistent collectives that move data, from Fortran 2008: every root, in place, separate and
! unequal blocks, neighbors, several at once. No start waits for the one before it elsewhere.
program f08_data
    use iso_c_binding, only: c_ptr, c_f_pointer
    use mpi_f08
    use frame
    implicit none

    integer :: me, ranks, root
    type(MPI_Comm) :: torus
    type(MPI_Request) :: request
    integer, allocatable, asynchronous :: mine(:, :), all(:, :)

    call frame_begin()
    call MPI_Init()
    call frame_attach()
    call MPI_Comm_rank(MPI_COMM_WORLD, me)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., torus)
    allocate (mine(n, 0:max(ranks - 1, 1)), all(n, 0:max(ranks - 1, 1)))
    do root = 0, ranks - 1
        call bcast()
        call gather(.false.)
        call gather(.true.)
        call scatter(.false.)
        call scatter(.true.)
        call gatherv()
        call scatterv()
    end do
    call barrier()
    call allgather(.false.)
    call allgather(.true.)
    call allgatherv()
    call alltoall(.false.)
    call alltoall(.true.)
    call alltoallv()
    call alltoallw()
    call neighbor_allgather()
    call neighbor_allgatherv()
    call neighbor_alltoall()
    call neighbor_alltoallv()
    call neighbor_alltoallw()
    call together()
    call MPI_Comm_free(torus)
    call frame_sum()
    call MPI_Finalize()
    call finish()

contains

    subroutine run(step)
        integer, intent(in) :: step
        logical :: done

        call frame_delay()
        call MPI_Start(request)
        call frame_delay()
        done = mod(step, 2) == 0
        do while (.not. done)
            call MPI_Test(request, done, MPI_STATUS_IGNORE)
        end do
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call MPI_F_sync_reg(mine)
        call MPI_F_sync_reg(all)
    end subroutine

    subroutine begin()
        call frame_want()
    end subroutine

    subroutine bcast()
        integer :: step

        call begin()
        call MPI_Bcast_init(all, n, MPI_INTEGER, root, MPI_COMM_WORLD, MPI_INFO_NULL, request)
        call got("Bcast_init")
        do step = 1, starts
            all = -1
            if (me == root) all(:, 0) = words(step, root, -1)
            call run(step)
            call expect(.not. any(all(:, 0) /= words(step, root, -1)), "bcast", step)
        end do
        call MPI_Request_free(request)
    end subroutine

    subroutine gather(in_place)
        logical, intent(in) :: in_place
        integer :: step, from

        call begin()
        if (in_place .and. me == root) then
            call MPI_Gather_init(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, n, MPI_INTEGER, root, MPI_COMM_WORLD, &
                                 MPI_INFO_NULL, request)
        else
            call MPI_Gather_init(mine, n, MPI_INTEGER, all, n, MPI_INTEGER, root, MPI_COMM_WORLD, MPI_INFO_NULL, request)
        end if
        call got("Gather_init")
        do step = 1, starts
            all = -1
            mine(:, 0) = words(step, me, root)
            if (in_place) all(:, me) = mine(:, 0)
            call run(step)
            if (me /= root) cycle
            do from = 0, ranks - 1
                call expect(.not. any(all(:, from) /= words(step, from, root)), "gather", step)
            end do
        end do
        call MPI_Request_free(request)
    end subroutine

    subroutine scatter(in_place)
        logical, intent(in) :: in_place
        integer :: step, to

        call begin()
        if (in_place .and. me == root) then
            call MPI_Scatter_init(all, n, MPI_INTEGER, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD, &
                                  MPI_INFO_NULL, request)
        else
            call MPI_Scatter_init(all, n, MPI_INTEGER, mine, n, MPI_INTEGER, root, MPI_COMM_WORLD, MPI_INFO_NULL, request)
        end if
        call got("Scatter_init")
        do step = 1, starts
            mine = -1
            do to = 0, ranks - 1
                all(:, to) = words(step, me, to)
            end do
            call run(step)
            if (in_place .and. me == root) mine(:, 0) = all(:, me)
            call expect(.not. any(mine(:, 0) /= words(step, root, me)), "scatter", step)
        end do
        call MPI_Request_free(request)
    end subroutine

    ! Blocks of 0, 1, 2, ... elements, in reverse order.
    subroutine gatherv()
        integer :: step, from, i, counts(0:ranks - 1), places(0:ranks - 1)

        counts = [(i, i=0, ranks - 1)]
        places = [(n*(ranks - 1 - i), i=0, ranks - 1)]
        call begin()
        call MPI_Gatherv_init(mine, me, MPI_INTEGER, all, counts, places, MPI_INTEGER, root, MPI_COMM_WORLD, &
                              MPI_INFO_NULL, request)
        call got("Gatherv_init")
        do step = 1, starts
            all = -1
            mine(:, 0) = words(step, me, root)
            call run(step)
            if (me /= root) cycle
            do from = 0, ranks - 1
                call expect(is_start(all(:, ranks - 1 - from), words(step, from, root), from), "gatherv", step)
            end do
        end do
        call MPI_Request_free(request)
    end subroutine

    subroutine scatterv()
        integer :: step, to, i, counts(0:ranks - 1), places(0:ranks - 1)

        counts = [(i, i=0, ranks - 1)]
        places = [(n*(ranks - 1 - i), i=0, ranks - 1)]
        call begin()
        call MPI_Scatterv_init(all, counts, places, MPI_INTEGER, mine, me, MPI_INTEGER, root, MPI_COMM_WORLD, &
                               MPI_INFO_NULL, request)
        call got("Scatterv_init")
        do step = 1, starts
            mine = -1
            do to = 0, ranks - 1
                all(:, ranks - 1 - to) = words(step, me, to)
            end do
            call run(step)
            call expect(is_start(mine(:, 0), words(step, root, me), me), "scatterv", step)
        end do
        call MPI_Request_free(request)
    end subroutine

    ! True if `block` starts with `length` words of `sent` and nothing was written behind them.
    logical function is_start(block, sent, length)
        integer, intent(in) :: block(n), sent(n), length

        is_start = .not. any(block(:length) /= sent(:length)) .and. .not. any(block(length + 1:) /= -1)
    end function

    ! Whoever leaves it has seen the last one's arrival: a counter on rank 0 says so. (MPICH 4.0.2 on UCX rounds
    ! the base of MPI_Win_create down to 16 bytes, so MPI allocates it.)
    subroutine barrier()
        integer :: step
        integer(MPI_ADDRESS_KIND), parameter :: zero = 0
        integer, pointer :: arrived
        integer, asynchronous :: seen
        type(c_ptr) :: base
        type(MPI_Win) :: window

        call MPI_Win_allocate(int(storage_size(seen)/8, MPI_ADDRESS_KIND), 1, MPI_INFO_NULL, MPI_COMM_WORLD, base, &
                              window)
        call c_f_pointer(base, arrived)
        arrived = 0
        call begin()
        call MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, request)
        call got("Barrier_init")
        call MPI_Barrier(MPI_COMM_WORLD)
        call MPI_Win_lock_all(0, window)
        do step = 1, starts
            call frame_delay()
            call MPI_Fetch_and_op(1, seen, MPI_INTEGER, 0, zero, MPI_SUM, window)
            call MPI_Win_flush(0, window)
            call run(step)
            call MPI_Fetch_and_op(0, seen, MPI_INTEGER, 0, zero, MPI_NO_OP, window)
            call MPI_Win_flush(0, window)
            call expect(seen >= step*ranks, "barrier", step)
        end do
        call MPI_Win_unlock_all(window)
        call MPI_Request_free(request)
        call MPI_Win_free(window)
    end subroutine

    subroutine allgather(in_place)
        logical, intent(in) :: in_place
        integer :: step

        call begin()
        if (in_place) then
            call MPI_Allgather_init(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, n, MPI_INTEGER, MPI_COMM_WORLD, &
                                    MPI_INFO_NULL, request)
        else
            call MPI_Allgather_init(mine, n, MPI_INTEGER, all, n, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, request)
        end if
        call got("Allgather_init")
        do step = 1, starts
            all = -1
            mine(:, 0) = words(step, me, -1)
            if (in_place) all(:, me) = mine(:, 0)
            call run(step)
            call expect_all("allgather", step)
        end do
        call MPI_Request_free(request)
    end subroutine

    subroutine allgatherv()
        integer :: step, i, counts(0:ranks - 1), places(0:ranks - 1)

        counts = n
        places = [(n*i, i=0, ranks - 1)]
        call begin()
        call MPI_Allgatherv_init(mine, n, MPI_INTEGER, all, counts, places, MPI_INTEGER, MPI_COMM_WORLD, &
                                 MPI_INFO_NULL, request)
        call got("Allgatherv_init")
        do step = 1, starts
            all = -1
            mine(:, 0) = words(step, me, -1)
            call run(step)
            call expect_all("allgatherv", step)
        end do
        call MPI_Request_free(request)
    end subroutine

    subroutine expect_all(name, step)
        character(*), intent(in) :: name
        integer, intent(in) :: step
        integer :: from

        do from = 0, ranks - 1
            call expect(.not. any(all(:, from) /= words(step, from, -1)), name, step)
        end do
    end subroutine

    include 'f08_exchange.inc'
end program
