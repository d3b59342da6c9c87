// The C interface: making communicators.
#include "api.hpp"

#include <cxxabi.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <optional>

#include "communicator/card.hpp"
#include "communicator/helper.hpp"
#include "communicator/name_meeting.hpp"
#include "communicator/shared_bootstrap.hpp"
#include "engine/signal/cancel.hpp"
#include "topology/error.hpp"

using namespace copse::communicator;
using namespace copse::c;

// no_sanitize: when a cancelled thread unwinds, there is no exception object, so the reference to it is null.
__attribute__((cold, no_sanitize("null"))) copse_status copse::c::caught(std::string& message) {
  const auto keep = [&](const char* why) {
    try {
      message = why;
    } catch (...) {
      message.clear();
    }
  };
  try {
    throw;
  } catch (const std::bad_alloc&) {
    message.clear();  // a text might need memory; copse_status_text has one
    return COPSE_ERROR_MEMORY;
  } catch (const copse::topology::Error& error) {  // its text names COPSE_TOPOLOGY, or says why hwloc cannot look
    keep(error.what());
    return COPSE_ERROR_VARIABLE;
  } catch (const std::exception& error) {
    keep(error.what());
    return COPSE_ERROR_ARGUMENT;
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
    keep("a function of the caller threw something that is not a std::exception");
    return COPSE_ERROR_ARGUMENT;
  }
}

struct copse_meeting {
  Meeting ranks;
  std::optional<Meeting> with_helpers;  // of the ranks and their helpers, if they have any
};

namespace {

constexpr double kThreadsTimeout = 3600;  // seconds; if a thread of this process takes longer, the program is wrong

copse_status fail_creation(copse_status status, std::string why) {
  creation_message() = std::move(why);
  return status;
}

// Returns the progress that this rank's communicators share. Ranks may be threads, and a forked process is another
// rank.
std::shared_ptr<Progress> my_progress(bool helped) {
  struct Mine {
    std::shared_ptr<Progress> progress;
    pid_t process = 0;
  };
  auto& [progress, process] = OfThread<Mine, Mine>::here();
  if (process != getpid()) {
    progress = std::make_shared<Progress>();
    progress->let_cancel();
  }
  process = getpid();
  if (helped && !progress->helped()) progress->ask_for_help();
  return progress;
}

// Reads the variables. If they are wrong, the result is empty, and the message says why.
std::optional<copse::choose::Settings> my_settings() {
  std::string why;
  auto settings = copse::choose::read_settings(environ, why);
  if (settings) why = copse::communicator::file_mistake(*settings);
  if (why.empty()) return settings;
  creation_message() = std::move(why);
  return std::nullopt;
}

// Comes to the meeting of the ranks and their helpers, and makes their communicator.
copse_status come_with_helpers(copse_meeting& meeting, int number, copse::choose::Settings settings,
                               std::optional<ServedStreams>& streams) {
  settings.helpers = meeting.with_helpers->ranks() - meeting.ranks.ranks();
  settings.streams = copse::choose::kServedStreams;
  auto bootstrap = meeting.with_helpers->come(number, Deadline::after(kThreadsTimeout));
  if (!bootstrap)
    return fail_creation(COPSE_ERROR_ARGUMENT,
                         "another thread already waits there under this number; give every thread a number of its own");
  auto comm =
      Communicator::create(std::move(bootstrap), nullptr, settings, creation_message(), my_progress(settings.progress_thread));
  if (!comm) return COPSE_ERROR_UNREACHABLE;
  streams.emplace(std::move(comm));
  return COPSE_OK;
}

copse_status finish_creation(std::unique_ptr<Bootstrap> bootstrap, const std::optional<copse::choose::Settings>& settings,
                             copse_comm** comm, copse_meeting* with_helpers = nullptr) {
  if (!settings) return COPSE_ERROR_VARIABLE;
  std::string why;
  const int rank = bootstrap->rank();
  auto result = std::make_unique<copse_comm>();
  *result->self = result.get();
  result->check = settings->check;
  result->communicator =
      Communicator::create(std::move(bootstrap), nullptr, *settings, why, my_progress(settings->progress_thread));
  if (!result->communicator) return fail_creation(COPSE_ERROR_UNREACHABLE, why);
  if (with_helpers != nullptr && with_helpers->with_helpers) {
    copse_status status = COPSE_OK;
    try {
      status = come_with_helpers(*with_helpers, rank, *settings, result->served);
    } catch (const std::exception&) {
      result->communicator->give_up();  // the other ranks may have theirs
      throw;
    }
    if (status != COPSE_OK) {
      result->communicator->give_up();
      return status;
    }
  }
  *comm = result.release();
  return COPSE_OK;
}

class CallbackBootstrap final : public Bootstrap {
 public:
  CallbackBootstrap(int rank, int ranks, copse_allgather_callback allgather, void* context)
      : rank_(rank), ranks_(ranks), allgather_(allgather), context_(context) {}
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int ranks() const override { return ranks_; }
  bool allgather(const void* mine, void* all, std::size_t bytes) override { return allgather_(context_, mine, all, bytes) == 0; }

