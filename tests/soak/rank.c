/* One rank of a soak group (soak.py). Several times, it joins by name, makes calls, checks every result, and frees.
 *
 *     rank NAME RANK RANKS SEED ROUNDS CALLS TIMEOUT
 *
 * All ranks of a group draw the same calls from SEED. The last line on standard output says how the rank ended. So does the
 * exit code: 0 all results were right; 3 a call failed because another rank had ended; 4 a result was wrong; 5 the ranks did
 * not meet; 6 this rank had no memory or descriptor left; 7 something of Copse's was left after a communicator was freed. */
#define _GNU_SOURCE
#include <copse/copse.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { kRight = 0, kLost = 3, kWrong = 4, kNotMet = 5, kStarved = 6, kLeft = 7, kLongest = 1 << 20 };

static uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static uint64_t drawn; /* the same on all ranks */
static uint64_t draw(uint64_t below) {
  drawn += 0x9e3779b97f4a7c15u;
  return mixed(drawn) % below;
}

static int64_t element(uint64_t call, int rank, size_t i) {
  return (int64_t)(mixed(call * 1000003 + (uint64_t)rank * 7919 + i) >> 40);
}

static const char* name;
static int rank, ranks;

static _Noreturn void end(int code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  printf("%s rank %d: ", name, rank);
  vprintf(format, arguments);
  printf("\n");
  fflush(stdout);
  _exit(code);
}

static _Noreturn void end_of(copse_status status, const copse_comm* comm, const char* where, uint64_t done) {
  if (status == COPSE_ERROR_MISMATCH && strstr(copse_comm_message(comm), "one has ended") != NULL) status = COPSE_ERROR_LOST;
  const int code = status == COPSE_ERROR_LOST          ? kLost
                   : status == COPSE_ERROR_MEMORY      ? kStarved
                   : status == COPSE_ERROR_UNREACHABLE ? kNotMet
                                                       : kWrong;
  end(code, "%s after %llu calls: %s", where, (unsigned long long)done, copse_comm_message(comm));
}

static void expect(int64_t found, int64_t expected, const char* what, uint64_t call, size_t i) {
  if (found != expected)
    end(kWrong, "call %llu, %s: element %zu is %lld, expected %lld", (unsigned long long)call, what, i, (long long)found,
        (long long)expected);
}

static int descriptors(void) {
  DIR* folder = opendir("/proc/self/fd");
  int count = 0;
  while (folder != NULL && readdir(folder) != NULL) ++count;
  if (folder != NULL) closedir(folder);
  return count;
}

/* Counts the memory that is mapped, not the parts: the shared heap opens and closes pages, each part of which has a line. */
static int mappings(void) {
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[512];
  unsigned long inodes[256], inode;
  int count = 0;
  while (maps != NULL && count < 256 && fgets(line, sizeof line, maps) != NULL) {
    if (strstr(line, "memfd:copse") == NULL || sscanf(line, "%*s %*s %*s %*s %lu", &inode) != 1) continue;
    int known = 0;
    for (int i = 0; i < count; ++i) known |= inodes[i] == inode;
    if (!known) inodes[count++] = inode;
  }
  if (maps != NULL) fclose(maps);
  return count;
}

static int64_t *in, *out;

