// What all wrapped calls share. A call is Copse's unless something that all ranks see alike speaks against it.
#pragma once

#include <string_view>

#include "communicator/arguments.hpp"
#include "devices.hpp"
#include "report.hpp"
#include "requests.hpp"
#include "session.hpp"

namespace copse::mpi {

using algorithms::Collective;
using communicator::Arguments;
using engine::Outcome;

inline constexpr std::string_view kInvalid = "arguments that MPI does not allow";
inline constexpr std::string_view kTooMany = "more bytes than there are addresses";
// Ranks whose type is not dense pack, and MPI_Pack cannot take elements that large, nor is what can as fast as the
// MPI's own call; which ranks these are only they know, so all pass on.
inline constexpr std::string_view kTooLong = "2 GiB or more in one message";
inline constexpr std::size_t kLongest = std::numeric_limits<int>::max();

inline constexpr const char *kSent = "the send buffer", *kReceived = "the receive buffer";

// How a call is made: it waits for its end; it is started; or it is described, to be started by and by.
enum class Form : std::uint8_t { blocking, started, persistent };

// A call under way; `name` is MPI's. Where it is not blocking it has a request, which has memory for it.
class Site {
 public:
  Site(Raw comm, Collective which, const char *mpi_name, Form form, void *handle)
      : state(state_of(comm, form != Form::started)), collective(which), name(mpi_name), handle_(handle) {
    if (form != Form::blocking && state.copse)
      request_ = std::make_unique<Request>(state, mpi_name, form == Form::persistent);
  }
  Site(const Site &) = delete;
  Site &operator=(const Site &) = delete;

  CommState &state;
  const Collective collective;
  const char *const name;

  // Ends the call by giving it to the MPI.
  int pass_on(std::string_view why, std::size_t bytes = 0) const;
  // Ends the call with an error of that class: MPI forbids this rank's arguments. The others may make the call.
  int refuse(int error) const;
  // Do these buffers overlap? Then the call is made all the same, into memory of Copse's, and ends with MPI's error: the other
  // ranks may have done nothing wrong. A persistent one says so whenever it completes. Under COPSE_CHECK it ends the program.
  // Sorts the spans.
  bool overlap(std::vector<communicator::Span> &spans) const;
  // On a communicator that may meet memory of devices: why the call is passed on, as all ranks say; or nothing.
  [[nodiscard]] std::string_view why_not_with(const Buffers &buffers) const;
  // COPSE_CHECK: ends the program if the ranks are about to call different things.
  void check(const Arguments &arguments, const std::string &operation) const;
  // Ends a call for which no rank has anything to do.
  [[nodiscard]] int nothing() const;
  // Makes the call, between work.load() and work.store(). These return MPI's error code, which becomes the call's; the call
  // is made all the same, because other ranks wait for this one. work.kept() is the same for a call that goes on when the
  // wrapper has returned.
  template <class Work>
  int carry_out(const Arguments &arguments, Work &&work) const {
    if (!request_) [[likely]] {
      const int error = work.load();
      Outcome outcome = state.copse->run(arguments);
      const int error_behind = work.store(outcome);
      state.input.packed.trim();
      state.output.packed.trim();
      if (outcome == Outcome::done && error == MPI_SUCCESS && error_behind == MPI_SUCCESS) [[likely]] return MPI_SUCCESS;
      return end_badly(outcome, error != MPI_SUCCESS ? error : error_behind);
    }
    if (std::string why_not; persistent() && !request_->take_lane(why_not)) return pass_on(why_not);
    const auto kept = work.kept();
    return Request::open(
        std::move(request_), arguments, [kept] { return kept->load(); },
        [kept](Outcome &outcome) { return kept->store(outcome); }, handle_);
  }
  // The same for a call that is started and whose buffers overlap: the error comes at once, and the call goes on without a
  // handle. It needs nothing of the program's memory.
  template <class Work>
  int carry_out_refused(const Arguments &arguments, Work &&work) const {
    const auto kept = work.kept();
    MPI_Request handle = MPI_REQUEST_NULL;
    const int error = Request::open(
        std::move(request_), arguments, [kept] { return kept->load(); }, [kept](Outcome &) { return MPI_SUCCESS; }, &handle);
    return end_badly(Outcome::done, error == MPI_SUCCESS ? give_away(handle) : error);
  }
  [[noreturn]] void fail(std::string_view why) const { give_up(state, name, why); }

  [[nodiscard]] bool is_rank(int root) const { return root >= 0 && root < state.ranks; }
  [[nodiscard]] SideMemory &input_memory() const { return request_ ? request_->input : state.input; }
  [[nodiscard]] SideMemory &output_memory() const { return request_ ? request_->output : state.output; }
  [[nodiscard]] Side input() const { return {input_memory(), state.ranks}; }
  [[nodiscard]] Side output() const { return {output_memory(), state.ranks}; }
  [[nodiscard]] Request *request() const { return request_.get(); }
  [[nodiscard]] bool is_started() const { return request_ && !request_->persistent(); }
  [[nodiscard]] bool persistent() const { return request_ && request_->persistent(); }

 protected:
  ~Site() = default;

 private:
  virtual int call_mpi() const = 0;
  int end_badly(Outcome outcome, int error) const;
  int pass_on_traced(std::string_view why, std::size_t bytes) const;
  void take_or_refuse_lane(bool refused) const;
  static int give_away(MPI_Request handle);

  mutable std::unique_ptr<Request> request_;  // until the call is made
  void *handle_;                              // where its handle goes
};

template <class ToMpi>
class Call final : public Site {
 public:
  Call(Raw comm, Collective which, const char *mpi_name, ToMpi to_mpi, Form form = Form::blocking,
       void *handle = nullptr)
      : Site(comm, which, mpi_name, form, handle), to_mpi_(to_mpi) {}

