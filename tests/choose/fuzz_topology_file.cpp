// Runs libFuzzer on the files that COPSE_TOPOLOGY names.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "parsers.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bool accepted = false;
  if (const std::string wrong = copse::test::read_as_topology_file({reinterpret_cast<const char*>(data), size}, accepted);
      !wrong.empty()) {
    std::fprintf(stderr, "%s\n", wrong.c_str());
    std::abort();
  }
  return 0;
}
