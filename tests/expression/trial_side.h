/* A tensor of a trial as it lies in memory. */
#ifndef LLRT_TESTS_EXPRESSION_TRIAL_SIDE_H
#define LLRT_TESTS_EXPRESSION_TRIAL_SIDE_H

#include "benchmarks/compute_reference.h"
#include "tests/expression/compute_trial.h"

/* One bound tensor: elements as numbers in row-major order, and memory in its storage. */
typedef struct trial_side {
  llrt_tensor tensor;
  llrt_storage storage;
  llrt_storage_binding binding;
  llrt_index index;
  int64_t pool[LLRT_MAX_RANK]; /* the shape of what is in memory */
  int64_t *value;              /* of the index */
  int64_t n_values;            /* with what lies between them */
  bool pointers;               /* values are addresses: of a slice of so many elements for each */
  int64_t positions, slice;
  void *device_value;
  int counted; /* axis of the tensor that is counted; -1: none */
  double *number;
  unsigned char *host;    /* the storage's bytes, with guards */
  unsigned char *written; /* outputs: whether a byte is one of an element's */
  void *device;
  size_t bytes;
  int64_t count;
} trial_side;

#define TRIAL_GUARD 64
#define TRIAL_UNTOUCHED 0xA5

/* The shape that tensor i has in the call. */
void trial_fill_shape(const trial *t, const reference *r, int i, llrt_tensor *tensor);
/* The tensor whose memory tensor i has: of an output in place the input. */
int trial_place_of_tensor(const trial *t, const reference *r, int i);

#endif
