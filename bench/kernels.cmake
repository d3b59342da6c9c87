# The benchmark of the kernels. It needs Google Benchmark.
find_package(benchmark REQUIRED)
add_executable(copse-kernels-bench kernels_bench.cpp)
# -O3, so that the plain loops are fully optimised in any build type.
target_compile_options(copse-kernels-bench PRIVATE ${COPSE_WARNINGS} -O3)
target_link_libraries(copse-kernels-bench PRIVATE copse_kernels benchmark::benchmark)
