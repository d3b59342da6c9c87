/* Preloaded. After STARVE_AT allocations, one allocation of rank 1 fails, or with STARVE_FOR_GOOD all later ones
 * fail. Only allocations of Copse's preload library count; what an MPI does without memory is not tested. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_memalign(size_t, size_t);

static atomic_long left = -1;
static int for_good;
static uintptr_t begin, end;

static int find_copse(struct dl_phdr_info* object, size_t size, void* unused) {
  (void)size, (void)unused;
  if (strstr(object->dlpi_name, "libcopse-mpi") == NULL) return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* segment = &object->dlpi_phdr[i];
    if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X)) continue;
    begin = object->dlpi_addr + segment->p_vaddr;
    end = begin + segment->p_memsz;
  }
  return 1;
}

__attribute__((constructor)) static void start(void) {
  const char* rank = getenv("PMI_RANK");
  if (rank == NULL) rank = getenv("OMPI_COMM_WORLD_RANK");
  if (rank == NULL || strcmp(rank, "1") != 0) return;
  dl_iterate_phdr(find_copse, NULL);
  for_good = getenv("STARVE_FOR_GOOD") != NULL;
  left = atol(getenv("STARVE_AT"));
}

static int starved(const void* caller) {
  if ((uintptr_t)caller < begin || (uintptr_t)caller >= end) return 0;
  const long now = atomic_fetch_sub(&left, 1);
  if (now > 0 || (now < 0 && !for_good)) return 0;
  if (now == 0) close(open(getenv("STARVE_SAYS"), O_CREAT | O_WRONLY, 0600)); /* so that the test knows */
  errno = ENOMEM;
  return 1;
}

void* malloc(size_t n) { return starved(__builtin_return_address(0)) ? NULL : __libc_malloc(n); }
void* calloc(size_t n, size_t size) { return starved(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size); }
void* aligned_alloc(size_t align, size_t n) { return starved(__builtin_return_address(0)) ? NULL : __libc_memalign(align, n); }
