! The frame of a program that generate.py makes. It has every call for each type, count, communicator, form and way.
module every
  use expected
  @USE@
  implicit none
  @INCLUDE@
  character(len=20), parameter :: names(0:@CALLS@ - 1) = [ &
    @NAMES@]
  ! Leaves out what the MPIs themselves get wrong. Open MPI 4.1 crashes in started calls with an operator in Fortran or
  ! with an array of derived types. Intel MPI crashes in MPI_Gather from MPI_BOTTOM. MPICH 4.0 crashes in a reduction in
  ! place to a rank other than 0, and it sends an empty part of an array as a message that its root does not take.
  logical :: bare = .false.
  integer :: checks = 0, turn = 0, ended = 0, longest = 1000
  @DATATYPE@ :: pairs
  @OP@ :: add_pairs
  @COMM@ :: graph ! in which all ranks are neighbours, and each is its own
contains

  subroutine judge(right, number, form, way, large, datatype)
    logical, intent(in) :: right
    integer, intent(in) :: number, form, way, large
    character(len=*), intent(in) :: datatype
    integer :: rank, ierr
    checks = checks + 1
    if (right) return
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    print '(a, i0, 5a, 3(a, i0), a, i0, a)', 'rank ', rank, ': ', trim(names(number)), ' of ', datatype, ' is wrong:', &
      ' form ', form, ', way ', way, ', large ', large, ', own block of ', mine, ' elements'
    flush (6)
    call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  end subroutine

  ! Waits for a request, in one of several ways, alone or beside messages of the MPI's own.
  subroutine finish(request, persistent, ranks)
    @REQUEST@, intent(inout) :: request
    logical, intent(in) :: persistent
    integer, intent(in) :: ranks
    @REQUEST@ :: requests(3)
    @STATUS@ :: status
    integer :: ierr, done, indices(3), sent
    integer, asynchronous :: got
    logical :: flag
    ended = ended + 1
    requests = MPI_REQUEST_NULL
    requests(2) = request
    sent = ended
    got = ended
    if (persistent .and. mod(ended, 2) == 0) call MPI_Start(requests(2), ierr)
    if (persistent .and. mod(ended, 2) == 1) call MPI_Startall(1, requests(2:2), ierr)
    if (mod(ended, 3) == 0) then
      call MPI_Irecv(got, 1, MPI_INTEGER, 0, ended, MPI_COMM_SELF, requests(1), ierr)
      call MPI_Isend(sent, 1, MPI_INTEGER, 0, ended, MPI_COMM_SELF, requests(3), ierr)
    end if
    flag = .false.
    ! MPICH's own persistent collectives fail in MPI_Testall (5) and MPI_Testany (4.0).
    select case (merge(0, mod(ended, 11), persistent .and. (bare .or. ranks == 1)))
    case (0)
      call MPI_Wait(requests(2), MPI_STATUS_IGNORE, ierr)
    case (1)
      call MPI_Wait(requests(2), status, ierr)
    case (2)
      do while (.not. flag)
        call MPI_Test(requests(2), flag, MPI_STATUS_IGNORE, ierr)
      end do
    case (3)
      do while (.not. flag)
        call MPI_Testall(3, requests, flag, MPI_STATUSES_IGNORE, ierr)
      end do
    case (4)
      call MPI_Waitany(3, requests, done, status, ierr)
    case (5)
      call MPI_Testany(3, requests, done, flag, MPI_STATUS_IGNORE, ierr)
    case (6)
      call MPI_Waitsome(3, requests, done, indices, MPI_STATUSES_IGNORE, ierr)
    case (7)
      call MPI_Testsome(3, requests, done, indices, MPI_STATUSES_IGNORE, ierr)
    case (8)
      do while (.not. flag)
        call MPI_Request_get_status(requests(2), flag, status, ierr)
      end do
    end select
    call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE, ierr)
    if (got /= ended) call MPI_Abort(MPI_COMM_WORLD, 2, ierr)
    if (persistent) call MPI_Request_free(requests(2), ierr)
    request = requests(2)
    if (any([requests(1) /= MPI_REQUEST_NULL, request /= MPI_REQUEST_NULL])) call MPI_Abort(MPI_COMM_WORLD, 3, ierr)
  end subroutine
