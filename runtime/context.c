#include "runtime/context.h"
#include "runtime/policy.h"

#include "base/memory.h"
#include "base/params.h"
#include "base/pool.h"
#include "base/status.h"

#include <llrt/llrt.h>

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY_BYTES ((uint64_t)256 << 20) /* of kernels, unless params say otherwise */
#define WORTH_GIVING_BACK ((uint64_t)16 << 20)

#define TEXT_OF(x) #x
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *llrt_version(void) {
  return VERSION_TEXT(LLRT_VERSION_MAJOR, LLRT_VERSION_MINOR, LLRT_VERSION_PATCH);
}

static llrt_status check_level(llrt_log_level level) {
  LLRT_REQUIRE((int)level >= LLRT_LOG_DEFAULT && level <= LLRT_LOG_VERBOSE,
               "there is no log level %d", (int)level);
  return LLRT_OK;
}

static llrt_status check_params(const llrt_context_params *params) {
  LLRT_REQUIRE(params->threads >= 0, "threads is %d, not 0 or more", params->threads);
  LLRT_REQUIRE(!params->allocator.allocate == !params->allocator.release,
               "the allocator needs both allocate and release, or neither");
  LLRT_REQUIRE(llrt_params_are_zero(params->allocator.reserved, sizeof params->allocator.reserved),
               "a reserved field of the allocator is not 0");
  return check_level(params->log_level);
}

/* What is only kept; all of it is checked. */
static void take_params(const llrt_context_params *params, llrt_context *context) {
  context->allocator = params->allocator;
  llrt_log_init(&context->log, params->log, params->log_user, params->log_level);
  context->parallel = (llrt_parallel){params->threads, params->parallel_user, params->parallel_for};
  context->fix_extents = params->fix_extents != 0;
  context->compile_user = params->compile_user;
  context->on_compile = params->on_compile;
}

static uint64_t most_bytes(const llrt_cache_params *params) {
  if (params->memory_bytes == UINT64_MAX) return 0;
  return params->memory_bytes ? params->memory_bytes : MEMORY_BYTES;
}

llrt_status llrt_context_create(const llrt_context_params *given, llrt_context **out) {
  LLRT_ENTRY();
  LLRT_REQUIRE(out, "context is NULL");
  *out = NULL;
  llrt_context_params own, *params = &own;
  LLRT_TRY(LLRT_PARAMS_READ(llrt_context_params, given, params));
  LLRT_TRY(check_params(params));
  llrt_cache_params cache_params;
  LLRT_TRY(LLRT_PARAMS_READ(llrt_cache_params, params->cache, &cache_params));
  llrt_context *context = memory_zeroed(1, sizeof *context);
  if (!context) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a context");
  llrt_status status = llrt_context_set_compile(context, params->compile);
  if (status == LLRT_OK) status = llrt_jit_library_init(params->jit_library, &context->jit);
  if (status != LLRT_OK) {
    free(context);
    return status;
  }
  take_params(params, context);
  status = llrt_disk_cache_init(&cache_params, &context->log, &context->disk);
  if (status != LLRT_OK) {
    llrt_log_fini(&context->log);
    llrt_jit_library_fini(&context->jit);
    free(context);
    return status;
  }
  pthread_mutex_init(&context->behind.mutex, NULL);
  pthread_mutex_init(&context->tuning, NULL);
  pthread_cond_init(&context->behind.changed, NULL);
  llrt_cache_init(&context->cache);
  context->cache.most_kernels = params->most_kernels;
  context->cache.most_bytes = most_bytes(&cache_params);
  context->cache.limited = params->most_kernels > 0 || (cache_params.memory_bytes > 0 &&
                                                        cache_params.memory_bytes < UINT64_MAX);
  llrt_workspace_keeper_init(&context->workspaces);
  llrt_block_pool_init(&context->blocks);
  pthread_mutex_init(&context->devices_mutex, NULL);
  llrt_pool_retain();
  llrt_log(&context->log, LLRT_LOG_INFO, "context llrt=%s threads=%d compile=%d", llrt_version(),
           params->threads, params->compile != LLRT_COMPILE_FORBIDDEN);
  *out = context;
  return LLRT_OK;
}

llrt_status llrt_context_set_log_level(llrt_context *context, llrt_log_level level) {
  LLRT_ENTRY();
  LLRT_REQUIRE(context, "context is NULL");
  LLRT_TRY(check_level(level));
  llrt_log_set_level(&context->log, level);
  return LLRT_OK;
}

