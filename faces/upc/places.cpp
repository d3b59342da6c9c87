// Divides UPC threads among processes, and processes among nodes.
#include "places.hpp"

#include <algorithm>
#include <unordered_map>

namespace copse::upc {

Places::Places(int threads) : Places(threads, std::vector<std::uint64_t>{0}, 0) {}

Places::Places(int threads, std::span<const std::uint64_t> hosts, int process) {
  const int processes = static_cast<int>(hosts.size());
  own_ = {first_thread_of(threads, processes, process), first_thread_of(threads, processes, process + 1)};
  std::unordered_map<std::uint64_t, int> node_of_host;  // a node's number is that of its first process
  for (int each = 0; each < processes; ++each) node_of_host.try_emplace(hosts[static_cast<std::size_t>(each)], each);
  const auto node_of_process = [&](int each) { return node_of_host.at(hosts[static_cast<std::size_t>(each)]); };
  own_node_ = node_of_process(process);
  host_ = hosts[static_cast<std::size_t>(process)];
  std::vector<int> on_node(hosts.size());
  for (int each = 0; each < processes; ++each) {
    const int first = first_thread_of(threads, processes, each), end = first_thread_of(threads, processes, each + 1);
    const int node = node_of_process(each);
    most_ = std::max(most_, end - first);
    for (int thread = first; thread < end; ++thread) {
      at_.push_back({each, thread - first});
      nodes_.push_back(node);
      among_node_.push_back(on_node[static_cast<std::size_t>(node)]++);
      if (node == own_node_) here_.push_back(thread);
    }
  }
}

}  // namespace copse::upc
