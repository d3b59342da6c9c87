// The processes that this MPI has started, for programs that are linked with no MPI (communicator/network.hpp): UPC's threads.
//
// A put or a fetch may need the target's MPI to do its part. So a thread of each process asks the MPI now and then, however long
// the program computes. Only one thread of a process is in the MPI at a time, so that the MPI need not serve several at once.
#include "communicator/network.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "choose/settings.hpp"
#include "communicator/card.hpp"
#include "communicator/flush.hpp"
#include "communicator/node_watch.hpp"
#include "exports.hpp"
#include "report.hpp"
#include "wire.hpp"
#include "world.hpp"

namespace copse::mpi {
namespace {

using communicator::Correspondent;

// The functions of the MPI that only this file needs.
#define COPSE_NETWORK_NEEDS(X) \
  X(Finalize)                  \
  X(Finalized)                 \
  X(Comm_dup)                  \
  X(Iprobe)                    \
  X(Comm_set_errhandler)       \
  X(Win_create)                \
  X(Win_free)                  \
  X(Win_lock_all)              \
  X(Win_unlock_all)            \
  X(Win_flush) X(Win_set_errhandler) X(Win_get_attr) X(Get) X(Put) X(Rget) X(Rput) X(Fetch_and_op) X(Compare_and_swap)

struct Functions {
#define COPSE_NETWORK_NEED(name) decltype(&PMPI_##name) name = nullptr;
  COPSE_NETWORK_NEEDS(COPSE_NETWORK_NEED)
#undef COPSE_NETWORK_NEED

