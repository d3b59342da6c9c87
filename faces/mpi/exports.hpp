// The last include of a family's file: exports its calls in all forms and both count widths, made from calls.def. Before it
// COPSE_FAMILY_<family> must be COPSE_CALL_HERE for the file's own family and COPSE_CALL_ELSEWHERE for the others.
#include "wrappers.hpp"

namespace copse::mpi {

#define COPSE_CALL(family, collective, name, stem, function, parameters, arguments) \
  COPSE_FAMILY_##family(collective, name, stem, , function, parameters, arguments, Plain)
extern "C" {
using Count = Plain<real>::Count;
using Displacement = Plain<real>::Displacement;
#include "calls.def"
}
#undef COPSE_CALL

namespace large {
#define COPSE_CALL(family, collective, name, stem, function, parameters, arguments) \
  COPSE_FAMILY_##family(collective, name, stem, _c, function, parameters, arguments, Large)
extern "C" {
using Count = Large<real>::Count;
using Displacement = Large<real>::Displacement;
#include "calls.def"
}
#undef COPSE_CALL
}  // namespace large

}  // namespace copse::mpi
