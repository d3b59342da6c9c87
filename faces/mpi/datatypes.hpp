// What Copse has to know about an MPI datatype, found in constant time.
//
// Ranks may legally describe the same data by different datatypes (MPI-4.1 6.4), so nothing that the ranks must agree
// on may depend on more than `size`. A type that is not dense is packed on the way in and unpacked on the way out.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "copse/types.h"
#include "family.hpp"

namespace copse::mpi {

// Where the data of one element lie: MPI's true lower bound and true extent.
struct TrueExtent {
  std::ptrdiff_t lb = 0, bytes = 0;
};

struct Datatype {
  MPI_Datatype handle{};
  MPI_Datatype given{};                  // the program's own handle, for calls of its operators
  std::size_t size = 0;                  // bytes of data in one element
  bool dense = false;                    // an array of it has no gaps and keeps the order of its data
  copse_type reducible = COPSE_TYPE_COUNT;  // for predefined operators; COPSE_TYPE_COUNT: none applies
  std::uint16_t operators = 0;           // predefined operators that MPI-4.1 6.9.2 defines for it: bit 1 << copse_op
  std::ptrdiff_t extent = 0;
  TrueExtent true_extent;
  bool derived = false;                        // the program may have made it, and may free it
  mutable std::weak_ptr<const Datatype> copy;  // from kept(); it keeps the MPI's type alive, and so this
};

// Call prepare_datatypes() once, after MPI_Init. Call finish_datatypes() in MPI_Finalize.
void prepare_datatypes();
void finish_datatypes();

// Returns null if the MPI refuses the type (MPI_DATATYPE_NULL, not committed ...). The call is then passed on, so that
// the MPI reports its error.
const Datatype* datatype_of(Raw raw);

// Returns a predefined datatype whose elements are of that type, or MPI_DATATYPE_NULL if the MPI has none.
MPI_Datatype datatype_for(copse_type type);

namespace detail {
// Counts the derived types that the program has freed. After each, a remembered handle may belong to another type.
inline std::atomic<std::uint64_t> types_freed = 0;
}  // namespace detail

// Keeps a type for calls that may outlive it, because the program may free its own type while they are under way.
std::shared_ptr<const Datatype> kept(const Datatype& type);

// Computes the bytes of a message. Returns false if the product overflows.
inline bool message_bytes(std::int64_t count, std::size_t size, std::size_t& bytes) {
  return !__builtin_mul_overflow(static_cast<std::size_t>(count), size, &bytes);
}

// These copy `count` elements at `buffer` to packed data and back. They return MPI's error code and call no error
// handler.
int pack(const Datatype& type, const void* buffer, std::size_t count, void* packed);
int unpack(const Datatype& type, const void* packed, void* buffer, std::size_t count);

}  // namespace copse::mpi
