/* Loading and running host kernels: an ELF shared object, copied into the device's arena. What
 * cannot be loaded so, or where written memory cannot be run, becomes an anonymous file that the
 * dynamic loader opens; that needs /proc. */
#include "backends/host/host_device.h"
#include "backends/host/host_image.h"

#include "base/float_mode.h"
#include "base/memory.h"
#include "base/status.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Bytes of work that pay for waking one more thread: some microseconds of copying. */
#define GRAIN_BYTES (64 << 10)

struct backend_module {
  arena_pages pages;
  int file; /* stays open: the loader knows objects by path, so /proc/self/fd/N must not recur */
  void *object;
  backend_host_entry *entry;
};

static llrt_status write_all(int file, const char *bytes, size_t size) {
  while (size > 0) {
    ssize_t written = write(file, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      return llrt_error_vendor(LLRT_DEVICE, errno, "cannot write %zu bytes of code to memory: %s",
                               size, strerror(errno));
    }
    bytes += written;
    size -= (size_t)written;
  }
  return LLRT_OK;
}

static llrt_status open_file(backend_module *module, const void *code, size_t size,
                             const char *entry) {
  module->file = memory_file("llrt-kernel");
  if (module->file < 0) {
    return llrt_error_vendor(LLRT_DEVICE, errno, "memfd_create: %s", strerror(errno));
  }
  LLRT_TRY(write_all(module->file, code, size));
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", module->file);
  module->object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!module->object) return llrt_error(LLRT_DEVICE, "cannot load host code: %s", dlerror());
  void *address = dlsym(module->object, entry);
  if (!address) return llrt_error(LLRT_DEVICE, "host code has no entry %s", entry);
  memcpy(&module->entry, &address, sizeof address); /* POSIX: both pointers look alike */
  return LLRT_OK;
}

static llrt_status place(host_arena *arena, backend_module *module, const backend_code *code) {
  host_image image;
  void *address;
  LLRT_TRY(llrt_host_image_read(code->data, code->size, &image));
  LLRT_TRY(llrt_host_arena_take(arena, image.span, &module->pages));
  LLRT_TRY(llrt_host_image_place(&image, module->pages.memory, code->entry, &address));
  LLRT_TRY(llrt_host_arena_seal(&module->pages));
  memcpy(&module->entry, &address, sizeof address);
  return LLRT_OK;
}

static llrt_status module_open(host_arena *arena, backend_module *module,
                               const backend_code *code) {
  llrt_status status = place(arena, module, code);
  if (status != LLRT_UNSUPPORTED) return status;
  llrt_host_arena_give(arena, &module->pages);
  return open_file(module, code->data, code->size, code->entry);
}

void llrt_host_unload(llrt_device *base, backend_module *module) {
  llrt_host_arena_give(&((host_device *)base)->arena, &module->pages);
  if (module->object) dlclose(module->object);
  if (module->file >= 0) close(module->file);
  free(module);
}

llrt_status llrt_host_load(llrt_device *base, const backend_code *code, backend_module **out) {
  *out = NULL;
  backend_module *module = memory_zeroed(1, sizeof *module);
  if (!module) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a loaded kernel");
  module->file = -1;
  llrt_status status = module_open(&((host_device *)base)->arena, module, code);
  if (status != LLRT_OK) {
    llrt_host_unload(base, module);
    return status;
  }
  *out = module;
  return LLRT_OK;
}

typedef struct host_run {
  backend_host_entry *entry;
  const uint64_t *args;
} host_run;

/* Whoever's thread it is, the caller's own included. */
static void run_blocks(void *data, int64_t begin, int64_t end) {
  const host_run *run = data;
  llrt_float_mode threads_own = llrt_float_mode_enter();
  run->entry(run->args, begin, end);
  llrt_float_mode_leave(threads_own);
}

llrt_status llrt_host_launch(llrt_device *base, const backend_module *module,
                             const backend_launch *launch, void *stream) {
  assert(stream == NULL);
  (void)stream;
  const host_device *device = (const host_device *)base;
  int block_bytes = launch->block_bytes > 0 ? launch->block_bytes : base->target.tile_bytes;
  int64_t grain = block_bytes > 0 && block_bytes < GRAIN_BYTES ? GRAIN_BYTES / block_bytes : 1;
  host_run run = {module->entry, launch->args};
  llrt_parallel_run(device->parallel, launch->blocks, grain, run_blocks, &run);
  return LLRT_OK;
}
