// How Copse stands between a program and its MPI: each call that it wraps is exported as MPI_Name and as PMPI_Name.
//
// MPI_Name is what programs call. Another tool that wraps it and lies behind Copse comes first: what it then calls,
// PMPI_Name, is Copse's. Without such a tool PMPI_Name is the MPI's own, unless it is Fortran's binding that calls it.
#pragma once

#include "progress.hpp"
#include "report.hpp"
#include "session.hpp"

namespace copse::mpi {

// The exported symbols get their names by asm labels: mpi.h declares the same names with the types of one MPI, while
// these take handles of any (Raw).
#define COPSE_SYMBOL(symbol) asm(symbol) __attribute__((visibility("default")))

// MPI_Name and PMPI_Name. `name` is a member of Real; the last argument is the body of a function that makes the call where
// it is Copse's, which `Kind` (below) decides; `to_next` and `to_real` make it where it is not. What is rare is in a
// function of its own, so that the arguments stay in their registers.
#define COPSE_EXPORT(Kind, name, parameters, arguments, to_next, to_real, ...)                                      \
  [[gnu::noinline]] static int serve_##name parameters {                                                            \
    return guarded("MPI_" #name, [&]() -> int { __VA_ARGS__ });                                                     \
  }                                                                                                                 \
  [[gnu::noinline, gnu::cold]] static int aside_##name(COPSE_LIST parameters, const void *caller) {                 \
    if (!Kind::is_ours_after_all(caller) || next().name != real().name) return to_next;                             \
    return serve_##name arguments;                                                                                  \
  }                                                                                                                 \
  int exported_##name parameters COPSE_SYMBOL("MPI_" #name);                                                        \
  int exported_##name parameters {                                                                                  \
    if (__builtin_expect(Kind::is_ours([] { return next().name == real().name; }), Kind::kUsually))                 \
      return serve_##name arguments;                                                                                \
    if (Kind::needs_a_look()) [[unlikely]] return aside_##name(COPSE_LIST arguments, __builtin_return_address(0));  \
    return to_next;                                                                                                 \
  }                                                                                                                 \
  int exported_P##name parameters COPSE_SYMBOL("PMPI_" #name);                                                      \
  int exported_P##name parameters {                                                                                 \
    if (Kind::is_ours_beneath(__builtin_return_address(0))) return serve_##name arguments;                          \
    return to_real;                                                                                                 \
  }

// A call that is Copse's as long as Copse works.
struct Served {
  static constexpr bool kUsually = true;
  template <class NoTool>
  static bool is_ours(NoTool &&) {
    return phase() == Phase::working;  // then there is no tool behind
  }
  static constexpr bool needs_a_look() { return true; }
  static bool is_ours_after_all(const void *caller) { return wake(caller); }
  static bool is_ours_beneath(const void *caller) { return awake_for_pmpi(caller); }
};

// A call of the MPI's own, which is Copse's while `there` are calls of Copse's under way or known.
template <bool (*there)()>
struct While {
  static constexpr bool kUsually = false;
  template <class NoTool>
  static bool is_ours(NoTool &&no_tool) {
    return there() && no_tool();
  }
  static bool needs_a_look() { return next().Init == nullptr; }
  static bool is_ours_after_all(const void *caller) { return wake(caller), false; }
  static bool is_ours_beneath(const void *caller) {
    if (there()) [[unlikely]] return !in_mpi(caller);
    if (next().Init == nullptr) [[unlikely]] wake(caller);
    return false;
  }
};

// A call that Copse must see, whatever it does itself.
struct Always {
  static constexpr bool kUsually = false;
  template <class NoTool>
  static constexpr bool is_ours(NoTool &&) {
    return false;
  }
  static constexpr bool needs_a_look() { return true; }
  static bool is_ours_after_all(const void *caller) { return is_ours_beneath(caller); }
  static bool is_ours_beneath(const void *caller) {
    if (next().Init == nullptr) [[unlikely]] wake(caller);
    return true;
  }
};

}  // namespace copse::mpi
