// Makes ranks, makes them call, and prices what they call.
#include "measure/check.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <stdexcept>

#include "choose/chooser.hpp"
#include "communicator/communicator.hpp"
#include "communicator/shared_bootstrap.hpp"
#include "engine/kernels/kernels.hpp"
#include "measure/crew.hpp"
#include "measure/figures.hpp"
#include "measure/pairs.hpp"
#include "price/price.hpp"
#include "topology/binding.hpp"
#include "topology/layout.hpp"

namespace copse::measure {
namespace {

using algorithms::Collective;
using communicator::Communicator;

constexpr std::size_t kPage = 4096;
constexpr int kCalls = 12;  // that are priced, back to back
constexpr int kMostBatches = 64;

// A cell, and what the chooser says about it.
struct Trial {
  Cell cell;
  choose::Resolution run;
};

std::size_t blocks_of(plan::Extent extent, int ranks) {
  if (extent == plan::Extent::none) return 0;
  return extent == plan::Extent::message ? 1 : static_cast<std::size_t>(plan::blocks_in(extent, ranks));
}

std::size_t input_bytes(const Cell& cell) {
  return cell.bytes * blocks_of(algorithms::traits_of(cell.collective).input, cell.ranks);
}
std::size_t output_bytes(const Cell& cell) {
  return cell.bytes * blocks_of(algorithms::traits_of(cell.collective).output, cell.ranks);
}

std::size_t element_bytes(Collective collective) { return algorithms::traits_of(collective).reduces ? sizeof(double) : 1; }

// What the ranks of a crew know about one another, as founding.cpp would find it out from the costs in the machine's file.
choose::Situation situation_of(const price::Parameters& machine, const Cell& cell) {
  choose::Situation situation;
  situation.ranks = cell.ranks;
  situation.oversubscribed = cell.turns;
  situation.addressable = situation.anywhere = !cell.processes || machine.kernel;
  situation.direct = !cell.processes;
  if (cell.processes && machine.kernel) {
    const price::Nearness& near = machine.nearness.front();
    const price::KernelCopy& kernel = *machine.kernel;
    situation.costs = {static_cast<float>(1 / near.write), static_cast<float>(1 / near.read.one),
                       static_cast<float>(kernel.page_ns / kPage + 1 / std::min(kernel.rate, near.read.one))};
  }
  return situation;
}

double predicted(const Trial& trial, const price::Parameters& machine) {
  price::Question question;
  analysis::Variant& variant = question.variant;
  const choose::Decision& decision = trial.run.decision;
  variant.row = decision.algorithm;
  variant.carrier = decision.carrier;
  variant.radix = decision.radix;
  variant.ranks = trial.cell.ranks;
  variant.places = std::make_shared<topology::Placement>(topology::place_block(machine.machine, 1, trial.cell.ranks));
  variant.plans = analysis::build_plans(variant);
  const plan::Rings rings = choose::rings_for(trial.cell.turns, trial.cell.ranks);
  const choose::Cut& cut = trial.run.cut;
  question.bytes = trial.cell.bytes;
  question.fragment_bytes = cut.fragment_count * element_bytes(trial.cell.collective);
  question.line_depth = static_cast<int>(rings.line_depth);
  if (cut.slot_class >= 0) question.slot_depth = static_cast<int>(rings.slots[static_cast<std::size_t>(cut.slot_class)].depth);
  question.reach = trial.cell.processes ? price::Reach::kernel : price::Reach::loads;
  question.calls = kCalls;
  question.unchanged = true;
  return price::price(question, machine).ns;
}

// What the ranks of a crew share besides the calls.
struct Board {
  explicit Board(int ranks) : gate(ranks) {}
  Gate gate;
  std::atomic<int> calls{1};
  double batches[kMostBatches] = {};
};

// One rank of a crew in one cell.
class Rank {
 public:
  Rank(const Trial& trial, std::size_t me, Communicator& communicator, Board& board, std::byte* seconds)
      : communicator_(communicator), board_(board), seconds_(reinterpret_cast<double*>(seconds)), me_(me),
        input_(std::max<std::size_t>(kPage, input_bytes(trial.cell))),
        output_(std::max<std::size_t>(kPage, output_bytes(trial.cell))) {
    const kernels::ReducePair sum = kernels::reduce_kernels(COPSE_SUM, COPSE_DOUBLE);
    combine_.kernel = sum.one;
    combine_.kernel_two = sum.two;
    arguments_.collective = trial.cell.collective;
    arguments_.element_bytes = element_bytes(trial.cell.collective);
    arguments_.count = trial.cell.bytes / arguments_.element_bytes;
    if (arguments_.element_bytes > 1) arguments_.combine = &combine_;
    arguments_.input = input_.at();
    arguments_.output = output_.at();
    if (algorithms::traits_of(trial.cell.collective).one_buffer) arguments_.input = arguments_.output;
  }

