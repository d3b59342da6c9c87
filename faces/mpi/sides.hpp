// One side of a call that moves data: blocks of MPI elements in a buffer of this rank, and the memory that Copse gets
// for them. That is the buffer itself if every element is dense. Otherwise it is memory of Copse in which the blocks lie
// packed. Ranks may differ in this, and do not need to know this about each other.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "communicator/arguments.hpp"
#include "communicator/spans.hpp"
#include "datatypes.hpp"

namespace copse::mpi {

// Memory that lives as long as a communicator's state, so that packing small messages allocates nothing.
class Scratch {
 public:
  void* reserve(std::size_t bytes) {
    if (bytes > bytes_) {
      memory_.reset();
      bytes_ = (bytes + kAlign - 1) / kAlign * kAlign;
      memory_.reset(std::aligned_alloc(kAlign, bytes_));
    }
    return memory_.get();
  }
  void trim() {
    if (bytes_ > kKept) {
      memory_.reset();
      bytes_ = 0;
    }
  }

 private:
  static constexpr std::size_t kAlign = 64, kKept = std::size_t{1} << 20;
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::unique_ptr<void, Free> memory_;
  std::size_t bytes_ = 0;
};

// Returns the address so many bytes from another one, which may be null: programs give MPI_BOTTOM, and addresses as displacements.
inline char* moved(char* at, std::ptrdiff_t bytes) {
  return reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(at) + static_cast<std::uintptr_t>(bytes));
}

struct Piece {
  const Datatype* type = nullptr;
  std::size_t count = 0;  // elements
  char* at = nullptr;     // where element 0 lies
};

// The memory that sides need. A communicator keeps one from call to call. A request has its own (`outlives`), since its
// call may outlive the program's types and communicator.
struct SideMemory {
  Scratch packed;
  std::vector<Piece> pieces;
  std::vector<communicator::Block> blocks;
  bool outlives = false;
  std::vector<std::shared_ptr<const Datatype>> types;
  int wrong = MPI_SUCCESS;  // the class of the last side's error

  // Finds a type as datatype_of() does. The result lives at least as long as the call that uses it.
  const Datatype* type(Raw raw) {
    if (raw == last_raw_ && freed_ == detail::types_freed.load(std::memory_order_relaxed)) [[likely]]
      return last_;
    return other_type(raw);
  }

 private:
  const Datatype* other_type(Raw raw);

  // The type that was asked for last. It is valid while the number of freed types is still `freed_`.
  Raw last_raw_ = 0;
  const Datatype* last_ = nullptr;
  std::uint64_t freed_ = ~std::uint64_t{0};
};

// The memory of a call, or of the calls of a communicator, one after the other.
struct SidesMemory {
  SideMemory input, output;
};

class Side {
 public:
  Side(SideMemory& kept, int ranks) : kept_(kept), ranks_(ranks) {}

  // These describe the side by the call's arguments. If MPI forbids the arguments, they return false and set
  // SideMemory::wrong.
  bool one(const void* buffer, std::int64_t count, Raw type) {  // this rank's block alone
    return equal(buffer, count, type, 1);
  }
  bool row(const void* buffer, std::int64_t count, Raw type) {  // a block for each rank, one after the other
    return equal(buffer, count, type, ranks_);
  }
  template <class Count, class Displacement>  // a block for each rank; tables say how long it is and where it lies
  bool table(const void* buffer, const Count* counts, const Displacement* places, Raw type);
  template <class Count, class Displacement>  // a block for each rank, with a type of its own; places are in bytes
  bool table(const void* buffer, const Count* counts, const Displacement* places, const MPI_Datatype* types);
  // These describe a side whose blocks are for neighbours, not for all ranks. They return false as the functions above do. The
  // block of MPI_PROC_NULL is not used.
  bool one_for(std::span<const int> neighbors, const void* buffer, std::int64_t count, Raw type);  // one block for all
  bool row_for(std::span<const int> neighbors, const void* buffer, std::int64_t count, Raw type);
  template <class Count, class Displacement, class Types>
  bool table_for(std::span<const int> neighbors, const void* buffer, const Count* counts, const Displacement* places, Types types);
  bool nothing() { return row_for({}, nullptr, 0, 0); }  // no rank has a block

