/* A kernel that is being interpreted, for the files that carry its steps out (interpret.c: the
 * whole). */
#ifndef LLRT_JIT_INTERPRET_INTERPRET_H
#define LLRT_JIT_INTERPRET_INTERPRET_H

#include "jit/plan/facts/eval.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

#include "base/bits.h"

#include <string.h>

/* What PLAN_COLLECT collects: which elements of its reach were stored, from `first` on. */
typedef struct interpreter_collection {
  const plan_step *step; /* NULL: nothing is collected */
  int64_t first;
  unsigned char *stored;
} interpreter_collection;

typedef struct interpreter interpreter;
struct interpreter {
  const plan_kernel *kernel;
  const llrt_tensor *tensors;
  const llrt_storage_binding *bindings;
  uint64_t args[PLAN_MAX_ARGS];
  int64_t block;
  uint64_t grid;
  int64_t upper[PLAN_MAX_DIGITS];
  uint64_t iteration;
  uint64_t *value[PLAN_MAX_VALUES]; /* elements by (register, lane, warp), register fastest */
  uint64_t *tile[PLAN_MAX_VALUES];  /* their tile coordinates in iteration 0 */
  int64_t *place;                   /* of a tile coordinate, scratch of run_exchange */
  uint64_t *shared;                 /* elements of every buffer by offset in 4 bits */
  size_t shared_size;               /* of one block */
  int staged;                       /* phase in which a panel of values was, 0: none */
  int *written, *read, phase; /* phase of the last write and read, counted by barriers from 1 */
  int *reader;                /* the only thread that read it in that phase; 0: several have */
  int *copier;                /* the thread that copied it, counted from 1; 0: none did */
  int *far;                   /* phase of the last read by another block of the cluster */
  int met;                    /* the phase that a barrier of all blocks of the cluster began */
  int *group, groups; /* that a copy belongs to that is under way, from 1; 0: none. Groups so far */
  int *reading, products,
      multiplied;   /* the last group of products that reads, 0: none; groups so far, groups done */
  int64_t released; /* turns whose slots producers may have again */
  int pending[PLAN_MAX_VALUES]; /* the group that makes a value; past `multiplied`: it is under way
                                 */
  int64_t turn, begin, end;     /* of the block's share of a walk; turn -1 outside */
  interpreter_collection collection;
  uint64_t *cells; /* plan_deal: of every block, elements as those of a value */
  int64_t dealt;   /* the number of the block that does `piece` */
  plan_piece piece;
  /* What interpret_steps does: steps own bodies of steps. Set by interpret.c, which knows all
   * kinds.
   */
  llrt_status (*run_steps)(interpreter *in, int first, int n);
};

/* Elements of a value, in all places of the block. */
static inline int64_t interpreter_size(const plan_kernel *kernel, int i) {
  return (int64_t)1 << (plan_value_bits(&kernel->value[i], PLAN_REGISTER) + kernel->lane_bits +
                        kernel->warp_bits);
}

/* The tile coordinate of place `at` in this iteration. */
static inline uint64_t interpreter_tile(const interpreter *in, int value, int64_t at) {
  if (in->iteration == 0) return in->tile[value][at];
  const uint64_t *columns = plan_value_columns(&in->kernel->value[value], PLAN_ITERATION);
  return in->tile[value][at] ^ f2_apply(columns, in->iteration);
}

/* The same in the kernel's tile, which has bits that the value may be reduced along. */
static inline uint64_t interpreter_kernel_tile(const interpreter *in, int value, int64_t at) {
  return plan_tile_bits_of(&in->kernel->value[value], interpreter_tile(in, value, at));
}

/* The first of the places that hold the same element as `at`: copies are zero columns. */
static inline int64_t interpreter_first_place(const interpreter *in, int value, int64_t at) {
  const llrt_layout *layout = &in->kernel->value[value].layout;
  for (int i = 0; i < llrt_layout_in_bits(layout); i++)
    if (layout->column[i] == 0) at &= ~((int64_t)1 << i);
  return at;
}

/* Value `to` takes the elements of `from`, under way or not; of equal size. */
static inline void interpreter_copy(interpreter *in, int from, int to) {
  in->pending[to] = in->pending[from];
  memcpy(in->value[to], in->value[from],
         (size_t)interpreter_size(in->kernel, to) * sizeof(uint64_t));
}

/* Carries out n steps from `first` on, with their bodies. */
static inline llrt_status interpret_steps(interpreter *in, int first, int n) {
  return in->run_steps(in, first, n);
}

/* The digits' positions of tile coordinate `tile`; false where the step's mask leaves them out. */
bool interpreter_position(const interpreter *in, const plan_step *step, uint64_t tile,
                          int64_t position[PLAN_MAX_DIGITS]);

/* The element of the step's tensor at tile coordinate `tile`; unchanged where the step's mask or an
 * index leaves it out. INTERNAL: outside the tensor. */
llrt_status interpreter_load(const interpreter *in, const plan_step *step, uint64_t tile,
                             uint64_t *element);

/* Where the turn's slot of a buffer begins in `shared`. */
uint64_t interpreter_slot(const interpreter *in, const plan_buffer *buffer);

/* Each carries out a step of its name (plan.h). */
llrt_status interpret_stage(interpreter *in);
llrt_status interpret_global(interpreter *in, const plan_step *step, int value, bool load);
llrt_status interpret_collect(interpreter *in, int at);
llrt_status interpret_shared(interpreter *in, const plan_step *step, int value, bool load);
llrt_status interpret_copy(interpreter *in, const plan_step *step);
llrt_status interpret_send(interpreter *in, const plan_step *step);
void interpret_await(interpreter *in, const plan_step *step);
llrt_status interpret_exchange(interpreter *in, const plan_step *step, bool across_lanes);
llrt_status interpret_gather(interpreter *in, const plan_step *step);
llrt_status interpret_map(interpreter *in, const plan_step *step);
void interpret_fill(interpreter *in, const plan_step *step);
void interpret_combine(interpreter *in, const plan_step *step);
llrt_status interpret_fold(interpreter *in, const plan_step *step, bool across_lanes);
void interpret_spread(interpreter *in, const plan_step *step);
void interpret_apply(interpreter *in, const plan_step *step);
void interpret_position(interpreter *in, const plan_step *step, bool add);
llrt_status interpret_dot(interpreter *in, const plan_step *step);
void interpret_multiplied(interpreter *in, const plan_step *step);
llrt_status interpret_produce(interpreter *in, int at);
void interpret_filled(interpreter *in);
void interpret_landed(interpreter *in);
llrt_status interpret_release(interpreter *in, const plan_step *step);

#endif
