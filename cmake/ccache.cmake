# Compiles through ccache where it is installed; the presets include this before the project's languages are set up.
find_program(COPSE_CCACHE ccache)
if(COPSE_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${COPSE_CCACHE} CACHE STRING "")
  set(CMAKE_CXX_COMPILER_LAUNCHER ${COPSE_CCACHE} CACHE STRING "")
endif()
