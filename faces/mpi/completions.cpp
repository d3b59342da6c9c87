// MPI's calls on requests. While a call of Copse's is pending, the calls that wait become loops in which both Copse and
// the MPI make progress. The MPI itself reports what has ended (requests.hpp).
#include <vector>

#include "exports.hpp"
#include "failures.hpp"
#include "operators.hpp"

namespace copse::mpi {
namespace {

// Ends those of Copse's requests that are over. Returns true if none of Copse's requests is pending any more.
bool settle(int count, const MPI_Request* requests) {
  bool all = true;
  for (int i = 0; i < count; ++i)
    if (MpiRequest* const ours = MpiRequest::find(requests[i])) all = ours->settle() && all;
  return all;
}
bool settle(MPI_Request request) { return settle(1, &request); }

namespace ours {

int Test(MPI_Request* request, int* flag, MPI_Status* status) {
  if (settle(*request)) {
    const Failures failures(request);
    const int result = real().Test(request, flag, status);
    if (*flag == 0) go_on();
    return *flag == 0 ? result : failures.tell(result);
  }
  *flag = 0;
  go_on();
  return MPI_SUCCESS;
}

int Wait(MPI_Request* request, MPI_Status* status) {
  int flag = 0, result = MPI_SUCCESS;
  const auto done = [&] {
    if (!settle(*request)) return false;
    const Failures failures(request);
    result = real().Test(request, &flag, status);
    if (flag != 0) result = failures.tell(result);
    return flag != 0 || result != MPI_SUCCESS;
  };
  return wait_for(done) ? result : real().Wait(request, status);
}

int Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  *flag = 0;
  int result = MPI_SUCCESS;
  if (settle(count, requests)) {
    const Failures failures(count, requests);
    result = real().Testall(count, requests, flag, statuses);
    if (*flag != 0) result = failures.tell_some(result, count, nullptr, statuses);
    else if (result != MPI_SUCCESS) failures.tell_freed(requests, statuses);
  }
  if (*flag == 0 && result == MPI_SUCCESS) go_on();
  return result;
}

// Completes the MPI's requests one after the other, whether Copse's are over or not. Some requests of an MPI go on only when they
// are tested themselves (files in MPICH), and the next message of another rank may depend on them. MPICH 5's Testall fails for the
// MPI's own persistent collectives.
class Waiting {
 public:
  Waiting(int count, MPI_Request* requests, MPI_Status* statuses)
      : count_(count), requests_(requests), statuses_(statuses), over_(static_cast<std::size_t>(count)) {}

  // Looks at all of Copse's requests, and at some others, because each test of the MPI's takes time in which Copse's calls stand
  // still. Returns true once all requests are complete.
  bool test() {
    static_cast<void>(settle(count_, requests_));
    int tested = 0;
    for (int looked = 0; looked < count_ && tested < kAtATime; ++looked, next_ = (next_ + 1) % count_) {
      if (over_[static_cast<std::size_t>(next_)] != 0) continue;
      test(next_);
      ++tested;
    }
    return left_ == 0;
  }
  // Waits for those that are left, of which none is Copse's. The MPI waits for all of them at a time.
  void finish() {
    std::vector<MPI_Status> rest(over_.size());
    const Failures failures(count_, requests_);
    const int result = failures.tell_some(real().Waitall(count_, requests_, rest.data()), count_, nullptr, rest.data());
    for (int i = 0; i < count_; ++i) {
      if (over_[static_cast<std::size_t>(i)] != 0) continue;
      if (statuses_ != MPI_STATUSES_IGNORE) statuses_[i] = rest[static_cast<std::size_t>(i)];
      note(i, result == MPI_ERR_IN_STATUS ? rest[static_cast<std::size_t>(i)].MPI_ERROR : result);
    }
    if (result != MPI_SUCCESS && result != MPI_ERR_IN_STATUS) result_ = result;
  }
  // Returns what MPI_Waitall returns.
  [[nodiscard]] int result() {
    if (statuses_ == MPI_STATUSES_IGNORE || (result_ != MPI_SUCCESS && result_ != MPI_ERR_IN_STATUS)) return result_;
    for (int i = 0; i < count_; ++i) statuses_[i].MPI_ERROR = errors_.empty() ? MPI_SUCCESS : errors_[static_cast<std::size_t>(i)];
    return result_;
  }

