// The ranks agree on what to do when only one of them cannot do what the others can.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <functional>

#include "../engine/ranks.hpp"
#include "communicator/card.hpp"
#include "communicator/common_memory.hpp"
#include "communicator/memory_room.hpp"
#include "communicator/name_meeting.hpp"
#include "engine/reach/shared_memory.hpp"
#include "refusal.hpp"
#include "topology/binding.hpp"

namespace copse::test {
namespace {

TEST(Reach, ProcessVmRefusedOnOneRank) {
  const std::string name = "reach-" + std::to_string(getpid());
  const std::vector<std::string> complaints = in_processes(3, [&](int rank) -> std::string {
    if (rank == 1 && !refuse(SYS_process_vm_readv)) return "skip";
    std::string why;
    auto bootstrap = communicator::meet_by_name(name, rank, 3, communicator::Deadline::after(10), why);
    if (!bootstrap) return why;
    const auto comm = communicator::Communicator::create(std::move(bootstrap), nullptr, {}, why);
    if (!comm) return why;
    const communicator::Capabilities& can = comm->capabilities();
    if (can.kernel) return "kernel reach is taken to work";
    if (can.kernel_why_not.find("rank 1") == std::string::npos) return "why not: " + can.kernel_why_not;
    if (rank == 1 && can.kernel_why_not.find("not permitted") == std::string::npos) return "why not: " + can.kernel_why_not;
    engine::Combine combine;
    combine.kernel = kernels::reduce_kernel(COPSE_SUM, COPSE_INT32);
    for (const std::size_t count : {1, 1000, 300000}) {
      std::vector<std::int32_t> in(count, rank + 1), out(count);
      const communicator::Outcome outcome = comm->allreduce(in.data(), out.data(), count, 4, combine);
      if (outcome != communicator::Outcome::done) return comm->explain(outcome);
      if (out != std::vector<std::int32_t>(count, 6)) return "a wrong allreduce";
      if (comm->broadcast(in.data(), count * 4, 2) != communicator::Outcome::done) return "broadcast";
      if (in != std::vector<std::int32_t>(count, 3)) return "a wrong broadcast";
    }
    return {};
  });
  if (complaints[1] == "skip") GTEST_SKIP() << "no seccomp here";
  for (const std::string& complaint : complaints) EXPECT_EQ(complaint, "");
}

TEST(Reach, TheUsersWordLimitsIt) {
  for (const choose::ReachLimit limit : {choose::ReachLimit::kernel, choose::ReachLimit::staged}) {
    choose::Settings settings;
    settings.reach = limit;
    EXPECT_EQ(run_ranks(Kind::processes, 2, settings,
                        [limit](communicator::Communicator& comm) -> std::string {
                          const communicator::Capabilities& can = comm.capabilities();
                          if (can.kernel == (limit == choose::ReachLimit::kernel)) return {};
                          return "kernel reach: " + can.kernel_why_not;
                        }),
              "");
  }
}

// Another file has taken the number ---------------------------------------------------------------------------------

// A file of the user's that notices whether somebody has opened it.
class Watched {
 public:
  enum class Kind : std::uint8_t { file, fifo };
  explicit Watched(Kind kind) {
    if (mkdtemp(folder_) == nullptr) return;
    path_ = std::string(folder_) + "/users.dat";
    if (kind == Kind::fifo) {
      mkfifo(path_.c_str(), 0600);
    } else {
      close(open(path_.c_str(), O_CREAT | O_RDWR, 0600));
      static_cast<void>(truncate(path_.c_str(), off_t{1} << 30));  // as long as any memory, and sparse
    }
    fd_ = open(path_.c_str(), O_RDWR | O_CLOEXEC);
    watch_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    inotify_add_watch(watch_, path_.c_str(), IN_OPEN | IN_MODIFY);
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  ~Watched() {
    close(fd_);
    close(watch_);
    unlink(path_.c_str());
    rmdir(folder_);
  }
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] std::string complaint() const {
    struct stat status{};
    fstat(fd_, &status);
    char events[512];
    std::string wrong = read(watch_, events, sizeof events) > 0 ? "somebody has opened the user's file; " : "";
    if (S_ISREG(status.st_mode) && status.st_blocks != 0) wrong += "somebody has written it; ";
    return wrong;
  }

 private:
  char folder_[32] = "/tmp/copse-reach-XXXXXX";
  std::string path_;
  int fd_ = -1, watch_ = -1;
};

// Changes what this rank says in one of the rounds. The first round has the number 1.
class Saying final : public communicator::Bootstrap {
 public:
  using Change = std::function<void(std::byte*)>;
  Saying(std::unique_ptr<Bootstrap> inner, int round, Change change)
      : inner_(std::move(inner)), round_(round), change_(std::move(change)) {}
  [[nodiscard]] int rank() const override { return inner_->rank(); }
  [[nodiscard]] int ranks() const override { return inner_->ranks(); }
  bool allgather(const void* mine, void* all, std::size_t bytes) override {
    std::vector<std::byte> said(bytes);
    std::memcpy(said.data(), mine, bytes);
    if (++at_ == round_) change_(said.data());
    return inner_->allgather(said.data(), all, bytes);
  }
  void settle(std::function<void()> idle, std::function<bool()> all_live) override {
    inner_->settle(std::move(idle), std::move(all_live));
  }

