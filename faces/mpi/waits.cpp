// MPI's calls that wait inside the MPI. By MPI's rule of progress, the calls that this rank has started go on there
// too. So while calls of Copse's are pending, a thread of Copse's moves them on as far as it may
// (Progress::ask_for_help).
#include "communicators.hpp"
#include "exports.hpp"

namespace copse::mpi {
namespace {

// A barrier of the MPI's lets the MPI make progress on every rank. Copse's barrier does not, so a test that follows one
// makes up for it: it asks the MPI up to kTurns times. Tools see one call.
template <class Test>
int asked(Test&& test, Raw window, int* flag) {
  constexpr int kTurns = 16;
  int result = test(window, flag);
  for (int turn = 1; turn < kTurns && result == MPI_SUCCESS && *flag == 0; ++turn) result = real().Win_test(window, flag);
  return result;
}

int asked_while_pending(Raw window, int* flag) {
  const int result = asked(real().Win_test, window, flag);
  if (result == MPI_SUCCESS && *flag == 0) go_on();
  return result;
}

template <class Free>
int freed(void* comm, Free&& free, bool waits) {
  if (comm == nullptr) return free(comm);
  if (waits && requests_pending()) wait_for_started(*static_cast<MPI_Comm*>(comm));
  Freeing freeing(*static_cast<MPI_Comm*>(comm));
  const int result = helped([&] { return free(comm); });
  if (result == MPI_SUCCESS) freeing.done();
  return result;
}

}  // namespace

extern "C" {

#define COPSE_WAIT(name, parameters, arguments)                                                                    \
  COPSE_EXPORT(While<requests_pending>, name, parameters, arguments, next().name arguments, real().name arguments, \
               return helped([&] { return real().name arguments; });)
#include "waits.def"
#undef COPSE_WAIT
COPSE_EXPORT(While<requests_pending>, Win_test, (Raw window, int* flag), (window, flag), asked(next().Win_test, window, flag),
             asked(real().Win_test, window, flag), return asked_while_pending(window, flag);)
COPSE_EXPORT(Always, Comm_free, (void* comm), (comm), next().Comm_free(comm), real().Comm_free(comm),
             return freed(comm, real().Comm_free, false);)
COPSE_EXPORT(Always, Comm_disconnect, (void* comm), (comm), next().Comm_disconnect(comm), real().Comm_disconnect(comm),
             return freed(comm, real().Comm_disconnect, true);)

}  // extern "C"
}  // namespace copse::mpi
