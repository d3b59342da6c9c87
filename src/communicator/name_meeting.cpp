// Ranks meet by name: rank 0 invites, and the others call.
#include "communicator/name_meeting.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <optional>
#include <vector>

#include "communicator/handshake.hpp"
#include "communicator/shared_bootstrap.hpp"
#include "engine/reach/process.hpp"
#include "engine/reach/shared_memory.hpp"

namespace copse::communicator {
namespace {

using engine::Descriptor;

struct Address {
  sockaddr_un socket{};
  socklen_t length = 0;
  explicit Address(const std::string& name) {
    socket.sun_family = AF_UNIX;
    const std::string path = "copse-" + name;  // comes after a zero byte: the name is abstract and makes no file
    std::memcpy(socket.sun_path + 1, path.data(), path.size());
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + path.size());
  }
  [[nodiscard]] const sockaddr* generic() const { return reinterpret_cast<const sockaddr*>(&socket); }
};

Descriptor make_socket() { return Descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

// Returns the process at the other end, as the kernel tells it. To a caller, that is the process that listens. The id is 0 for
// a process of another PID namespace, or one that has ended. Returns nothing, with errno, if that cannot be found out.
std::optional<ucred> partner_of(const Descriptor& line) {
  ucred partner{};
  socklen_t bytes = sizeof partner;
  if (getsockopt(line.get(), SOL_SOCKET, SO_PEERCRED, &partner, &bytes) != 0) return std::nullopt;
  const std::optional<bool> shares = engine::shares_pid_namespace(partner.pid);
  if (!shares) return std::nullopt;
  if (!*shares) partner.pid = 0;
  return partner;
}

std::string text(const ucred& process) {
  const std::string user = "user id " + std::to_string(process.uid);
  return process.pid == 0 ? "a process of another PID namespace, or one that has ended (" + user + ")"
                          : "process " + std::to_string(process.pid) + " of " + user;
}

bool send_answer(const Descriptor& line, const Answer& answer, int memory) {
  iovec content{const_cast<Answer*>(&answer), sizeof answer};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  if (memory >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof memory);
    std::memcpy(CMSG_DATA(header), &memory, sizeof memory);
  }
  return sendmsg(line.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(sizeof answer);
}

// Appends what has come to `bytes`, and takes the descriptors that came with it. The first one is kept in `first`. Returns 0 if
// the other end is closed. Returns less, with errno, if nothing is there or it failed.
ssize_t receive(const Descriptor& line, std::string& bytes, Descriptor* first) {
  std::array<char, 1024> room{};
  iovec content{room.data(), room.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(8 * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  if (first != nullptr) {  // otherwise the kernel drops the descriptors
    message.msg_control = control.data();
    message.msg_controllen = control.size();
  }
  const ssize_t got = recvmsg(line.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0) return got;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t at = 0; CMSG_LEN(at + sizeof(int)) <= header->cmsg_len; at += sizeof(int)) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + at, sizeof fd);
      Descriptor came(fd);
      if (first != nullptr && !*first) *first = std::move(came);
    }
  }
  bytes.append(room.data(), static_cast<std::size_t>(got));
  return got;
}