  // bytes() returns the size of a block of `one` or `row`. bytes(rank) returns the size of block `rank` of a table.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::size_t bytes(int rank) const { return kept_.blocks[static_cast<std::size_t>(rank)].count; }

  // Finds memory for the call. For `one` and `row` a block has `block_bytes` bytes; these differ from bytes() if the
  // program breaks MPI's rules. Returns false if there is no memory.
  bool prepare(std::size_t block_bytes) {
    memory_ = first_.at;
    given_ = block_bytes;
    return (dense_ && (table_.used || given_ == bytes_)) || prepare_packed();
  }
  // Call this after prepare(). Finds memory other than the program's for this side. Returns false if there is none.
  bool set_apart() { return dense_ ? prepare_packed() : memory_ != nullptr; }
  // Sets a side apart that the call must not write to. After this, store() returns MPI's error. Returns false if there is no
  // memory.
  bool refuse() {
    refused_ = true;
    return set_apart();
  }
  [[nodiscard]] char* memory() const { return memory_; }
  [[nodiscard]] char* memory(int rank) const {  // where the block of that rank lies
    return memory_ + (table_.used ? kept_.blocks[static_cast<std::size_t>(rank)].offset
                                  : static_cast<std::ptrdiff_t>(static_cast<std::size_t>(rank) * given_));
  }
  [[nodiscard]] const communicator::Block* blocks() const { return table_.used ? kept_.blocks.data() : nullptr; }
  // These look at the program's memory that the call itself reads or writes. If the blocks are packed, the call touches none of
  // it.
  [[nodiscard]] bool may_overlap(const Side* other) const;  // a quick look; only false is certain
  void add_spans(std::vector<communicator::Span>& spans, bool written, const char* name) const;
  // Returns whether more data comes than fits.
  [[nodiscard]] bool too_short() const { return !table_.used && given_ > bytes_; }

  // These copy from the buffer to the memory and back if the two differ. They return MPI's error code.
  int load() { return dense_ ? MPI_SUCCESS : load_packed(); }
  int load(int rank);
  int store() { return dense_ ? MPI_SUCCESS : store_packed(); }

 private:
  struct Range {
    std::uintptr_t begin, end;
  };
  struct Table {
    bool used = false, rising = true;  // rising: the blocks lie in the order of ranks
    bool one = false;  // all blocks that are not empty are the same one
    Range range{UINTPTR_MAX, 0};  // of all blocks
  };
  [[nodiscard]] Range range() const;
  bool is_wrong(int error) {
    kept_.wrong = error;
    return false;
  }
  inline bool equal(const void* buffer, std::int64_t count, Raw type, int blocks);
  bool prepare_packed();
  int load_packed();
  int store_packed();
  void begin_table(const void* buffer);
  bool add(int rank, Raw type, std::int64_t count, std::ptrdiff_t place, bool in_extents);
  template <class Count, class Displacement>
  bool add(int rank, std::size_t entry, const Count* counts, const Displacement* places, Raw type) {
    if (counts[entry] == 0) return add_nothing(rank);
    return places != nullptr ? add(rank, type, counts[entry], places[entry], true) : is_wrong(MPI_ERR_ARG);
  }
  template <class Count, class Displacement>
  bool add(int rank, std::size_t entry, const Count* counts, const Displacement* places, const MPI_Datatype* types) {
    if (counts[entry] == 0) return add_nothing(rank);
    return places != nullptr && types != nullptr ? add(rank, raw_of(types[entry]), counts[entry], places[entry], false)
                                                 : is_wrong(MPI_ERR_ARG);
  }
  // Begins a table in which only neighbours have blocks; all others are empty. Calls add(rank, entry) for each neighbour.
  template <class Add>
  bool for_each_of(std::span<const int> neighbors, const void* buffer, Add&& add);
  bool add_nothing(int rank) {  // some programs leave the places and types of empty blocks undefined
    kept_.pieces[static_cast<std::size_t>(rank)] = {};
    kept_.blocks[static_cast<std::size_t>(rank)] = {};
    return true;
  }
  [[nodiscard]] Piece piece(int index) const;

  SideMemory& kept_;
  int ranks_, blocks_ = 0;
  bool dense_ = true, refused_ = false;
  Table table_;
  Piece first_;  // for `one` and `row`
  std::size_t bytes_ = 0, given_ = 0;
  char* memory_ = nullptr;
};