  // Finds how many calls take about as long as a batch should, and makes the batches.
  void measure(double batch_seconds, int batches) {
    for (int calls = 1;;) {
      const double seconds = batch(calls);
      if (seconds >= batch_seconds / 4 || calls >= 1 << 20) {
        if (me_ == 0) board_.calls = std::max(1, static_cast<int>(calls * batch_seconds / seconds));
        break;
      }
      calls *= 4;
    }
    board_.gate.meet();
    const int calls = board_.calls;
    for (int i = 0; i < batches; ++i) {
      const double seconds = batch(calls);
      if (me_ == 0) board_.batches[i] = seconds * 1e9 / calls;
    }
    board_.gate.meet();
  }

 private:
  // Returns the longest time of a rank.
  double batch(int calls) {
    board_.gate.meet();
    const auto begin = Clock::now();
    for (int call = 0; call < calls; ++call)
      if (communicator_.run(arguments_) != engine::Outcome::done) throw std::runtime_error("a call that is timed has failed");
    seconds_[me_] = ns_since(begin) / 1e9;
    board_.gate.meet();
    return *std::max_element(seconds_, seconds_ + communicator_.ranks());
  }

  Communicator& communicator_;
  Board& board_;
  double* seconds_;  // of each rank
  std::size_t me_;
  Pages input_, output_;
  engine::Combine combine_;
  communicator::Arguments arguments_;
};

// The memory in which a crew meets in one cell.
struct Room {
  explicit Room(int ranks)
      : meeting((communicator::board_bytes(ranks) + kPage - 1) / kPage * kPage), board((sizeof(Board) + kPage - 1) / kPage * kPage),
        pages(meeting + board + sizeof(double) * static_cast<std::size_t>(ranks)) {
    new (pages.at(meeting)) Board(ranks);
  }
  [[nodiscard]] Board& shared() const { return *reinterpret_cast<Board*>(pages.at(meeting)); }
  [[nodiscard]] std::byte* seconds() const { return pages.at(meeting + board); }
  std::size_t meeting, board;
  Pages pages;
};

// Returns settings that force the call to run by this decision, and to be cut as it says. They also have slots written into the
// caches, because the price assumes that. By itself Copse may write past the caches.
choose::Settings settings_of(const choose::Decision& decision) {
  choose::Settings settings;
  settings.learn = choose::Learn::never;
  settings.bind = "none";
  settings.slots = choose::Stores::cached;
  settings.forced.push_back({decision.algorithm->collective, decision.algorithm, decision.carrier, decision.radix});
  using Mode = choose::Fragmentation::Mode;
  settings.fragment = decision.fragment_bytes > 0 ? choose::Fragmentation{Mode::fixed, decision.fragment_bytes}
                                                  : choose::Fragmentation{Mode::none, 0};
  return settings;
}

void measure(Trial& trial, const Inquiry& inquiry, const std::vector<unsigned>& processors) {
  const Room room(trial.cell.ranks);
  const choose::Settings settings = settings_of(trial.run.decision);
  const auto body = [&](std::size_t me) {
    std::string why;
    auto bootstrap =
        communicator::meet_in_memory(room.pages.at(), static_cast<int>(me), trial.cell.ranks, communicator::Deadline::after(60));
    const auto made = Communicator::create(std::move(bootstrap), nullptr, settings, why);
    if (!made) throw std::runtime_error("no communicator could be made: " + why);
    Rank(trial, me, *made, room.shared(), room.seconds()).measure(inquiry.seconds, inquiry.batches);
  };
  trial.cell.processes ? in_processes(processors, body) : in_threads(processors, body);
  const double* const batches = room.shared().batches;
  const Figure figure = figure_of({batches, batches + inquiry.batches});
  trial.cell.measured_ns = *std::min_element(batches, batches + inquiry.batches);  // disturbances only add
  trial.cell.spread = figure.spread;
}

// A virtual machine's processors may share a cache at one time and only a memory at another. The price is of the state in which the
// machine was measured, so a cell that meets another state is measured again.
void measure_in_state(Trial& trial, const Inquiry& inquiry, const std::vector<unsigned>& processors,
                      const price::Parameters& machine) {
  constexpr int kTries = 4;
  constexpr double kAlike = 1.5;
  const Pair pair{processors.front(), processors.back()};
  const auto alike = [&] {
    const topology::Placement places = topology::place_block(machine.machine, 1, trial.cell.ranks);
    const double flag = flag_ns(pair), expected = machine.between(places.front(), places.back()).flag_ns;
    return flag < kAlike * expected && expected < kAlike * flag;
  };
  const bool can_tell = machine.measured && pair.first != pair.second;
  for (int tries = 0; tries < kTries; ++tries) {
    const bool before = !can_tell || alike();
    measure(trial, inquiry, processors);
    trial.cell.other_state = can_tell && !(before && alike());
    if (!trial.cell.other_state) return;
  }
}

// Returns a processor for each rank, where block layout puts it.
std::vector<unsigned> processors_for(const topology::Machine& here, int ranks) {
  std::vector<unsigned> processors;
  for (int rank = 0; rank < ranks; ++rank)
    processors.push_back(topology::processors_for(here, topology::BindingPolicy::core, rank, ranks).front());
  return processors;
}

bool has_room(const Cell& cell) {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const std::size_t all = (input_bytes(cell) + output_bytes(cell)) * static_cast<std::size_t>(cell.ranks);
  return pages <= 0 || all <= static_cast<std::size_t>(pages) * kPage / 4;
}

std::vector<Trial> trials_of(const price::Parameters& machine, const Inquiry& inquiry, int processors) {
  std::vector<Trial> trials;
  for (const bool processes : {false, true}) {
    for (const int ranks : inquiry.ranks) {
      for (const Collective collective : inquiry.collectives) {
        for (const std::size_t bytes : inquiry.sizes) {
          Trial trial;
          trial.cell = {processes, ranks, collective, bytes, {}, ranks > processors};
          if (!has_room(trial.cell)) continue;
          const std::size_t element = element_bytes(collective);
          trial.run = choose::resolve({}, situation_of(machine, trial.cell), collective, bytes / element, element,
                                      choose::needs_of(collective, ranks, element, false));
          trial.cell.way = std::string(trial.run.decision.algorithm->name) + ":" + plan::name_of(trial.run.decision.carrier);
          trial.cell.predicted_ns = predicted(trial, machine);
          trials.push_back(std::move(trial));
        }
      }
    }
  }
  return trials;
}

}  // namespace

std::vector<Cell> check(const price::Parameters& machine, const Inquiry& inquiry) {
  const auto here = topology::Machine::discover();
  std::vector<Trial> trials = trials_of(machine, inquiry, static_cast<int>(here.cores().size()));
  std::vector<Cell> cells;
  for (Trial& trial : trials) {
    const Cell& cell = trial.cell;
    if (inquiry.say) {
      inquiry.say(static_cast<double>(cells.size()) / static_cast<double>(trials.size()),
                  std::string(algorithms::name_of(cell.collective)) + ", " + std::to_string(cell.bytes) + " bytes, " +
                      std::to_string(cell.ranks) + (cell.processes ? " processes" : " threads"));
    }
    measure_in_state(trial, inquiry, processors_for(here, cell.ranks), machine);
    cells.push_back(cell);
  }
  return cells;
}

}  // namespace copse::measure
