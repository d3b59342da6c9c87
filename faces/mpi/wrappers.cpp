// How wrapped calls end.
#include "wrappers.hpp"

#include <chrono>

#include "engine/kernels/kernels.hpp"

namespace copse::mpi {

int Site::pass_on(std::string_view why, std::size_t bytes) const {
  if (is_left()) return pass_on_traced(state.copse || state.early.counts() ? kReductionBetweenGroups : why, bytes);
  if (!state.copse)
    return form_ == Form::blocking && state.early.is_timed() ? pass_on_early(why, bytes) : pass_on_traced(why, bytes);
  const auto kept = state.shared_from_this();  // an error handler may free the communicator, or make calls on it
  const auto passed = persistent() ? CommState::Passed{} : state.pass(is_started(), collective);
  const int result = pass_on_traced(why, bytes);
  // The MPI may find an error on this rank while other ranks make the call. It may also miss an error that Copse has
  // found.
  const bool refused = result != MPI_SUCCESS || why == kInvalid;
  if (persistent()) take_part_in_lane(refused ? MpiRequest::Part::refuses : MpiRequest::Part::has_nothing_to_do);
  else if (refused) kept->refuse(passed);
  return result;
}

int Site::pass_on_traced(std::string_view why, std::size_t bytes) const {
  if (!settings().trace) return call_mpi();
  const auto start = std::chrono::steady_clock::now();
  const int result = call_mpi();
  count_passed_on(collective, why, bytes, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return result;
}

// Takes the time of a call on a communicator that Copse may yet serve.
int Site::pass_on_early(std::string_view why, std::size_t bytes) const {
  const auto kept = state.shared_from_this();  // an error handler may free the communicator
  const auto start = std::chrono::steady_clock::now();
  const int result = pass_on_traced(why, bytes);
  kept->early.add(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return result;
}

// Takes part in the call's lane, because other ranks take one.
void Site::take_part_in_lane(MpiRequest::Part part) const {
  std::string no_lane;
  if (request_->take_lane({.collective = collective}, part, no_lane) && part == MpiRequest::Part::refuses) request_->refuse_lane();
}

// The MPI does not check every argument of every call, and might make the call without the other ranks. So the call
// goes to the MPI only if errors are fatal: then the MPI's message is the last thing that the program hears.
int Site::refuse(int error) const {
  if (errors_are_fatal(state.comm)) return pass_on(kInvalid);
  if (settings().check && !state.copse->compare_refused(kInvalid.data())) give_up_together(state, name, kInvalid);
  if (settings().trace) count_passed_on(collective, kInvalid, 0, 0);
  if (persistent()) take_part_in_lane(MpiRequest::Part::refuses);
  else state.refuse(state.pass(is_started(), collective));
  if (handle_ != nullptr) *static_cast<MPI_Request*>(handle_) = MPI_REQUEST_NULL;
  real().Comm_call_errhandler_(state.comm, error);
  return error;
}

int Site::nothing() const {
  if (persistent()) take_part_in_lane(MpiRequest::Part::has_nothing_to_do);
  else static_cast<void>(state.pass(is_started(), collective));
  return request_ ? MpiRequest::open_idle(std::move(request_), handle_) : MPI_SUCCESS;
}

std::string_view Site::why_not_with(const Buffers& buffers) const {
  if (is_left()) return kReductionBetweenGroups;
  if (!state.devices || !buffers.any) return {};
  if (request_) return "started or persistent, where some rank may give memory of a device";
  const kernels::ReducePair larger = kernels::reduce_kernels(COPSE_MAX, COPSE_INT32);
  engine::Combine combine;
  combine.kernel = larger.one;
  combine.kernel_two = larger.two;
  const std::int32_t mine = buffers.any_on_device ? 1 : 0;
  std::int32_t any = 0;
  const Outcome outcome = state.copse->allreduce(&mine, &any, 1, sizeof any, combine);
  if (outcome == Outcome::outside) {  // a tuning table leaves such calls to the MPI
    const int error =
        helped([&] { return real().Allreduce(&mine, &any, 1, raw_of(MPI_INT), raw_of(MPI_MAX), raw_of(state.comm)); });
    state.copse->outside_is_over();
    if (error != MPI_SUCCESS) fail("the MPI's own MPI_Allreduce failed");
  } else if (outcome != Outcome::done) {
    fail(state.copse->explain(outcome));
  }
  return any == 0 ? std::string_view() : "memory of a device";
}

void Site::check(const Arguments& arguments, const std::string& operation) const {
  const std::string line = state.copse->compare(arguments, operation.c_str());
  if (!line.empty()) [[unlikely]]
    give_up_together(state, name, line);
}

bool Site::overlap(std::vector<communicator::Span>& spans) const {
  const auto overlap = communicator::first_overlap(spans);
  if (overlap && settings().check) {
    const std::string why = overlap->text() + "; expected other memory, or MPI_IN_PLACE";
    state.copse->compare_refused(why.c_str());
    give_up_together(state, name, why);
  }
  return overlap.has_value();
}

int Site::end_badly(Outcome outcome, int error) const {
  if (!engine::is_over(outcome)) fail(state.copse->explain(outcome));
  if (error == MPI_SUCCESS) error = error_of(outcome);
  if (outcome == Outcome::refused) note(name, state.copse->explain(outcome));
  real().Comm_call_errhandler_(state.comm, error);
  return error;
}

// Has the MPI make a call that Copse has counted. All ranks do the same.
int Site::make_outside(std::size_t bytes) const {
  state.memory.input.packed.trim();
  state.memory.output.packed.trim();
  const auto kept = state.shared_from_this();  // an error handler may free the communicator
  const int result = pass_on_traced(kFaster, bytes);
  kept->copse->outside_is_over();
  return result;
}

int Site::give_away(MPI_Request handle) {
  MpiRequest::find(handle)->free(&handle);
  return MPI_ERR_BUFFER;
}

}  // namespace copse::mpi
