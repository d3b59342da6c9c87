// Runs under the preloaded shared heap, one named case per process: heap_probe CASE. pages_probe.cpp has the cases of
// what the system and other libraries do to the heap's pages. Exit status 0 is success; a failed expectation prints its
// line to stderr. heap_test.cpp runs every case and sets the environments.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "../communicator/refusal.hpp"
#include "probe.hpp"

extern "C" void* __libc_malloc(size_t);
extern char** environ;

using namespace copse::test;

namespace {

// --- the region --------------------------------------------------------------------------------------------------

void active() {
  const Region found = region();
  EXPECT(aligned(found.base, size_t{32} << 20));
  EXPECT(fcntl(found.fd, F_GETFD) & FD_CLOEXEC);
  struct stat status;
  EXPECT(fstat(found.fd, &status) == 0 && static_cast<size_t>(status.st_size) == found.bytes);
  EXPECT(status.st_dev == found.device && status.st_ino == found.inode);
  EXPECT(why_not() == nullptr);
  EXPECT(shared(opaque(malloc(100))));
  EXPECT(shared(opaque(calloc(3, 5))));
  EXPECT(shared(opaque(new char[size_t{5} << 20])));
  EXPECT(shared(opaque(new int)));
  EXPECT(shared(std::vector<double>(1000).data()));
}

// The driver sets a size that cannot be had, and names the reason to expect.
void inactive() {
  Region found{};
  EXPECT(!look_up(&found));
  EXPECT(strstr(why_not(), getenv("EXPECTED_REASON")) != nullptr);
  char* p = opaque(static_cast<char*>(malloc(size_t{1} << 20)));
  p = opaque(static_cast<char*>(realloc(p, size_t{8} << 20)));
  EXPECT(p != nullptr && malloc_usable_size(p) >= size_t{8} << 20);
  free(p);
  EXPECT(in_fork([] { free(opaque(malloc(10))); }) == 0);
  const pid_t child = _Fork();
  if (child == 0) _exit(7);
  EXPECT(wait_for(child) == 7);
}

void peer_child(const char* parent, const char* fd, const char* offset) {
  const int file = open(("/proc/" + std::string(parent) + "/fd/" + fd).c_str(), O_RDWR);
  EXPECT(file >= 0);
  void* const map = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, file, atoll(offset) & ~4095ll);
  EXPECT(map != MAP_FAILED);
  auto* const word = reinterpret_cast<uint64_t*>(static_cast<char*>(map) + (atoll(offset) & 4095));
  EXPECT(word[0] == 0x1122334455667788u);
  word[1] = 42;
  // The child has another heap of its own.
  EXPECT(shared(opaque(malloc(64))));
  struct stat mine, theirs;
  EXPECT(fstat(region().fd, &mine) == 0 && fstat(file, &theirs) == 0 && mine.st_ino != theirs.st_ino);
}

void peer() {
  auto* const word = opaque(static_cast<uint64_t*>(calloc(2, 8)));
  word[0] = 0x1122334455667788u;
  const Region mine = region();
  std::string arguments[] = {"heap_probe", "peer_child", std::to_string(getpid()), std::to_string(mine.fd),
                             std::to_string(reinterpret_cast<char*>(word) - static_cast<char*>(mine.base))};
  char* argv[6] = {};
  for (int i = 0; i < 5; ++i) argv[i] = arguments[i].data();
  pid_t child;
  EXPECT(posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, argv, environ) == 0);
  EXPECT(wait_for(child) == 0);
  EXPECT(opaque(word)[1] == 42);
}

