// Operators: which kernel, or which function of the user's, a reduction applies.
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

// Once, after MPI_Init.
void prepare_operators();

// False if it is none that a reduction may use (MPI_OP_NULL, MPI_NO_OP, an extension): the call is passed on.
bool operator_of(Raw raw, Operator &found);

// What lies behind Combine::user: the MPI applies the user's function, so operators made in Fortran and large-count
// ones work alike. Elements are `type.size` bytes of data; the function sees them laid out as the type says.
// What fails there is the error of the call, which takes its full part all the same: other ranks wait for it.
struct UserReduction {
  MPI_Op op;
  const Datatype *type;
  int error = MPI_SUCCESS;  // the first

  static void apply(void *self, const void *in, void *inout, std::size_t count);

 private:
  int apply_few(const char *in, char *inout, std::size_t count) const;
};

// "SUM of DOUBLE", for COPSE_CHECK.
std::string describe(const Operator &op, const Datatype &type);

}  // namespace copse::mpi
