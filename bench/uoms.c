/* The operations, options and output of the UPC Operations Microbenchmarking Suite (UOMS), for <copse/upc.h>.
 *
 *     copse run --upc-threads 4 build/release/bin/copse-uoms -help
 *
 * Each iteration begins behind a barrier. Its time is that of the slowest thread, from its call to its return. With ALLSYNC on both
 * sides, which is usual, an operation is finished then. The header of each table states how the bandwidth is computed. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "copse/upc.h"
#include "copse/upc_nb.h"

enum { MOST_SIZES = 64, MOST_REPETITIONS = 1000, FEWEST_REPETITIONS = 20 };

static struct {
  int off_cache, warmup;
  upc_op_t op;
  upc_flag_t flags;
  const char *op_name, *mode_name, *names; /* of operations, separated by commas; null means all */
  double seconds;                          /* for one size of one operation */
  size_t sizes[MOST_SIZES];
  int size_count;
} options = {0, 0, UPC_ADD, UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC, "UPC_ADD", "ALLSYNC", NULL, 10, {0}, 0};

/* What the operations use. `src` and `dst` have `area` bytes on each thread. An iteration takes them from `offset` on. */
static upc_private upc_shared src_area, dst_area, perm, durations, stop;
static upc_private upc_lock_t lock;
static upc_private size_t area, offset;
static upc_private char* own; /* private memory */
static upc_private volatile long sink;

static upc_shared at(upc_shared array, int thread) {
  array.address += offset;
  array.thread = thread;
  return array;
}
static upc_shared src(void) { return at(src_area, 0); }
static upc_shared dst(void) { return at(dst_area, 0); }
static int neighbour(void) { return (MYTHREAD + 1) % THREADS; }

static void broadcast(size_t n) { upc_all_broadcast(dst(), src(), n, options.flags); }
static void scatter(size_t n) { upc_all_scatter(dst(), src(), n, options.flags); }
static void gather(size_t n) { upc_all_gather(dst(), src(), n, options.flags); }
static void gather_all(size_t n) { upc_all_gather_all(dst(), src(), n, options.flags); }
static void exchange(size_t n) { upc_all_exchange(dst(), src(), n, options.flags); }
static void permute(size_t n) { upc_all_permute(dst(), src(), perm, n, options.flags); }

#define REDUCTIONS(letter, type)                                                                                           \
  static type combine##letter(type a, type b) { return a > b ? a : b; }                                                    \
  static void reduce##letter(size_t n) {                                                                                   \
    const size_t each = n / sizeof(type);                                                                                  \
    upc_all_reduce##letter(dst(), src(), options.op, each * (size_t)THREADS, each, combine##letter, options.flags);        \
  }                                                                                                                        \
  static void prefix_reduce##letter(size_t n) {                                                                            \
    const size_t each = n / sizeof(type);                                                                                  \
    upc_all_prefix_reduce##letter(dst(), src(), options.op, each * (size_t)THREADS, each, combine##letter, options.flags); \
  }
COPSE_UPC_TYPES(REDUCTIONS)

static void memget(size_t n) { upc_memget(own, at(src_area, neighbour()), n); }
static void memput(size_t n) { upc_memput(at(dst_area, neighbour()), own, n); }
static void memcopy(size_t n) { upc_memcpy(at(dst_area, MYTHREAD), at(src_area, neighbour()), n); }
static void memfill(size_t n) { upc_memset(at(dst_area, neighbour()), 1, n); }
static void memget_nb(size_t n) { upc_sync(upc_memget_nb(own, at(src_area, neighbour()), n)); }
static void memput_nb(size_t n) { upc_sync(upc_memput_nb(at(dst_area, neighbour()), own, n)); }
static void memcopy_nb(size_t n) { upc_sync(upc_memcpy_nb(at(dst_area, MYTHREAD), at(src_area, neighbour()), n)); }
static void memfill_nb(size_t n) { upc_sync(upc_memset_nb(at(dst_area, neighbour()), 1, n)); }

