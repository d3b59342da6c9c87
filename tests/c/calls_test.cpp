// Compares every collective of the C interface, blocking and started, with threads and processes, with the naive model
// of ../engine/model.hpp. The calls are random; TEST_SEED in the environment replays a failure.
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <iostream>
#include <memory>

#include "../engine/model.hpp"
#include "c_ranks.hpp"

namespace copse::test {
namespace {

using algorithms::Collective;

// Makes a call, or starts it if there is a place for the request. The tables are destroyed when it returns.
copse_status make(copse_comm* comm, const CallBuffers& call, const communicator::Arguments& a, copse_request** request) {
  const auto ranks = static_cast<std::size_t>(call.call().ranks);
  std::vector<std::size_t> numbers[4];
  const auto table = [&](const communicator::Block* blocks, std::vector<std::size_t>& sizes, std::vector<std::size_t>& places) {
    for (std::size_t i = 0; blocks != nullptr && i < ranks; ++i) {
      sizes.push_back(blocks[i].count);
      places.push_back(static_cast<std::size_t>(blocks[i].offset));
    }
  };
  table(a.input_blocks, numbers[0], numbers[1]);
  table(a.output_blocks, numbers[2], numbers[3]);
  const auto numbers_of = [&](int which) { return numbers[which].empty() ? nullptr : numbers[which].data(); };
  const std::size_t *input_sizes = numbers_of(0), *input_places = numbers_of(1);
  const std::size_t *output_sizes = numbers_of(2), *output_places = numbers_of(3);
  const copse_type type = call.call().operation->type;
  const copse_op op = call.call().operation->op;
#define CALL(name, ...) (request == nullptr ? copse_##name(comm, __VA_ARGS__) : copse_start_##name(comm, __VA_ARGS__, request))
  switch (a.collective) {
    case Collective::barrier: return request == nullptr ? copse_barrier(comm) : copse_start_barrier(comm, request);
    case Collective::broadcast:
      return CALL(broadcast, a.output != nullptr ? a.output : const_cast<void*>(a.input), a.count, a.root);
    case Collective::reduce: return CALL(reduce, a.input, a.output, a.count, type, op, a.root);
    case Collective::allreduce: return CALL(allreduce, a.input, a.output, a.count, type, op);
    case Collective::scan: return CALL(scan, a.input, a.output, a.count, type, op);
    case Collective::exscan: return CALL(exscan, a.input, a.output, a.count, type, op);
    case Collective::reduce_scatter:
      return a.ragged ? CALL(reduce_scatter, a.input, a.output, input_sizes, type, op)
                      : CALL(reduce_scatter_block, a.input, a.output, a.count, type, op);
    case Collective::gather:
      return a.ragged ? CALL(gatherv, a.input, a.count, a.output, output_sizes, output_places, a.root)
                      : CALL(gather, a.input, a.count, a.output, a.root);
    case Collective::scatter:
      return a.ragged ? CALL(scatterv, a.input, input_sizes, input_places, a.output, a.count, a.root)
                      : CALL(scatter, a.input, a.output, a.count, a.root);
    case Collective::allgather:
      return a.ragged ? CALL(allgatherv, a.input, a.output, output_sizes, output_places)
                      : CALL(allgather, a.input, a.count, a.output);
    case Collective::alltoall:
      return a.ragged ? CALL(alltoallv, a.input, input_sizes, input_places, a.output, output_sizes, output_places)
                      : CALL(alltoall, a.input, a.output, a.count);
    case Collective::permute: {
      const std::vector<int> permutation(a.permutation, a.permutation + ranks);
      return CALL(permute, a.input, a.output, permutation.data(), a.count);
    }
    case Collective::neighbor_alltoall: break;  // the C interface has none
  }
#undef CALL
  return COPSE_ERROR_ARGUMENT;
}

struct UnderWay {
  CallBuffers buffers;
  copse_request* request = nullptr;
};

std::string judge(copse_status status, const CallBuffers& buffers, copse_comm* comm) {
  if (status != COPSE_OK) return buffers.call().text() + ": " + copse_comm_message(comm);
  return buffers.wrong_bytes();
}

// Finishes started calls, either the last one first or all at once, by waiting or by testing.
std::string finish(std::deque<std::unique_ptr<UnderWay>>& started, copse_comm* comm, std::uint64_t dice) {
  if (dice % 3 == 0) {
    std::vector<copse_request*> requests;
    for (const auto& call : started) requests.push_back(call->request);
    if (copse_wait_all(requests.size(), requests.data()) != COPSE_OK) return copse_comm_message(comm);
    for (const auto& call : started) {
      if (std::string wrong = call->buffers.wrong_bytes(); !wrong.empty()) return wrong;
    }
    started.clear();
  }
  while (!started.empty()) {
    UnderWay& call = *started.back();
    copse_status status = COPSE_OK;
    int done = 0;
    while (dice % 3 == 1 && status == COPSE_OK && done == 0) {
      status = copse_test(&call.request, &done);
      if (done == 0) std::this_thread::yield();
    }
    if (dice % 3 == 2) status = copse_wait(&call.request);
    if (call.request != nullptr) return "a request that is over is not null";
    if (std::string wrong = judge(status, call.buffers, comm); !wrong.empty()) return wrong;
    started.pop_back();
  }
  return {};
}

std::string random_calls(copse_comm* comm, std::uint64_t seed, int calls) {
  const int rank = copse_comm_rank(comm), ranks = copse_comm_ranks(comm);
  std::mt19937_64 random(seed);
  std::deque<std::unique_ptr<UnderWay>> started;
  for (int i = 0; i < calls; ++i) {
    ModelCall drawn = draw_call(random, ranks, std::size_t{1} << 19);
    if (algorithms::traits_of(drawn.collective).c_calls.empty()) continue;
    if (drawn.operation->ordered) drawn.operation = &operation(0);
    auto call = std::make_unique<UnderWay>(UnderWay{{rank, drawn}, nullptr});
    const communicator::Arguments arguments = call->buffers.arguments();
    std::string wrong;
    if (random() % 2 == 0) {
      if (make(comm, call->buffers, arguments, &call->request) != COPSE_OK) return copse_comm_message(comm);
      started.push_back(std::move(call));
    } else {
      wrong = judge(make(comm, call->buffers, arguments, nullptr), call->buffers, comm);
    }
    const std::uint64_t dice = random();
    if (wrong.empty() && dice % 4 == 0) wrong = finish(started, comm, dice >> 2);
    if (!wrong.empty()) return "call " + std::to_string(i) + " of seed " + std::to_string(seed) + ": " + wrong;
  }
  return finish(started, comm, 2);
}

class Calls : public testing::TestWithParam<Kind> {};

TEST_P(Calls, EqualTheNaiveOnes) {
#ifdef __SANITIZE_THREAD__
  constexpr int kCalls = 400;
#else
  constexpr int kCalls = 2500;
#endif
  const char* given = std::getenv("TEST_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 0) : std::random_device{}();
  std::cout << "seed " << seed << '\n';
  for (const int ranks : {1, 2, 3, 5}) {
    const auto body = [&](copse_comm* comm) { return random_calls(comm, seed, kCalls); };
    ASSERT_EQ(GetParam() == Kind::threads ? with_threads(ranks, body) : with_processes(ranks, body), "")
        << ranks << " ranks; again: TEST_SEED=" << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Calls, testing::Values(Kind::threads, Kind::processes),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace copse::test
