// Processes that an MPI has started on one node or several, for a face that is linked with no MPI. The preload library of that MPI
// makes a Network (faces/mpi/network.cpp), and other code looks up the maker by its name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/wire/wire.hpp"

namespace copse::communicator {

// One end of a wire between threads: the process, and the number of the thread in it.
struct Correspondent {
  int process = 0, thread = 0;
};

class Network {
 public:
  virtual ~Network() = default;
  Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  [[nodiscard]] virtual int rank() const = 0;  // of this process
  [[nodiscard]] virtual int ranks() const = 0;
  // Tells whether several threads of a process may use the network.
  [[nodiscard]] virtual bool serves_threads() const = 0;
  // Gathers `bytes` bytes of each process. Collective over the processes; one thread of each calls. Returns false on failure.
  virtual bool allgather(const void* mine, void* all, std::size_t bytes) = 0;

  // Returns a wire for rank `me` of these correspondents, or null if there are too few streams. The messages of different streams
  // do not meet. A process has at most `threads` threads.
  [[nodiscard]] virtual std::unique_ptr<engine::Wire> wire(std::vector<Correspondent> all, int me, int threads, int stream) = 0;

  // Says why one-sided access does not work between nodes, and what to do. The text is empty if it works.
  [[nodiscard]] virtual const char* why_not_between_nodes() const = 0;
  // A user of the network calls begin() first and end() last. Both are collective. The processes must meet after their last access
  // and before end(). Between begin() and end(), a process that calls exit() ends all processes. `exposed` is the memory that
  // others may access. It may be empty, but then on all processes. begin() returns false if it fails.
  virtual bool begin(std::span<std::byte> exposed) = 0;
  virtual void end() = 0;
  // These access the exposed memory of a process, from the offset `at` on. They return when the access is over. They return false
  // if it failed.
  virtual bool get(void* to, int process, std::size_t at, std::size_t bytes) = 0;
  virtual bool put(const void* from, int process, std::size_t at, std::size_t bytes) = 0;
  // These start an access of at least one byte, and give it a ticket. Until the access has ended, `to` or `from` belongs to the
  // network. Any thread may ask whether an access has ended, until the answer is no longer `pending`.
  virtual bool start_get(void* to, int process, std::size_t at, std::size_t bytes, std::uint64_t& ticket) = 0;
  virtual bool start_put(const void* from, int process, std::size_t at, std::size_t bytes, std::uint64_t& ticket) = 0;
  [[nodiscard]] virtual engine::Wired has_ended(std::uint64_t ticket) = 0;
  // These two change words of 8 bytes, and are atomic to one another.
  virtual bool fetch_add(int process, std::size_t at, std::int64_t value, std::int64_t& before) = 0;
  virtual bool compare_and_swap(int process, std::size_t at, std::int64_t expected, std::int64_t desired, std::int64_t& before) = 0;

  // Ends all processes.
  [[noreturn]] virtual void abort(int status) = 0;
};

// Counts the changes of this interface, and of engine::Wire, which it hands out. The two libraries that meet here may come from
// different installations.
inline constexpr int kNetworkVersion = 5;

// Returns the network of this process, which is made once and never destroyed. The result is null, and `why_not` is the reason, if
// there is no network. This is collective. `version` is the caller's kNetworkVersion.
using NetworkMaker = Network* (*)(int version, std::string& why_not);
inline constexpr const char* kNetworkMaker = "copse_network";

}  // namespace copse::communicator
