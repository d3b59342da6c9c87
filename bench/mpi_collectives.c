/* The repository's own MPI benchmark: every blocking collective of MPI-3 (reductions: sums of doubles), and MPI_Neighbor_alltoall
 * in a ring, where each rank has a neighbour on either side. With two ranks, each rank has one neighbour.
 *
 * A size is the bytes of one block: what one rank gives in bcast, reduce, allreduce, gather, allgather, scan and exscan,
 * what one rank gets in scatter and reduce_scatter, and what each rank sends to each other rank in alltoall, or to each
 * neighbour. So some rank has, beside its block, a buffer of as many blocks as there are ranks. The v and w forms get equal
 * counts, one block after the other, but the MPI cannot know that.
 *
 * A batch is n back-to-back calls between two meetings of all ranks. Its time is the largest elapsed time of any rank,
 * divided by n. n is chosen for each cell (operation, size, mode) so that a batch takes about --seconds. The root is
 * rank 0. With --sync, a barrier follows every call inside the timed section, so that a rooted call counts until every
 * rank has finished it. The figure then includes that barrier.
 *
 *   warm  the same buffers in every call
 *   cold  each call takes the next buffer of a ring. Over all ranks, the rings of one call hold twice the last-level
 *         cache, and neighbours lie on different pages. So neither caches nor registrations help. Some virtual machines
 *         claim far more cache than a processor of theirs can use; --cache MIB says how much is meant. `copse bench` counts
 *         the second and third caches of all processors.
 *
 * After the clock has stopped, every batch checks all elements of its last result. Wrong data ends the run with exit
 * code 1. Output is CSV on rank 0: call,bytes,mode,ranks,batch,calls,us,flag_ns.
 *
 * flag_ns is the state of the machine: the time of a flag from rank 0 to rank 1 and back, before or after the batch,
 * whichever is longer. A virtual machine's processors move between the host's cores. They may share a cache at one time
 * and only a board at another, and times from two such states cannot be compared. With --flag-ns NS, a batch is repeated
 * for up to half a second while a flag takes another time than NS (by a factor of 1.5). flag_ns is 0 if there are more
 * ranks than processors. --watch SECONDS only prints the state.
 *
 * With --wire RANKS, where each node has so many ranks, a row also has the bytes that all nodes send by eth0 for a call, and those
 * of the node that sends most (wire,most). They include a share of the meetings around a batch, and the protocols' headers: of a
 * segment of up to 64 KiB once, because the kernel hands it on whole.
 *
 * If the buffers need more than half of the machine's memory, the run ends with an error. --fitting leaves out the cells that
 * need more than a quarter. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { kWarm, kCold, kModes };
static const char* const mode_names[kModes] = {"warm", "cold"};
enum { kMaxSizes = 64, kPatternPeriod = 1021, kPage = 4096, kLine = 64, kBuffersMin = 4 };

static const double kLong = 0.5; /* seconds; after a batch that took so long, the cell ends */

static int rank, ranks;
static int *counts, *places, *byte_places; /* of the v and w forms, for one cell */
static MPI_Datatype* types;
static MPI_Comm round_about; /* the ring */

