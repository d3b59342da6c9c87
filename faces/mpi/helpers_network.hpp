// Helpers that are ranks reach one another by the MPI, on a communicator of all helpers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "communicator/helpers_network.hpp"
#include "family.hpp"

namespace copse::mpi {

// Each helper gives out streams of its own.
class RanksNetwork final : public communicator::HelpersNetwork {
 public:
  explicit RanksNetwork(MPI_Comm helpers);
  [[nodiscard]] int number() const override { return rank_; }
  [[nodiscard]] std::vector<std::int32_t> offer(std::size_t most) override;
  void withdraw(const std::vector<std::int32_t>& streams) override;
  [[nodiscard]] bool is_free(std::int32_t stream) override;
  void take(std::int32_t stream) override;
  [[nodiscard]] std::unique_ptr<engine::Wire> wire(std::vector<std::int32_t> numbers, int stream) override;
  void give_back(int stream);

 private:
  MPI_Comm comm_;
  int rank_ = 0, first_stream_ = 0, streams_ = 0;  // those that this helper gives out
  std::mutex mutex_;
  std::set<std::int32_t> used_, offered_;  // used_: by wires of this helper
};

}  // namespace copse::mpi