// Daemons close every descriptor. Whatever gets the number afterwards is not the heap and must not be published as the
// heap.
void descriptor_lost() {
  const Region before = region();
  shared(nullptr);  // remembers the region
  Region found{};
  EXPECT(close(before.fd) == 0);
  EXPECT(!look_up(&found) && strstr(why_not(), "closed the heap's descriptor") != nullptr);
  FILE* const file = tmpfile();
  EXPECT(file != nullptr && dup2(fileno(file), before.fd) == before.fd);
  EXPECT(!look_up(&found) && strstr(why_not(), "closed the heap's descriptor") != nullptr);
  const int other = memfd_create("copse-heap", MFD_CLOEXEC);  // has the same name and size, but is another file
  EXPECT(other >= 0 && ftruncate(other, static_cast<off_t>(before.bytes)) == 0 && dup2(other, before.fd) == before.fd);
  EXPECT(!look_up(&found));
  EXPECT(shared(opaque(malloc(1000))));
}

// --- the allocation functions ------------------------------------------------------------------------------------

void alignment() {
  std::vector<void*> kept;
  for (size_t n = 0; n < 3000; ++n) {
    void* p = malloc(n);
    EXPECT(p != nullptr && aligned(p, 16) && malloc_usable_size(p) >= n);
    kept.push_back(p);
  }
  for (size_t n = 8; n <= size_t{64} << 20; n *= 2) {
    for (size_t size : {size_t{0}, size_t{1}, size_t{100}, size_t{5000}, size_t{1} << 20}) {
      void* p = nullptr;
      EXPECT(posix_memalign(&p, n, size) == 0 && p != nullptr && aligned(p, n));
      memset(p, 7, size);
      kept.push_back(p);
      EXPECT(aligned(p = aligned_alloc(n, size), n));
      memset(p, 7, size);
      kept.push_back(p);
    }
    EXPECT(shared(kept.back()) || n > size_t{1} << 20);
  }
  volatile size_t odd = 24;  // glibc rounds it up
  EXPECT(aligned(kept.emplace_back(memalign(odd, 100)), 32));
  EXPECT(aligned(kept.emplace_back(valloc(100)), 4096));
  EXPECT(aligned(kept.emplace_back(pvalloc(4097)), 4096) && malloc_usable_size(kept.back()) >= 8192);
  for (void* p : kept) free(p);
  void* untouched = kept.data();
  EXPECT(posix_memalign(&untouched, odd, 8) == EINVAL && untouched == kept.data());
  struct alignas(256) Wide {
    char bytes[256];
  };
  auto wide = std::make_unique<Wide[]>(3);
  EXPECT(aligned(wide.get(), 256) && shared(wide.get()));
  auto* one = opaque(new Wide);
  EXPECT(aligned(one, 256));
  delete one;
}

void resize() {
  char* p = nullptr;
  size_t before = 0;
  for (size_t n = 1; n < size_t{100} << 20; n = n * 3 / 2 + 1) {
    p = opaque(static_cast<char*>(realloc(p, n)));
    EXPECT(p != nullptr && aligned(p, 16) && holds(p, before, 5));
    fill(p, n, 5);
    before = n;
  }
  while (before > 1) {
    before /= 3;
    p = opaque(static_cast<char*>(realloc(p, before == 0 ? 1 : before)));
    EXPECT(p != nullptr && holds(p, before, 5));
  }
  EXPECT(realloc(p, 0) == nullptr);  // frees the block, as in glibc
  volatile size_t huge = SIZE_MAX / 2;
  errno = 0;
  EXPECT(reallocarray(nullptr, huge, 3) == nullptr && errno == ENOMEM);
  errno = 0;
  EXPECT(calloc(huge, 3) == nullptr && errno == ENOMEM);
  errno = 0;
  EXPECT(malloc(huge + 10) == nullptr && errno == ENOMEM);
  p = opaque(static_cast<char*>(reallocarray(nullptr, 10, 10)));
  EXPECT(p != nullptr && realloc(p, huge) == nullptr);
  fill(p, 100, 1);
  EXPECT(holds(p, 100, 1));
  free(p);
}

