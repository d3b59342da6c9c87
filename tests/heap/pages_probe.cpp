// Cases of heap_probe: core dumps, mlockall, and libraries that hook memory events.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "probe.hpp"

namespace copse::test {

namespace {

// The bytes of the region that a core dump would contain, and those that can be accessed, from the kernel's list of
// mappings.
struct Taken {
  size_t dumped = 0;
  size_t accessible = 0;
};

Taken taken() {
  const auto base = reinterpret_cast<uintptr_t>(region().base);
  const uintptr_t end = base + region().bytes;
  std::ifstream smaps("/proc/self/smaps");
  std::string line;
  unsigned long lo = 0;
  unsigned long hi = 0;
  Taken result;
  while (std::getline(smaps, line)) {
    char access[8] = {};
    unsigned long from = 0;
    unsigned long to = 0;
    if (sscanf(line.c_str(), "%lx-%lx %7s ", &from, &to, access) == 3) {
      lo = from;
      hi = to;
      if (lo >= base && lo < end && access[0] == 'r') result.accessible += hi - lo;
    } else if (lo >= base && lo < end && line.rfind("VmFlags:", 0) == 0) {
      if ((line + ' ').find(" dd ") == std::string::npos) result.dumped += hi - lo;
    }
  }
  return result;
}

}  // namespace

// Unused memory is neither dumped nor accessible, both before and after use.
void stays_out_of_the_way() {
  constexpr size_t kMiB = size_t{1} << 20;
  const Taken before = taken();
  EXPECT(before.dumped <= 16 * kMiB && before.accessible <= 16 * kMiB);
  char* const p = opaque(static_cast<char*>(malloc(200 * kMiB)));
  fill(p, 200 * kMiB, 1);
  const Taken used = taken();
  EXPECT(used.dumped >= before.dumped + 200 * kMiB && used.dumped <= before.dumped + 240 * kMiB);
  free(p);
  for (int i = 0; i < 200 && taken().accessible > before.accessible + 40 * kMiB; ++i) {
    usleep(20000);
    free(opaque(malloc(6 * kMiB)));
  }
  EXPECT(taken().dumped <= before.dumped + 40 * kMiB && taken().accessible <= before.accessible + 40 * kMiB);
}

// mlockall allocates what is in use but not the whole region. A peer's heap stays as it is, and memory is still
// returned.
void locked() {
  constexpr size_t kMiB = size_t{1} << 20;
  const int peer = memfd_create("copse-heap", MFD_CLOEXEC);
  EXPECT(peer >= 0 && ftruncate(peer, static_cast<off_t>(400 * kMiB)) == 0);
  auto* const theirs = static_cast<char*>(mmap(nullptr, 400 * kMiB, PROT_READ | PROT_WRITE, MAP_SHARED, peer, 0));
  auto* const mine = static_cast<char*>(mmap(nullptr, kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  EXPECT(theirs != MAP_FAILED && mine != MAP_FAILED);
  const size_t before = charged_bytes();
  const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
  setrlimit(RLIMIT_MEMLOCK, &all);
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) _exit(77);  // not allowed here
  EXPECT(charged_bytes() <= before + 32 * kMiB);
  struct stat status;
  EXPECT(fstat(peer, &status) == 0 && status.st_blocks == 0);
  std::vector<unsigned char> resident(kMiB / 4096);
  EXPECT(mincore(mine, kMiB, resident.data()) == 0);  // the program gets what it wanted
  EXPECT(std::all_of(resident.begin(), resident.end(), [](unsigned char page) { return page & 1; }));
  char* const p = opaque(static_cast<char*>(malloc(200 * kMiB)));
  fill(p, 200 * kMiB, 1);
  EXPECT(charged_bytes() >= before + 200 * kMiB);
  free(p);
  EXPECT(charged_bytes() <= before + 64 * kMiB);
}

// Tells where its data lies, and crashes. The limit catches a dump that contains the whole region.
void crash() {
  const struct rlimit enough = {size_t{128} << 20, size_t{128} << 20};
  if (setrlimit(RLIMIT_CORE, &enough) != 0) _exit(77);
  const size_t n = size_t{20} << 20;
  char* const p = opaque(static_cast<char*>(malloc(n)));
  EXPECT(shared(p));
  fill(p, n, 1234);
  printf("%lx\n", reinterpret_cast<unsigned long>(p));
  fflush(stdout);
  abort();
}

namespace {

size_t told_bytes = 0;

// A library that hooks madvise hears of memory that goes, and that memory does go.
void expect_events() {
  const size_t n = size_t{64} << 20;
  const size_t part = size_t{8} << 20;
  char* const p = opaque(static_cast<char*>(aligned_alloc(4096, n)));
  EXPECT(shared(p));
  memset(p, 7, n);
  size_t before = charged_bytes();
  told_bytes = 0;
  EXPECT(madvise(p, part, MADV_DONTNEED) == 0);
  EXPECT(told_bytes >= part && charged_bytes() <= before - part / 2);
  EXPECT(all_zero(p, part) && p[part] == 7);
  before = charged_bytes();
  told_bytes = 0;
  free(p);
  EXPECT(told_bytes >= n - part && charged_bytes() <= before - (n - part) / 2);
  EXPECT(why_not() == nullptr && look_up(&nowhere));
}

// From ucm/api/ucm.h of UCX, as far as needed here.
union UcmEvent {
  struct {
    void* address;
    size_t size;
  } unmapped;
};
constexpr int kUcmUnmapped = 1 << 17;

void load_ucx() {
  free(opaque(malloc(size_t{20} << 20)));  // memory went before anybody listened
  if (dlopen("libucs.so.0", RTLD_NOW | RTLD_GLOBAL) == nullptr) _exit(77);
  void* const ucm = dlopen("libucm.so.0", RTLD_NOW | RTLD_GLOBAL);
  EXPECT(ucm != nullptr);
  using Handler = void (*)(int, UcmEvent*, void*);
  const auto set = reinterpret_cast<int (*)(int, int, Handler, void*)>(dlsym(ucm, "ucm_set_event_handler"));
  EXPECT(set != nullptr);
  // UCX tries its hooks out and fails if they are not reached.
  EXPECT(set(kUcmUnmapped, 1000, [](int, UcmEvent* event, void*) { told_bytes += event->unmapped.size; }, nullptr) == 0);
}

}  // namespace

void hooked_by_ucx() {
  load_ucx();
  expect_events();
}

// UCX's other method redirects all calls by name, including ours. The heap notices that and is no longer shared, but
// still serves.
void redirected_by_ucx() {
  EXPECT(look_up(&nowhere) && setenv("UCX_MEM_MMAP_HOOK_MODE", "reloc", 1) == 0);
  load_ucx();
  EXPECT(!look_up(&nowhere) && strstr(why_not(), "redirected madvise") != nullptr);
  for (int i = 0; i < 40; ++i) {
    const size_t n = size_t{1} << (10 + i % 16);
    char* const p = opaque(static_cast<char*>(calloc(1, n)));
    EXPECT(all_zero(p, n));
    fill(p, n, n);
    EXPECT(holds(p, n, n));
    free(p);
  }
}

namespace {

// Works as Open MPI and libfabric do. They write a jump over the first bytes of the function that dlsym finds, and the
// hook makes the system call itself.
int jumped_to(void* start, size_t bytes, int advice) {
  if (advice == MADV_DONTNEED || advice == MADV_REMOVE) told_bytes += bytes;
  return static_cast<int>(syscall(SYS_madvise, start, bytes, advice));
}

}  // namespace

void hooked_by_a_jump() {
#if defined(__x86_64__)
  auto* const code = reinterpret_cast<unsigned char*>(dlsym(RTLD_DEFAULT, "madvise"));
  unsigned char jump[] = {0x49, 0xbb, 0, 0, 0, 0, 0, 0, 0, 0, 0x41, 0xff, 0xe3};  // mov r11, hook; jmp r11
  const auto hook = reinterpret_cast<uintptr_t>(&jumped_to);
  memcpy(jump + 2, &hook, sizeof hook);
  auto* const page = reinterpret_cast<unsigned char*>(reinterpret_cast<uintptr_t>(code) & ~uintptr_t{4095});
  EXPECT(mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
  memcpy(code, jump, sizeof jump);
  expect_events();
#else
  _exit(77);
#endif
}

}  // namespace copse::test
