// The ranks of one node under the scheduler: a segment with rings of two, an executor for each rank, and a sequence of
// calls.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "../engine/graph.hpp"
#include "../engine/model.hpp"
#include "algorithms/registry.hpp"
#include "engine/executor.hpp"
#include "scheduler.hpp"

namespace copse::schedules {

using algorithms::Algorithm;
using algorithms::Collective;
using test::CallBuffers;
using test::ModelCall;

struct Part {  // of a sequence of calls
  const Algorithm* algorithm;
  plan::Carrier carrier;
  std::size_t count;
  int root = 0;
  std::size_t fragment_count = 0;
  unsigned refusing = 0;  // a bit for each rank that refuses the call
};

// Returns the shortest rings for these plans: two lines and slots, or more than the lag of the steps of a loop.
inline engine::Geometry short_rings(const std::vector<std::vector<plan::Plan>>& plans) {
  std::uint32_t lag = 1;
  for (const auto& of_rank : plans)
    for (const plan::Plan& plan : of_rank)
      for (const plan::Section& section : plan.sections) lag = std::max<std::uint32_t>(lag, section.max_lag);
  engine::Geometry geometry;
  geometry.line_depth = std::bit_ceil(lag + 1);
  geometry.slots = {{{geometry.line_depth, 64}, {geometry.line_depth, 256}, {geometry.line_depth, 1024}}};
  return geometry;
}

inline std::uint64_t seed_of(std::size_t part) { return part + 1; }

inline std::vector<std::vector<plan::Plan>> plans_of(int ranks, const std::vector<Part>& parts, void (*spoil)(plan::Plan&)) {
  const topology::Placement places(static_cast<std::size_t>(ranks));
  std::vector<std::vector<plan::Plan>> result(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Part& part = parts[i];
      ModelCall model;
      model.ranks = ranks;
      model.seed = seed_of(i);
      const std::vector<int> permutation = model.permutation();
      algorithms::Request request;
      request.rank = rank;
      request.ranks = ranks;
      request.root = part.root;
      request.permutation = permutation;
      const algorithms::Graph graph = test::graph_of(ranks);
      request.graph = &graph;
      request.carrier = part.carrier;
      request.places = &places;
      plan::Plan& plan = result[static_cast<std::size_t>(rank)].emplace_back(part.algorithm->plan(request));
      if (spoil != nullptr) spoil(plan);
    }
  }
  return result;
}

// What a planted fault does to the plans or to the memory orders.
struct Planted {
  enum class Order { right, line_stores, line_loads, progress_stores, progress_loads } order = Order::right;
  void (*spoil)(plan::Plan& plan) = nullptr;
};

inline engine::Call call_of(const communicator::Arguments& arguments, int rank, std::size_t fragment_count,
                            const engine::Geometry& geometry, std::size_t pack) {
  const algorithms::Traits& traits = algorithms::traits_of(arguments.collective);
  engine::Call call;
  if (traits.has_input_buffer(rank, arguments.root)) call.input = arguments.input;
  if (traits.has_output(rank, arguments.root)) call.output = arguments.output;
  call.count = arguments.count;
  call.element_bytes = arguments.element_bytes;
  call.combine = arguments.combine;
  call.fragment_count = fragment_count;
  const std::size_t largest = fragment_count == 0 ? call.count : std::min(call.count, fragment_count);
  call.slot_class = std::max(0, geometry.class_for(largest * call.element_bytes * pack));
  return call;
}

struct alignas(4096) Page {
  std::byte bytes[4096];
};

// The ranks of one node in this process, with their own segment and executors.
class Node {
 public:
  Node(int ranks, std::vector<Part> parts, Planted planted, bool ends = false)
      : plans_(plans_of(ranks, parts, planted.spoil)), memory_(engine::Segment::bytes(short_rings(plans_), ranks) / sizeof(Page)),
        segment_(memory_.front().bytes, short_rings(plans_)), parts_(std::move(parts)), planted_(planted), ranks_(ranks),
        ends_(ends) {
    std::vector<engine::Peer> peers(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
      peers[static_cast<std::size_t>(rank)].local = rank;
      peers[static_cast<std::size_t>(rank)].same_process = true;
    }
    for (int rank = 0; rank < ranks; ++rank)
      executors_.push_back(std::make_unique<engine::Executor>(
          segment_, peers, rank, engine::WaitPolicy::oversubscribed(), nullptr,
          [this](int other) { return other == 0 && ended_.load(); }, scratches_));
    for (int rank = 0; rank < ranks; ++rank) prepare(rank);
  }