 private:
  std::unique_ptr<Bootstrap> inner_;
  int round_, at_ = 0;
  Change change_;
};

// Returns a change of a word that is said as the bytes of this type.
template <class Word>
Saying::Change changed(std::function<void(Word&)> change) {
  return [change = std::move(change)](std::byte* said) {
    Word word;
    std::memcpy(&word, said, sizeof word);
    change(word);
    std::memcpy(said, &word, sizeof word);
  };
}

std::unique_ptr<communicator::Communicator> join_saying(const std::string& name, int rank, int ranks, int round,
                                                        Saying::Change change, std::string& why) {
  auto bootstrap = communicator::meet_by_name(name, rank, ranks, communicator::Deadline::after(20), why);
  if (!bootstrap) return nullptr;
  return communicator::Communicator::create(std::make_unique<Saying>(std::move(bootstrap), round, std::move(change)), nullptr, {},
                                            why);
}

// Between the making and the use of the common memory, the program closes its descriptor and opens a file.
TEST(AnotherFile, InsteadOfTheCommonMemory) {
  for (const Watched::Kind kind : {Watched::Kind::file, Watched::Kind::fifo}) {
    const Watched users(kind);
    const std::string name = "another-" + std::to_string(getpid()) + "-" + std::to_string(static_cast<int>(kind));
    const std::vector<std::string> complaints = in_processes(2, [&](int rank) -> std::string {
      std::string why;
      const auto comm = join_saying(
          name, rank, 2, 2,
          [&](std::byte* offer) {
            const std::int32_t number = users.fd();
            if (rank == 0) std::memcpy(offer, &number, sizeof number);
          },
          why);
      if (comm) return "there is a communicator";
      return why.find(rank == 0 ? "is another file by now" : "rank 0 could not open or map") == std::string::npos ? why : "";
    });
    for (const std::string& complaint : complaints) EXPECT_EQ(complaint, "");
    EXPECT_EQ(users.complaint(), "");
  }
}

// Like a daemon before it joins. The heap's card shows its number. In this test the heap is any memfd.
TEST(AnotherFile, InsteadOfTheHeap) {
  constexpr std::size_t kBytes = 32 << 20;
  for (const bool closed : {false, true}) {
    const Watched users(Watched::Kind::file);
    const std::string name = "heap-" + std::to_string(getpid()) + (closed ? "-closed" : "");
    const std::vector<std::string> complaints = in_processes(2, [&](int rank) -> std::string {
      const int memory = memfd_create("heap", MFD_CLOEXEC);
      if (ftruncate(memory, kBytes) != 0) return "no memory";
      std::string why;
      const auto comm = join_saying(name, rank, 2, 1, changed<communicator::Card>([&](communicator::Card& card) {
                                      card.heap_base = 1 << 30;
                                      card.heap_bytes = kBytes;
                                      card.heap_file = engine::file_id(memory);
                                      card.heap_fd = closed && rank == 1 ? users.fd() : memory;
                                    }),
                                    why);
      if (!comm) return why;
      const communicator::Capabilities& can = comm->capabilities();
      if (can.heap == closed) return "heap: " + can.heap_why_not;
      return closed && rank == 0 && can.heap_why_not.find("is another file by now") == std::string::npos ? can.heap_why_not : "";
    });
    for (const std::string& complaint : complaints) EXPECT_EQ(complaint, "");
    EXPECT_EQ(users.complaint(), "");
  }
}

// The ranks are bound to different processors, and the first rank looks at the machine for both.
TEST(Machine, IsLookedAtByTheFirstRank) {
  const topology::CpuSet mine = topology::current_processors();
  if (mine.size() < 2) GTEST_SKIP() << "this process may use one processor";
  const std::string name = "machine-" + std::to_string(getpid());
  const std::vector<std::string> complaints = in_processes(2, [&](int rank) -> std::string {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(mine[static_cast<std::size_t>(rank)], &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) return "cannot be bound";
    std::string why;
    const auto comm = join_saying(name, rank, 2, 0, [](std::byte*) {}, why);
    if (!comm) return why;
    const topology::Machine machine = topology::Machine::discover();
    for (const int other : {0, 1}) {
      const topology::Place expected = machine.place_of(topology::CpuSet{mine[static_cast<std::size_t>(other)]});
      if (comm->places()[static_cast<std::size_t>(other)] != expected) return "another place of rank " + std::to_string(other);
    }
    return {};
  });
  for (const std::string& complaint : complaints) EXPECT_EQ(complaint, "");
}

TEST(Room, ThatOneRankLacks) {
  const std::string name = "no-room-" + std::to_string(getpid());
  const std::vector<std::string> complaints = in_processes(2, [&](int rank) -> std::string {
    std::string why;
    const auto comm = join_saying(name, rank, 2, 1, changed<communicator::Card>([&](communicator::Card& card) {
                                    card.left_by_cgroups = 2 * communicator::kRoomOfRank - (rank == 1 ? 1 : 0);
                                  }),
                                  why);
    if (comm) return "there is a communicator";
    return why == "a cgroup of rank 1 allows less than 4 MiB more for each rank of the node" ? "" : why;
  });
  for (const std::string& complaint : complaints) EXPECT_EQ(complaint, "");
}

TEST(Machine, ThatTheFirstRankCannotLookAt) {
  const std::string name = "no-machine-" + std::to_string(getpid());
  const std::vector<std::string> complaints = in_processes(2, [&](int rank) -> std::string {
    std::string why;
    const auto comm = join_saying(
        name, rank, 2, 2,
        changed<communicator::CommonMemory::Offer>([](communicator::CommonMemory::Offer& offer) { offer.facts.online = 0; }), why);
    if (comm) return "there is a communicator";
    return why.find("rank 0 cannot look at its machine") == std::string::npos ? why : "";
  });
  for (const std::string& complaint : complaints) EXPECT_EQ(complaint, "");
}

}  // namespace
}  // namespace copse::test
