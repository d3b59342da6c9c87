// Finds PMPI: first in the global scope behind this library, then in the scope of the object that called. mpi4py needs
// the latter, because it loads its MPI with RTLD_LOCAL (trap 3 of an interposer).
#include "real.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "world_view.hpp"

namespace copse::mpi {
namespace detail {
Real real_mpi, next_mpi;
StackedTools stacked_tools;
}  // namespace detail
namespace {

dl_find_object own_code{}, mpi_code{}, fortran_code{};  // fortran_code is empty if the MPI has no Fortran bindings
dl_find_object world_code{};                            // the library of world_calls.cpp; empty if it is not loaded
WorldCaller world_caller = nullptr;
void* caller_scope = nullptr;  // a dlopen handle, kept for ever; null: the global scope

void* scope_of(const void* caller) {
  Dl_info info;
  if (dladdr(caller, &info) == 0 || info.dli_fname == nullptr) return nullptr;
  return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

template <class Function>
bool find(Function& function, const char* name) {
  void* found = caller_scope == nullptr ? dlsym(RTLD_NEXT, name) : dlsym(caller_scope, name);
  function = reinterpret_cast<Function>(found);
  return found != nullptr;
}

std::string file_of_mpi() {
  Dl_info info{};
  dladdr(reinterpret_cast<const void*>(real().Init), &info);
  return info.dli_fname == nullptr ? "its MPI" : info.dli_fname;
}

bool lies_in(const dl_find_object& code, const void* address) {
  return address >= code.dlfo_map_start && address < code.dlfo_map_end;
}

// Returns the address from which a function was called. The library that stands before this one has passed some calls on.
const void* whence(const void* address) {
  return world_caller != nullptr && lies_in(world_code, address) ? world_caller() : address;
}

// Returns whether an address belongs to another tool. It does not if it lies in Copse or in the MPI, or if it is only a
// program's entry for a function of a library.
bool is_tools(void* found) {
  if (found == nullptr) return false;
  for (const dl_find_object* code : {&own_code, &mpi_code, &world_code})
    if (lies_in(*code, found)) return false;  // dladdr1 is slow
  Dl_info info{};
  ElfW(Sym)* symbol = nullptr;
  return dladdr1(found, &info, reinterpret_cast<void**>(&symbol), RTLD_DL_SYMENT) != 0 &&
         (symbol == nullptr || symbol->st_shndx != SHN_UNDEF);
}

// Looks for other tools that wrap `name`, before Copse and behind it.
template <class Function>
void find_tool(Function& function, const char* name) {
  if (is_tools(dlsym(RTLD_DEFAULT, name))) detail::stacked_tools.before = true;
  void* behind = dlsym(RTLD_NEXT, name);
  if (!is_tools(behind)) return;
  function = reinterpret_cast<Function>(behind);
  detail::stacked_tools.behind = true;
}

// Finds the MPI by its first function, and ends the process if there is no MPI.
void find_init(const void* caller) {
  if (find(detail::real_mpi.Init, "PMPI_Init")) return;
  caller_scope = scope_of(caller);
  if (caller_scope != nullptr && find(detail::real_mpi.Init, "PMPI_Init")) return;
  std::fprintf(stderr,
               "copse: %s: a program calls MPI functions, but no MPI (PMPI_Init) is loaded; "
               "link the program with an MPI's shared library, or run it without Copse\n",
               kLibrary.data());
  std::_Exit(1);  // there is nothing to pass the call on to
}

// Returns whether the MPI has every function that Copse needs. If it has not, this says so on standard error.
bool find_functions() {
  Real& r = detail::real_mpi;
  bool complete = true;
  find(r.Abi_get_version, "PMPI_Abi_get_version");
  find(r.Comm_is_revoked, "PMPIX_Comm_is_revoked");
  find(r.Comm_test_threadcomm, "PMPIX_Comm_test_threadcomm");
  find(r.Type_get_envelope_c, "PMPI_Type_get_envelope_c");
  find(r.Type_get_contents_c, "PMPI_Type_get_contents_c");
#define COPSE_FIND(name)                   \
  complete &= find(r.name, "PMPI_" #name); \
  find(r.name##_c, "PMPI_" #name "_c");
#define COPSE_CALL(name, stem, function, parameters, arguments) \
  COPSE_FIND(name)                                              \
  COPSE_FIND(I##stem)                                           \
  find(r.name##_init, "PMPI_" #name "_init");                   \
  find(r.name##_init_c, "PMPI_" #name "_init_c");
#define COPSE_MESSAGE(name, started, parameters, arguments, with) COPSE_FIND(name) COPSE_FIND(started) COPSE_FIND(name##_init)
#define COPSE_EXCHANGE(name, parameters, arguments) COPSE_FIND(name)
#include "calls.def"
#include "messages.def"
#undef COPSE_EXCHANGE
#undef COPSE_MESSAGE
#undef COPSE_CALL
#undef COPSE_FIND
  int missing = 0;
#define COPSE_APART(name, parameters) missing += !find(r.name, "PMPI_" #name);
  COPSE_MPI_APART(COPSE_APART)
#undef COPSE_APART
  complete &= missing == (r.Barrier_init == nullptr);  // it is new in MPI-4; only it may be missing
#define COPSE_COMPLETION(name, when, parameters, arguments) find(r.name, "PMPI_" #name);
#include "completions.def"
#undef COPSE_COMPLETION
#define COPSE_WAIT(name, parameters, arguments) complete &= find(r.name, "PMPI_" #name);
#include "waits.def"
#undef COPSE_WAIT
  // Only the newest calls may be missing.
  complete &= r.Wait != nullptr && r.Start != nullptr && r.Request_get_status != nullptr;
#define COPSE_MPI_NEED(name) complete &= find(r.name##_, "PMPI_" #name);
  COPSE_MPI_NEEDS(COPSE_MPI_NEED)
#undef COPSE_MPI_NEED
  if (!complete) {
    std::fprintf(stderr, "copse: %s lacks functions of MPI-3.0 that %s needs; use one of the MPIs in Copse's README\n",
                 file_of_mpi().c_str(), kLibrary.data());
  }
  return complete;
}

void find_tools() {
  detail::next_mpi = real();
#define COPSE_FIND_TOOLS(name) find_tool(detail::next_mpi.name, "MPI_" #name);
#define COPSE_BOTH_TOOLS(name) COPSE_FIND_TOOLS(name) COPSE_FIND_TOOLS(name##_c)
#define COPSE_CALL(name, stem, function, parameters, arguments) \
  COPSE_BOTH_TOOLS(name)                                        \
  COPSE_BOTH_TOOLS(I##stem)                                     \
  COPSE_BOTH_TOOLS(name##_init)
#define COPSE_MESSAGE(name, started, parameters, arguments, with) COPSE_BOTH_TOOLS(name)
#define COPSE_EXCHANGE(name, parameters, arguments) COPSE_BOTH_TOOLS(name)
#define COPSE_COMPLETION(name, when, parameters, arguments) COPSE_FIND_TOOLS(name)
#define COPSE_WAIT(name, parameters, arguments) COPSE_FIND_TOOLS(name)
#include "calls.def"
#include "completions.def"
#include "messages.def"
#include "waits.def"
#undef COPSE_WAIT
#undef COPSE_COMPLETION
#undef COPSE_EXCHANGE
#undef COPSE_MESSAGE
#undef COPSE_CALL
#undef COPSE_BOTH_TOOLS
#define COPSE_APART(name, parameters) COPSE_FIND_TOOLS(name)
  COPSE_MPI_APART(COPSE_APART)
#undef COPSE_APART
#undef COPSE_FIND_TOOLS
}

}  // namespace

void* mpi_symbol(const char* name) {
  // RTLD_NEXT would be wrong: a program linked at a fixed address has its own copies of the MPI's globals, and those
  // count.
  void* found = dlsym(RTLD_DEFAULT, name);
  return found != nullptr || caller_scope == nullptr ? found : dlsym(caller_scope, name);
}

void* mpi_function(const char* name, const void* caller) {
  if (void* const found = dlsym(RTLD_NEXT, name); found != nullptr) return found;
  void* const scope = caller_scope != nullptr ? caller_scope : scope_of(caller);
  return scope == nullptr ? nullptr : dlsym(scope, name);
}

bool in_mpi(const void* address) { return lies_in(mpi_code, whence(address)); }
bool in_fortran(const void* address) { return lies_in(fortran_code, whence(address)); }

bool find_real(const void* caller) {
  if (void* const byte = dlsym(RTLD_DEFAULT, kWorldLibrary); byte != nullptr) {
    _dl_find_object(byte, &world_code);
    world_caller = reinterpret_cast<WorldCaller>(dlsym(RTLD_DEFAULT, kWorldCaller));
  }
  find_init(whence(caller));
  const bool complete = find_functions();
  _dl_find_object(reinterpret_cast<void*>(&find_real), &own_code);
  _dl_find_object(reinterpret_cast<void*>(real().Init), &mpi_code);
  _dl_find_object(mpi_symbol("pmpi_init_"), &fortran_code);
  find_tools();
  return complete;
}

// Returns what the MPI says of itself, up to the end of the first line or sentence, with single blanks.
static std::string title_of_mpi() {
  char version[16384] = "";  // longer than any MPI's MPI_MAX_LIBRARY_VERSION_STRING
  int length = 0;
  real().Get_library_version_(version, &length);
  std::string text;
  for (const char* c = version; *c != '\0' && *c != '\n' && *c != ','; ++c) {
    const bool blank = *c == ' ' || *c == '\t';
    if (!blank) text += *c;
    if (blank && !text.empty() && text.back() != ' ') text += ' ';
  }
  return text;
}

const char* mpi_name() {
  const std::string title = title_of_mpi();
  for (const auto& [word, name] : {std::pair{"Open MPI", "openmpi"}, {"Intel", "impi"}, {"MPICH", "mpich"}})
    if (title.find(word) != std::string::npos) return name;
  return "other";
}

std::string_view wrong_mpi() {
  int major = -1, minor = -1;
  if (real().Abi_get_version != nullptr) real().Abi_get_version(&major, &minor);
  const std::string text = title_of_mpi();
  std::string_view right = kLibrary;
  if (major >= 1) {
    right = "libcopse-mpi-abi.so";
  } else if (text.find("Open MPI") != std::string::npos) {
    right = "libcopse-mpi-openmpi.so";
  } else {
    right = "libcopse-mpi-mpich.so";
  }
  if (right == kLibrary) return {};
  // Never destroyed (session.hpp).
  static const auto& line =
      *new std::string(std::string("copse: ").append(kLibrary).append(" serves ").append(kFamily) + ", but this program runs " +
                       text + " (" + file_of_mpi() + "): every call is passed on; preload " + std::string(right) +
                       " instead, or start with: copse run mpirun ...");
  return line;
}

int Narrow::fit(std::int64_t value) {
  largest_ = std::max(largest_, value < 0 ? -value : value);
  fits_ = fits_ && value == static_cast<int>(value);
  return static_cast<int>(value);
}

static int places_of_grid(MPI_Comm comm) {
  int dimensions = 0;
  if (real().Cartdim_get_(comm, &dimensions) != MPI_SUCCESS) return 0;
  std::vector<int> sides(static_cast<std::size_t>(dimensions)), periods(sides.size()), here(sides.size());
  if (real().Cart_get_(comm, dimensions, sides.data(), periods.data(), here.data()) != MPI_SUCCESS) return 0;
  return std::accumulate(sides.begin(), sides.end(), 1, std::multiplies<>());
}

void let_go(MPI_Errhandler handler) {
  if (handler != MPI_ERRORS_ARE_FATAL && handler != MPI_ERRORS_RETURN) real().Errhandler_free_(&handler);
}

bool errors_are_fatal(MPI_Comm comm) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  real().Comm_get_errhandler_(comm, &handler);
  let_go(handler);
  return handler == MPI_ERRORS_ARE_FATAL;
}

int topology_of(MPI_Comm comm) {
  int kind = MPI_UNDEFINED;
  if (real().Topo_test_(comm, &kind) != MPI_SUCCESS) return MPI_UNDEFINED;
  if (kTopologyIsSure || kind == MPI_UNDEFINED || kind == MPI_DIST_GRAPH) return kind;
  // In Open MPI, these two questions go to the same place of whatever topology there is. Its answer shows which one it is.
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  real().Comm_get_errhandler_(comm, &handler);
  real().Comm_set_errhandler_(comm, MPI_ERRORS_RETURN);
  int first = -1, second = -1, third = -1;
  const int error = real().Dist_graph_neighbors_count_(comm, &first, &second, &third);
  if (error != MPI_SUCCESS) real().Graphdims_get_(comm, &first, &second);
  // What MPI_Comm_create_group has made of some ranks keeps the topology of all, and MPI_Cart_shift divides by zero there.
  kind = third >= 0 ? MPI_DIST_GRAPH : second >= 0 ? MPI_GRAPH : MPI_CART;
  int ranks = 0;
  real().Comm_size_(comm, &ranks);
  const int places = kind == MPI_CART ? places_of_grid(comm) : kind == MPI_GRAPH ? first : ranks;
  real().Comm_set_errhandler_(comm, handler);
  let_go(handler);
  return places == ranks ? kind : MPI_UNDEFINED;
}

namespace {

// Returns how many ranks give to this one, or take from it.
int neighbors_of(MPI_Comm comm, bool give) {
  const int kind = topology_of(comm);
  int rank = 0, count = 0, takers = 0, weighted = 0;
  real().Comm_rank_(comm, &rank);
  if (kind == MPI_CART) {
    real().Cartdim_get_(comm, &count);
    return 2 * count;
  }
  if (kind == MPI_GRAPH) real().Graph_neighbors_count_(comm, rank, &count);
  if (kind == MPI_DIST_GRAPH) real().Dist_graph_neighbors_count_(comm, &count, &takers, &weighted);
  return kind == MPI_DIST_GRAPH && !give ? takers : count;
}

}  // namespace

// Returns the number of entries, or -1 if the table has no meaning on this rank.
int Narrow::length_of_table() const {
  const auto comm = handle<MPI_Comm>(comm_);
  if (std::string_view(name_).find("eighbor_") != std::string_view::npos) return neighbors_of(comm, behind_output_);
  int rank = 0, ranks = 0, inter = 0;
  if (real().Comm_test_inter_(comm, &inter) != MPI_SUCCESS) return -1;
  real().Comm_rank_(comm, &rank);
  const bool scatters = std::string_view(name_).find("educe_scatter") != std::string_view::npos;  // to the ranks of its own group
  inter != 0 && !scatters ? real().Comm_remote_size_(comm, &ranks) : real().Comm_size_(comm, &ranks);
  return root_ != kNoRoot && root_ != (inter != 0 ? MPI_ROOT : rank) ? -1 : ranks;
}

const int* Narrow::fit(const std::int64_t* table) {
  if (table == nullptr || skip_ || !wrong_mpi().empty()) return nullptr;
  const int entries = length_of_table();
  if (entries < 0) return nullptr;
  std::vector<int>& narrow = tables_.emplace_back();
  narrow.reserve(static_cast<std::size_t>(entries) + 1);  // not null, even if it is empty
  for (int i = 0; i < entries; ++i) narrow.push_back(fit(table[i]));
  return narrow.data();
}

int no_persistent(const char* name, Raw comm) {
  std::fprintf(stderr, "copse: %s: this MPI has no persistent collectives, and Copse does not serve this communicator\n", name);
  if (wrong_mpi().empty()) real().Comm_call_errhandler_(handle<MPI_Comm>(comm), MPI_ERR_OTHER);
  return MPI_ERR_OTHER;
}

int Narrow::too_large() {
  std::fprintf(stderr,
               "copse: %s with a count or displacement of %lld: this MPI has no large-count form of it; use numbers "
               "up to 2147483647\n",
               name_, static_cast<long long>(largest_));
  if (wrong_mpi().empty()) real().Comm_call_errhandler_(handle<MPI_Comm>(comm_), MPI_ERR_COUNT);
  return MPI_ERR_COUNT;
}

}  // namespace copse::mpi