 private:
  static constexpr int kAtATime = 8;

  void test(int i) {
    if (!settle(requests_[i])) return;
    int flag = 0;
    const Failures failures(&requests_[i]);
    int result = real().Test(&requests_[i], &flag, statuses_ == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses_[i]);
    if (flag == 0 && result == MPI_SUCCESS) return;
    if (flag != 0) result = failures.tell(result);
    note(i, result);
  }
  void note(int i, int error) {
    over_[static_cast<std::size_t>(i)] = 1;
    --left_;
    if (error == MPI_SUCCESS) return;
    errors_.resize(over_.size(), MPI_SUCCESS);
    errors_[static_cast<std::size_t>(i)] = error;
    result_ = MPI_ERR_IN_STATUS;
  }

  int count_, left_ = count_, next_ = 0;
  MPI_Request* requests_;
  MPI_Status* statuses_;
  std::vector<char> over_;
  std::vector<int> errors_;  // empty: there is none
  int result_ = MPI_SUCCESS;
};

int Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  if (count < 0) return real().Waitall(count, requests, statuses);
  Waiting waiting(count, requests, statuses);
  if (!wait_for([&] { return waiting.test(); })) waiting.finish();
  return waiting.result();
}

// The MPI sees a pending persistent call of Copse as inactive. So only Copse can say whether any request is active.
int Testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  const bool all = settle(count, requests);
  const Failures failures(count, requests);
  const int result = real().Testany(count, requests, index, flag, status);
  if (result != MPI_SUCCESS) return result;
  if (*flag != 0 && *index == MPI_UNDEFINED && !all) *flag = 0;
  if (*flag == 0) go_on();
  return *flag == 0 ? result : failures.tell(result, *index);
}

int Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  int flag = 0, result = MPI_SUCCESS;
  const auto done = [&] {
    const bool all = settle(count, requests);
    const Failures failures(count, requests);
    result = real().Testany(count, requests, index, &flag, status);
    if (flag != 0) result = failures.tell(result, *index);
    return result != MPI_SUCCESS || (flag != 0 && (*index != MPI_UNDEFINED || all));
  };
  return wait_for(done) ? result : real().Waitany(count, requests, index, status);
}

int Testsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  const bool all = settle(count, requests);
  const Failures failures(count, requests);
  int result = real().Testsome(count, requests, done, indices, statuses);
  if (*done != MPI_UNDEFINED) result = failures.tell_some(result, *done, indices, statuses);
  if (result != MPI_SUCCESS) return result;
  if (*done == MPI_UNDEFINED && !all) *done = 0;
  if (*done == 0) go_on();
  return result;
}

int Waitsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  int result = MPI_SUCCESS;
  const auto some = [&] {
    const bool all = settle(count, requests);
    const Failures failures(count, requests);
    result = real().Testsome(count, requests, done, indices, statuses);
    if (*done != MPI_UNDEFINED) result = failures.tell_some(result, *done, indices, statuses);
    return result != MPI_SUCCESS || (*done != 0 && (*done != MPI_UNDEFINED || all));
  };
  return wait_for(some) ? result : real().Waitsome(count, requests, done, indices, statuses);
}

int Request_get_status(Raw request, int* flag, MPI_Status* status) {
  *flag = 0;
  int result = MPI_SUCCESS;
  if (settle(handle<MPI_Request>(request))) result = real().Request_get_status(request, flag, status);
  if (*flag == 0 && result == MPI_SUCCESS) go_on();
  return result;
}

// An MPI before 4.1 lacks this call and the next two. They then ask one request after the other.
int Request_get_status_all(int count, const MPI_Request* requests, int* flag, MPI_Status* statuses) {
  *flag = 1;
  for (int i = 0; i < count && *flag != 0; ++i) {
    MPI_Status* const status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
    if (const int result = Request_get_status(raw_of(requests[i]), flag, status); result != MPI_SUCCESS) return result;
  }
  return MPI_SUCCESS;
}

