/* Random programs that MPI allows, each from its seed. Communicators of all kinds come and go. Calls of all forms
 * are in flight together, on these and beside messages, and every rank ends them in its own way, order and time.
 *
 * What all ranks do alike is drawn from `shared`, which is the same on each. What they do for themselves is drawn
 * from `own`. A shared choice takes and empties a place in the flight. A rank that has not ended the trial there
 * must then do so. Ranks that are not members of a room make the same choices. */
#include "trials.h"

#include <signal.h>
#include <unistd.h>

enum { kRooms = 6, kFlight = 20, kSecondsMax = 60 /* and a second for five steps */ };

struct flying {
  struct trial* trial;
  int active;     /* on this rank: issued or started, and not yet ended */
  int persistent; /* known to all ranks, members or not */
};

static struct room rooms[kRooms];
static int is_inter[kRooms]; /* or would be with more ranks; known to all */
static struct flying flight[kFlight];
static uint64_t shared, own;
static volatile long program_seed, program_step;
static long values;

static unsigned draw(uint64_t* state, unsigned below) {
  const uint64_t kept = random_state;
  random_state = *state;
  const unsigned drawn = next_random();
  *state = random_state;
  random_state = kept;
  return drawn % below;
}

static void too_long(int number) {
  (void)number;
  fprintf(stderr, "rank %d: program %ld, step %ld: no end in time\n", rank, program_seed, program_step);
  abort();
}

static int is_mpi_persistent(const struct trial* t) { return t->form == kPersistent && t->call != kMessage && t->theirs; }

static void ended(struct flying* f) {
  f->active = 0;
  check_trial(f->trial);
}

/* Ends all of these on this rank. */
static void end_all(struct flying** some, int count) {
  MPI_Request requests[2 * kFlight];
  int n = 0, of_the_mpis = 0;
  for (int i = 0; i < count; ++i)
    for (int k = 0; k < some[i]->trial->requests; ++k) {
      requests[n++] = some[i]->trial->request[k];
      of_the_mpis |= is_mpi_persistent(some[i]->trial);
    }
  if (n == 0) return;
  complete(n, requests, (unsigned)safe_way(draw(&own, kWays), of_the_mpis));
  n = 0;
  for (int i = 0; i < count; ++i) {
    for (int k = 0; k < some[i]->trial->requests; ++k) some[i]->trial->request[k] = requests[n++];
    ended(some[i]);
  }
}

/* Tests these trials once on this rank, or waits for one of them. Messages have two requests and are left alone. */
static void end_some(struct flying** some, int count) {
  MPI_Request requests[kFlight];
  struct flying* of[kFlight];
  int n = 0, index = MPI_UNDEFINED, flag = 0, done = 0, indices[kFlight];
  MPI_Status statuses[kFlight];
  for (int i = 0; i < count; ++i) {
    if (some[i]->trial->requests > 1 || is_mpi_persistent(some[i]->trial)) continue;
    requests[n] = some[i]->trial->request[0];
    of[n++] = some[i];
  }
  if (n == 0) return;
  switch (draw(&own, 5)) {
    case 0:
      MPI_Test(&requests[0], &flag, statuses);
      index = 0;
      break;
    case 1: MPI_Testany(n, requests, &index, &flag, statuses); break;
    case 2:
      MPI_Waitany(n, requests, &index, statuses);
      flag = 1;
      break;
    case 3: MPI_Testsome(n, requests, &done, indices, statuses); break;
    case 4:
      MPI_Waitsome(n, requests, &done, indices, statuses);
      EXPECT(done > 0, "Waitsome: %d", done);
      break;
  }
  if (flag) EXPECT(index >= 0 && index < n, "index %d of %d", index, n);
  if (flag) indices[done++] = index;
  for (int i = 0; i < n; ++i) of[i]->trial->request[0] = requests[i];
  for (int i = 0; i < done; ++i) ended(of[indices[i]]);
}

/* Picks trials that are active here, each with a chance of `parts` in 4, drawn from `from`. MPI does not allow
 * requests of a session beside others. */
static int pick(struct flying** some, uint64_t* from, unsigned parts) {
  int count = 0;
  for (int i = 0; i < kFlight; ++i) {
    const int wanted = draw(from, 4) < parts;
    if (wanted && flight[i].active && !flight[i].trial->room->of_session) some[count++] = &flight[i];
  }
  return count;
}

static void end_one(struct flying* f) {
  if (f->active) end_all(&f, 1);
}

static void empty(struct flying* f) {
  if (f->trial == NULL) return;
  end_one(f);
  free_trial(f->trial);
  f->trial = NULL;
}

/* Between nodes, Copse's calls do not make progress in all of the MPI's waiting calls. So no rank may then wait for
 * one of these. */
static void land(void) {
  struct flying* some[kFlight];
  end_all(some, pick(some, &own, 4));
  for (int i = 0; i < kFlight; ++i) end_one(&flight[i]);
}

static void renew(unsigned which) {
  struct room* const room = &rooms[which];
  land();
  for (int i = 0; i < kFlight; ++i)
    if (flight[i].trial != NULL && flight[i].trial->room == room) empty(&flight[i]);
  close_room(room, draw(&shared, 100));
  const unsigned from = draw(&shared, kRooms), kind = draw(&shared, kKinds), seed = draw(&shared, 10000), often = draw(&shared, 3);
  const struct room* parent = &rooms[is_inter[from] || from == which ? 0 : from];
  is_inter[which] = kind == kInter;
  if (kind == kSession && often > 0) return open_room(room, kDup, parent, seed);
  open_room(room, (enum kind)kind, parent, seed);
}