@OPERATOR@@BARRIERS@@ROUTINES@
  ! Makes every call on a communicator, with elements of a type.
  subroutine every_call(make, datatype, op, largest, comm)
    procedure(make_@FIRST@) :: make
    @DATATYPE@, intent(in) :: datatype
    @OP@, intent(in) :: op
    logical, intent(in) :: largest
    @COMM@, intent(in) :: comm
    integer :: number, form, way, large, length, lengths(4), me, ranks, root, ierr
    integer, allocatable :: everyone(:), ones(:)
    character(len=20) :: name
    logical :: in_place, sparse
    turn = 0 ! a rank that was alone on the last communicator has left out some
    lengths = [0, 1, 7, longest]
    call MPI_Comm_rank(comm, me, ierr)
    call MPI_Comm_size(comm, ranks, ierr)
    everyone = [(root, root = 0, ranks - 1)]
    ones = [(1, root = 0, ranks - 1)]
    call MPI_Dist_graph_create_adjacent(comm, ranks, everyone, ones, ranks, everyone, ones, MPI_INFO_NULL, .false., graph, ierr)
    do number = 0, @CALLS@ - 1
      name = names(number)
      sparse = index(name, 'Neighbor_a') == 1
      if (sparse) name = 'A' // name(11:)
      if (sparse .and. .not. (datatype == MPI_INTEGER .or. datatype == pairs)) cycle
      if (op == MPI_OP_NULL .and. any([@REDUCING@] == number)) cycle
      do form = 0, @FORMS@
        do way = 0, merge(@IN_PLACE@, @WAYS@, bare)
          if ((bare .or. ranks == 1) .and. op == add_pairs .and. form > 0) cycle
          if (ranks == 1 .and. name == 'Alltoallw' .and. form > 0 .and. way > @IN_PLACE@) cycle
          if (way == @IN_PLACE@ .and. (sparse .or. name == 'Bcast' .or. (bare .and. name == 'Reduce'))) cycle
          do large = 0, @LARGE@
            do length = 1, size(lengths)
              turn = turn + 1
              root = mod(turn, ranks)
              in_place = way == @IN_PLACE@ .and. (me == root .or. .not. any([@ROOTED@] == number))
              call expect(trim(name), lengths(length), me, ranks, root, in_place, largest)
              call make(number, form, merge(0, way, way == @IN_PLACE@ .and. .not. in_place), large, datatype, op, root, comm)
            end do
          end do
        end do
      end do
    end do
    call MPI_Comm_free(graph, ierr)
  end subroutine
end module

program main
  use every
  implicit none
  integer :: ierr, rank, ranks, i, dimensions(1)
  logical :: periodic(1)
  @COMM@ :: comms(5)
  character(len=20) :: argument
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call get_command_argument(1, argument)
  if (argument /= '') read (argument, *) longest
  call get_command_argument(2, argument)
  bare = argument == 'bare'
  call MPI_Type_vector(2, 1, 2, MPI_INTEGER, pairs, ierr)
  call MPI_Type_commit(pairs, ierr)
  call MPI_Op_create(add, .false., add_pairs, ierr)
  dimensions = ranks
  periodic = .true.
  comms(1:2) = [MPI_COMM_WORLD, MPI_COMM_SELF]
  call MPI_Comm_dup(MPI_COMM_WORLD, comms(3), ierr)
  call MPI_Comm_split(MPI_COMM_WORLD, merge(0, 1, rank == 0 .and. ranks > 2), -rank, comms(4), ierr)
  call MPI_Cart_create(MPI_COMM_WORLD, 1, dimensions, periodic, .false., comms(5), ierr)
  do i = 1, size(comms)
    call barriers(comms(i))
    @TURNS@
  end do
  do i = 3, size(comms)
    call MPI_Comm_free(comms(i), ierr)
  end do
  call MPI_Type_free(pairs, ierr)
  call MPI_Op_free(add_pairs, ierr)
  if (rank == 0) print '(a, i0, a)', 'fine: ', checks, ' checks'
  call MPI_Finalize(ierr)
end program
