// A communicator with helpers, and the lanes beside it. Helpers make the started calls of one stream one after the other. A program
// may have several started calls under way, so they take the streams in turn.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "communicator/communicator.hpp"

namespace copse::communicator {

class ServedStreams {
 public:
  // `first` was created for several streams (Settings::streams), and there was memory for some or all of them. All ranks do this,
  // callers and helpers.
  explicit ServedStreams(std::unique_ptr<Communicator> first);

  // Returns the stream of the next started call that helpers may serve. All callers ask for the same calls.
  [[nodiscard]] Communicator& next() { return *all_[turn_++ % all_.size()]; }
  [[nodiscard]] bool under_way() const { return all_.front()->under_way(); }
  void give_up();
  [[nodiscard]] Trace trace() const;
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  // Gives the streams away. Afterwards there are none.
  [[nodiscard]] std::vector<std::unique_ptr<Communicator>> release() { return std::exchange(all_, {}); }

 private:
  std::vector<std::unique_ptr<Communicator>> all_;
  std::size_t turn_ = 0;
};

}  // namespace copse::communicator
