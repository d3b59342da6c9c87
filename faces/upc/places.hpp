// Where the UPC threads of a program run: on which node and in which process.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "communicator/network.hpp"

namespace copse::upc {

class Places {
 public:
  // Places all threads on this node.
  explicit Places(int threads);
  // Divides the threads among the processes that an MPI has started. This is process number `process`. hosts[p] is the same for
  // all processes of a node. The numbers of threads of two processes differ by at most one.
  Places(int threads, std::span<const std::uint64_t> hosts, int process);

  [[nodiscard]] int threads() const { return static_cast<int>(at_.size()); }
  [[nodiscard]] bool on_several_nodes() const { return threads() > static_cast<int>(here_.size()); }
  [[nodiscard]] const std::vector<int>& here() const { return here_; }  // the threads of this node, ascending
  [[nodiscard]] bool is_here(int thread) const { return thread >= 0 && thread < threads() && node_of(thread) == own_node_; }
  [[nodiscard]] std::uint64_t host() const { return host_; }  // of this node
  [[nodiscard]] int node_of(int thread) const { return nodes_[static_cast<std::size_t>(thread)]; }
  // The number of a thread among those of its node.
  [[nodiscard]] int among_node(int thread) const { return among_node_[static_cast<std::size_t>(thread)]; }
  [[nodiscard]] communicator::Correspondent at(int thread) const { return at_[static_cast<std::size_t>(thread)]; }
  // The threads of this process are those from `first` on, below `end`.
  struct Run {
    int first, end;
  };
  [[nodiscard]] Run of_this_process() const { return own_; }
  [[nodiscard]] int most_in_a_process() const { return most_; }

 private:
  std::vector<communicator::Correspondent> at_;
  std::vector<int> nodes_, among_node_, here_;
  Run own_{};
  int own_node_ = 0, most_ = 1;
  std::uint64_t host_ = 0;
};

// Returns the first thread of a process, if `threads` are divided among so many processes.
[[nodiscard]] constexpr int first_thread_of(int threads, int processes, int process) {
  return static_cast<int>(std::int64_t{threads} * process / processes);
}

}  // namespace copse::upc