 private:
  int call_mpi() const override { return to_mpi_(); }
  ToMpi to_mpi_;
};

// The exported symbols get their names by asm labels: mpi.h declares the same names with the types of one MPI, while
// these take handles of any (Raw).
#define COPSE_EXPORT(symbol) asm(symbol) __attribute__((visibility("default")))

template <class Start>
int finish_of(Start &&start, MPI_Status *status = MPI_STATUS_IGNORE) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int result = start(&request);
  return result == MPI_SUCCESS ? wait_for_mpi(&request, status) : result;
}

// MPI_Name and PMPI_Name: Copse's while calls of its own are pending; a tool behind that has MPI_Name comes first.
#define COPSE_EXPORT_BOTH(name, suffix, parameters, ours, next_mpi, real_mpi, differs)      \
  int exported_##name##suffix parameters COPSE_EXPORT("MPI_" #name #suffix);                \
  int exported_##name##suffix parameters {                                                  \
    if (requests_pending() && !differs) [[unlikely]]                                        \
      return guarded("MPI_" #name #suffix, [&] { return ours; });                           \
    if (real().Init == nullptr) [[unlikely]] wake(__builtin_return_address(0));             \
    return next_mpi;                                                                        \
  }                                                                                         \
  int exported_P##name##suffix parameters COPSE_EXPORT("PMPI_" #name #suffix);              \
  int exported_P##name##suffix parameters {                                                 \
    if (requests_pending() && !in_mpi(__builtin_return_address(0))) [[unlikely]]            \
      return guarded("MPI_" #name #suffix, [&] { return ours; });                           \
    if (real().Init == nullptr) [[unlikely]] wake(__builtin_return_address(0));             \
    return real_mpi;                                                                        \
  }

// One form of a call: Copse's `function` where the communicator is, else `to_mpi`. What follows the arguments: form and
// handle, as Call takes them.
#define COPSE_FORM(collective, mpi, suffix, parameters, arguments, to_mpi_call, function, function_arguments, Width, ...) \
  [[gnu::noinline]] static int serve_##mpi##suffix parameters {                                                                        \
    return guarded("MPI_" #mpi #suffix, [&] {                                                                        \
      const auto to_mpi = [&] { return to_mpi_call; };                                                               \
      const Call call(comm, Collective::collective, "MPI_" #mpi #suffix, to_mpi __VA_OPT__(,) __VA_ARGS__);          \
      if (!call.state.copse) return call.pass_on(call.state.why_not);                                                \
      if (call.state.devices) [[unlikely]]                                                                           \
        if (const auto why = call.why_not_with(buffers_among(COPSE_LIST function_arguments)); !why.empty())          \
          return call.pass_on(why);                                                                                  \
      return function(call, COPSE_LIST function_arguments);                                                          \
    });                                                                                                              \
  }                                                                                                                  \
  COPSE_EXPORT_CALL(mpi, suffix, parameters, arguments, Width)
// MPI_Name and PMPI_Name, which are serve_Name if this call is Copse's. A tool behind that has MPI_Name comes first: its
// PMPI_Name is Copse's then. What is rare is in functions of its own, so that the arguments stay in their registers.
#define COPSE_EXPORT_CALL(name, suffix, parameters, arguments, Width)                                          \
  [[gnu::noinline, gnu::cold]] static int asleep_##name##suffix(COPSE_LIST parameters, const void *caller) {   \
    if (!wake(caller) || Width<next>::differs_in_##name()) return Width<next>::name arguments;                 \
    return serve_##name##suffix arguments;                                                                     \
  }                                                                                                            \
  int exported_##name##suffix parameters COPSE_EXPORT("MPI_" #name #suffix);                                   \
  int exported_##name##suffix parameters {                                                                     \
    if (phase() != Phase::working) [[unlikely]]                                                                \
      return asleep_##name##suffix(COPSE_LIST arguments, __builtin_return_address(0));                         \
    return serve_##name##suffix arguments;                                                                     \
  }                                                                                                            \
  int exported_P##name##suffix parameters COPSE_EXPORT("PMPI_" #name #suffix);                                 \
  int exported_P##name##suffix parameters {                                                                    \
    if (!awake_for_pmpi(__builtin_return_address(0))) return Width<real>::name arguments;                      \
    return serve_##name##suffix arguments;                                                                     \
  }
// The MPI's own blocking call. Not its started form, while something of Copse's is pending: other ranks may have nothing
// pending, and the two forms do not match.
#define COPSE_WAITING(name, arguments, Width) helped([&] { return Width<real>::name arguments; })
// All three forms of a call.
#define COPSE_CALL_HERE(collective, name, stem, suffix, function, parameters, arguments, Width)                       \
  COPSE_FORM(collective, name, suffix, parameters, arguments, COPSE_WAITING(name, arguments, Width), function,        \
             arguments, Width)                                                                                        \
  COPSE_FORM(collective, I##stem, suffix, (COPSE_LIST parameters, void *request), (COPSE_LIST arguments, request),    \
             Width<real>::I##stem(COPSE_LIST arguments, request), function, arguments, Width, Form::started, request) \
  COPSE_FORM(collective, name##_init, suffix, (COPSE_LIST parameters, Raw info, void *request),                       \
             (COPSE_LIST arguments, info, request), Width<real>::name##_init(COPSE_LIST arguments, info, request),    \
             function, arguments, Width, Form::persistent, request)
#define COPSE_CALL_ELSEWHERE(collective, name, stem, suffix, function, parameters, arguments, Width)

}  // namespace copse::mpi
