/* Devices: names, opening and closing, memory. Validate, then one call of the backend. */
#include "base/memory.h"
#include "base/params.h"
#include "base/status.h"
#include "runtime/context.h"
#include "runtime/policy.h"
#include "runtime/emulator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

/* "cuda:3" or "cuda" -> backend and ordinal. */
static llrt_status parse_name(const char *name, const llrt_backend **backend, int *ordinal) {
  for (int i = 0; i < llrt_backend_count; i++) {
    size_t length = strlen(llrt_backends[i]->name);
    if (strncmp(name, llrt_backends[i]->name, length) != 0) continue;
    const char *rest = name + length;
    *backend = llrt_backends[i];
    *ordinal = 0;
    if (*rest == 0) return LLRT_OK;
    if (*rest++ != ':' || *rest == 0) break;
    for (; *rest >= '0' && *rest <= '9' && *ordinal < 100000; rest++) {
      *ordinal = *ordinal * 10 + (*rest - '0');
    }
    if (*rest == 0) return LLRT_OK;
    break;
  }
  return llrt_error(LLRT_INVALID_ARGUMENT,
                    "there is no device named \"%.40s\": host, cuda:N or hip:N", name);
}

/* ---- open devices of a context ---- */

static bool same_text(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : a == b; }

static open_device *find_open(llrt_context *context, const llrt_backend *backend, int ordinal,
                              const llrt_device_params *params) {
  for (open_device *open = context->devices; open; open = open->next) {
    if (open->device->backend == backend && open->ordinal == ordinal &&
        open->driver_context == params->driver_context &&
        same_text(open->driver_library, params->driver_library) &&
        same_text(open->target, params->target)) {
      return open;
    }
  }
  return NULL;
}

static void free_open(open_device *open) {
  if (open->device) open->device->backend->close(open->device);
  free(open->driver_library);
  free(open->target);
  free(open);
}

static bool copy_text(const char *text, char **copy) {
  *copy = text ? memory_text(text) : NULL;
  return !text || *copy;
}

static llrt_status open_new(llrt_context *context, const llrt_backend *backend, int ordinal,
                            const llrt_device_params *params, open_device **out) {
  open_device *open = memory_zeroed(1, sizeof *open);
  if (!open) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a device");
  open->ordinal = ordinal;
  open->driver_context = params->driver_context;
  if (!copy_text(params->driver_library, &open->driver_library) ||
      !copy_text(params->target, &open->target)) {
    free_open(open);
    return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a device");
  }
  backend_open_params backend_params = {.driver_context = params->driver_context,
                                        .driver_library = params->driver_library,
                                        .target = params->target,
                                        .parallel = &context->parallel};
  llrt_status status = backend->open(ordinal, &backend_params, &open->device);
  if (status != LLRT_OK) {
    free_open(open);
    return status;
  }
  open->device->context = context;
  const llrt_device_info *info = &open->device->info;
  llrt_log(&context->log, LLRT_LOG_INFO,
           "device name=%s target=%s units=%d memory=%zu l2=%zu description=\"%s\"", info->name,
           info->target, info->compute_units, info->memory_bytes, info->l2_bytes,
           info->description);
  open->next = context->devices;
  context->devices = open;
  *out = open;
  return LLRT_OK;
}

llrt_status llrt_device_open(llrt_context *context, const char *name,
                             const llrt_device_params *params, llrt_device **device) {
  LLRT_ENTRY();
  LLRT_REQUIRE(device, "device is NULL");
  *device = NULL;
  LLRT_REQUIRE(context, "context is NULL");
  LLRT_REQUIRE(name, "name is NULL");
  llrt_device_params own;
  LLRT_TRY(LLRT_PARAMS_READ(llrt_device_params, params, &own));
#ifdef LLRT_EMULATORS
  if (llrt_emulator_is_name(name)) return llrt_emulator_open(context, name, &own, device);
#endif
  const llrt_backend *backend;
  int ordinal;
  LLRT_TRY(parse_name(name, &backend, &ordinal));
  llrt_status status = LLRT_OK;
  pthread_mutex_lock(&context->devices_mutex);
  open_device *open = find_open(context, backend, ordinal, &own);
  if (!open) status = open_new(context, backend, ordinal, &own, &open);
  if (status == LLRT_OK) {
    open->references++;
    *device = open->device;
  }
  pthread_mutex_unlock(&context->devices_mutex);
  return status;
}

void llrt_device_close(llrt_device **address) {
  if (!address || !*address) return;
  llrt_device *device = *address;
  *address = NULL;
  llrt_context *context = device->context;
  pthread_mutex_lock(&context->devices_mutex);
  open_device **link = &context->devices;
  while ((*link)->device != device) link = &(*link)->next;
  open_device *open = *link;
  if (--open->references == 0) {
    llrt_compile_behind_end(context, device);
    llrt_context_note_memory(context);
    llrt_cache_drop_device(&context->cache, device);
    llrt_workspace_drop_device(&context->workspaces, device);
    llrt_block_pool_drop_device(&context->blocks, device);
    *link = open->next;
    free_open(open);
  }
  pthread_mutex_unlock(&context->devices_mutex);
}

