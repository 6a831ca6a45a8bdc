/* An expression run on a device and compared with the reference, element by element. */
#ifndef LLRT_TESTS_COMPUTE_TRIAL_H
#define LLRT_TESTS_COMPUTE_TRIAL_H

#include "benchmarks/compute_reference.h"
#include "tests/expression/trial_ways.h"

#include <llrt/llrt.h>

/* An index of a tensor: its values are drawn, for outputs each position once, some out of range.
 */
typedef struct trial_index {
  int positions; /* of the axis in memory; 0: there is no index */
  int axis;      /* of the tensor; values differ along it */
  int by; /* 1 + another axis along which values differ and which the tensor lacks; 0: none */
  int out_of_range;
} trial_index;

typedef struct trial_tensor {
  llrt_dtype type;     /* NONE: f32 */
  const char *storage; /* NULL: row-major */
  trial_index index;
  bool unit; /* drawn from (0, 1) */
} trial_tensor;

/* What few tensors have. */
typedef struct trial_rare {
  bool strided;  /* instead of a storage: axes in a drawn order, with gaps; strides of the run */
  bool wide;     /* any number that the type has, integers of at most 32 bits */
  bool pointers; /* the index's values are addresses; of elements of whole bytes */
  llrt_dtype index_dtype; /* NONE: i64 */
  int index_gap;          /* between two of the index's values, in memory */
} trial_rare;

typedef struct trial {
  const char *text;
  llrt_device *device;
  int64_t extent[EXPR_MAX_AXES]; /* of named axes, where the text has none */
  int64_t leading[2];            /* of "..." */
  int n_leading;
  trial_tensor tensor[LLRT_EXPR_MAX_TENSORS];
  trial_rare rare[LLRT_EXPR_MAX_TENSORS];
  double scalar[LLRT_EXPR_MAX_SCALARS];
  trial_way way;
  uint64_t seed;
  bool special; /* some elements are 0, infinite, NaN; whole rows of 0 */
  int in_place; /* 1 + an input that the first output overwrites; 0: none */
  bool beside;  /* rows of tensors whose first axis is as long, in rows, lie in one buffer */
  int offset;   /* elements by which memory is off its alignment */
  int counted;  /* 1 + a named axis whose extent is in device memory; 0: none */
  int count;    /* and how many of its positions count */
  /* fills the n values of each index, for outputs no position twice; NULL: they are drawn */
  void (*fill)(int64_t *value, int64_t n, int64_t positions);
} trial;

/* NULL where every element is as it should be; else what is wrong, static text. */
const char *trial_run(const trial *t);

/* Whether the last trial was refused as UNSUPPORTED, which trial_run tells as something wrong. */
bool trial_refused(void);

/* Reads examples/expressions/NAME.llrt, or NAME.llrt of the folder that LLRT_TEST_EXPRESSIONS
 * names. */
void trial_read_text(const char *name, char *text, size_t size);

/* The device, opened once in this process; NULL: it is not there. */
llrt_device *trial_device(const char *name);

#endif