  // Looks all of these functions up. Returns the name of one that the MPI lacks, or null if it has them all.
  [[nodiscard]] const char* find() {
#define COPSE_NETWORK_NEED(function)                                              \
  function = reinterpret_cast<decltype(function)>(mpi_symbol("PMPI_" #function)); \
  if (function == nullptr) return "MPI_" #function;
    COPSE_NETWORK_NEEDS(COPSE_NETWORK_NEED)
#undef COPSE_NETWORK_NEED
    return nullptr;
  }
};

auto& in_mpi = *new std::mutex;  // held by the thread that is in the MPI; never destroyed

// A wire between threads. Each pair of threads of two processes has tags of its own.
class ThreadWire final : public MessageWire {
 public:
  ThreadWire(MPI_Comm comm, communicator::NodeWatch& watch, std::vector<Correspondent> all, int me, int threads, int first_tag)
      : MessageWire(comm), watch_(watch), all_(std::move(all)), me_(at(me).thread), threads_(threads), first_tag_(first_tag) {
    for (const Correspondent& each : all_) processes_.push_back(each.process);
  }

  bool send(const void* data, std::size_t bytes, int peer, int tag, std::uint64_t ticket) override {
    const std::lock_guard lock(in_mpi);
    return MessageWire::send(data, bytes, peer, tag, ticket);
  }
  bool expect(void* data, std::size_t bytes, int peer, int tag) override {
    const std::lock_guard lock(in_mpi);
    return MessageWire::expect(data, bytes, peer, tag);
  }
  // send_any() is not overridden, because it calls send(), which locks.
  bool expect_any(void* data, std::size_t room, int peer, int tag) override {
    const std::lock_guard lock(in_mpi);
    return MessageWire::expect_any(data, room, peer, tag);
  }
  engine::Wired receive(int peer, int tag) override {
    const std::lock_guard lock(in_mpi);
    return MessageWire::receive(peer, tag);
  }
  engine::Wired drain(int tag, std::uint64_t ticket) override {
    const std::lock_guard lock(in_mpi);
    return MessageWire::drain(tag, ticket);
  }
  [[nodiscard]] int lost(Clock::time_point since) override { return watch_.lost(processes_, since); }
  void abandon() override {
    const std::lock_guard lock(in_mpi);
    MessageWire::abandon();
  }
  [[nodiscard]] std::unique_ptr<engine::Wire> lane(int) override { return nullptr; }
  [[nodiscard]] std::size_t lanes_most() const override { return 0; }

 private:
  [[nodiscard]] const Correspondent& at(int peer) const { return all_[static_cast<std::size_t>(peer)]; }
  [[nodiscard]] int first_of(int from, int to) const { return first_tag_ + (from * threads_ + to) * kTagsOfLane; }
  [[nodiscard]] int there(int peer) const override { return at(peer).process; }
  [[nodiscard]] int tag_to(int peer, int tag) const override { return first_of(me_, at(peer).thread) + tag; }
  [[nodiscard]] int tag_from(int peer, int tag) const override { return first_of(at(peer).thread, me_) + tag; }

  communicator::NodeWatch& watch_;
  std::vector<Correspondent> all_;
  std::vector<int> processes_;  // of `all_`
  int me_, threads_, first_tag_;
};

class MpiNetwork final : public communicator::Network {
 public:
  // Starts the MPI, unless the program has. Returns the reason if that does not work.
  [[nodiscard]] std::string start() {
    if (const char* const lacking = mpi_.find()) return std::string("the MPI lacks ") + lacking;
    int initialized = 0, provided = MPI_THREAD_SINGLE;
    real().Initialized_(&initialized);
    if (initialized == 0) {
      if (real().Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS) return "MPI_Init_thread failed";
      on_exit(finalize, this);
    } else {
      real().Query_thread_(&provided);
    }
    // Calls of a program that has started the MPI itself do not wait for Copse's threads.
    serves_threads_ = provided >= (initialized == 0 ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE);
    if (mpi_.Comm_dup(world(), &comm_) != MPI_SUCCESS) return "MPI_Comm_dup failed";
    mpi_.Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    real().Comm_rank_(comm_, &rank_);
    real().Comm_size_(comm_, &ranks_);
    return watch() ? "" : "MPI_Allgather failed";
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int ranks() const override { return ranks_; }
  [[nodiscard]] bool serves_threads() const override { return serves_threads_; }
  bool allgather(const void* mine, void* all, std::size_t bytes) override {
    const std::lock_guard lock(in_mpi);
    const int count = static_cast<int>(bytes);
    const Raw byte = raw_of(MPI_BYTE);
    return real().Allgather(mine, count, byte, all, count, byte, raw_of(comm_)) == MPI_SUCCESS;
  }

  [[nodiscard]] std::unique_ptr<engine::Wire> wire(std::vector<Correspondent> all, int me, int threads, int stream) override {
    const std::int64_t tags = std::int64_t{threads} * threads * kTagsOfLane;
    const std::lock_guard lock(in_mpi);
    if ((stream + 1) * tags > highest_tag()) return nullptr;
    return std::make_unique<ThreadWire>(comm_, *watch_, std::move(all), me, threads, static_cast<int>(stream * tags));
  }

  [[nodiscard]] const char* why_not_between_nodes() const override {
    return kFamily == "Open MPI" ? "MPI_Win_flush of Open MPI 5.0.11 hangs between nodes; use MPICH or Intel MPI" : "";
  }
  bool begin(std::span<std::byte> exposed) override {
    busy_ = true;
    if (exposed.empty()) return true;
    if (mpi_.Win_create(exposed.data(), static_cast<MPI_Aint>(exposed.size()), 1, MPI_INFO_NULL, comm_, &window_) != MPI_SUCCESS)
      return false;
    mpi_.Win_set_errhandler(window_, MPI_ERRORS_RETURN);
    int* model = nullptr;
    int known = 0;  // required: this process's loads see what others have put
    mpi_.Win_get_attr(window_, MPI_WIN_MODEL, static_cast<void*>(&model), &known);
    if (known == 0 || *model != MPI_WIN_UNIFIED) return false;
    if (mpi_.Win_lock_all(MPI_MODE_NOCHECK, window_) != MPI_SUCCESS) return false;
    if (serves_threads_) asking_ = std::jthread([this](const std::stop_token& stop) { ask_now_and_then(stop); });
    return true;
  }
  void end() override {
    busy_ = false;
    if (window_ == MPI_WIN_NULL) return;
    asking_ = {};
    mpi_.Win_unlock_all(window_);
    mpi_.Win_free(&window_);
  }
  bool get(void* to, int process, std::size_t at, std::size_t bytes) override {
    const std::lock_guard lock(in_mpi);
    return in_pieces(bytes,
                     [&](std::size_t from, int count) {
                       return mpi_.Get(static_cast<std::byte*>(to) + from, count, MPI_BYTE, process,
                                       static_cast<MPI_Aint>(at + from), count, MPI_BYTE, window_);
                     }) &&
           mpi_.Win_flush(process, window_) == MPI_SUCCESS;
  }
  bool put(const void* from, int process, std::size_t at, std::size_t bytes) override {
    const std::lock_guard lock(in_mpi);
    return in_pieces(bytes,
                     [&](std::size_t begin, int count) {
                       return mpi_.Put(static_cast<const std::byte*>(from) + begin, count, MPI_BYTE, process,
                                       static_cast<MPI_Aint>(at + begin), count, MPI_BYTE, window_);
                     }) &&
           mpi_.Win_flush(process, window_) == MPI_SUCCESS;
  }
  bool start_get(void* to, int process, std::size_t at, std::size_t bytes, std::uint64_t& ticket) override {
    return start({process, false, {}}, bytes, ticket, [&](std::size_t from, int count, MPI_Request* request) {
      return mpi_.Rget(static_cast<std::byte*>(to) + from, count, MPI_BYTE, process, static_cast<MPI_Aint>(at + from), count,
                       MPI_BYTE, window_, request);
    });
  }
  bool start_put(const void* from, int process, std::size_t at, std::size_t bytes, std::uint64_t& ticket) override {
    return start({process, true, {}}, bytes, ticket, [&](std::size_t begin, int count, MPI_Request* request) {
      return mpi_.Rput(static_cast<const std::byte*>(from) + begin, count, MPI_BYTE, process, static_cast<MPI_Aint>(at + begin),
                       count, MPI_BYTE, window_, request);
    });
  }
  // The bytes of a put are at their target only after the window was flushed, too.
  [[nodiscard]] engine::Wired has_ended(std::uint64_t ticket) override {
    const std::lock_guard lock(in_mpi);
    if (ticket >= started_.size() || started_[ticket].requests.empty()) return engine::Wired::failed;
    Access& started = started_[ticket];
    for (MPI_Request& request : started.requests)
      if (const engine::Wired answer = ask(request); answer != engine::Wired::done) return answer;
    started.requests.clear();
    free_.push_back(ticket);
    const bool flushed = !started.puts || mpi_.Win_flush(started.process, window_) == MPI_SUCCESS;
    return flushed ? engine::Wired::done : engine::Wired::failed;
  }
  bool fetch_add(int process, std::size_t at, std::int64_t value, std::int64_t& before) override {
    const std::lock_guard lock(in_mpi);
    return mpi_.Fetch_and_op(&value, &before, MPI_INT64_T, process, static_cast<MPI_Aint>(at), MPI_SUM, window_) == MPI_SUCCESS &&
           mpi_.Win_flush(process, window_) == MPI_SUCCESS;
  }
  bool compare_and_swap(int process, std::size_t at, std::int64_t expected, std::int64_t desired, std::int64_t& before) override {
    const std::lock_guard lock(in_mpi);
    return mpi_.Compare_and_swap(&desired, &expected, &before, MPI_INT64_T, process, static_cast<MPI_Aint>(at), window_) ==
               MPI_SUCCESS &&
           mpi_.Win_flush(process, window_) == MPI_SUCCESS;
  }

  // A thread that is in the MPI gets a second to come out. It may wait for a process that has died.
  [[noreturn]] void abort(int status) override {
    for (int tries = 0; tries < 1000 && !in_mpi.try_lock(); ++tries) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    abort_all(status);
  }

 private:
  // Gets ready to call the nodes of the other processes. Returns false if they could not be gathered.
  bool watch() {
    std::string mistake;  // UPC says what is wrong with the variables
    const auto settings = choose::read_settings(environ, mistake);
    const std::chrono::seconds limit(settings ? settings->node_timeout : 0);
    watch_ =
        communicator::watch_nodes(limit, communicator::host_id(), rank_, ranks_,
                                  [this](const void* mine, void* all, std::size_t bytes) { return allgather(mine, all, bytes); });
    return watch_ != nullptr;
  }

  template <class Move>
  static bool in_pieces(std::size_t bytes, const Move& move) {
    for (std::size_t at = 0; at < bytes; at += kMessageMax)
      if (move(at, static_cast<int>(std::min(kMessageMax, bytes - at))) != MPI_SUCCESS) return false;
    return true;
  }

  struct Access {
    int process;
    bool puts;
    std::vector<MPI_Request> requests;  // none: it has ended
  };
  template <class Move>
  bool start(Access started, std::size_t bytes, std::uint64_t& ticket, const Move& move) {
    const std::lock_guard lock(in_mpi);
    const bool works = in_pieces(
        bytes, [&](std::size_t from, int count) { return move(from, count, &started.requests.emplace_back(MPI_REQUEST_NULL)); });
    if (!works) return false;
    if (free_.empty()) {
      free_.push_back(started_.size());
      started_.emplace_back();
    }
    ticket = free_.back();
    free_.pop_back();
    started_[ticket] = std::move(started);
    return true;
  }

  void ask_now_and_then(const std::stop_token& stop) const {
    constexpr std::chrono::microseconds kNap{50};
    while (!stop.stop_requested()) {
      if (const std::unique_lock lock(in_mpi, std::try_to_lock); lock) {
        int flag = 0;
        mpi_.Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &flag, MPI_STATUS_IGNORE);
      }
      std::this_thread::sleep_for(kNap);
    }
  }

  // Runs at the end of the process, which has this status. A forked child does nothing here, because it is no process of the
  // MPI's.
  static void finalize(int status, void* self) {
    auto& network = *static_cast<MpiNetwork*>(self);
    if (network.process_ != getpid()) return;
    if (network.busy_) {
      communicator::flush_streams();  // the C library would do that too late
      network.abort(status);
    }
    int done = 0;
    if (network.mpi_.Finalized(&done) == MPI_SUCCESS && done == 0) network.mpi_.Finalize();
  }

  Functions mpi_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Win window_ = MPI_WIN_NULL;
  int rank_ = 0, ranks_ = 1;
  bool serves_threads_ = false, busy_ = false;
  pid_t process_ = getpid();
  std::jthread asking_;  // while memory is exposed
  std::vector<Access> started_;  // by ticket
  std::vector<std::uint64_t> free_;  // tickets
  std::unique_ptr<communicator::NodeWatch> watch_;
};

communicator::Network* make_network(int version, std::string& why_not) {
  if (version != communicator::kNetworkVersion) {
    why_not = std::string(kLibrary) + " and the program's libcopse.so are of different versions of Copse";
    return nullptr;
  }
  const void* const mpi = dlsym(RTLD_DEFAULT, "PMPI_Init");
  if (mpi == nullptr) {
    why_not = "no MPI is loaded; copse run loads that of its launcher";
    return nullptr;
  }
  if (!find_real(mpi)) {
    why_not = "the MPI lacks what Copse needs";
    return nullptr;
  }
  why_not = wrong_mpi();
  if (!why_not.empty()) return nullptr;
  auto* const network = new MpiNetwork;  // never destroyed: threads that end late may use it
  why_not = network->start();
  return why_not.empty() ? network : nullptr;
}

}  // namespace
}  // namespace copse::mpi

// Not a function of the MPI. Its name stands in communicator/network.hpp.
extern "C" __attribute__((visibility("default"))) copse::communicator::Network* copse_network(int version, std::string& why_not) {
  static std::string why;
  static copse::communicator::Network* const made = copse::mpi::make_network(version, why);
  why_not = why;
  return made;
}
