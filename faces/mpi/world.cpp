// Keeps the communicator that stands for MPI_COMM_WORLD.
#include "world.hpp"

#include <dlfcn.h>

#include <utility>

#include "real.hpp"
#include "world_view.hpp"

namespace copse::mpi {
namespace {

// Never destroyed (session.hpp).
auto& view = *new WorldView;
auto& members_kept = *new std::vector<int>;

}  // namespace

MPI_Comm world() {
  const Raw stands_in = view.stands_in.load(std::memory_order_relaxed);
  return stands_in == 0 ? MPI_COMM_WORLD : handle<MPI_Comm>(stands_in);
}

int world_size() {
  int ranks = 0;
  real().Comm_size_(world(), &ranks);
  return ranks;
}

NodeRanks::NodeRanks() {
  if (real().Comm_split_type_(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm_) != MPI_SUCCESS) comm_ = MPI_COMM_NULL;
  if (!made()) return;
  real().Comm_rank_(comm_, &rank_);
  real().Comm_size_(comm_, &ranks_);
}

NodeRanks::~NodeRanks() {
  if (made()) real().Comm_free_(&comm_);
}

// The library must be of this MPI, and stand before this one: only then has it found this view.
bool can_stand_in() {
  const auto* const file = static_cast<const char*>(dlsym(RTLD_DEFAULT, kWorldLibrary));
  const auto viewed = reinterpret_cast<WorldViewer>(dlsym(RTLD_DEFAULT, kWorldViewed));
  return file != nullptr && kWorldLibraryFile == file && viewed != nullptr && viewed() == &view;
}

// The program sees MPI_COMM_WORLD as it was before: with this name, and with the error handler that its launch has set.
void stand_in(MPI_Comm comm, std::vector<int> members) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (real().Comm_get_errhandler_(MPI_COMM_WORLD, &handler) == MPI_SUCCESS) {
    real().Comm_set_errhandler_(comm, handler);
    let_go(handler);
  }
  real().Comm_set_name_(comm, "MPI_COMM_WORLD");
  members_kept = std::move(members);
  view.mpis = raw_of(MPI_COMM_WORLD);
  view.members = members_kept.data();
  view.count = static_cast<int>(members_kept.size());
  view.stands_in.store(raw_of(comm), std::memory_order_release);
}

void end_standing_in() {
  if (view.stands_in.load() == 0) return;
  MPI_Comm comm = world();
  real().Comm_free_(&comm);
  view.stands_in.store(0);
}

extern "C" __attribute__((visibility("default"))) const WorldView* copse_world_view() {
  view.function = mpi_function;
  view.is_in_mpi = in_mpi;
  return &view;
}

}  // namespace copse::mpi
