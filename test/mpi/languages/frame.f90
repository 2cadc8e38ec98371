! The frame of the test programs, for Fortran (glue.h).
module frame
    use iso_c_binding
    implicit none

    integer, parameter :: starts = 12
    integer, parameter :: n = 37 ! elements of a block

    interface
        subroutine frame_begin() bind(C)
        end subroutine
        subroutine frame_attach() bind(C)
        end subroutine
        subroutine frame_want() bind(C)
        end subroutine
        subroutine frame_delay() bind(C)
        end subroutine
        subroutine frame_sum() bind(C)
        end subroutine
        integer(c_int) function frame_end() bind(C)
            import :: c_int
        end function
        subroutine c_got(name) bind(C, name="frame_got")
            import :: c_char
            character(kind=c_char), intent(in) :: name(*)
        end subroutine
        subroutine c_fail(name, step) bind(C, name="frame_fail")
            import :: c_char, c_int
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int), value :: step
        end subroutine
    end interface

contains

    subroutine got(name)
        character(*), intent(in) :: name

        call c_got(name // c_null_char)
    end subroutine

    subroutine expect(is_right, name, step)
        logical, intent(in) :: is_right
        character(*), intent(in) :: name
        integer, intent(in) :: step

        if (.not. is_right) call c_fail(name // c_null_char, int(step, c_int))
    end subroutine

    subroutine finish()
        if (frame_end() /= 0) stop 1
    end subroutine

    ! What `from` sends to `to` (or to all, -1) in a start.
    elemental integer function word(step, from, to, i)
        integer, intent(in) :: step, from, to, i

        word = ((step*32 + from)*32 + to + 1)*64 + mod(i, 64)
    end function

    ! The block of n words.
    function words(step, from, to) result(block)
        integer, intent(in) :: step, from, to
        integer :: block(n), i

        block = [(word(step, from, to, i), i=1, n)]
    end function
end module