/* When MPICH's launcher hears of an abort, it may drop output that it has not forwarded. So give it time first. */
static void give_up(void) {
  nanosleep(&(struct timespec){.tv_nsec = 200 * 1000 * 1000}, NULL);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void fail(const char* what, const char* value, const char* remedy) {
  if (rank == 0) fprintf(stderr, "mpi_collectives: %s '%s'; %s\n", what, value, remedy);
  MPI_Finalize();
  exit(2);
}

/* The machine's state ------------------------------------------------------------------------------------------- */

struct flags {
  _Alignas(128) atomic_long there;
  _Alignas(128) atomic_long back;
};
static struct flags* flags; /* of ranks 0 and 1; NULL: not measured */

static void open_flags(void) {
  char name[64] = "";
  if (ranks < 2 || ranks > sysconf(_SC_NPROCESSORS_ONLN)) return;
  if (rank == 0) {
    snprintf(name, sizeof name, "/dev/shm/mpi_collectives.%ld", (long)getpid());
    const int file = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (file < 0) {
      name[0] = 0;
    } else {
      if (ftruncate(file, sizeof *flags) != 0) unlink(name), name[0] = 0;
      close(file);
    }
  }
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  const int file = rank < 2 && name[0] ? open(name, O_RDWR) : -1;
  void* memory = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *flags, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  int ours = rank >= 2 || memory != MAP_FAILED, all;
  MPI_Allreduce(&ours, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0) unlink(name);
  if (file >= 0) close(file);
  if (all && rank < 2) flags = memory;
}

/* Returns the nanoseconds of a flag there and back, the least of several means. Only rank 0 knows the result. */
static double flag_ns(void) {
  enum { kSets = 5, kTrips = 40 };
  double best = 1e9;
  for (int set = 0; set < kSets && flags != NULL; ++set) {
    const double start = MPI_Wtime();
    for (int trip = 0; trip < kTrips; ++trip) {
      if (rank == 0) {
        const long next = atomic_load_explicit(&flags->back, memory_order_relaxed) + 1;
        atomic_store_explicit(&flags->there, next, memory_order_release);
        while (atomic_load_explicit(&flags->back, memory_order_acquire) != next) {
        }
      } else {
        const long next = atomic_load_explicit(&flags->back, memory_order_relaxed) + 1;
        while (atomic_load_explicit(&flags->there, memory_order_acquire) != next) {
        }
        atomic_store_explicit(&flags->back, next, memory_order_release);
      }
    }
    const double each = (MPI_Wtime() - start) / kTrips * 1e9;
    if (each < best) best = each;
  }
  return flags == NULL ? 0 : best;
}

static int comparable(double ns, double wanted) { return wanted == 0 || ns == 0 || (ns < 1.5 * wanted && wanted < 1.5 * ns); }

/* The wire ------------------------------------------------------------------------------------------------------ */

static int ranks_of_node; /* of each, if what they send is counted; 0: it is not */

struct wire {
  double all, most; /* bytes of all nodes, and of the one that sends most */
};

/* Returns the bytes that this node has sent so far. */
static double sent(void) {
  char line[512];
  double bytes = 0;
  FILE* const file = ranks_of_node ? fopen("/proc/net/dev", "r") : NULL;
  if (file == NULL) return 0;
  while (fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, " eth0: %*s %*s %*s %*s %*s %*s %*s %*s %lf", &bytes) == 1) break;
  }
  fclose(file);
  return bytes;
}