llrt_status llrt_device_get_info(const llrt_device *device, llrt_device_info *info) {
  LLRT_ENTRY();
  static const llrt_device_info none;
  LLRT_REQUIRE(info, "info is NULL");
  LLRT_TRY(LLRT_PARAMS_WRITE(llrt_device_info, info, device ? &device->info : &none));
  LLRT_REQUIRE(device, "device is NULL");
  return LLRT_OK;
}

llrt_status llrt_device_enumerate(llrt_context *context, void *user,
                                  void (*visit)(void *user, const char *name, const char *why)) {
  LLRT_ENTRY();
  LLRT_REQUIRE(context, "context is NULL");
  LLRT_REQUIRE(visit, "visit is NULL");
  for (int i = 0; i < llrt_backend_count; i++) {
    int count = 0;
    if (llrt_backends[i]->count(NULL, &count) != LLRT_OK) continue;
    for (int ordinal = 0; ordinal < count; ordinal++) {
      char name[32];
      snprintf(name, sizeof name, "%s:%d", llrt_backends[i]->name, ordinal);
      if (llrt_backends[i] == &llrt_backend_host) snprintf(name, sizeof name, "host");
      llrt_device *device;
      bool usable = llrt_device_open(context, name, NULL, &device) == LLRT_OK;
      visit(user, name, usable ? NULL : llrt_error_text());
      llrt_device_close(&device);
    }
  }
  return LLRT_OK;
}

/* ---- memory and streams ---- */

llrt_status llrt_validate_stream(const llrt_device *device, const void *stream) {
  LLRT_REQUIRE(!stream || device->backend != &llrt_backend_host,
               "the host has no streams: stream must be NULL");
  return LLRT_OK;
}

llrt_status llrt_memory_allocate(llrt_device *device, size_t bytes, void **memory) {
  LLRT_ENTRY();
  LLRT_REQUIRE(memory, "memory is NULL");
  *memory = NULL;
  LLRT_REQUIRE(device, "device is NULL");
  LLRT_REQUIRE(bytes > 0, "bytes is 0");
  return device->backend->allocate(device, bytes, memory);
}

llrt_status llrt_memory_free(llrt_device *device, void *memory) {
  LLRT_ENTRY();
  LLRT_REQUIRE(device, "device is NULL");
  return memory ? device->backend->release(device, memory) : LLRT_OK;
}

llrt_status llrt_memory_copy(llrt_device *device, void *destination, const void *source,
                             size_t bytes, llrt_copy_kind kind, void *stream) {
  LLRT_ENTRY();
  LLRT_REQUIRE(device, "device is NULL");
  LLRT_REQUIRE(kind >= LLRT_COPY_TO_DEVICE && kind <= LLRT_COPY_ON_DEVICE,
               "there is no copy kind %d", (int)kind);
  LLRT_TRY(llrt_validate_stream(device, stream));
  if (bytes == 0) return LLRT_OK;
  LLRT_REQUIRE(destination, "destination is NULL");
  LLRT_REQUIRE(source, "source is NULL");
  return device->backend->copy(device, destination, source, bytes, kind, stream);
}

llrt_status llrt_memory_set(llrt_device *device, void *memory, int value, size_t bytes,
                            void *stream) {
  LLRT_ENTRY();
  LLRT_REQUIRE(device, "device is NULL");
  LLRT_TRY(llrt_validate_stream(device, stream));
  if (bytes == 0) return LLRT_OK;
  LLRT_REQUIRE(memory, "memory is NULL");
  return device->backend->set(device, memory, value, bytes, stream);
}

llrt_status llrt_memory_pin(llrt_device *device, void *memory, size_t bytes) {
  LLRT_ENTRY();
  LLRT_REQUIRE(device, "device is NULL");
  LLRT_REQUIRE(memory, "memory is NULL");
  LLRT_REQUIRE(bytes > 0, "bytes is 0");
  return device->backend->pin ? device->backend->pin(device, memory, bytes) : LLRT_OK;
}

llrt_status llrt_memory_unpin(llrt_device *device, void *memory) {
  LLRT_ENTRY();
  LLRT_REQUIRE(device, "device is NULL");
  return memory && device->backend->unpin ? device->backend->unpin(device, memory) : LLRT_OK;
}

llrt_status llrt_stream_synchronize(llrt_device *device, void *stream) {
  LLRT_ENTRY();
  LLRT_REQUIRE(device, "device is NULL");
  LLRT_TRY(llrt_validate_stream(device, stream));
  return device->backend->synchronize(device, stream);
}

llrt_status llrt_stream_is_capturing(llrt_device *device, void *stream, int32_t *capturing) {
  LLRT_ENTRY();
  LLRT_REQUIRE(capturing, "capturing is NULL");
  *capturing = 0;
  LLRT_REQUIRE(device, "device is NULL");
  backend_stream state;
  LLRT_TRY(llrt_validate_stream(device, stream));
  LLRT_TRY(device->backend->stream_state(device, stream, &state));
  *capturing = state.capturing;
  return LLRT_OK;
}
