// How Copse stands between a program and its MPI. Each wrapped call is exported as MPI_Name and as PMPI_Name.
//
// Programs call MPI_Name. If another tool that wraps MPI_Name lies behind Copse, Copse hands the call to that tool
// first, and serves the PMPI_Name that the tool then calls. Without such a tool PMPI_Name goes to the MPI, unless the
// MPI's Fortran binding calls it.
#pragma once

#include "progress.hpp"
#include "report.hpp"
#include "session.hpp"

namespace copse::mpi {

// The exported symbols get their names by asm labels. mpi.h declares the same names with the handle types of one MPI,
// while these functions take the handles of any MPI (Raw).
#define COPSE_SYMBOL(symbol) asm(symbol) __attribute__((visibility("default")))

// Defines MPI_Name and PMPI_Name. `name` is a member of Real. `Kind` (see below) decides whether a call is Copse's. The
// last argument is the body of the function that then makes the call; `to_next` and `to_real` make it otherwise. Rare
// cases have a function of their own, so that the arguments stay in their registers. `left` says that a call is left to the MPI,
// although it is Copse's.
#define COPSE_EXPORT(Kind, name, parameters, arguments, to_next, to_real, ...) \
  COPSE_EXPORT_UNLESS(false, Kind, name, parameters, arguments, to_next, to_real, __VA_ARGS__)
#define COPSE_EXPORT_UNLESS(left, Kind, name, parameters, arguments, to_next, to_real, ...)           \
  [[gnu::noinline]] static int serve_##name parameters {                                              \
    return guarded("MPI_" #name, [&]() -> int { __VA_ARGS__ });                                       \
  }                                                                                                   \
  [[gnu::noinline, gnu::cold]] static int aside_##name(COPSE_LIST parameters, const void* caller) {   \
    if (!Kind::is_ours_after_all(caller) || next().name != real().name) return to_next;               \
    return serve_##name arguments;                                                                    \
  }                                                                                                   \
  int exported_##name parameters COPSE_SYMBOL("MPI_" #name);                                          \
  int exported_##name parameters {                                                                    \
    if (__builtin_expect(Kind::is_ours([] { return next().name == real().name; }), Kind::kUsually)) { \
      if (left) return to_real;                                                                       \
      return serve_##name arguments;                                                                  \
    }                                                                                                 \
    if (Kind::needs_a_look()) [[unlikely]]                                                            \
      return aside_##name(COPSE_LIST arguments, __builtin_return_address(0));                         \
    return to_next;                                                                                   \
  }                                                                                                   \
  int exported_P##name parameters COPSE_SYMBOL("PMPI_" #name);                                        \
  int exported_P##name parameters {                                                                   \
    if (Kind::is_ours_beneath(__builtin_return_address(0))) return serve_##name arguments;            \
    return to_real;                                                                                   \
  }

// A call that is Copse's as long as Copse works.
struct Served {
  static constexpr bool kUsually = true;
  template <class NoTool>
  static bool is_ours(NoTool&&) {
    return phase() == Phase::working;  // no tool stands behind in this phase
  }
  static constexpr bool needs_a_look() { return true; }
  static bool is_ours_after_all(const void* caller) { return wake(caller); }
  static bool is_ours_beneath(const void* caller) { return awake_for_pmpi(caller); }
};

// A call of the MPI's own. It is Copse's while `there` returns true: while calls of Copse's are pending or known.
template <bool (*there)()>
struct While {
  static constexpr bool kUsually = false;
  template <class NoTool>
  static bool is_ours(NoTool&& no_tool) {
    return there() && no_tool();
  }
  static bool needs_a_look() { return next().Init == nullptr; }
  static bool is_ours_after_all(const void* caller) { return wake(caller), false; }
  static bool is_ours_beneath(const void* caller) {
    if (there()) [[unlikely]]
      return !in_mpi(caller);
    if (next().Init == nullptr) [[unlikely]]
      wake(caller);
    return false;
  }
};

// A call that Copse must always see.
struct Always {
  static constexpr bool kUsually = false;
  template <class NoTool>
  static constexpr bool is_ours(NoTool&&) {
    return false;
  }
  static constexpr bool needs_a_look() { return true; }
  static bool is_ours_after_all(const void* caller) { return is_ours_beneath(caller); }
  static bool is_ours_beneath(const void* caller) {
    if (next().Init == nullptr) [[unlikely]]
      wake(caller);
    return true;
  }
};

}  // namespace copse::mpi