/* Returns what was sent since all ranks began, if each of them says what its node has sent. */
static struct wire sent_by_all(double mine) {
  struct wire result = {0, 0};
  if (ranks_of_node) {
    MPI_Allreduce(&mine, &result.all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &result.most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    result.all /= ranks_of_node;
  }
  return result;
}

/* The operations ---------------------------------------------------------------------------------------------- */

enum who { kNobody, kRoot, kOthers, kAll };                       /* the ranks that have a buffer */
enum blocks { kOne, kEach, kBeside };                             /* its blocks: one, or one for each rank or neighbour */
enum from { kOfRoot, kOfEach, kOfNeighbour, kSum, kSumToMe, kSumBeforeMe }; /* the source of a block of a result ... */
enum which { kSame, kMine, kOther }; /* ... and its block: the only one, the one for me, or the one for its other side */

struct side {
  enum who who;
  enum blocks blocks;
};
typedef void call(double* in, double* out, int n);
struct operation {
  const char* name;
  struct side in, out;
  enum from from;
  enum which which;
  call* call;
};

#define CALL(name, ...) \
  static void name(double* in, double* out, int n) { (void)in, (void)out, (void)n, __VA_ARGS__; }
CALL(barrier, MPI_Barrier(MPI_COMM_WORLD))
CALL(bcast, MPI_Bcast(rank == 0 ? in : out, n, MPI_DOUBLE, 0, MPI_COMM_WORLD))
CALL(reduce, MPI_Reduce(in, out, n, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD))
CALL(allreduce, MPI_Allreduce(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD))
CALL(gather, MPI_Gather(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, 0, MPI_COMM_WORLD))
CALL(gatherv, MPI_Gatherv(in, n, MPI_DOUBLE, out, counts, places, MPI_DOUBLE, 0, MPI_COMM_WORLD))
CALL(scatter, MPI_Scatter(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, 0, MPI_COMM_WORLD))
CALL(scatterv, MPI_Scatterv(in, counts, places, MPI_DOUBLE, out, n, MPI_DOUBLE, 0, MPI_COMM_WORLD))
CALL(allgather, MPI_Allgather(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, MPI_COMM_WORLD))
CALL(allgatherv, MPI_Allgatherv(in, n, MPI_DOUBLE, out, counts, places, MPI_DOUBLE, MPI_COMM_WORLD))
CALL(alltoall, MPI_Alltoall(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, MPI_COMM_WORLD))
CALL(alltoallv, MPI_Alltoallv(in, counts, places, MPI_DOUBLE, out, counts, places, MPI_DOUBLE, MPI_COMM_WORLD))
CALL(alltoallw, MPI_Alltoallw(in, counts, byte_places, types, out, counts, byte_places, types, MPI_COMM_WORLD))
CALL(reduce_scatter, MPI_Reduce_scatter(in, out, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD))
CALL(reduce_scatter_block, MPI_Reduce_scatter_block(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD))
CALL(scan, MPI_Scan(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD))
CALL(exscan, MPI_Exscan(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD))
CALL(neighbor_alltoall, MPI_Neighbor_alltoall(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, round_about))

static const struct operation operations[] = {
    {"barrier", {kNobody, kOne}, {kNobody, kOne}, kOfRoot, kSame, barrier},
    {"bcast", {kRoot, kOne}, {kOthers, kOne}, kOfRoot, kSame, bcast},
    {"reduce", {kAll, kOne}, {kRoot, kOne}, kSum, kSame, reduce},
    {"allreduce", {kAll, kOne}, {kAll, kOne}, kSum, kSame, allreduce},
    {"gather", {kAll, kOne}, {kRoot, kEach}, kOfEach, kSame, gather},
    {"gatherv", {kAll, kOne}, {kRoot, kEach}, kOfEach, kSame, gatherv},
    {"scatter", {kRoot, kEach}, {kAll, kOne}, kOfRoot, kMine, scatter},
    {"scatterv", {kRoot, kEach}, {kAll, kOne}, kOfRoot, kMine, scatterv},
    {"allgather", {kAll, kOne}, {kAll, kEach}, kOfEach, kSame, allgather},
    {"allgatherv", {kAll, kOne}, {kAll, kEach}, kOfEach, kSame, allgatherv},
    {"alltoall", {kAll, kEach}, {kAll, kEach}, kOfEach, kMine, alltoall},
    {"alltoallv", {kAll, kEach}, {kAll, kEach}, kOfEach, kMine, alltoallv},
    {"alltoallw", {kAll, kEach}, {kAll, kEach}, kOfEach, kMine, alltoallw},
    {"reduce_scatter", {kAll, kEach}, {kAll, kOne}, kSum, kMine, reduce_scatter},
    {"reduce_scatter_block", {kAll, kEach}, {kAll, kOne}, kSum, kMine, reduce_scatter_block},
    {"scan", {kAll, kOne}, {kAll, kOne}, kSumToMe, kSame, scan},
    {"exscan", {kAll, kOne}, {kOthers, kOne}, kSumBeforeMe, kSame, exscan},
    {"neighbor_alltoall", {kAll, kBeside}, {kAll, kBeside}, kOfNeighbour, kOther, neighbor_alltoall},
};
enum { kOperations = sizeof operations / sizeof *operations };

static int has(struct side side) {
  return side.who == kAll || (side.who == kRoot && rank == 0) || (side.who == kOthers && rank != 0);
}
static size_t holders(struct side side) {
  return side.who == kAll ? ranks : side.who == kRoot ? 1 : side.who == kOthers ? ranks - 1 : 0;
}
static int neighbours(void) { return ranks < 3 ? ranks - 1 : 2; }
static int neighbour(int number) { return (rank + (number == 0 ? 1 : ranks - 1)) % ranks; }
static size_t blocks(struct side side) { return side.blocks == kEach ? ranks : side.blocks == kBeside ? neighbours() : 1; }

/* Returns the operand of rank r at place k of its ring. Sums of operands are exact in double. */
static double operand(int r, size_t k) { return (r + 1) * (double)(k % kPatternPeriod + 1); }

/* Returns the factor by which a block of the result, given by rank r or summed, exceeds what rank 0 gives. */
static double factor(enum from from, int r) {
  const int last = from == kSum ? ranks : from == kSumToMe ? rank + 1 : rank; /* last of the summed ranks, counted from 1 */
  if (from == kOfNeighbour) return neighbour(r) + 1;
  return from == kOfRoot ? 1 : from == kOfEach ? r + 1 : last * (last + 1) / 2.0;
}

/* A cell ------------------------------------------------------------------------------------------------------- */

struct cell {
  const struct operation* operation;
  int mode, sync;
  size_t count;                 /* doubles in a block */
  size_t in_stride, out_stride; /* places between neighbours of a ring */
  size_t buffers, next;         /* in each ring, and the next one to use */
  double *in, *out;             /* the rings */
};

static size_t stride(struct side side, size_t count) {
  return ((blocks(side) * count * 8 + kLine - 1) / kLine * kLine + kPage) / 8;
}

static void close_ring(void) {
  const int beside[2] = {neighbour(0), neighbour(1)}, ones[2] = {1, 1};
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, neighbours(), beside, ones, neighbours(), beside, ones, MPI_INFO_NULL, 0,
                                 &round_about);
}

