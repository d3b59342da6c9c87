// The ranks of an MPI communicator meet over the MPI's own allgather.
#pragma once

#include "communicator/bootstrap.hpp"
#include "requests.hpp"

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
    int revoked = 0;  // then Open MPI's blocking calls return an error, but those that are started never end
    if (real().Comm_is_revoked != nullptr) real().Comm_is_revoked(comm_, &revoked);
    if (revoked != 0) return false;
    const int count = static_cast<int>(bytes);
    const Raw byte = raw_of(MPI_BYTE), comm = raw_of(comm_);
    MPI_Request request = MPI_REQUEST_NULL;  // what else this rank has started goes on meanwhile
    return real().Iallgather(mine, count, byte, all, count, byte, comm, &request) == MPI_SUCCESS &&
           wait_for_mpi(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS;
  }

 private:
  MPI_Comm comm_;
  int rank_ = 0, ranks_ = 1;
};

}  // namespace copse::mpi
