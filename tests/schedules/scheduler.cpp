// The actors, what each of them knows, and the choice between them.
#include "scheduler.hpp"

#include <cxxabi.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <sstream>
#include <unordered_map>

#include "actors.hpp"

namespace copse::schedules {
namespace {

constexpr int kActorsMost = 8;
constexpr std::size_t kStackBytes = 512 * 1024;
constexpr std::uint64_t kPointsMost = 200'000;   // in an execution
constexpr int kTicksMost = 2000;                 // in a row without any action
constexpr std::int64_t kTick = 2'000'000;        // nanoseconds
constexpr int kHurry = 80;                       // rounds of a wait; enough to reach a check of who lives
constexpr std::uint64_t kHurried = 13;           // others then go on at one in so many points
constexpr int kLooksMost = 3;                    // at one unchanged word; then the actor counts as waiting for it

using Clock = std::array<std::uint32_t, kActorsMost>;
void join(Clock& mine, const Clock& other) {
  for (std::size_t i = 0; i < kActorsMost; ++i) mine[i] = std::max(mine[i], other[i]);
}

struct Exceptions {  // of a thread, in the layout of the C++ library
  void* caught;
  unsigned int uncaught;
};

struct Actor {
  std::function<void()> body;
  ucontext_t context{};
  std::unique_ptr<std::byte[]> stack;
  Clock knows{};
  bool over = false;
  enum class State : std::uint8_t { ready, resting, locked, waiting, joining } state = State::ready;
  bool timed = false;               // a wait with a timeout
  bool woken = false;
  std::uint64_t rests_since = 0;    // counted in changes
  void* on = nullptr;               // the mutex or condition that it waits for
  std::uint64_t joins = 0;
  int held = 0;                     // above 0: no other actor goes on
  std::uintptr_t looks_at = 0;      // the word that it has looked at in vain
  std::uint64_t sees = 0;
  int looks = 0;                    // the number of those looks
  int hurries = 0;                  // so many further waits end at once
  int error = 0;
  Exceptions exceptions{};
  std::unordered_map<std::uintptr_t, std::size_t> seen;  // the newest store that it has seen, for each word
};

struct Store {
  std::uint64_t value = 0;
  int writer = -1;
  std::uint32_t time = 0;  // on the writer's clock
  bool releases = false;
  Clock released{};
};
struct Word {
  std::vector<Store> stores;
  std::size_t sequential = 0;  // the newest sequentially consistent store
};
struct Mutex {
  int owner = -1;
  Clock released{};
};

struct Cell {  // the last accesses of a byte
  std::uint64_t execution = 0;
  int writer = -1;
  std::uint32_t written = 0;
  Clock read{};
};
struct Region {
  std::uintptr_t begin, end;
  const char* name;
  std::vector<Cell>* cells;
};

// Chooses one of `width` ways.
class Chooser {
 public:
  virtual ~Chooser() = default;
  virtual std::size_t choose(std::size_t width, bool preempts) = 0;
  virtual std::size_t how_old(std::size_t width) = 0;  // the age of the value that a load sees; 0: the newest
  // Returns whether a waiting actor looks many times before the others can do anything.
  virtual bool hurries() { return false; }
  [[nodiscard]] virtual std::string name() const = 0;
};

class Everything final : public Chooser {
 public:
  explicit Everything(int preemptions) : most_(preemptions), left_(preemptions) {}
  std::size_t choose(std::size_t width, bool preempts) override {
    if (width < 2 || (preempts && left_ == 0)) return 0;
    if (at_ == choices_.size()) choices_.push_back({0, width});
    const std::size_t chosen = choices_[at_++].first;
    if (preempts && chosen != 0) --left_;
    return chosen;
  }
  std::size_t how_old(std::size_t) override { return 0; }
  [[nodiscard]] std::string name() const override {
    std::ostringstream text;
    text << "every:" << most_;
    for (std::size_t i = 0; i < at_ && i < choices_.size(); ++i)
      if (choices_[i].first != 0) text << ':' << i << '=' << choices_[i].first;
    return text.str();
  }
  // Goes on to the next schedule. Returns false if there is none.
  bool next() {
    choices_.resize(at_);
    while (!choices_.empty() && choices_.back().first + 1 >= choices_.back().second) choices_.pop_back();
    at_ = 0;
    left_ = most_;
    if (choices_.empty()) return false;
    ++choices_.back().first;
    return true;
  }

