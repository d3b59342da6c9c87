// Starts work at MPI_Init or at the first wrapped call, and goes back to passing calls on in MPI_Finalize.
#include "session.hpp"

#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>

#include "agreement.hpp"
#include "choose/table.hpp"
#include "communicator/card.hpp"
#include "communicators.hpp"
#include "datatypes.hpp"
#include "helpers.hpp"
#include "joining.hpp"
#include "operators.hpp"
#include "outside.hpp"
#include "report.hpp"
#include "requests.hpp"
#include "settings.hpp"
#include "topology/binding.hpp"
#include "world.hpp"

namespace copse::mpi {
namespace detail {
std::atomic<Phase> phase{Phase::asleep};
}
namespace {

std::mutex mutex;
bool found = false, initialising = false;

void set(Phase phase) { detail::phase.store(phase, std::memory_order_release); }

// Returns whether this process should print for all. Needed where MPI_COMM_WORLD cannot be asked yet.
bool speaks_for_all() {
  for (const char* name : {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"})
    if (const char* rank = std::getenv(name)) return std::string_view(rank) == "0";
  return true;
}

// Looks for the MPI, once. Returns false, with `phase` set, if Copse cannot work with it.
bool find_mpi(const void* caller) {
  if (found) return phase() != Phase::passing;
  found = true;
  if (!find_real(caller)) {
    set(Phase::passing);
    return false;
  }
  if (const std::string_view line = wrong_mpi(); !line.empty()) {
    if (speaks_for_all()) std::fprintf(stderr, "%s\n", line.data());
    set(Phase::passing);
    return false;
  }
  return true;
}

// Returns whether there is nothing to do. If Copse is disabled but has to trace, it counts and times the calls that it
// passes on.
bool is_idle() { return settings().disable && !settings().trace; }

void say_mistake(const std::string& mistake) {
  std::fprintf(stderr, "copse: %s; every call is passed on to the MPI\n", mistake.c_str());
}

int finish(MPI_Comm, int, void*, void*) {
  if (phase() == Phase::passing) return MPI_SUCCESS;
  return guarded("MPI_Finalize", [] {
    finish_requests();
    set(Phase::passing);
    finish_datatypes();
    if (settings().trace) note_resources();
    finish_communicators();
    dismiss_helpers();
    if (settings().trace) remember_requests();
    if (settings().trace) print_report(have_met_all());
    end_standing_in();
    return MPI_SUCCESS;
  });
}

int never_copy(MPI_Comm, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

// Lets this rank learn of MPI_Finalize, which deletes the attributes of MPI_COMM_SELF before anything else, while the MPI still
// works (MPI-4.1 11.2.4). It does so whichever language called it. Returns what is wrong if the MPI cannot set an attribute. Then
// Copse must not work, because it might call the MPI behind the end.
std::string learn_of_the_end() {
  int keyval = 0;
  const bool learns = real().Comm_create_keyval_(never_copy, finish, &keyval, nullptr) == MPI_SUCCESS &&
                      real().Comm_set_attr_(MPI_COMM_SELF, keyval, nullptr) == MPI_SUCCESS;
  return learns ? "" : "the MPI cannot set an attribute, by which Copse would learn of MPI_Finalize";
}

// Returns why ranks cannot be taken out of the program, if they are to be.
std::string why_nobody_stays_out() {
  const choose::CollectiveProcessors& helpers = settings().collective_processors;
  if (!helpers.among_launched || !helpers.any() || can_stand_in()) return "";
  return "COPSE_COLLECTIVE_PROCESSORS with out: needs " + std::string(kWorldLibraryFile) +
         " preloaded before this library; start with: copse run --collective-processors out:1 mpirun ...";
}

// Returns a mistake of the user's, or another reason why this rank cannot work.
std::string prepare_this_rank() {
  const std::string mistake = read_settings(), deaf = learn_of_the_end();
  return !mistake.empty() ? mistake : !deaf.empty() ? deaf : why_nobody_stays_out();
}

int wanted_of_copse() {
  if (settings().disable) return 0;
  const choose::CollectiveProcessors& helpers = settings().collective_processors;
  return !helpers.any() ? 1 : helpers.among_launched ? kWithRanksAsHelpers : kWithHelpers;
}

// Starts the helpers that all ranks want, or makes helpers of some ranks. In these ranks MPI_Finalize is not to do anything.
void prepare_helpers(int wanted) {
  if (wanted == kWithHelpers) return start_helpers();
  set(Phase::passing);
  use_helpers(take_helpers_out());
}

void note_another_mpis_table() {
  const choose::Table* const table = settings().table.get();
  if (table == nullptr || !table->is_of_another_mpi(settings().mpi)) return;
  note("table",
       "made with " + table->mpi + ", and this is " + settings().mpi + ": its rows that leave calls to the MPI do not apply");
}

void work() {
  begin_trace();
  note_another_mpis_table();
  prepare_datatypes();
  prepare_operators();
  prepare_requests();
  prepare_communicators();
  static_cast<void>(communicator::crowding(1));  // it reads a file, which is not to be a cost of the first calls
  set(stacked_tools().behind ? Phase::beneath : Phase::working);
}

// Returns why this rank need not be bound. Returns an empty text if only a look at the machine can tell.
std::string why_binding_is_needless() {
  if (settings().disable) return "COPSE_DISABLE";
  return settings().topology.empty() ? topology::needless_here(topology::binding_policy_from(settings().bind, "COPSE_BIND")) : "";
}

// Warns a user if what the program learns would be lost.
void say_why_not_kept(const std::string& file) {
  const std::string why = choose::why_not_added(file, settings().mpi);
  if (!why.empty()) std::fprintf(stderr, "copse: COPSE_LEARNED=%s: %s; what is learned will be lost\n", file.c_str(), why.c_str());
}

// Binds this rank as COPSE_BIND says, unless its launcher has bound it.
void bind() {
  const NodeRanks node;
  if (!node.made()) return;
  try {
    const auto policy = topology::binding_policy_from(settings().bind, "COPSE_BIND");
    const auto machine = settings().topology.empty() ? communicator::this_machine() : topology::Machine::from(settings().topology);
    note("binding", topology::bind_this_thread(machine, policy, node.rank(), node.ranks()).explanation);
  } catch (const std::exception& error) {  // the program can run without it
    note("binding", std::string("not bound: ") + error.what());
  }
}

void begin() {
  const std::lock_guard lock(mutex);
  initialising = false;
  if (phase() != Phase::asleep) return;
  // If one rank passed calls on while others did not, all would hang. So the ranks exchange what they know, and one
  // rank reports a mistake for all that have found it.
  std::map<std::string, communicator::Tally> parts;
  communicator::StartClock clock(parts);
  const std::string mistake = prepare_this_rank();
  clock.end("MPI_Init: variables");
  int rank = 0, ranks = 1;
  real().Comm_rank_(MPI_COMM_WORLD, &rank);
  real().Comm_size_(MPI_COMM_WORLD, &ranks);
  const std::string needless = why_binding_is_needless();
  clock.end("MPI_Init: look at the binding");
  const std::string no_heap = communicator::heap_preloaded() ? communicator::heap_why_not() : "";
  const int build = static_cast<int>(build_id() & INT_MAX);
  Words mine{};
  mine[Word::build] = build;
  mine[Word::minus_build] = -build;
  mine[Word::first_mistaken] = mistake.empty() ? ranks : rank;
  mine[Word::wanted] = wanted_of_copse();
  mine[Word::untraced] = settings().trace ? 0 : 1;
  mine[Word::unbound] = needless.empty() ? 0 : 1;
  mine[Word::joins_at] = first_served_call();
  mine[Word::first_without_heap] = no_heap.empty() ? ranks : rank;
  const Words all = least_of_all(mine, rank);
  clock.end("MPI_Init: agreement, with waiting for the last rank");
  if (all[Word::build] != -all[Word::minus_build]) {
    if (rank == 0) say_mistake("the ranks run different builds of Copse; preload the same file on all of them");
    return set(Phase::passing);
  }
  if (all[Word::first_mistaken] == rank) say_mistake(mistake);
  set_agreed(all[Word::wanted] == 0, all[Word::untraced] == 0, all[Word::joins_at]);
  if (all[Word::first_mistaken] < ranks || is_idle()) return set(Phase::passing);
  if (all[Word::first_without_heap] == rank)
    std::fprintf(stderr, "copse: rank %d has no shared heap: %s; the program continues without it\n", rank, no_heap.c_str());
  if (const std::string& file = settings().learned; rank == 0 && !file.empty()) say_why_not_kept(file);
  if (all[Word::unbound] == 0) {
    bind();
  } else {
    note("binding", "not bound: " + needless);
  }
  clock.end("MPI_Init: binding");
  const bool with_helpers = all[Word::wanted] >= kWithHelpers;
  if (with_helpers) {
    prepare_helpers(all[Word::wanted]);
    clock.end("MPI_Init: helpers");
  }
  work();
  clock.end("MPI_Init: tables");
  if (with_helpers) {
    if (world_size() > 1) join(state_of(raw_of(world())), true);
    clock.end("MPI_Init: communicator with helpers");
  }
  count_start(parts);
}

bool begin_late(const void* caller) {
  const std::lock_guard lock(mutex);
  if (phase() != Phase::asleep) return phase() != Phase::passing;
  if (initialising || !find_mpi(caller)) return false;
  int initialised = 0;
  if (real().Initialized_(&initialised) != MPI_SUCCESS || initialised == 0) return false;
  const std::string mistake = prepare_this_rank();
  int rank = 0;
  real().Comm_rank_(MPI_COMM_WORLD, &rank);
  if (!mistake.empty() && rank == 0) say_mistake(mistake);
  // The ranks of the world have not told one another what they want, because MPI_Init has bypassed its wrapper. The ranks of each
  // communicator do so when they join (joining.cpp).
  set_agreed(settings().disable || !mistake.empty(), settings().trace, 1);
  work();
  return true;
}

}  // namespace

bool before_init(const void* caller) {
  const std::lock_guard lock(mutex);
  if (!initialising) prepare_to_stay_outside();
  return !std::exchange(initialising, true) && guarded("MPI_Init", [&] { return find_mpi(caller); });
}

void after_init() { guarded("MPI_Init", begin); }

bool wake(const void* caller) {
  return phase() == Phase::asleep ? guarded("waking up", [&] { return begin_late(caller); }) : phase() != Phase::passing;
}

}  // namespace copse::mpi