/* Returns the bytes of all ranks' buffers for one call. */
static size_t drawn_by(const struct cell* c) {
  return 8 * (holders(c->operation->in) * c->in_stride + holders(c->operation->out) * c->out_stride);
}

static struct cell cell_of(const struct operation* o, size_t count, int mode, size_t cache) {
  struct cell c = {.operation = o, .mode = mode, .count = o->in.who == kNobody ? 0 : count, .buffers = 1};
  c.in_stride = stride(o->in, c.count);
  c.out_stride = stride(o->out, c.count);
  const size_t drawn = drawn_by(&c);
  if (mode == kCold && drawn > 0) {
    c.buffers = 2 * cache / drawn + 1;
    if (c.buffers < kBuffersMin) c.buffers = kBuffersMin;
  }
  return c;
}

/* Drops memory from all caches. Does nothing on processors for which nobody has written how. */
static void drop(const double* begin, size_t length) {
  const char* const end = (const char*)(begin + length);
  for (const char* line = (const char*)begin; line < end; line += kLine) {
#if defined __x86_64__
    __builtin_ia32_clflush(line);
#elif defined __aarch64__
    __asm__ volatile("dc civac, %0" : : "r"(line) : "memory");
#endif
  }
  atomic_thread_fence(memory_order_seq_cst);
}

/* Makes n calls. Returns this rank's elapsed seconds and the last buffers. */
static double run(struct cell* c, long n, size_t* last) {
  const int count = (int)c->count;
  call* const call = c->operation->call;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (long i = 0; i < n; ++i) {
    const size_t at = *last = c->next;
    c->next = at + 1 == c->buffers ? 0 : at + 1;
    call(c->in + at * c->in_stride, c->out + at * c->out_stride, count);
    if (c->sync) MPI_Barrier(MPI_COMM_WORLD);
  }
  return MPI_Wtime() - start;
}

static void check(const struct cell* c, size_t buffer) {
  const struct operation* o = c->operation;
  if (!has(o->out)) return;
  const double* result = c->out + buffer * c->out_stride;
  for (size_t b = 0; b < blocks(o->out); ++b) {
    const size_t number = o->which == kMine ? (size_t)rank : o->which == kOther ? blocks(o->out) - 1 - b : 0;
    const size_t given = buffer * c->in_stride + number * c->count;
    for (size_t k = 0; k < c->count; ++k) {
      const double expected = factor(o->from, (int)b) * operand(0, given + k), got = result[b * c->count + k];
      if (got != expected) {
        fprintf(stderr, "mpi_collectives: %s of %zu bytes (%s) on rank %d of %d: element %zu is %g, expected %g\n", o->name,
                c->count * 8, mode_names[c->mode], rank, ranks, b * c->count + k, got, expected);
        give_up();
      }
    }
  }
}

/* Runs a batch and checks it. Returns the slowest rank's seconds. */
static double batch(struct cell* c, long n, struct wire* wire) {
  size_t last = (c->next + (size_t)(n - 1)) % c->buffers; /* overwrite what the last call will write */
  const size_t result = has(c->operation->out) ? blocks(c->operation->out) * c->count : 0;
  for (size_t k = 0; k < result; ++k) c->out[last * c->out_stride + k] = -1;
  if (c->mode == kCold) drop(c->out + last * c->out_stride, result);
  const double before = sent();
  double mine = run(c, n, &last), slowest;
  check(c, last);
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  *wire = sent_by_all(sent() - before);
  return slowest;
}

