// Datatypes: what Copse has to know of an MPI datatype, in constant time.
//
// Ranks may legally describe the same data by different datatypes (MPI-4.1 6.4), so nothing that the ranks must agree
// upon may depend on more than `size`. A type that is not dense is packed on the way in and unpacked on the way out.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "copse/types.h"
#include "family.hpp"

namespace copse::mpi {

struct Datatype {
  MPI_Datatype handle{};
  MPI_Datatype given{};                  // by the program: what its operators are to be called with
  std::size_t size = 0;                  // bytes of data in one element
  bool dense = false;                    // an array of it is just its data, in order, without gaps
  copse_type reducible = COPSE_TYPE_COUNT;  // what predefined operators take it for; COPSE_TYPE_COUNT: nothing
  std::uint16_t operators = 0;           // predefined operators that MPI-4.1 6.9.2 defines for it: bit 1 << copse_op
  std::ptrdiff_t extent = 0, true_lb = 0, true_extent = 0;
  bool derived = false;                        // the program may have made it, and may free it
  mutable std::weak_ptr<const Datatype> copy;  // what kept() has made; it keeps the MPI's type alive, and with it this
};

// Once, after MPI_Init; and in MPI_Finalize.
void prepare_datatypes();
void finish_datatypes();

// Null if the MPI refuses the type (MPI_DATATYPE_NULL, not committed ...): pass the call on for its error.
const Datatype *datatype_of(Raw raw);

namespace detail {
// Counts the derived types that the program has freed: what was known of a handle before that may be of another type.
inline std::atomic<std::uint64_t> types_freed = 0;
}  // namespace detail

// The same type, for calls that may outlive it: the program may free its own while they are under way.
std::shared_ptr<const Datatype> kept(const Datatype &type);

// Bytes of a message; false if that overflows.
inline bool message_bytes(std::int64_t count, std::size_t size, std::size_t &bytes) {
  return !__builtin_mul_overflow(static_cast<std::size_t>(count), size, &bytes);
}

// `count` elements at `buffer` to and from their data without gaps. Returns MPI's error code; no error handler is called.
int pack(const Datatype &type, const void *buffer, std::size_t count, void *packed);
int unpack(const Datatype &type, const void *packed, void *buffer, std::size_t count);

}  // namespace copse::mpi
