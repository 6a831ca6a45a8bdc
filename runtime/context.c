#include "runtime/context.h"

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
  llrt_cache_init(&context->cache);
  pthread_mutex_init(&context->devices_mutex, NULL);
  *out = context;
  return LLRT_OK;
}

void llrt_context_destroy(llrt_context **address) {
  if (!address || !*address) return;
  llrt_context *context = *address;
  *address = NULL;
  llrt_cache_fini(&context->cache);
  llrt_jit_library_fini(&context->jit);
  pthread_mutex_destroy(&context->devices_mutex);
  free(context);
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

llrt_status llrt_context_allocate(llrt_device *device, size_t bytes, void *stream, void **memory) {
  const llrt_allocator *allocator = &device->context->allocator;
  if (!allocator->allocate) return device->backend->allocate(device, bytes, memory);
  *memory = allocator->allocate(allocator->user, device, bytes, stream);
  if (*memory) return LLRT_OK;
  return llrt_error(LLRT_OUT_OF_MEMORY, "the context's allocator has no %zu bytes on %s", bytes,
                    device->info.name);
}

llrt_status llrt_context_release(llrt_device *device, void *memory, void *stream) {
  const llrt_allocator *allocator = &device->context->allocator;
  if (!allocator->allocate) return device->backend->release(device, memory);
  allocator->release(allocator->user, device, memory, stream);
  return LLRT_OK;
}

llrt_status llrt_context_get_cache_stats(llrt_context *context, llrt_cache_stats *stats) {
  LLRT_REQUIRE(stats, "stats is NULL");
  *stats = (llrt_cache_stats){0};
  LLRT_REQUIRE(context, "context is NULL");
  llrt_cache_count(&context->cache, &stats->kernels, &stats->hits);
  stats->compiles = atomic_load_explicit(&context->compiles, memory_order_relaxed);
  return LLRT_OK;
}
