// Runs libFuzzer on the words of other ranks. The first byte chooses who reads the rest.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "hostile.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace copse::test;
  constexpr std::string (*kReaders[])(std::string_view) = {read_as_handshake, make_with_words,           compare_with_words,
                                                           gather_on_boards,  make_among_kin_with_words, read_as_invitation,
                                                           read_as_status};
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (const std::string wrong = kReaders[data[0] % std::size(kReaders)](bytes); !wrong.empty()) {
    std::fprintf(stderr, "%s\n", wrong.c_str());
    std::abort();
  }
  return 0;
}
