// The result of every operator, computed the slow way: one element at a time, from a run-time description of the type,
// with integers in 128 bits, floats in double, and 16-bit floats by a search in the table of all their values. Shares
// no code with src/.
#ifndef COPSE_TESTS_KERNELS_REFERENCE_HPP
#define COPSE_TESTS_KERNELS_REFERENCE_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "copse/types.h"

namespace copse::kernels::reference {

enum class Kind { kSigned, kUnsigned, kFloat16, kBfloat16, kFloat, kDouble, kLongDouble };
enum class Shape { kInteger, kReal, kComplex, kLogical, kByte, kPair };

struct Part {
  Kind kind;
  std::size_t offset;
  std::size_t size;
};

struct Description {
  Shape shape;
  std::size_t size;
  std::vector<Part> parts;
};

Description describe(copse_type type);
bool defined(copse_op op, copse_type type);

double decode(Kind kind, uint16_t bits);                    // kFloat16 or kBfloat16
uint16_t encode(Kind kind, double value);                   // the nearest, ties to even; overflow gives infinity
bool same(const Part& part, const void* x, const void* y);  // equal bits, or both NaN

void compute(copse_op op, copse_type type, const void* a, const void* b, void* result);
// Writes a value that is likely to matter: a limit, a special value, a small number, or any bits that are a value of
// the type.
void randomise(copse_type type, void* element, uint64_t& state);
std::string show(copse_type type, const void* element);

}  // namespace copse::kernels::reference

#endif
