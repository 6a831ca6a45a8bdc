#include "runtime/context.h"
#include "runtime/policy.h"

#include "base/pool.h"
#include "base/status.h"

#include <llrt/llrt.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_OF(x) #x
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *llrt_version(void) {
  return VERSION_TEXT(LLRT_VERSION_MAJOR, LLRT_VERSION_MINOR, LLRT_VERSION_PATCH);
}

static llrt_status check_params(const llrt_context_params *params) {
  LLRT_REQUIRE(params->threads >= 0, "threads is %d", params->threads);
  LLRT_REQUIRE(!params->allocator.allocate == !params->allocator.release,
               "the allocator needs both allocate and release, or neither");
  return LLRT_OK;
}

llrt_status llrt_context_create(const llrt_context_params *params, llrt_context **out) {
  LLRT_REQUIRE(out, "context is NULL");
  *out = NULL;
  static const llrt_context_params defaults;
  if (!params) params = &defaults;
  LLRT_TRY(check_params(params));
  llrt_context *context = calloc(1, sizeof *context);
  if (!context) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a context");
  llrt_status status = llrt_jit_library_init(params->jit_library, &context->jit);
  if (status != LLRT_OK) {
    free(context);
    return status;
  }
  context->allocator = params->allocator;
  context->log_user = params->log_user;
  context->log = params->log;
  context->parallel =
      (llrt_parallel){params->threads, params->parallel_user, params->parallel_for};
  context->no_compile = params->no_compile != 0;
  pthread_mutex_init(&context->behind.mutex, NULL);
  pthread_cond_init(&context->behind.changed, NULL);
  llrt_cache_init(&context->cache);
  llrt_workspace_keeper_init(&context->workspaces);
  pthread_mutex_init(&context->devices_mutex, NULL);
  llrt_pool_retain();
  *out = context;
  return LLRT_OK;
}

llrt_status llrt_context_set_options(llrt_context *context, const llrt_context_options *options) {
  LLRT_REQUIRE(context, "context is NULL");
  LLRT_REQUIRE(options, "options is NULL");
  LLRT_REQUIRE(options->size == sizeof *options, "options has size %zu, not %zu", options->size, sizeof *options);
  LLRT_TRY(llrt_context_set_compile(context, options->compile));
  context->fix_extents = options->fix_extents != 0;
  context->compile_user = options->compile_user;
  context->on_compile = options->on_compile;
  return LLRT_OK;
}

void llrt_context_destroy(llrt_context **address) {
  if (!address || !*address) return;
  llrt_context *context = *address;
  *address = NULL;
  llrt_compile_behind_end(context, NULL);
  llrt_cache_fini(&context->cache);
  llrt_jit_library_fini(&context->jit);
  llrt_workspace_keeper_fini(&context->workspaces);
  pthread_cond_destroy(&context->behind.changed);
  pthread_mutex_destroy(&context->behind.mutex);
  pthread_mutex_destroy(&context->devices_mutex);
  free(context);
  llrt_pool_release();
}

void llrt_context_log(llrt_context *context, const char *format, ...) {
  if (!context->log) return;
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  context->log(context->log_user, line);
}

static bool orders_memory(const llrt_device *device) {
  return device->backend->orders_memory && device->backend->orders_memory(device);
}

/* From the driver. Where it cannot allocate in stream order, a release waits for the device, as cuMemFree does. */
static llrt_status allocate(llrt_device *device, size_t bytes, void *stream, void **memory) {
  const llrt_backend *backend = device->backend;
  if (orders_memory(device)) return backend->allocate_on(device, bytes, stream, memory);
  backend_stream state;
  LLRT_TRY(backend->stream_state(device, stream, &state));
  if (!state.capturing) return backend->allocate(device, bytes, memory);
  return llrt_error(LLRT_NOT_PREPARED, "%zu bytes would have to be allocated while the stream captures, which the driver of %s "
                    "cannot: give the context an allocator, or prepare and run with workspace", bytes, device->info.name);
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
  if (!allocator->allocate)
    return orders_memory(device) ? backend->release_on(device, memory, stream) : backend->release(device, memory);
  allocator->release(allocator->user, device, memory, stream);
  return LLRT_OK;
}

/* The first trim waits for the work that uses what is kept; the second for the releases, so that the driver may give the
 * memory back. */
static llrt_status trim_device(llrt_context *context, llrt_device *device, size_t keep_bytes) {
  const llrt_backend *backend = device->backend;
  if (backend->trim) LLRT_TRY(backend->trim(device, SIZE_MAX));
  llrt_workspace_drop_device(&context->workspaces, device);
  return backend->trim ? backend->trim(device, keep_bytes) : LLRT_OK;
}

llrt_status llrt_context_trim(llrt_context *context, size_t keep_bytes) {
  LLRT_REQUIRE(context, "context is NULL");
  llrt_status status = LLRT_OK;
  pthread_mutex_lock(&context->devices_mutex);
  for (open_device *open = context->devices; open && status == LLRT_OK; open = open->next)
    status = trim_device(context, open->device, keep_bytes);
  pthread_mutex_unlock(&context->devices_mutex);
  return status;
}

llrt_status llrt_context_get_cache_stats(llrt_context *context, llrt_cache_stats *stats) {
  LLRT_REQUIRE(stats, "stats is NULL");
  *stats = (llrt_cache_stats){0};
  LLRT_REQUIRE(context, "context is NULL");
  llrt_cache_count(&context->cache, &stats->kernels, &stats->hits);
  stats->compiles = atomic_load_explicit(&context->compiles, memory_order_relaxed);
  return LLRT_OK;
}
