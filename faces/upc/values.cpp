// Collectives of values (Bonachea's, <copse/bupc.h>). Each is a row of collectives.def, run on memory of the calling threads.
#include <array>
#include <cstring>

#include "checks.hpp"
#include "copse/bupc.h"
#include "operators.hpp"

namespace copse::upc {
namespace {

using algorithms::Collective;

constexpr int kAll = -1;  // as a root

// Where a thread's result stays until its next call.
void* place_for(Thread& thread, std::size_t bytes) {
  if (thread.kept.value.size() < bytes) thread.kept.value.resize(bytes);
  return thread.kept.value.data();
}

// An argument that must be the same on all threads. Under COPSE_CHECK the threads compare it.
struct Single {
  const char* name;
  std::int64_t value;
};

Thread& enter_with(const char* function, std::initializer_list<Single> arguments) {
  Thread& thread = here_collectively(function);
  if (!thread.check) return thread;
  Checks checks(thread, function);
  for (const Single& one : arguments) checks.word(one.name, one.value);
  checks.compare();
  return thread;
}

void check_root(const Thread& thread, const char* function, int root, int least) {
  if (root < least || root >= thread.threads)
    fail(thread, function,
         "root is " + std::to_string(root) + "; required: a thread from 0 to " + std::to_string(thread.threads - 1) +
             (least == kAll ? ", or -1 for all" : ""));
}

// Combines one element of each thread into a result of `thread`.
const void* combine(Thread& thread, const char* function, Collective collective, int type, const void* value, int root,
                    upc_op_t op) {
  const auto operation = make_operator(type, op, nullptr);
  if (!operation)
    fail(thread, function, "op is " + std::to_string(op) + "; required: one of UPC_ADD to UPC_MAX that is defined for the type");
  alignas(std::max_align_t) std::array<std::byte, 2 * sizeof(long double)> partial{};
  operation->fold(partial.data(), value, 1);
  run(thread, function,
      {.collective = collective,
       .input = partial.data(),
       .output = partial.data(),
       .count = 1,
       .element_bytes = operation->partial_bytes(),
       .combine = &operation->combine(),
       .root = root});
  void* const result = place_for(thread, type_bytes(type));
  operation->store(result, partial.data());
  return result;
}

void gather(Thread& thread, const char* function, Collective collective, std::size_t bytes, const void* value, int root, void* to) {
  run(thread, function, {.collective = collective, .input = value, .output = to, .count = bytes, .root = root});
}

}  // namespace
}  // namespace copse::upc

using namespace copse::upc;
using copse::algorithms::Collective;

extern "C" {

const void* copse_allv_reduce(int type, const void* value, int root, upc_op_t op) {
  constexpr const char* kName = "bupc_allv_reduce";
  Thread& thread = enter_with(kName, {{"TYPE", type}, {"root", root}, {"op", op}});
  check_root(thread, kName, root, kAll);
  if (root == kAll) return combine(thread, kName, Collective::allreduce, type, value, 0, op);
  return combine(thread, kName, Collective::reduce, type, value, root, op);
}

const void* copse_allv_prefix_reduce(int type, const void* value, upc_op_t op) {
  constexpr const char* kName = "bupc_allv_prefix_reduce";
  return combine(enter_with(kName, {{"TYPE", type}, {"op", op}}), kName, Collective::scan, type, value, 0, op);
}

const void* copse_allv_broadcast(size_t bytes, const void* value, int root) {
  constexpr const char* kName = "bupc_allv_broadcast";
  Thread& thread = enter_with(kName, {{"bytes", static_cast<std::int64_t>(bytes)}, {"root", root}});
  check_root(thread, kName, root, 0);
  void* const result = place_for(thread, bytes);
  std::memcpy(result, value, bytes);
  run(thread, kName, {.collective = Collective::broadcast, .input = result, .output = result, .count = bytes, .root = root});
  return result;
}

const void* copse_allv_scatter(size_t bytes, int root, const void* values) {
  constexpr const char* kName = "bupc_allv_scatter";
  Thread& thread = enter_with(kName, {{"bytes", static_cast<std::int64_t>(bytes)}, {"root", root}});
  check_root(thread, kName, root, 0);
  if (thread.me == root && values == nullptr) fail(thread, kName, "values is null on root; required: a value for each thread");
  void* const result = place_for(thread, bytes);
  run(thread, kName, {.collective = Collective::scatter, .input = values, .output = result, .count = bytes, .root = root});
  return result;
}

void* copse_allv_gather(size_t bytes, const void* value, int root, void* to) {
  constexpr const char* kName = "bupc_allv_gather";
  Thread& thread = enter_with(kName, {{"bytes", static_cast<std::int64_t>(bytes)}, {"root", root}});
  check_root(thread, kName, root, 0);
  if (thread.me == root && to == nullptr) fail(thread, kName, "to is null on root; required: room for a value of each thread");
  gather(thread, kName, Collective::gather, bytes, value, root, to);
  return to;
}

void* copse_allv_gather_all(size_t bytes, const void* value, void* to) {
  constexpr const char* kName = "bupc_allv_gather_all";
  Thread& thread = enter_with(kName, {{"bytes", static_cast<std::int64_t>(bytes)}});
  void* const received = to == nullptr ? place_for(thread, bytes * static_cast<std::size_t>(thread.threads)) : to;
  gather(thread, kName, Collective::allgather, bytes, value, 0, received);
  return to;
}

const void* copse_allv_permute(size_t bytes, const void* value, int to) {
  constexpr const char* kName = "bupc_allv_permute";
  Thread& thread = enter_with(kName, {{"bytes", static_cast<std::int64_t>(bytes)}});
  const std::vector<int> permutation = gathered(thread, kName, to);
  if (const std::string why = copse::algorithms::not_a_permutation(permutation); !why.empty())
    fail(thread, kName, "thread: " + why + " (ranks are threads)");
  void* const result = place_for(thread, bytes);
  run(thread, kName,
      {.collective = Collective::permute, .input = value, .output = result, .count = bytes, .permutation = permutation.data()});
  return result;
}

}  // extern "C"
