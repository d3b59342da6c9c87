// How wrapped calls end; and the calls that have neither data nor a large-count form.
#include "wrappers.hpp"

#include <chrono>

namespace copse::mpi {

int Site::pass_on(std::string_view why, std::size_t bytes) const {
  if (!settings().trace) return call_mpi();
  const auto start = std::chrono::steady_clock::now();
  const int result = call_mpi();
  count_passed_on(collective, why, bytes,
                  std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return result;
}

void Site::check(const Arguments &arguments, const std::string &operation) const {
  const std::string line = state.copse->compare(arguments, operation.c_str());
  if (!line.empty()) [[unlikely]] give_up_together(state, name, line);
}

int Site::end_badly(Outcome outcome) const {
  if (outcome != Outcome::truncated) fail(state.copse->explain(outcome));
  real().Comm_call_errhandler_(state.comm, MPI_ERR_TRUNCATE);
  return MPI_ERR_TRUNCATE;
}

extern "C" {

static int serve_Barrier(Raw comm) {
  const auto to_mpi = [=] { return Plain<real>::Barrier(comm); };
  const Call call(comm, Collective::barrier, "MPI_Barrier", to_mpi);
  if (!call.state.copse) return call.pass_on(call.state.why_not);
  if (settings().check) call.check({.collective = Collective::barrier, .element_bytes = 0}, {});
  return call.end(call.state.copse->barrier());
}
COPSE_EXPORT_CALL(Barrier, , (Raw comm), (comm), Plain)

int exported_Init(int *argc, char ***argv) COPSE_EXPORT("MPI_Init");
int exported_Init(int *argc, char ***argv) {
  const bool ours = before_init(__builtin_return_address(0));
  const int result = next().Init(argc, argv);
  if (ours && result == MPI_SUCCESS) after_init();
  return result;
}

int exported_Init_thread(int *argc, char ***argv, int required, int *provided) COPSE_EXPORT("MPI_Init_thread");
int exported_Init_thread(int *argc, char ***argv, int required, int *provided) {
  const bool ours = before_init(__builtin_return_address(0));
  const int result = next().Init_thread(argc, argv, required, provided);
  if (ours && result == MPI_SUCCESS) after_init();
  return result;
}

}  // extern "C"

}  // namespace copse::mpi
