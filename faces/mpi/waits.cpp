// MPI's calls that wait in its own way. MPI's rule of progress holds there, too: what this rank has started goes on. So as
// long as calls of Copse's are under way its own thread moves them on, as far as it may (Progress::ask_for_help).
#include "wrappers.hpp"

namespace copse::mpi {
namespace {

// Others may have come to Copse's barrier without their MPI's going on, or this one's: it gets the turns that it would have
// had in a barrier of its own.
template <class Test>
int asked(Test &&test, Raw window, int *flag) {
  constexpr int kTurns = 16;
  int result = test(window, flag);
  for (int turn = 1; turn < kTurns && result == MPI_SUCCESS && *flag == 0; ++turn) result = test(window, flag);
  return result;
}

int asked_while_pending(Raw window, int *flag) {
  const int result = asked(real().Win_test, window, flag);
  if (result == MPI_SUCCESS && *flag == 0) go_on();
  return result;
}

template <class Free>
int freed(void *comm, Free &&free, bool waits) {
  if (comm == nullptr) return free(comm);
  if (waits && requests_pending()) wait_for_started(*static_cast<MPI_Comm *>(comm));
  Freeing freeing(*static_cast<MPI_Comm *>(comm));
  const int result = helped([&] { return free(comm); });
  if (result == MPI_SUCCESS) freeing.done();
  return result;
}

}  // namespace

extern "C" {

#define COPSE_WAIT(name, parameters, arguments)                                                               \
  COPSE_EXPORT_BOTH(name, , parameters, helped([&] { return real().name arguments; }), next().name arguments, \
                    real().name arguments, (next().name != real().name))
#include "waits.def"
#undef COPSE_WAIT
COPSE_EXPORT_BOTH(Win_test, , (Raw window, int *flag), asked_while_pending(window, flag),
                  asked(next().Win_test, window, flag), asked(real().Win_test, window, flag),
                  (next().Win_test != real().Win_test))

// A tool behind comes first: its PMPI_ call is the one that frees.
#define COPSE_EXPORT_FREE(name, waits)                                                           \
  int exported_##name(void *comm) COPSE_EXPORT("MPI_" #name);                                    \
  int exported_##name(void *comm) {                                                              \
    if (real().Init == nullptr) [[unlikely]] wake(__builtin_return_address(0));                  \
    if (next().name != real().name) return next().name(comm);                                    \
    return guarded("MPI_" #name, [&] { return freed(comm, real().name, waits); });               \
  }                                                                                              \
  int exported_P##name(void *comm) COPSE_EXPORT("PMPI_" #name);                                  \
  int exported_P##name(void *comm) {                                                             \
    if (real().Init == nullptr) [[unlikely]] wake(__builtin_return_address(0));                  \
    return guarded("MPI_" #name, [&] { return freed(comm, real().name, waits); });               \
  }
COPSE_EXPORT_FREE(Comm_free, false)
COPSE_EXPORT_FREE(Comm_disconnect, true)
#undef COPSE_EXPORT_FREE

}  // extern "C"
}  // namespace copse::mpi