static copse_status call_once(copse_comm* comm, uint64_t call) {
  static const size_t counts[] = {1, 3, 15, 100, 1000, 9000, 40000, 100000};
  size_t count = counts[draw(8)];
  const int root = (int)draw((uint64_t)ranks), started = draw(4) == 0;
  const size_t all = count * (size_t)ranks > kLongest ? kLongest / (size_t)ranks : count; /* of a block */
  copse_request* request = NULL;
  copse_status status = COPSE_OK;
#define CALL(function, ...)                                                                          \
  (status = started ? copse_start_##function(__VA_ARGS__, &request) : copse_##function(__VA_ARGS__), \
   status == COPSE_OK && started ? copse_wait(&request) : status)
  for (size_t i = 0; i < count; ++i) in[i] = element(call, rank, i);
  switch (draw(7)) {
    case 0: return CALL(barrier, comm);
    case 1:
      if ((status = CALL(broadcast, comm, in, count * sizeof *in, root)) != COPSE_OK) return status;
      for (size_t i = 0; i < count; ++i) expect(in[i], element(call, root, i), "broadcast", call, i);
      return status;
    case 2:
    case 3:
      if ((status = CALL(allreduce, comm, in, out, count, COPSE_INT64, COPSE_SUM)) != COPSE_OK) return status;
      for (size_t i = 0; i < count; ++i) {
        int64_t sum = 0;
        for (int r = 0; r < ranks; ++r) sum += element(call, r, i);
        expect(out[i], sum, "allreduce", call, i);
      }
      return status;
    case 4:
      if ((status = CALL(allgather, comm, in, all * sizeof *in, out)) != COPSE_OK) return status;
      for (int r = 0; r < ranks; ++r)
        for (size_t i = 0; i < all; ++i) expect(out[(size_t)r * all + i], element(call, r, i), "allgather", call, i);
      return status;
    case 5:
      if ((status = CALL(gather, comm, in, all * sizeof *in, out, root)) != COPSE_OK) return status;
      for (int r = 0; rank == root && r < ranks; ++r)
        for (size_t i = 0; i < all; ++i) expect(out[(size_t)r * all + i], element(call, r, i), "gather", call, i);
      return status;
    default:
      for (size_t i = 0; i < all * (size_t)ranks; ++i) in[i] = element(call, rank, i);
      if ((status = CALL(alltoall, comm, in, out, all * sizeof *in)) != COPSE_OK) return status;
      for (int r = 0; r < ranks; ++r)
        for (size_t i = 0; i < all; ++i)
          expect(out[(size_t)r * all + i], element(call, r, (size_t)rank * all + i), "alltoall", call, i);
      return status;
  }
#undef CALL
}

int main(int count, char** arguments) {
  if (count != 8) return 2;
  name = arguments[1];
  rank = atoi(arguments[2]);
  ranks = atoi(arguments[3]);
  const uint64_t seed = strtoull(arguments[4], NULL, 10), rounds = strtoull(arguments[5], NULL, 10),
                 calls = strtoull(arguments[6], NULL, 10);
  const double timeout = strtod(arguments[7], NULL);
  in = malloc(kLongest * sizeof *in);
  out = malloc(kLongest * sizeof *out);
  if (in == NULL || out == NULL) end(kStarved, "no memory for the buffers");
  memset(in, 0, kLongest * sizeof *in);
  memset(out, 0, kLongest * sizeof *out);
  uint64_t done = 0;
  int descriptors_before = 0, mappings_before = 0;
  for (uint64_t round = 0; round < rounds; ++round) {
    char here[96];
    snprintf(here, sizeof here, "%s-%llu", name, (unsigned long long)round);
    copse_comm* comm = NULL;
    copse_status status = copse_comm_join(here, rank, ranks, timeout, &comm);
    if (status != COPSE_OK) end_of(status, NULL, "joining", done);
    drawn = seed * 131 + round;
    for (uint64_t i = 0; i < calls; ++i, ++done) {
      if (done % 16 == 0) { /* so that ranks.py can tell a slow rank from a hung one, and how far a dead one has come */
        char progress[32];
        snprintf(progress, sizeof progress, "rank %llu", (unsigned long long)done);
        prctl(PR_SET_NAME, progress);
      }
      if (draw(16) == 0) { /* some ranks come late */
        const struct timespec pause = {0, (long)draw(20) * 1000000};
        if (draw((uint64_t)ranks) == (uint64_t)rank) nanosleep(&pause, NULL);
      }
      if ((status = call_once(comm, seed * 1000000 + round * 1000 + i)) != COPSE_OK) end_of(status, comm, "a call", done);
    }
    copse_comm_free(comm);
    if (round == 0) { /* the first may leave what a process keeps: libraries, a descriptor for each peer */
      descriptors_before = descriptors();
      mappings_before = mappings();
    } else if (descriptors() > descriptors_before || mappings() > mappings_before) {
      end(kLeft, "%d descriptors and %d mappings after round %llu, %d and %d after the first", descriptors(), mappings(),
          (unsigned long long)round, descriptors_before, mappings_before);
    }
  }
  end(kRight, "%llu calls", (unsigned long long)done);
}