 private:
  int rank_, ranks_;
  copse_allgather_callback allgather_;
  void* context_;
};

}  // namespace

extern "C" {

const char* copse_status_text(copse_status status) {
  switch (status) {
    case COPSE_OK: return "all is well";
    case COPSE_ERROR_ARGUMENT: return "an argument is out of range, or the operator is not defined for the type";
    case COPSE_ERROR_VARIABLE: return "a COPSE_ environment variable has an impossible value";
    case COPSE_ERROR_UNREACHABLE: return "the ranks cannot share memory, or did not meet in time";
    case COPSE_ERROR_MISMATCH: return "the ranks called different things";
    case COPSE_ERROR_LOST: return "a rank ended in the middle of a call";
    case COPSE_ERROR_MEMORY: return "the system has no memory left";
    case COPSE_ERROR_TRUNCATED: return "a rank sent more than another has room for";
  }
  return "no such status";
}

copse_status copse_meeting_create(int ranks, copse_meeting** meeting) {
  return guarded(creation_message(), [&] {
    if (ranks < 1 || meeting == nullptr)
      return fail_creation(COPSE_ERROR_ARGUMENT, "a meeting needs at least 1 rank, and a place for its handle");
    *meeting = new copse_meeting{Meeting(ranks), std::nullopt};
    return COPSE_OK;
  });
}

copse_status copse_meeting_create_with_helpers(int ranks, int helpers, copse_meeting** meeting) {
  return guarded(creation_message(), [&] {
    if (ranks < 1 || helpers < 1 || meeting == nullptr)
      return fail_creation(COPSE_ERROR_ARGUMENT, "such a meeting needs at least 1 rank, 1 helper, and a place for its handle");
    std::unique_ptr<copse_meeting> made(new copse_meeting{Meeting(ranks), std::nullopt});
    made->with_helpers.emplace(ranks + helpers);
    *meeting = made.release();
    return COPSE_OK;
  });
}

copse_status copse_help_threads(copse_meeting* meeting, int helper) {
  return guarded(creation_message(), [&] {
    if (meeting == nullptr || !meeting->with_helpers)
      return fail_creation(COPSE_ERROR_ARGUMENT, "the meeting is null, or was made without helpers");
    const int ranks = meeting->ranks.ranks(), helpers = meeting->with_helpers->ranks() - ranks;
    if (helper < 0 || helper >= helpers) return fail_creation(COPSE_ERROR_ARGUMENT, out_of("helper", helper, helpers));
    const auto settings = my_settings();
    if (!settings) return COPSE_ERROR_VARIABLE;
    std::optional<ServedStreams> streams;
    if (const copse_status status = come_with_helpers(*meeting, ranks + helper, *settings, streams); status != COPSE_OK)
      return status;
    help(std::move(*streams));
    return COPSE_OK;
  });
}

void copse_meeting_free(copse_meeting* meeting) { delete meeting; }

copse_status copse_comm_create_threads(copse_meeting* meeting, int rank, copse_comm** comm) {
  const copse::engine::CancelDeferred deferred;
  return guarded(creation_message(), [&] {
    if (meeting == nullptr || comm == nullptr)
      return fail_creation(COPSE_ERROR_ARGUMENT, "the meeting or the place for the handle is null");
    if (rank < 0 || rank >= meeting->ranks.ranks())
      return fail_creation(COPSE_ERROR_ARGUMENT, out_of("rank", rank, meeting->ranks.ranks()));
    auto bootstrap = meeting->ranks.come(rank, Deadline::after(kThreadsTimeout));
    if (!bootstrap)
      return fail_creation(COPSE_ERROR_ARGUMENT, "rank " + std::to_string(rank) +
                                                     " is already another thread, which waits for the other ranks; "
                                                     "give every thread a rank of its own");
    return finish_creation(std::move(bootstrap), my_settings(), comm, meeting);
  });
}

copse_status copse_comm_join(const char* name, int rank, int ranks, double timeout_seconds, copse_comm** comm) {
  const copse::engine::CancelDeferred deferred;
  return guarded(creation_message(), [&] {
    const std::size_t length = name == nullptr ? 0 : std::strlen(name);
    if (length < 1 || length > 80) return fail_creation(COPSE_ERROR_ARGUMENT, "a name must have 1 to 80 characters");
    if (ranks < 1 || comm == nullptr)
      return fail_creation(COPSE_ERROR_ARGUMENT, "a communicator needs at least 1 rank, and a place for its handle");
    if (rank < 0 || rank >= ranks) return fail_creation(COPSE_ERROR_ARGUMENT, out_of("rank", rank, ranks));
    if (!(timeout_seconds >= 0))  // also refuses NaN
      return fail_creation(COPSE_ERROR_ARGUMENT,
                           "the timeout is " + std::to_string(timeout_seconds) + " seconds; expected 0 or more");
    std::string why;
    auto bootstrap = meet_by_name(name, rank, ranks, Deadline::after(timeout_seconds), why);
    if (!bootstrap) return fail_creation(COPSE_ERROR_UNREACHABLE, why);
    return finish_creation(std::move(bootstrap), my_settings(), comm);
  });
}

copse_status copse_comm_create(int rank, int ranks, copse_allgather_callback allgather, void* context, copse_comm** comm) {
  const copse::engine::CancelDeferred deferred;
  return guarded(creation_message(), [&] {
    if (allgather == nullptr || comm == nullptr || ranks < 1)
      return fail_creation(COPSE_ERROR_ARGUMENT, "allgather or the place for the handle is null, or ranks below 1");
    if (rank < 0 || rank >= ranks) return fail_creation(COPSE_ERROR_ARGUMENT, out_of("rank", rank, ranks));
    auto bootstrap = std::make_unique<CallbackBootstrap>(rank, ranks, allgather, context);
    const auto settings = my_settings();
    if (!settings) Communicator::decline(*bootstrap);  // the others are in the callback, and nothing else would tell them
    return finish_creation(std::move(bootstrap), settings, comm);
  });
}

void copse_comm_free(copse_comm* comm) {
  const copse::engine::CancelDeferred deferred;
  if (comm == nullptr) return;
  try {
    if (const std::string wrong = comm->communicator->save_lessons(); !wrong.empty())
      std::fprintf(stderr, "copse: %s\n", wrong.c_str());
  } catch (const std::exception&) {  // what was learned is lost
  }
  *comm->self = nullptr;
  delete comm;
}

int copse_comm_rank(const copse_comm* comm) { return comm == nullptr ? -1 : comm->communicator->rank(); }
int copse_comm_ranks(const copse_comm* comm) { return comm == nullptr ? -1 : comm->communicator->ranks(); }

const char* copse_comm_message(const copse_comm* comm) {
  return comm == nullptr ? creation_message().c_str() : comm->message.c_str();
}

}  // extern "C"
