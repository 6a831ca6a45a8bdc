/* Chunks of 256 pages; of one with kernels in it the sealed pages are one mapping, mostly, and the
 * others another. A page that is given back becomes writable and loses its content. */
#include "backends/host/host_arena.h"

#include "base/memory.h"
#include "base/status.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CHUNK_PAGES = 256 };

struct arena_chunk {
  arena_chunk *next;
  char *memory;
  size_t pages, used;
  bool is_used[]; /* of each page */
};

static size_t page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

void llrt_host_arena_init(host_arena *arena) {
  pthread_mutex_init(&arena->mutex, NULL);
  arena->chunks = NULL;
}

void llrt_host_arena_fini(host_arena *arena) { pthread_mutex_destroy(&arena->mutex); }

static arena_chunk *make_chunk(size_t pages) {
  arena_chunk *chunk = memory_zeroed(1, sizeof *chunk + pages);
  if (!chunk) return NULL;
  chunk->pages = pages;
  chunk->memory = memory_map(pages * page_bytes());
  if (chunk->memory) return chunk;
  free(chunk);
  return NULL;
}

/* The first of `pages` free pages in a row; chunk->pages: there are none. */
static size_t find_row(const arena_chunk *chunk, size_t pages) {
  size_t row = 0;
  for (size_t i = 0; i < chunk->pages && chunk->pages - chunk->used >= pages; i++) {
    row = chunk->is_used[i] ? 0 : row + 1;
    if (row == pages) return i + 1 - pages;
  }
  return chunk->pages;
}

static arena_chunk *find_chunk(host_arena *arena, size_t pages, size_t *first) {
  for (arena_chunk *chunk = arena->chunks; chunk; chunk = chunk->next) {
    *first = find_row(chunk, pages);
    if (*first < chunk->pages) return chunk;
  }
  arena_chunk *made = make_chunk(pages > CHUNK_PAGES ? pages : CHUNK_PAGES);
  if (!made) return NULL;
  made->next = arena->chunks;
  arena->chunks = made;
  *first = 0;
  return made;
}

llrt_status llrt_host_arena_take(host_arena *arena, size_t bytes, arena_pages *out) {
  size_t page = page_bytes(), pages = (bytes + page - 1) / page, first = 0;
  *out = (arena_pages){0};
  pthread_mutex_lock(&arena->mutex);
  arena_chunk *chunk = find_chunk(arena, pages, &first);
  if (chunk) {
    memset(chunk->is_used + first, true, pages);
    chunk->used += pages;
    *out = (arena_pages){chunk, chunk->memory + first * page, pages * page};
  }
  pthread_mutex_unlock(&arena->mutex);
  return chunk ? LLRT_OK : llrt_error(LLRT_OUT_OF_MEMORY, "no memory for %zu bytes of code", bytes);
}

llrt_status llrt_host_arena_seal(const arena_pages *pages) {
  if (mprotect(pages->memory, pages->bytes, PROT_READ | PROT_EXEC) != 0)
    return llrt_error_vendor(LLRT_UNSUPPORTED, errno, "memory that was written cannot be run: %s",
                             strerror(errno));
  __builtin___clear_cache(pages->memory, pages->memory + pages->bytes);
  return LLRT_OK;
}

static void unlink_chunk(host_arena *arena, arena_chunk *chunk) {
  arena_chunk **link = &arena->chunks;
  while (*link != chunk) link = &(*link)->next;
  *link = chunk->next;
  munmap(chunk->memory, chunk->pages * page_bytes());
  free(chunk);
}

/* Pages that the system does not make writable again stay out of use until their whole chunk goes.
 */
void llrt_host_arena_give(host_arena *arena, arena_pages *pages) {
  arena_chunk *chunk = pages->chunk;
  if (!chunk) return;
  size_t page = page_bytes(), first = (size_t)(pages->memory - chunk->memory) / page;
  pthread_mutex_lock(&arena->mutex);
  chunk->used -= pages->bytes / page;
  if (chunk->used == 0) unlink_chunk(arena, chunk);
  else if (mprotect(pages->memory, pages->bytes, PROT_READ | PROT_WRITE) == 0 &&
           madvise(pages->memory, pages->bytes, MADV_DONTNEED) == 0)
    memset(chunk->is_used + first, false, pages->bytes / page);
  pthread_mutex_unlock(&arena->mutex);
  *pages = (arena_pages){0};
}