  void set_up(Execution& execution) {
    execution.watch(memory_.data(), memory_.size() * sizeof(Page), "the segment");
    for (int rank = 0; rank < ranks_; ++rank) {
      for (auto& buffers : buffers_[static_cast<std::size_t>(rank)]) {
        const communicator::Arguments arguments = buffers->arguments();
        const std::size_t bytes = arguments.count * arguments.element_bytes;
        if (arguments.output != nullptr && bytes > 0) execution.watch(arguments.output, bytes, "an output");
        if (arguments.input != nullptr && arguments.input != arguments.output && bytes > 0)
          execution.watch(arguments.input, bytes, "an input");
      }
      execution.actor([this, rank] { run(rank); });
      weaken(execution, rank);
    }
    execution.afterwards([this] {
      for (int rank = 0; rank < ranks_; ++rank)
        for (std::size_t i = 0; i < parts_.size(); ++i) {
          const CallBuffers& buffers = *buffers_[static_cast<std::size_t>(rank)][i];
          if ((left_[static_cast<std::size_t>(rank)] >> i & 1) != 0) continue;
          if (const std::string wrong = buffers.wrong_bytes(); !wrong.empty())
            return "rank " + std::to_string(rank) + ": " + buffers.call().text() + ": " + wrong;
        }
      return std::string{};
    });
  }

 private:
  void prepare(int rank) {
    auto& programs = programs_.emplace_back();
    auto& buffers = buffers_.emplace_back();
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const Part& part = parts_[i];
      const Collective collective = part.algorithm->collective;
      const bool reduces = algorithms::traits_of(collective).reduces;
      const auto r = static_cast<std::size_t>(rank);
      programs.push_back(executors_[r]->prepare(plans_[r][i]));
      buffers.push_back(
          std::make_unique<CallBuffers>(rank, ModelCall{collective, ranks_, part.root, &test::operation(0),
                                                        reduces ? part.count : part.count * 8, false, false, seed_of(i)}));
    }
  }
  void run(int rank) {
    const auto r = static_cast<std::size_t>(rank);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const communicator::Arguments arguments = buffers_[r][i]->arguments();
      const std::size_t fragment = parts_[i].fragment_count * (arguments.element_bytes == 8 ? 1 : 8);
      engine::Call call = call_of(arguments, rank, fragment, segment_.geometry(), programs_[r][i].pack);
      call.number = i + 1;
      // In every second part, what may ride does. What rides together must.
      if (i % 2 == 1 || programs_[r][i].together) call.ride_bytes = 4096;
      const unsigned refusing = parts_[i].refusing;
      engine::Outcome outcome = engine::Outcome::refused;
      if ((refusing >> r & 1) != 0) {
        executors_[r]->refuse(call.number);
      } else if ((r + i) % 2 == 1) {
        outcome = executors_[r]->run(programs_[r][i], call);
      } else {
        while ((outcome = executors_[r]->advance(programs_[r][i], call, true)) == engine::Outcome::pending)
          std::this_thread::yield();
      }
      if (outcome == engine::Outcome::done) continue;
      if (outcome != engine::Outcome::refused || refusing == 0)
        complain("rank " + std::to_string(rank) + " came to an outcome other than done");
      // The buffers belong to the program again, which may overwrite them.
      if (call.input != nullptr) std::memset(const_cast<void*>(call.input), 1, call.element_bytes);
      if (call.output != nullptr) std::memset(call.output, 1, call.element_bytes);
      left_[r] |= 1U << i;
    }
    if (ends_ && rank == 0) ended_.store(true);
  }
  void weaken(Execution& execution, int rank) const {
    using Order = Planted::Order;
    const engine::Line* const lines = segment_.lines(rank, 0);
    const std::size_t bytes = segment_.geometry().lines_bytes();
    switch (planted_.order) {
      case Order::right: return;
      case Order::line_stores: return execution.weaken(lines, bytes, true);
      case Order::line_loads: return execution.weaken(lines, bytes, false);
      case Order::progress_stores: return execution.weaken(&segment_.progress(rank), 8, true);
      case Order::progress_loads: return execution.weaken(&segment_.progress(rank), 8, false);
    }
  }

  std::vector<std::vector<plan::Plan>> plans_;
  std::vector<Page> memory_;
  engine::Segment segment_;
  std::vector<Part> parts_;
  Planted planted_;
  int ranks_;
  bool ends_;
  std::atomic<bool> ended_{false};  // the process of rank 0
  engine::ScratchPool scratches_;
  std::vector<std::unique_ptr<engine::Executor>> executors_;
  std::vector<std::vector<engine::Program>> programs_;
  std::vector<std::vector<std::unique_ptr<CallBuffers>>> buffers_;
  std::array<unsigned, 8> left_{};  // by rank, a bit for each call that it has not finished
};

