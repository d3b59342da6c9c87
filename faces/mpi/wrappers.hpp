// What all wrapped calls share. A call is Copse's unless something that all ranks see alike speaks against it; arguments
// that MPI forbids go to the MPI, which has the error for them.
#pragma once

#include <string_view>

#include "communicator/arguments.hpp"
#include "report.hpp"
#include "session.hpp"

namespace copse::mpi {

using algorithms::Collective;
using communicator::Arguments;
using engine::Outcome;

inline constexpr std::string_view kInvalid = "arguments that MPI does not allow";
inline constexpr std::string_view kTooMany = "more bytes than there are addresses";
// Ranks whose type is not dense pack, and MPI's packing cannot take elements that large; which ranks these are only
// they know, so all pass on.
inline constexpr std::string_view kTooLong = "2 GiB or more in one message";
inline constexpr std::size_t kLongest = std::numeric_limits<int>::max();

// A call under way; `name` is MPI's.
class Site {
 public:
  Site(Raw comm, Collective which, const char *mpi_name) : state(state_of(comm)), collective(which), name(mpi_name) {}

  CommState &state;
  const Collective collective;
  const char *const name;

  // Ends the call by giving it to the MPI.
  int pass_on(std::string_view why, std::size_t bytes = 0) const;
  // COPSE_CHECK: ends the program if the ranks are about to call different things.
  void check(const Arguments &arguments, const std::string &operation) const;
  // The call's result for the program.
  [[nodiscard]] int end(Outcome outcome) const {
    return outcome == Outcome::done ? MPI_SUCCESS : end_badly(outcome);
  }
  [[noreturn]] void fail(std::string_view why) const { give_up(state, name, why); }

  [[nodiscard]] bool is_rank(int root) const { return root >= 0 && root < state.ranks; }
  [[nodiscard]] Side input() const { return {state.input, state.ranks, state.comm}; }
  [[nodiscard]] Side output() const { return {state.output, state.ranks, state.comm}; }

 protected:
  ~Site() = default;

 private:
  virtual int call_mpi() const = 0;
  int end_badly(Outcome outcome) const;
};

template <class ToMpi>
class Call final : public Site {
 public:
  Call(Raw comm, Collective which, const char *mpi_name, ToMpi to_mpi) : Site(comm, which, mpi_name), to_mpi_(to_mpi) {}

 private:
  int call_mpi() const override { return to_mpi_(); }
  ToMpi to_mpi_;
};

// The exported symbols get their names by asm labels: mpi.h declares the same names with the types of one MPI, while
// these take handles of any (Raw).
#define COPSE_EXPORT(symbol) asm(symbol) __attribute__((visibility("default")))

// An exported call, which is Copse's `function` where the communicator is.
#define COPSE_LIST(...) __VA_ARGS__
#define COPSE_CALL_HERE(collective, name, suffix, function, parameters, arguments, Form)               \
  static int serve_##name##suffix parameters {                                                         \
    const auto to_mpi = [&] { return Form<real>::name arguments; };                                    \
    const Call call(comm, Collective::collective, "MPI_" #name #suffix, to_mpi);                       \
    return call.state.copse ? function(call, COPSE_LIST arguments) : call.pass_on(call.state.why_not); \
  }                                                                                                    \
  COPSE_EXPORT_CALL(name, suffix, parameters, arguments, Form)
// MPI_Name and PMPI_Name, which are serve_Name if this call is Copse's. A tool behind that has MPI_Name comes first: its
// PMPI_Name is Copse's then.
#define COPSE_EXPORT_CALL(name, suffix, parameters, arguments, Form)                                   \
  int exported_##name##suffix parameters COPSE_EXPORT("MPI_" #name #suffix);                           \
  int exported_##name##suffix parameters {                                                             \
    if (phase() != Phase::working &&                                                                   \
        (!wake(__builtin_return_address(0)) || Form<next>::differs_in_##name())) [[unlikely]]          \
      return Form<next>::name arguments;                                                               \
    return serve_##name##suffix arguments;                                                             \
  }                                                                                                    \
  int exported_P##name##suffix parameters COPSE_EXPORT("PMPI_" #name #suffix);                         \
  int exported_P##name##suffix parameters {                                                            \
    if (!awake_for_tool(__builtin_return_address(0))) return Form<real>::name arguments;               \
    return serve_##name##suffix arguments;                                                             \
  }
#define COPSE_CALL_ELSEWHERE(collective, name, suffix, function, parameters, arguments, Form)

}  // namespace copse::mpi
