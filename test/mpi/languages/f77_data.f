C     Persistent collectives with mpif.h: MPI_BOTTOM, MPI_IN_PLACE, a
C     root's reduction with a user's operator.
      program f77_data
      implicit none
      include 'mpif.h'
      integer n, starts
      parameter (n = 37, starts = 12)
      integer me, ranks, step, i, ierror, op, two, wrong
      integer values(n), sums(n), blocks(2, 0:63)
      integer lengths(2), types(2), requests(3)
      integer statuses(MPI_STATUS_SIZE, 3)
      integer (kind=MPI_ADDRESS_KIND) places(2)
      double precision real_one
      integer integer_one
      common /ones/ real_one, integer_one
      external add
      integer frame_end
      external frame_end

      call frame_begin()
      call MPI_INIT(ierror)
      call frame_attach()
      call MPI_COMM_RANK(MPI_COMM_WORLD, me, ierror)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierror)
      call MPI_OP_CREATE(add, .true., op, ierror)
      call MPI_GET_ADDRESS(real_one, places(1), ierror)
      call MPI_GET_ADDRESS(integer_one, places(2), ierror)
      lengths(1) = 1
      lengths(2) = 1
      types(1) = MPI_DOUBLE_PRECISION
      types(2) = MPI_INTEGER
      call MPI_TYPE_CREATE_STRUCT(2, lengths, places, types, two,
     +     ierror)
      call MPI_TYPE_COMMIT(two, ierror)
      call frame_want()
      call MPI_BCAST_INIT(MPI_BOTTOM, 1, two, 0, MPI_COMM_WORLD,
     +     MPI_INFO_NULL, requests(1), ierror)
      call frame_got('BCAST_INIT')
      call frame_want()
      call MPI_ALLTOALL_INIT(MPI_IN_PLACE, 0, MPI_INTEGER, blocks, 2,
     +     MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, requests(2),
     +     ierror)
      call frame_got('ALLTOALL_INIT')
      call frame_want()
      call MPI_REDUCE_INIT(values, sums, n, MPI_INTEGER, op, ranks - 1,
     +     MPI_COMM_WORLD, MPI_INFO_NULL, requests(3), ierror)
      call frame_got('REDUCE_INIT')
      call MPI_TYPE_FREE(two, ierror)
      do step = 1, starts
         real_one = -1
         integer_one = -1
         if (me .eq. 0) real_one = step + 0.5d0
         if (me .eq. 0) integer_one = step
         do i = 1, n
            values(i) = step + i*me
            sums(i) = -1
         end do
         do i = 0, ranks - 1
            blocks(1, i) = step*10000 + me*100 + i
            blocks(2, i) = -blocks(1, i)
         end do
         call frame_delay()
         call MPI_STARTALL(3, requests, ierror)
         call MPI_WAITALL(3, requests, statuses, ierror)
         wrong = 0
         if (real_one .ne. step + 0.5d0) wrong = wrong + 1
         if (integer_one .ne. step) wrong = wrong + 1
         do i = 1, n
            if (me .eq. ranks - 1 .and. sums(i) .ne.
     +           step*ranks + i*(ranks*(ranks - 1)/2)) wrong = wrong + 1
         end do
         do i = 0, ranks - 1
            if (blocks(1, i) .ne. step*10000 + i*100 + me .or.
     +          blocks(2, i) .ne. -blocks(1, i)) wrong = wrong + 1
         end do
         if (wrong .ne. 0) call frame_fail('data', step)
      end do
      do i = 1, 3
         call MPI_REQUEST_FREE(requests(i), ierror)
      end do
      call MPI_OP_FREE(op, ierror)
      call frame_sum()
      call MPI_FINALIZE(ierror)
      if (frame_end() .ne. 0) stop 1
      end

      subroutine add(invec, inoutvec, len, datatype)
      implicit none
      integer len, datatype, i
      integer invec(len), inoutvec(len)
      do i = 1, len
         inoutvec(i) = inoutvec(i) + invec(i)
      end do
      end
