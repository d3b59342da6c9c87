/* Two applications whose time goes into short allreduces: solvers METHOD SIDE STEPS
 *
 * A grid of SIDE x SIDE points on each rank, in a two-dimensional arrangement of the ranks. The operator is that of POP's
 * barotropic mode: 5 points, with a depth that varies, and a diagonal preconditioner.
 *
 *   cg               conjugate gradients until the residual is 1e-10 of the first: two allreduces of 8 bytes an iteration
 *   cg-pipelined     conjugate gradients by Ghysels and Vanroose (Parallel Computing 40, 2014, algorithm 4): one started
 *                    allreduce of 24 bytes an iteration, behind the operator
 *   pop              STEPS time steps of ten iterations each, with 21 allreduces of 8 bytes, as CDCP V.F describes them
 *   pop-started      pop with started allreduces behind the exchange of borders: the same arithmetic, so the same bits
 *
 * Rank 0 prints a line of JSON: seconds, those in collectives (on rank 0), iterations, and a sum over the solution. */
#define _GNU_SOURCE
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int side;       /* points of this rank in each direction; a border of one point lies around them */
static MPI_Comm grid;  /* the ranks' arrangement */
static int neighbours[4];
static MPI_Datatype column; /* of a field */
static double in_collectives;

typedef double* field; /* [side + 2][side + 2] */
static size_t at(int row, int column) { return (size_t)row * (size_t)(side + 2) + (size_t)column; }