static void issue(struct flying* f) {
  const unsigned which = draw(&shared, kRooms), call = draw(&shared, kCalls), as = draw(&shared, 4), root = draw(&shared, 1000),
                 length = draw(&shared, 1u << draw(&shared, 14)), in_place = draw(&shared, 3) == 0, large = draw(&shared, 2),
                 seed = draw(&shared, 1000000);
  struct room* room = &rooms[which];
  ++values;
  f->persistent = as == 1;
  if (room->comm == MPI_COMM_NULL) return;
  struct trial* t = make_trial((enum call)call,
                               as == 0   ? kBlocking
                               : as == 1 ? kPersistent
                                         : kStarted,
                               room, (int)root, (int)length, (int)in_place, (int)large, seed);
  fill_trial(t, values);
  if (t->theirs && t->form == kBlocking) land();
  issue_trial(t);
  note_meeting(room, t);
  if (t->form == kBlocking) {
    check_trial(t);
    free_trial(t);
    return;
  }
  f->trial = t;
  f->active = t->form == kStarted;
}

static int is_persistent(const struct flying* f) { return f->trial != NULL && f->trial->form == kPersistent; }

static void restart(struct flying* f) {
  ++values;
  if (!is_persistent(f)) return;
  end_one(f);
  fill_trial(f->trial, values);
  for (int k = 0; k < f->trial->requests; ++k) MPI_Start(&f->trial->request[k]);
  f->active = 1;
}

/* Starts Copse's calls in an order of each rank's own, one by one and then at once, perhaps with a barrier of all
 * ranks in between. Calls of the MPI, and messages, keep one order. */
static void start_in_own_order(struct flying** some, int count, int barrier) {
  MPI_Request requests[kFlight], *from[kFlight];
  int n = 0;
  for (int i = 0; i < count; ++i) {
    if (some[i]->trial->theirs) MPI_Startall(some[i]->trial->requests, some[i]->trial->request);
    else from[n++] = &some[i]->trial->request[0];
  }
  for (int i = n - 1; i > 0; --i) {
    const int other = (int)draw(&own, (unsigned)i + 1);
    MPI_Request* const kept = from[i];
    from[i] = from[other], from[other] = kept;
  }
  const int before = (int)draw(&own, (unsigned)n + 1);
  for (int i = 0; i < before; ++i) MPI_Start(from[i]);
  if (barrier && !bare) MPI_Barrier(MPI_COMM_WORLD);
  for (int i = before; i < n; ++i) requests[i] = *from[i];
  if (n > before) MPI_Startall(n - before, requests + before);
  for (int i = before; i < n; ++i) *from[i] = requests[i];
}

static void start_many(void) {
  struct flying* some[kFlight];
  int count = 0;
  const int barrier = draw(&shared, 2) == 0;
  for (int i = 0; i < kFlight; ++i) {
    const int wanted = draw(&shared, 3) > 0;
    ++values;
    if (!wanted || !is_persistent(&flight[i]) || flight[i].trial->room->of_session) continue;
    end_one(&flight[i]);
    fill_trial(flight[i].trial, values);
    some[count++] = &flight[i];
  }
  start_in_own_order(some, count, barrier);
  for (int i = 0; i < count; ++i) some[i]->active = 1;
}

static void step(void) {
  struct flying* some[kFlight];
  const unsigned what = draw(&shared, 100), place = draw(&shared, kFlight), again = draw(&shared, 4);
  if (what < 6) {
    renew(1 + place % (kRooms - 1));
  } else if (what < 80) {
    if (flight[place].persistent && again > 0) {
      restart(&flight[place]);
    } else {
      empty(&flight[place]);
      issue(&flight[place]);
    }
  } else if (what < 86) {
    start_many();
  } else if (what < 92) {
    end_all(some, pick(some, &shared, 1 + again));
  }
  if (draw(&own, 8) == 0) usleep(draw(&own, 300));
  if (draw(&own, 3) == 0) end_some(some, pick(some, &own, 2));
  if (draw(&own, 12) == 0) end_all(some, pick(some, &own, 1));
}

static void run_program(uint64_t seed, long steps) {
  uint64_t sum = 0;
  shared = seed * 0x2545f4914f6cdd1du;
  own = shared ^ (uint64_t)(rank + 1) * 0x9e3779b97f4a7c15u;
  random_state = program_seed = (long)seed;
  values = digest = 0;
  memset(is_inter, 0, sizeof is_inter);
  memset(flight, 0, sizeof flight);
  open_room(&rooms[0], kWorld, NULL, 0);
  for (int i = 1; i < kRooms; ++i) open_room(&rooms[i], i == 1 ? kSelf : kDup, &rooms[0], (unsigned)i);
  for (program_step = 0; program_step < steps; ++program_step) step();
  for (int i = 0; i < kFlight; ++i) empty(&flight[i]);
  for (int i = 0; i < kRooms; ++i) close_room(&rooms[i], 1);
  PMPI_Reduce(&digest, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("program %ld: %016llx\n", program_seed, (unsigned long long)sum), fflush(stdout);
}

void part_programs(uint64_t seed, long steps, long programs) {
  signal(SIGALRM, too_long);
  for (long i = 0; i < programs; ++i) {
    alarm(kSecondsMax + (unsigned)steps / 5);
    run_program(seed + (uint64_t)i, steps);
  }
  alarm(0);
}
