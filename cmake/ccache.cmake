# Compiles through ccache if it is installed. The presets include this file before the project sets up its languages.
find_program(COPSE_CCACHE ccache)
if(COPSE_CCACHE)
  # Paths count from the checkout, so that the same file in another checkout is known (line numbers may then name that other one).
  # Without the sloppiness, ccache does not keep results of precompiled headers.
  cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH COPSE_CHECKOUT)
  set(COPSE_CCACHE_VARIABLES CCACHE_BASEDIR=${COPSE_CHECKOUT} CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros)
  foreach(language C CXX)
    set(CMAKE_${language}_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env ${COPSE_CCACHE_VARIABLES} ${COPSE_CCACHE} CACHE STRING "")
  endforeach()
endif()
