// The ranks of an MPI communicator meet over the MPI's own allgather.
#pragma once

#include "communicator/bootstrap.hpp"
#include "real.hpp"

namespace copse::mpi {

class MpiBootstrap final : public communicator::Bootstrap {
 public:
  explicit MpiBootstrap(MPI_Comm comm) : comm_(comm) {
    real().Comm_rank_(comm, &rank_);
    real().Comm_size_(comm, &ranks_);
  }
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int ranks() const override { return ranks_; }
  bool allgather(const void *mine, void *all, std::size_t bytes) override {
    const int count = static_cast<int>(bytes);
    return real().Allgather_(mine, count, MPI_BYTE, all, count, MPI_BYTE, comm_) == MPI_SUCCESS;
  }

 private:
  MPI_Comm comm_;
  int rank_ = 0, ranks_ = 1;
};

}  // namespace copse::mpi