// Dirties blocks of every size, frees them, purges them (the driver sets the delays to zero), and takes them again by
// calloc.
void zeroed() {
  std::mt19937_64 random(1);
  std::vector<std::pair<char*, size_t>> live;
  for (int i = 0; i < 6000; ++i) {
    const size_t n = size_t{1} << (random() % (i % 100 == 0 ? 26 : 17));
    char* const p = opaque(static_cast<char*>(calloc(1, n)));
    EXPECT(p != nullptr && all_zero(p, n));
    memset(p, 0xa5, n);
    live.emplace_back(p, n);
    if (live.size() > 40) {
      const size_t victim = random() % live.size();
      free(live[victim].first);
      live[victim] = live.back();
      live.pop_back();
    }
  }
}

void overflow() {  // the driver sets COPSE_HEAP_BYTES=96M
  const size_t large = size_t{200} << 20;
  char* p = opaque(static_cast<char*>(malloc(large)));
  EXPECT(p != nullptr && !shared(p));
  p[large - 1] = 1;
  free(p);
  std::vector<char*> blocks;
  size_t outside = 0;
  for (int i = 0; i < 150; ++i) {
    char* const block = opaque(static_cast<char*>(i % 2 ? malloc(1 << 20) : calloc(1, 1 << 20)));
    EXPECT(block != nullptr);
    fill(block, 1 << 20, static_cast<uint64_t>(i));
    outside += !shared(block);
    blocks.push_back(block);
  }
  EXPECT(outside >= 40 && outside < 120);
  for (int i = 0; i < 150; ++i) {
    EXPECT(holds(blocks[i], 1 << 20, static_cast<uint64_t>(i)));
    blocks[i] = opaque(static_cast<char*>(realloc(blocks[i], 3 << 20)));
    EXPECT(blocks[i] != nullptr && holds(blocks[i], 1 << 20, static_cast<uint64_t>(i)));
  }
  for (char* block : blocks) free(block);
  EXPECT(shared(opaque(malloc(1 << 20))));  // the region serves again
  void* const aligned_outside = aligned_alloc(1 << 16, large);
  EXPECT(aligned_outside != nullptr && aligned(aligned_outside, 1 << 16));
  free(aligned_outside);
}

void foreign() {
  void* raw = __libc_malloc(1000);
  EXPECT(!shared(raw) && malloc_usable_size(raw) >= 1000);
  raw = realloc(raw, 100000);
  EXPECT(!shared(raw));
  free(raw);
  char* text = opaque(strdup("glibc's own"));
  EXPECT(!shared(text));
  free(text);
  EXPECT(asprintf(&text, "%d", 12345) == 5);
  free(text);
  FILE* file = tmpfile();
  EXPECT(file != nullptr && !shared(file));
  fputs("one line\n", file);
  rewind(file);
  text = nullptr;
  size_t room = 0;
  EXPECT(getline(&text, &room, file) == 9);
  text = static_cast<char*>(realloc(text, 10000));
  free(text);
  room = 4;
  text = static_cast<char*>(malloc(room));
  EXPECT(shared(opaque(text)));
  rewind(file);
  EXPECT(getline(&text, &room, file) == 9);  // glibc grows our block
  EXPECT(strcmp(text, "one line\n") == 0);
  free(text);
  fclose(file);
  errno = 77;
  free(opaque(malloc(100)));
  EXPECT(errno == 77);
}

// Giving memory back fails in a sandbox that refuses madvise. If free left that error in errno, its caller would take
// it for an error of another call. The driver makes the heap give blocks back at once.
void errno_after_free() {
  const auto keeps = [](const std::vector<void*>& blocks) {
    for (void* p : blocks) {
      errno = 77;
      free(p);
      EXPECT(errno == 77);
    }
  };
  const auto some = [] {
    std::vector<void*> blocks{nullptr, __libc_malloc(size_t{1} << 20)};
    for (int shift = 4; shift < 25; ++shift) {
      blocks.push_back(opaque(malloc(size_t{1} << shift)));
      memset(blocks.back(), 1, size_t{1} << shift);
    }
    return blocks;
  };
  const auto mine = some(), inherited = some();
  if (!copse::test::refuse(SYS_madvise)) _exit(77);  // no seccomp on this system
  EXPECT(in_fork([&] { keeps(inherited); }) == 0);
  keeps(mine);
}

