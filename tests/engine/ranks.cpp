// Runs threads and forked processes as ranks.
#include "ranks.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <compare>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "communicator/card.hpp"
#include "communicator/name_meeting.hpp"
#include "communicator/shared_bootstrap.hpp"
#include "communicator/survey.hpp"
#include "graph.hpp"

namespace copse::test {
namespace {

constexpr double kTimeout = 60;
constexpr std::size_t kComplaintBytes = 2048;

// Memory that forked processes share.
class Common {
 public:
  explicit Common(std::size_t bytes)
      : bytes_(bytes), base_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (base_ == MAP_FAILED) throw std::bad_alloc();
  }
  Common(const Common&) = delete;
  Common& operator=(const Common&) = delete;
  ~Common() { munmap(base_, bytes_); }
  [[nodiscard]] std::byte* at(std::size_t offset) const { return static_cast<std::byte*>(base_) + offset; }

 private:
  std::size_t bytes_;
  void* base_;
};

// Keeps the complaint of the first rank that finds something wrong. Later complaints are consequences of it.
class FirstComplaint {
 public:
  FirstComplaint() : common_(sizeof(Text)) {}
  void make(int rank, const std::string& wrong) {
    if (text().taken.exchange(true)) return;
    std::snprintf(text().bytes, sizeof text().bytes, "rank %d: %s\n", rank, wrong.c_str());
  }
  [[nodiscard]] std::string made() const { return text().bytes; }

 private:
  struct Text {
    std::atomic<bool> taken;
    char bytes[kComplaintBytes];
  };
  [[nodiscard]] Text& text() const { return *reinterpret_cast<Text*>(common_.at(0)); }
  Common common_;
};

// Makes every rank, including itself, look like a process of its own. (The one process still maps the common memory
// once: if it were mapped in two places, ThreadSanitizer would take it for two memories.)
class ApartBootstrap final : public communicator::Bootstrap {
 public:
  explicit ApartBootstrap(std::unique_ptr<Bootstrap> inner) : inner_(std::move(inner)) {}
  [[nodiscard]] int rank() const override { return inner_->rank(); }
  [[nodiscard]] int ranks() const override { return inner_->ranks(); }
  bool allgather(const void* mine, void* all, std::size_t bytes) override {
    if (introduced_ || bytes != sizeof(communicator::Card)) return inner_->allgather(mine, all, bytes);
    introduced_ = true;
    communicator::Card card;
    std::memcpy(&card, mine, sizeof card);
    own_process_ = card.process + 1 + static_cast<std::uint64_t>(rank());
    card.process = own_process_;
    card.probe = reinterpret_cast<std::uint64_t>(&own_process_);
    return inner_->allgather(&card, all, bytes);
  }
  void settle(std::function<void()> idle, std::function<bool()> all_live) override {
    inner_->settle(std::move(idle), std::move(all_live));
  }

 private:
  std::unique_ptr<Bootstrap> inner_;
  bool introduced_ = false;
  std::uint64_t own_process_ = 0;
};

// What threads send that treat one another as nodes. Some channels are hasty: a letter comes to its place as soon as it was sent
// and is expected, so that the test notices a place that is still in use. In the others nothing is copied before the receive. So
// the test notices a source that is not kept until it is drained, and a rank that waits although the other side must take something
// first.
struct Mail {
  struct Channel {
    int from, to, tag;
    friend auto operator<=>(const Channel&, const Channel&) = default;
    [[nodiscard]] bool is_hasty() const { return (from + to + tag) % 2 == 0; }
  };
  struct Letter {
    Channel channel;
    const void* data;
    std::size_t bytes;
    std::uint64_t ticket;
  };
  struct Delivery {
    void* data;
    std::size_t bytes;
    bool any = false;  // only the sender knows the length
    bool filled = false, fits = true;
  };

  // Brings a letter to the first empty place of its channel.
  void deliver(std::list<Letter>::iterator letter) {
    auto& places = expected[letter->channel];
    const auto place = std::find_if(places.begin(), places.end(), [](const Delivery& each) { return !each.filled; });
    place->filled = true;
    place->fits = place->any ? place->bytes >= letter->bytes : place->bytes == letter->bytes;
    const std::size_t bytes = std::min(place->bytes, letter->bytes);
    if ((place->fits || place->any) && bytes > 0) std::memcpy(place->data, letter->data, bytes);
    letters.erase(letter);
  }
  std::list<Letter>::iterator first_of(const Channel& channel) {
    return std::find_if(letters.begin(), letters.end(), [&](const Letter& each) { return each.channel == channel; });
  }