static void local_read(size_t n) {
  const volatile long* const from = upc_cast(at(src_area, MYTHREAD));
  long sum = 0;
  for (size_t i = 0; i < n / sizeof(long); ++i) sum += from[i];
  sink = sum;
}
static void local_write(size_t n) {
  volatile long* const to = upc_cast(at(dst_area, MYTHREAD));
  for (size_t i = 0; i < n / sizeof(long); ++i) to[i] = (long)i;
}
static void shared_read(size_t n) {
  const upc_shared from = at(src_area, neighbour());
  long sum = 0;
  if (upc_cast(from) == NULL) /* on another node */
    for (size_t i = 0; i < n / sizeof(long); ++i) sum += UPC_GET(long, UPC_INDEFINITE, from, i);
  else
    for (size_t i = 0; i < n / sizeof(long); ++i) sum += UPC_AT(volatile long, UPC_INDEFINITE, from, i);
  sink = sum;
}
static void shared_write(size_t n) {
  const upc_shared to = at(dst_area, neighbour());
  if (upc_cast(to) == NULL)
    for (size_t i = 0; i < n / sizeof(long); ++i) UPC_PUT(long, UPC_INDEFINITE, to, i, (long)i);
  else
    for (size_t i = 0; i < n / sizeof(long); ++i) UPC_AT(volatile long, UPC_INDEFINITE, to, i) = (long)i;
}

static void barrier(size_t n) {
  (void)n;
  upc_barrier();
}
static void lock_unlock(size_t n) {
  (void)n;
  upc_lock(lock);
  upc_unlock(lock);
}
static upc_shared found(upc_shared p) {
  if (upc_is_null(p)) {
    fprintf(stderr, "copse-uoms: no memory to allocate; use smaller sizes, or a larger COPSE_UPC_HEAP\n");
    upc_global_exit(1);
  }
  return p;
}
static void all_alloc(size_t n) { upc_all_free(found(upc_all_alloc((size_t)THREADS, n))); }
static void global_alloc(size_t n) { upc_free(found(upc_global_alloc((size_t)THREADS, n))); }
static void own_alloc(size_t n) { upc_free(found(upc_alloc(n))); }

enum Kind { MOVES_ALL, MOVES_SQUARE, REDUCES, MOVES_ONE, TAKES_SIZE, TAKES_NONE };
static const char* const formulas[] = {"size / t_min, where size = THREADS * bytes: the root's whole array, or all threads' blocks",
                                       "size / t_min, where size = THREADS * THREADS * bytes: all blocks that threads get",
                                       "size / t_min, where size = THREADS * bytes: the array that is reduced",
                                       "bytes / t_min",
                                       "none",
                                       "none"};

typedef struct operation {
  const char* name;
  void (*call)(size_t bytes);
  enum Kind kind;
  size_t element; /* sizes are multiples of it */
  int floating;
} operation;