// Eight threads allocate random sizes. A thread frees one block in four that another thread has made.
void hammer(std::chrono::milliseconds time, int largest_shift, std::atomic<bool>* stop = nullptr) {
  struct Exchange {
    std::mutex mutex;
    std::vector<std::pair<char*, size_t>> blocks;
  } exchange;
  const auto end = std::chrono::steady_clock::now() + time;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      std::vector<std::pair<char*, size_t>> mine;
      while (std::chrono::steady_clock::now() < end && (stop == nullptr || !*stop)) {
        for (int i = 0; i < 100; ++i) {
          size_t n = 1 + random() % (size_t{1} << (random() % 100 == 0 ? largest_shift : random() % 12));
          char* p = static_cast<char*>(random() % 2 ? malloc(n) : calloc(1, n));
          EXPECT(p != nullptr);
          if (random() % 8 == 0) {
            n = n * 2 + 1;
            p = static_cast<char*>(realloc(p, n));
          }
          fill(p, std::min<size_t>(n, 64), n);
          mine.emplace_back(p, n);
          std::pair<char*, size_t> old{};
          if (random() % 4 == 0) {
            std::lock_guard lock(exchange.mutex);
            exchange.blocks.push_back(mine.back());
            mine.pop_back();
            if (exchange.blocks.size() > 200) {
              const size_t at = random() % exchange.blocks.size();
              old = exchange.blocks[at];
              exchange.blocks[at] = exchange.blocks.back();
              exchange.blocks.pop_back();
            }
          } else if (mine.size() > 100) {
            const size_t at = random() % mine.size();
            old = mine[at];
            mine[at] = mine.back();
            mine.pop_back();
          }
          EXPECT(old.first == nullptr || holds(old.first, std::min<size_t>(old.second, 64), old.second));
          free(old.first);
        }
      }
      for (auto& block : mine) free(block.first);
    });
  }
  for (auto& thread : threads) thread.join();
  for (auto& block : exchange.blocks) free(block.first);
}

void threads() { hammer(std::chrono::milliseconds(1500), 21); }

void memory_returns() {
  const size_t before = charged_bytes();
  const size_t large = size_t{256} << 20;
  char* p = opaque(static_cast<char*>(malloc(large)));
  memset(p, 1, large);
  EXPECT(shared(p) && charged_bytes() >= before + large);
  free(p);
  EXPECT(charged_bytes() < before + (size_t{8} << 20));
  // Smaller blocks return after mimalloc's delay, the next time that it has something to do.
  std::vector<char*> blocks;
  for (int i = 0; i < 40; ++i) {
    blocks.push_back(opaque(static_cast<char*>(malloc(4 << 20))));
    memset(blocks.back(), 1, 4 << 20);
  }
  EXPECT(charged_bytes() >= before + (size_t{160} << 20));
  for (char* block : blocks) free(block);
  for (int i = 0; i < 200 && charged_bytes() > before + (size_t{60} << 20); ++i) {
    usleep(20000);
    char* const kick = opaque(static_cast<char*>(malloc(size_t{6} << 20)));
    kick[0] = 1;
    free(kick);
  }
  EXPECT(charged_bytes() <= before + (size_t{60} << 20));
}

