# Compiles through ccache if it is installed. The presets include this file before the project sets up its languages.
find_program(COPSE_CCACHE ccache)
set(COPSE_CCACHE_WORKS FALSE)
if(COPSE_CCACHE)  # it ends every compilation with an error where it cannot write, as in a container without a home
  execute_process(COMMAND ${COPSE_CCACHE} --get-config cache_dir OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE)
  execute_process(COMMAND sh -c "mkdir -p \"$0\" && test -w \"$0\"" "${folder}" RESULT_VARIABLE result ERROR_QUIET)
  if(result EQUAL 0)
    set(COPSE_CCACHE_WORKS TRUE)
  endif()
endif()
if(COPSE_CCACHE_WORKS)
  # Paths count from the checkout, so that the same file in another checkout is known (line numbers may then name that other one).
  # Without the sloppiness, ccache does not keep results of precompiled headers.
  cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH COPSE_CHECKOUT)
  set(COPSE_CCACHE_VARIABLES CCACHE_BASEDIR=${COPSE_CHECKOUT} CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros)
  foreach(language C CXX)
    set(CMAKE_${language}_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env ${COPSE_CCACHE_VARIABLES} ${COPSE_CCACHE} CACHE STRING "")
  endforeach()
endif()