#define ROWS(letter, type)                                                                 \
  {"upc_all_reduce" #letter, reduce##letter, REDUCES, sizeof(type), (type)0.5 != (type)0}, \
      {"upc_all_prefix_reduce" #letter, prefix_reduce##letter, REDUCES, sizeof(type), (type)0.5 != (type)0},

static const operation operations[] = {
    {"upc_all_broadcast", broadcast, MOVES_ALL, 1, 0},
    {"upc_all_scatter", scatter, MOVES_ALL, 1, 0},
    {"upc_all_gather", gather, MOVES_ALL, 1, 0},
    {"upc_all_gather_all", gather_all, MOVES_SQUARE, 1, 0},
    {"upc_all_exchange", exchange, MOVES_SQUARE, 1, 0},
    {"upc_all_permute", permute, MOVES_ALL, 1, 0},
    COPSE_UPC_TYPES(ROWS) /* two for each type */
    {"upc_memget", memget, MOVES_ONE, 1, 0},
    {"upc_memput", memput, MOVES_ONE, 1, 0},
    {"upc_memcpy", memcopy, MOVES_ONE, 1, 0},
    {"upc_memset", memfill, MOVES_ONE, 1, 0},
    {"upc_memget_nb", memget_nb, MOVES_ONE, 1, 0},
    {"upc_memput_nb", memput_nb, MOVES_ONE, 1, 0},
    {"upc_memcpy_nb", memcopy_nb, MOVES_ONE, 1, 0},
    {"upc_memset_nb", memfill_nb, MOVES_ONE, 1, 0},
    {"local_read", local_read, MOVES_ONE, sizeof(long), 0},
    {"local_write", local_write, MOVES_ONE, sizeof(long), 0},
    {"shared_read", shared_read, MOVES_ONE, sizeof(long), 0},
    {"shared_write", shared_write, MOVES_ONE, sizeof(long), 0},
    {"upc_barrier", barrier, TAKES_NONE, 1, 0},
    {"upc_lock+upc_unlock", lock_unlock, TAKES_NONE, 1, 0},
    {"upc_all_alloc+upc_all_free", all_alloc, TAKES_SIZE, 1, 0},
    {"upc_global_alloc+upc_free", global_alloc, TAKES_SIZE, 1, 0},
    {"upc_alloc+upc_free", own_alloc, TAKES_SIZE, 1, 0},
};
enum { OPERATIONS = sizeof operations / sizeof operations[0] };

static double now_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int repetitions_of(size_t bytes) {
  const size_t fit = ((size_t)64 << 20) / (bytes * (size_t)THREADS + 1);
  return fit > MOST_REPETITIONS ? MOST_REPETITIONS : fit < FEWEST_REPETITIONS ? FEWEST_REPETITIONS : (int)fit;
}

/* Moves on to memory that was not used lately. An iteration uses THREADS * bytes at most. */
static void move_on(size_t bytes) {
  const size_t step = ((size_t)THREADS * bytes + 63) / 64 * 64;
  offset += step;
  if (offset + step > area) offset = 0;
}

/* Runs iterations, and returns how many fitted in the time. Some run before the next look at the clock, so all stop together. */
static int iterate(const operation* o, size_t bytes, int repetitions) {
  double* const mine = upc_cast(at(durations, MYTHREAD)); /* here and at the end `offset` is 0 */
  const double begin = now_us();
  int done = 0;
  while (done < repetitions) {
    for (int i = 0; i < FEWEST_REPETITIONS && done < repetitions; ++i, ++done) {
      upc_barrier();
      const double start = now_us();
      o->call(bytes);
      mine[done] = now_us() - start;
      if (options.off_cache) move_on(bytes);
    }
    if (MYTHREAD == 0) UPC_AT(int, 1, stop, 0) = now_us() - begin > options.seconds * 1e6;
    upc_barrier();
    if (UPC_GET(int, 1, stop, 0)) break;
    upc_barrier();
  }
  offset = 0;
  return done;
}

static void report(const operation* o, size_t bytes, int repetitions) {
  double least = 1e300, most = 0, sum = 0;
  for (int i = 0; i < repetitions; ++i) {
    double slowest = 0;
    for (int t = 0; t < THREADS; ++t) {
      const double taken = UPC_GET(double, UPC_INDEFINITE, at(durations, t), i);
      if (taken > slowest) slowest = taken;
    }
    least = slowest < least ? slowest : least;
    most = slowest > most ? slowest : most;
    sum += slowest;
  }
  const double threads = THREADS, factors[] = {threads, threads * threads, threads, 1, 0, 0};
  if (o->kind != TAKES_NONE) printf("%12zu ", bytes);
  printf("%12d %14.3f %14.3f %14.3f", repetitions, least, most, sum / repetitions);
  if (factors[o->kind] > 0) printf(" %14.2f", factors[o->kind] * (double)bytes / least);
  printf("\n");
  fflush(stdout);
}

static void benchmark(const operation* o) {
  if (o->floating && (options.op & (UPC_AND | UPC_OR | UPC_XOR)) != 0) {
    if (MYTHREAD == 0) printf("\n# %s: left out, because %s is not for floating types\n", o->name, options.op_name);
    return;
  }
  if (MYTHREAD == 0) {
    const int reduces = o->kind == REDUCES, sized = o->kind != TAKES_NONE, moves = o->kind < TAKES_SIZE;
    printf("\n#---------------------------------------------------\n# Benchmarking %s%s%s\n# #threads = %d, %s, %s\n", o->name,
           reduces ? ", " : "", reduces ? options.op_name : "", THREADS, options.mode_name,
           options.off_cache ? "off cache" : "warm");
    printf("# The time of an iteration is that of its slowest thread. Bandwidth: %s\n", formulas[o->kind]);
    printf("#---------------------------------------------------\n%s#repetitions    t_min[usec]    t_max[usec]    t_avg[usec]%s\n",
           sized ? "      #bytes " : "", moves ? "  BW[MB/sec]" : "");
  }
  for (int i = 0; i < (o->kind == TAKES_NONE ? 1 : options.size_count); ++i) {
    const size_t bytes = options.sizes[i];
    if (bytes % o->element != 0) continue;
    if (options.warmup) iterate(o, bytes, FEWEST_REPETITIONS);
    const int repetitions = iterate(o, bytes, repetitions_of(o->kind == TAKES_NONE ? 1 : bytes));
    if (MYTHREAD == 0) report(o, bytes, repetitions);
    upc_barrier();
  }
}

static int is_chosen(const char* name) {
  const size_t length = strlen(name);
  if (options.names == NULL) return 1;
  for (const char* word = options.names; *word != '\0'; word += strcspn(word, ","), word += *word == ',')
    if (strncmp(word, name, length) == 0 && (word[length] == ',' || word[length] == '\0')) return 1;
  return 0;
}

/* Off cache, the areas exceed the last cache twice; but 1 GiB is the most for all of them. */
static size_t area_for(size_t largest) {
  const size_t needed = (size_t)THREADS * largest + 64, most = ((size_t)512 << 20) / (size_t)THREADS;
  const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  size_t wanted = 2 * (cache > 0 ? (size_t)cache : (size_t)32 << 20);
  if (wanted > most) wanted = most;
  return options.off_cache && wanted > needed ? wanted : needed;
}

static int program(int argc, char** argv) {
  const size_t threads = (size_t)THREADS;
  size_t largest = 0;
  (void)argc;
  (void)argv;
  for (int i = 0; i < options.size_count; ++i)
    if (options.sizes[i] > largest) largest = options.sizes[i];
  area = (area_for(largest) + 63) / 64 * 64;
  src_area = upc_all_alloc(threads, area);
  dst_area = upc_all_alloc(threads, area);
  durations = upc_all_alloc(threads, MOST_REPETITIONS * sizeof(double));
  perm = upc_all_alloc(threads, sizeof(int));
  stop = upc_all_alloc(1, sizeof(int));
  if (upc_is_null(src_area) || upc_is_null(dst_area) || upc_is_null(durations) || upc_is_null(perm) || upc_is_null(stop)) {
    if (MYTHREAD == 0)
      fprintf(stderr, "copse-uoms: no memory for messages of %zu bytes; use smaller ones, or a larger COPSE_UPC_HEAP\n", largest);
    return 1;
  }
  lock = upc_all_lock_alloc();
  own = calloc(largest, 1);
  if (own == NULL) return 1;
  memset(upc_cast(at(src_area, MYTHREAD)), 0, area);
  memset(upc_cast(at(dst_area, MYTHREAD)), 0, area);
  UPC_AT(int, 1, perm, MYTHREAD) = neighbour();
  for (int i = 0; i < OPERATIONS; ++i)
    if (is_chosen(operations[i].name)) benchmark(&operations[i]);
  free(own);
  return 0;
}

/* --- Options ---------------------------------------------------------------------------------------------------- */

static const char usage[] =
    "usage: copse-uoms [OPTION ...]\n"
    "  -list              print the names of the operations\n"
    "  -operations A,B    measure only these\n"
    "  -input FILE        measure only the operations that FILE names, one on a line\n"
    "  -off_cache         take other memory in each iteration\n"
    "  -warmup            call each operation before time is taken\n"
    "  -reduce_op OP      UPC_ADD (default), UPC_MULT, UPC_AND, UPC_OR, UPC_XOR, UPC_LOGAND, UPC_LOGOR, UPC_MIN, UPC_MAX, "
    "UPC_FUNC,\n"
    "                     UPC_NONCOMM_FUNC\n"
    "  -sync_mode MODE    ALLSYNC (default), MYSYNC, NOSYNC, on both sides\n"
    "  -minsize BYTES     the first size (4); each size is twice the one before it\n"
    "  -maxsize BYTES     the last size (1048576)\n"
    "  -msglen FILE       sizes, one on a line, instead\n"
    "  -time SECONDS      for one size of an operation, at most (10)\n";

/* Ends the program, for a mistake in an option. */
static void refuse(const char* option, const char* value, const char* required) {
  fprintf(stderr, "copse-uoms: %s is '%s'; required: %s\n", option, value == NULL ? "" : value, required);
  exit(2);
}

static size_t size_in(const char* option, const char* text) {
  char* end = NULL;
  const unsigned long long value = text == NULL ? 0 : strtoull(text, &end, 10);
  if (value == 0 || value > (1ULL << 32) || (*end != '\0' && *end != '\n'))
    refuse(option, text, "a number of bytes from 1 to 2^32");
  return (size_t)value;
}

static void add_size(const char* option, size_t bytes) {
  if (options.size_count == MOST_SIZES) refuse(option, "too long", "64 sizes at most");
  options.sizes[options.size_count++] = bytes;
}

/* Calls `take` for every line of a file. */
static void for_lines(const char* option, const char* name, void (*take)(const char* option, const char* line)) {
  char line[256];
  FILE* const file = name == NULL ? NULL : fopen(name, "r");
  if (file == NULL) refuse(option, name, "a file that can be read");
  while (fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "\r\n")] = '\0';
    if (line[0] != '\0' && line[0] != '#') take(option, line);
  }
  fclose(file);
}