  // A collective of the leaders. The last one that comes makes the results of all.
  struct Meeting {
    std::map<int, engine::LeadersCall> given;  // by rank
    bool over = false;
  };
  void end(Meeting& meeting) {
    const engine::LeadersCall& first = meeting.given.begin()->second;
    const std::size_t bytes = first.count * first.element_bytes;
    std::vector<std::byte> result(bytes);
    const bool broadcasts = first.what == plan::Delegation::broadcast;
    bool begun = false;
    for (const auto& [rank, part] : meeting.given) {
      if (bytes == 0 || (broadcasts && rank != first.root)) continue;
      if (begun) first.combine->apply(result.data(), result.data(), part.from, first.count, first.element_bytes);
      else std::memcpy(result.data(), part.from, bytes);
      begun = true;
    }
    for (const auto& [rank, part] : meeting.given)
      if (part.to != nullptr && bytes > 0) std::memcpy(part.to, result.data(), bytes);
    meeting.over = true;
    delegated.fetch_add(1, std::memory_order_relaxed);
  }

  std::mutex mutex;
  std::list<Letter> letters;
  std::map<Channel, std::deque<Delivery>> expected;
  std::vector<int> leaders;
  std::deque<Meeting> meetings;  // all that have begun, from the first on
  bool closed = false;  // a rank has stopped
};

class MailWire final : public engine::Wire {
 public:
  MailWire(Mail& mail, int rank, int first_tag = 0) : mail_(mail), rank_(rank), first_tag_(first_tag) {}

  bool send(const void* data, std::size_t bytes, int peer, int tag, std::uint64_t ticket) override {
    const Mail::Channel channel{rank_, peer, first_tag_ + tag};
    const std::lock_guard lock(mail_.mutex);
    const auto letter = mail_.letters.insert(mail_.letters.end(), {channel, data, bytes, ticket});
    messages_sent.fetch_add(1, std::memory_order_relaxed);
    const auto& places = mail_.expected[channel];
    if (channel.is_hasty() && !places.empty() && !places.back().filled) mail_.deliver(letter);
    return true;
  }
  bool expect(void* data, std::size_t bytes, int peer, int tag) override { return expect({data, bytes, false}, peer, tag); }
  bool expect_any(void* data, std::size_t room, int peer, int tag) override { return expect({data, room, true}, peer, tag); }
  engine::Wired receive(int peer, int tag) override {
    const Mail::Channel channel{peer, rank_, first_tag_ + tag};
    bool fits = true, any = false;
    const engine::Wired came = look([&] {
      auto& places = mail_.expected[channel];
      if (!places.front().filled) {
        const auto letter = mail_.first_of(channel);
        if (letter == mail_.letters.end()) return false;
        mail_.deliver(letter);
      }
      fits = places.front().fits;
      any = places.front().any;
      places.pop_front();
      return true;
    });
    if (fits) return came;
    return any ? engine::Wired::truncated : engine::Wired::failed;
  }
  engine::Wired drain(int tag, std::uint64_t ticket) override {
    return look([&] {
      return std::none_of(mail_.letters.begin(), mail_.letters.end(), [&](const Mail::Letter& each) {
        return each.channel.from == rank_ && each.channel.tag == first_tag_ + tag && each.ticket <= ticket;
      });
    });
  }
  bool gather_leaders(std::span<const int> leaders) override {
    const std::lock_guard lock(mail_.mutex);
    mail_.leaders.assign(leaders.begin(), leaders.end());
    return true;
  }
  bool delegate(const engine::LeadersCall& what, int tag, std::uint64_t ticket) override {
    const std::lock_guard lock(mail_.mutex);
    if (joined_ == mail_.meetings.size()) mail_.meetings.emplace_back();
    Mail::Meeting& meeting = mail_.meetings[joined_];
    if (!meeting.given.empty() && meeting.given.begin()->second.what != what.what) return false;
    meeting.given[rank_] = what;
    open_[{tag, ticket}] = joined_++;
    if (meeting.given.size() == mail_.leaders.size()) mail_.end(meeting);
    return true;
  }
  engine::Wired collect(int tag, std::uint64_t ticket) override {
    const auto number = open_.find({tag, ticket});
    if (number == open_.end()) return engine::Wired::failed;
    const engine::Wired answer = look([&] { return mail_.meetings[number->second].over; });
    if (answer == engine::Wired::done) open_.erase(number);
    return answer;
  }
  void abandon() override {
    const std::lock_guard lock(mail_.mutex);
    for (auto& [channel, places] : mail_.expected)
      if (channel.to == rank_) places.clear();
  }
  std::unique_ptr<engine::Wire> lane(int number) override { return std::make_unique<MailWire>(mail_, rank_, (number + 1) * 256); }
  [[nodiscard]] std::size_t lanes_most() const override { return 100; }

