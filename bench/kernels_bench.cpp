// copse-kernels-bench: compares the reduce and copy kernels with memcpy and with the loop that a compiler makes of
// plain C++ at -O3. Bytes per second count the result once. So a kernel that reads two arrays and has memcpy's figure
// reads twice as much. Buffers are warm: only their size decides what lies in the cache.
#include <benchmark/benchmark.h>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "engine/kernels/kernels.hpp"

namespace {

namespace kernels = copse::kernels;

class Buffer {
 public:
  explicit Buffer(std::size_t bytes) : data_(static_cast<unsigned char*>(::operator new(bytes, kAlignment))) {
    std::memset(data_, 0, bytes);
  }
  ~Buffer() { ::operator delete(data_, kAlignment); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  unsigned char* get() { return data_; }

 private:
  static constexpr std::align_val_t kAlignment{4096};
  unsigned char* data_;
};

// The arrays start at different places in their pages, as otherwise all three would compete for the same cache sets.
struct Buffers {
  explicit Buffers(std::size_t bytes) : storage_dst(bytes + 4096), storage_a(bytes + 4096), storage_b(bytes + 4096) {}
  Buffer storage_dst, storage_a, storage_b;
  unsigned char* dst = storage_dst.get();
  unsigned char* a = storage_a.get() + 1024;
  unsigned char* b = storage_b.get() + 2048;
};

template <class Body>
void run(benchmark::State& state, std::size_t bytes, Body body) {
  Buffers buffers(bytes);
  for (auto _ : state) {
    body(buffers);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}

void reduce(benchmark::State& state, copse_op op, copse_type type) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const kernels::Reduce kernel = kernels::reduce_kernel(op, type);
  const std::size_t count = bytes / kernels::type_size(type);
  run(state, count * kernels::type_size(type), [=](Buffers& x) { kernel(x.dst, x.a, x.b, count); });
}

void reduce_two(benchmark::State& state, copse_op op, copse_type type) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const kernels::ReduceTwo kernel = kernels::reduce_two_kernel(op, type);
  const std::size_t count = bytes / kernels::type_size(type);
  Buffer second(bytes);
  run(state, bytes, [&](Buffers& x) { kernel(x.dst, second.get(), x.a, x.b, count); });
}

template <class T, class Op>
[[gnu::noinline]] void plain_loop(T* dst, const T* a, const T* b, std::size_t count, Op op) {
  for (std::size_t i = 0; i < count; ++i) dst[i] = op(a[i], b[i]);
}

template <class T, class Op>
void plain(benchmark::State& state, T, Op op) {
  const std::size_t count = static_cast<std::size_t>(state.range(0)) / sizeof(T);
  run(state, count * sizeof(T), [=](Buffers& x) {
    plain_loop(reinterpret_cast<T*>(x.dst), reinterpret_cast<const T*>(x.a), reinterpret_cast<const T*>(x.b), count, op);
  });
}

template <class Copy>
void copying(benchmark::State& state, Copy copy) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  run(state, bytes, [=](Buffers& x) { copy(x.dst, x.a, bytes); });
}

// Copies a long result that arrives in pieces, as an executor copies it out of slots. A piece is in the cache, the
// result in memory. The C library gets 32 KiB at a time, so it never decides to store past the caches.
template <class Copy>
void delivering(benchmark::State& state, Copy copy) {
  constexpr std::size_t kPiece = 32768;
  const auto bytes = static_cast<std::size_t>(state.range(0));
  Buffer piece(kPiece);
  run(state, bytes, [&](Buffers& x) {
    for (std::size_t at = 0; at < bytes; at += kPiece) copy(x.dst + at, piece.get(), kPiece);
  });
}

void long_results(benchmark::internal::Benchmark* b) {
  for (const int mebibytes : {1, 4, 16, 64, 256}) b->Arg(mebibytes << 20);
}