 private:
  int most_, left_;
  std::size_t at_ = 0;
  std::vector<std::pair<std::size_t, std::size_t>> choices_;
};

class Random final : public Chooser {
 public:
  explicit Random(std::uint64_t seed) : seed_(seed), random_(seed) {
    static constexpr std::uint32_t kOften[] = {2, 5, 20, 60};
    every_ = kOften[random_() % 4];
    old_ = random_() % 2 == 0;
    hurries_ = random_() % 4 == 0;
  }
  std::size_t choose(std::size_t width, bool preempts) override {
    if (width < 2) return 0;
    if (preempts && random_() % every_ != 0) return 0;
    return preempts ? 1 + random_() % (width - 1) : random_() % width;
  }
  std::size_t how_old(std::size_t width) override { return width < 2 || !old_ || random_() % 4 != 0 ? 0 : random_() % width; }
  bool hurries() override { return hurries_ && random_() % 8 == 0; }
  [[nodiscard]] std::string name() const override { return "seed:" + std::to_string(seed_); }

 private:
  std::uint64_t seed_;
  std::mt19937_64 random_;
  std::uint64_t every_;
  bool old_, hurries_;
};

class Replay final : public Chooser {  // repeats a schedule of Everything
 public:
  explicit Replay(const std::string& text) : name_(text) {
    std::istringstream in(text);
    std::string part;
    std::getline(in, part, ':');
    std::getline(in, part, ':');
    left_ = std::atoi(part.c_str());
    while (std::getline(in, part, ':')) {
      const std::size_t equals = part.find('=');
      chosen_[std::stoul(part)] = std::stoul(part.substr(equals + 1));
    }
  }
  std::size_t choose(std::size_t width, bool preempts) override {
    if (width < 2 || (preempts && left_ == 0)) return 0;
    const auto found = chosen_.find(at_++);
    if (found == chosen_.end()) return 0;
    if (preempts) --left_;
    return found->second;
  }
  std::size_t how_old(std::size_t) override { return 0; }
  [[nodiscard]] std::string name() const override { return name_; }

