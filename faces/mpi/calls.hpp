// Exports a collective call in all its forms: blocking, nonblocking, persistent.
#pragma once

#include "exports.hpp"
#include "wrappers.hpp"

namespace copse::mpi {

// The file that includes this defines COPSE_ROUNDS: whether the bits of a call's result depend on who makes it.
// One form of a call. `function` makes the call if Copse serves the communicator, and `to_mpi_call` makes it if not.
// `called` is the call's name in collectives.def. The arguments after `Width` are the form and the handle, as TypedSite
// takes them.
#define COPSE_FORM(called, mpi, suffix, parameters, arguments, to_mpi_call, function, function_arguments, Width, ...)     \
  COPSE_EXPORT_UNLESS(                                                                                                    \
      is_alone(comm), Served, mpi##suffix, parameters, arguments, Width<next>::mpi arguments, Width<real>::mpi arguments, \
      static constexpr auto kCalled = algorithms::function_named(called, &algorithms::Traits::mpi_calls);                 \
      const auto to_mpi = [&] { return to_mpi_call; };                                                                    \
      TypedSite call(comm, kCalled.collective, "MPI_" #mpi #suffix, to_mpi __VA_OPT__(, ) __VA_ARGS__);                   \
      if (!call.state.copse && !call.joins([&] { return COPSE_ROUNDS; })) return call.pass_on(call.state.why_not);        \
      if (call.state.special) [[unlikely]]                                                                                \
      if (const auto why = call.why_not_with(buffers_among(COPSE_LIST function_arguments));                               \
          !why.empty()) return call.pass_on(why);                                                                         \
      return function(call, COPSE_LIST function_arguments);)
// All three forms of a call. The MPI's blocking call stays one call, even while calls of Copse's are pending; it does
// not become a start and a wait, as a receive does (messages.cpp). Other ranks may have nothing pending and make the
// blocking call, and MPI does not match the two forms.
#define COPSE_FORMS(name, stem, suffix, function, parameters, arguments, Width)                                                    \
  COPSE_FORM(#name, name, suffix, parameters, arguments, helped([&] { return Width<real>::name arguments; }), function, arguments, \
             Width)                                                                                                                \
  COPSE_FORM(#name, I##stem, suffix, (COPSE_LIST parameters, void* request), (COPSE_LIST arguments, request),                      \
             Width<real>::I##stem(COPSE_LIST arguments, request), function, arguments, Width, Form::started, request)              \
  COPSE_FORM(#name, name##_init, suffix, (COPSE_LIST parameters, Raw info, void* request), (COPSE_LIST arguments, info, request),  \
             Width<real>::name##_init(COPSE_LIST arguments, info, request), function, arguments, Width, Form::persistent, request)

}  // namespace copse::mpi