bool Side::equal(const void* buffer, std::int64_t count, Raw raw_type, int blocks) {
  blocks_ = blocks;
  if (count == 0) return true;  // with any buffer and type: some programs pass null
  const Datatype* type = kept_.type(raw_type);
  if (type == nullptr) [[unlikely]]
    return is_wrong(MPI_ERR_TYPE);
  if (count < 0 || !message_bytes(count, type->size, bytes_)) [[unlikely]]
    return is_wrong(MPI_ERR_COUNT);
  first_ = {type, static_cast<std::size_t>(count), static_cast<char*>(const_cast<void*>(buffer))};
  dense_ = type->dense;
  return !dense_ || bytes_ == 0 || buffer != nullptr || is_wrong(MPI_ERR_BUFFER);
}

inline bool Side::add(int rank, Raw raw_type, std::int64_t count, std::ptrdiff_t place, bool in_extents) {
  const Datatype* type = kept_.type(raw_type);
  if (type == nullptr) return is_wrong(MPI_ERR_TYPE);
  if (count < 0) return is_wrong(MPI_ERR_COUNT);
  const auto index = static_cast<std::size_t>(rank);
  communicator::Block& block = kept_.blocks[index];
  block.offset = in_extents ? place * type->extent : place;
  if (!message_bytes(count, type->size, block.count)) return is_wrong(MPI_ERR_COUNT);
  char* const at = moved(first_.at, block.offset);
  kept_.pieces[index] = {type, static_cast<std::size_t>(count), at};
  bytes_ += block.count;  // the sum of all blocks
  if (block.count == 0) return true;
  const auto begin = reinterpret_cast<std::uintptr_t>(at), end = begin + block.count;
  if (begin < table_.range.end) table_.rising = false;
  table_.range.begin = std::min(table_.range.begin, begin);
  table_.range.end = std::max(table_.range.end, end);
  if (!type->dense) dense_ = false;
  return !type->dense || at != nullptr || is_wrong(MPI_ERR_BUFFER);
}

template <class Count, class Displacement>
bool Side::table(const void* buffer, const Count* counts, const Displacement* places, Raw type) {
  begin_table(buffer);
  if (counts == nullptr) return is_wrong(MPI_ERR_ARG);
  for (int rank = 0; rank < ranks_; ++rank)
    if (!add(rank, static_cast<std::size_t>(rank), counts, places, type)) return false;
  return true;
}

template <class Count, class Displacement>
bool Side::table(const void* buffer, const Count* counts, const Displacement* places, const MPI_Datatype* types) {
  begin_table(buffer);
  if (counts == nullptr) return is_wrong(MPI_ERR_ARG);
  for (int rank = 0; rank < ranks_; ++rank)
    if (!add(rank, static_cast<std::size_t>(rank), counts, places, types)) return false;
  return true;
}

template <class Add>
bool Side::for_each_of(std::span<const int> neighbors, const void* buffer, Add&& add) {
  begin_table(buffer);
  for (int rank = 0; rank < ranks_; ++rank) add_nothing(rank);
  for (std::size_t i = 0; i < neighbors.size(); ++i)
    if (neighbors[i] != MPI_PROC_NULL && !add(neighbors[i], i)) return false;
  return true;
}

inline bool Side::one_for(std::span<const int> neighbors, const void* buffer, std::int64_t count, Raw type) {
  table_.one = true;
  return for_each_of(neighbors, buffer, [&](int rank, std::size_t) { return count == 0 || add(rank, type, count, 0, true); });
}

inline bool Side::row_for(std::span<const int> neighbors, const void* buffer, std::int64_t count, Raw type) {
  return for_each_of(neighbors, buffer, [&](int rank, std::size_t i) {
    return count == 0 || add(rank, type, count, static_cast<std::ptrdiff_t>(i) * count, true);
  });
}

template <class Count, class Displacement, class Types>
bool Side::table_for(std::span<const int> neighbors, const void* buffer, const Count* counts, const Displacement* places,
                     Types types) {
  if (counts == nullptr && !neighbors.empty()) return is_wrong(MPI_ERR_ARG);
  return for_each_of(neighbors, buffer, [&](int rank, std::size_t i) { return add(rank, i, counts, places, types); });
}

}  // namespace copse::mpi
