/* The host as a device: aligned memory, plain copies, a clock for events. */
#include "backends/host/host_device.h"

#include "base/memory.h"
#include "base/status.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define HOST_MHZ \
  3000 /* about what processors run at while all cores are busy; for predictions in the log alone \
        */
#define MEMORY_ALIGNMENT 256        /* promised by llrt_memory_allocate */
#define HUGE_PAGE ((size_t)2 << 20) /* x86-64, and AArch64 with pages of 4 KiB */
#define HUGE_MIN_BYTES (2 * HUGE_PAGE)

struct backend_event {
  struct timespec time;
};

static llrt_status host_count(const char *library, int *count) {
  (void)library;
  *count = 1;
  return LLRT_OK;
}

/* The processor's name as the kernel tells it; "host processor" where it does not. */
static void describe_processor(char *text, size_t size) {
  snprintf(text, size, "host processor");
  FILE *file = fopen("/proc/cpuinfo", "r");
  if (!file) return;
  char line[256];
  while (fgets(line, sizeof line, file)) {
    const char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || !colon) continue;
    line[strcspn(line, "\n")] = 0;
    snprintf(text, size, "%.95s", colon + 1 + strspn(colon + 1, " "));
    break;
  }
  fclose(file);
}

static size_t system_bytes(int name, size_t unit) {
  long value = sysconf(name);
  return value > 0 ? (size_t)value * unit : 0;
}

static llrt_status choose_target(const char *name, plan_target *target) {
  if (!name) return llrt_host_target(target);
  LLRT_TRY(plan_target_find(name, target));
  if (!llrt_host_runs(name)) {
    return llrt_error(LLRT_UNSUPPORTED, "this processor cannot run code for %s", name);
  }
  return LLRT_OK;
}

static llrt_status host_open(int ordinal, const backend_open_params *params, llrt_device **out) {
  *out = NULL;
  if (ordinal != 0) return llrt_error(LLRT_UNAVAILABLE, "there is one host device, host:0");
  plan_target target;
  LLRT_TRY(choose_target(params->target, &target));
  host_device *device = memory_zeroed(1, sizeof *device);
  if (!device) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a device");
  device->base.backend = &llrt_backend_host;
  device->base.target = target;
  device->parallel = params->parallel;
  llrt_host_arena_init(&device->arena);
  llrt_device_info *info = &device->base.info;
  snprintf(info->name, sizeof info->name, "host");
  snprintf(info->target, sizeof info->target, "%s", target.name);
  describe_processor(info->description, sizeof info->description);
  device->base.clock_mhz = HOST_MHZ;
  info->compute_units = llrt_parallel_threads(params->parallel);
  info->memory_bytes = system_bytes(_SC_PHYS_PAGES, (size_t)sysconf(_SC_PAGESIZE));
#ifdef _SC_LEVEL2_CACHE_SIZE
  info->l2_bytes = system_bytes(_SC_LEVEL2_CACHE_SIZE, 1);
#endif
  *out = &device->base;
  return LLRT_OK;
}

static void host_close(llrt_device *base) {
  llrt_host_arena_fini(&((host_device *)base)->arena);
  free(base);
}

/* Large memory in huge pages, where the system has them for the asking: a block of a conversion
 * touches a few hundred rows, each in a page of its own. */
static void *allocate_aligned(size_t bytes) {
  size_t alignment = bytes >= HUGE_MIN_BYTES ? HUGE_PAGE : MEMORY_ALIGNMENT;
  size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void *memory = memory_aligned(alignment, rounded);
#ifdef MADV_HUGEPAGE
  if (memory && bytes >= HUGE_MIN_BYTES) (void)madvise(memory, rounded, MADV_HUGEPAGE);
#endif
  return memory;
}

static llrt_status host_allocate(llrt_device *base, size_t bytes, void **memory) {
  (void)base;
  *memory = bytes <= SIZE_MAX - HUGE_PAGE ? allocate_aligned(bytes) : NULL;
  if (!*memory) return llrt_error(LLRT_OUT_OF_MEMORY, "no host memory for %zu bytes", bytes);
  return LLRT_OK;
}

static llrt_status host_release(llrt_device *base, void *memory) {
  (void)base;
  free(memory);
  return LLRT_OK;
}

static llrt_status host_copy(llrt_device *base, void *destination, const void *source, size_t bytes,
                             llrt_copy_kind kind, void *stream) {
  (void)base, (void)kind, (void)stream;
  memcpy(destination, source, bytes);
  return LLRT_OK;
}

static llrt_status host_set(llrt_device *base, void *memory, int value, size_t bytes,
                            void *stream) {
  (void)base, (void)stream;
  memset(memory, value, bytes);
  return LLRT_OK;
}

static llrt_status host_synchronize(llrt_device *base, void *stream) {
  (void)base, (void)stream;
  return LLRT_OK;
}

static llrt_status host_stream_state(llrt_device *base, void *stream, backend_stream *state) {
  (void)base, (void)stream;
  *state = (backend_stream){0};
  return LLRT_OK;
}

static llrt_status host_event_create(llrt_device *base, backend_event **event) {
  (void)base;
  *event = memory_zeroed(1, sizeof **event);
  return *event ? LLRT_OK : llrt_error(LLRT_OUT_OF_MEMORY, "no memory for an event");
}

static void host_event_destroy(llrt_device *base, backend_event *event) {
  (void)base;
  free(event);
}

static llrt_status host_event_record(llrt_device *base, backend_event *event, void *stream) {
  (void)base, (void)stream;
  clock_gettime(CLOCK_MONOTONIC, &event->time);
  return LLRT_OK;
}

static llrt_status host_event_elapsed(llrt_device *base, const backend_event *start,
                                      const backend_event *stop, double *microseconds) {
  (void)base;
  *microseconds = (double)(stop->time.tv_sec - start->time.tv_sec) * 1e6 +
                  (double)(stop->time.tv_nsec - start->time.tv_nsec) * 1e-3;
  return LLRT_OK;
}

const llrt_backend llrt_backend_host = {
    .name = "host",
    .count = host_count,
    .open = host_open,
    .close = host_close,
    .allocate = host_allocate,
    .release = host_release,
    .copy = host_copy,
    .set = host_set,
    .synchronize = host_synchronize,
    .stream_state = host_stream_state,
    .event_create = host_event_create,
    .event_destroy = host_event_destroy,
    .event_record = host_event_record,
    .event_elapsed = host_event_elapsed,
    .link = NULL,
    .load = llrt_host_load,
    .unload = llrt_host_unload,
    .launch = llrt_host_launch,
    .meet_load = llrt_host_meet_load,
    .sharing = &llrt_host_sharing,
    .meet = llrt_host_meet,
};
