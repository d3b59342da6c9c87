/* An MPI program that knows nothing about Copse: it fits a linear model by gradient descent, as programs of machine learning
 * do. In each step, every rank takes a few samples of its own, and the ranks add up their gradients. It prints how long
 * the steps took.
 *
 *     mpicc -O2 examples/gradient_descent.c -o gradient_descent
 *     mpirun -n 2 ./gradient_descent
 *     build/bin/copse run mpirun -n 2 ./gradient_descent
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kWeights = 1 << 14, kKinds = 32, kSamples = 1, kSteps = 20000 }; /* kSamples: of each rank in each step */

static float truth[kWeights], weights[kWeights], pattern[kWeights], *gradient;

/* Returns numbers between -1 and 1 that are always the same (Marsaglia's xorshift). */
static float number(unsigned* state) {
  *state ^= *state << 13, *state ^= *state >> 17, *state ^= *state << 5;
  return (float)(int)*state / 2147483648.0f;
}

/* Input i of a sample. There are several kinds of samples, and each kind has a pattern of its own. */
static float input(int kind, int i) { return pattern[(i + kind * (kWeights / kKinds)) % kWeights]; }

static void add_gradient(unsigned* state) {
  const int kind = (int)(*state % kKinds);
  float error = 0;
  number(state);
  for (int i = 0; i < kWeights; ++i) error += input(kind, i) * (weights[i] - truth[i]);
  for (int i = 0; i < kWeights; ++i) gradient[i] += error * input(kind, i);
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  gradient = malloc(kWeights * sizeof *gradient); /* memory that --shared-heap lets the other ranks read */
  unsigned common = 1, mine = 17u * (unsigned)(rank + 1);
  for (int i = 0; i < kWeights; ++i) pattern[i] = number(&common);
  for (int kind = 0; kind < kKinds; ++kind) {
    const float share = number(&common);
    for (int i = 0; i < kWeights; ++i) truth[i] += share * input(kind, i);
  }

  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int step = 0; step < kSteps; ++step) {
    for (int i = 0; i < kWeights; ++i) gradient[i] = 0;
    for (int i = 0; i < kSamples; ++i) add_gradient(&mine);
    MPI_Allreduce(MPI_IN_PLACE, gradient, kWeights, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < kWeights; ++i) weights[i] -= gradient[i] / (kWeights * kSamples * (float)ranks);
  }
  const double seconds = MPI_Wtime() - start;
  double error = 0;
  for (int i = 0; i < kWeights; ++i) error += (weights[i] - truth[i]) * (weights[i] - truth[i]);
  if (rank == 0) printf("%d ranks: %d steps, mean square error %.0e, %.2f s\n", ranks, kSteps, error / kWeights, seconds);
  free(gradient);
  MPI_Finalize();
  return error < 1e-8 * kWeights ? 0 : 1;
}
