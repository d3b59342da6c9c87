/* Preloaded behind Copse, which finds these functions in place of the MPI's. They fail when the program says so
 * (errors.c). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stddef.h>

/* The next so many calls fail, after `spare` good ones. */
int fail_pack, fail_unpack, fail_reduce_local, fail_set_attr, fail_type_set_attr, fail_isend;
int spare;

static int fails(int* left) {
  if (*left == 0 || spare-- > 0) return 0;
  --*left;
  return 1;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int PMPI_Pack(const void* in, int count, MPI_Datatype type, void* out, int size, int* position, MPI_Comm comm) {
  if (count > 0 && fails(&fail_pack)) return MPI_ERR_INTERN;
  return NEXT(PMPI_Pack)(in, count, type, out, size, position, comm);
}

int PMPI_Unpack(const void* in, int size, int* position, void* out, int count, MPI_Datatype type, MPI_Comm comm) {
  if (fails(&fail_unpack)) return MPI_ERR_INTERN;
  return NEXT(PMPI_Unpack)(in, size, position, out, count, type, comm);
}

int PMPI_Reduce_local(const void* in, void* inout, int count, MPI_Datatype type, MPI_Op op) {
  if (fails(&fail_reduce_local)) return MPI_ERR_INTERN;
  return NEXT(PMPI_Reduce_local)(in, inout, count, type, op);
}

int PMPI_Type_set_attr(MPI_Datatype type, int key, void* value) {
  if (fails(&fail_type_set_attr)) return MPI_ERR_INTERN;
  return NEXT(PMPI_Type_set_attr)(type, key, value);
}

int PMPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  if (fails(&fail_isend)) return MPI_ERR_INTERN;
  return NEXT(PMPI_Isend)(data, count, type, to, tag, comm, request);
}

int PMPI_Comm_set_attr(MPI_Comm comm, int key, void* value) {
  if (fails(&fail_set_attr)) return MPI_ERR_INTERN;
  return NEXT(PMPI_Comm_set_attr)(comm, key, value);
}
