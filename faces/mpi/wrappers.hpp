// What all wrapped calls share. Copse makes a call unless there is a reason against it that all ranks see alike.
#pragma once

#include <string_view>

#include "communicator/arguments.hpp"
#include "communicators.hpp"
#include "devices.hpp"
#include "joining.hpp"
#include "report.hpp"
#include "requests.hpp"
#include "session.hpp"
#include "settings.hpp"

namespace copse::mpi {

using algorithms::Collective;
using communicator::Arguments;
using engine::Outcome;

inline constexpr std::string_view kInvalid = "arguments that MPI does not allow";
inline constexpr std::string_view kTooMany = "more bytes than there are addresses";
// A rank whose type is not dense must pack. MPI_Pack cannot take elements that large, and what can is slower than the
// MPI's own call. Only the rank itself knows that its type is not dense, so all ranks pass on.
inline constexpr std::string_view kTooLong = "2 GiB or more in one message";
inline constexpr std::string_view kTooManyRanks = "too many ranks: their pairs have no numbers";
inline constexpr std::string_view kFaster = "the MPI is faster, says the tuning table or what was learned";
inline constexpr std::string_view kRoundedByMpi = "the first of these started reductions were the MPI's, whose bits may differ";
inline constexpr std::string_view kReductionBetweenGroups = "a reduction on an intercommunicator";
inline constexpr std::size_t kLongest = std::numeric_limits<int>::max();

inline constexpr const char *kSent = "the send buffer", *kReceived = "the receive buffer";

// How a call is made: it waits for its end, it is started (nonblocking), or it is described and started later.
enum class Form : std::uint8_t { blocking, started, persistent };

// A call under way. `name` is MPI's name for it. A call that is not blocking has a request, which owns its memory.
class Site {
 public:
  Site(Raw comm, Collective which, const char* mpi_name, Form form, void* handle)
      : state(state_of(comm)), collective(which), name(mpi_name), form_(form), handle_(handle) {
    if (state.copse) [[likely]]
      prepare();
  }
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  CommState& state;
  const Collective collective;
  const char* const name;

  // Asks about a communicator that Copse does not serve yet. Returns true if Copse serves it from this call on. `rounds` tells
  // whether the bits of the result depend on who makes the call. Such a call does not wait until Copse's start pays: Copse makes
  // the first one, so that it can make all of them. Nor does a call that the MPI might refuse although it is right.
  template <class Rounds>
  bool joins(Rounds&& rounds) {
    if (!state.early.counts() || is_left()) [[likely]]
      return false;
    if (form_ == Form::started) {
      // The ranks meet only in other calls: a rank may legally start a nonblocking call long after another rank. Such a call
      // does not count either, because some ranks may start it before MPI_Init, in a session, when Copse does not see it yet.
      state.rounds_by_mpi = state.rounds_by_mpi || rounds();
      return false;
    }
    state.early.count();
    const bool at_once = form_ == Form::persistent || (kRefusesLegalExscan && collective == Collective::exscan) || rounds();
    if (!(at_once || state.early.must_look()) || !join(state, at_once)) return false;
    prepare();
    return true;
  }
  // Ends the call by giving it to the MPI.
  int pass_on(std::string_view why, std::size_t bytes = 0) const;
  // Ends the call with an error of that class, because MPI forbids this rank's arguments. The other ranks may still make the call.
  int refuse(int error) const;
  // Returns whether the buffers overlap, and sorts the spans. If they do, the call is still made, into memory of
  // Copse's, because the other ranks may have done nothing wrong. It then ends with MPI's error, which a persistent
  // call reports at each completion. Under COPSE_CHECK an overlap ends the program.
  bool overlap(std::vector<communicator::Span>& spans) const;
  // Call this on a `special` communicator. Returns the reason why all ranks pass this call on, or nothing. Where the ranks may meet
  // device memory, they agree on it.
  [[nodiscard]] std::string_view why_not_with(const Buffers& buffers) const;
  // Under COPSE_CHECK, ends the program if the ranks are about to make different calls.
  void check(const Arguments& arguments, const std::string& operation) const;
  // Ends a call for which no rank has anything to do.
  [[nodiscard]] int nothing() const;
  // Makes the call between work.load() and work.store(). These return MPI's error code, which becomes the call's. The
  // call is made even then, because other ranks wait for this one. work.kept() returns the same work for a call that
  // goes on after the wrapper has returned.
  template <class Work>
  int carry_out(const Arguments& arguments, Work&& work) const {
    if (!request_) [[likely]] {
      const int error = work.load();
      Outcome outcome = state.copse->run(arguments);
      if (outcome == Outcome::outside) [[unlikely]]
        return make_outside(arguments.count * arguments.element_bytes);
      const int error_behind = work.store(outcome);
      state.memory.input.packed.trim();
      state.memory.output.packed.trim();
      if (outcome == Outcome::done && error == MPI_SUCCESS && error_behind == MPI_SUCCESS) [[likely]]
        return MPI_SUCCESS;
      return end_badly(outcome, error != MPI_SUCCESS ? error : error_behind);
    }
    if (std::string why_not; persistent() && !request_->take_lane(arguments, MpiRequest::Part::makes, why_not))
      return pass_on(why_not);
    const auto kept = work.kept();
    return MpiRequest::open(
        std::move(request_), arguments, [kept] { return kept->load(); }, [kept](Outcome& outcome) { return kept->store(outcome); },
        handle_);
  }
  // Makes a nonblocking call whose buffers overlap. The program gets the error at once, and the call goes on without a handle. The
  // call uses none of the program's memory.
  template <class Work>
  int carry_out_refused(const Arguments& arguments, Work&& work) const {
    const auto kept = work.kept();
    MPI_Request handle = MPI_REQUEST_NULL;
    const int error = MpiRequest::open(
        std::move(request_), arguments, [kept] { return kept->load(); }, [kept](Outcome&) { return MPI_SUCCESS; }, &handle);
    *static_cast<MPI_Request*>(handle_) = MPI_REQUEST_NULL;
    return end_badly(Outcome::done, error == MPI_SUCCESS ? give_away(handle) : error);
  }
  [[noreturn]] void fail(std::string_view why) const { give_up(state, name, why); }

