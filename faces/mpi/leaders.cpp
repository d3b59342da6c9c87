// Starts the MPI's nonblocking collectives, and tests them as often as the executor asks.
#include "leaders.hpp"

#include <algorithm>
#include <atomic>

#include "datatypes.hpp"
#include "progress.hpp"

namespace copse::mpi {
namespace {

using engine::LeadersCall;
using engine::Wired;
using plan::Delegation;

std::atomic<int> live_ones{0};

Raw op_of(copse_op op) {
  switch (op) {
#define COPSE_MPI_OP(name) \
  case COPSE_##name: return raw_of(MPI_##name);
    COPSE_OPS(COPSE_MPI_OP)
#undef COPSE_MPI_OP
    default: return raw_of(MPI_OP_NULL);
  }
}

}  // namespace

Leaders::Leaders(MPI_Comm comm, int rank, std::span<const int> leaders) : leaders_(leaders.begin(), leaders.end()) {
  live_ones.fetch_add(1);
  const bool leads = std::binary_search(leaders_.begin(), leaders_.end(), rank);
  const int made = helped([&] { return real().Comm_split_(comm, leads ? 0 : MPI_UNDEFINED, rank, &comm_); });
  ready_ = made == MPI_SUCCESS && (comm_ != MPI_COMM_NULL) == leads;
  if (comm_ != MPI_COMM_NULL) real().Comm_set_errhandler_(comm_, MPI_ERRORS_RETURN);
}

int Leaders::live() { return live_ones.load(); }

Leaders::~Leaders() {
  live_ones.fetch_sub(1);
  if (comm_ != MPI_COMM_NULL && !finishing()) real().Comm_free_(&comm_);
}

int Leaders::start_part(const LeadersCall& part, int root, MPI_Request& request) const {
  const int count = static_cast<int>(part.count);
  const Raw comm = raw_of(comm_);
  if (part.what == Delegation::barrier) return real().Ibarrier(comm, &request);
  if (part.what == Delegation::broadcast) {
    void* const buffer = part.to == nullptr ? const_cast<void*>(part.from) : part.to;
    return real().Ibcast(buffer, count * static_cast<int>(part.element_bytes), raw_of(MPI_BYTE), root, comm, &request);
  }
  const engine::Operation operation = engine::operation_of(part.combine->code);
  const Raw type = raw_of(datatype_for(operation.type)), op = op_of(operation.op);
  const void* const from = part.from == part.to ? MPI_IN_PLACE : part.from;
  if (part.what == Delegation::allreduce) return real().Iallreduce(from, part.to, count, type, op, comm, &request);
  return real().Ireduce(from, part.to, count, type, op, root, comm, &request);
}

bool Leaders::start(const LeadersCall& what, int tag, std::uint64_t ticket) {
  const auto place = std::lower_bound(leaders_.begin(), leaders_.end(), what.root);
  const int root = what.root < 0 ? 0 : static_cast<int>(place - leaders_.begin());
  const std::size_t most = std::max<std::size_t>(1, kMessageMax / std::max<std::size_t>(1, what.element_bytes));
  LeadersCall part = what;
  std::size_t done = 0;
  do {
    const std::size_t bytes = done * what.element_bytes;
    part.count = std::min(most, what.count - done);
    if (what.from != nullptr) part.from = static_cast<const char*>(what.from) + bytes;
    if (what.to != nullptr) part.to = static_cast<char*>(what.to) + bytes;
    started_.push_back({tag, ticket, MPI_REQUEST_NULL});
    if (start_part(part, root, started_.back().request) != MPI_SUCCESS) {
      started_.pop_back();
      return false;
    }
    done += part.count;
  } while (done < what.count);
  return true;
}

Wired Leaders::collect(int tag, std::uint64_t ticket) {
  return take_ended(started_, [&](const Started& each) { return each.tag == tag && each.ticket == ticket; });
}

// A collective cannot be cancelled. If a member has died, it may never end.
void Leaders::abandon() { give_up(started_); }

}  // namespace copse::mpi
