// HMPI's equations, in its words and order.
#include "price/hmpi.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace copse::price {
namespace {

int floor_log2(int n) { return std::bit_width(static_cast<unsigned>(n)) - 1; }
int ceil_log2(int n) { return n <= 1 ? 0 : std::bit_width(static_cast<unsigned>(n - 1)); }

}  // namespace

Hmpi Hmpi::of(const Parameters& machine, int q, int s) {
  const Stream &near = machine.nearness.front().read, &far = machine.nearness.back().read;
  Stream between = far;  // of neighbours, where some regions are farther apart than others
  for (const Nearness& each : machine.nearness)
    if (each.level == machine.nearness.back().level && each.distance == 0) between = each.read;
  Hmpi result{0, kLine / near.one, kLine / near.all, 0, kLine / between.one, kLine / between.all, q, s};
  result.a_alpha = near.line_ns + 2 * machine.own.line_ns - result.b_alpha;
  result.a_beta = between.line_ns + 2 * machine.own.line_ns - result.b_beta;
  return result;
}

int Hmpi::uncongested() const {
  const int c = std::max(1, static_cast<int>(std::floor(b_alpha / B_alpha)));
  return std::min(q, (1 << (1 + ceil_log2(c))) + c);
}

double Hmpi::intra_reduction(double m, int d) const {
  return a_alpha + (q - d) * B_alpha * m + (a_alpha + b_alpha * m) * ceil_log2(d);
}
double Hmpi::inter_reduction(double m) const { return (a_beta + b_beta * m) * ceil_log2(s); }
double Hmpi::reduction(double m, int d) const { return intra_reduction(m, d) + inter_reduction(m); }

double Hmpi::one_stage_broadcast(double m) const { return a_beta + B_beta * q * m; }
double Hmpi::two_stage_broadcast(double m) const { return a_alpha + B_alpha * (q - 1) * m + a_beta + b_beta * m; }
double Hmpi::broadcast(double m) const { return std::min(one_stage_broadcast(m), two_stage_broadcast(m)); }
double Hmpi::reduce_broadcast(double m, int d) const { return reduction(m, d) + broadcast(m); }

double Hmpi::dissemination(double m) const {
  const double near = a_alpha + B_alpha * q * m, far = a_beta + B_beta * q * m;
  if (std::has_single_bit(static_cast<unsigned>(q * s))) return near * floor_log2(q) + far * floor_log2(s);
  return near * (ceil_log2(q) + 2) + far * (ceil_log2(q * s) - floor_log2(q) - 1);
}

double Hmpi::tiled_intra_reduction(double m) const { return a_alpha * q + B_alpha * q * m; }
double Hmpi::tiled_inter_reduction(double m) const { return (a_beta + B_beta * m) * ceil_log2(s); }
double Hmpi::tiled_reduction(double m) const { return tiled_intra_reduction(m) + tiled_inter_reduction(m); }
double Hmpi::tiled_reduce_broadcast(double m) const { return tiled_reduction(m) + broadcast(m); }

double Hmpi::crosspoint(int d) const {
  const auto over = [&](double m) { return tiled_reduction(m) - reduction(m, d); };  // a line: the broadcasts are the same
  const double gain = over(0) - over(1);
  return gain <= 0 ? std::numeric_limits<double>::infinity() : over(0) / gain;
}

}  // namespace copse::price
