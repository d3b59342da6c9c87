// Teams are split off, and end (Berkeley UPC's extension, <copse/bupc.h>).
#include "teams.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "checks.hpp"
#include "communicator/shared_bootstrap.hpp"
#include "meeting.hpp"

namespace copse::upc {
namespace {

// What the members of a team have in shared memory: this, and behind it the boards on which they meet. Whoever leaves last
// frees it.
struct Ground {
  static constexpr std::size_t kBoards = 64;
  std::atomic<int> members;
  static_assert(sizeof(std::atomic<int>) <= kBoards);
};

struct Wish {
  int color, order;
};

// Returns the members of the caller's new team, by their numbers in the parent, in the order of the team.
std::vector<int> members_of(const std::vector<Wish>& wishes, int color) {
  std::vector<int> members;
  for (std::size_t i = 0; i < wishes.size(); ++i)
    if (wishes[i].color == color) members.push_back(static_cast<int>(i));
  const auto earlier = [&](int a, int b) {
    return wishes[static_cast<std::size_t>(a)].order < wishes[static_cast<std::size_t>(b)].order;
  };
  std::stable_sort(members.begin(), members.end(), earlier);
  return members;
}

upc_shared make_ground(const Thread& team, const char* function) {
  const std::size_t bytes = Ground::kBoards + communicator::board_bytes(team.threads);
  const upc_shared at = new_object(team, function, "team", bytes);
  std::memset(team.segment->here(at), 0, bytes);
  new (team.segment->here(at)) Ground{team.threads};
  return at;
}

bupc_team* split(Thread& parent, const char* function, int color, int order) {
  const std::vector<int> places = members_of(gathered(parent, function, Wish{color, order}), color);
  auto made = std::make_unique<bupc_team>();
  Thread& team = made->thread;
  team.segment = parent.segment;
  team.settings = parent.settings;
  team.progress = parent.progress;
  team.check = parent.check;
  team.threads = static_cast<int>(places.size());
  for (const int place : places) {
    if (place == parent.me) team.me = static_cast<int>(team.members.size());
    team.members.push_back(parent.number_of(place));
  }
  team.stride = stride_of(team);
  const upc_shared own = team.me == 0 ? make_ground(team, function) : upc_null();
  made->ground = gathered(parent, function, own)[static_cast<std::size_t>(places.front())];
  choose::Settings settings = *team.settings;
  if (parent.data->capabilities().oversubscribed) settings.waiting = choose::Waiting::yielding;
  std::string why_not;
  team.data = meet(team, team.segment->here(made->ground) + Ground::kBoards, team.me, team.threads, settings, why_not);
  if (!team.data) fail(team, function, why_not);
  return made.release();
}

void free_team(bupc_team* team) {
  const std::unique_ptr<bupc_team> ended(team);
  const Segment& segment = *team->thread.segment;
  auto& ground = *reinterpret_cast<Ground*>(segment.here(team->ground));
  team->thread.data.reset();
  if (ground.members.fetch_sub(1) == 1) segment.free(team->ground);
}

}  // namespace

Thread& member(const char* function, bupc_team_t team) {
  Thread& thread = here_collectively(function);
  return team == nullptr ? thread : team->thread;
}

upc_shared within(const Thread& team, const char* function, const char* name, upc_shared p) {
  if (upc_is_null(p) || team.members.empty()) return p;
  const auto found = std::find(team.members.begin(), team.members.end(), p.thread);
  if (found == team.members.end())
    fail(team, function,
         std::string(name) + " has affinity to thread " + std::to_string(p.thread) + "; required: a thread of the team");
  p.thread = static_cast<int>(found - team.members.begin());
  return p;
}

upc_shared from_first(const Thread& team, upc_shared p) {
  if (!team.members.empty()) p.thread = 0;
  return p;
}

}  // namespace copse::upc

using namespace copse::upc;

extern "C" {

bupc_team_t bupc_team_split(bupc_team_t parent, int color, int order) {
  constexpr const char* kName = "bupc_team_split";
  Thread& thread = member(kName, parent);
  check_call(thread, kName);
  return split(thread, kName, color, order);
}

void bupc_team_free(bupc_team_t team) {
  if (team == nullptr) return;
  Thread& thread = member("bupc_team_free", team);
  check_call(thread, "bupc_team_free");
  meet_all(thread, "bupc_team_free");
  free_team(team);
}

int bupc_team_rank(bupc_team_t team) { return team == nullptr ? here("bupc_team_rank").me : team->thread.me; }
int bupc_team_size(bupc_team_t team) { return team == nullptr ? here("bupc_team_size").threads : team->thread.threads; }

void bupc_team_barrier(bupc_team_t team) { meet_all(member("bupc_team_barrier", team), "bupc_team_barrier"); }

}  // extern "C"
