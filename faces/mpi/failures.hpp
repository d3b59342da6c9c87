// Errors of Copse's calls that are noticed only when the calls are over. The procedure that completes the request
// reports them to the error handler of the communicator that the call was made on (MPI-4.1 9.3). The MPI cannot do
// that: to it the requests are generalized requests and receives, which belong to no communicator of the program's.
#pragma once

#include <utility>
#include <vector>

#include "requests.hpp"

namespace copse::mpi {

// The failed ones among the requests that a procedure is about to complete. Make this before the MPI completes any.
class Failures {
 public:
  Failures(int count, const MPI_Request* requests) {
    if (!requests_failed()) [[likely]]
      return;
    for (int i = 0; i < count; ++i) {
      MpiRequest* const request = MpiRequest::find(requests[i]);
      if (request != nullptr && request->error() != MPI_SUCCESS)
        failed_.push_back({i, request->persistent() ? request : nullptr, request->answers_for(), request->error()});
    }
  }
  explicit Failures(const MPI_Request* request) : Failures(1, request) {}

  // Reports the failure of the request with that index, which the MPI has completed with `result`. Returns the
  // procedure's result.
  [[nodiscard]] int tell(int result, int index = 0) const {
    const Failure* const failure = find(index);
    if (failure == nullptr || result != MPI_SUCCESS) return result;
    return raise(*failure), failure->error;
  }
  // Reports the failures of `count` completed requests. They are the requests in `indices`, or all requests if `indices` is null.
  // `statuses` has the same order.
  [[nodiscard]] int tell_some(int result, int count, const int* indices, MPI_Status* statuses) const {
    const Failure* first = nullptr;
    if (failed_.empty() || (result != MPI_SUCCESS && result != MPI_ERR_IN_STATUS)) return result;
    for (int i = 0; i < count; ++i) {
      const Failure* const failure = find(indices != nullptr ? indices[i] : i);
      if (first == nullptr) first = failure;
      if (statuses == MPI_STATUSES_IGNORE) continue;
      if (failure != nullptr) statuses[i].MPI_ERROR = failure->error;
      else if (result == MPI_SUCCESS) statuses[i].MPI_ERROR = MPI_SUCCESS;
    }
    if (first == nullptr) return result;
    return raise(*first), MPI_ERR_IN_STATUS;
  }

  // If a message has failed, MPI_Testall of MPICH 4 completes the requests that are over, although others are pending and its flag
  // says so. This reports the failures of those in `requests` that the MPI has freed.
  void tell_freed(const MPI_Request* requests, MPI_Status* statuses) const {
    bool raised = false;
    for (const Failure& failure : failed_) {
      if (failure.persistent != nullptr || requests[failure.index] != MPI_REQUEST_NULL) continue;
      if (statuses != MPI_STATUSES_IGNORE) statuses[failure.index].MPI_ERROR = failure.error;
      if (!std::exchange(raised, true)) raise(failure);
    }
  }

 private:
  struct Failure {
    int index;
    MpiRequest* persistent;  // null if not persistent: the MPI has then freed the request
    MPI_Comm comm;
    int error;
  };
  [[nodiscard]] const Failure* find(int index) const {
    for (const Failure& failure : failed_)
      if (failure.index == index) {
        if (failure.persistent != nullptr) failure.persistent->told();
        return &failure;
      }
    return nullptr;
  }
  static void raise(const Failure& failure) { real().Comm_call_errhandler_(failure.comm, failure.error); }

  std::vector<Failure> failed_;
};

}  // namespace copse::mpi
