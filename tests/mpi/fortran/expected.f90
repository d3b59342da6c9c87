! The input and the expected output of each collective call as small numbers, element by element, without MPI. A
! generated program (generate.py) turns them into values of each datatype.
module expected
  implicit none
  integer, parameter :: untouched = -1
  integer, allocatable :: given(:)  ! the input of this rank
  integer, allocatable :: before(:) ! its output before the call
  integer, allocatable :: after(:)  ! and afterwards
  integer, allocatable :: counts(:), places(:) ! of the blocks, in elements
  integer :: mine    ! elements of this rank's own block
  integer :: room    ! elements of each of the three arrays
  integer :: checked ! how many of its output the call defines
contains

  ! Returns element i of the block that goes from one rank to another.
  pure integer function element(from, to, i)
    integer, intent(in) :: from, to, i
    element = mod(7 * from + 3 * to + 5 * i + 11, 90)
  end function

  ! Fills the blocks of a table, which lie in descending order with gaps: those that go from this rank, or those that
  ! come to it.
  subroutine fill(array, me, sends)
    integer, intent(inout) :: array(0:)
    integer, intent(in) :: me
    logical, intent(in) :: sends
    integer :: rank, i
    do rank = 0, size(counts) - 1
      do i = 0, counts(rank) - 1
        array(places(rank) + i) = merge(element(me, rank, i), element(rank, me, i), sends)
      end do
    end do
  end subroutine

  ! Computes the sum, or the largest, over ranks 0 to last, of elements at to at + n - 1 of their input.
  subroutine reduce(array, largest, last, at, n)
    integer, intent(inout) :: array(0:)
    logical, intent(in) :: largest
    integer, intent(in) :: last, at, n
    integer :: rank, i, values(0:last)
    do i = 0, n - 1
      values = [(element(rank, 0, at + i), rank = 0, last)]
      array(i) = merge(maxval(values), sum(values), largest)
    end do
  end subroutine

  subroutine expect(call, n, me, ranks, root, in_place, largest)
    character(len=*), intent(in) :: call
    integer, intent(in) :: n, me, ranks, root
    logical, intent(in) :: in_place, largest
    logical :: table, ragged, reduces
    integer :: rank, i, at
    ragged = call(len_trim(call):) == 'v' .or. call == 'Alltoallw' .or. call == 'Reduce_scatter'
    reduces = index(call, 'educe') > 0 .or. index(call, 'scan') > 0 .or. call == 'Scan'
    table = .not. (call == 'Bcast' .or. (reduces .and. index(call, 'scatter') == 0))
    if (allocated(counts)) deallocate (counts, places)
    allocate (counts(0:ranks - 1), places(0:ranks - 1))
    counts = n
    if (ragged) counts = [(n + mod(rank + merge(me, 0, index(call, 'Alltoall') > 0), 2), rank = 0, ranks - 1)]
    at = 0
    if (ragged .and. .not. reduces) then
      do rank = ranks - 1, 0, -1
        places(rank) = at
        at = at + counts(rank) + 1
      end do
    else
      do rank = 0, ranks - 1
        places(rank) = at
        at = at + counts(rank)
      end do
    end if
    mine = counts(me)
    room = merge(at, n, table) + 3 ! which must stay as they are
    if (allocated(given)) deallocate (given, before, after)
    allocate (given(0:room - 1), before(0:room - 1), after(0:room - 1), source=untouched)
    checked = room

    select case (call)
    case ('Bcast')
      if (me == root) before(0:n - 1) = [(element(root, 0, i), i = 0, n - 1)]
      after(0:n - 1) = [(element(root, 0, i), i = 0, n - 1)]
    case ('Gather', 'Gatherv', 'Allgather', 'Allgatherv')
      given(0:mine - 1) = [(element(me, me, i), i = 0, mine - 1)]
      if (in_place) before(places(me):places(me) + mine - 1) = given(0:mine - 1)
      if (me == root .or. call(1:1) == 'A') then
        do rank = 0, ranks - 1
          after(places(rank):places(rank) + counts(rank) - 1) = [(element(rank, rank, i), i = 0, counts(rank) - 1)]
        end do
      end if
    case ('Scatter', 'Scatterv')
      if (me == root) call fill(given, root, .true.)
      after(0:mine - 1) = [(element(root, me, i), i = 0, mine - 1)]
      if (in_place) after = untouched
    case ('Alltoall', 'Alltoallv', 'Alltoallw')
      call fill(given, me, .true.)
      if (in_place) before = given
      call fill(after, me, .false.)
    case default
      at = sum(counts)
      if (.not. table) at = n
      given(0:at - 1) = [(element(me, 0, i), i = 0, at - 1)]
      if (in_place) before = given
      select case (call)
      case ('Reduce')
        if (me == root) call reduce(after, largest, ranks - 1, 0, n)
      case ('Allreduce')
        call reduce(after, largest, ranks - 1, 0, n)
      case ('Scan')
        call reduce(after, largest, me, 0, n)
      case ('Exscan')
        if (me > 0) call reduce(after, largest, me - 1, 0, n)
        if (me == 0) checked = 0
      case default ! the rest of the buffer is the MPI's when it is in place
        call reduce(after, largest, ranks - 1, places(me), mine)
        checked = merge(mine, room, in_place)
      end select
    end select
  end subroutine
end module
