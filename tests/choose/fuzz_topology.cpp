// Runs libFuzzer on COPSE_TOPOLOGY.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "parsers.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  text.resize(text.find('\0') == std::string::npos ? size : text.find('\0'));
  if (const std::string wrong = copse::test::read_as_machine(text); !wrong.empty()) {
    std::fprintf(stderr, "%s\n", wrong.c_str());
    std::abort();
  }
  return 0;
}
