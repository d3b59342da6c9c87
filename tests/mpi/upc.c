/* A UPC program that an MPI's launcher starts. It uses all kinds of shared memory and of waiting, between threads of any node, and
 * checks what it gets. Thread 0 prints how many threads can reach one another by loads and stores, and where the memory of others
 * is. */
#include <copse/bupc.h>
#include <copse/upc.h>
#include <copse/upc_nb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(holds)                                                                   \
  do {                                                                                 \
    if (!(holds)) {                                                                    \
      fprintf(stderr, "thread %d: line %d: not so: %s\n", MYTHREAD, __LINE__, #holds); \
      upc_global_exit(3);                                                              \
    }                                                                                  \
  } while (0)

static int read_int(upc_shared p) {
  int value;
  upc_memget(&value, p, sizeof value);
  return value;
}
static void write_int(upc_shared p, int value) { upc_memput(p, &value, sizeof value); }

/* shared [4] int a[4 * THREADS]: every thread writes its own block, then that of the next thread. */
static void transfers(void) {
  const int me = MYTHREAD, n = THREADS, next = (me + 1) % n;
  const upc_shared a = upc_all_alloc((size_t)n, 4 * sizeof(int));
  const int* mine = upc_cast(upc_add(a, me * 4, sizeof(int), 4));
  CHECK(mine != NULL);
  for (int i = 0; i < 4; ++i) write_int(upc_add(a, me * 4 + i, sizeof(int), 4), me * 10 + i);
  upc_barrier();
  for (int i = 0; i < 4 * n; ++i) CHECK(read_int(upc_add(a, i, sizeof(int), 4)) == i / 4 * 10 + i % 4);
  upc_barrier();
  for (int i = 0; i < 4; ++i) write_int(upc_add(a, next * 4 + i, sizeof(int), 4), 1000 + me * 10 + i);
  upc_barrier();
  for (int i = 0; i < 4; ++i) CHECK(mine[i] == 1000 + (me + n - 1) % n * 10 + i);
  upc_barrier();
  upc_memset(upc_add(a, next * 4, sizeof(int), 4), 7, 4 * sizeof(int));
  upc_barrier();
  CHECK(mine[3] == 0x07070707);
  /* More than goes over a network at a time, from one thread to another for a third. */
  const size_t many = 300001;
  const upc_shared from = upc_all_alloc((size_t)n, many), to = upc_all_alloc((size_t)n, many);
  memset(upc_cast(upc_add(from, me, many, 1)), me + 1, many);
  upc_barrier();
  upc_memcpy(upc_add(to, next, many, 1), upc_add(from, (me + 2) % n, many, 1), many);
  upc_barrier();
  const char* got = upc_cast(upc_add(to, me, many, 1));
  for (size_t i = 0; i < many; i += 997) CHECK(got[i] == (me + 1) % n + 1);
  upc_all_free(to);
  upc_all_free(from);
  upc_all_free(a);
}

/* Each thread writes to all others and reads from them while it does something else. */
static void transfers_that_do_not_block(void) {
  enum { MANY = 50000, ROUNDS = 3 };
  const int me = MYTHREAD, n = THREADS;
  const upc_shared a = upc_all_alloc((size_t)n, (size_t)n * MANY * sizeof(int));
  int* const given = malloc((size_t)n * MANY * sizeof(int));
  int* const got = malloc((size_t)n * MANY * sizeof(int));
  upc_handle_t* const handles = malloc(2 * (size_t)n * sizeof *handles);
  CHECK(given != NULL && got != NULL && handles != NULL);
  for (int round = 0; round < ROUNDS; ++round) {
    for (int i = 0; i < n * MANY; ++i) given[i] = round * 1000 + me * 100 + i % 100;
    for (int to = 0; to < n; ++to) { /* shared [] int a[n][n][MANY]: to, from */
      const upc_shared place = {a.address + (size_t)me * MANY * sizeof(int), 0, to};
      handles[to] = upc_memput_nb(place, given + (size_t)to * MANY, MANY * sizeof(int));
    }
    volatile double sum = 0;
    for (int i = 0; i < 100000; ++i) sum += i;
    for (int to = 0; to < n; ++to) upc_sync(handles[to]);
    upc_barrier();
    for (int from = 0; from < n; ++from) { /* what this thread has written to them */
      const upc_shared place = {a.address + (size_t)me * MANY * sizeof(int), 0, from};
      if (from % 2 == 0) handles[n + from] = upc_memget_nb(got + (size_t)from * MANY, place, MANY * sizeof(int));
      else upc_memget_nbi(got + (size_t)from * MANY, place, MANY * sizeof(int));
    }
    while (!upc_synci_attempt()) sum += 1;
    for (int from = 0; from < n; from += 2)
      while (!upc_sync_attempt(handles[n + from])) sum += 1;
    upc_synci();
    CHECK(memcmp(got, given, (size_t)n * MANY * sizeof(int)) == 0);
    const int* const mine = upc_cast((upc_shared){a.address, 0, me});
    for (int from = 0; from < n; ++from)
      for (int i = 0; i < MANY; i += 777) CHECK(mine[from * MANY + i] == round * 1000 + from * 100 + (me * MANY + i) % 100);
    upc_barrier();
  }
  const int before = (me + n - 1) % n;
  const upc_shared first = {a.address, 0, (me + 1) % n}, own = {a.address + (size_t)(n - 1) * MANY * sizeof(int), 0, me};
  upc_sync(upc_memcpy_nb(first, own, sizeof(int)));
  upc_memset_nbi((upc_shared){a.address + sizeof(int), 0, (me + 1) % n}, 3, 1);
  upc_synci();
  upc_barrier();
  CHECK(*(const int*)upc_cast((upc_shared){a.address, 0, me}) == (ROUNDS - 1) * 1000 + (n - 1) * 100 + before * MANY % 100);
  upc_barrier();
  free(handles);
  free(got);
  free(given);
  upc_all_free(a);
}

static void locks(void) {
  enum { ROUNDS = 60 };
  const upc_lock_t lock = upc_all_lock_alloc();
  const upc_shared sum = upc_all_alloc(1, sizeof(int));
  if (MYTHREAD == 0) write_int(sum, 0);
  upc_barrier();
  for (int i = 0; i < ROUNDS; ++i) {
    if (i % 2 == 0) upc_lock(lock);
    else
      while (!upc_lock_attempt(lock)) {
      }
    write_int(sum, read_int(sum) + 1);
    upc_unlock(lock);
  }
  upc_barrier();
  CHECK(read_int(sum) == ROUNDS * THREADS);
  upc_all_lock_free(lock);
  upc_all_free(sum);
}

/* A token goes round. Semaphores are freed by threads that have not made them. */
static void semaphores(void) {
  const int me = MYTHREAD, n = THREADS;
  const upc_shared all = upc_all_alloc((size_t)n, sizeof(bupc_sem_t)), room = upc_all_alloc((size_t)n, sizeof(int));
  const bupc_sem_t own = bupc_sem_alloc(BUPC_SEM_INTEGER);
  bupc_sem_t to;
  upc_memput(upc_add(all, me, sizeof own, 1), &own, sizeof own);
  upc_barrier();
  upc_memget(&to, upc_add(all, (me + 1) % n, sizeof to, 1), sizeof to);
  for (int round = 0; round < 20; ++round) {
    const int value = round * n + me;
    if (me > 0 || round > 0) {
      bupc_sem_wait(own);
      CHECK(read_int(upc_add(room, me, sizeof(int), 1)) == (me > 0 ? value - 1 : (round - 1) * n + n - 1));
    }
    bupc_memput_signal(upc_add(room, (me + 1) % n, sizeof(int), 1), &value, sizeof value, to, 1);
  }
  if (me == 0) bupc_sem_wait(own);
  upc_barrier();
  CHECK(bupc_sem_try(own) == 0);
  upc_barrier();
  bupc_sem_free(to);
  upc_all_free(room);
  upc_all_free(all);
}

/* Every thread allocates, and the next one frees. Together it is much more than there is. */
static void allocations(void) {
  const int me = MYTHREAD, n = THREADS, next = (me + 1) % n;
  const upc_shared globals = upc_all_alloc((size_t)n, sizeof(upc_shared)), owns = upc_all_alloc((size_t)n, sizeof(upc_shared));
  for (int round = 0; round < 60; ++round) {
    const upc_shared global = upc_global_alloc((size_t)n, 100000), own = upc_alloc(500000);
    upc_shared theirs, others;
    CHECK(own.thread == me && global.thread == 0);
    upc_memput(upc_add(globals, me, sizeof global, 1), &global, sizeof global);
    upc_memput(upc_add(owns, me, sizeof own, 1), &own, sizeof own);
    upc_barrier();
    upc_memget(&theirs, upc_add(globals, next, sizeof theirs, 1), sizeof theirs);
    upc_memget(&others, upc_add(owns, next, sizeof others, 1), sizeof others);
    upc_memset(others, me, 500000);
    upc_barrier();
    CHECK(((const char*)upc_cast(own))[499999] == (me + n - 1) % n);
    upc_barrier();
    upc_free(theirs);
    upc_free(others);
    upc_barrier();
  }
  upc_all_free(owns);
  upc_all_free(globals);
}

static int program(int argc, char** argv) {
  (void)argc;
  if (strcmp(argv[1], "exit") == 0) {
    upc_barrier();
    if (MYTHREAD == THREADS - 1) upc_global_exit(5);
    upc_barrier(); /* which never comes */
  }
  if (strcmp(argv[1], "mistake") == 0) upc_all_broadcast(upc_null(), upc_null(), 8, 0);
  for (int round = 0; round < 3; ++round) {
    transfers();
    transfers_that_do_not_block();
    locks();
    semaphores();
    allocations();
  }
  int reached = 0, far = 0;
  for (int thread = 0; thread < THREADS; ++thread) {
    reached += upc_thread_info((size_t)thread).guaranteedCastable != 0;
    far += bupc_thread_distance(MYTHREAD, thread) == BUPC_THREADS_VERYFAR;
  }
  CHECK(reached + far == THREADS);
  if (MYTHREAD == 0) printf("%d threads, right; thread 0 reaches %d of them\n", THREADS, reached);
  return strcmp(argv[1], "result") == 0 && MYTHREAD == 1 ? 4 : 0;
}

int main(int argc, char** argv) { return copse_upc_run(argc, argv, program); }