inline Prepare node(int ranks, std::vector<Part> parts, Planted planted = {}) {
  auto kept = std::make_shared<std::unique_ptr<Node>>();
  return [=](Execution& execution) {
    *kept = std::make_unique<Node>(ranks, parts, planted);
    (*kept)->set_up(execution);
  };
}

inline const Algorithm* find(Collective collective, const char* name) {
  const Algorithm* const found = algorithms::find(collective, name);
  EXPECT_NE(found, nullptr) << name;
  return found;
}

// Calls in which ranks can run ahead, because all ranks wait for all ranks neither at the begin nor at the end.
inline std::vector<Part> mixed_calls() {
  return {{find(Collective::broadcast, "flat"), plan::Carrier::line, 1, 0},
          {find(Collective::reduce, "flat"), plan::Carrier::slot, 4, 0},
          {find(Collective::broadcast, "flat"), plan::Carrier::get, 9, 0},
          {find(Collective::broadcast, "flat"), plan::Carrier::slot, 12, 0, 4},
          {find(Collective::broadcast, "flat"), plan::Carrier::line, 2, 0}};
}

// Calls that some ranks refuse: one rank alone, a root, all but one, or all. Between them are calls in which all ranks
// must be in step. After the call that all refuse, only the root knows the ticket, because it has made the call before.
inline std::vector<Part> refused_calls(int ranks) {
  const unsigned all = (1U << ranks) - 1, last = 1U << (ranks - 1);
  return {{find(Collective::broadcast, "flat"), plan::Carrier::line, 1, 0},
          {find(Collective::broadcast, "flat"), plan::Carrier::get, 9, 0, 0, last},
          {find(Collective::broadcast, "flat"), plan::Carrier::slot, 12, 0, 4, 1},
          {find(Collective::reduce, "flat"), plan::Carrier::slot, 4, 0},
          {find(Collective::broadcast, "flat"), plan::Carrier::line, 1, 0, 0, all & ~1U},
          {find(Collective::broadcast, "flat"), plan::Carrier::line, 1, 0, 0, all},
          {find(Collective::broadcast, "flat"), plan::Carrier::line, 1, 0},
          {find(Collective::reduce, "flat"), plan::Carrier::get, 4, 0, 0, all & ~last},
          {find(Collective::broadcast, "flat"), plan::Carrier::line, 2, 0}};
}
// Random calls of this kind.
inline std::vector<Part> refused_calls(int ranks, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto draw = [&](std::uint64_t below) { return random() % below; };
  std::vector<Part> parts;
  for (int i = 0; i < 8; ++i) {
    const auto refusing = static_cast<unsigned>(draw(2) == 0 ? 0 : draw(1U << ranks));
    const int root = static_cast<int>(draw(static_cast<std::uint64_t>(ranks)));
    const bool reduces = draw(2) == 0;
    const plan::Carrier carrier = std::array{plan::Carrier::line, plan::Carrier::slot, plan::Carrier::get}[draw(3)];
    const bool line = carrier == plan::Carrier::line;
    parts.push_back({find(reduces ? Collective::reduce : Collective::broadcast, "flat"), carrier, line ? 1U : 9U, root,
                     line || draw(2) == 0 ? 0U : 4U, refusing});
  }
  parts.push_back({find(Collective::reduce, "flat"), plan::Carrier::slot, 4, 0});
  parts.push_back({find(Collective::broadcast, "flat"), plan::Carrier::line, 1, 0});
  return parts;
}

// Rank 0 gives its data and ends.
inline Prepare node_with_end() {
  auto kept = std::make_shared<std::unique_ptr<Node>>();
  return [=](Execution& execution) {
    *kept = std::make_unique<Node>(2, std::vector<Part>{{find(Collective::broadcast, "flat"), plan::Carrier::line, 1}}, Planted{},
                                   true);
    (*kept)->set_up(execution);
  };
}

}  // namespace copse::schedules
