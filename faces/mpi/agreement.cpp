// Comparing groups, reading the linker's build ID, and the one exchange that all ranks of the world take part in.
#include "agreement.hpp"

#include <link.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <vector>

#include "real.hpp"
#include "report.hpp"
#include "silent.hpp"
#include "world.hpp"

// The linker defines this symbol, where this library begins in memory with an ElfW(Ehdr).
extern "C" const unsigned char __ehdr_start[] __attribute__((visibility("hidden")));

namespace copse::mpi {
namespace {

using Clock = std::chrono::steady_clock;

// The hash is FNV-1a.
std::uint64_t digest(const unsigned char* bytes, std::size_t count) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (std::size_t i = 0; i < count; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3u;
  return hash;
}

std::uint64_t read_build_id() {
  const unsigned char* const base = __ehdr_start;
  const auto& header = *reinterpret_cast<const ElfW(Ehdr)*>(base);
  const auto* const segments = reinterpret_cast<const ElfW(Phdr)*>(base + header.e_phoff);
  const auto padded = [](std::size_t bytes) { return (bytes + 3) / 4 * 4; };
  for (int i = 0; i < header.e_phnum; ++i) {
    if (segments[i].p_type != PT_NOTE) continue;
    const unsigned char *at = base + segments[i].p_vaddr, *const end = at + segments[i].p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const unsigned char *const name = at + sizeof note, *const description = name + padded(note.n_namesz);
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0)
        return digest(description, note.n_descsz);
      at = description + padded(note.n_descsz);
    }
  }
  return 0;  // not reached: the library's link options ask for a build ID
}

constexpr const char* kAdvice = "preload it on all of them, or on none (COPSE_DISABLE=1 where it is not wanted)";

void say_that_it_waits(int rank, Clock::duration waited) {
  std::fprintf(stderr,
               "copse: rank %d has waited %lld s in MPI_Init for the other ranks; if this continues, some ranks run "
               "without Copse: %s\n",
               rank, static_cast<long long>(std::chrono::duration_cast<std::chrono::seconds>(waited).count()), kAdvice);
}

bool met_all = false;

}  // namespace

std::vector<int> world_ranks(MPI_Comm comm, int ranks, Group which) {
  MPI_Group group{}, all{};
  std::vector<int> numbers(static_cast<std::size_t>(ranks)), there(numbers.size(), MPI_UNDEFINED);
  std::iota(numbers.begin(), numbers.end(), 0);
  which == Group::own ? real().Comm_group_(comm, &group) : real().Comm_remote_group_(comm, &group);
  real().Comm_group_(world(), &all);
  real().Group_translate_ranks_(group, ranks, numbers.data(), all, there.data());
  real().Group_free_(&group);
  real().Group_free_(&all);
  return there;
}

bool in_one_world(const std::vector<int>& members) {
  return std::find(members.begin(), members.end(), MPI_UNDEFINED) == members.end();
}

std::uint64_t build_id() {
  static const std::uint64_t id = read_build_id();
  return id;
}

bool have_met_all() { return met_all; }

// The exchange cannot be taken back, so the other ranks would wait for ever.
void end_if_a_rank_is_silent(int rank, const char* what) {
  const pid_t silent = rank_without_copse();
  if (silent == 0) return;
  std::fprintf(stderr, "copse: rank %d cannot %s: process %d is a rank of the same program without Copse: %s\n", rank, what,
               static_cast<int>(silent), kAdvice);
  abort_all(1);
}

// The exchange is a nonblocking call. A blocking one could match a blocking call of a process without Copse, and both
// would get wrong data.
Words least_of_all(const Words& mine, int rank) {
  Words all{};
  MPI_Request request = MPI_REQUEST_NULL;
  real().Iallreduce(mine.data(), all.data(), Word::count, raw_of(MPI_INT), raw_of(MPI_MIN), raw_of(MPI_COMM_WORLD), &request);
  const bool speaks = (rank & (rank - 1)) == 0;  // few of thousands: ranks 0, 1, 2, 4, 8 ...
  const auto start = Clock::now();
  auto patience = kPatienceWithRanks;
  int done = 0;
  while (real().Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done == 0) {
    sched_yield();
    const auto waited = Clock::now() - start;
    if (waited < patience) continue;
    end_if_a_rank_is_silent(rank, "leave MPI_Init");
    if (speaks) say_that_it_waits(rank, waited);
    patience *= 10;
  }
  met_all = true;
  return all;
}

}  // namespace copse::mpi
