# Runs at each build, with ROOT and OUT. Writes the C++ file OUT if the sources of the engine have changed. It holds a digest of
# them, by which ranks of different builds know one another (src/communicator/sources.hpp).
file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/src/*.cpp ${ROOT}/src/*.hpp ${ROOT}/src/*.def)
list(FILTER files EXCLUDE REGEX "(^|/)[.]")  # what editors leave
list(SORT files)
list(LENGTH files count)
if(count LESS 100)
  message(FATAL_ERROR "Only ${count} sources were found in ${ROOT}/src. Does the folder's name contain [ or * ? Build in another one.")
endif()
set(all "")
foreach(file IN LISTS files)
  file(SHA256 ${ROOT}/${file} digest)
  string(APPEND all "${file} ${digest}\n")
endforeach()
string(SHA256 digest "${all}")
file(CONFIGURE OUTPUT ${OUT} CONTENT [[// Written by cmake/sources.cmake.
#include "communicator/sources.hpp"

namespace copse::communicator {

std::string_view sources_digest() { return "copse-sources:@digest@"; }

}  // namespace copse::communicator
]] @ONLY)