// The side of rank 0.
class Host {
 public:
  Host(Descriptor listener, const Hello& mine) : listener_(std::move(listener)), mine_(mine) {}
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  // A child that another thread has forked meanwhile keeps the socket open, and ranks that call it would wait for an answer.
  ~Host() {
    shutdown(listener_.get(), SHUT_RDWR);
    while (Descriptor(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC))) continue;  // those that have called
  }

  // Waits until all have come. Returns an empty text then, and otherwise the reason.
  std::string gather(const Deadline& deadline) {
    while (came() < mine_.ranks - 1) {
      if (deadline.passed()) return give_up();
      std::vector<pollfd> watched{{listener_.get(), POLLIN, 0}};
      for (const Caller& caller : callers_) watched.push_back({caller.line.get(), POLLIN, 0});
      if (poll(watched.data(), watched.size(), deadline.milliseconds()) <= 0) continue;
      for (std::size_t i = callers_.size(); i > 0; --i)
        if (watched[i].revents != 0 && !listen_to(callers_[i - 1]))
          callers_.erase(callers_.begin() + static_cast<std::ptrdiff_t>(i - 1));
      if (watched[0].revents == 0) continue;
      if (const std::string trouble = take_in(); !trouble.empty()) return trouble;
    }
    return {};
  }

  // Notes on the boards which processes come. A rank that has been admitted waits for the others, and one of these may end first.
  void note_callers(void* boards) const {
    for (const Caller& caller : callers_)
      if (caller.come) expect_on_board(boards, caller.hello.rank, engine::process_of(caller.process.pid));
  }

  // Gives every rank the memory. Returns false if one has just left.
  bool admit(int memory) {
    const Answer welcome = make_answer({});
    bool all = true;
    for (const Caller& caller : callers_)
      if (caller.come) all = send_answer(caller.line, welcome, memory) && all;
    return all;
  }

 private:
  struct Caller {
    Descriptor line;
    ucred process{};
    std::string bytes;
    Hello hello;
    bool come = false;
  };

  [[nodiscard]] int came() const {
    return static_cast<int>(std::count_if(callers_.begin(), callers_.end(), [](const Caller& caller) { return caller.come; }));
  }

  // Returns false if this line is of no more use.
  bool listen_to(Caller& caller) {
    const ssize_t got = receive(caller.line, caller.bytes, nullptr);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0 || caller.come) return false;  // a rank that has come has nothing more to say
    switch (read_hello(caller.bytes, caller.hello)) {
      case Reading::more: return true;
      case Reading::foreign: return false;
      case Reading::other_version: return refuse(caller, "rank 0 runs another version of Copse; give all ranks the same library");
      case Reading::whole: break;
    }
    const std::string why = refusal_of(caller.hello, mine_, caller.process.pid);
    if (!why.empty()) return refuse(caller, why);
    for (const Caller& other : callers_)
      if (other.come && other.hello.rank == caller.hello.rank)
        return refuse(caller, "rank " + std::to_string(caller.hello.rank) + " has come already: " + text(other.process));
    caller.come = true;
    return true;
  }

  bool refuse(const Caller& caller, const std::string& why) {
    static_cast<void>(send_answer(caller.line, make_answer(why), -1));
    turned_away_ = text(caller.process) + ", which was told: " + why;
    return false;
  }

  // Takes in the callers that wait at the door. Returns what went wrong if that is permanent.
  std::string take_in() {
    // Strangers may come as fast as they are turned away. So only some are taken in at a time, and those on the line get their
    // turn.
    for (int i = 0; i < 64; ++i) {
      Descriptor line(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!line) {
        if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return {};
        if (is_out_of_descriptors() && drop_a_silent_one()) continue;
        return std::string("cannot take in a rank that calls (accept4: ") + std::strerror(errno) +
               "); let the sandbox allow it, or raise the limit on open files (ulimit -n)";
      }
      auto process = partner_of(line);
      if (!process && is_out_of_descriptors() && drop_a_silent_one()) process = partner_of(line);
      if (!process) continue;  // the caller calls again
      if (process->uid != geteuid()) {
        turned_away_ = text(*process) + ", which is another user's";
        continue;
      }
      // A rank speaks as soon as it has called. If it is dropped before it is heard, it calls again.
      if (callers_.size() >= static_cast<std::size_t>(mine_.ranks) + kSilentMost) drop_a_silent_one();
      callers_.push_back({std::move(line), *process, {}, {}, false});
    }
    return {};
  }

  static bool is_out_of_descriptors() { return errno == EMFILE || errno == ENFILE; }

  bool drop_a_silent_one() {
    const auto silent = std::find_if(callers_.begin(), callers_.end(), [](const Caller& caller) { return !caller.come; });
    if (silent == callers_.end()) return false;
    callers_.erase(silent);
    return true;
  }

  std::string give_up() {
    std::string missing;
    for (int rank = 1; rank < mine_.ranks; ++rank)
      if (std::none_of(callers_.begin(), callers_.end(),
                       [rank](const Caller& caller) { return caller.come && caller.hello.rank == rank; }) &&
          missing.size() < 60)
        missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
    const std::string why =
        "only " + std::to_string(came() + 1) + " of " + std::to_string(mine_.ranks) + " ranks came in time; missing: " + missing;
    for (const Caller& caller : callers_)
      if (caller.come) static_cast<void>(send_answer(caller.line, make_answer(why), -1));
    return turned_away_.empty() ? why : why + "; turned away: " + turned_away_;
  }

  static constexpr std::size_t kSilentMost = 64;
  Descriptor listener_;
  Hello mine_;
  std::vector<Caller> callers_;
  std::string turned_away_;  // the last caller that could not come in
};

