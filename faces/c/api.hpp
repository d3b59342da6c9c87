// What the files of the C interface share: the handles, and the conversion of exceptions to statuses.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "communicator/communicator.hpp"
#include "communicator/served_streams.hpp"
#include "communicator/spans.hpp"
#include "copse/copse.h"
#include "of_thread.hpp"

namespace copse::c {

using communicator::Arguments;
using communicator::Block;
using communicator::Communicator;
using communicator::Job;
using communicator::Outcome;
using communicator::ServedStreams;
using communicator::Span;

// The message about this thread's last failure without a communicator.
inline std::string& creation_message() { return OfThread<std::string, copse_comm>::here(); }

// Returns the status of the exception that is being handled. Only the unwinding of a cancelled thread goes on into the
// caller.
copse_status caught(std::string& message);

// Runs `body` and turns an exception into a status.
template <class Body>
copse_status guarded(std::string& message, Body&& body) {
  try {
    return body();
  } catch (...) {
    return caught(message);
  }
}

inline std::string out_of(const char* what, int value, int end) {
  return std::string(what) + " is " + std::to_string(value) + "; expected 0 to " + std::to_string(end - 1);
}

}  // namespace copse::c

struct copse_comm {
  std::unique_ptr<copse::c::Communicator> communicator;
  std::optional<copse::c::ServedStreams> served;  // the same ranks with helpers, for started calls
  bool check = false;
  copse_status broken = COPSE_OK;
  std::string message;
  // Requests refer to the communicator by this pointer. It becomes null when the communicator is freed.
  std::shared_ptr<copse_comm*> self = std::make_shared<copse_comm*>(nullptr);

  // These belong to the call that is being made.
  copse::engine::Combine combine;
  std::vector<copse::c::Block> input_blocks, output_blocks;
  std::vector<copse::c::Span> spans;
  std::vector<int> permutation;  // the last that was one
};

struct copse_request {
  std::shared_ptr<copse_comm*> comm;
  std::shared_ptr<copse::c::Job> job;
  copse::c::Communicator* stream = nullptr;  // where the call runs; lives as long as `comm`
};
