// The life of a helper process: it comes to meetings, and serves.
#include "communicator/helper.hpp"

#include <poll.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "communicator/communicator.hpp"
#include "communicator/deadline.hpp"
#include "communicator/desk.hpp"
#include "communicator/name_meeting.hpp"
#include "communicator/over_nodes.hpp"

namespace copse::communicator {
namespace {

using Clock = std::chrono::steady_clock;

// A stream of calls that this helper serves.
struct Client {
  std::unique_ptr<Communicator> comm;
  std::shared_ptr<Job> job = Communicator::make_job();
};
// Makes the streams clients. Leaves them as they are if there is no memory.
void take_on(std::vector<Client>& clients, ServedStreams& streams) {
  std::vector<Client> more(streams.size());
  clients.reserve(clients.size() + more.size());
  std::size_t at = 0;
  for (std::unique_ptr<Communicator>& comm : streams.release()) {
    more[at].comm = std::move(comm);
    clients.push_back(std::move(more[at++]));
  }
}

// New streams on their way to the thread that serves. Meetings are held in threads of their own, because helpers that are
// invited to several at a time may come to them in different orders.
class Arrivals {
 public:
  // Leaves the streams as they are if there is no memory.
  void add(ServedStreams& streams) {
    const std::lock_guard lock(mutex_);
    const std::size_t before = clients_.size();
    take_on(clients_, streams);
    present_.fetch_add(clients_.size() - before, std::memory_order_relaxed);
    any_.store(true, std::memory_order_release);
  }
  void left(std::size_t streams) { present_.fetch_sub(streams, std::memory_order_relaxed); }
  // Tells whether a stream has come and not left, taken by the thread that serves or not.
  [[nodiscard]] bool present() const { return present_.load(std::memory_order_relaxed) > 0; }
  void move_to(std::vector<Client>& clients) {
    if (!any_.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(mutex_);
    for (Client& client : clients_) clients.push_back(std::move(client));
    clients_.clear();
    any_.store(false, std::memory_order_relaxed);
  }

 private:
  std::atomic<bool> any_{false};
  std::atomic<std::size_t> present_{0};
  std::mutex mutex_;  // protects the clients
  std::vector<Client> clients_;
};

constexpr double kMeetingSeconds = 10, kOverNodesSeconds = 60;  // callers wait for a shorter time, and so give up first

// A meeting, held in a thread of its own.
class Meeting {
 public:
  Meeting(const Invitation& invitation, const choose::Settings& settings, const std::shared_ptr<Progress>& progress,
          HelpersNetwork* network, Arrivals& arrivals)
      : thread_([=, over = over_, &arrivals] {
          attend(invitation, settings, progress, network, arrivals);
          over->store(true, std::memory_order_release);
        }) {}
  Meeting(Meeting&&) = default;
  Meeting& operator=(Meeting&& other) noexcept {
    std::swap(over_, other.over_);
    std::swap(thread_, other.thread_);
    return *this;
  }
  ~Meeting() {
    if (thread_.joinable()) thread_.join();
  }
  [[nodiscard]] bool over() const { return over_->load(std::memory_order_acquire); }

 private:
  static void attend(const Invitation& invitation, choose::Settings settings, const std::shared_ptr<Progress>& progress,
                     HelpersNetwork* network, Arrivals& arrivals);

  std::shared_ptr<std::atomic<bool>> over_ = std::make_shared<std::atomic<bool>>(false);  // before the thread, which has a copy
  std::thread thread_;
};

// Goes on from a meeting on this node to one over nodes. Returns the wire, or null if that fails.
std::unique_ptr<engine::Wire> meet_over_nodes(std::unique_ptr<Bootstrap>& bootstrap, HelpersNetwork& network, int& helpers) {
  Members members;
  if (!tell_members(*bootstrap, members)) return nullptr;
  helpers = members.helpers;
  bootstrap = std::make_unique<OverNodes>(std::move(bootstrap), members, nullptr, nullptr);
  HelpersStream agreed = agree_on_stream(*bootstrap, &network);
  return agreed.stream < 0 ? nullptr : network.wire(std::move(agreed.numbers), agreed.stream);
}

void Meeting::attend(const Invitation& invitation, choose::Settings settings, const std::shared_ptr<Progress>& progress,
                     HelpersNetwork* network, Arrivals& arrivals) {
  settings.helpers = invitation.helpers;
  settings.streams = invitation.streams;
  std::string why;
  try {
    const double patience = invitation.nodes > 1 ? kOverNodesSeconds : kMeetingSeconds;
    auto bootstrap = meet_by_name(invitation.meeting.data(), invitation.rank, invitation.ranks, Deadline::after(patience), why);
    if (!bootstrap) return;
    std::unique_ptr<engine::Wire> wire;
    if (invitation.nodes > 1) {
      if (network == nullptr) return;
      wire = meet_over_nodes(bootstrap, *network, settings.helpers);
      if (!wire) return;
    }
    auto comm = Communicator::create(std::move(bootstrap), std::move(wire), settings, why, progress);
    if (!comm) return;
    ServedStreams streams(std::move(comm));
    try {
      arrivals.add(streams);
    } catch (const std::exception&) {
      streams.give_up();  // the ranks rely on them by now
    }
  } catch (const std::exception&) {  // the ranks notice that this helper does not come, and do without
  }
}

// How a helper passes the time between two looks for work. A helper has a processor of its own, so it usually looks again at once.
// If there are too few processors, it first lets others use its processor. If nobody has called for long, it sleeps first.
class Patience {
 public:
  void moved() { since_ = Clock::time_point{}; }
  void nothing(bool crowded) {
    if (++looks_ % kLooks != 0) return;
    const auto now = Clock::now();
    if (since_ == Clock::time_point{}) since_ = now;
    if (now - since_ > (crowded ? kCrowdedAwake : kAwake)) return std::this_thread::sleep_for(kNap);
    if (crowded) sched_yield();
  }

