/* What the fake vendor libraries let a test see and say. Each exports fake_driver(), which gives
 * the one record of that library. */
#ifndef LLRT_TESTS_FAKE_DRIVER_H
#define LLRT_TESTS_FAKE_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_MAX_ARGS 8

typedef struct fake_record {
  const char *fail; /* name of the function that answers fail_code; NULL: none */
  int fail_code;
  int devices;
  int major, minor;         /* CUDA's compute capability */
  int most_shared;          /* CUDA: bytes that a block may have */
  const char *architecture; /* HIP's gcnArchName */
  int old_properties;       /* HIP: gcnArchName where ROCm 5 has it */
  int capturing;
  int current;          /* CUDA: contexts pushed and not popped; HIP: the current device */
  int retained;         /* CUDA: primary contexts held */
  int modules, events;  /* alive */
  int linked, launched; /* calls that succeeded */
  unsigned blocks, threads, shared_bytes;
  bool early;         /* CUDA: the last launch may start before the one before it ends */
  unsigned cluster;   /* CUDA: of the last launch; 0: it had no such attribute */
  int dynamic_shared; /* what CUDA was asked to allow */
  int n_args; /* how many arguments the next launch reads */
  uint64_t args[FAKE_MAX_ARGS];
  char code[64]; /* the beginning of what was linked or loaded last */
} fake_record;

/* The one exported name besides the vendor's. */
#define FAKE_DRIVER_ENTRY "fake_driver"

#endif
