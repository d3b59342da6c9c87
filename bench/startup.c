/* A program that only initialises and finalises the MPI, for bench/startup.py. */
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Finalize();
  return 0;
}
