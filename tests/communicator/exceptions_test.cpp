// An exception in one rank's part of a call, whoever moves that call.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <stdexcept>

#include "../engine/ranks.hpp"
#include "communicator/communicator.hpp"
#include "communicator/name_meeting.hpp"
#include "communicator/progress.hpp"

namespace copse::test {
namespace {

using communicator::Arguments;
using communicator::Communicator;
using engine::Outcome;

// Two ranks have two communicators. On the first one, rank 1's operator throws. The call is blocking, or it is started and then
// moved on by the calls of the second communicator.
std::string throw_on_one_of_two(const std::string& name, int rank, bool started) {
  std::string why;
  const auto progress = std::make_shared<communicator::Progress>();
  std::array<std::unique_ptr<Communicator>, 2> comms;
  for (auto& comm : comms) {
    auto bootstrap =
        communicator::meet_by_name(name + (&comm == comms.data() ? "a" : "b"), rank, 2, communicator::Deadline::after(10), why);
    if (bootstrap) comm = Communicator::create(std::move(bootstrap), nullptr, {}, why, progress);
    if (!comm) return why;
  }
  engine::Combine combine;
  combine.context = &rank;
  combine.user = [](void* context, const void*, void*, std::size_t) {
    if (*static_cast<int*>(context) == 1) throw std::runtime_error("thrown by an operator");
  };
  const std::array<int, 4> in{};
  std::array<int, 4> out{};
  Arguments arguments;
  arguments.collective = algorithms::Collective::allreduce;
  arguments.input = in.data();
  arguments.output = out.data();
  arguments.count = in.size();
  arguments.element_bytes = sizeof in[0];
  arguments.combine = &combine;
  const auto call = [&] {
    if (!started) return comms[0]->run(arguments);
    const auto job = comms[0]->start(arguments);
    for (int turn = 0; turn < 100; ++turn)
      if (comms[1]->barrier() != Outcome::done) return Outcome::wire_failed;
    return comms[0]->wait(*job);
  };
  Outcome outcome = call();
  if (rank == 0 && outcome == Outcome::done)
    outcome = comms[0]->run(arguments);  // rank 0 may have all that it needs before rank 1 computes
  if (outcome != (rank == 1 ? Outcome::threw : Outcome::peer_failed)) return "outcome " + std::to_string(static_cast<int>(outcome));
  return comms[1]->barrier() == Outcome::done ? "" : "the other communicator is broken, too";
}

TEST(Exceptions, EndTheirCallOnAllRanksAndNoOther) {
  const std::string name = "exceptions-" + std::to_string(getpid());
  for (const bool started : {false, true}) {
    const auto body = [&](int rank) { return throw_on_one_of_two(name + (started ? "s" : "b"), rank, started); };
    for (const std::string& complaint : in_processes(2, body)) EXPECT_EQ(complaint, "") << (started ? "started" : "blocking");
  }
}

}  // namespace
}  // namespace copse::test