static void measure(struct cell* c, int batches, double seconds, double wanted_ns) {
  for (int r = 0; r < ranks; ++r) {
    counts[r] = (int)c->count;
    places[r] = r * (int)c->count;
    byte_places[r] = 8 * places[r];
  }
  /* Takes the best of three trials, as a single disturbed trial could lead to batches of one call. */
  long n = 1;
  double best;
  struct wire wire;
  for (;; n *= 4) {
    best = batch(c, n, &wire);
    for (int trial = 1; trial < 3 && best < kLong; ++trial) {
      const double again = batch(c, n, &wire);
      if (again < best) best = again;
    }
    if (best >= seconds / 4) break;
  }
  n = (long)(seconds / best * (double)n);
  if (n < 1) n = 1;
  double took = 0;
  for (int b = 0; b < batches && took < kLong; ++b) { /* all ranks know the same times and stop together */
    double ns;
    const double begin = MPI_Wtime();
    for (int again = 1; again;) {
      const double before = flag_ns();
      took = batch(c, n, &wire);
      const double after = flag_ns();
      ns = before > after ? before : after;
      again = !(comparable(before, wanted_ns) && comparable(after, wanted_ns)) && MPI_Wtime() - begin < kLong;
      MPI_Bcast(&again, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (rank == 0) {
      printf("%s,%zu,%s%s,%d,%d,%ld,%.4f,%.0f", c->operation->name, c->count * 8, mode_names[c->mode], c->sync ? "+sync" : "",
             ranks, b, n, took / (double)n * 1e6, ns);
      if (ranks_of_node) printf(",%.0f,%.0f", wire.all / (double)n, wire.most / (double)n);
      printf("\n");
    }
  }
}

/* The command line --------------------------------------------------------------------------------------------- */

static double* ring(size_t length, int filled) {
  double* p = malloc((length ? length : 1) * sizeof *p);
  if (!p) {
    fprintf(stderr, "mpi_collectives: no memory for a ring of %zu MiB on rank %d; leave out cold mode, or large sizes\n",
            length * 8 >> 20, rank);
    give_up();
  }
  for (size_t k = 0; k < length; ++k) p[k] = filled ? operand(rank, k) : -1;
  return p;
}

/* Marks in `chosen` those of `names` that are in the comma-separated `list`. */
static void choose(const char* list, const char* const* names, int count, int* chosen) {
  char *words = strdup(list), known[1024] = "use, separated by commas:";
  memset(chosen, 0, (size_t)count * sizeof *chosen);
  for (int i = 0; i < count; ++i) strcat(strcat(known, " "), names[i]);
  for (char* word = strtok(words, ","); word; word = strtok(NULL, ",")) {
    int i = 0;
    while (i < count && strcmp(word, names[i]) != 0) ++i;
    if (i == count) fail("unknown name", word, known);
    chosen[i] = 1;
  }
  free(words);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  const char *chosen = "barrier,bcast,reduce,allreduce", *modes = "warm,cold";
  const char* sizes = "8,512,4096,32768,262144,1048576,4194304";
  int batches = 5, sync = 0, fitting = 0;
  long cache = 0;
  double seconds = 0.01, wanted_ns = 0, watch = 0;
  for (int i = 1; i < argc; ++i) {
    const char* word = argv[i];
    if (strcmp(word, "--sync") == 0) {
      sync = 1;
      continue;
    }
    if (strcmp(word, "--fitting") == 0) {
      fitting = 1;
      continue;
    }
    if (i + 1 == argc) fail("unknown option or missing value", word, "see the head of mpi_collectives.c");
    const char* value = argv[++i];
    if (strcmp(word, "--operations") == 0) {
      chosen = value;
    } else if (strcmp(word, "--modes") == 0) {
      modes = value;
    } else if (strcmp(word, "--sizes") == 0) {
      sizes = value;
    } else if (strcmp(word, "--batches") == 0) {
      batches = atoi(value);
    } else if (strcmp(word, "--seconds") == 0) {
      seconds = atof(value);
    } else if (strcmp(word, "--flag-ns") == 0) {
      wanted_ns = atof(value);
    } else if (strcmp(word, "--cache") == 0) {
      cache = atol(value) << 20;
    } else if (strcmp(word, "--watch") == 0) {
      watch = atof(value);
    } else if (strcmp(word, "--wire") == 0) {
      ranks_of_node = atoi(value);
    } else {
      fail("unknown option", word,
           "use --operations --modes --sizes --batches --seconds --sync --fitting --flag-ns --cache --watch --wire");
    }
  }

  open_flags();
  close_ring();
  for (int tick = 0; tick < 20 && watch > 0; ++tick) {
    const double ns = flag_ns();
    if (rank == 0) printf("%.0f\n", ns);
    for (const double begin = MPI_Wtime(); MPI_Wtime() - begin < watch / 20;) {
    } /* a sleeper could wake elsewhere */
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (watch > 0) {
    MPI_Finalize();
    return 0;
  }

  const char* names[kOperations];
  for (int i = 0; i < kOperations; ++i) names[i] = operations[i].name;
  int use_operation[kOperations], use_mode[kModes];
  choose(chosen, names, kOperations, use_operation);
  choose(modes, mode_names, kModes, use_mode);
  size_t lengths[kMaxSizes], size_count = 0;
  for (const char* p = sizes; *p; ++size_count) {
    char* end;
    const unsigned long bytes = strtoul(p, &end, 10);
    if (end == p || (*end && *end != ',') || bytes == 0 || bytes % 8 || size_count == kMaxSizes) {
      fail("bad size list", sizes, "give positive multiples of 8, separated by commas");
    }
    if (bytes > 0x7fffffffu / (unsigned)ranks) fail("too large a size", sizes, "all ranks' blocks must be below 2 GiB");
    lengths[size_count] = bytes / 8;
    p = *end ? end + 1 : end;
  }

  if (cache <= 0) cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (cache <= 0) cache = 32L << 20;
  struct cell* cells = calloc(kOperations * size_count * kModes + 1, sizeof *cells);
  size_t cell_count = 0, in_places = 0, out_places = 0;
  const double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  for (const struct operation* o = operations; o < operations + kOperations; ++o) {
    const int sized = o->in.who != kNobody;
    for (size_t s = 0; use_operation[o - operations] && s < (sized ? size_count : 1); ++s) {
      for (int mode = 0; mode < kModes; ++mode) {
        if (!use_mode[mode] || (!sized && mode == kCold && use_mode[kWarm])) continue;
        struct cell* c = &cells[cell_count++];
        *c = cell_of(o, lengths[s], mode, (size_t)cache);
        c->sync = sync;
        if (fitting && (double)(drawn_by(c) * c->buffers) > memory / 4) {
          --cell_count;
          continue;
        }
        const size_t in = has(o->in) ? c->buffers * c->in_stride : 0, out = has(o->out) ? c->buffers * c->out_stride : 0;
        if (in > in_places) in_places = in;
        if (out > out_places) out_places = out;
      }
    }
  }
  double here = (double)(in_places + out_places) * 8, all; /* bytes of rings */
  MPI_Allreduce(&here, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (all > memory / 2) fail("the buffers need more than half of this machine's memory with sizes", sizes, "use smaller ones");
  double *in = ring(in_places, 1), *out = ring(out_places, 0);
  counts = malloc((size_t)ranks * sizeof *counts);
  places = malloc((size_t)ranks * sizeof *places);
  byte_places = malloc((size_t)ranks * sizeof *byte_places);
  types = malloc((size_t)ranks * sizeof *types);
  for (int r = 0; r < ranks; ++r) types[r] = MPI_DOUBLE;
  if (rank == 0) {
    if (use_mode[kCold]) printf("# rings of %.0f MiB in all, last-level cache %ld MiB\n", all / (1 << 20), cache >> 20);
    printf("call,bytes,mode,ranks,batch,calls,us,flag_ns%s\n", ranks_of_node ? ",wire,most" : "");
  }
  for (struct cell* c = cells; c < cells + cell_count; ++c) {
    c->in = in;
    c->out = out;
    measure(c, batches, seconds, wanted_ns);
  }
  if (rank == 0) fflush(stdout);
  free(cells), free(in), free(out), free(counts), free(places), free(byte_places), free(types);
  MPI_Finalize();
  return 0;
}
