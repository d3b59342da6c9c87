// Helper processes are asked to serve at a desk: a socket with an abstract name, which vanishes with its owner. An invitation names
// a meeting (name_meeting.hpp), to which the helper then comes like any other rank. What the ranks are is checked there. At the
// desk, an invitation counts only if the kernel says that a process of the same user has sent it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "communicator/deadline.hpp"
#include "engine/reach/shared_memory.hpp"

namespace copse::communicator {

using DeskName = std::array<char, 32>;  // without an end; zeros fill it

struct Invitation {
  std::array<char, 8> magic{'c', 'o', 'p', 's', 'e', 0x1b, 'i', 'n'};
  std::int32_t rank = 0, ranks = 0, helpers = 0;  // of this node; all 0: no invitation will follow
  std::int32_t nodes = 1;  // those of one node meet first
  std::int32_t streams = 1;  // of the communicator that comes of it
  std::array<char, 40> meeting{};
  [[nodiscard]] bool is_goodbye() const { return ranks == 0; }
};

// Returns letters that nobody can guess in advance. Later, everybody on the machine sees the names of sockets.
[[nodiscard]] std::string unguessable();

// Opens a desk under a new name. If that fails, the result is empty, and errno is set.
[[nodiscard]] engine::Descriptor open_desk(DeskName& name);
// Tells whether somebody owns this desk, as far as the system says. The owner may be stopped.
[[nodiscard]] bool is_open(const DeskName& desk);
// Returns a socket for say_goodbye(). The result is empty, and errno is set, if there can be none.
[[nodiscard]] engine::Descriptor open_line();
// Sends an invitation. Returns false, with errno, if nobody is there.
[[nodiscard]] bool invite(const DeskName& desk, const Invitation& invitation, Deadline deadline = Deadline::never());
// Sends a goodbye over a socket that open_line() has returned. Waits until there is room for it.
[[nodiscard]] bool say_goodbye(int line, const DeskName& desk);
// Returns the invitation in these bytes, if it is a goodbye, or if its numbers fit together and the name in it ends.
[[nodiscard]] std::optional<Invitation> read_invitation(std::string_view bytes);
// Takes the next invitation from the desk, if there is one. Anything else that has come is dropped. If that is much, some is left
// for the next call.
[[nodiscard]] std::optional<Invitation> next_invitation(int desk);

}  // namespace copse::communicator
