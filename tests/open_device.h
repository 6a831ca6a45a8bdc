/* A context of this build's compiler library and a device in it, for tests that run on every device
 * of the build. A device is a name that llrt_device_open takes, or "host@x86-64-v3": the host as a
 * processor of that level has it. */
#ifndef LLRT_TESTS_OPEN_DEVICE_H
#define LLRT_TESTS_OPEN_DEVICE_H

#include "backends/host/host_device.h"

#include <llrt/llrt.h>

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct opened_device {
  llrt_context *context;
  llrt_device *device;
} opened_device;

/* Every build with tests has the host and the emulated devices: one that cannot be opened fails the
 * test. */
static inline opened_device open_device(const char *name) {
  const llrt_context_params params = {.jit_library = LLRT_TEST_JIT_LIBRARY};
  opened_device opened;
  cr_assert_eq(llrt_context_create(&params, &opened.context), LLRT_OK, "%s", llrt_last_error());
  char device[32];
  const char *level = strchr(name, '@');
  const llrt_device_params with = {.target = level ? level + 1 : NULL};
  snprintf(device, sizeof device, "%.*s", (int)strcspn(name, "@"), name);
  cr_assert_eq(llrt_device_open(opened.context, device, &with, &opened.device), LLRT_OK, "%s: %s",
               name, llrt_last_error());
  return opened;
}

static inline bool is_host(const char *name) { return strncmp(name, "host", 4) == 0; }

/* Below the processor's own level every third case says enough; `number` is a case's. */
static inline bool host_leaves_out(const char *name, int number) {
  const char *level = strstr(name, "@x86-64-v");
  return level && number % 3 != level[strlen("@x86-64-v")] % 3;
}

/* On the host as it is, and as processors of the levels below would have it. */
static inline void on_host_levels(void (*run)(const char *device)) {
  static const char *const levels[] = {"host@x86-64-v4", "host@x86-64-v3", "host@x86-64-v2"};
  plan_target own;
  cr_assert_eq(llrt_host_target(&own), LLRT_OK, "%s", llrt_last_error());
  run("host");
  for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
    const char *target = strchr(levels[i], '@') + 1;
    if (llrt_host_runs(target) && strcmp(target, own.name) != 0) run(levels[i]);
  }
}

static inline void close_device(opened_device *opened) {
  llrt_device_close(&opened->device);
  llrt_context_destroy(&opened->context);
}

#endif