void discarding_advice() {
  const size_t n = size_t{8} << 20;
  for (int advice : {MADV_DONTNEED, MADV_FREE}) {
    char* const p = opaque(static_cast<char*>(aligned_alloc(4096, n)));
    memset(p, 9, n);
    const size_t before = charged_bytes();
    EXPECT(shared(p) && madvise(p, n, advice) == 0);
    EXPECT(charged_bytes() <= before - n / 2);
    EXPECT(all_zero(p, n));
    free(p);
  }
  void* const other = mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(other, 9, n);
  EXPECT(madvise(other, n, MADV_DONTNEED) == 0 && all_zero(static_cast<char*>(other), n));
  errno = 0;
  EXPECT(madvise(static_cast<char*>(other) + 1, n, MADV_DONTNEED) == -1 && errno == EINVAL);
}

// --- fork, and the ways to start a program -----------------------------------------------------------------------

void inherit_and_use(const std::vector<std::pair<char*, size_t>>& inherited) {
  Region none{};
  EXPECT(!look_up(&none));
  EXPECT(strstr(why_not(), "fork") != nullptr);
  size_t i = 0;
  for (auto [p, n] : inherited) {
    EXPECT(holds(p, n, n));
    if (++i % 3 == 0) {
      free(p);
    } else if (i % 3 == 1) {
      p = opaque(static_cast<char*>(realloc(p, n * 2)));
      EXPECT(p != nullptr && holds(p, n, n) && !shared(p));
      free(p);
    } else {
      EXPECT(malloc_usable_size(p) >= n);
      p = opaque(static_cast<char*>(realloc(p, n)));
      EXPECT(holds(p, n, n));
      fill(p, n, 1);
    }
  }
  std::thread([] {
    std::map<int, std::string> map;
    for (int k = 0; k < 1000; ++k) map[k] = std::string(100, 'x');
  }).join();
}

std::vector<std::pair<char*, size_t>> some_blocks(size_t largest) {
  std::vector<std::pair<char*, size_t>> blocks;
  for (size_t n = 1; n < largest; n = n * 5 / 4 + 1) {
    blocks.emplace_back(opaque(static_cast<char*>(malloc(n))), n);
    fill(blocks.back().first, n, n);
  }
  return blocks;
}

void fork_is_private() {
  const auto blocks = some_blocks(size_t{20} << 20);
  shared(nullptr);  // remembers the region for the children
  int to_child[2];
  EXPECT(pipe(to_child) == 0);
  const size_t parent_fds_probe = static_cast<size_t>(dup(0));
  close(static_cast<int>(parent_fds_probe));
  const pid_t child = fork();
  if (child == 0) {
    char go;
    close(to_child[1]);
    EXPECT(read(to_child[0], &go, 1) == 1);  // by now the parent has overwritten everything
    inherit_and_use(blocks);
    // A fork of the child is an ordinary fork.
    char* const p = opaque(static_cast<char*>(malloc(100)));
    fill(p, 100, 3);
    EXPECT(in_fork([&] {
             EXPECT(holds(p, 100, 3));
             fill(p, 100, 4);
           }) == 0);
    EXPECT(holds(p, 100, 3));
    _exit(0);
  }
  Region still{};
  EXPECT(look_up(&still));
  for (auto [p, n] : blocks) fill(p, n, n + 1);
  EXPECT(write(to_child[1], "g", 1) == 1);
  EXPECT(wait_for(child) == 0);
  for (auto [p, n] : blocks) {
    EXPECT(holds(p, n, n + 1));
    free(p);
  }
  const size_t now = static_cast<size_t>(dup(0));
  EXPECT(now == parent_fds_probe);  // no descriptor leaks from fork
  // Does the same with the fork that runs no handlers.
  char* const word = opaque(static_cast<char*>(calloc(1, 1)));
  const pid_t bare = _Fork();
  if (bare == 0) {
    *word = 1;
    _exit(look_up(&still) ? 1 : 0);
  }
  EXPECT(wait_for(bare) == 0 && *word == 0);
}

