// upc.hpp, and all headers that it stands beside, in strict C++17.
#include "copse/upc.hpp"

#include "copse/bupc.h"
#include "copse/upc_nb.h"
#include "copse/upc_v.h"

static_assert(__cplusplus == 201703L, "compiled as C++17");

namespace {

int program(int, char**) {
  const upc::shared_array<int, 4> numbers(4 * static_cast<std::size_t>(THREADS));
  numbers.for_each_mine([](std::size_t i, int& element) { element = static_cast<int>(i); });
  upc_barrier();
  int wrong = numbers.load(numbers.size() - 1) != 4 * THREADS - 1 ? 1 : 0;
  wrong += bupc_allv_reduce_all(int, 1, UPC_ADD) != THREADS ? 1 : 0;
  upc_barrier();
  return wrong;
}

}  // namespace

extern "C" int upc_header_compiles_as_cxx17();
extern "C" int upc_header_compiles_as_cxx17() { return copse_upc_run(0, nullptr, program); }
