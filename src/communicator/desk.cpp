// Datagrams over sockets with abstract names, and who has sent them.
#include "communicator/desk.hpp"

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <thread>

#include "choose/settings.hpp"
#include "engine/reach/process.hpp"

namespace copse::communicator {
namespace {

struct Address {
  sockaddr_un socket{};
  socklen_t length = 0;
  explicit Address(const DeskName& name) {
    socket.sun_family = AF_UNIX;
    std::memcpy(socket.sun_path + 1, name.data(), name.size());  // behind a zero byte: the name is abstract and makes no file
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  [[nodiscard]] const sockaddr* generic() const { return reinterpret_cast<const sockaddr*>(&socket); }
};

bool send_letter(int line, const DeskName& desk, const Invitation& letter, Deadline deadline) {
  const Address address(desk);
  while (line >= 0) {
    const ssize_t sent = sendto(line, &letter, sizeof letter, MSG_NOSIGNAL, address.generic(), address.length);
    if (sent >= 0) return sent == static_cast<ssize_t>(sizeof letter);
    if ((errno != EAGAIN && errno != EINTR) || deadline.passed()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // few letters fit on a desk at a time
  }
  return false;
}

// Tells whether the kernel says that a process of this user and this PID namespace has sent the message.
bool is_ours(msghdr& message) {
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_CREDENTIALS) continue;
    ucred sender{};
    std::memcpy(&sender, CMSG_DATA(header), sizeof sender);
    return sender.uid == geteuid() && engine::shares_pid_namespace(sender.pid).value_or(false);
  }
  return false;
}

}  // namespace

std::string unguessable() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return {};
  std::string text;
  for (const unsigned char byte : bytes) {
    text += static_cast<char>('a' + byte % 16);
    text += static_cast<char>('a' + byte / 16);
  }
  return text;
}

engine::Descriptor open_line() { return engine::Descriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

engine::Descriptor open_desk(DeskName& name) {
  const std::string letters = unguessable();
  std::copy_n(letters.begin(), std::min(letters.size(), name.size()), name.begin());
  const Address address(name);
  engine::Descriptor desk = open_line();
  const int yes = 1;
  if (letters.empty() || !desk || bind(desk.get(), address.generic(), address.length) != 0 ||
      setsockopt(desk.get(), SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) != 0)
    return engine::Descriptor{};
  return desk;
}

bool is_open(const DeskName& desk) {
  const Address address(desk);
  const engine::Descriptor line = open_line();
  return !line || connect(line.get(), address.generic(), address.length) == 0 || errno != ECONNREFUSED;
}

bool invite(const DeskName& desk, const Invitation& invitation, Deadline deadline) {
  return send_letter(open_line().get(), desk, invitation, deadline);
}

bool say_goodbye(int line, const DeskName& desk) { return send_letter(line, desk, Invitation{}, Deadline::never()); }

std::optional<Invitation> read_invitation(std::string_view bytes) {
  Invitation invitation;
  if (bytes.size() != sizeof invitation) return std::nullopt;
  std::memcpy(&invitation, bytes.data(), sizeof invitation);
  const bool sound = invitation.helpers > 0 && invitation.ranks > invitation.helpers && invitation.rank < invitation.ranks &&
                     invitation.rank >= invitation.ranks - invitation.helpers && invitation.nodes > 0 &&
                     (invitation.streams == 1 || invitation.streams == choose::kServedStreams) && invitation.meeting.back() == 0;
  const bool goodbye = invitation.helpers == 0 && invitation.ranks == 0 && invitation.rank == 0 && invitation.meeting.front() == 0;
  if (!(sound || goodbye) || invitation.magic != Invitation{}.magic) return std::nullopt;
  return invitation;
}

std::optional<Invitation> next_invitation(int desk) {
  // Strangers may write as fast as their letters are thrown away. So only some are read at a time.
  for (int letters = 0; letters < 64; ++letters) {
    std::array<char, sizeof(Invitation) + 1> bytes{};  // one more, so that a message that is too long shows
    iovec content{bytes.data(), bytes.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control{};
    msghdr message{};
    message.msg_iov = &content;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = recvmsg(desk, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (!is_ours(message)) continue;
    if (const auto invitation = read_invitation({bytes.data(), static_cast<std::size_t>(got)})) return invitation;
  }
  return std::nullopt;
}

}  // namespace copse::communicator
