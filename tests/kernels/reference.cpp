// The slow reference, which computes one element at a time by the definitions of the standard.
#include "reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <sstream>

namespace copse::kernels::reference {
namespace {

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

template <class V, class I>
Description pair_of(Kind value, Kind index) {
  struct Example {
    V value;
    I index;
  };
  return {
      Shape::kPair, sizeof(Example), {{value, offsetof(Example, value), sizeof(V)}, {index, offsetof(Example, index), sizeof(I)}}};
}

Description one(Shape shape, Kind kind, std::size_t size) { return {shape, size, {{kind, 0, size}}}; }
Description two(Kind kind, std::size_t size) { return {Shape::kComplex, 2 * size, {{kind, 0, size}, {kind, size, size}}}; }

const char* at(const void* element, const Part& part) { return static_cast<const char*>(element) + part.offset; }
char* at(void* element, const Part& part) { return static_cast<char*>(element) + part.offset; }

Int128 integer(const Part& part, const void* element) {
  uint64_t bits = 0;
  std::memcpy(&bits, at(element, part), part.size);
  if (part.kind == Kind::kUnsigned) return bits;
  const int shift = 64 - 8 * static_cast<int>(part.size);
  return static_cast<int64_t>(bits << shift) >> shift;
}

template <class T>
T load(const Part& part, const void* element) {
  T value;
  std::memcpy(&value, at(element, part), sizeof value);
  return value;
}

long double number(const Part& part, const void* element) {
  switch (part.kind) {
    case Kind::kSigned:
    case Kind::kUnsigned: return static_cast<long double>(integer(part, element));
    case Kind::kFloat16:
    case Kind::kBfloat16: return decode(part.kind, load<uint16_t>(part, element));
    case Kind::kFloat: return load<float>(part, element);
    case Kind::kDouble: return load<double>(part, element);
    case Kind::kLongDouble: return load<long double>(part, element);
  }
  return 0;
}

void put(const Part& part, long double value, void* element) {
  if (part.kind == Kind::kFloat16 || part.kind == Kind::kBfloat16) {
    const uint16_t bits = encode(part.kind, static_cast<double>(value));
    std::memcpy(at(element, part), &bits, sizeof bits);
  } else if (part.kind == Kind::kFloat) {
    const float narrow = static_cast<float>(value);
    std::memcpy(at(element, part), &narrow, sizeof narrow);
  } else if (part.kind == Kind::kDouble) {
    const double narrow = static_cast<double>(value);
    std::memcpy(at(element, part), &narrow, sizeof narrow);
  } else {
    std::memcpy(at(element, part), &value, sizeof value);
  }
}

// Does one rounding operation in the type in which the kernels compute. Sums and products of floats are rounded once,
// via double (53 >= 2 * 24 + 2 bits). double and long double have no wider type to use.
long double rounded(Kind kind, char op, long double x, long double y) {
  const auto calculate = [op](auto p, auto q) { return op == '+' ? p + q : op == '-' ? p - q : p * q; };
  if (kind == Kind::kLongDouble) return calculate(x, y);
  const volatile double p = static_cast<double>(x);
  const volatile double q = static_cast<double>(y);
  const volatile double result = calculate(static_cast<double>(p), static_cast<double>(q));
  if (kind == Kind::kDouble) return result;
  const volatile float narrow = static_cast<float>(result);
  return narrow;
}

void compute_integer(copse_op op, const Part& part, const void* a, const void* b, void* result) {
  const Int128 x = integer(part, a);
  const Int128 y = integer(part, b);
  Uint128 r = 0;
  switch (op) {
    case COPSE_SUM: r = static_cast<Uint128>(x + y); break;
    case COPSE_PROD: r = static_cast<Uint128>(x) * static_cast<Uint128>(y); break;
    case COPSE_MIN: r = static_cast<Uint128>(std::min(x, y)); break;
    case COPSE_MAX: r = static_cast<Uint128>(std::max(x, y)); break;
    case COPSE_LAND: r = x && y; break;
    case COPSE_LOR: r = x || y; break;
    case COPSE_LXOR: r = !x != !y; break;
    case COPSE_BAND: r = static_cast<Uint128>(x & y); break;
    case COPSE_BOR: r = static_cast<Uint128>(x | y); break;
    case COPSE_BXOR: r = static_cast<Uint128>(x ^ y); break;
    default: break;
  }
  std::memcpy(at(result, part), &r, part.size);
}

}  // namespace

Description describe(copse_type type) {
  switch (type) {
    case COPSE_INT8: return one(Shape::kInteger, Kind::kSigned, 1);
    case COPSE_INT16: return one(Shape::kInteger, Kind::kSigned, 2);
    case COPSE_INT32: return one(Shape::kInteger, Kind::kSigned, 4);
    case COPSE_INT64: return one(Shape::kInteger, Kind::kSigned, 8);
    case COPSE_UINT8: return one(Shape::kInteger, Kind::kUnsigned, 1);
    case COPSE_UINT16: return one(Shape::kInteger, Kind::kUnsigned, 2);
    case COPSE_UINT32: return one(Shape::kInteger, Kind::kUnsigned, 4);
    case COPSE_UINT64: return one(Shape::kInteger, Kind::kUnsigned, 8);
    case COPSE_FLOAT16: return one(Shape::kReal, Kind::kFloat16, 2);
    case COPSE_BFLOAT16: return one(Shape::kReal, Kind::kBfloat16, 2);
    case COPSE_FLOAT: return one(Shape::kReal, Kind::kFloat, 4);
    case COPSE_DOUBLE: return one(Shape::kReal, Kind::kDouble, 8);
    case COPSE_LONG_DOUBLE: return one(Shape::kReal, Kind::kLongDouble, sizeof(long double));
    case COPSE_COMPLEX_FLOAT16: return two(Kind::kFloat16, 2);
    case COPSE_COMPLEX_FLOAT: return two(Kind::kFloat, 4);
    case COPSE_COMPLEX_DOUBLE: return two(Kind::kDouble, 8);
    case COPSE_COMPLEX_LONG_DOUBLE: return two(Kind::kLongDouble, sizeof(long double));
    case COPSE_LOGICAL8: return one(Shape::kLogical, Kind::kUnsigned, 1);
    case COPSE_LOGICAL16: return one(Shape::kLogical, Kind::kUnsigned, 2);
    case COPSE_LOGICAL32: return one(Shape::kLogical, Kind::kUnsigned, 4);
    case COPSE_LOGICAL64: return one(Shape::kLogical, Kind::kUnsigned, 8);
    case COPSE_BYTE: return one(Shape::kByte, Kind::kUnsigned, 1);
    case COPSE_FLOAT_INT: return pair_of<float, int>(Kind::kFloat, Kind::kSigned);
    case COPSE_DOUBLE_INT: return pair_of<double, int>(Kind::kDouble, Kind::kSigned);
    case COPSE_LONG_DOUBLE_INT: return pair_of<long double, int>(Kind::kLongDouble, Kind::kSigned);
    case COPSE_LONG_INT: return pair_of<long, int>(Kind::kSigned, Kind::kSigned);
    case COPSE_INT_INT: return pair_of<int, int>(Kind::kSigned, Kind::kSigned);
    case COPSE_SHORT_INT: return pair_of<short, int>(Kind::kSigned, Kind::kSigned);
    case COPSE_FLOAT_FLOAT: return pair_of<float, float>(Kind::kFloat, Kind::kFloat);
    case COPSE_DOUBLE_DOUBLE: return pair_of<double, double>(Kind::kDouble, Kind::kDouble);
    case COPSE_TYPE_COUNT: break;
  }
  return {};
}

bool defined(copse_op op, copse_type type) {
  static const std::map<Shape, std::vector<copse_op>> kTable = {
      {Shape::kInteger,
       {COPSE_SUM, COPSE_PROD, COPSE_MIN, COPSE_MAX, COPSE_LAND, COPSE_LOR, COPSE_LXOR, COPSE_BAND, COPSE_BOR, COPSE_BXOR}},
      {Shape::kReal, {COPSE_SUM, COPSE_PROD, COPSE_MIN, COPSE_MAX}},
      {Shape::kComplex, {COPSE_SUM, COPSE_PROD}},
      {Shape::kLogical, {COPSE_LAND, COPSE_LOR, COPSE_LXOR}},
      {Shape::kByte, {COPSE_BAND, COPSE_BOR, COPSE_BXOR}},
      {Shape::kPair, {COPSE_MINLOC, COPSE_MAXLOC}},
  };
  const auto& ops = kTable.at(describe(type).shape);
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

double decode(Kind kind, uint16_t bits) {
  const int mantissa_bits = kind == Kind::kFloat16 ? 10 : 7;
  const int exponent_ones = kind == Kind::kFloat16 ? 31 : 255;
  const int bias = exponent_ones / 2;
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const int exponent = (bits & 0x7FFF) >> mantissa_bits;
  double magnitude;
  if (exponent == exponent_ones) {
    magnitude = mantissa ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  } else if (exponent == 0) {
    magnitude = std::ldexp(mantissa, 1 - bias - mantissa_bits);
  } else {
    magnitude = std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
  }
  return bits & 0x8000 ? -magnitude : magnitude;
}

uint16_t encode(Kind kind, double value) {
  const uint16_t infinity = kind == Kind::kFloat16 ? 0x7C00 : 0x7F80;
  if (std::isnan(value)) return static_cast<uint16_t>(infinity + 1);
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  // Positive codes have the order of their values. For rounding, infinity counts as the next power of two.
  const auto value_of = [=](int code) {
    return code == infinity ? 2 * decode(kind, static_cast<uint16_t>(infinity - (kind == Kind::kFloat16 ? 0x400 : 0x80)))
                            : decode(kind, static_cast<uint16_t>(code));
  };
  int below = 0;
  int above = infinity;
  if (magnitude >= value_of(above)) return static_cast<uint16_t>(sign | infinity);
  while (above - below > 1) {
    const int middle = (below + above) / 2;
    (value_of(middle) <= magnitude ? below : above) = middle;
  }
  const double down = magnitude - value_of(below);
  const double up = value_of(above) - magnitude;
  const int nearest = down < up ? below : up < down ? above : below % 2 == 0 ? below : above;
  return static_cast<uint16_t>(sign | nearest);
}

bool same(const Part& part, const void* x, const void* y) {
  if (part.kind != Kind::kSigned && part.kind != Kind::kUnsigned) {
    const long double p = number(part, x);
    const long double q = number(part, y);
    if (std::isnan(p) || std::isnan(q)) return std::isnan(p) && std::isnan(q);
    if (part.kind == Kind::kLongDouble) return p == q && std::signbit(p) == std::signbit(q);  // the rest is padding
  }
  return std::memcmp(at(x, part), at(y, part), part.size) == 0;
}

void compute(copse_op op, copse_type type, const void* a, const void* b, void* result) {
  const Description d = describe(type);
  const Part& first = d.parts[0];
  const Part& last = d.parts.back();
  const auto value = [](const Part& part, const void* e) { return number(part, e); };
  switch (d.shape) {
    case Shape::kInteger:
    case Shape::kLogical:
    case Shape::kByte: compute_integer(op, first, a, b, result); return;
    case Shape::kReal: {
      const long double x = value(first, a);
      const long double y = value(first, b);
      if (op == COPSE_MIN) put(first, x < y ? x : y, result);
      else if (op == COPSE_MAX) put(first, x > y ? x : y, result);
      else put(first, rounded(first.kind, op == COPSE_SUM ? '+' : '*', x, y), result);
      return;
    }
    case Shape::kComplex: {
      const Kind k = first.kind;
      const long double ar = value(first, a), ai = value(last, a), br = value(first, b), bi = value(last, b);
      if (op == COPSE_SUM) {
        put(first, rounded(k, '+', ar, br), result);
        put(last, rounded(k, '+', ai, bi), result);
      } else {
        put(first, rounded(k, '-', rounded(k, '*', ar, br), rounded(k, '*', ai, bi)), result);
        put(last, rounded(k, '+', rounded(k, '*', ar, bi), rounded(k, '*', ai, br)), result);
      }
      return;
    }
    case Shape::kPair: {
      const long double x = value(first, a), y = value(first, b);
      const bool a_is_better = op == COPSE_MINLOC ? x < y : x > y;
      const bool a_wins = x == y ? value(last, a) < value(last, b) : a_is_better;
      std::memcpy(result, a_wins ? a : b, d.size);
      return;
    }
  }
}

void randomise(copse_type type, void* element, uint64_t& state) {
  const auto next = [&state] {  // splitmix64
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  };
  const Description d = describe(type);
  std::memset(element, 0, d.size);
  for (const Part& part : d.parts) {
    const uint64_t style = next() % 8;
    const uint64_t bits = next();
    if (part.kind == Kind::kSigned || part.kind == Kind::kUnsigned) {
      const uint64_t limits[] = {0, 1, ~uint64_t{0}, uint64_t{1} << (8 * part.size - 1), (uint64_t{1} << (8 * part.size - 1)) - 1};
      const uint64_t value = style < 3 ? limits[bits % 5] : style < 5 ? bits % 4 : bits;
      std::memcpy(at(element, part), &value, part.size);
    } else if (style < 5 && part.kind != Kind::kLongDouble) {  // any bits: NaN, infinities and denormals among them
      std::memcpy(at(element, part), &bits, part.size);
    } else if (style == 5) {
      const long double specials[] = {0.0L, -0.0L, 1.0L, -1.0L, INFINITY, -INFINITY, NAN};
      put(part, specials[bits % 7], element);
    } else if (style == 6) {
      put(part, static_cast<long double>(bits % 4), element);
    } else {
      put(part, std::ldexp(static_cast<long double>(static_cast<int64_t>(bits)), -60 + static_cast<int>(bits % 5)), element);
    }
  }
}

std::string show(copse_type type, const void* element) {
  std::ostringstream text;
  text.precision(20);
  for (const Part& part : describe(type).parts) text << number(part, element) << ' ';
  return text.str();
}

}  // namespace copse::kernels::reference
