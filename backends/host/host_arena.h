/* Memory for the code of many kernels in few mappings: pages that are either written or run, never
 * both. */
#ifndef LLRT_BACKENDS_HOST_ARENA_H
#define LLRT_BACKENDS_HOST_ARENA_H

#include <llrt/status.h>

#include <pthread.h>
#include <stddef.h>

typedef struct arena_chunk arena_chunk;

typedef struct host_arena {
  pthread_mutex_t mutex;
  arena_chunk *chunks;
} host_arena;

/* Whole pages of one kernel. */
typedef struct arena_pages {
  arena_chunk *chunk; /* NULL: none */
  char *memory;
  size_t bytes;
} arena_pages;

void llrt_host_arena_init(host_arena *arena);
void llrt_host_arena_fini(host_arena *arena); /* precondition: all pages have been given back */

/* At least `bytes` bytes (> 0), zeroed and writable. Errors: OUT_OF_MEMORY. Thread: any. */
llrt_status llrt_host_arena_take(host_arena *arena, size_t bytes, arena_pages *pages);

/* From now on they may be run and no longer be written. Errors: UNSUPPORTED, where the system
 * forbids it. */
llrt_status llrt_host_arena_seal(const arena_pages *pages);

/* Gives pages back, sealed or not. Thread: any. */
void llrt_host_arena_give(host_arena *arena, arena_pages *pages);

#endif