static void take_size(const char* option, const char* line) { add_size(option, size_in(option, line)); }

static void take_name(const char* option, const char* line) {
  static char names[8192];
  if (strlen(names) + strlen(line) + 2 > sizeof names) refuse(option, line, "fewer names");
  strcat(strcat(names, line), ",");
  options.names = names;
}

static void check_names(void) {
  for (const char* word = options.names; word != NULL && *word != '\0'; word += strcspn(word, ","), word += *word == ',') {
    const size_t length = strcspn(word, ",");
    int known = 0;
    for (int i = 0; i < OPERATIONS; ++i)
      known |= strlen(operations[i].name) == length && strncmp(word, operations[i].name, length) == 0;
    if (!known) refuse("an operation", word, "one that -list names");
  }
}

typedef struct named {
  const char* name;
  long value;
} named;

static const named ops[] = {{"UPC_ADD", UPC_ADD},
                            {"UPC_MULT", UPC_MULT},
                            {"UPC_AND", UPC_AND},
                            {"UPC_OR", UPC_OR},
                            {"UPC_XOR", UPC_XOR},
                            {"UPC_LOGAND", UPC_LOGAND},
                            {"UPC_LOGOR", UPC_LOGOR},
                            {"UPC_MIN", UPC_MIN},
                            {"UPC_MAX", UPC_MAX},
                            {"UPC_FUNC", UPC_FUNC},
                            {"UPC_NONCOMM_FUNC", UPC_NONCOMM_FUNC},
                            {NULL, 0}};
