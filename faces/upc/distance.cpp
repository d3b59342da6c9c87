// How far UPC threads are apart (Berkeley UPC's extension, <copse/bupc.h>).
#include "copse/bupc.h"
#include "thread.hpp"

namespace copse::upc {
namespace {

void check(const Thread& thread, const char* name, int number) {
  if (number < 0 || number >= thread.threads)
    fail(thread, "bupc_thread_distance",
         std::string(name) + " is " + std::to_string(number) + "; required: a thread from 0 to " +
             std::to_string(thread.threads - 1));
}

}  // namespace
}  // namespace copse::upc

extern "C" int bupc_thread_distance(int thread, int other) {
  using copse::topology::Level;
  const copse::upc::Thread& me = copse::upc::here("bupc_thread_distance");
  copse::upc::check(me, "the first thread", thread);
  copse::upc::check(me, "the second thread", other);
  if (thread == other) return BUPC_THREADS_SAME;
  const copse::topology::Placement& places = me.data->places();
  const auto share = [&](Level level) {
    return places[static_cast<std::size_t>(thread)].at(level) == places[static_cast<std::size_t>(other)].at(level);
  };
  return share(Level::l3)     ? BUPC_THREADS_VERYNEAR
         : share(Level::numa) ? BUPC_THREADS_NEAR
         : share(Level::node) ? BUPC_THREADS_FAR
                              : BUPC_THREADS_VERYFAR;
}
