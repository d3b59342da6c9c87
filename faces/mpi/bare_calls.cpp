// The calls that have neither data nor a large-count form: the barrier and MPI_Init.
#include "calls.hpp"

namespace copse::mpi {
namespace {

struct NoData {
  static int load() { return MPI_SUCCESS; }
  static int store(Outcome&) { return MPI_SUCCESS; }
  static const NoData* kept() {
    static const NoData none;
    return &none;
  }
};

int barrier(const Site& site, Raw) {
  const Arguments arguments{.collective = site.collective, .element_bytes = 0};
  if (settings().check) site.check(arguments, {});
  return site.carry_out(arguments, NoData());
}

// One initialisation may pass through several of these functions: MPI_Init, a tool's MPI_Init, and PMPI_Init, which
// Open MPI's Fortran binding calls. Only the outermost call counts.
template <class Init>
int around_init(const void* caller, Init&& init) {
  const bool ours = before_init(caller);
  const int result = init();
  if (ours && result == MPI_SUCCESS) after_init();
  return result;
}

}  // namespace

extern "C" {

#define COPSE_ROUNDS false  // no result depends on the order of operands
COPSE_FORMS(Barrier, barrier, , barrier, (Raw comm), (comm), Plain)

int exported_Init(int* argc, char*** argv) COPSE_SYMBOL("MPI_Init");
int exported_Init(int* argc, char*** argv) {
  return around_init(__builtin_return_address(0), [&] { return next().Init(argc, argv); });
}
int exported_PInit(int* argc, char*** argv) COPSE_SYMBOL("PMPI_Init");
int exported_PInit(int* argc, char*** argv) {
  return around_init(__builtin_return_address(0), [&] { return real().Init(argc, argv); });
}

int exported_Init_thread(int* argc, char*** argv, int required, int* provided) COPSE_SYMBOL("MPI_Init_thread");
int exported_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return around_init(__builtin_return_address(0), [&] { return next().Init_thread(argc, argv, required, provided); });
}
int exported_PInit_thread(int* argc, char*** argv, int required, int* provided) COPSE_SYMBOL("PMPI_Init_thread");
int exported_PInit_thread(int* argc, char*** argv, int required, int* provided) {
  return around_init(__builtin_return_address(0), [&] { return real().Init_thread(argc, argv, required, provided); });
}

}  // extern "C"

}  // namespace copse::mpi
