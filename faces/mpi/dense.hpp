// Dense datatypes: an array of one is just its data, in order, without gaps, and need not be packed.
#pragma once

#include "family.hpp"

namespace copse::mpi {

// Takes time and memory with the type's size, but for large types: these are told by how they were made, and some that
// are dense are not known to be. `comm`: for MPI_Pack.
bool is_dense(MPI_Datatype type, MPI_Comm comm);

}  // namespace copse::mpi