  [[nodiscard]] bool is_rank(int root) const { return root >= 0 && root < state.ranks; }
  [[nodiscard]] SideMemory& input_memory() const { return request_ ? request_->memory.input : state.memory.input; }
  [[nodiscard]] SideMemory& output_memory() const { return request_ ? request_->memory.output : state.memory.output; }
  [[nodiscard]] Side input() const { return {input_memory(), state.ranks}; }
  [[nodiscard]] Side output() const { return {output_memory(), state.ranks}; }
  [[nodiscard]] MpiRequest* request() const { return request_.get(); }
  [[nodiscard]] bool is_started() const { return request_ && !request_->persistent(); }
  [[nodiscard]] bool persistent() const { return request_ && request_->persistent(); }

 protected:
  ~Site() = default;

 private:
  virtual int call_mpi() const = 0;
  int end_badly(Outcome outcome, int error) const;
  int make_outside(std::size_t bytes) const;
  int pass_on_early(std::string_view why, std::size_t bytes) const;
  void prepare() {
    if (form_ != Form::blocking) request_ = std::make_unique<MpiRequest>(state, name, form_ == Form::persistent);
  }
  int pass_on_traced(std::string_view why, std::size_t bytes) const;
  // Tells whether the MPI makes this call wherever it comes. All ranks know it without asking, so they need not count the call.
  [[nodiscard]] bool is_left() const { return state.groups.any() && algorithms::traits_of(collective).reduces; }
  void take_part_in_lane(MpiRequest::Part part) const;
  static int give_away(MPI_Request handle);

  const Form form_;
  mutable std::unique_ptr<MpiRequest> request_;  // null once the call has been made
  void* handle_;  // where the request's handle goes
};

template <class ToMpi>
class TypedSite final : public Site {
 public:
  TypedSite(Raw comm, Collective which, const char* mpi_name, ToMpi to_mpi, Form form = Form::blocking, void* handle = nullptr)
      : Site(comm, which, mpi_name, form, handle), to_mpi_(to_mpi) {}

 private:
  int call_mpi() const override { return to_mpi_(); }
  ToMpi to_mpi_;
};

}  // namespace copse::mpi