 private:
  std::string name_;
  int left_ = 0;
  std::size_t at_ = 0;
  std::unordered_map<std::size_t, std::size_t> chosen_;
};

struct World {
  Chooser* chooser = nullptr;
  std::vector<std::unique_ptr<Actor>> actors;
  int running = -1;
  ucontext_t home{};
  Exceptions home_exceptions{};
  std::uint64_t execution = 0, points = 0, changes = 1;
  int ticks = 0;
  std::int64_t time = 1'000'000'000;
  std::optional<std::string> wrong;
  std::unordered_map<std::uintptr_t, Word> words;
  std::unordered_map<void*, Mutex> mutexes;
  std::vector<Region> regions;
  std::vector<Execution::Weakened> weakened;
  std::vector<std::pair<std::uintptr_t, std::size_t>> gone;
  std::array<std::pair<std::uintptr_t, std::size_t>, 65536> freed;  // memory freed since the last lookup of a word
  std::size_t freed_count = 0;
  bool told = false;  // prints every switch to stderr
};
World world;
bool is_acting = false;

Actor& self() { return *world.actors[static_cast<std::size_t>(world.running)]; }
std::size_t my_number() { return static_cast<std::size_t>(world.running); }

Exceptions& exceptions_of_thread() { return *reinterpret_cast<Exceptions*>(abi::__cxa_get_globals()); }

void go_home() {
  is_acting = false;
  Actor& from = self();
  from.exceptions = exceptions_of_thread();
  exceptions_of_thread() = world.home_exceptions;
  swapcontext(&from.context, &world.home);
}

bool can_go_on(const Actor& actor) {
  if (actor.over) return false;
  switch (actor.state) {
    case Actor::State::ready: return true;
    case Actor::State::resting: return world.changes != actor.rests_since;
    case Actor::State::locked: return world.mutexes[actor.on].owner < 0;
    case Actor::State::waiting: return actor.woken || (actor.timed && world.changes != actor.rests_since);
    case Actor::State::joining: return world.actors[actor.joins]->over;
  }
  return false;
}

void switch_to(int number) {
  if (number == world.running) return;
  if (world.told) std::fprintf(stderr, "[%d]", number);
  Actor& from = self();
  from.exceptions = exceptions_of_thread();
  from.error = errno;
  world.running = number;
  Actor& to = self();
  exceptions_of_thread() = to.exceptions;
  errno = to.error;
  swapcontext(&from.context, &to.context);
}

// Lets other actors run, because the present one cannot go on or should not.
void leave_it_to_others() {
  while (true) {
    std::array<int, kActorsMost> able{};
    std::size_t count = 0;
    const int actors = static_cast<int>(world.actors.size());
    for (int i = 1; i <= actors; ++i) {  // starting with the next
      const int number = (world.running + i) % actors;
      if (can_go_on(*world.actors[static_cast<std::size_t>(number)])) able[count++] = number;
    }
    if (count > 0) {
      world.points += count > 1;
      return switch_to(able[world.chooser->choose(count, false)]);
    }
    // All actors wait. So time passes, and polling actors look again.
    world.time += kTick;
    if (++world.ticks > kTicksMost) complain("all wait for what nobody does");
    bool any = false;
    for (const auto& actor : world.actors) {
      const bool polls = actor->state == Actor::State::resting || (actor->state == Actor::State::waiting && actor->timed);
      if (!actor->over && polls) actor->rests_since = world.changes - 1, any = true;
    }
    if (!any) complain("deadlock");
  }
}

// A point at which another actor may go on.
void point() {
  if (++world.points > kPointsMost) complain("no end in sight");
  Actor& me = self();
  ++me.knows[my_number()];
  if (me.held > 0 || (me.hurries > 0 && world.points % kHurried != 0)) return;
  std::array<int, kActorsMost> able{};
  std::size_t count = 0;
  able[count++] = world.running;
  const int actors = static_cast<int>(world.actors.size());
  for (int i = 1; i < actors; ++i) {
    const int number = (world.running + i) % actors;
    if (can_go_on(*world.actors[static_cast<std::size_t>(number)])) able[count++] = number;
  }
  if (count > 1) switch_to(able[world.chooser->choose(count, true)]);
}

void changed() {
  ++world.changes;
  world.ticks = 0;
  self().looks = 0;
}

// Copies by type, because memcpy would count as a plain access of an actor.
template <class Visit>
auto typed(std::uintptr_t address, std::size_t bytes, Visit&& visit) {
  switch (bytes) {
    case 1: return visit(reinterpret_cast<volatile std::uint8_t*>(address));
    case 2: return visit(reinterpret_cast<volatile std::uint16_t*>(address));
    case 4: return visit(reinterpret_cast<volatile std::uint32_t*>(address));
    default: return visit(reinterpret_cast<volatile std::uint64_t*>(address));
  }
}
std::uint64_t memory_at(std::uintptr_t address, std::size_t bytes) {
  return typed(address, bytes, [](auto* at) { return std::uint64_t{*at}; });
}

// Forgets the words that lay in freed memory. freed() cannot do this itself, because the maps call it too.
void forget_freed() {
  while (world.freed_count > 0) {
    const auto [begin, bytes] = world.freed[--world.freed_count];
    for (std::uintptr_t at = begin; at < begin + bytes; ++at)
      if (world.words.erase(at) != 0)
        for (const auto& actor : world.actors) actor->seen.erase(at);
  }
}

Word& word_at(std::uintptr_t address, std::size_t bytes) {
  forget_freed();
  for (const auto& [begin, length] : world.gone)
    if (address - begin < length) complain("actor " + std::to_string(my_number()) + " touches memory that is gone");
  Word& word = world.words[address];
  const std::uint64_t value = memory_at(address, bytes);
  if (word.stores.empty() || word.stores.back().value != value) {  // new, or since initialised by a plain store
    word.stores.assign(1, Store{value, -1, 0, false, {}});
    word.sequential = 0;
    for (const auto& actor : world.actors) actor->seen.erase(address);
  }
  return word;
}

bool weakened(std::uintptr_t address, bool store) {
  return std::any_of(world.weakened.begin(), world.weakened.end(), [&](const Execution::Weakened& each) {
    return each.stores == store && address - reinterpret_cast<std::uintptr_t>(each.begin) < each.bytes;
  });
}

void enter() {
  const int number = world.running;
  try {
    self().body();
  } catch (const std::exception& error) {
    complain(std::string("an exception came out of an actor: ") + error.what());
  }
  Actor& me = *world.actors[static_cast<std::size_t>(number)];
  ++me.knows[static_cast<std::size_t>(number)];
  me.over = true;
  changed();
  if (std::all_of(world.actors.begin(), world.actors.end(), [](const auto& actor) { return actor->over; })) go_home();
  leave_it_to_others();
}

int add_actor(std::function<void()> body) {
  if (world.actors.size() == kActorsMost) complain("more actors than clocks have room for");
  auto actor = std::make_unique<Actor>();
  actor->body = std::move(body);
  static std::vector<std::unique_ptr<std::byte[]>> stacks(kActorsMost);
  std::unique_ptr<std::byte[]>& stack = stacks[world.actors.size()];
  if (!stack) stack = std::make_unique_for_overwrite<std::byte[]>(kStackBytes);
  getcontext(&actor->context);
  actor->context.uc_stack.ss_sp = stack.get();
  actor->context.uc_stack.ss_size = kStackBytes;
  actor->context.uc_link = nullptr;
  makecontext(&actor->context, enter, 0);
  world.actors.push_back(std::move(actor));
  return static_cast<int>(world.actors.size()) - 1;
}

// Runs one execution. Returns what was wrong.
std::optional<std::string> execute(const Prepare& set_up, Chooser& chooser, std::uint64_t& points) {
  world.actors.clear();
  world.words.clear();
  world.mutexes.clear();
  world.regions.clear();
  world.gone.clear();
  world.freed_count = 0;
  world.chooser = &chooser;
  ++world.execution;
  world.points = 0;
  world.ticks = 0;
  world.wrong.reset();
  Execution execution;
  set_up(execution);
  world.weakened = execution.weakened;
  static std::vector<std::unique_ptr<std::vector<Cell>>> cells;
  for (std::size_t i = 0; i < execution.watched.size(); ++i) {
    const Execution::Memory& memory = execution.watched[i];
    if (cells.size() == i) cells.push_back(std::make_unique<std::vector<Cell>>());
    if (cells[i]->size() < memory.bytes) cells[i]->resize(memory.bytes);
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.begin);
    world.regions.push_back({begin, begin + memory.bytes, memory.name, cells[i].get()});
  }
  for (auto& body : execution.actors) add_actor(std::move(body));
  world.home_exceptions = exceptions_of_thread();
  world.running = static_cast<int>(chooser.choose(world.actors.size(), false));
  is_acting = true;
  swapcontext(&world.home, &self().context);
  world.running = -1;
  points += world.points;
  if (!world.wrong) {
    std::string wrong = execution.check_();
    if (!wrong.empty()) world.wrong = std::move(wrong);
  } else {  // the actors stay where they are, and so does what they use
    static std::vector<Execution> left;
    left.push_back(std::move(execution));
  }
  if (world.wrong) *world.wrong += "; again: TEST_SCHEDULE=" + chooser.name();
  return world.wrong;
}

std::optional<Explored> replayed(const Prepare& set_up) {
  const char* const text = std::getenv("TEST_SCHEDULE");
  if (text == nullptr) return std::nullopt;
  Explored result;
  std::unique_ptr<Chooser> chooser;
  if (std::strncmp(text, "seed:", 5) == 0) {
    chooser = std::make_unique<Random>(std::strtoull(text + 5, nullptr, 10));
  } else {
    chooser = std::make_unique<Replay>(text);
  }
  world.told = true;
  result.wrong = execute(set_up, *chooser, result.points);
  result.executions = 1;
  return result;
}

}  // namespace

