// Dense datatypes. An array of a dense type holds just its data, in order and without gaps, so it need not be packed.
#pragma once

#include "family.hpp"

namespace copse::mpi {

// Tries a type by packing it, which takes time and memory in proportion to the type's size. A large type is judged by
// how it was made instead, so some large dense types are not recognised. `comm` is for MPI_Pack.
bool is_dense(MPI_Datatype type, MPI_Comm comm);

}  // namespace copse::mpi
