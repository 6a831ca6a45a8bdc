/* See emulator.h. */
#include "runtime/emulator.h"

#include "base/status.h"
#include "runtime/context.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
  const char *prefix, *library;
  const llrt_backend *backend;
} emulators[] = {{"cuda-emu:", "libllrt-emu-cuda.so", &llrt_backend_cuda},
                 {"hip-emu:", "libllrt-emu-hip.so", &llrt_backend_hip}};
#define N_EMULATORS ((int)(sizeof emulators / sizeof emulators[0]))

static int find_emulator(const char *name) {
  for (int i = 0; i < N_EMULATORS; i++) {
    if (strncmp(name, emulators[i].prefix, strlen(emulators[i].prefix)) == 0) return i;
  }
  return -1;
}

bool llrt_emulator_is_name(const char *name) { return find_emulator(name) >= 0; }

/* The file in the folder of the library (or program) that this is linked into, in ../lib of a
 * program's folder, or else the bare name, for the loader's path. */
static void find_library(const char *file, char *path, size_t size) {
  static const char *const folders[] = {"", "../lib/"};
  Dl_info info;
  if (dladdr(emulators, &info) && info.dli_fname) {
    const char *slash = strrchr(info.dli_fname, '/');
    int folder = slash ? (int)(slash - info.dli_fname) + 1 : 0;
    for (int i = 0; i < 2; i++) {
      int n = snprintf(path, size, "%.*s%s%s", folder, info.dli_fname, folders[i], file);
      if (n > 0 && (size_t)n < size && access(path, R_OK) == 0) return;
    }
  }
  snprintf(path, size, "%s", file);
}

/* The ordinal of the device whose own target is `target`, or "target#N": of those number N from 0.
 */
static llrt_status find_ordinal(llrt_context *context, const llrt_backend *backend,
                                const char *library, const char *target, int *ordinal) {
  size_t length = strcspn(target, "#");
  int before = target[length] ? atoi(target + length + 1) : 0;
  llrt_device_params params = {.driver_library = library};
  int count = 0;
  LLRT_TRY(backend->count(library, &count));
  for (*ordinal = 0; *ordinal < count; ++*ordinal) {
    char name[32];
    llrt_device *device;
    snprintf(name, sizeof name, "%s:%d", backend->name, *ordinal);
    LLRT_TRY(llrt_device_open(context, name, &params, &device));
    const char *own = device->target.name;
    bool found = strlen(own) == length && memcmp(own, target, length) == 0;
    llrt_device_close(&device);
    if (found && before-- == 0) return LLRT_OK;
  }
  return llrt_error(LLRT_INVALID_ARGUMENT, "the emulator has no device with the target %.40s",
                    target);
}

/* Kernels are planned as for the target's reference device: an emulator has few multiprocessors,
 * and a cache of no particular size. */
static void stand_for_reference(llrt_device *device) {
  plan_target reference;
  if (plan_target_find(device->target.name, &reference) != LLRT_OK) return;
  device->target.facts.units = reference.facts.units;
  device->target.facts.l2_bytes = reference.facts.l2_bytes;
}

llrt_status llrt_emulator_open(llrt_context *context, const char *name,
                               const llrt_device_params *params, llrt_device **device) {
  int emulator = find_emulator(name), ordinal;
  const llrt_backend *backend = emulators[emulator].backend;
  const char *target = name + strlen(emulators[emulator].prefix);
  char path[4096], real_name[32];
  llrt_device_params with = *params;
  *device = NULL;
  if (!with.driver_library) {
    find_library(emulators[emulator].library, path, sizeof path);
    with.driver_library = path;
  }
  LLRT_TRY(find_ordinal(context, backend, with.driver_library, target, &ordinal));
  snprintf(real_name, sizeof real_name, "%s:%d", backend->name, ordinal);
  LLRT_TRY(llrt_device_open(context, real_name, &with, device));
  stand_for_reference(*device);
  snprintf((*device)->info.name, sizeof(*device)->info.name, "%.31s", name);
  return LLRT_OK;
}
