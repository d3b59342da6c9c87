// Memory of threads of any node: what this process cannot load and store, it reads and writes by the network.
#pragma once

#include <cstddef>
#include <cstdint>

#include "copse/upc_nb.h"

namespace copse::upc {

struct Thread;

// Fails unless the pointer names a UPC thread.
void must_be_thread(const Thread& thread, const char* function, upc_shared p);

// Fails unless these bytes lie in memory of the thread that the pointer names.
void must_be_memory(const Thread& thread, const char* function, upc_shared p, std::size_t bytes);

// These copy between memory of the caller and shared memory of one thread, for `function`. If that fails, the program ends.
void read(const Thread& thread, const char* function, void* to, upc_shared from, std::size_t bytes);
void write(const Thread& thread, const char* function, upc_shared to, const void* from, std::size_t bytes);

// These copy between shared memory of any threads, and set it. If that fails, the program ends.
void copy(const Thread& thread, const char* function, upc_shared to, upc_shared from, std::size_t bytes);
void set(const Thread& thread, const char* function, upc_shared at, int byte, std::size_t bytes);

// These start a copy of the first kind. They return a handle for has_ended(), which is UPC_COMPLETE_HANDLE if the copy is over
// already.
[[nodiscard]] upc_handle_t start_read(const Thread& thread, const char* function, void* to, upc_shared from, std::size_t bytes);
[[nodiscard]] upc_handle_t start_write(const Thread& thread, const char* function, upc_shared to, const void* from,
                                       std::size_t bytes);
// Tells whether a copy is over. Its handle is not valid any more then.
[[nodiscard]] bool has_ended(const Thread& thread, const char* function, upc_handle_t handle);

// A word of 8 bytes in shared memory, which threads change atomically. Where there are several nodes, the network makes all
// changes, even those of threads on the word's own node. The reason is that a change by the processor and a change by the network
// are not atomic to one another.
class Word {
 public:
  Word(const Thread& thread, const char* function, upc_shared at) : thread_(thread), function_(function), at_(at) {}
  // These two return the value that the word had before.
  std::int64_t fetch_add(std::int64_t value) const;
  std::int64_t compare_and_swap(std::int64_t expected, std::int64_t desired) const;
  [[nodiscard]] std::int64_t load() const;

 private:
  const Thread& thread_;
  const char* function_;
  upc_shared at_;
};

// Frees a block that any thread has allocated.
void give_back(const Thread& thread, const char* function, upc_shared block);
// These two allocate memory for the calling thread, as allocate_on_all() and allocate_on() of Segment do. First they free the
// blocks that other threads have given back to this thread.
[[nodiscard]] upc_shared allocate_on_all(const Thread& thread, std::size_t bytes);
[[nodiscard]] upc_shared allocate_here(const Thread& thread, std::size_t bytes);
// Returns the number of a stream of the network that no other team has had.
[[nodiscard]] int fresh_stream(const Thread& thread, const char* function);

}  // namespace copse::upc
