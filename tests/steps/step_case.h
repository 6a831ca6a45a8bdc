/* A kernel made by hand around one step, the memory that it runs on, and what docs/steps.md says it
 * makes of it. */
#ifndef LLRT_TESTS_STEPS_STEP_CASE_H
#define LLRT_TESTS_STEPS_STEP_CASE_H

#include "jit/plan/kernel/plan.h"

enum { STEP_TENSORS = 4, STEP_DESTINATION = PLAN_DESTINATION };

/* Memory of a tensor: its elements begin `lead` bytes behind a multiple of 256. */
typedef struct step_tensor {
  int bits;
  int64_t elements;
  int lead;
  int64_t range; /* 32- or 64-bit elements are a permutation of 0 .. range - 1 from here and there
                    on, some of them outside of it */
  int64_t counters; /* behind so many elements, which are values, the others are 0 */
  int follow;      /* of values: most follow each other, 2^follow from a multiple of that many on */
  uint8_t numbers; /* llrt_dtype: its elements are small whole numbers, of which sums are exact; 0:
                      bytes are anything */
  uint8_t fuzz;    /* of numbers so many low bits are anything */
} step_tensor;

typedef struct step_case {
  plan_kernel kernel;
  step_tensor tensor[STEP_TENSORS];
  bool near; /* tensor 1 is that of an activation of tensor 0's, f32 or f64: right to 2^-19 of that
              */
  uint64_t seed; /* of the case: it makes the case and its memory's bytes */
  char what[160];
} step_case;

static inline size_t step_bytes(const step_tensor *tensor) {
  return (size_t)((tensor->elements * tensor->bits + 7) / 8);
}

/* ---- step_build.c ---- */

/* xorshift64*: the next number of a seed that is not 0; one below n; true once in n times. */
uint64_t step_random(uint64_t *seed);
int step_below(uint64_t *seed, int n);
bool step_once_in(uint64_t *seed, int n);

/* n columns of an invertible matrix of n bits, the first `fixed` of them 1, 2, 4, …, whose bits no
 * other has; of a permutation where told. */
void step_random_matrix(uint64_t *seed, int n, int fixed, bool permutation, uint64_t *columns);

/* A value of 2^registers x 2^lanes x 2^warps places whose columns that are no zeros are `columns`,
 * registers first. Bit i of zero_lanes, zero_warps: lane or warp bit i holds copies. */
typedef struct step_places {
  int registers, lanes, warps;
  uint64_t zero_lanes, zero_warps;
} step_places;
int step_place_bits(const step_places *places);
plan_value step_value(const step_places *places, const uint64_t *columns, int bits, int word);

/* The same where column order[k] of the value, counted without the zeros, is columns[k], and the
 * others follow. */
plan_value step_value_in_order(const step_places *places, const int *order, int n,
                               const uint64_t *columns, int bits, int word);

/* Registers, lanes and warps of a value of so many bits for a target: `most` registers beside those
 * of a word; copies in lanes and warps, on the host in the last lanes. *word: log2 elements of a
 * whole word. */
void step_random_places(uint64_t *seed, const plan_target *target, int bits, int most,
                        step_places *places, int *word);

/* Begins a kernel for a target: of n tensors, whose addresses are its first arguments. */
void step_begin(step_case *c, const plan_target *target, int n, const step_places *places);
/* One digit of 2^(tile + grid) positions and some more above it, by which every tensor of the case
 * is one element after the other; the first `fixed` tile bits are its first bits. Sets the tensors'
 * sizes. */
void step_make_dense(step_case *c, uint64_t *seed, int tile, int fixed);
int step_add_value(step_case *c, const plan_value *value);
plan_step *step_add(step_case *c, plan_step step);
/* Sets what follows from the rest: threads, shared memory, in which the barriers of producers lie
 * behind all buffers. */
void step_finish(step_case *c);

/* ---- step_reference.c ---- */

/* What the kernel makes of its tensors' memory, by docs/steps.md: `memory` is changed; bits of
 * `open` are set for what is not defined. False where the kernel does what no kernel may; message
 * says what. */
bool step_reference(const step_case *c, unsigned char *const memory[STEP_TENSORS],
                    unsigned char *const open[STEP_TENSORS], char message[160]);

#endif
