// What two libraries know of one another: Copse's, and the one that stands before it where the program does not have all ranks
// (docs/decisions/out-of-world.md).
#pragma once

#include <atomic>

#include "family.hpp"

namespace copse::mpi {

// What the library that stands before the program's MPI (world_calls.cpp) knows of the world.
struct WorldView {
  std::atomic<Raw> stands_in{0};  // the communicator that stands for MPI_COMM_WORLD; 0: itself
  Raw mpis = 0;                   // MPI_COMM_WORLD
  const int* members = nullptr;   // the ranks in MPI_COMM_WORLD of the program's ranks
  int count = 0;
  // Returns a function of this process's MPI, or null. `caller` is an address in the object that needs it.
  void* (*function)(const char* name, const void* caller) = nullptr;
  bool (*is_in_mpi)(const void* address) = nullptr;  // the MPI's own calls are left as they are
};
using WorldViewer = const WorldView* (*)();
inline constexpr const char* kWorldViewer = "copse_world_view";
// What that library exports: its file's name, by which it is found; the view that it has found; and who has called it last in this
// thread.
inline constexpr const char* kWorldLibrary = "copse_world_library";
inline constexpr const char* kWorldViewed = "copse_world_viewed";
using WorldCaller = const void* (*)();
inline constexpr const char* kWorldCaller = "copse_world_caller";

}  // namespace copse::mpi
