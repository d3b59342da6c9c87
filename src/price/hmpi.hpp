// HMPI's closed equations for allreduce on one node of several sockets (HMPI 2.1 to 2.4, equations 1 to 11). The walk (price.hpp)
// is to reproduce them for the shapes that they cover.
#pragma once

#include "price/parameters.hpp"

namespace copse::price {

// The equations' parameters, in ns and in ns per line. Messages have m lines.
struct Hmpi {
  double a_alpha = 0, b_alpha = 0, B_alpha = 0;  // inside a socket: latency, one reader, shared by all readers
  double a_beta = 0, b_beta = 0, B_beta = 0;  // between sockets
  int q = 1, s = 1;  // threads in each socket, sockets

  // Returns the parameters of a machine, with q threads in each of s sockets. Alpha is the machine's innermost shared level, and
  // beta is its outermost level. Besides the line of another thread, a step of HMPI reads and writes a line of its own (3.4). The
  // latencies include that.
  static Hmpi of(const Parameters& machine, int q, int s);

  // Equation 1, in its first form: how many threads are left when reductions no longer congest the socket's cache.
  [[nodiscard]] int uncongested() const;
  // HMPI unfolds equation 5 with this d, where equation 1 gives 3 on both machines. The recorded machines are fitted to it.
  [[nodiscard]] int unfolded() const { return q < 4 ? q : 4; }
  // The reduction inside a socket, from q to d threads under congestion and from there without (d: uncongested(), or as given).
  [[nodiscard]] double intra_reduction(double m, int d) const;
  [[nodiscard]] double inter_reduction(double m) const;  // equation 2
  [[nodiscard]] double reduction(double m, int d) const;  // equation 3
  [[nodiscard]] double one_stage_broadcast(double m) const;  // the two sides of equation 4
  [[nodiscard]] double two_stage_broadcast(double m) const;
  [[nodiscard]] double broadcast(double m) const;  // equation 4
  [[nodiscard]] double reduce_broadcast(double m, int d) const;  // equation 5
  [[nodiscard]] double dissemination(double m) const;  // equation 6, and 7 where q s is no power of two
  [[nodiscard]] double tiled_intra_reduction(double m) const;  // equation 8
  [[nodiscard]] double tiled_inter_reduction(double m) const;  // equation 9
  [[nodiscard]] double tiled_reduction(double m) const;  // equation 10
  [[nodiscard]] double tiled_reduce_broadcast(double m) const;  // equation 11

  // Returns the number of lines from which tiles win (equation 5 against 11), or infinity if they never win.
  [[nodiscard]] double crosspoint(int d) const;
};

}  // namespace copse::price
