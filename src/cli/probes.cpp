// The probes: forked children, a deadline, and explanations of what went wrong.
#include "cli/probes.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <stdexcept>

#include "engine/reach/peer.hpp"
#include "engine/reach/process.hpp"
#include "engine/reach/shared_memory.hpp"

namespace copse::cli {
namespace {

constexpr unsigned kSecondsMost = 10;  // the kernel ends a probe that takes longer

// The results of the children. The board lies in memory that the children inherit, so it needs nothing that is being
// probed.
struct Board {
  std::atomic<int> ready{0};
  pid_t owner = 0;
  int fd = -1;
  engine::FileId file;
  bool works = false;
  char why_not[200] = "";

  void refuse(const char* what) { std::snprintf(why_not, sizeof why_not, "%s: %s", what, std::strerror(errno)); }
};
static_assert(std::atomic<int>::is_always_lock_free, "the board lies in memory shared by processes");

// The owner changes its token to kOwners. All other processes have inherited 0.
std::uint64_t token = 0;
constexpr std::uint64_t kOwners = 0x5ee5ca1ab1e0ff1c;

pid_t start(const std::function<void()>& body) {
  std::fflush(nullptr);  // otherwise the child would print buffered output again
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error(std::string("fork failed: ") + std::strerror(errno));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(kSecondsMost);
    body();
    _exit(0);
  }
  return child;
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) return "no answer within " + std::to_string(kSecondsMost) + " s";
  if (WIFSIGNALED(status)) return std::string("the probe was killed: ") + strsignal(WTERMSIG(status));
  return "the probe ended with exit code " + std::to_string(WEXITSTATUS(status));
}

Probe outcome(const Board& board, int status) {
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return {false, how_it_ended(status)};
  return {board.works, board.works ? "" : board.why_not};
}

// Runs `own` in one child. Then runs `reach` in another while the first one lives.
Probe between_siblings(const std::function<void(Board&)>& own, const std::function<void(Board&)>& reach) {
  void* memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return {false, std::string("no memory for a probe: ") + std::strerror(errno)};
  Board& board = *new (memory) Board;
  const pid_t owner = start([&] {
    own(board);
    board.owner = getpid();
    board.ready.store(1, std::memory_order_release);  // pairs with the load in reach's child
    while (true) pause();
  });
  const pid_t other = start([&] {
    while (board.ready.load(std::memory_order_acquire) == 0) sched_yield();
    reach(board);
  });
  int status = 0, ignored = 0;
  waitpid(other, &status, 0);
  kill(owner, SIGKILL);
  waitpid(owner, &ignored, 0);
  Probe result = outcome(board, status);
  munmap(memory, sizeof(Board));
  return result;
}

// Where copse-native is installed, the libraries lie beside it; in a build folder, in lib beside bin.
std::string file_beside_us(const char* name) {
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const auto installed = folder / name;
  return std::filesystem::exists(installed) ? installed.string() : (folder.parent_path() / "lib" / name).string();
}

}  // namespace

Probe probe_common_memory() {
  return between_siblings(
      [](Board& board) {
        static engine::Descriptor memory = engine::make_shared_memory("copse-probe", sizeof token);
        if (!memory) return board.refuse("memfd_create");
        const engine::Mapping mapping(memory.get(), sizeof token);
        if (!mapping) return board.refuse("mmap");
        std::memcpy(mapping.base(), &kOwners, sizeof kOwners);
        board.fd = memory.get();
        board.file = engine::file_id(board.fd);
      },
      [](Board& board) {
        if (board.fd < 0) return;  // the owner has given the reason
        const engine::Descriptor opened =
            engine::open_shared_memory(board.owner, board.fd, board.file, sizeof token, engine::Size::sealed);
        if (!opened) return board.refuse("opening /proc/<pid>/fd of another process");
        const engine::Mapping mapping(opened.get(), sizeof token);
        if (!mapping) return board.refuse("mmap");
        board.works = std::memcmp(mapping.base(), &kOwners, sizeof kOwners) == 0;
        if (!board.works) std::snprintf(board.why_not, sizeof board.why_not, "the mapping shows something else");
      });
}

Probe probe_kernel_reach() {
  return between_siblings([](Board&) { token = kOwners; },
                          [](Board& board) {
                            engine::Peer peer;
                            peer.process = engine::Process::find({board.owner, 0});
                            const auto there = reinterpret_cast<std::uintptr_t>(&token);
                            std::uint64_t word = 0;
                            if (!engine::kernel_read(peer, &word, there, sizeof word)) return board.refuse("process_vm_readv");
                            const std::uint64_t changed = ~word;
                            if (!engine::kernel_write(peer, &changed, there, sizeof changed))
                              return board.refuse("process_vm_writev");
                            std::uint64_t back = 0;
                            board.works =
                                engine::kernel_read(peer, &back, there, sizeof back) && word == kOwners && back == changed;
                            if (!board.works) std::snprintf(board.why_not, sizeof board.why_not, "it moved something else");
                          });
}

Probe probe_shared_heap() {
  const std::string library = file_beside_us("libcopse-heap.so");
  if (access(library.c_str(), R_OK) != 0) return {false, library + ": " + std::strerror(errno) + "; build or install it"};
  int ends[2];
  if (pipe(ends) != 0) return {false, std::string("pipe: ") + std::strerror(errno)};
  const engine::Descriptor read_end(ends[0]);
  engine::Descriptor write_end(ends[1]);
  const pid_t child = start([&] {
    dup2(write_end.get(), STDOUT_FILENO);
    dup2(write_end.get(), STDERR_FILENO);
    setenv("LD_PRELOAD", library.c_str(), 1);
    execl("/proc/self/exe", "copse-native", "heap", nullptr);
    _exit(127);
  });
  write_end = engine::Descriptor();
  std::string said;
  char buffer[512];
  for (ssize_t n = 0; (n = read(read_end.get(), buffer, sizeof buffer)) > 0;) said.append(buffer, static_cast<std::size_t>(n));
  int status = 0;
  waitpid(child, &status, 0);
  while (!said.empty() && said.back() == '\n') said.pop_back();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {true, ""};
  return {false, said.empty() ? how_it_ended(status) : said};
}

Probe probe_binding() {
  return between_siblings([](Board&) {},
                          [](Board& board) {
                            cpu_set_t allowed, one;
                            CPU_ZERO(&allowed);
                            CPU_ZERO(&one);
                            if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return board.refuse("sched_getaffinity");
                            int cpu = 0;
                            while (!CPU_ISSET(cpu, &allowed)) ++cpu;
                            CPU_SET(cpu, &one);
                            board.works = sched_setaffinity(0, sizeof one, &one) == 0;
                            if (!board.works) board.refuse("sched_setaffinity");
                          });
}

}  // namespace copse::cli
