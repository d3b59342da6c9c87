# The kinds of target in Copse: a room, a test, a fuzzer, and (in faces/) a face.
find_package(PkgConfig REQUIRED)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
find_package(Threads REQUIRED)

option(CMAKE_COMPILE_WARNING_AS_ERROR "End the build at a warning, which a compiler newer than ours may invent" ON)
set(COPSE_WARNINGS -Wall -Wextra -Wpedantic)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND COPSE_WARNINGS $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)  # false alarms on std::string +, gcc PR105651
endif()

# Headers that are compiled once per target: those of the standard library took half the time of a small file. clang
# builds every file without them (CMakePresets.json) and so notices a missing #include. ccache needs the compiler
# option.
function(copse_precompiled target header)
  target_precompile_headers(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/cmake/${header}>)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endfunction()

# copse_room(<name> SOURCES ... [USES <room or library> ...])
# A room is one folder under src/. Its objects end up in libcopse; USES names the floors below it.
function(copse_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;USES" ${ARGN})
  add_library(copse_${name} STATIC ${ROOM_SOURCES})
  target_compile_options(copse_${name} PRIVATE ${COPSE_WARNINGS})
  target_include_directories(copse_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  if(ROOM_USES)
    target_link_libraries(copse_${name} PUBLIC ${ROOM_USES})
  endif()
  list(LENGTH ROOM_SOURCES files)
  if(files GREATER 3)
    copse_precompiled(copse_${name} standard.hpp)
  endif()
  set_property(GLOBAL APPEND PROPERTY COPSE_ROOMS copse_${name})
endfunction()

# copse_test(<name> SOURCES ... USES ... [LABELS quick|full ...] [TIMEOUT seconds] [SHARDS n])
# A GoogleTest binary under build/tests, with one ctest entry. LABELS default to quick (run by `make test`). SHARDS makes n
# entries, name_1 .. name_n, each with a share of the cases, so that a long computation uses all processors.
if(NOT BUILD_TESTING)
  return()
endif()
find_package(GTest REQUIRED)
# Tests are many and small, and compiling them takes the time. So they are built with -O1; the rooms that they test are
# fully optimised.
set(COPSE_TEST_OPTIONS ${COPSE_WARNINGS} $<$<CONFIG:Release>:-O1>)
add_library(copse_test_headers OBJECT ${PROJECT_SOURCE_DIR}/cmake/tests.cpp)
target_compile_options(copse_test_headers PRIVATE ${COPSE_TEST_OPTIONS} -fPIE)
target_link_libraries(copse_test_headers PRIVATE GTest::gtest)
copse_precompiled(copse_test_headers tests.hpp)

function(copse_test name)
  cmake_parse_arguments(TEST "" "TIMEOUT;SHARDS" "SOURCES;USES;LABELS" ${ARGN})
  add_executable(${name} ${TEST_SOURCES})
  target_compile_options(${name} PRIVATE ${COPSE_TEST_OPTIONS})
  if(NOT TEST_SOURCES MATCHES "\\.c(;|$)")
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
    target_precompile_headers(${name} REUSE_FROM copse_test_headers)
  endif()
  target_link_libraries(${name} PRIVATE ${TEST_USES} GTest::gtest GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(NOT TEST_LABELS)
    set(TEST_LABELS quick)
  endif()
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 300)
  endif()
  if(CMAKE_BUILD_TYPE STREQUAL Debug)  # the sanitizers' builds
    math(EXPR TEST_TIMEOUT "3 * ${TEST_TIMEOUT}")
  endif()
  if(NOT TEST_SHARDS)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES LABELS "${TEST_LABELS}" TIMEOUT ${TEST_TIMEOUT})
    return()
  endif()
  foreach(shard RANGE 1 ${TEST_SHARDS})
    math(EXPR index "${shard} - 1")
    add_test(NAME ${name}_${shard} COMMAND ${name})
    set_tests_properties(${name}_${shard} PROPERTIES LABELS "${TEST_LABELS}" TIMEOUT ${TEST_TIMEOUT}
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${TEST_SHARDS};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()

# copse_fuzzer(<name> LENGTH <bytes> SOURCES ... USES ... [SEEDS folder] [DICTIONARY file])
# A libFuzzer binary that ctest runs for a minute, with inputs of up to so many bytes. Its own sources are instrumented, so a parser
# under test is one of them. Fuzzers need clang's runtime. Only `make test-full` builds with clang, and it runs their quick tests.
function(copse_fuzzer name)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    return()
  endif()
  cmake_parse_arguments(FUZZER "" "LENGTH;SEEDS;DICTIONARY" "SOURCES;USES" ${ARGN})
  add_executable(${name} ${FUZZER_SOURCES})
  # RapidJSON adds numbers to null pointers, as one may in practice.
  target_compile_options(${name} PRIVATE ${COPSE_WARNINGS} -fsanitize=fuzzer,address,undefined -fno-sanitize=pointer-overflow -fno-sanitize-recover=all)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_libraries(${name} PRIVATE ${FUZZER_USES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  set(arguments -max_total_time=60 -timeout=20 -max_len=${FUZZER_LENGTH} -len_control=0 -rss_limit_mb=4096)
  if(FUZZER_DICTIONARY)
    list(APPEND arguments -dict=${FUZZER_DICTIONARY})
  endif()
  if(FUZZER_SEEDS)  # libFuzzer writes what it finds into the first folder
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/tests/${name}_found)
    list(APPEND arguments ${CMAKE_BINARY_DIR}/tests/${name}_found ${FUZZER_SEEDS})
  endif()
  add_test(NAME ${name} COMMAND ${name} ${arguments})
  set_tests_properties(${name} PROPERTIES LABELS quick TIMEOUT 120)
endfunction()
