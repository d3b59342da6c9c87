// The helper processes of this node (docs/decisions/helpers.md). They are no part of the program's world.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "choose/settings.hpp"
#include "communicator/desk.hpp"

namespace copse::mpi {

inline constexpr const char* kHelpers = "helpers";  // the subject of the trace's remarks about them

// Starts the helpers that COPSE_COLLECTIVE_PROCESSORS asks for, on every node. Collective over the world.
void start_helpers();
// Has the helpers with these desks serve, which are ranks of MPI_COMM_WORLD (outside.hpp).
void use_helpers(const std::vector<communicator::DeskName>& desks);
// The helpers of this node.
struct HelpersHere {
  std::int32_t count = 0;
  std::array<communicator::DeskName, choose::kHelpersMost> desks{};
};
[[nodiscard]] const HelpersHere& helpers_here();
// Tells whether helpers may serve these ranks. All of them get the same answer.
[[nodiscard]] bool may_have_helpers(bool one_node);

// Lets the helpers go, after the last communicator.
void dismiss_helpers();

}  // namespace copse::mpi
