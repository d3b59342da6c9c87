// Processes that an MPI has started on one node or several, for a face that is linked with no MPI. The preload library of that MPI
// makes a Network (faces/mpi/network.cpp), and whoever wants one looks the maker up by its name.
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

  // Returns a wire for rank `me` of these. The messages of different streams do not meet. A process has at most `threads`
  // threads. Null: there are not so many streams.
  [[nodiscard]] virtual std::unique_ptr<engine::Wire> wire(std::vector<Correspondent> all, int me, int threads, int stream) = 0;

  // Says why one-sided access does not work between nodes, and what to do. Empty: it does.
  [[nodiscard]] virtual const char* why_not_between_nodes() const = 0;
  // What uses the network begins and ends with these two, which are collective. Before end(), all have met after their last
  // access. In between, a process that calls exit() ends all of them. `exposed` is what others may access, which may be nothing,
  // but then on all processes. begin() returns false if that does not work.
  virtual bool begin(std::span<std::byte> exposed) = 0;
  virtual void end() = 0;
  // One-sided access to what a process exposes, from an offset `at` on. These return when they are over, and false if they failed.
  virtual bool get(void* to, int process, std::size_t at, std::size_t bytes) = 0;
  virtual bool put(const void* from, int process, std::size_t at, std::size_t bytes) = 0;
  // These start such an access, of at least one byte, and give it a ticket. Until it has ended, the memory of this process is the
  // network's. Any thread may ask whether it has, until the answer is no longer `pending`.
  virtual bool start_get(void* to, int process, std::size_t at, std::size_t bytes, std::uint64_t& ticket) = 0;
  virtual bool start_put(const void* from, int process, std::size_t at, std::size_t bytes, std::uint64_t& ticket) = 0;
  [[nodiscard]] virtual engine::Wired has_ended(std::uint64_t ticket) = 0;
  // These are atomic among themselves, on words of 8 bytes.
  virtual bool fetch_add(int process, std::size_t at, std::int64_t value, std::int64_t& before) = 0;
  virtual bool compare_and_swap(int process, std::size_t at, std::int64_t expected, std::int64_t desired, std::int64_t& before) = 0;

  // Ends all processes.
  [[noreturn]] virtual void abort(int status) = 0;
};

// Counts the changes of this interface, and of engine::Wire, which it hands out: the two libraries that meet here may be of
// different installations.
inline constexpr int kNetworkVersion = 3;

// Returns the network of this process, which is made once and never destroyed. Null, with the reason, if there is none. Collective.
// `version` is the caller's kNetworkVersion.
using NetworkMaker = Network* (*)(int version, std::string& why_not);
inline constexpr const char* kNetworkMaker = "copse_network";

}  // namespace copse::communicator