int Request_get_status_some(int count, const MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  bool all = settle(count, requests);
  if (real().Request_get_status_some != nullptr) {
    const int result = real().Request_get_status_some(count, requests, done, indices, statuses);
    if (result == MPI_SUCCESS && *done == MPI_UNDEFINED && !all) *done = 0;
    if (*done == 0) go_on();
    return result;
  }
  *done = 0;
  for (int i = 0; i < count; ++i) {
    if (requests[i] == MPI_REQUEST_NULL) continue;
    all = false;
    int flag = 0;
    MPI_Status* const status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[*done];
    if (const int result = Request_get_status(raw_of(requests[i]), &flag, status); result != MPI_SUCCESS) return result;
    if (flag != 0) indices[(*done)++] = i;
  }
  if (all) *done = MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int Request_get_status_any(int count, const MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  const bool all = settle(count, requests);
  if (real().Request_get_status_any != nullptr) {
    const int result = real().Request_get_status_any(count, requests, index, flag, status);
    if (result == MPI_SUCCESS && *flag != 0 && *index == MPI_UNDEFINED && !all) *flag = 0;
    if (*flag == 0) go_on();
    return result;
  }
  *flag = 0;
  *index = MPI_UNDEFINED;
  bool none = true;
  for (int i = 0; i < count && *flag == 0; ++i) {
    if (requests[i] == MPI_REQUEST_NULL) continue;
    none = false;
    if (const int result = Request_get_status(raw_of(requests[i]), flag, status); result != MPI_SUCCESS) return result;
    if (*flag != 0) *index = i;
  }
  if (!none) return MPI_SUCCESS;
  // An empty status has MPI_SUCCESS here, which Open MPI does not set.
  if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = MPI_SUCCESS;
  return Request_get_status(raw_of(MPI_REQUEST_NULL), flag, status);
}

int Iprobe(int peer, int tag, Raw comm, int* flag, MPI_Status* status) {
  const int result = real().Iprobe(peer, tag, comm, flag, status);
  if (result == MPI_SUCCESS && *flag == 0) go_on();
  return result;
}

int Improbe(int peer, int tag, Raw comm, int* flag, MPI_Message* message, MPI_Status* status) {
  const int result = real().Improbe(peer, tag, comm, flag, message, status);
  if (result == MPI_SUCCESS && *flag == 0) go_on();
  return result;
}

// An MPI before 4.0 has neither this call nor partitioned requests.
int Parrived(Raw request, int part, int* flag) {
  if (real().Parrived == nullptr) {
    real().Comm_call_errhandler_(MPI_COMM_SELF, MPI_ERR_REQUEST);
    return MPI_ERR_REQUEST;
  }
  const int result = real().Parrived(request, part, flag);
  if (result == MPI_SUCCESS && *flag == 0) go_on();
  return result;
}

int Start(MPI_Request* request) {
  MpiRequest* const ours = MpiRequest::find(*request);
  if (ours == nullptr || !ours->persistent() || ours->pending()) return real().Start(request);
  ours->start();
  return MPI_SUCCESS;
}

int Startall(int count, MPI_Request* requests) {
  int result = MPI_SUCCESS;
  for (int i = 0; i < count && result == MPI_SUCCESS; ++i) result = Start(&requests[i]);
  return result;
}

int Request_free(MPI_Request* request) {
  MpiRequest* const ours = MpiRequest::find(*request);
  return ours != nullptr ? ours->free(request) : real().Request_free(request);
}

int Cancel(MPI_Request* request) {
  if (MpiRequest::find(*request) == nullptr) return real().Cancel(request);
  real().Comm_call_errhandler_(MPI_COMM_SELF, MPI_ERR_REQUEST);  // collective calls cannot be cancelled
  return MPI_ERR_REQUEST;
}

int Op_free(MPI_Op* op) {
  if (!free_later(*op)) return real().Op_free(op);
  *op = MPI_OP_NULL;
  return MPI_SUCCESS;
}

}  // namespace ours
}  // namespace

extern "C" {

// Where the MPI lacks a call, Copse's own version replaces it.
#define COPSE_COMPLETION(name, when, parameters, arguments)                           \
  COPSE_EXPORT(While<requests_##when>, name, parameters, arguments,                   \
               next().name != nullptr ? next().name arguments : ours::name arguments, \
               real().name != nullptr ? real().name arguments : ours::name arguments, return ours::name arguments;)
#include "completions.def"
#undef COPSE_COMPLETION

}  // extern "C"

}  // namespace copse::mpi
