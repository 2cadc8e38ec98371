! Reductions from Fortran 2008: its types, in place, every root, and an operator that is written in
! Fortran and does not commute.
module matrices
    use mpi_f08
    implicit none

    type(MPI_Datatype) :: matrix
    integer :: surprises = 0

contains

    ! Products of 2 x 2 matrices of residues.
    subroutine multiply(invec, inoutvec, len, datatype)
        use iso_c_binding, only: c_ptr, c_f_pointer
        type(c_ptr), value :: invec, inoutvec
        integer :: len
        type(MPI_Datatype) :: datatype
        integer, pointer :: a(:, :, :), b(:, :, :)
        integer :: i

        if (datatype /= matrix) surprises = surprises + 1
        call c_f_pointer(invec, a, [2, 2, len])
        call c_f_pointer(inoutvec, b, [2, 2, len])
        do i = 1, len
            b(:, :, i) = modulo(matmul(a(:, :, i), b(:, :, i)), 97)
        end do
    end subroutine
end module

program f08_reductions
    use mpi_f08
    use frame
    use matrices
    implicit none

    integer :: me, ranks, root, i
    type(MPI_Request) :: request

    call frame_begin()
    call MPI_Init()
    call frame_attach()
    call MPI_Comm_rank(MPI_COMM_WORLD, me)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    call doubles(n)
    call doubles(20000)
    call singles()
    call complexes()
    call logicals()
    call pairs()
    call integers()
    do root = 0, ranks - 1
        call reduce()
    end do
    call scattered()
    call prefixes()
    call products()
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

    subroutine doubles(length)
        integer, intent(in) :: length
        double precision, asynchronous :: send(length), receive(length)
        integer :: step

        call frame_want()
        call MPI_Allreduce_init(send, receive, length, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, &
                                MPI_INFO_NULL, request)
        call got("Allreduce_init of MPI_DOUBLE_PRECISION")
        do step = 1, starts
            send = [(0.5d0*(step + me*i), i=1, length)]
            receive = -1
            call run()
            call MPI_F_sync_reg(receive)
            call expect(.not. any(receive /= [(0.5d0*(ranks*step + i*(ranks*(ranks - 1)/2)), i=1, length)]), &
                        "double precision", step)
        end do
        call MPI_Request_free(request)
    end subroutine

    subroutine singles()
        real, asynchronous :: both(n)
        integer :: step

        call frame_want()
        call MPI_Allreduce_init(MPI_IN_PLACE, both, n, MPI_REAL, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, request)
        call got("Allreduce_init of MPI_REAL in place")
        do step = 1, starts
            both = [(real(modulo(step + me + i, ranks)), i=1, n)]
            call run()
            call MPI_F_sync_reg(both)
            call expect(.not. any(both /= real(ranks - 1)), "real", step)
        end do
        call MPI_Request_free(request)
    end subroutine

    ! Powers of the imaginary unit.
    subroutine complexes()
        complex, asynchronous :: send(n), receive(n)
        double complex, asynchronous :: both(n)
        integer :: step, power

        power = ranks*(ranks - 1)/2
        call frame_want()
        call MPI_Allreduce_init(send, receive, n, MPI_COMPLEX, MPI_PROD, MPI_COMM_WORLD, MPI_INFO_NULL, request)
        call got("Allreduce_init of MPI_COMPLEX")
        do step = 1, starts
            send = [(unit(i*me + step), i=1, n)]
            call run()
            call MPI_F_sync_reg(receive)
            call expect(.not. any(receive /= [(unit(i*power + step*ranks), i=1, n)]), "complex", step)
        end do
        call MPI_Request_free(request)
        call frame_want()
        call MPI_Allreduce_init(MPI_IN_PLACE, both, n, MPI_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &
                                request)
        call got("Allreduce_init of MPI_DOUBLE_COMPLEX")
        do step = 1, starts
            both = [(cmplx(i*me, step + me, kind(0d0)), i=1, n)]
            call run()
            call MPI_F_sync_reg(both)
            call expect(.not. any(both /= [(cmplx(i*power, ranks*step + power, kind(0d0)), i=1, n)]), &
                        "double complex", step)
        end do
        call MPI_Request_free(request)
    end subroutine

    elemental complex function unit(power)
        integer, intent(in) :: power
        complex, parameter :: units(0:3) = [(1, 0), (0, 1), (-1, 0), (0, -1)]

        unit = units(modulo(power, 4))
    end function

    ! Element i is true on ranks below i - 1; the result has the bits that the compiler gives to .true.
    subroutine logicals()
        logical, asynchronous :: send(n), receive(n)
        type(MPI_Op) :: ops(3)
        integer :: step, k, trues

        ops = [MPI_LAND, MPI_LOR, MPI_LXOR]
        do k = 1, 3
            call frame_want()
            call MPI_Allreduce_init(send, receive, n, MPI_LOGICAL, ops(k), MPI_COMM_WORLD, MPI_INFO_NULL, request)
            call got("Allreduce_init of MPI_LOGICAL")
            do step = 1, starts
                send = [(me < modulo(i + step, ranks + 1), i=1, n)]
                receive = modulo(step, 2) == 0
                call run()
                call MPI_F_sync_reg(receive)
                do i = 1, n
                    trues = modulo(i + step, ranks + 1)
                    call expect_logical(receive(i), pick(k, trues), step)
                end do
            end do
            call MPI_Request_free(request)
        end do
    end subroutine

    logical function pick(k, trues)
        integer, intent(in) :: k, trues

        pick = merge(trues == ranks, trues > 0, k == 1)
        if (k == 3) pick = modulo(trues, 2) == 1
    end function

    subroutine expect_logical(is, should_be, step)
        logical, intent(in) :: is, should_be
        integer, intent(in) :: step

        call expect(transfer(is, 0) == transfer(should_be, 0), "logical", step)
    end subroutine

    subroutine pairs()
        integer, asynchronous :: send(2, n), receive(2, n)
        double precision, asynchronous :: both(2, n)
        integer :: step

        call frame_want()
        call MPI_Allreduce_init(send, receive, n, MPI_2INTEGER, MPI_MAXLOC, MPI_COMM_WORLD, MPI_INFO_NULL, request)
        call got("Allreduce_init of MPI_2INTEGER")
        do step = 1, starts
            send(1, :) = [(modulo(i + step + me, ranks), i=1, n)]
            send(2, :) = me
            call run()
            call MPI_F_sync_reg(receive)
            call expect(.not. any(receive(1, :) /= ranks - 1) .and. &
                        .not. any(receive(2, :) /= [(modulo(-1 - i - step, ranks), i=1, n)]), "2integer", step)
        end do
        call MPI_Request_free(request)
        call frame_want()
        call MPI_Allreduce_init(MPI_IN_PLACE, both, n, MPI_2DOUBLE_PRECISION, MPI_MINLOC, MPI_COMM_WORLD, &
                                MPI_INFO_NULL, request)
        call got("Allreduce_init of MPI_2DOUBLE_PRECISION")
        do step = 1, starts
            both(1, :) = [(modulo(i + step + me, ranks) - 0.5d0, i=1, n)]
            both(2, :) = me
            call run()
            call MPI_F_sync_reg(both)
            call expect(.not. any(both(1, :) /= -0.5d0) .and. &
                        .not. any(both(2, :) /= [(modulo(-i - step, ranks), i=1, n)]), "2double precision", step)
        end do
        call MPI_Request_free(request)
    end subroutine

    subroutine integers()
        integer(8), asynchronous :: both(n)
        integer, asynchronous :: bits(n)
        integer :: step

        call frame_want()
        call MPI_Allreduce_init(MPI_IN_PLACE, both, n, MPI_INTEGER8, MPI_MIN, MPI_COMM_WORLD, MPI_INFO_NULL, request)
        call got("Allreduce_init of MPI_INTEGER8")
        do step = 1, starts
            both = [(-(2_8**33)*modulo(i + me + step, ranks), i=1, n)]
            call run()
            call MPI_F_sync_reg(both)
            call expect(.not. any(both /= -(2_8**33)*(ranks - 1)), "integer8", step)
        end do
        call MPI_Request_free(request)
        call frame_want()
        call MPI_Allreduce_init(MPI_IN_PLACE, bits, n, MPI_INTEGER, MPI_BOR, MPI_COMM_WORLD, MPI_INFO_NULL, request)
        call got("Allreduce_init of MPI_INTEGER")
        do step = 1, starts
            bits = ishft(1, me)*step
            call run()
            call MPI_F_sync_reg(bits)
            call expect(.not. any(bits /= united(step)), "integer", step)
        end do
        call MPI_Request_free(request)
    end subroutine

    integer function united(step)
        integer, intent(in) :: step
        integer :: rank

        united = 0
        do rank = 0, ranks - 1
            united = ior(united, ishft(1, rank)*step)
        end do
    end function

    include 'f08_operators.inc'
end program