static const named modes[] = {{"ALLSYNC", UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC},
                              {"MYSYNC", UPC_IN_MYSYNC | UPC_OUT_MYSYNC},
                              {"NOSYNC", UPC_IN_NOSYNC | UPC_OUT_NOSYNC},
                              {NULL, 0}};

static const named* find(const named* list, const char* option, const char* name, const char* required) {
  for (; list->name != NULL; ++list)
    if (name != NULL && strcmp(list->name, name) == 0) return list;
  refuse(option, name, required);
  return list;
}

static int read_options(int argc, char** argv) {
  size_t from = 4, to = (size_t)1 << 20;
  for (int i = 1; i < argc; ++i) {
    const char *const option = argv[i], *const value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(option, "-help") == 0) return fputs(usage, stdout), 0;
    if (strcmp(option, "-list") == 0) {
      for (int o = 0; o < OPERATIONS; ++o) puts(operations[o].name);
      return 0;
    }
    if (strcmp(option, "-off_cache") == 0 || strcmp(option, "-warmup") == 0) {
      *(option[1] == 'o' ? &options.off_cache : &options.warmup) = 1;
      continue;
    }
    ++i; /* all others have a value */
    if (strcmp(option, "-operations") == 0) {
      if (value == NULL) refuse(option, value, "names, separated by commas");
      options.names = value;
    } else if (strcmp(option, "-input") == 0) {
      for_lines(option, value, take_name);
    } else if (strcmp(option, "-msglen") == 0) {
      for_lines(option, value, take_size);
    } else if (strcmp(option, "-minsize") == 0) {
      from = size_in(option, value);
    } else if (strcmp(option, "-maxsize") == 0) {
      to = size_in(option, value);
    } else if (strcmp(option, "-time") == 0) {
      options.seconds = value == NULL ? 0 : atof(value);
      if (!(options.seconds > 0)) refuse(option, value, "a number of seconds");
    } else if (strcmp(option, "-reduce_op") == 0) {
      const named* const op = find(ops, option, value, "UPC_ADD or another of UPC's operators");
      options.op = op->value;
      options.op_name = op->name;
    } else if (strcmp(option, "-sync_mode") == 0) {
      const named* const mode = find(modes, option, value, "ALLSYNC, MYSYNC or NOSYNC");
      options.flags = (upc_flag_t)mode->value;
      options.mode_name = mode->name;
    } else {
      fprintf(stderr, "copse-uoms: there is no option %s\n%s", option, usage);
      return 2;
    }
  }
  check_names();
  for (size_t bytes = from; options.size_count == 0 || (bytes > from && bytes <= to); bytes *= 2) add_size("-minsize", bytes);
  return -1;
}

int main(int argc, char** argv) {
  const int status = read_options(argc, argv);
  return status >= 0 ? status : copse_upc_run(argc, argv, program);
}
