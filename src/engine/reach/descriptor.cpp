// Keeps descriptors out of the program's way.
#include "engine/reach/descriptor.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>

namespace copse::engine {
namespace {

// A number above those that programs use and close by the handful. select() still accepts it.
constexpr int kOutOfTheWay = 512;
std::atomic<rlim_t> kept{0};  // objects of KeptDescriptor that hold one

// Makes room for that number when this library is loaded. Once a process has several threads, the kernel takes 10 ms and more to
// enlarge its table of descriptors, because it waits until no thread can be reading the old one.
[[gnu::constructor]] void make_room_out_of_the_way() {
  const Descriptor any(::open("/", O_PATH | O_CLOEXEC));
  const Descriptor high(fcntl(any.get(), F_DUPFD_CLOEXEC, kOutOfTheWay));
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

FileId file_id(int fd) {
  struct stat status{};
  if (fstat(fd, &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

bool KeptDescriptor::may_keep_one_more() {
  rlimit files{};
  return getrlimit(RLIMIT_NOFILE, &files) == 0 && kept.load() < files.rlim_cur / 4;
}

KeptDescriptor::KeptDescriptor(Descriptor fd) {
  if (!fd) return;
  if (Descriptor high(fcntl(fd.get(), F_DUPFD_CLOEXEC, kOutOfTheWay)); high) fd = std::move(high);
  file_ = file_id(fd.get());
  if (file_ == FileId{}) return;
  fd_ = fd.release();
  kept.fetch_add(1);
}

void KeptDescriptor::drop(bool ours) {
  if (fd_ < 0) return;
  if (ours) close(fd_);
  fd_ = -1;
  kept.fetch_sub(1);
}

}  // namespace copse::engine
