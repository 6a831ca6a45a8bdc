/* Jobs on a device's stream: copies to pinned memory, a call of the host that moves the messages,
 * copies back. They may be captured. */
#include "tests/nccl_standin/standin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAPTURE_RELAXED 2

typedef struct driver {
  int (*copy_out)(void *to, unsigned long long from, size_t bytes, void *stream);
  int (*copy_in)(unsigned long long to, const void *from, size_t bytes, void *stream);
  int (*copy)(void *to, const void *from, size_t bytes, int kind, void *stream); /* hip */
  int (*call)(void *stream, void (*run)(void *), void *user);
  int (*pinned)(void **memory, size_t bytes);
  int (*pinned_hip)(void **memory, size_t bytes, unsigned flags);
  int (*capture_mode)(int *mode);
} driver;

static bool is(const char *name) { return strcmp(STANDIN_DRIVER, name) == 0; }

static void *find(void *library, const char *name) {
  void *address = library ? dlsym(library, name) : NULL;
  if (!address) abort();
  return address;
}

static const char anchor[] = "here";

/* The emulator beside this library, where the process has loaded it. */
static void *find_emulator(const char *name) {
  Dl_info own;
  char path[1024];
  const char *end = dladdr(anchor, &own) ? strrchr(own.dli_fname, '/') : NULL;
  if (!end) return NULL;
  snprintf(path, sizeof path, "%.*s/%s", (int)(end - own.dli_fname), own.dli_fname, name);
  return dlopen(path, RTLD_NOW | RTLD_NOLOAD);
}

/* The emulator's, or the real one. */
static driver open_driver(void) {
  driver d = {NULL};
  bool hip = is("hip");
  void *library = find_emulator(hip ? "libllrt-emu-hip.so" : "libllrt-emu-cuda.so");
  if (!library) library = dlopen(hip ? "libamdhip64.so" : "libcuda.so.1", RTLD_NOW);
  if (hip) {
    *(void **)&d.copy = find(library, "hipMemcpyAsync");
    *(void **)&d.call = find(library, "hipLaunchHostFunc");
    *(void **)&d.pinned_hip = find(library, "hipHostMalloc");
    *(void **)&d.capture_mode = find(library, "hipThreadExchangeStreamCaptureMode");
    return d;
  }
  *(void **)&d.copy_out = find(library, "cuMemcpyDtoHAsync_v2");
  *(void **)&d.copy_in = find(library, "cuMemcpyHtoDAsync_v2");
  *(void **)&d.call = find(library, "cuLaunchHostFunc");
  *(void **)&d.pinned = find(library, "cuMemAllocHost_v2");
  *(void **)&d.capture_mode = find(library, "cuThreadExchangeStreamCaptureMode");
  return d;
}

char *standin_stage(size_t bytes) {
  void *memory = NULL;
  if (is("host")) return NULL;
  driver d = open_driver();
  int mode = CAPTURE_RELAXED;
  d.capture_mode(&mode);
  int failed = d.pinned ? d.pinned(&memory, bytes + 1) : d.pinned_hip(&memory, bytes + 1, 0);
  d.capture_mode(&mode);
  return failed ? NULL : memory;
}

static bool copy(const driver *d, const standin_op *op, void *stream) {
  enum { TO_DEVICE = 1, FROM_DEVICE = 2 };
  unsigned long long device = (uintptr_t)op->memory;
  if (op->bytes == 0) return true;
  if (d->copy)
    return 0 == (op->sends ? d->copy(op->stage, op->memory, op->bytes, FROM_DEVICE, stream)
                           : d->copy(op->memory, op->stage, op->bytes, TO_DEVICE, stream));
  return 0 == (op->sends ? d->copy_out(op->stage, device, op->bytes, stream)
                         : d->copy_in(device, op->stage, op->bytes, stream));
}

bool standin_queue(standin_job *job, void (*run)(void *), void *stream) {
  if (is("host")) {
    run(job);
    return true;
  }
  driver d = open_driver();
  bool queued = true;
  for (int i = 0; i < job->n; i++)
    if (job->op[i].sends) queued &= copy(&d, &job->op[i], stream);
  queued &= d.call(stream, run, job) == 0;
  for (int i = 0; i < job->n; i++)
    if (!job->op[i].sends) queued &= copy(&d, &job->op[i], stream);
  return queued;
}