 private:
  using Clock = std::chrono::steady_clock;
  // While a message of any length is expected, no other one may be (engine::Wire::expect_any).
  bool expect(const Mail::Delivery& place, int peer, int tag) {
    const Mail::Channel channel{peer, rank_, first_tag_ + tag};
    const std::lock_guard lock(mail_.mutex);
    auto& places = mail_.expected[channel];
    if (!places.empty() && (place.any || places.back().any)) return false;
    places.push_back(place);
    const auto letter = mail_.first_of(channel);
    if (channel.is_hasty() && letter != mail_.letters.end()) mail_.deliver(letter);
    return true;
  }
  template <class Look>
  engine::Wired look(Look&& look) {
    const std::lock_guard lock(mail_.mutex);
    if (look()) {
      asked_.reset();
      return engine::Wired::done;
    }
    if (mail_.closed) return engine::Wired::failed;
    const auto now = Clock::now();
    if (!asked_) asked_ = now;
    return now - *asked_ < std::chrono::duration<double>(kTimeout) ? engine::Wired::pending : engine::Wired::failed;
  }

  Mail& mail_;
  int rank_;
  int first_tag_;
  std::size_t joined_ = 0;  // meetings
  std::map<std::pair<int, std::uint64_t>, std::size_t> open_;  // those that are not collected, by tag and ticket
  std::optional<Clock::time_point> asked_;  // the time since which the answer has been no
};

}  // namespace

std::atomic<std::uint64_t> messages_sent{0}, delegated{0};

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::threads: return "threads";
    case Kind::processes: return "processes";
    case Kind::mixed: return "mixed";
    case Kind::apart: return "apart";
  }
  return "";
}

std::vector<std::string> in_processes(int count, const std::function<std::string(int)>& body) {
  const Common common(kComplaintBytes * static_cast<std::size_t>(count));
  const auto complaint_of = [&](int i) {
    return reinterpret_cast<char*>(common.at(kComplaintBytes * static_cast<std::size_t>(i)));
  };
  std::vector<pid_t> children;
  for (int i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      std::string complaint;
      try {
        complaint = body(i);
      } catch (const std::exception& error) {
        complaint = error.what();
      }
      std::strncpy(complaint_of(i), complaint.c_str(), kComplaintBytes - 1);
      _exit(0);
    }
    children.push_back(child);
  }
  std::vector<std::string> results;
  for (int i = 0; i < count; ++i) {
    int status = 0;
    waitpid(children[static_cast<std::size_t>(i)], &status, 0);
    results.emplace_back(complaint_of(i));
    if (WIFSIGNALED(status)) results.back() += "signal " + std::to_string(WTERMSIG(status));
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0) results.back() += "exit " + std::to_string(WEXITSTATUS(status));
  }
  return results;
}

