#include "runtime/block_pool.h"

#include "backends/backend.h"
#include "base/memory.h"
#include "base/status.h"

#include <stdlib.h>

#define ROUND_BYTES 512

struct pool_block {
  pool_block *next;
  llrt_device *device;
  void *memory;
  size_t bytes;
  bool kept;            /* released, and here for somebody else */
  void *stream;         /* that released it */
  backend_event *event; /* behind its last work; NULL: never released */
};

void llrt_block_pool_init(block_pool *pool) {
  pool->first = NULL;
  pthread_mutex_init(&pool->mutex, NULL);
}

void llrt_block_pool_fini(block_pool *pool) { pthread_mutex_destroy(&pool->mutex); }

/* ---- blocks; the mutex is held ---- */

static void give_back(pool_block *block) {
  const llrt_backend *backend = block->device->backend;
  if (block->event) backend->event_destroy(block->device, block->event);
  backend->release(block->device, block->memory);
  free(block);
}

/* Of the device's kept blocks, until keep_bytes are left; returns what it gave back. */
static size_t give_back_kept(block_pool *pool, const llrt_device *device, size_t keep_bytes) {
  size_t kept = 0, given = 0;
  for (pool_block **link = &pool->first; *link;) {
    pool_block *block = *link;
    bool stays = block->device != device || !block->kept || block->bytes <= keep_bytes - kept;
    if (block->device == device && block->kept && stays) kept += block->bytes;
    if (stays) {
      link = &block->next;
      continue;
    }
    *link = block->next;
    given += block->bytes;
    give_back(block);
  }
  return given;
}

/* Whether work queued on the stream from now on comes behind the block's last; it is made so where
 * the stream is the one that released the block, or was at its address. */
static bool comes_behind(const pool_block *block, void *stream) {
  const llrt_backend *backend = block->device->backend;
  bool done = false;
  if (block->stream == stream)
    return backend->event_wait(block->device, block->event, stream) == LLRT_OK;
  return backend->event_done(block->device, block->event, &done) == LLRT_OK && done;
}

/* Half of it would do, or it is small: otherwise it is left for larger requests. */
static bool suits(const pool_block *block, const llrt_device *device, size_t bytes) {
  return block->kept && block->device == device && block->bytes >= bytes &&
         block->bytes / 2 <= bytes + (1 << 16);
}

/* Those of the stream itself first: they need no asking. NULL: none. */
static pool_block *find_kept(const block_pool *pool, const llrt_device *device, size_t bytes,
                             void *stream) {
  for (int own = 1; own >= 0; own--)
    for (pool_block *block = pool->first; block; block = block->next)
      if (suits(block, device, bytes) && (block->stream == stream) == own &&
          comes_behind(block, stream))
        return block;
  return NULL;
}

static llrt_status add_block(block_pool *pool, llrt_device *device, size_t bytes,
                             pool_block **out) {
  const llrt_backend *backend = device->backend;
  pool_block *block = memory_zeroed(1, sizeof *block);
  if (!block) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a block's entry");
  block->device = device;
  block->bytes = (bytes + ROUND_BYTES - 1) / ROUND_BYTES * ROUND_BYTES;
  llrt_status status = backend->event_create(device, &block->event);
  if (status == LLRT_OK) status = backend->allocate(device, block->bytes, &block->memory);
  if (status == LLRT_OUT_OF_MEMORY && give_back_kept(pool, device, 0) > 0)
    status = backend->allocate(device, block->bytes, &block->memory);
  if (status == LLRT_OK) {
    block->next = pool->first;
    *out = pool->first = block;
    return LLRT_OK;
  }
  if (block->event) backend->event_destroy(device, block->event);
  free(block);
  return status;
}

/* ---- what the context calls ---- */

llrt_status llrt_block_pool_allocate(block_pool *pool, llrt_device *device, size_t bytes,
                                     void *stream, void **memory) {
  llrt_status status = LLRT_OK;
  *memory = NULL;
  pthread_mutex_lock(&pool->mutex);
  pool_block *block = find_kept(pool, device, bytes, stream);
  if (!block) status = add_block(pool, device, bytes, &block);
  if (block) {
    block->kept = false;
    *memory = block->memory;
  }
  pthread_mutex_unlock(&pool->mutex);
  return status;
}

static pool_block *find_block(const block_pool *pool, const llrt_device *device,
                              const void *memory) {
  pool_block *block = pool->first;
  while (block && !(block->memory == memory && block->device == device)) block = block->next;
  return block;
}

static llrt_status keep(pool_block *block, void *stream) {
  const llrt_backend *backend = block->device->backend;
  backend_stream state;
  LLRT_TRY(backend->stream_state(block->device, stream, &state));
  if (state.capturing)
    return llrt_error(
        LLRT_UNSUPPORTED,
        "memory that the graph uses cannot be given back on the stream that is being captured");
  LLRT_TRY(backend->event_record(block->device, block->event, stream));
  block->stream = stream;
  block->kept = true;
  return LLRT_OK;
}

llrt_status llrt_block_pool_release(block_pool *pool, llrt_device *device, void *memory,
                                    void *stream) {
  pthread_mutex_lock(&pool->mutex);
  pool_block *block = find_block(pool, device, memory);
  llrt_status status = LLRT_OK;
  if (!block) status = device->backend->release(device, memory);
  else if (block->kept)
    status = llrt_error(LLRT_INVALID_ARGUMENT, "the memory was given back before");
  else status = keep(block, stream);
  pthread_mutex_unlock(&pool->mutex);
  return status;
}

void llrt_block_pool_trim(block_pool *pool, llrt_device *device, size_t keep_bytes) {
  pthread_mutex_lock(&pool->mutex);
  give_back_kept(pool, device, keep_bytes);
  pthread_mutex_unlock(&pool->mutex);
}

void llrt_block_pool_drop_device(block_pool *pool, llrt_device *device) {
  pthread_mutex_lock(&pool->mutex);
  for (pool_block *block = pool->first; block; block = block->next)
    block->kept |= block->device == device;
  give_back_kept(pool, device, 0);
  pthread_mutex_unlock(&pool->mutex);
}
