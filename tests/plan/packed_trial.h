/* Dots with packed weights that tests plan and run: a table of them, their tensors, and what is
 * right. All numbers are such that sums are exact in any order. */
#ifndef LLRT_TESTS_PLAN_PACKED_TRIAL_H
#define LLRT_TESTS_PLAN_PACKED_TRIAL_H

#include "runtime/described.h"

#include <llrt/llrt.h>

#include <stdbool.h>
#include <stdint.h>

#define BYTES 2

typedef struct packed_problem {
  int64_t m, n, k;
  llrt_dtype a, d;
  bool known;        /* extents are promised */
  uint8_t low, high; /* of scales, and promised where low > 0 */
  llrt_dtype b, scale;
  int group;
  llrt_dtype zero;
  uint8_t words; /* true: of permuted bits; BYTES, too: in the order of instructions of 8 bits */
  int gap;       /* elements of A between rows */
} packed_problem;

#define MXFP4(low, high) low, high, LLRT_E2M1, LLRT_E8M0, 32, NONE
#define MXFP8(type) 124, 127, LLRT_##type, LLRT_E8M0, 32, NONE
#define NVFP4 4, 8, LLRT_E2M1, LLRT_E4M3, 16, NONE
#define NONE LLRT_DTYPE_NONE

#define PACKED_PROBLEMS 85
extern const packed_problem packed_problems[PACKED_PROBLEMS];

typedef struct packed_trial {
  const packed_problem *of;
  llrt_storage values, scales, zeros, rows;
  llrt_storage_binding value_binding, scale_binding, zero_binding;
  llrt_tensor a, b, d, scale, zero;
  described_dot call;
  uint64_t seed;
} packed_trial;

/* Tensors of a problem with their numbers; packed_trial_drop frees them. */
void packed_trial_make(packed_trial *t, const packed_problem *p);
void packed_trial_drop(packed_trial *t);
/* What stands on W, and what is promised of it. */
llrt_dot_scaling packed_trial_scaling(const packed_trial *t);
/* Fills t->call, with promises as the problem says. */
void packed_trial_describe(packed_trial *t);
/* The words of W as they are packed, and back. */
void packed_trial_permute(packed_trial *t, bool back);
/* Compares D with sums by coordinates; W's words are in order. where: who multiplied. */
void packed_trial_check(const packed_trial *t, const char *where);

/* Runs with tensors on a device, whose memory holds copies of them meanwhile; D is copied back.
 * Words are in order before and behind. */
void packed_trial_run_on(llrt_device *device, packed_trial *t, llrt_status (*run)(packed_trial *t));

/* Zeroed memory for an operand, aligned to 256 bytes and with room behind; the caller frees it. */
void *packed_zeros(int64_t bytes);
/* Sets an element of 4 bits that was 0. */
void packed_put_nibble(uint8_t *data, int64_t at, unsigned code);

#endif
