/* Small PTX programs over 32 lanes, for tests of the emulator. */
#ifndef LLRT_TESTS_PTX_FIXTURE_H
#define LLRT_TESTS_PTX_FIXTURE_H

#include "emulators/ptx/ptx.h"

/* A kernel of one block around `body`. Registers: %p0-15 predicates, %h0-31 16 bits, %r0-63 32
 * bits, %d0-31 64 bits, %f and %g like %r and %d; shared memory `tile`. Each thread finds its own
 * operands in a = %d1 %r1 %h1 %p1, b = ...2, c = ...3, its lane in %r8, its thread in %r9, and
 * leaves its result in %d0. %d30, %d31: its places in the input and output. */
typedef struct ptx_program {
  const char *body;
  const char *version; /* of the PTX ISA; NULL: 8.4 */
  const char *target;  /* NULL: sm_90a */
  const char *first;   /* what stands before the operands are loaded; NULL: nothing */
  int threads;         /* 0: 32 */
  int shared_bytes;    /* of `tile`; 0: 4096 */
  int cluster; /* so many blocks, which are one cluster; 0: 1. All have the same places; the output
                  has as many more for each */
  const ptx_tensor_map *map; /* parameter `map`, but for the address: that of the input */
  bool programmatic;         /* launched while the grid before it ends */
  bool beside; /* behind a grid that may still run, and has written `front_wrote` bytes of input */
  int front_wrote;
  bool apart; /* lanes that a branch parted stay so until they are synchronised */
} ptx_program;

typedef struct ptx_result {
  bool done;
  uint64_t out[1024]; /* by thread */
  emu_counters counters;
  emu_fault fault;
  bool touches_output; /* it was noted that the first thread has written its place */
} ptx_result;

/* in: three operands of each thread; NULL: (lane, 0, 0). Output words never written are a fault. */
void ptx_program_run(const ptx_program *program, const uint64_t (*in)[3], ptx_result *result);

#endif
