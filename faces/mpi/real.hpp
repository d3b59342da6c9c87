// The MPI underneath: its PMPI functions, which are looked up when the process first calls a wrapped function.
#pragma once

#include <deque>
#include <limits>
#include <tuple>
#include <type_traits>
#include <vector>

#include "family.hpp"

namespace copse::mpi {

// clang-format off: it indents such lists deeper and deeper.
// The functions that Copse itself calls.
#define COPSE_MPI_NEEDS(X)                                                                                               \
  X(Initialized) X(Get_library_version) X(Comm_rank) X(Comm_size) X(Comm_remote_size) X(Comm_test_inter)                 \
  X(Comm_remote_group)                                                                                                   \
  X(Comm_create_keyval) X(Comm_set_attr) X(Comm_split) X(Comm_free) X(Comm_group) X(Group_free) X(Group_translate_ranks) \
  X(Comm_get_errhandler) X(Comm_set_errhandler) X(Comm_call_errhandler) X(Comm_split_type) X(Errhandler_free)            \
  X(Query_thread) X(Get_processor_name) X(Allgather) X(Allreduce) X(Gather) X(Gatherv) X(Abort) X(Pack) X(Unpack)        \
  X(Type_size_x) X(Type_get_extent_x) X(Type_get_true_extent_x) X(Type_create_keyval) X(Type_get_attr) X(Type_set_attr)  \
  X(Op_commutative) X(Reduce_local) X(Type_create_hindexed) X(Type_get_envelope) X(Type_get_contents) X(Type_commit)     \
  X(Type_free) X(Type_contiguous) X(Grequest_start) X(Comm_get_info) X(Info_get) X(Info_free) X(Comm_get_attr)           \
  X(Grequest_complete) X(Status_set_elements) X(Status_set_cancelled) X(Recv_init)                                       \
  X(Topo_test) X(Cartdim_get) X(Cart_get) X(Cart_shift) X(Graph_neighbors_count) X(Graph_neighbors)                      \
  X(Dist_graph_neighbors_count) X(Dist_graph_neighbors) X(Graphdims_get) X(Error_class)                                 \
  X(Comm_get_parent) X(Comm_set_name) X(Finalize)

// The wrapped calls that are in no table, because they have neither data nor a large-count form.
#define COPSE_MPI_APART(X)                                                                                           \
  X(Barrier, (Raw comm)) X(Ibarrier, (Raw comm, void* request)) X(Barrier_init, (Raw comm, Raw info, void* request)) \
  X(Probe, (int peer, int tag, Raw comm, MPI_Status* status))                                                        \
  X(Mprobe, (int peer, int tag, Raw comm, MPI_Message* message, MPI_Status* status))                                 \
  X(Win_test, (Raw window, int* flag)) X(Comm_free, (void* comm)) X(Comm_disconnect, (void* comm))                   \
  X(Alloc_mem, (std::intptr_t bytes, Raw info, void* pointer)) X(Free_mem, (void* memory))                           \
  X(Init, (int*, char***)) X(Init_thread, (int*, char***, int, int*))
// clang-format on

// The types of the wrapped calls. The process's MPI may lack large-count calls and persistent ones.
#define COPSE_LIST(...) __VA_ARGS__
#define COPSE_CALL(name, stem, function, parameters, arguments)  \
  using name = int(*) parameters;                                \
  using I##stem = int (*)(COPSE_LIST parameters, void* request); \
  using name##_init = int (*)(COPSE_LIST parameters, Raw info, void* request);
#define COPSE_STATUS(list, status) (COPSE_LIST list, status)
#define COPSE_NO_STATUS(list, status) list
#define COPSE_MESSAGE(name, started, parameters, arguments, with) \
  using name = int(*) with(parameters, MPI_Status* status);       \
  using started = int (*)(COPSE_LIST parameters, void* request);  \
  using name##_init = started;
#define COPSE_EXCHANGE(name, parameters, arguments) using name = int(*) parameters;
struct PlainTypes {
  using Count = int;
  using Displacement = int;
#include "calls.def"
#include "messages.def"
};
struct LargeTypes {
  using Count = std::int64_t;
  using Displacement = std::int64_t;
#include "calls.def"
#include "messages.def"
};
#undef COPSE_EXCHANGE
#undef COPSE_MESSAGE
#undef COPSE_CALL

struct Real {
#define COPSE_BOTH_WIDTHS(name)    \
  PlainTypes::name name = nullptr; \
  LargeTypes::name name##_c = nullptr;
#define COPSE_MESSAGE(name, started, parameters, arguments, with) \
  COPSE_BOTH_WIDTHS(name) COPSE_BOTH_WIDTHS(started) COPSE_BOTH_WIDTHS(name##_init)
#define COPSE_EXCHANGE(name, parameters, arguments) COPSE_BOTH_WIDTHS(name)
#define COPSE_CALL(name, stem, function, parameters, arguments) \
  COPSE_BOTH_WIDTHS(name)                                       \
  COPSE_BOTH_WIDTHS(I##stem)                                    \
  PlainTypes::name##_init name##_init = nullptr;                \
  LargeTypes::name##_init name##_init_c = nullptr;
#include "calls.def"
#include "messages.def"
#undef COPSE_CALL
#undef COPSE_EXCHANGE
#undef COPSE_MESSAGE
#define COPSE_APART(name, parameters) int(*name) parameters = nullptr;
  COPSE_MPI_APART(COPSE_APART)
#undef COPSE_APART
#define COPSE_COMPLETION(name, when, parameters, arguments) int(*name) parameters = nullptr;
#include "completions.def"
#undef COPSE_COMPLETION
#define COPSE_WAIT(name, parameters, arguments) int(*name) parameters = nullptr;
#include "waits.def"
#undef COPSE_WAIT
  int (*Comm_is_revoked)(MPI_Comm comm, int* flag) = nullptr;  // only Open MPI 5 has it
  int (*Comm_test_threadcomm)(MPI_Comm comm, int* flag) = nullptr;  // only MPICH 5 has it
  int (*Abi_get_version)(int*, int*) = nullptr;  // Open MPI and MPICH 4 lack it
  // Open MPI lacks these two.
  int (*Type_get_envelope_c)(MPI_Datatype type, MPI_Count* integers, MPI_Count* addresses, MPI_Count* large_counts,
                             MPI_Count* types, int* combiner) = nullptr;
  int (*Type_get_contents_c)(MPI_Datatype type, MPI_Count most_integers, MPI_Count most_addresses, MPI_Count most_large_counts,
                             MPI_Count most_types, int* integers, MPI_Aint* addresses, MPI_Count* large_counts,
                             MPI_Datatype* types) = nullptr;

#define COPSE_MPI_NEED(name) decltype(&PMPI_##name) name##_ = nullptr;
  COPSE_MPI_NEEDS(COPSE_MPI_NEED)
#undef COPSE_MPI_NEED
};

// Other tools that wrap MPI calls, such as profilers. They call PMPI_Name and expect the MPI behind it. For a tool and
// Copse to see the same calls, Copse serves the PMPI_ calls of tools, and hands MPI_ calls first to the tool behind it.
struct StackedTools {
  bool before = false, behind = false;  // in the order in which the loader looks symbols up
  [[nodiscard]] bool any() const { return before || behind; }
};

namespace detail {
extern Real real_mpi, next_mpi;
extern StackedTools stacked_tools;
}  // namespace detail
inline const Real& real() { return detail::real_mpi; }
// What the program's MPI_Name would be without Copse: a tool's function if one stands behind Copse, else the MPI's.
inline const Real& next() { return detail::next_mpi; }
inline const StackedTools& stacked_tools() { return detail::stacked_tools; }

// These return whether the address lies in the MPI's own code, and in the code of its Fortran bindings.
bool in_mpi(const void* address);
bool in_fortran(const void* address);

// Fills real(). `caller` is an address in the object that called the wrapper: an MPI loaded with RTLD_LOCAL (mpi4py's)
// is visible only from there. If there is no MPI, this prints one line on standard error and ends the process. If the
// MPI lacks something that Copse needs, it prints one line and returns false.
bool find_real(const void* caller);

// Gives back an error handler that the MPI has returned. The predefined ones are not freed.
void let_go(MPI_Errhandler handler);
// Tells whether the communicator's errors end the program.
bool errors_are_fatal(MPI_Comm comm);

// Returns a function of this process's MPI or of a tool behind Copse, or null. find_real() may come later.
void* mpi_function(const char* name, const void* caller);

// Returns an empty text if this library was compiled for the process's MPI. Otherwise it returns one line that says which MPI
// this is and which library to preload instead. Needs find_real, and interprets no handle.
std::string_view wrong_mpi();
// Returns the MPI's name in tuning tables: mpich, impi or openmpi; or `other`. Needs find_real.
const char* mpi_name();

// Returns the communicator's topology, as MPI_Topo_test should.
int topology_of(MPI_Comm comm);

// Reports the error of a persistent call if the MPI has no persistent collectives.
int no_persistent(const char* name, Raw comm);

// The functions of real() or of next(), in all forms. A call that is passed on ends in one of these.
template <const Real& (*mpi)()>
struct Plain {
  using Count = int;
  using Displacement = int;
#define COPSE_PASS(name, parameters, arguments) \
  static int name parameters { return mpi().name arguments; }
#define COPSE_PASS_INIT(name, parameters, arguments)                     \
  static int name parameters {                                           \
    if (mpi().name == nullptr) return no_persistent("MPI_" #name, comm); \
    return mpi().name arguments;                                         \
  }
#define COPSE_CALL(name, stem, function, parameters, arguments)                                \
  COPSE_PASS(name, parameters, arguments)                                                      \
  COPSE_PASS(I##stem, (COPSE_LIST parameters, void* request), (COPSE_LIST arguments, request)) \
  COPSE_PASS_INIT(name##_init, (COPSE_LIST parameters, Raw info, void* request), (COPSE_LIST arguments, info, request))
  COPSE_CALL(Barrier, barrier, , (Raw comm), (comm))
#include "calls.def"
#undef COPSE_CALL
#define COPSE_MESSAGE(name, started, parameters, arguments, with)                              \
  COPSE_PASS(name, with(parameters, MPI_Status* status), with(arguments, status))              \
  COPSE_PASS(started, (COPSE_LIST parameters, void* request), (COPSE_LIST arguments, request)) \
  COPSE_PASS(name##_init, (COPSE_LIST parameters, void* request), (COPSE_LIST arguments, request))
#define COPSE_EXCHANGE(name, parameters, arguments) COPSE_PASS(name, parameters, arguments)
#include "messages.def"
#undef COPSE_PASS
#undef COPSE_PASS_INIT
};

// Makes a large-count call for an MPI that has none, as a call of the plain form. All values and tables must fit an
// int. A table is read only if MPI says that it is significant. The narrow tables live only as long as this call; Open
// MPI, the one MPI without large-count forms, reads them when the call is started, and never again.
class Narrow {
 public:
  Narrow(const char* name, Raw comm) : name_(name), comm_(comm) {}

  template <class... Parameters, class... Arguments>
  int call(int (*plain)(Parameters...), Arguments... arguments) {
    (note_root(arguments), ...);
    const std::tuple<Parameters...> narrowed{fit_to<Parameters>(arguments)...};  // braces evaluate from left to right
    return fits_ ? std::apply(plain, narrowed) : too_large();
  }

 private:
  // Some calls have tables of addresses in both forms.
  template <class Parameter, class Argument>
  Parameter fit_to(Argument argument) {
    if constexpr (std::is_same_v<Argument, const MPI_Aint*> && std::is_same_v<Parameter, Argument>) return argument;
    else return fit(argument);
  }
  template <class Argument>
  Argument fit(Argument argument) {
    return argument;
  }
  const void* fit(const void* input) {
    skip_ = input == MPI_IN_PLACE;
    return input;
  }
  void* fit(void* output) {
    skip_ = false;
    behind_output_ = true;
    return output;
  }
  const MPI_Datatype* fit(const MPI_Datatype* types) { return types; }
  int fit(std::int64_t value);
  const int* fit(const std::int64_t* table);
  void note_root(int root) { root_ = root; }
  template <class Argument>
  void note_root(Argument) {}
  int too_large();
  [[nodiscard]] int length_of_table() const;

  static constexpr int kNoRoot = std::numeric_limits<int>::min();
  const char* name_;
  Raw comm_;
  int root_ = kNoRoot;
  bool skip_ = false, fits_ = true;
  bool behind_output_ = false;  // what comes now belongs to the output
  std::int64_t largest_ = 0;
  std::deque<std::vector<int>> tables_;
};

template <const Real& (*mpi)()>
struct Large {
  using Count = std::int64_t;
  using Displacement = std::int64_t;
#define COPSE_PASS(name, parameters, arguments)                                    \
  static int name parameters {                                                     \
    if (mpi().name##_c != nullptr) return mpi().name##_c arguments;                \
    if (mpi().name == nullptr) return no_persistent("MPI_" #name "_c", comm);      \
    return Narrow("MPI_" #name "_c", comm).call(mpi().name, COPSE_LIST arguments); \
  }
#define COPSE_CALL(name, stem, function, parameters, arguments)                                \
  COPSE_PASS(name, parameters, arguments)                                                      \
  COPSE_PASS(I##stem, (COPSE_LIST parameters, void* request), (COPSE_LIST arguments, request)) \
  COPSE_PASS(name##_init, (COPSE_LIST parameters, Raw info, void* request), (COPSE_LIST arguments, info, request))
#include "calls.def"
#include "messages.def"
#undef COPSE_EXCHANGE
#undef COPSE_MESSAGE
#undef COPSE_CALL
#undef COPSE_PASS
};

}  // namespace copse::mpi