bool acting() { return is_acting; }

void complain(const std::string& what) {
  if (!world.wrong) world.wrong = what;
  if (is_acting) go_home();
}

void freed(const void* begin, std::size_t bytes) {
  if (is_acting && world.freed_count < world.freed.size())
    world.freed[world.freed_count++] = {reinterpret_cast<std::uintptr_t>(begin), bytes};
}

void let_go(const void* begin, std::size_t bytes) { world.gone.emplace_back(reinterpret_cast<std::uintptr_t>(begin), bytes); }

std::uint64_t load(std::uintptr_t address, std::size_t bytes, Order order) {
  point();
  Actor& me = self();
  Word& word = word_at(address, bytes);
  const std::size_t newest = word.stores.size() - 1;
  std::size_t oldest = me.seen.contains(address) ? me.seen[address] : 0;
  for (std::size_t i = newest; i > oldest; --i) {
    const Store& store = word.stores[i];
    if (store.writer < 0 || store.time <= me.knows[static_cast<std::size_t>(store.writer)]) oldest = i;
  }
  if (order.sequential) oldest = std::max(oldest, word.sequential);
  // Every store becomes visible some time, so an actor that waits for it finally sees it.
  const bool waits = me.looks_at == address && me.looks > 0;
  const std::size_t seen = waits ? newest : newest - world.chooser->how_old(newest - oldest + 1);
  me.seen[address] = seen;
  const Store& store = word.stores[seen];
  if (order.acquires && store.releases && !weakened(address, false)) join(me.knows, store.released);
  const std::uint64_t value = store.value;  // a copy: in rest() other actors go on and may store
  if (me.looks_at == address && me.sees == value) {
    if (++me.looks >= kLooksMost) rest();
  } else {
    me.looks_at = address;
    me.sees = value;
    me.looks = 1;
  }
  return value;
}

