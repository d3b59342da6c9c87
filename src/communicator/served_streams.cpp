// Makes the streams.
#include "communicator/served_streams.hpp"

#include <string>

namespace copse::communicator {

// The ranks have made the lanes' memory together with the communicator, so nobody waits here.
ServedStreams::ServedStreams(std::unique_ptr<Communicator> first) {
  Communicator& made = *first;
  try {
    all_.push_back(std::move(first));
    std::string why_not;
    while (std::unique_ptr<Communicator> lane = made.lane(why_not)) all_.push_back(std::move(lane));
  } catch (...) {
    made.give_up();  // the other ranks may have theirs
    throw;
  }
}

void ServedStreams::give_up() {
  for (const auto& stream : all_) stream->give_up();
}

Trace ServedStreams::trace() const {
  Trace all;
  for (const auto& stream : all_) all.merge(stream->trace());
  return all;
}

}  // namespace copse::communicator
