# Compiles through ccache where it is installed; the presets include this before the project's languages are set up.
find_program(COPSE_CCACHE ccache)
if(COPSE_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${COPSE_CCACHE} CACHE STRING "")
  # Else it does not keep what was compiled with precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${COPSE_CCACHE} CACHE STRING "")
endif()