void fork_with_threads() {
  shared(nullptr);
  std::atomic<bool> stop{false};
  const std::string path = "/proc/self/fd/" + std::to_string(fileno(tmpfile()));
  std::thread load([&] { hammer(std::chrono::minutes(1), 14, &stop); });
  // glibc resets the locks of all FILEs in a forked child. That must not affect the parent's locks.
  std::thread printing([&] {
    FILE* const file = fopen(path.c_str(), "w");
    EXPECT(file != nullptr);
    while (!stop) fprintf(file, "%d %s\n", 1, "some text");
    fclose(file);
  });
  const auto blocks = some_blocks(size_t{1} << 20);
  for (int i = 0; i < 10; ++i) {
    EXPECT(in_fork([&] { inherit_and_use(blocks); }) == 0);
  }
  std::vector<std::thread> forkers;
  for (int t = 0; t < 3; ++t) {
    forkers.emplace_back([&] {
      for (int i = 0; i < 4; ++i) EXPECT(in_fork([&] { inherit_and_use(blocks); }) == 0);
    });
  }
  for (auto& forker : forkers) forker.join();
  stop = true;
  load.join();
  printing.join();
}

// A child that cannot have its copy says so and ends. The parent goes on.
void fork_without_room() {
  shared(nullptr);
  const auto fails = [] { return in_fork([] {}) == 127; };
  struct rlimit before;
  struct rlimit tight;
  EXPECT(getrlimit(RLIMIT_AS, &before) == 0);
  tight = before;
  unsigned long pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  tight.rlim_cur = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  EXPECT(setrlimit(RLIMIT_AS, &tight) == 0);
  EXPECT(fails());
  EXPECT(setrlimit(RLIMIT_AS, &before) == 0);
  std::vector<int> opened;
  int fd;
  EXPECT(getrlimit(RLIMIT_NOFILE, &before) == 0);
  tight = before;
  tight.rlim_cur = 64;
  EXPECT(setrlimit(RLIMIT_NOFILE, &tight) == 0);
  while ((fd = dup(0)) >= 0) opened.push_back(fd);
  EXPECT(fails());
  for (int each : opened) close(each);
  EXPECT(setrlimit(RLIMIT_NOFILE, &before) == 0);
  EXPECT(in_fork([] {}) == 0);
}

// A limit on writable memory bounds what a child copies, and not the whole region.
void fork_under_a_data_limit() {
  constexpr size_t kMiB = size_t{1} << 20;
  char* const p = opaque(static_cast<char*>(malloc(8 * kMiB)));
  fill(p, 8 * kMiB, 1);
  struct rlimit few;
  EXPECT(getrlimit(RLIMIT_DATA, &few) == 0);
  few.rlim_cur = 512 * kMiB;
  EXPECT(region().bytes > 2 * few.rlim_cur && setrlimit(RLIMIT_DATA, &few) == 0);
  EXPECT(in_fork([&] { EXPECT(holds(p, 8 * kMiB, 1) && opaque(malloc(kMiB)) != nullptr); }) == 0);
}

// A thread that is cancelled while it waits in fork ends behind it, and others can fork.
void fork_and_cancel() {
  for (int turn = 0; turn < 20; ++turn) {
    std::thread([&] {
      pthread_cancel(pthread_self());
      const pid_t child = fork();
      if (child == 0) _exit(0);
      waitpid(child, nullptr, 0);  // ends here, or before
    }).join();
    EXPECT(in_fork([] {}) == 0);
  }
}

