// The two groups of an intercommunicator. Copse counts its ranks through both groups: first those of the group whose first rank
// comes first in the world, in their order there, and then those of the other group. So all ranks count alike and need not ask.
#pragma once

namespace copse::mpi {

// The numbers of ranks in both groups. An intracommunicator has no second group, and all of this stays as it is here.
struct TwoGroups {
  int own = 0, others = 0;
  bool first = true;  // this process's group is counted first

  [[nodiscard]] bool any() const { return others > 0; }
  [[nodiscard]] int begin_of_own() const { return first ? 0 : others; }
  [[nodiscard]] int begin_of_others() const { return first ? own : 0; }
};

}  // namespace copse::mpi
