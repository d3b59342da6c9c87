// What the files of the C interface share: the handle, and where exceptions end.
#pragma once

#include <cxxabi.h>

#include <array>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "communicator/communicator.hpp"
#include "communicator/spans.hpp"
#include "copse/copse.h"
#include "of_thread.hpp"
#include "topology/error.hpp"

namespace copse::c {

using communicator::Arguments;
using communicator::Block;
using communicator::Communicator;
using communicator::Job;
using communicator::Outcome;
using communicator::Span;

// What went wrong without a communicator, on this thread.
inline std::string &creation_message() { return OfThread<std::string, copse_comm>::here(); }

// Runs `body`; what it throws becomes a status. Only the unwinding of a cancelled thread goes on into the caller.
template <class Body>
__attribute__((no_sanitize("null")))  // a cancelled thread's unwinding has no object: the reference to it is null
copse_status guarded(std::string &message, Body &&body) {
  const auto keep = [&](const char *why) {
    try {
      message = why;
    } catch (...) {
      message.clear();
    }
  };
  try {
    return body();
  } catch (const std::bad_alloc &) {
    message.clear();  // a sentence might need memory, too; copse_status_text has one
    return COPSE_ERROR_MEMORY;
  } catch (const topology::Error &error) {  // it quotes COPSE_TOPOLOGY
    keep(error.what());
    return COPSE_ERROR_VARIABLE;
  } catch (const std::exception &error) {
    keep(error.what());
    return COPSE_ERROR_ARGUMENT;
  } catch (const abi::__forced_unwind &) {
    throw;
  } catch (...) {
    keep("a function of the caller's has thrown something that is not a std::exception");
    return COPSE_ERROR_ARGUMENT;
  }
}

inline std::string out_of(const char *what, int value, int end) {
  return std::string(what) + " is " + std::to_string(value) + "; expected 0 to " + std::to_string(end - 1);
}

}  // namespace copse::c

struct copse_comm {
  std::unique_ptr<copse::c::Communicator> communicator;
  bool check = false;
  copse_status broken = COPSE_OK;
  std::string message;
  // What requests know it by: null once it is freed.
  std::shared_ptr<copse_comm *> self = std::make_shared<copse_comm *>(nullptr);

  // Of the call that is being made.
  copse::engine::Combine combine;
  std::vector<copse::c::Block> input_blocks, output_blocks;
  std::vector<copse::c::Span> spans;
};

struct copse_request {
  std::shared_ptr<copse_comm *> comm;
  std::shared_ptr<copse::c::Job> job;
};