namespace {
void put(std::uintptr_t address, std::size_t bytes, Word& word, Store next, Order order) {
  Actor& me = self();
  next.writer = world.running;
  next.time = me.knows[my_number()];
  if (order.releases && !weakened(address, true)) {
    next.releases = true;
    join(next.released, me.knows);
  }
  ++me.knows[my_number()];  // what follows is not part of this release
  const bool differs = word.stores.back().value != next.value;
  typed(address, bytes,
        [&](auto* at) { *at = static_cast<std::remove_volatile_t<std::remove_pointer_t<decltype(at)>>>(next.value); });
  word.stores.push_back(next);
  if (order.sequential) word.sequential = word.stores.size() - 1;
  me.seen[address] = word.stores.size() - 1;
  if (differs) changed();
}
}  // namespace

void store(std::uintptr_t address, std::size_t bytes, std::uint64_t value, Order order) {
  point();
  Store next;
  next.value = value;
  put(address, bytes, word_at(address, bytes), next, order);
}

std::uint64_t modify(std::uintptr_t address, std::size_t bytes, Order order,
                     const std::function<std::uint64_t(std::uint64_t, bool&)>& change) {
  point();
  Actor& me = self();
  Word& word = word_at(address, bytes);
  const Store old = word.stores.back();
  bool changes = true;
  std::uint64_t value = change(old.value, changes);
  if (bytes < 8) value &= (std::uint64_t{1} << 8 * bytes) - 1;
  if (order.acquires && old.releases && !weakened(address, false)) join(me.knows, old.released);
  me.seen[address] = word.stores.size() - 1;
  if (!changes) return old.value;
  Store next = old;  // the release sequence continues
  next.value = value;
  put(address, bytes, word, next, order);
  return old.value;
}

void plain(const void* begin, std::size_t bytes, bool writes) {
  if (!is_acting || world.regions.empty()) return;
  const auto from = reinterpret_cast<std::uintptr_t>(begin);
  Actor& me = self();
  const std::size_t mine = my_number();
  for (const Region& region : world.regions) {
    if (from + bytes <= region.begin || from >= region.end) continue;
    const std::uintptr_t end = std::min(from + bytes, region.end);
    for (std::uintptr_t at = std::max(from, region.begin); at < end; ++at) {
      Cell& cell = (*region.cells)[at - region.begin];
      if (cell.execution != world.execution) {
        cell = Cell{};
        cell.execution = world.execution;
      }
      int other = -1;
      if (cell.writer >= 0 && cell.writer != world.running && cell.written > me.knows[static_cast<std::size_t>(cell.writer)])
        other = cell.writer;
      for (std::size_t i = 0; writes && i < kActorsMost; ++i)
        if (i != mine && cell.read[i] > me.knows[i]) other = static_cast<int>(i);
      if (other >= 0)
        complain("actor " + std::to_string(mine) + (writes ? " writes " : " reads ") + region.name + " + " +
                 std::to_string(at - region.begin) + " unordered with actor " + std::to_string(other));
      if (writes) {
        cell.writer = world.running;
        cell.written = me.knows[mine];
      } else {
        cell.read[mine] = me.knows[mine];
      }
    }
  }
}

