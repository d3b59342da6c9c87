# How a release is compiled, in the presets and in the wheel. Included before the project sets up its languages. Line numbers stay;
# all of -g would cost a quarter of the build.
foreach(language C CXX)
  set(CMAKE_${language}_FLAGS_RELEASE "-O3 -g1 -DNDEBUG" CACHE STRING "")
endforeach()
