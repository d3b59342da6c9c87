// The C interface: arguments are checked here, and exceptions end here.
#include <unistd.h>

#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "communicator/communicator.hpp"
#include "communicator/shared_bootstrap.hpp"
#include "copse/copse.h"
#include "topology/error.hpp"

using copse::communicator::Bootstrap;
using copse::communicator::Communicator;
using copse::communicator::Outcome;

struct copse_meeting {
  int ranks;
  std::shared_ptr<void> memory;
};

struct copse_comm {
  std::unique_ptr<Communicator> communicator;
  bool check = false;
  std::string message;
};

namespace {

constexpr double kThreadsTimeout = 3600;  // threads of one process come, or the program is wrong anyhow

thread_local std::string creation_message;

copse_status fail_creation(copse_status status, std::string why) {
  creation_message = std::move(why);
  return status;
}

// Runs `body`; what it throws becomes a status.
template <class Body>
copse_status guarded(std::string &message, Body &&body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    message.clear();  // a sentence might need memory, too; copse_status_text has one
    return COPSE_ERROR_MEMORY;
  } catch (const copse::topology::Error &error) {  // it quotes COPSE_TOPOLOGY
    try {
      message = error.what();
    } catch (...) {
      message.clear();
    }
    return COPSE_ERROR_VARIABLE;
  } catch (const std::exception &error) {
    try {
      message = error.what();
    } catch (...) {
      message.clear();
    }
    return COPSE_ERROR_ARGUMENT;
  }
}

copse_status finish_creation(std::unique_ptr<Bootstrap> bootstrap, copse_comm **comm) {
  std::string why;
  const auto settings = copse::choose::read_settings(environ, why);
  if (!settings) return fail_creation(COPSE_ERROR_VARIABLE, why);
  auto result = std::make_unique<copse_comm>();
  result->check = settings->check;
  result->communicator = Communicator::create(std::move(bootstrap), nullptr, *settings, why);
  if (!result->communicator) return fail_creation(COPSE_ERROR_UNREACHABLE, why);
  *comm = result.release();
  return COPSE_OK;
}

class CallbackBootstrap final : public Bootstrap {
 public:
  CallbackBootstrap(int rank, int ranks, copse_allgather allgather, void *context)
      : rank_(rank), ranks_(ranks), allgather_(allgather), context_(context) {}
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int ranks() const override { return ranks_; }
  bool allgather(const void *mine, void *all, std::size_t bytes) override {
    return allgather_(context_, mine, all, bytes) == 0;
  }

 private:
  int rank_, ranks_;
  copse_allgather allgather_;
  void *context_;
};

// Runs a call on a communicator; without one, the mistake is told where a failed creation is.
template <class Body>
copse_status called(copse_comm *comm, Body &&body) noexcept {
  if (comm == nullptr)
    return guarded(creation_message, [] { return fail_creation(COPSE_ERROR_ARGUMENT, "the communicator is null"); });
  return guarded(comm->message, body);
}

std::string out_of(const char *what, int value, int end) {
  return std::string(what) + " is " + std::to_string(value) + "; expected 0 to " + std::to_string(end - 1);
}

copse_status argument_error(copse_comm *comm, std::string why) {
  comm->message = std::move(why);
  return COPSE_ERROR_ARGUMENT;
}

copse_status status_of(copse_comm *comm, Outcome outcome) {
  if (outcome == Outcome::done) return COPSE_OK;
  comm->message = comm->communicator->explain(outcome);
  return COPSE_ERROR_LOST;
}

using copse::algorithms::Collective;

bool compared(copse_comm *comm, Collective collective, int root, std::size_t count, std::size_t element_bytes,
              const char *operation) {
  if (!comm->check) return true;
  copse::communicator::Arguments arguments;
  arguments.collective = collective;
  arguments.root = root;
  arguments.count = count;
  arguments.element_bytes = element_bytes;
  comm->message = comm->communicator->compare(arguments, operation);
  return comm->message.empty();
}

// Checks what reduce and allreduce have in common, and fills in the operator.
copse_status prepare(copse_comm *comm, Collective collective, int root, const void *input, std::size_t count,
                     copse_type type, copse_op op, copse::engine::Combine &combine) {
  namespace kernels = copse::kernels;
  combine.kernel = kernels::reduce_kernel(op, type);
  combine.kernel_two = kernels::reduce_two_kernel(op, type);
  if (combine.kernel == nullptr)
    return argument_error(comm, std::string("operator ") + kernels::op_name(op) + " is not defined for type " +
                                    kernels::type_name(type) + " (MPI-4.1 6.9.2)");
  if (input == nullptr && count > 0) return argument_error(comm, "input is null");
  if (count > SIZE_MAX / kernels::type_size(type)) return argument_error(comm, "count is too large for memory");
  if (comm->check) {
    const std::string operation = std::string(kernels::op_name(op)) + " of " + kernels::type_name(type);
    if (!compared(comm, collective, root, count, kernels::type_size(type), operation.c_str()))
      return COPSE_ERROR_MISMATCH;
  }
  return COPSE_OK;
}

}  // namespace

