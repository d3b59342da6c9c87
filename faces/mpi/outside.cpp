// Divides the ranks of MPI_COMM_WORLD among the program and the helpers.
#include "outside.hpp"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "communicator/card.hpp"
#include "communicator/helper.hpp"
#include "helpers.hpp"
#include "helpers_network.hpp"
#include "real.hpp"
#include "report.hpp"
#include "settings.hpp"
#include "world.hpp"

namespace copse::mpi {
namespace {

// What each rank of a node tells the others.
struct Place {
  std::int32_t helps = 0, pid = 0;
  std::uint64_t namespaces = 0;  // the same for ranks that can reach one another by process ids and by names of sockets
  communicator::DeskName desk{};
};

std::uint64_t namespaces() {
  struct stat network{};
  static_cast<void>(stat("/proc/self/ns/net", &network));
  return communicator::host_id() + network.st_ino;
}

std::atomic<bool> is_helper{false};

// Serves until all ranks of the node leave MPI, or the first one has ended. Then leaves MPI together with the program's ranks, and
// ends.
[[noreturn]] void serve(engine::Descriptor desk, pid_t first, int callers, MPI_Comm all_helpers) {
  is_helper = true;
  RanksNetwork network(all_helpers);
  const engine::Descriptor starter(static_cast<int>(syscall(SYS_pidfd_open, first, 0)));
  communicator::help({.desk = desk.get(), .starter = starter.get(), .callers = callers, .network = &network}, settings());
  desk = engine::Descriptor{};  // others may still look whether somebody is there
  real().Finalize_();
  std::exit(0);
}

// Makes a communicator of the ranks of each node, also where COPSE_NODES pretends that there are several.
bool split_by_node(MPI_Comm& node) {
  const NodeRanks here;
  const int pretended = here.rank() * settings().nodes / here.ranks();
  return here.made() && real().Comm_split_(here.comm(), pretended, here.rank(), &node) == MPI_SUCCESS;
}

// Opens a desk on each of the last ranks of this node. Returns the place of every rank of the node. If one of the desks cannot be
// opened, or could not be reached from all ranks, nobody helps.
std::vector<Place> places_on(MPI_Comm node, engine::Descriptor& desk) {
  int rank = 0, ranks = 1;
  real().Comm_rank_(node, &rank);
  real().Comm_size_(node, &ranks);
  int helpers = std::min(settings().collective_processors.of_launched(ranks), choose::kHelpersMost);
  real().Bcast(&helpers, 1, raw_of(MPI_INT), 0, raw_of(node));
  const auto wanted = static_cast<std::ptrdiff_t>(helpers);
  Place mine;
  mine.pid = getpid();
  mine.namespaces = namespaces();
  if (rank >= ranks - helpers) {
    desk = communicator::open_desk(mine.desk);
    mine.helps = desk ? 1 : 0;
  }
  std::vector<Place> all(static_cast<std::size_t>(ranks));
  const int bytes = static_cast<int>(sizeof mine);
  real().Allgather(&mine, bytes, raw_of(MPI_BYTE), all.data(), bytes, raw_of(MPI_BYTE), raw_of(node));
  const bool reachable =
      std::all_of(all.begin(), all.end(), [&](const Place& place) { return place.namespaces == all.front().namespaces; });
  if (!reachable || std::count_if(all.begin(), all.end(), [](const Place& place) { return place.helps != 0; }) != wanted)
    for (Place& place : all) place.helps = 0;
  return all;
}

std::string what_is_taken(std::size_t helpers, std::size_t ranks) {
  return helpers == 0 ? "none: a rank alone on its node, or no socket that all ranks reach"
                      : std::to_string(helpers) + " of the " + std::to_string(ranks) + " ranks that were launched here";
}

// Makes the communicator of the ranks that share `helps`, and returns which ranks of MPI_COMM_WORLD these are.
std::vector<int> divide(bool helps, MPI_Comm& part) {
  int rank = 0, ranks = 1;
  real().Comm_rank_(MPI_COMM_WORLD, &rank);
  real().Comm_split_(MPI_COMM_WORLD, helps ? 1 : 0, rank, &part);
  real().Comm_size_(part, &ranks);
  std::vector<int> members(static_cast<std::size_t>(ranks));
  real().Allgather(&rank, 1, raw_of(MPI_INT), members.data(), 1, raw_of(MPI_INT), raw_of(part));
  return members;
}

}  // namespace

// Functions that are registered later run earlier. So those of the MPI run, and MPICH's tells the launcher that all is well.
// Those of the program do not run, nor do its destructors, and what it has put into its buffers before MPI_Init is not written.
void prepare_to_stay_outside() {
  const char* const value = std::getenv("COPSE_COLLECTIVE_PROCESSORS");
  if (value == nullptr || !std::string_view(value).starts_with(choose::kAmongLaunched)) return;
  std::atexit([] {
    if (is_helper) _exit(0);
  });
}

std::vector<communicator::DeskName> take_helpers_out() {
  MPI_Comm parent{}, node{}, part{};  // part: either the program's ranks, or the helpers
  if (real().Comm_get_parent_(&parent) == MPI_SUCCESS && parent != MPI_COMM_NULL) {
    note(kHelpers, "none among spawned ranks: whoever has spawned them counts on all of them");
    return {};
  }
  if (!split_by_node(node)) return {};
  int rank = 0;
  real().Comm_rank_(node, &rank);
  engine::Descriptor desk;
  const std::vector<Place> places = places_on(node, desk);
  real().Comm_free_(&node);
  std::vector<communicator::DeskName> desks;
  for (const Place& place : places)
    if (place.helps != 0) desks.push_back(place.desk);
  const bool helps = places[static_cast<std::size_t>(rank)].helps != 0;
  std::vector<int> members = divide(helps, part);
  if (helps) serve(std::move(desk), places.front().pid, static_cast<int>(places.size() - desks.size()), part);
  stand_in(part, std::move(members));
  if (rank == 0) note(kHelpers, what_is_taken(desks.size(), places.size()));
  return desks;
}

}  // namespace copse::mpi
