// Memory for what a call computes on its way. It belongs to one call, from its beginning to its end. When a rank returns, no peer
// touches its scratches any more (the checker proves that), so calls of other streams can use the same memory next.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace copse::engine {

struct ScratchMemory {
  std::unique_ptr<std::byte[]> at;
  std::size_t bytes = 0;

  ScratchMemory() = default;
  explicit ScratchMemory(std::size_t size) : at(std::make_unique_for_overwrite<std::byte[]>(size)), bytes(size) {}
};

// The scratches that no call of a rank uses at the moment.
class ScratchPool {
 public:
  // Returns at least `bytes`. Throws std::bad_alloc.
  [[nodiscard]] ScratchMemory take(std::size_t bytes);
  void give_back(ScratchMemory memory) noexcept;

 private:
  static constexpr std::size_t kKept = std::size_t{16} << 20;  // NUMACol 3

  std::mutex mutex_;
  std::vector<ScratchMemory> free_;  // the one given back last is the last
  std::size_t bytes_ = 0;            // of all of them
};

// Memory from a pool until the end of a scope.
class BorrowedScratch {
 public:
  BorrowedScratch(ScratchPool& pool, std::size_t bytes) : pool_(pool), memory_(pool.take(bytes)) {}
  ~BorrowedScratch() { pool_.give_back(std::move(memory_)); }
  BorrowedScratch(const BorrowedScratch&) = delete;
  BorrowedScratch& operator=(const BorrowedScratch&) = delete;
  [[nodiscard]] std::byte* at() const { return memory_.at.get(); }

 private:
  ScratchPool& pool_;
  ScratchMemory memory_;
};

}  // namespace copse::engine
