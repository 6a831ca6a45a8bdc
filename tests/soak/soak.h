/* What the soak's two files share: a thread's state, and the calls that it makes. */
#ifndef LLRT_TESTS_SOAK_H
#define LLRT_TESTS_SOAK_H

#include <llrt/llrt.h>

#include <stdbool.h>
#include <stdint.h>

enum { SOAK_SIDE = 96, SOAK_ELEMENTS = SOAK_SIDE * SOAK_SIDE };

typedef struct soak_thread {
  const char *device_name;
  llrt_context *context;
  llrt_device *device;
  uint32_t seed;
  int64_t calls, wrong;
  int32_t in[SOAK_ELEMENTS], out[2 * SOAK_ELEMENTS]; /* an i64 takes two */
} soak_thread;

/* One random call or a few that belong together, with its results compared in full. False where a
 * result is wrong or something is refused, which is told. */
bool soak_call(soak_thread *at);

/* A context that keeps few kernels, and the device in it. */
llrt_status soak_open(const char *device_name, llrt_context **context, llrt_device **device);

#endif