std::string run_ranks(Kind kind, int ranks, std::span<const choose::Settings> settings,
                      const std::function<std::string(Communicators)>& body) {
  const std::size_t board_bytes = (communicator::board_bytes(ranks) + 4095) / 4096 * 4096;
  const Common boards(board_bytes * settings.size());
  // hwloc takes long to look at the machine. It does so once here, so that the children need not.
  [[maybe_unused]] static const communicator::Survey once =
      communicator::survey({.cards = {communicator::my_card(settings[0], 0, 1)}, .here = {0}, .nodes = 1}, settings[0]);

  std::vector<Mail> mail(settings.size());

  FirstComplaint complaint;

  const auto run_rank = [&](int rank) {
    std::vector<std::unique_ptr<communicator::Communicator>> comms;
    const auto body_of_rank = [&]() -> std::string {
      for (std::size_t i = 0; i < settings.size(); ++i) {
        std::string why;
        auto bootstrap =
            communicator::meet_in_memory(boards.at(i * board_bytes), rank, ranks, communicator::Deadline::after(kTimeout));
        if (kind == Kind::apart) bootstrap = std::make_unique<ApartBootstrap>(std::move(bootstrap));
        std::unique_ptr<engine::Wire> wire;
        if (settings[i].nodes > 1) wire = std::make_unique<MailWire>(mail[i], rank);
        comms.push_back(communicator::Communicator::create(std::move(bootstrap), std::move(wire), settings[i], why));
        if (!comms.back()) return why;
        comms.back()->connect(graph_of(ranks));
      }
      return body(comms);
    };
    std::string wrong;
    try {
      wrong = body_of_rank();
    } catch (const std::exception& error) {
      wrong = error.what();
    }
    if (wrong.empty()) return;
    complaint.make(rank, wrong);
    for (const auto& comm : comms)  // nobody must wait for this rank
      if (comm) comm->give_up();
    for (Mail& each : mail) {
      const std::lock_guard lock(each.mutex);
      each.closed = true;
    }
  };
  // Runs threads as the ranks [first, end).
  const auto run_threads = [&](int first, int end) {
    std::vector<std::thread> threads;
    for (int rank = first; rank < end; ++rank) threads.emplace_back(run_rank, rank);
    for (std::thread& thread : threads) thread.join();
  };

  if (const char* name = std::getenv("TEST_SPMD_NAME"); name != nullptr && kind == Kind::processes) {
    static int group = 0;
    const int rank = std::atoi(std::getenv("TEST_SPMD_RANK"));
    ++group;
    if (rank >= ranks) return {};
    std::string why;
    const auto comm = [&]() -> std::unique_ptr<communicator::Communicator> {
      auto bootstrap = communicator::meet_by_name(std::string(name) + std::to_string(group), rank, ranks,
                                                  communicator::Deadline::after(kTimeout), why);
      if (!bootstrap) return nullptr;
      return communicator::Communicator::create(std::move(bootstrap), nullptr, settings[0], why);
    }();
    if (comm) comm->connect(graph_of(ranks));
    const std::string wrong = comm ? body(std::span(&comm, 1)) : why;
    if (!wrong.empty()) {  // the others must not wait for a rank that has gone on to the next test
      std::fprintf(stderr, "rank %d of %d: %s\n", rank, ranks, wrong.c_str());
      std::_Exit(1);
    }
    return {};
  }

  if (kind == Kind::threads || kind == Kind::apart) {
    run_threads(0, ranks);
    return complaint.made();
  }
  const int processes = kind == Kind::mixed ? std::min(2, ranks) : ranks;
  const std::vector<std::string> ends = in_processes(processes, [&](int i) {
    kind == Kind::mixed ? run_threads(i * ranks / processes, (i + 1) * ranks / processes) : run_rank(i);
    return std::string{};
  });
  std::string result;  // a process that ends silently comes before those that noticed it
  for (std::size_t i = 0; i < ends.size(); ++i)
    if (!ends[i].empty()) result += "process " + std::to_string(i) + ": " + ends[i] + "\n";
  return result + complaint.made();
}

std::string run_ranks(Kind kind, int ranks, const choose::Settings& settings,
                      const std::function<std::string(communicator::Communicator&)>& body) {
  return run_ranks(kind, ranks, std::span(&settings, 1), [&](Communicators comms) { return body(*comms.front()); });
}

}  // namespace copse::test

#ifdef __SANITIZE_THREAD__
// Replaces the kernel's copies in the whole program: within this process they are functions here, so ThreadSanitizer
// watches both sides.
namespace {

using Copy = ssize_t(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long);

ssize_t copy_across(const char* name, pid_t pid, const iovec* local, const iovec* remote, bool read) {
  if (pid != getpid()) return reinterpret_cast<Copy*>(dlsym(RTLD_NEXT, name))(pid, local, 1, remote, 1, 0);
  std::memcpy((read ? local : remote)->iov_base, (read ? remote : local)->iov_base, local->iov_len);
  return static_cast<ssize_t>(local->iov_len);
}

}  // namespace

extern "C" ssize_t process_vm_readv(pid_t pid, const iovec* local, unsigned long, const iovec* remote, unsigned long,
                                    unsigned long) noexcept {
  return copy_across("process_vm_readv", pid, local, remote, true);
}

extern "C" ssize_t process_vm_writev(pid_t pid, const iovec* local, unsigned long, const iovec* remote, unsigned long,
                                     unsigned long) noexcept {
  return copy_across("process_vm_writev", pid, local, remote, false);
}
#endif