// The side of the other ranks: one call.
class Attempt {
 public:
  enum class End : std::uint8_t { joined, refused, in_vain };

  Attempt(const Address& address, const Hello& mine, std::size_t bytes) : address_(address), mine_(mine), bytes_(bytes) {}

  // Calls once. If the call is in vain, the next one may go better. `trouble` then says what went wrong if somebody was there.
  End make(const Deadline& deadline) {
    memory = Descriptor{};
    const Descriptor line = make_socket();
    if (!line) return fail(std::string("cannot make a socket: ") + std::strerror(errno));
    if (connect(line.get(), address_.generic(), address_.length) != 0) {
      if (errno != EAGAIN) return fail("");  // nobody listens
      return trouble.empty() ? fail("so many call under this name that no more get through") : End::in_vain;
    }
    const auto owner = partner_of(line);
    if (!owner) return End::in_vain;
    const std::string who = "the name is owned by " + text(*owner);
    if (owner->uid != geteuid()) return fail(who + ", and this process is of user id " + std::to_string(geteuid()));
    if (send(line.get(), &mine_, sizeof mine_, MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof mine_) return End::in_vain;
    return hear(line, *owner, who, deadline);
  }

  Descriptor memory;
  std::string trouble;

 private:
  End fail(const std::string& why) {
    trouble = why;
    return End::in_vain;
  }

  End hear(const Descriptor& line, const ucred& owner, const std::string& who, const Deadline& deadline) {
    std::string bytes;
    Answer answer;
    while (true) {
      pollfd state{line.get(), POLLIN, 0};
      // What an earlier call has heard says more.
      if (deadline.passed()) return trouble.empty() ? fail(who + ", which has not answered") : End::in_vain;
      if (poll(&state, 1, deadline.milliseconds()) <= 0) continue;
      const ssize_t got = receive(line, bytes, &memory);
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (got <= 0) return bytes.empty() ? End::in_vain : fail(who + ", which has left in the middle of a word");
      const Reading reading = read_answer(bytes, answer);
      if (reading == Reading::more) continue;
      if (reading == Reading::foreign) return fail(who + ", which does not speak as a rank 0 of Copse does");
      if (reading == Reading::other_version) {
        trouble = "rank 0 runs another version of Copse; give all ranks the same library";
        return End::refused;
      }
      break;
    }
    trouble = refusal_of(answer, mine_, owner.pid);
    if (!trouble.empty()) return End::refused;
    if (!memory) return fail(who + ", which gave no memory; is there room for a descriptor (ulimit -n)?");
    if (!engine::is_shared_memory(memory.get(), bytes_, engine::Size::sealed))
      return fail(who + ", which gave something else than memory of " + std::to_string(bytes_) + " bytes");
    return End::joined;
  }

  const Address& address_;
  const Hello& mine_;
  std::size_t bytes_;
};

// Says who listens under this name. The text is empty if that cannot be learned.
std::string owner_of(const Address& address) {
  const Descriptor line = make_socket();
  if (!line || connect(line.get(), address.generic(), address.length) != 0) return {};
  const auto owner = partner_of(line);
  return owner ? " by " + text(*owner) : "";
}

using Boards = std::shared_ptr<engine::Mapping>;

// Maps the memory. If that fails, the result is null, and `why` is the reason.
Boards map(const Descriptor& memory, std::size_t bytes, std::string& why) {
  auto boards = std::make_shared<engine::Mapping>(memory.get(), bytes);
  if (*boards) return boards;
  why = std::string("cannot map the common memory: ") + std::strerror(errno);
  return nullptr;
}

// Makes the memory and gives it to all ranks that come. If that fails, the result is null, and `why` is the reason.
Boards invite(const Address& address, const Hello& mine, std::size_t bytes, const Deadline& deadline, std::string& why) {
  const Descriptor memory = engine::make_shared_memory("copse-meeting", bytes);
  if (!memory) {
    why = std::string("cannot make common memory (memfd_create): ") + std::strerror(errno);
    return nullptr;
  }
  Boards boards = map(memory, bytes, why);
  if (!boards) return nullptr;
  Descriptor listener = make_socket();
  if (!listener) {
    why = std::string("cannot make a socket: ") + std::strerror(errno);
    return nullptr;
  }
  if (bind(listener.get(), address.generic(), address.length) != 0 || listen(listener.get(), mine.ranks) != 0) {
    why = errno == EADDRINUSE ? "the name is in use" + owner_of(address) + "; choose another" : std::strerror(errno);
    return nullptr;
  }
  Host host(std::move(listener), mine);
  why = host.gather(deadline);
  if (!why.empty()) return nullptr;
  expect_on_board(boards->base(), 0, engine::this_process());
  host.note_callers(boards->base());
  if (host.admit(memory.get())) return boards;
  leave_board(boards->base(), 0);  // for those that were let in
  why = "a rank left while it was let in";
  return nullptr;
}

// Calls until rank 0 answers. If that fails, the result is null, and `why` is the reason.
Boards call(const Address& address, const Hello& mine, std::size_t bytes, const Deadline& deadline, std::string& why) {
  Attempt attempt(address, mine, bytes);
  while (true) {
    const Attempt::End end = attempt.make(deadline);
    if (end == Attempt::End::joined) {
      Boards boards = map(attempt.memory, bytes, why);
      if (!boards) leave_board_of(attempt.memory.get(), mine.rank);
      return boards;
    }
    if (end == Attempt::End::refused) {
      why = attempt.trouble;
      return nullptr;
    }
    if (deadline.passed()) {
      why = "rank 0 did not come in time" + (attempt.trouble.empty() ? "" : "; " + attempt.trouble);
      return nullptr;
    }
    const timespec pause{0, 2'000'000};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace

std::unique_ptr<Bootstrap> meet_by_name(const std::string& name, int rank, int ranks, Deadline deadline, std::string& why_not) {
  const auto failed = [&](const std::string& why) {
    why_not = "joining '" + printable(name) + "' as rank " + std::to_string(rank) + " of " + std::to_string(ranks) + ": " + why;
    return nullptr;
  };
  const Address address(name);
  const Hello mine = make_hello(rank, ranks);
  const std::size_t bytes = board_bytes(ranks);
  std::string why;
  Boards boards = rank == 0 ? invite(address, mine, bytes, deadline, why) : call(address, mine, bytes, deadline, why);
  if (!boards) return failed(why);
  void* base = boards->base();
  auto bootstrap = meet_in_memory(base, rank, ranks, deadline, std::move(boards));
  // A rank that fails from here on shows it on its board, where the others find it.
  const std::uint8_t here = 1;
  std::vector<std::uint8_t> all(static_cast<std::size_t>(ranks));
  if (!bootstrap->allgather(&here, all.data(), 1)) return failed("not all ranks mapped the common memory in time");
  return bootstrap;
}

}  // namespace copse::communicator
