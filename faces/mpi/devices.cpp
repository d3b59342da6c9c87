// Asks the drivers of CUDA and ROCm, if the process has loaded them. Level Zero's driver answers only within a context,
// which the program owns, so for Level Zero this asks the system.
#include "devices.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "family.hpp"

namespace copse::mpi {
namespace {

// The constants CU_POINTER_ATTRIBUTE_MEMORY_TYPE and CU_MEMORYTYPE_DEVICE of cuda.h.
constexpr int kMemoryType = 2;
constexpr unsigned kDeviceMemory = 2;
std::atomic<int (*)(void* data, int attribute, std::uint64_t address)> ask_cuda{nullptr};

// From hip_runtime_api.h. The meaning of the first word differs between ROCm 5 and 6. In both, device memory has no
// host address.
struct HipAttributes {
  int type, device;
  void *device_address, *host_address;
  int managed;
  unsigned flags;
  char more[64];
};
std::atomic<int (*)(HipAttributes* attributes, const void* address)> ask_hip{nullptr};
std::atomic<int (*)()> hip_peek{nullptr}, hip_error{nullptr};  // the thread's last error, which asking may set

std::atomic<bool> level_zero{false};

// Tells whether the process has loaded a file of this name, in any version. Without this question, the loader would search all its
// folders for each library that it has not loaded.
bool may_be_loaded(std::string_view library) {
  std::pair<std::string_view, bool> question{library.substr(0, library.find(".so") + 3), false};
  const auto look = [](dl_phdr_info* info, std::size_t, void* to) {
    auto& [wanted, found] = *static_cast<std::pair<std::string_view, bool>*>(to);
    const std::string_view path = info->dlpi_name;
    found = path.substr(path.rfind('/') + 1).starts_with(wanted);
    return found ? 1 : 0;
  };
  dl_iterate_phdr(look, &question);
  return question.second;
}

void* loaded(const char* library) { return may_be_loaded(library) ? dlopen(library, RTLD_LAZY | RTLD_NOLOAD) : nullptr; }

template <class Function>
void find(std::atomic<Function>& function, void* library, const char* name) {
  if (library != nullptr) function = reinterpret_cast<Function>(dlsym(library, name));
}

bool on_hip_device(const void* address) {
  HipAttributes attributes{};
  const bool clean = hip_peek.load() != nullptr && hip_peek.load()() == 0;
  const bool known = ask_hip.load()(&attributes, address) == 0;
  if (!known && clean && hip_error.load() != nullptr) hip_error.load()();
  return known && attributes.device_address != nullptr && attributes.host_address == nullptr;
}

bool readable(const void* address) {
  char byte = 0;
  iovec here{&byte, 1}, there{const_cast<void*>(address), 1};
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1 || errno != EFAULT;
}

// Returns how many libraries the process has loaded so far, those that it has unloaded included.
unsigned long long loaded_so_far() {
  unsigned long long count = 0;
  const auto look = [](dl_phdr_info* info, std::size_t, void* to) {
    *static_cast<unsigned long long*>(to) = info->dlpi_adds;
    return 1;  // each of them knows the number
  };
  dl_iterate_phdr(look, &count);
  return count;
}

void find_drivers() {
  find(ask_cuda, loaded("libcuda.so.1"), "cuPointerGetAttribute");
  for (const char* library : {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"}) {
    void* const hip = loaded(library);
    find(hip_peek, hip, "hipPeekAtLastError");
    find(hip_error, hip, "hipGetLastError");
    find(ask_hip, hip, "hipPointerGetAttributes");
    if (hip != nullptr) break;
  }
  level_zero = level_zero || loaded("libze_loader.so.1") != nullptr;
}

}  // namespace

// The loader opens files of the system to find out that it has not loaded a library.
bool driver_loaded() {
  static std::atomic<unsigned long long> seen{0};
  if (const unsigned long long now = loaded_so_far(); now != seen.load()) {
    find_drivers();
    seen = now;
  }
  return ask_cuda.load() != nullptr || ask_hip.load() != nullptr || level_zero;
}

bool on_device(const void* address) {
  if (address == nullptr || address == MPI_IN_PLACE) return false;
  unsigned type = 0;
  if (const auto ask = ask_cuda.load();
      ask != nullptr && ask(&type, kMemoryType, reinterpret_cast<std::uint64_t>(address)) == 0 && type == kDeviceMemory)
    return true;
  if (ask_hip.load() != nullptr && on_hip_device(address)) return true;
  return level_zero && !readable(address);
}

}  // namespace copse::mpi
