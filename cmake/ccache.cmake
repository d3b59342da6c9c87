# Compiles through ccache if it is installed. The presets include this file before the project sets up its languages.
find_program(COPSE_CCACHE ccache)
if(COPSE_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${COPSE_CCACHE} CACHE STRING "")
  # Without these options, ccache does not keep results of precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${COPSE_CCACHE} CACHE STRING "")
endif()
