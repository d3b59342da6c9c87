// Operators: the kernel, or the user's function, that a reduction applies.
#pragma once

#include <string>

#include "datatypes.hpp"
#include "engine/combine.hpp"

namespace copse::mpi {

struct Operator {
  MPI_Op handle{};
  bool predefined = false;
  copse_op op = COPSE_OP_COUNT;
  bool commutative = true;
};

// Call this once, after MPI_Init.
void prepare_operators();

// Returns false for an operator that a reduction cannot use (MPI_OP_NULL, MPI_NO_OP, an extension). The call is then
// passed on.
bool operator_of(Raw raw, Operator& found);

// The context of Combine::user. The MPI itself applies the user's function, so operators made in Fortran and
// large-count operators work too. Copse holds `type.size` bytes of data per element; the function sees elements laid
// out as the type says. An error becomes the error of the call, which still does its full part, because other ranks
// wait for it.
struct UserReduction {
  MPI_Op op;
  const Datatype* type;
  int error = MPI_SUCCESS;  // the first error

  static void apply(void* self, const void* in, void* inout, std::size_t count);

 private:
  int apply_few(const char* in, char* inout, std::size_t count) const;
};

// Returns, for instance, "SUM of DOUBLE", for COPSE_CHECK.
std::string describe(const Operator& op, const Datatype& type);

}  // namespace copse::mpi
