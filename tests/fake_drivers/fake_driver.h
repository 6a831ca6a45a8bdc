/* What the fake vendor libraries let a test see and say. Each exports fake_driver(), which gives
 * the one record of that library. */
#ifndef LLRT_TESTS_FAKE_DRIVER_H
#define LLRT_TESTS_FAKE_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FAKE_MAX_ARGS 8
#define FAKE_MAX_BLOCKS 64

typedef struct fake_record {
  const char *fail; /* name of the function that answers fail_code; NULL: none */
  int fail_code;
  int calls, fail_at; /* calls so far; the number, from 1, of one that answers fail_code; 0: none */
  const char *failed; /* the function that it was */
  int devices;
  int major, minor;         /* CUDA's compute capability */
  int most_shared;          /* CUDA: bytes that a block may have */
  const char *architecture; /* HIP's gcnArchName */
  int old_properties;       /* HIP: gcnArchName where ROCm 5 has it */
  int old_addresses;        /* HIP: unknown addresses are an error, as in ROCm 5 */
  int pageable;             /* HIP: kernels read what malloc gave */
  int last_error;           /* HIP: what hipGetLastError tells */
  struct {
    char *begin; /* NULL: none */
    size_t bytes;
  } block[FAKE_MAX_BLOCKS]; /* HIP: memory that is held or registered */
  int capturing;
  int current;            /* CUDA: contexts pushed and not popped; HIP: the current device */
  int retained;           /* CUDA: primary contexts held */
  int modules, events;    /* alive */
  int allocations, links; /* device memory and CUDA's link states, alive */
  int linked, launched;   /* calls that succeeded */
  unsigned blocks, threads, shared_bytes;
  bool early;         /* CUDA: the last launch may start before the one before it ends */
  unsigned cluster;   /* CUDA: of the last launch; 0: it had no such attribute */
  int promotion;      /* CUDA: CUtensorMapL2promotion of the last map */
  int dynamic_shared; /* what CUDA was asked to allow */
  int n_args;         /* how many arguments the next launch reads */
  uint64_t args[FAKE_MAX_ARGS];
  char code[64]; /* the beginning of what was linked or loaded last */
} fake_record;

/* Counts a call; whether it is to fail. */
static inline bool fake_fails(fake_record *record, const char *name) {
  bool now = ++record->calls == record->fail_at;
  if (now) record->failed = name;
  return now || (record->fail && strcmp(record->fail, name) == 0);
}

/* The one exported name besides the vendor's. */
#define FAKE_DRIVER_ENTRY "fake_driver"

#endif
