/* A switch between emulated nodes that hands a frame on after some time: delay MICROSECONDS PID PID...
 *
 * Linux has a queue that does this (netem), but a kernel may lack it. Here each PID stands for a machine, whose network it is
 * in. The machine gets a TAP device, eth0, whose other end is this process. A thread for each machine reads what the machine
 * sends, keeps it for the time of the delay, and writes it to the machine it is for, or to all others if it is for many. So a
 * message takes that long, and as long as it takes to wake the thread twice.
 *
 * Frames keep the kernel's own offload headers: a segment of 64 KiB passes as one frame, whose checksum nobody computes. A frame
 * costs at least two system calls and two copies, of processor time that the nodes do not have. Where it is allowed, the threads
 * go before all others (SCHED_FIFO), because a link does not wait for a processor.
 *
 * When all machines have their device, this prints the process that works on in the background, and ends. Its exit code is 77 if
 * that is not permitted. The process in the background ends when it is killed, and when the first PID ends, so that none is left
 * behind: its devices keep the networks, and nothing else would end it. A thread keeps kFrames frames at most, and leaves the
 * others where they are: in the queue of the device. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { kNotPermitted = 77, kMachines = 256, kFrames = 512 };
enum { kAddress = 6, kHeader = sizeof(struct virtio_net_hdr), kFrame = 68 << 10 }; /* bytes */

struct frame {
  struct frame* next;
  int64_t due; /* ns */
  size_t length;
  unsigned char bytes[kFrame]; /* the offload header, then the frame, which begins with the address that it is for */
};

struct machine {
  int device;
  unsigned char address[kAddress];
};

static struct machine machines[kMachines];
static int machine_count;
static int64_t delay; /* ns */
static int first_pid; /* a pidfd, readable when that process has ended; -1 where there is none (before Linux 5.3) */

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* A frame that a machine does not take, because its device is down, is lost as on a wire. */
static void deliver(const struct machine* from, const struct frame* frame) {
  const unsigned char* const address = frame->bytes + kHeader;
  const int many = address[0] & 1;
  for (const struct machine* to = machines; to < machines + machine_count; ++to) {
    if (to == from || !(many || memcmp(address, to->address, kAddress) == 0)) continue;
    while (write(to->device, frame->bytes, frame->length) < 0 && errno == EINTR) {
    }
  }
}

/* Hands on what one machine sends, until its device or the first process is gone. Free frames are used again last in, first out:
 * their memory is in a cache. */
static void* carry(void* machine) {
  const struct machine* const from = machine;
  struct frame *first = NULL, *last = NULL, *unused = NULL;
  int frames = 0;
  for (;;) {
    const int64_t time = now();
    while (first != NULL && first->due <= time) {
      struct frame* const frame = first;
      first = frame->next;
      deliver(from, frame);
      frame->next = unused;
      unused = frame;
    }
    if (unused == NULL && frames < kFrames && (unused = malloc(sizeof *unused)) != NULL) unused->next = NULL, ++frames;
    const ssize_t length = unused == NULL ? -1 : read(from->device, unused->bytes, kFrame);
    if (length >= kHeader + kAddress) {
      struct frame* const frame = unused;
      unused = frame->next;
      frame->next = NULL;
      frame->length = (size_t)length;
      frame->due = now() + delay;
      if (first == NULL) first = frame;
      else last->next = frame;
      last = frame;
      continue;
    }
    if (unused == NULL ? first == NULL : length < 0 && errno != EAGAIN && errno != EINTR && errno != EIO) return NULL;
    struct pollfd ends[] = {{.fd = from->device, .events = unused == NULL ? 0 : POLLIN}, {.fd = first_pid, .events = POLLIN}};
    const int64_t left = first == NULL ? 0 : first->due - now();
    const struct timespec wait = {.tv_sec = left > 0 ? left / 1000000000 : 0, .tv_nsec = left > 0 ? left % 1000000000 : 0};
    if (ppoll(ends, 2, first == NULL ? NULL : &wait, NULL) > 0 &&
        ((ends[0].revents & (POLLERR | POLLNVAL)) != 0 || ends[1].revents != 0))
      return NULL;
  }
}

static void give_up(const char* what) {
  fprintf(stderr, "delay: %s: %s\n", what, strerror(errno));
  exit(kNotPermitted);
}

/* Opens eth0 in the network of a process. */
static struct machine machine_of(const char* pid) {
  struct machine result;
  struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};
  char network[64];
  snprintf(network, sizeof network, "/proc/%s/ns/net", pid);
  const int file = open(network, O_RDONLY | O_CLOEXEC);
  if (file < 0 || setns(file, CLONE_NEWNET) != 0) give_up(network);
  close(file);
  snprintf(request.ifr_name, IFNAMSIZ, "eth0");
  result.device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (result.device < 0) give_up("/dev/net/tun");
  if (ioctl(result.device, TUNSETIFF, &request) != 0) give_up("no TAP device");
  if (ioctl(result.device, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6) != 0) give_up("no offload");
  if (ioctl(result.device, SIOCGIFHWADDR, &request) != 0) give_up("no address");
  memcpy(result.address, request.ifr_hwaddr.sa_data, kAddress);
  return result;
}

/* Leaves the caller's session and files. Its threads wake when they ask to, and not up to 50 us later. */
static void work(void) {
  const int nowhere = open("/dev/null", O_RDWR);
  for (int file = 0; file < 3; ++file) dup2(nowhere, file);
  setsid();
  prctl(PR_SET_TIMERSLACK, 1UL);
  const struct sched_param before_others = {.sched_priority = 1};
  sched_setscheduler(0, SCHED_FIFO, &before_others); /* refused in some containers */
  pthread_t threads[kMachines];
  for (int i = 0; i < machine_count; ++i)
    if (pthread_create(&threads[i], NULL, carry, &machines[i]) != 0) exit(1);
  for (int i = 0; i < machine_count; ++i) pthread_join(threads[i], NULL);
}

int main(int argc, char** argv) {
  char* end = NULL;
  const long microseconds = argc < 2 ? -1 : strtol(argv[1], &end, 10);
  machine_count = argc - 2;
  if (machine_count < 2 || machine_count > kMachines || *end != 0 || microseconds < 0 || microseconds > 1000000) {
    fprintf(stderr, "usage: delay MICROSECONDS(0-1000000) PID PID... (2-%d)\n", kMachines);
    return 2;
  }
  delay = microseconds * 1000;
  first_pid = (int)syscall(SYS_pidfd_open, (pid_t)strtol(argv[2], NULL, 10), 0);
  for (int i = 0; i < machine_count; ++i) machines[i] = machine_of(argv[i + 2]);
  const pid_t worker = fork();
  if (worker < 0) give_up("fork");
  if (worker == 0) {
    work();
    return 0;
  }
  printf("%ld\n", (long)worker);
  return 0;
}
