! Buffers that are not plain arrays, from Fortran 2008: MPI_BOTTOM with absolute addresses, subarrays,
! array sections, which MPI turns into a datatype of its own, and the types of blocks of columns.
program f08_layouts
    use mpi_f08
    use frame
    implicit none

    integer :: me, ranks
    type(MPI_Request) :: request

    call frame_begin()
    call MPI_Init()
    call frame_attach()
    call MPI_Comm_rank(MPI_COMM_WORLD, me)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    call bottom()
    call subarray(6, 5)
    call subarray(300, 200)
    if (MPI_SUBARRAYS_SUPPORTED) then
        call section(40)
        call section(9000)
        call section_gathered(40)
    end if
    call rows(50)
    call frame_sum()
    call MPI_Finalize()
    call finish()

contains

    subroutine run()
        call frame_delay()
        call MPI_Start(request)
        call frame_delay()
        call MPI_Wait(request, MPI_STATUS_IGNORE)
    end subroutine

    subroutine bottom()
        integer, asynchronous, target :: words_of(3)
        double precision, asynchronous, target :: reals_of(4)
        integer(MPI_ADDRESS_KIND) :: places(2)
        type(MPI_Datatype) :: both
        integer :: step, root

        call MPI_Get_address(words_of, places(1))
        call MPI_Get_address(reals_of, places(2))
        call MPI_Type_create_struct(2, [3, 4], places, [MPI_INTEGER, MPI_DOUBLE_PRECISION], both)
        call MPI_Type_commit(both)
        do root = 0, ranks - 1
            call frame_want()
            call MPI_Bcast_init(MPI_BOTTOM, 1, both, root, MPI_COMM_WORLD, MPI_INFO_NULL, request)
            call got("Bcast_init of MPI_BOTTOM")
            do step = 1, starts
                words_of = merge(step, -1, me == root)
                reals_of = merge(step + 0.5d0, -1d0, me == root)
                call MPI_F_sync_reg(words_of)
                call MPI_F_sync_reg(reals_of)
                call run()
                call MPI_F_sync_reg(words_of)
                call MPI_F_sync_reg(reals_of)
                call expect(.not. any(words_of /= step) .and. .not. any(reals_of /= step + 0.5d0), "bottom", step)
            end do
            call MPI_Request_free(request)
        end do
        call MPI_Type_free(both)
    end subroutine

    ! The inside of a matrix of lines by columns; its border stays as it is.
    subroutine subarray(lines, columns)
        integer, intent(in) :: lines, columns
        double precision, asynchronous, allocatable :: matrix(:, :)
        double precision :: right
        type(MPI_Datatype) :: inside
        integer :: step, root, i, j, wrong

        allocate (matrix(lines, columns))
        root = ranks/2
        call MPI_Type_create_subarray(2, [lines, columns], [lines - 2, columns - 2], [1, 1], MPI_ORDER_FORTRAN, &
                                      MPI_DOUBLE_PRECISION, inside)
        call MPI_Type_commit(inside)
        call frame_want()
        call MPI_Bcast_init(matrix, 1, inside, root, MPI_COMM_WORLD, MPI_INFO_NULL, request)
        call got("Bcast_init of a subarray")
        do step = 1, starts
            matrix = merge(0, -1, me == root)
            if (me == root) then
                do concurrent(i=1:lines, j=1:columns)
                    matrix(i, j) = value(step, i, j)
                end do
            end if
            call run()
            call MPI_F_sync_reg(matrix)
            wrong = 0
            do j = 1, columns
                do i = 1, lines
                    right = value(step, i, j)
                    if (me /= root .and. (i == 1 .or. i == lines .or. j == 1 .or. j == columns)) right = -1
                    if (matrix(i, j) /= right) wrong = wrong + 1
                end do
            end do
            call expect(wrong == 0, "subarray", step)
        end do
        call MPI_Request_free(request)
        call MPI_Type_free(inside)
    end subroutine

    pure double precision function value(step, i, j)
        integer, intent(in) :: step, i, j

        value = step*1000000d0 + i*1000d0 + j
    end function

    ! Every third element. The binding frees its datatype when MPI_Bcast_init returns.
    subroutine section(length)
        integer, intent(in) :: length
        integer, asynchronous :: vector(3*length)
        integer :: step, i

        call frame_want()
        call MPI_Bcast_init(vector(2::3), length, MPI_INTEGER, 0, MPI_COMM_WORLD, MPI_INFO_NULL, request)
        call got("Bcast_init of a section")
        do step = 1, starts
            vector = -1
            if (me == 0) vector(2::3) = [(step*10000 + i, i=1, length)]
            call run()
            call MPI_F_sync_reg(vector)
            call expect(.not. any(vector(2::3) /= [(step*10000 + i, i=1, length)]) .and. &
                        .not. any(vector(1::3) /= -1) .and. .not. any(vector(3::3) /= -1), "section", step)
        end do
        call MPI_Request_free(request)
    end subroutine

    ! A section that is sent, an array of blocks that is received.
    subroutine section_gathered(length)
        integer, intent(in) :: length
        integer, asynchronous :: vector(2*length), all(length, 0:ranks - 1)
        integer :: step, i, from

        call frame_want()
        call MPI_Allgather_init(vector(1::2), length, MPI_INTEGER, all, length, MPI_INTEGER, MPI_COMM_WORLD, &
                                MPI_INFO_NULL, request)
        call got("Allgather_init of a section")
        do step = 1, starts
            all = -1
            vector = -1
            vector(1::2) = [((step*100 + me)*10000 + i, i=1, length)]
            call run()
            call MPI_F_sync_reg(all)
            do from = 0, ranks - 1
                call expect(.not. any(all(:, from) /= [((step*100 + from)*10000 + i, i=1, length)]), "section", step)
            end do
        end do
        call MPI_Request_free(request)
    end subroutine

    ! A matrix of which each rank has some lines, transposed by an alltoall of resized vectors.
    subroutine rows(length)
        integer, intent(in) :: length
        integer, asynchronous :: from(length, 0:ranks - 1), to(0:ranks - 1, length)
        integer :: step, i, peer, bytes, wrong
        type(MPI_Datatype) :: strided, line

        call MPI_Type_size(MPI_INTEGER, bytes)
        call MPI_Type_vector(length, 1, ranks, MPI_INTEGER, strided)
        call MPI_Type_create_resized(strided, 0_MPI_ADDRESS_KIND, int(bytes, MPI_ADDRESS_KIND), line)
        call MPI_Type_commit(line)
        call frame_want()
        call MPI_Alltoall_init(from, length, MPI_INTEGER, to, 1, line, MPI_COMM_WORLD, MPI_INFO_NULL, request)
        call got("Alltoall_init of vectors")
        do step = 1, starts
            to = -1
            do peer = 0, ranks - 1
                from(:, peer) = [(word(step, me, peer, i), i=1, length)]
            end do
            call run()
            call MPI_F_sync_reg(to)
            wrong = 0
            do peer = 0, ranks - 1
                wrong = wrong + count(to(peer, :) /= [(word(step, peer, me, i), i=1, length)])
            end do
            call expect(wrong == 0, "vectors", step)
        end do
        call MPI_Request_free(request)
        call MPI_Type_free(line)
        call MPI_Type_free(strided)
    end subroutine
end program