void sizes(benchmark::internal::Benchmark* b) {
  for (const int bytes : {16, 64, 512, 4096, 32768, 262144, 1 << 20, 4 << 20}) b->Arg(bytes);
}

struct Located {
  double value;
  int index;
};

constexpr auto kAdd = [](auto x, auto y) { return static_cast<decltype(x)>(x + y); };
constexpr auto kMultiply = [](auto x, auto y) { return static_cast<decltype(x)>(x * y); };
constexpr auto kMax = [](auto x, auto y) { return x > y ? x : y; };
constexpr auto kAnd = [](auto x, auto y) { return static_cast<decltype(x)>(x && y); };
constexpr auto kMinLocation = [](Located x, Located y) {
  return x.value < y.value || (x.value == y.value && x.index < y.index) ? x : y;
};

BENCHMARK_CAPTURE(copying, memcpy, std::memcpy)->Apply(sizes);
BENCHMARK_CAPTURE(copying, copy, kernels::copy)->Apply(sizes);
BENCHMARK_CAPTURE(copying, streaming, kernels::copy_streaming)->Apply(sizes);
BENCHMARK_CAPTURE(delivering, copy, kernels::copy)->Apply(long_results);
BENCHMARK_CAPTURE(delivering, streaming, kernels::copy_streaming)->Apply(long_results);
BENCHMARK_CAPTURE(reduce, sum_double, COPSE_SUM, COPSE_DOUBLE)->Apply(sizes)->Arg(8);
BENCHMARK_CAPTURE(reduce_two, sum_double, COPSE_SUM, COPSE_DOUBLE)->Apply(sizes)->Arg(8);
BENCHMARK_CAPTURE(plain, sum_double, double{}, kAdd)->Apply(sizes)->Arg(8);
BENCHMARK_CAPTURE(reduce, sum_float, COPSE_SUM, COPSE_FLOAT)->Apply(sizes);
BENCHMARK_CAPTURE(plain, sum_float, float{}, kAdd)->Apply(sizes);
BENCHMARK_CAPTURE(reduce, max_double, COPSE_MAX, COPSE_DOUBLE)->Apply(sizes);
BENCHMARK_CAPTURE(plain, max_double, double{}, kMax)->Apply(sizes);
BENCHMARK_CAPTURE(reduce, product_uint8, COPSE_PROD, COPSE_UINT8)->Apply(sizes);
BENCHMARK_CAPTURE(plain, product_uint8, std::uint8_t{}, kMultiply)->Apply(sizes);
BENCHMARK_CAPTURE(reduce, product_int64, COPSE_PROD, COPSE_INT64)->Apply(sizes);
BENCHMARK_CAPTURE(plain, product_int64, std::uint64_t{}, kMultiply)->Apply(sizes);
BENCHMARK_CAPTURE(reduce, land_logical32, COPSE_LAND, COPSE_LOGICAL32)->Apply(sizes);
BENCHMARK_CAPTURE(plain, land_logical32, std::uint32_t{}, kAnd)->Apply(sizes);
BENCHMARK_CAPTURE(reduce, product_complex_double, COPSE_PROD, COPSE_COMPLEX_DOUBLE)->Apply(sizes);
BENCHMARK_CAPTURE(plain, product_complex_double, std::complex<double>{}, kMultiply)->Apply(sizes);
BENCHMARK_CAPTURE(reduce, minloc_double_int, COPSE_MINLOC, COPSE_DOUBLE_INT)->Apply(sizes);
BENCHMARK_CAPTURE(plain, minloc_double_int, Located{}, kMinLocation)->Apply(sizes);
BENCHMARK_CAPTURE(reduce, sum_float16, COPSE_SUM, COPSE_FLOAT16)->Apply(sizes);
BENCHMARK_CAPTURE(reduce, sum_bfloat16, COPSE_SUM, COPSE_BFLOAT16)->Apply(sizes);

}  // namespace

BENCHMARK_MAIN();
