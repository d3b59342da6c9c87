// Teams are split off, and end (Berkeley UPC's extension, <copse/bupc.h>).
#include "teams.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "checks.hpp"
#include "communicator/shared_bootstrap.hpp"
#include "far.hpp"
#include "launch.hpp"
#include "meeting.hpp"

namespace copse::upc {
namespace {

// What the members of a team on one node have in shared memory: this, and behind it the boards on which they meet. Whoever leaves
// last frees it.
struct Base {
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

upc_shared make_base(const Thread& team, const char* function, std::size_t members) {
  const std::size_t bytes = Base::kBoards + communicator::board_bytes(static_cast<int>(members));
  const upc_shared at = new_object(team, function, "team", bytes);
  std::memset(team.segment->here(at), 0, bytes);
  new (team.segment->here(at)) Base{static_cast<int>(members)};
  return at;
}

// What the first member on each node has made (`base`), and what the first of all members has made (`stream`).
struct Made {
  upc_shared base = upc_null();
  int stream = 0;
};

// Returns a stream for a new team. The network has few streams. So the first member of a team keeps the team's stream when the
// team ends, and uses it for its next team.
int stream_for_team(const char* function) {
  Thread& thread = here(function);
  if (thread.kept.streams.empty()) return fresh_stream(thread, function);
  const int stream = thread.kept.streams.back();
  thread.kept.streams.pop_back();
  return stream;
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
  const std::vector<int> here = members_here(team);
  Made own;
  if (team.me == here.front()) own.base = make_base(team, function, here.size());
  if (team.me == 0 && here.size() < places.size()) own.stream = stream_for_team(function);
  const std::vector<Made> all = gathered(parent, function, own);
  made->base = all[static_cast<std::size_t>(places[static_cast<std::size_t>(here.front())])].base;
  made->stream = all[static_cast<std::size_t>(places.front())].stream;
  choose::Settings settings = *team.settings;
  if (parent.data->capabilities().oversubscribed) settings.waiting = choose::Waiting::yielding;
  std::string why_not;
  team.data = meet(team, {team.segment->here(made->base) + Base::kBoards, made->stream}, settings, why_not);
  if (!team.data) fail(team, function, why_not);
  return made.release();
}

void free_team(bupc_team* team) {
  const std::unique_ptr<bupc_team> ended(team);
  if (team->thread.me == 0 && team->stream != 0) here("bupc_team_free").kept.streams.push_back(team->stream);
  const Segment& segment = *team->thread.segment;
  auto& base = *reinterpret_cast<Base*>(segment.here(team->base));
  if (const std::string wrong = team->thread.data->save_lessons(); !wrong.empty()) say(wrong);
  team->thread.data.reset();
  if (base.members.fetch_sub(1) == 1) segment.free(team->base);
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

void bupc_team_barrier(bupc_team_t team) {
  Thread& thread = member("bupc_team_barrier", team);
  check_call(thread, "bupc_team_barrier");
  meet_all(thread, "bupc_team_barrier");
}

}  // extern "C"
