// Exports the calls of COPSE_CALLS, a .def file, in all forms and both count widths. This is the last include of
// moves.cpp and of reductions.cpp.
#include "calls.hpp"

namespace copse::mpi {

#define COPSE_CALL(name, stem, function, parameters, arguments) COPSE_FORMS(name, stem, , function, parameters, arguments, Plain)
extern "C" {
using Count = Plain<real>::Count;
using Displacement = Plain<real>::Displacement;
#include COPSE_CALLS
}
#undef COPSE_CALL

namespace large {
#define COPSE_CALL(name, stem, function, parameters, arguments) COPSE_FORMS(name, stem, _c, function, parameters, arguments, Large)
extern "C" {
using Count = Large<real>::Count;
using Displacement = Large<real>::Displacement;
#include COPSE_CALLS
}
#undef COPSE_CALL
}  // namespace large

}  // namespace copse::mpi
