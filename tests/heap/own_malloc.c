// A program that brings its own malloc, as programs linked with an allocator do: every allocation must come from it,
// none from the preloaded heap, and nothing may reach the wrong free.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static _Alignas(64) char arena[8 << 20];
static size_t used;
static int frees_of_strangers;

static int mine(const void* p) { return (uintptr_t)p - (uintptr_t)arena < sizeof arena; }

void* malloc(size_t n) {
  const size_t at = used;
  used += (n + 16 + 15) / 16 * 16;
  if (used > sizeof arena) return NULL;
  memcpy(arena + at, &n, sizeof n);
  return arena + at + 16;
}

void free(void* p) { frees_of_strangers += p != NULL && !mine(p); }

void* calloc(size_t count, size_t size) { return malloc(count * size); }  // never reused, so still zero

void* realloc(void* p, size_t n) {
  char* const q = malloc(n);
  size_t before = 0;
  if (p != NULL) memcpy(&before, (char*)p - 16, sizeof before);
  if (q != NULL) memcpy(q, p, before < n ? before : n);
  return q;
}

static int heap_says_so(void) { /* libcopse-heap.so stays away, and tells why */
  const char* (*why_not)(void);
  *(void**)&why_not = dlsym(RTLD_DEFAULT, "copse_heap_why_not");
  return why_not != NULL && why_not() != NULL && strstr(why_not(), "has an allocator of its own") != NULL;
}

int main(void) {
  if (!heap_says_so()) return 5;
  char* volatile p = malloc(100);
  char* volatile text = strdup("by way of glibc");
  if (!mine(p) || !mine(text)) return 1;
  p = realloc(p, 1000);
  text[0] = 'B';
  const pid_t child = fork();
  if (child == 0) {
    text[0] = 'C';
    _exit(strcmp(text, "Cy way of glibc") != 0);
  }
  int status;
  if (waitpid(child, &status, 0) != child || status != 0 || text[0] != 'B') return 2;
  FILE* const file = fopen("/dev/null", "w");
  if (file == NULL || !mine(file)) return 3;
  fclose(file);
  free(text);
  free(p);
  return frees_of_strangers == 0 ? 0 : 4;
}
