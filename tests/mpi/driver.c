/* A stand-in for a device's driver: the library that DRIVER_* names. One range of addresses belongs to a device.
 * devices.c loads it on some ranks. */
#include <stdint.h>
#include <string.h>

char* device_begin;
uint64_t device_bytes;

static int is_device(const void* address) {
  return (const char*)address >= device_begin && (const char*)address < device_begin + device_bytes;
}

int cuPointerGetAttribute(void* data, int attribute, uint64_t address);
int cuPointerGetAttribute(void* data, int attribute, uint64_t address) {
  enum { kInvalidValue = 1, kMemoryType = 2, kDevice = 2 };
  if (attribute != kMemoryType || !is_device((const void*)address)) return kInvalidValue;
  *(unsigned*)data = kDevice;
  return 0;
}

static int last_error;
int hipPeekAtLastError(void);
int hipPeekAtLastError(void) { return last_error; }
int hipGetLastError(void);
int hipGetLastError(void) {
  const int error = last_error;
  last_error = 0;
  return error;
}
struct attributes {
  int type, device;
  void *device_address, *host_address;
};
int hipPointerGetAttributes(struct attributes* attributes, const void* address);
int hipPointerGetAttributes(struct attributes* attributes, const void* address) {
  if (!is_device(address)) return last_error = 1;
  *attributes = (struct attributes){2, 0, (void*)address, NULL};
  return 0;
}