/* glibc keeps what is freed behind memory that is in use. */
static void return_memory(void) {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

void llrt_context_note_memory(llrt_context *context) {
  cache_count count = llrt_cache_count(&context->cache);
  if (count.bytes > WORTH_GIVING_BACK || count.unloaded > 0) context->held_much = true;
}

void llrt_context_destroy(llrt_context **address) {
  if (!address || !*address) return;
  llrt_context *context = *address;
  *address = NULL;
  llrt_compile_behind_end(context, NULL);
  llrt_context_note_memory(context);
  bool held_much = context->held_much;
  llrt_cache_fini(&context->cache);
  llrt_disk_cache_fini(&context->disk);
  llrt_jit_library_fini(&context->jit);
  llrt_workspace_keeper_fini(&context->workspaces);
  llrt_block_pool_fini(&context->blocks);
  llrt_log_fini(&context->log);
  pthread_cond_destroy(&context->behind.changed);
  pthread_mutex_destroy(&context->behind.mutex);
  pthread_mutex_destroy(&context->tuning);
  pthread_mutex_destroy(&context->devices_mutex);
  free(context);
  llrt_pool_release();
  if (held_much) return_memory();
}

static bool orders_memory(const llrt_device *device) {
  return device->backend->orders_memory && device->backend->orders_memory(device);
}

static bool has_streams(const llrt_device *device) { return device->backend->event_wait != NULL; }

static llrt_status allocate(llrt_device *device, size_t bytes, void *stream, void **memory) {
  const llrt_backend *backend = device->backend;
  if (orders_memory(device)) return backend->allocate_on(device, bytes, stream, memory);
  if (!has_streams(device)) return backend->allocate(device, bytes, memory);
  backend_stream state;
  LLRT_TRY(backend->stream_state(device, stream, &state));
  if (!state.capturing)
    return llrt_block_pool_allocate(&device->context->blocks, device, bytes, stream, memory);
  return llrt_error(
      LLRT_NOT_PREPARED,
      "%zu bytes would have to be allocated while the stream captures, which the driver of %s "
      "cannot: give the context an allocator, or prepare and run with workspace",
      bytes, device->info.name);
}

llrt_status llrt_context_allocate(llrt_device *device, size_t bytes, void *stream, void **memory) {
  const llrt_allocator *allocator = &device->context->allocator;
  if (!allocator->allocate) return allocate(device, bytes, stream, memory);
  *memory = allocator->allocate(allocator->user, device, bytes, stream);
  if (*memory) return LLRT_OK;
  return llrt_error(LLRT_OUT_OF_MEMORY, "the context's allocator has no %zu bytes on %s", bytes,
                    device->info.name);
}

llrt_status llrt_context_release(llrt_device *device, void *memory, void *stream) {
  const llrt_allocator *allocator = &device->context->allocator;
  const llrt_backend *backend = device->backend;
  if (allocator->allocate) {
    allocator->release(allocator->user, device, memory, stream);
    return LLRT_OK;
  }
  if (orders_memory(device)) return backend->release_on(device, memory, stream);
  if (!has_streams(device)) return backend->release(device, memory);
  return llrt_block_pool_release(&device->context->blocks, device, memory, stream);
}

/* The first trim waits for the work that uses what is kept; the second for the releases, so that
 * the driver may give the memory back. */
static llrt_status trim_device(llrt_context *context, llrt_device *device, size_t keep_bytes) {
  const llrt_backend *backend = device->backend;
  if (backend->trim) LLRT_TRY(backend->trim(device, SIZE_MAX));
  llrt_workspace_drop_device(&context->workspaces, device);
  llrt_block_pool_trim(&context->blocks, device, keep_bytes);
  return backend->trim ? backend->trim(device, keep_bytes) : LLRT_OK;
}

llrt_status llrt_context_trim(llrt_context *context, size_t keep_bytes) {
  LLRT_ENTRY();
  LLRT_REQUIRE(context, "context is NULL");
  llrt_status status = LLRT_OK;
  pthread_mutex_lock(&context->devices_mutex);
  for (open_device *open = context->devices; open && status == LLRT_OK; open = open->next)
    status = trim_device(context, open->device, keep_bytes);
  pthread_mutex_unlock(&context->devices_mutex);
  return_memory();
  return status;
}

llrt_status llrt_context_get_cache_stats(llrt_context *context, llrt_cache_stats *stats) {
  LLRT_ENTRY();
  LLRT_REQUIRE(stats, "stats is NULL");
  llrt_cache_stats counted = {0};
  if (context) {
    cache_count count = llrt_cache_count(&context->cache);
    counted.kernels = count.kernels;
    counted.hits = count.hits;
    counted.compiles = atomic_load_explicit(&context->compiles, memory_order_relaxed);
  }
  LLRT_TRY(LLRT_PARAMS_WRITE(llrt_cache_stats, stats, &counted));
  LLRT_REQUIRE(context, "context is NULL");
  return LLRT_OK;
}

static uint64_t number(const atomic_uint_fast64_t *counter) {
  return atomic_load_explicit(counter, memory_order_relaxed);
}

llrt_status llrt_context_get_stats(llrt_context *context, llrt_context_stats *stats) {
  LLRT_ENTRY();
  LLRT_REQUIRE(stats, "stats is NULL");
  llrt_context_stats counted = {0};
  if (context) {
    cache_count count = llrt_cache_count(&context->cache);
    const disk_cache *disk = &context->disk;
    counted = (llrt_context_stats){.kernels = count.kernels,
                                   .bytes = count.bytes,
                                   .compiles = number(&context->compiles),
                                   .lookups = count.lookups,
                                   .hits = count.hits,
                                   .unloaded = count.unloaded,
                                   .disk_hits = number(&disk->hits),
                                   .disk_misses = number(&disk->misses),
                                   .disk_written = number(&disk->written),
                                   .disk_ignored = number(&disk->rejected),
                                   .disk_removed = number(&disk->removed)};
  }
  LLRT_TRY(LLRT_PARAMS_WRITE(llrt_context_stats, stats, &counted));
  LLRT_REQUIRE(context, "context is NULL");
  return LLRT_OK;
}
