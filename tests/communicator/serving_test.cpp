// Communicators of which the last ranks are helpers.
#include "serving.hpp"

#include "../engine/ranks.hpp"

namespace copse::test {
namespace {

TEST(Serving, CallsAtRandom) {
  for (const Kind kind : kKinds) {
    for (const auto& [callers, helpers] :
         {std::pair{1, 1}, std::pair{2, 1}, std::pair{3, 2}, std::pair{5, 1}, std::pair{4, 3}, std::pair{2, 4}}) {
      for (const auto reach : {choose::ReachLimit::any, choose::ReachLimit::staged}) {
        choose::Settings settings;
        settings.helpers = helpers;
        settings.reach = reach;
        settings.slots = choose::Stores::cached;  // no trial, which a slow thread leaves before its partner
        settings.first_ticket = (std::uint64_t{1} << 46) - 20;  // old lines are forgotten on the way
        const std::string wrong = run_ranks(kind, callers + helpers, settings, [callers = callers](Communicator& comm) {
          return comm.rank() < callers ? call_at_random(comm, callers, 120, 5) : help(comm);
        });
        EXPECT_EQ(wrong, "") << name_of(kind) << ", " << callers << " callers, " << helpers << " helpers";
      }
    }
  }
}

}  // namespace
}  // namespace copse::test
