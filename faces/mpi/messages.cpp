// MPI's own calls that wait for a message. By MPI's rule of progress (MPI-4.1 3.5, 6.12), the calls that this rank has
// started go on while it waits in any of them. So while calls of Copse's are pending, each of these becomes a start and
// a wait.
//
// MPI_Mrecv is not among them: once a message is matched, its sender drives the rendezvous.
#include <algorithm>
#include <vector>

#include "exports.hpp"
#include "wrappers.hpp"

namespace copse::mpi {
namespace {

// Calls `probe` until it has found a message.
template <class Probe>
int found(Probe&& probe) {
  int flag = 0, result = MPI_SUCCESS;
  progress()->until([&] {
    end_given_away();
    result = probe(&flag);
    return flag != 0 || result != MPI_SUCCESS;
  });
  return result;
}

template <class Start>
int finish_of(Start&& start, MPI_Status* status) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int result = start(&request);
  return result == MPI_SUCCESS ? wait_for_mpi(&request, status) : result;
}

// Has the MPI check the arguments of a message without sending or receiving it: the MPI checks them when it makes a
// persistent request.
template <class Init>
int looked_at(Init&& init) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int result = init(&request);
  return result == MPI_SUCCESS ? real().Request_free(&request) : result;
}

// Cancels a receive, which would otherwise take the message of another receive.
void withdraw(MPI_Request* receive) {
  if (real().Cancel(receive) == MPI_SUCCESS) wait_for_mpi(receive, MPI_STATUS_IGNORE);
}

namespace ours {

// Starts both halves or neither. Errors of one half must be known before the other half begins.
template <class Width, class Count>
int Sendrecv(const void* out, Count given, Raw out_type, int to, int out_tag, void* in, Count taken, Raw in_type, int from,
             int in_tag, Raw comm, MPI_Status* status) {
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int result = looked_at([&](MPI_Request* request) { return Width::Send_init(out, given, out_type, to, out_tag, comm, request); });
  if (result == MPI_SUCCESS)
    result = looked_at([&](MPI_Request* request) { return Width::Recv_init(in, taken, in_type, from, in_tag, comm, request); });
  if (result == MPI_SUCCESS) result = Width::Irecv(in, taken, in_type, from, in_tag, comm, &requests[0]);
  if (result != MPI_SUCCESS) return result;
  result = Width::Isend(out, given, out_type, to, out_tag, comm, &requests[1]);
  if (result != MPI_SUCCESS) {
    withdraw(&requests[0]);
    return result;
  }
  const int sent = wait_for_mpi(&requests[1], MPI_STATUS_IGNORE);
  const int received = wait_for_mpi(&requests[0], status);
  return received != MPI_SUCCESS ? received : sent;
}

// Sends the packed data, which matches any type.
template <class Width, class Count>
int Sendrecv_replace(void* buffer, Count count, Raw type, int to, int out_tag, int from, int in_tag, Raw comm, MPI_Status* status) {
  const Datatype* known = datatype_of(type);
  std::size_t bytes = 0;
  if (known == nullptr || count < 0 || !message_bytes(count, known->size, bytes) || bytes > kLongest)
    return helped([&] { return Width::Sendrecv_replace(buffer, count, type, to, out_tag, from, in_tag, comm, status); });
  std::vector<char> packed(std::max<std::size_t>(1, bytes));  // some MPIs refuse null even for nothing
  if (const int error = pack(*known, buffer, static_cast<std::size_t>(count), packed.data()); error != MPI_SUCCESS) {
    real().Comm_call_errhandler_(handle<MPI_Comm>(comm), error);
    return error;
  }
  return Sendrecv<Width, Count>(packed.data(), static_cast<Count>(bytes), raw_of(MPI_PACKED), to, out_tag, buffer, count, type,
                                from, in_tag, comm, status);
}

}  // namespace ours
}  // namespace

#define COPSE_STATUS_OF_COPSE_STATUS status
#define COPSE_STATUS_OF_COPSE_NO_STATUS MPI_STATUS_IGNORE
#define COPSE_EXPORT_MESSAGE(name, started, suffix, parameters, arguments, with, Width)                              \
  COPSE_EXPORT(While<requests_pending>, name##suffix, with(parameters, MPI_Status* status), with(arguments, status), \
               Width<next>::name with(arguments, status), Width<real>::name with(arguments, status),                 \
               return finish_of([&](void* request) { return Width<real>::started(COPSE_LIST arguments, request); },  \
                                COPSE_STATUS_OF_##with);)
#define COPSE_EXPORT_EXCHANGE(name, suffix, parameters, arguments, Width)                                 \
  COPSE_EXPORT(While<requests_pending>, name##suffix, parameters, arguments, Width<next>::name arguments, \
               Width<real>::name arguments, return ours::name<Width<real>> arguments;)

extern "C" {

using Count = Plain<real>::Count;
#define COPSE_MESSAGE(name, started, parameters, arguments, with) \
  COPSE_EXPORT_MESSAGE(name, started, , parameters, arguments, with, Plain)
#define COPSE_EXCHANGE(name, parameters, arguments) COPSE_EXPORT_EXCHANGE(name, , parameters, arguments, Plain)
#include "messages.def"
#undef COPSE_EXCHANGE
#undef COPSE_MESSAGE

COPSE_EXPORT(While<requests_pending>, Probe, (int peer, int tag, Raw comm, MPI_Status* status), (peer, tag, comm, status),
             next().Probe(peer, tag, comm, status), real().Probe(peer, tag, comm, status),
             return found([&](int* flag) { return real().Iprobe(peer, tag, comm, flag, status); });)
COPSE_EXPORT(While<requests_pending>, Mprobe, (int peer, int tag, Raw comm, MPI_Message* message, MPI_Status* status),
             (peer, tag, comm, message, status), next().Mprobe(peer, tag, comm, message, status),
             real().Mprobe(peer, tag, comm, message, status),
             return found([&](int* flag) { return real().Improbe(peer, tag, comm, flag, message, status); });)

}  // extern "C"

namespace large {
extern "C" {
using Count = Large<real>::Count;
#define COPSE_MESSAGE(name, started, parameters, arguments, with) \
  COPSE_EXPORT_MESSAGE(name, started, _c, parameters, arguments, with, Large)
#define COPSE_EXCHANGE(name, parameters, arguments) COPSE_EXPORT_EXCHANGE(name, _c, parameters, arguments, Large)
#include "messages.def"
#undef COPSE_EXCHANGE
#undef COPSE_MESSAGE
}
}  // namespace large

}  // namespace copse::mpi