bool lock(void* mutex, bool tries) {
  point();
  Actor& me = self();
  while (world.mutexes[mutex].owner >= 0) {
    if (tries) return false;
    if (world.mutexes[mutex].owner == world.running) complain("a mutex is locked twice by one actor");
    me.state = Actor::State::locked;
    me.on = mutex;
    leave_it_to_others();
    me.state = Actor::State::ready;
  }
  Mutex& mine = world.mutexes[mutex];
  mine.owner = world.running;
  join(me.knows, mine.released);
  return true;
}

void unlock(void* mutex) {
  Actor& me = self();
  ++me.knows[my_number()];
  Mutex& mine = world.mutexes[mutex];
  if (mine.owner != world.running) complain("a mutex is unlocked by another");
  mine.owner = -1;
  join(mine.released, me.knows);
  point();
}

bool wait_condition(void* condition, void* mutex, bool timed) {
  point();
  Actor& me = self();
  me.state = Actor::State::waiting;
  me.on = condition;
  me.timed = timed;
  me.woken = false;
  me.rests_since = world.changes;
  ++me.knows[my_number()];
  Mutex& mine = world.mutexes[mutex];
  mine.owner = -1;
  join(mine.released, me.knows);
  ++me.knows[my_number()];
  leave_it_to_others();
  me.state = Actor::State::ready;
  const bool woken = me.woken;
  lock(mutex, false);
  return woken;
}

void wake(void* condition) {
  point();
  for (const auto& actor : world.actors)
    if (!actor->over && actor->state == Actor::State::waiting && actor->on == condition) actor->woken = true;
  changed();
}

void rest() {
  Actor& me = self();
  me.looks = 0;
  if (me.held > 0) return;
  if (me.hurries == 0 && world.chooser->hurries()) me.hurries = kHurry;
  if (me.hurries > 0) {
    --me.hurries;
    world.time += kTick;
    return point();
  }
  me.state = Actor::State::resting;
  me.rests_since = world.changes;
  leave_it_to_others();
  me.state = Actor::State::ready;
}

void rest_for(std::int64_t nanoseconds) {
  world.time += nanoseconds;
  rest();
}

std::int64_t now() { return world.time += 100; }

std::uint64_t begin_actor(std::function<void()> body) {
  point();
  const int number = add_actor(std::move(body));
  world.actors.back()->knows = self().knows;
  return static_cast<std::uint64_t>(number) + 1;
}

void join_actor(std::uint64_t number) {
  point();
  Actor& me = self();
  me.joins = number - 1;
  if (!world.actors[me.joins]->over) {
    me.state = Actor::State::joining;
    leave_it_to_others();
    me.state = Actor::State::ready;
  }
  join(me.knows, world.actors[me.joins]->knows);
}

void hold(bool held) {
  if (is_acting) self().held += held ? 1 : -1;
}

Explored every_schedule(int preemptions, const Prepare& set_up, std::uint64_t most) {
  if (auto result = replayed(set_up)) return *result;
  Explored result;
  Everything chooser(preemptions);
  do {
    ++result.executions;
    result.wrong = execute(set_up, chooser, result.points);
    if (result.wrong || result.executions == most) return result;
  } while (chooser.next());
  result.whole = true;
  return result;
}

Explored random_schedules(std::uint64_t count, const Prepare& set_up, std::uint64_t seed) {
  if (auto result = replayed(set_up)) return *result;
  Explored result;
  while (result.executions < count && !result.wrong) {
    Random chooser(seed + result.executions++);
    result.wrong = execute(set_up, chooser, result.points);
  }
  return result;
}

Explored apart(const std::function<Explored()>& explore) {
  int ends[2];
  if (pipe(ends) != 0) return {0, 0, false, "no pipe"};
  const pid_t child = fork();
  if (child == 0) {
    const Explored found = explore();
    std::string text = std::to_string(found.executions) + ' ' + std::to_string(found.points) + ' ' + found.wrong.value_or("");
    [[maybe_unused]] const ssize_t written = write(ends[1], text.data(), text.size());
    _exit(0);
  }
  close(ends[1]);
  std::string text(4096, '\0');
  const ssize_t bytes = read(ends[0], text.data(), text.size());
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, bytes)));
  Explored result;
  std::istringstream in(text);
  in >> result.executions >> result.points;
  std::string wrong;
  std::getline(in >> std::ws, wrong);
  if (!wrong.empty()) result.wrong = wrong;
  if (WIFSIGNALED(status)) result.wrong = "ended by signal " + std::to_string(WTERMSIG(status));
  return result;
}

}  // namespace copse::schedules