static field depth; /* of the sea, at the points and on their border */
static field diagonal;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static field make_field(void) {
  field f = calloc((size_t)(side + 2) * (size_t)(side + 2), sizeof *f);
  if (f == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  return f;
}

#define FOR_POINTS(r, c)          \
  for (int r = 1; r <= side; ++r) \
    for (int c = 1; c <= side; ++c)

static double dot(field a, field b) {
  double sum = 0;
  FOR_POINTS(r, c) sum += a[at(r, c)] * b[at(r, c)];
  return sum;
}

/* Gets the border of a field from the neighbours. */
static void exchange_border(field f) {
  const struct {
    double *give, *get;
    MPI_Datatype type;
  } borders[4] = {{f + at(1, 1), f + at(0, 1), MPI_DOUBLE},
                  {f + at(side, 1), f + at(side + 1, 1), MPI_DOUBLE},
                  {f + at(1, 1), f + at(1, 0), column},
                  {f + at(1, side), f + at(1, side + 1), column}};
  MPI_Request requests[8];
  for (int i = 0; i < 4; ++i) {
    const int count = borders[i].type == column ? 1 : side;
    MPI_Irecv(borders[i].get, count, borders[i].type, neighbours[i], i, grid, &requests[i]);
    MPI_Isend(borders[i].give, count, borders[i].type, neighbours[i], i ^ 1, grid, &requests[4 + i]);
  }
  MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
}

static double face(int r, int c, int other_r, int other_c) { return 0.5 * (depth[at(r, c)] + depth[at(other_r, other_c)]); }

/* to = A from. The border of `from` is up to date. */
static void apply(field to, field from) {
  FOR_POINTS(r, c)
  to[at(r, c)] = diagonal[at(r, c)] * from[at(r, c)] - face(r, c, r - 1, c) * from[at(r - 1, c)] -
                 face(r, c, r + 1, c) * from[at(r + 1, c)] - face(r, c, r, c - 1) * from[at(r, c - 1)] -
                 face(r, c, r, c + 1) * from[at(r, c + 1)];
}

static void precondition(field to, field from) { FOR_POINTS(r, c) to[at(r, c)] = from[at(r, c)] / diagonal[at(r, c)]; }

static double sum_of_all(double mine) {
  double all;
  const double begin = now();
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  in_collectives += now() - begin;
  return all;
}

typedef struct started {
  double mine[3], all[3];
  MPI_Request request;
} started;

static void start_sums(started* s, int count) {
  const double begin = now();
  MPI_Iallreduce(s->mine, s->all, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &s->request);
  in_collectives += now() - begin;
}

static void finish_sums(started* s) {
  const double begin = now();
  MPI_Wait(&s->request, MPI_STATUS_IGNORE);
  in_collectives += now() - begin;
}

/* x = b - A x becomes the residual in r. */
static void residual_of(field r, field b, field x) {
  exchange_border(x);
  apply(r, x);
  FOR_POINTS(i, j) r[at(i, j)] = b[at(i, j)] - r[at(i, j)];
}

static int cg(field x, field b) {
  field r = make_field(), z = make_field(), p = make_field(), q = make_field();
  int iterations = 0;
  residual_of(r, b, x);
  double rz = 0, first = 0;
  for (;; ++iterations) {
    precondition(z, r);
    const double before = rz;
    rz = sum_of_all(dot(r, z));
    if (iterations == 0) first = rz;
    if (rz <= 1e-20 * first) break;
    const double beta = iterations == 0 ? 0 : rz / before;
    FOR_POINTS(i, j) p[at(i, j)] = z[at(i, j)] + beta * p[at(i, j)];
    exchange_border(p);
    apply(q, p);
    const double alpha = rz / sum_of_all(dot(p, q));
    FOR_POINTS(i, j) x[at(i, j)] += alpha * p[at(i, j)];
    FOR_POINTS(i, j) r[at(i, j)] -= alpha * q[at(i, j)];
  }
  free(r), free(z), free(p), free(q);
  return iterations;
}

static int cg_pipelined(field x, field b) {
  field r = make_field(), u = make_field(), w = make_field(), m = make_field(), n = make_field();
  field z = make_field(), q = make_field(), s = make_field(), p = make_field();
  started sums;
  double gamma = 0, alpha = 0, first = 0;
  int iterations = 0;
  residual_of(r, b, x);
  precondition(u, r);
  exchange_border(u);
  apply(w, u);
  for (;; ++iterations) {
    const double gamma_before = gamma, alpha_before = alpha;
    sums.mine[0] = dot(r, u);
    sums.mine[1] = dot(w, u);
    sums.mine[2] = dot(r, r);
    start_sums(&sums, 3);
    precondition(m, w);
    exchange_border(m);
    apply(n, m);
    finish_sums(&sums);
    gamma = sums.all[0];
    if (iterations == 0) first = gamma;
    if (gamma <= 1e-20 * first) break;
    const double beta = iterations == 0 ? 0 : gamma / gamma_before;
    alpha = iterations == 0 ? gamma / sums.all[1] : gamma / (sums.all[1] - beta * gamma / alpha_before);
    FOR_POINTS(i, j) {
      const size_t k = at(i, j);
      z[k] = n[k] + beta * z[k];
      q[k] = m[k] + beta * q[k];
      s[k] = w[k] + beta * s[k];
      p[k] = u[k] + beta * p[k];
      x[k] += alpha * p[k];
      r[k] -= alpha * s[k];
      u[k] -= alpha * q[k];
      w[k] -= alpha * z[k];
    }
  }
  free(r), free(u), free(w), free(m), free(n), free(z), free(q), free(s), free(p);
  return iterations;
}

/* Returns the sum of a b, and gets the border of a field: one after the other, or both at once. */
static double sum_and_border(field a, field b, field bordered, int starts) {
  if (!starts) {
    const double sum = sum_of_all(dot(a, b));
    exchange_border(bordered);
    return sum;
  }
  started sums;
  sums.mine[0] = dot(a, b);
  start_sums(&sums, 1);
  exchange_border(bordered);
  finish_sums(&sums);
  return sums.all[0];
}

/* Ten iterations, and the sum for the test of convergence. */
static double ten_iterations(field x, field b, field r, field z, field p, field q, int starts) {
  double rz = 0;
  residual_of(r, b, x);
  memset(p, 0, (size_t)(side + 2) * (size_t)(side + 2) * sizeof *p);
  for (int iteration = 0; iteration < 10; ++iteration) {
    precondition(z, r);
    const double before = rz;
    rz = sum_and_border(r, z, z, starts);
    const double beta = iteration == 0 ? 0 : rz / before;
    for (size_t k = 0; k < (size_t)(side + 2) * (size_t)(side + 2); ++k) p[k] = z[k] + beta * p[k]; /* the border, too */
    apply(q, p);
    const double pq = sum_of_all(dot(p, q)), alpha = pq == 0 ? 0 : rz / pq;
    FOR_POINTS(i, j) x[at(i, j)] += alpha * p[at(i, j)];
    FOR_POINTS(i, j) r[at(i, j)] -= alpha * q[at(i, j)];
  }
  return sum_and_border(r, r, x, starts);
}

/* Lets the sea swing: each step's right-hand side comes from the two solutions before it. */
static int pop(field x, field b, int steps, int starts) {
  field r = make_field(), z = make_field(), p = make_field(), q = make_field(), old = make_field();
  double sum = 0;
  for (int step = 0; step < steps; ++step) {
    FOR_POINTS(i, j) {
      const double next = 0.9 * b[at(i, j)] + 0.004 * x[at(i, j)] - 0.002 * old[at(i, j)];
      old[at(i, j)] = x[at(i, j)];
      b[at(i, j)] = next;
    }
    sum = ten_iterations(x, b, r, z, p, q, starts);
  }
  free(r), free(z), free(p), free(q), free(old);
  return sum >= 0 ? 10 * steps : -1;
}

static void make_sea(int row, int column, field b) {
  for (int r = 0; r <= side + 1; ++r)
    for (int c = 0; c <= side + 1; ++c) depth[at(r, c)] = 1 + 0.5 * sin(0.05 * (row * side + r)) * cos(0.07 * (column * side + c));
  FOR_POINTS(r, c) {
    diagonal[at(r, c)] = 0.05 + face(r, c, r - 1, c) + face(r, c, r + 1, c) + face(r, c, r, c - 1) + face(r, c, r, c + 1);
    b[at(r, c)] = sin(0.3 * (row * side + r)) + cos(0.2 * (column * side + c));
  }
}

int main(int argc, char** argv) {
  int ranks, rank, sizes[2] = {0, 0}, periods[2] = {0, 0}, place[2], iterations = -1;
  MPI_Init(&argc, &argv);
  if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 2);
  const char* const method = argv[1];
  side = atoi(argv[2]);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Dims_create(ranks, 2, sizes);
  MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periods, 0, &grid);
  MPI_Comm_rank(grid, &rank);
  MPI_Cart_coords(grid, rank, 2, place);
  MPI_Cart_shift(grid, 0, 1, &neighbours[0], &neighbours[1]);
  MPI_Cart_shift(grid, 1, 1, &neighbours[2], &neighbours[3]);
  MPI_Type_vector(side, 1, side + 2, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  field x = make_field(), b = make_field();
  depth = make_field();
  diagonal = make_field();
  make_sea(place[0], place[1], b);
  for (int i = 0; i < 100; ++i) sum_of_all(i); /* what makes its state at the first calls has done so */
  in_collectives = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = now();
  if (strcmp(method, "cg") == 0) iterations = cg(x, b);
  if (strcmp(method, "cg-pipelined") == 0) iterations = cg_pipelined(x, b);
  if (strcmp(method, "pop") == 0) iterations = pop(x, b, atoi(argv[3]), 0);
  if (strcmp(method, "pop-started") == 0) iterations = pop(x, b, atoi(argv[3]), 1);
  const double seconds = now() - begin, collectives = in_collectives, sum = sum_of_all(dot(x, x));
  if (rank == 0)
    printf("{\"method\": \"%s\", \"seconds\": %.6f, \"in_collectives\": %.6f, \"iterations\": %d, \"sum\": \"%a\"}\n", method,
           seconds, collectives, iterations, sum);
  free(x), free(b), free(depth), free(diagonal);
  MPI_Type_free(&column);
  MPI_Comm_free(&grid);
  MPI_Finalize();
  return iterations < 0;
}