extern "C" {

const char *copse_status_text(copse_status status) {
  switch (status) {
    case COPSE_OK: return "all is well";
    case COPSE_ERROR_ARGUMENT: return "an argument is out of range, or the operator is not defined for the type";
    case COPSE_ERROR_VARIABLE: return "a COPSE_ environment variable has an impossible value";
    case COPSE_ERROR_UNREACHABLE: return "the ranks cannot share memory, or did not meet in time";
    case COPSE_ERROR_MISMATCH: return "the ranks called different things";
    case COPSE_ERROR_LOST: return "a rank ended in the middle of a call";
    case COPSE_ERROR_MEMORY: return "the system has no memory to give";
  }
  return "no such status";
}

copse_status copse_meeting_create(int ranks, copse_meeting **meeting) {
  return guarded(creation_message, [&] {
    if (ranks < 1 || meeting == nullptr)
      return fail_creation(COPSE_ERROR_ARGUMENT, "a meeting needs 1 rank or more, and a place for its handle");
    const std::size_t bytes = copse::communicator::board_bytes(ranks);
    void *memory = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (memory == nullptr) throw std::bad_alloc();
    std::memset(memory, 0, bytes);
    *meeting = new copse_meeting{ranks, std::shared_ptr<void>(memory, std::free)};
    return COPSE_OK;
  });
}

void copse_meeting_free(copse_meeting *meeting) { delete meeting; }

copse_status copse_comm_create_threads(copse_meeting *meeting, int rank, copse_comm **comm) {
  return guarded(creation_message, [&] {
    if (meeting == nullptr || comm == nullptr)
      return fail_creation(COPSE_ERROR_ARGUMENT, "the meeting or the place for the handle is null");
    if (rank < 0 || rank >= meeting->ranks)
      return fail_creation(COPSE_ERROR_ARGUMENT, out_of("rank", rank, meeting->ranks));
    return finish_creation(copse::communicator::meet_in_memory(meeting->memory.get(), rank, meeting->ranks,
                                                               kThreadsTimeout, meeting->memory),
                           comm);
  });
}

copse_status copse_comm_join(const char *name, int rank, int ranks, double timeout_seconds, copse_comm **comm) {
  return guarded(creation_message, [&] {
    const std::size_t length = name == nullptr ? 0 : std::strlen(name);
    if (length < 1 || length > 80)
      return fail_creation(COPSE_ERROR_ARGUMENT, "a name has 1 to 80 characters");
    if (ranks < 1 || comm == nullptr)
      return fail_creation(COPSE_ERROR_ARGUMENT, "a communicator needs 1 rank or more, and a place for its handle");
    if (rank < 0 || rank >= ranks) return fail_creation(COPSE_ERROR_ARGUMENT, out_of("rank", rank, ranks));
    std::string why;
    auto bootstrap = copse::communicator::meet_by_name(name, rank, ranks, timeout_seconds, why);
    if (!bootstrap) return fail_creation(COPSE_ERROR_UNREACHABLE, why);
    return finish_creation(std::move(bootstrap), comm);
  });
}

copse_status copse_comm_create(int rank, int ranks, copse_allgather allgather, void *context, copse_comm **comm) {
  return guarded(creation_message, [&] {
    if (allgather == nullptr || comm == nullptr || ranks < 1)
      return fail_creation(COPSE_ERROR_ARGUMENT, "allgather or the place for the handle is null, or ranks below 1");
    if (rank < 0 || rank >= ranks) return fail_creation(COPSE_ERROR_ARGUMENT, out_of("rank", rank, ranks));
    return finish_creation(std::make_unique<CallbackBootstrap>(rank, ranks, allgather, context), comm);
  });
}

void copse_comm_free(copse_comm *comm) { delete comm; }

int copse_comm_rank(const copse_comm *comm) { return comm == nullptr ? -1 : comm->communicator->rank(); }
int copse_comm_ranks(const copse_comm *comm) { return comm == nullptr ? -1 : comm->communicator->ranks(); }

const char *copse_comm_message(const copse_comm *comm) {
  return comm == nullptr ? creation_message.c_str() : comm->message.c_str();
}

copse_status copse_barrier(copse_comm *comm) {
  return called(comm, [&] {
    if (!compared(comm, Collective::barrier, 0, 0, 0, nullptr)) return COPSE_ERROR_MISMATCH;
    return status_of(comm, comm->communicator->barrier());
  });
}

copse_status copse_broadcast(copse_comm *comm, void *buffer, size_t bytes, int root) {
  return called(comm, [&] {
    if (root < 0 || root >= comm->communicator->ranks())
      return argument_error(comm, out_of("root", root, comm->communicator->ranks()));
    if (buffer == nullptr && bytes > 0) return argument_error(comm, "buffer is null");
    if (!compared(comm, Collective::broadcast, root, bytes, 1, nullptr)) return COPSE_ERROR_MISMATCH;
    return status_of(comm, comm->communicator->broadcast(buffer, bytes, root));
  });
}

copse_status copse_reduce(copse_comm *comm, const void *input, void *output, size_t count, copse_type type,
                          copse_op op, int root) {
  return called(comm, [&] {
    if (root < 0 || root >= comm->communicator->ranks())
      return argument_error(comm, out_of("root", root, comm->communicator->ranks()));
    if (output == nullptr && count > 0 && root == comm->communicator->rank())
      return argument_error(comm, "output is null on the root");
    copse::engine::Combine combine;
    const copse_status status = prepare(comm, Collective::reduce, root, input, count, type, op, combine);
    if (status != COPSE_OK) return status;
    return status_of(comm, comm->communicator->reduce(input, output, count, copse::kernels::type_size(type), combine,
                                                      root));
  });
}

copse_status copse_allreduce(copse_comm *comm, const void *input, void *output, size_t count, copse_type type,
                             copse_op op) {
  return called(comm, [&] {
    if (output == nullptr && count > 0) return argument_error(comm, "output is null");
    copse::engine::Combine combine;
    const copse_status status = prepare(comm, Collective::allreduce, 0, input, count, type, op, combine);
    if (status != COPSE_OK) return status;
    return status_of(comm,
                     comm->communicator->allreduce(input, output, count, copse::kernels::type_size(type), combine));
  });
}

}  // extern "C"