 private:
  static constexpr unsigned kLooks = 16;
  static constexpr std::chrono::milliseconds kAwake{200}, kCrowdedAwake{2};
  static constexpr std::chrono::microseconds kNap{50};
  unsigned looks_ = 0;
  Clock::time_point since_{};
};

// The result of looking after all clients once.
struct Looked {
  bool moved = false, crowded = false;
  std::size_t left = 0;
};
// Looks after all clients once. Those that are over leave. `watch` asks whether callers have ended, too. `calls` is false once no
// rank of the node makes calls any more.
Looked look_after(std::vector<Client>& clients, bool watch, bool calls) {
  using Served = Communicator::Served;
  Looked looked;
  looked.left = std::erase_if(clients, [&](Client& client) {
    Communicator& comm = *client.comm;
    // If the caller has ended after a goodbye, serve() still sees the goodbye, because this is asked before.
    const bool forsaken = watch && comm.is_forsaken();
    const Served served = comm.serve(client.job, !calls);
    looked.moved = looked.moved || served == Served::moved;
    looked.crowded = looked.crowded || comm.capabilities().oversubscribed;
    const bool alone = forsaken && served == Served::nothing;
    if (alone) comm.give_up();
    const bool stays = calls || comm.under_way() || served != Served::nothing;
    return alone || !stays || served == Served::ended;
  });
  return looked;
}

// Says to the thread that serves whether anybody may come or call.
struct Ahead {
  std::atomic<bool> no_arrivals{false}, no_calls{false};
};

// Serves until nobody is left to be served. A program may keep a communicator until its end, for a persistent call that it never
// frees. Once no rank of the node makes calls any more, the helper ends those that they have made, and leaves.
void serve(const Ahead& ahead, Arrivals& arrivals) {
  constexpr std::chrono::milliseconds kWatchEvery{50};
  std::vector<Client> clients;
  Patience patience;
  auto next_watch = Clock::now();
  for (unsigned turn = 0;; ++turn) {
    const bool last = ahead.no_arrivals.load(std::memory_order_acquire);
    const bool calls = !ahead.no_calls.load(std::memory_order_acquire);  // asked before serve(), which sees all orders then
    arrivals.move_to(clients);
    if (clients.empty() && last) return;
    const bool none = clients.empty(), watch = turn % 1024 == 0 && Clock::now() >= next_watch;
    if (watch) next_watch = Clock::now() + kWatchEvery;
    const Looked looked = look_after(clients, watch, calls);
    if (looked.left > 0) arrivals.left(looked.left);
    if (looked.moved) patience.moved();
    else patience.nothing(none || looked.crowded);
  }
}

}  // namespace

void help(ServedStreams streams) {
  std::vector<Client> clients;
  try {
    take_on(clients, streams);
    Patience patience;
    for (unsigned turn = 0; !clients.empty(); ++turn) {
      const Looked looked = look_after(clients, turn % 65536 == 0, true);
      if (looked.moved) patience.moved();
      else patience.nothing(looked.crowded);
    }
  } catch (...) {  // no memory, or the thread is cancelled
    streams.give_up();
    for (const Client& client : clients)
      if (client.comm) client.comm->give_up();
    throw;
  }
}

namespace {

// Takes invitations, until nobody is left to be served.
void attend_to(const Post& post, const choose::Settings& settings, Arrivals& arrivals, Ahead& ahead) {
  const auto progress = std::make_shared<Progress>();
  std::vector<Meeting> meetings;
  // The rank that holds the lifeline may leave MPI while others, and their communicators and meetings, are still at work.
  constexpr int kAfterwards = 10;  // milliseconds between two looks
  pollfd watched[] = {{post.desk, POLLIN, 0}, {post.lifeline, POLLIN, 0}, {post.starter, POLLIN, 0}};
  int goodbyes = 0;
  for (bool alone = false; !alone || !meetings.empty() || arrivals.present();) {
    if (poll(watched, alone ? 1 : 3, alone ? kAfterwards : -1) < 0) continue;
    alone = alone || watched[1].revents != 0 || watched[2].revents != 0;
    std::erase_if(meetings, [](const Meeting& meeting) { return meeting.over(); });
    while (const auto invitation = next_invitation(post.desk)) {
      if (invitation->is_goodbye()) {
        if (++goodbyes != post.callers) continue;
        alone = true;
        ahead.no_calls.store(true, std::memory_order_release);
        continue;
      }
      try {
        meetings.emplace_back(*invitation, settings, progress, post.network, arrivals);
      } catch (const std::exception&) {  // no thread or memory: the ranks notice that this helper does not come, and do without
      }
    }
  }
}

}  // namespace

void help(const Post& post, const choose::Settings& settings) {
  Arrivals arrivals;
  Ahead ahead;
  std::thread clerk([&] {
    attend_to(post, settings, arrivals, ahead);
    ahead.no_arrivals.store(true, std::memory_order_release);
  });
  serve(ahead, arrivals);
  clerk.join();
}

}  // namespace copse::communicator
