# The kernels' own benchmark, on Google Benchmark where that is installed.
find_package(benchmark REQUIRED)
add_executable(copse-kernels-bench kernels_bench.cpp)
# The plain loops are what -O3 makes of them, whatever the build type.
target_compile_options(copse-kernels-bench PRIVATE ${COPSE_WARNINGS} -O3)
target_link_libraries(copse-kernels-bench PRIVATE copse_kernels benchmark::benchmark)
