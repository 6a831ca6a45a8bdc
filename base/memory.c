#include "base/memory.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static atomic_int kinds;
static _Atomic int64_t asked;
static int64_t failing;
static bool fails_later;

void memory_fail(int of, int64_t n, int later) {
  atomic_store(&kinds, 0);
  atomic_store(&asked, 0);
  failing = n;
  fails_later = later;
  atomic_store(&kinds, of);
}

int64_t memory_asked(void) { return atomic_load(&asked); }

/* Whether a request is one that is to fail. */
static bool fails(int kind) {
  if (!(atomic_load_explicit(&kinds, memory_order_acquire) & kind)) return false;
  int64_t number = atomic_fetch_add(&asked, 1) + 1;
  if (failing == 0 || number < failing || (number > failing && !fails_later)) return false;
  errno = ENOMEM;
  return true;
}

void *memory_new(size_t bytes) { return fails(MEMORY_HEAP) ? NULL : malloc(bytes); }

void *memory_zeroed(size_t n, size_t bytes) { return fails(MEMORY_HEAP) ? NULL : calloc(n, bytes); }

void *memory_resize(void *old, size_t bytes) {
  return fails(MEMORY_HEAP) ? NULL : realloc(old, bytes);
}

void *memory_aligned(size_t alignment, size_t bytes) {
  return fails(MEMORY_HEAP) ? NULL : aligned_alloc(alignment, bytes);
}

char *memory_text(const char *text) {
  size_t bytes = strlen(text) + 1;
  char *copy = memory_new(bytes);
  return copy ? memcpy(copy, text, bytes) : NULL;
}

void *memory_map(size_t bytes) {
  if (fails(MEMORY_MAPS)) return NULL;
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

int memory_file(const char *name) {
  return fails(MEMORY_FILES) ? -1 : memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

int memory_thread(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                  void *data) {
  return fails(MEMORY_THREADS) ? EAGAIN : pthread_create(thread, attributes, run, data);
}