// Without the descriptor the copy is made from the mapping, even if the program has made a page inaccessible.
void fork_without_descriptor() {
  shared(nullptr);
  const auto blocks = some_blocks(size_t{4} << 20);
  char* const guarded = opaque(static_cast<char*>(aligned_alloc(4096, 8192)));
  fill(guarded, 8192, 5);
  EXPECT(mprotect(guarded, 4096, PROT_NONE) == 0);
  FILE* const file = tmpfile();
  EXPECT(file != nullptr && fputs("the user's", file) >= 0 && fflush(file) == 0);
  const int number = region().fd;
  EXPECT(dup2(fileno(file), number) == number);
  EXPECT(in_fork([&] {
           EXPECT(holds(guarded, 8192, 5));
           guarded[0] = 1;
           char text[20] = {};  // the descriptor is the program's: it stays open and keeps its offset
           EXPECT(lseek(number, 0, SEEK_CUR) == 10 && pread(number, text, 20, 0) == 10 && strcmp(text, "the user's") == 0);
           inherit_and_use(blocks);
         }) == 0);
  EXPECT(mprotect(guarded, 4096, PROT_READ) == 0 && holds(guarded, 8192, 5));
  for (auto [p, n] : blocks) EXPECT(holds(p, n, n));
}

void fork_on_a_heap_stack() {
  const size_t bytes = size_t{1} << 20;
  void* const stack = aligned_alloc(4096, bytes);
  pthread_attr_t attributes;
  pthread_t thread;
  EXPECT(shared(stack) && pthread_attr_init(&attributes) == 0 && pthread_attr_setstack(&attributes, stack, bytes) == 0);
  const auto body = [](void*) -> void* {
    fork();
    _exit(0);  // not reached
  };
  EXPECT(pthread_create(&thread, &attributes, body, nullptr) == 0);
  pthread_join(thread, nullptr);
}

void starting_programs() {
  auto* const word = opaque(static_cast<int*>(calloc(1, sizeof(int))));
  EXPECT(system("exit 3") == 3 << 8);
  FILE* const pipe = popen("echo spoken", "r");
  char line[32] = {};
  EXPECT(pipe != nullptr && fgets(line, sizeof line, pipe) != nullptr && strcmp(line, "spoken\n") == 0);
  EXPECT(pclose(pipe) == 0);
  const char* const self[] = {"heap_probe", "active", nullptr};
  pid_t child;
  EXPECT(posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, const_cast<char**>(self), environ) == 0);
  EXPECT(wait_for(child) == 0);
  child = vfork();
  if (child == 0) {
    execv("/proc/self/exe", const_cast<char**>(self));
    _exit(9);
  }
  EXPECT(wait_for(child) == 0);
  EXPECT(in_fork([&] {
           *word = 1;
           execv("/proc/self/exe", const_cast<char**>(self));  // a heap of its own again
         }) == 0);
  EXPECT(*word == 0);
}

const std::map<std::string, void (*)()> kCases = {
    {"active", active},
    {"inactive", inactive},
    {"peer", peer},
    {"descriptor_lost", descriptor_lost},
    {"alignment", alignment},
    {"resize", resize},
    {"zeroed", zeroed},
    {"overflow", overflow},
    {"foreign", foreign},
    {"errno_after_free", errno_after_free},
    {"threads", threads},
    {"memory_returns", memory_returns},
    {"discarding_advice", discarding_advice},
    {"fork_is_private", fork_is_private},
    {"fork_with_threads", fork_with_threads},
    {"fork_without_room", fork_without_room},
    {"fork_without_descriptor", fork_without_descriptor},
    {"fork_under_a_data_limit", fork_under_a_data_limit},
    {"fork_and_cancel", fork_and_cancel},
    {"stays_out_of_the_way", stays_out_of_the_way},
    {"locked", locked},
    {"crash", crash},
    {"hooked_by_ucx", hooked_by_ucx},
    {"redirected_by_ucx", redirected_by_ucx},
    {"hooked_by_a_jump", hooked_by_a_jump},
    {"fork_on_a_heap_stack", fork_on_a_heap_stack},
    {"starting_programs", starting_programs},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc == 5 && strcmp(argv[1], "peer_child") == 0) {
    peer_child(argv[2], argv[3], argv[4]);
    return 0;
  }
  const auto found = argc == 2 ? kCases.find(argv[1]) : kCases.end();
  EXPECT(found != kCases.end());
  found->second();
  return 0;
}
