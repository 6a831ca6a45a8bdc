/* Measured choice: the few best plans of an operation, timed on the device at hand.
 *
 * Planners choose by a model and by numbers that were measured on one GPU. Tuning compiles what
 * else they would make of the operation, on the context's threads, times it as single launches out
 * of cold caches, checks the results of what may win against the planned one's bit by bit, times
 * the best by turns, and keeps the fastest for the shape it was timed at. What is kept goes to the
 * context's cache on disk (cache.h), under the device's full name, its driver and this build, and
 * serves there whoever prepares the operation or calls it by one line. A choice never changes what
 * a result is: docs/measured-choice.md. */
#ifndef LLRT_TUNE_H
#define LLRT_TUNE_H

#include <llrt/op.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum llrt_tune {
  LLRT_TUNE_OFF = 0,  /* what is kept already serves; nothing is measured */
  LLRT_TUNE_SAME = 1, /* among candidates that give the same bits */
  LLRT_TUNE_ANY_ORDER =
      2 /* also among those that join numbers in another order: the operation is another one then,
           which one-line calls and LLRT_TUNE_OFF do not find. Each run of it gives the same bits */
} llrt_tune;

typedef enum llrt_tune_state {
  LLRT_TUNE_PLANNED = 0, /* the planner's own */
  LLRT_TUNE_TIMED = 1,   /* its results are right, or it is too slow to win and was not checked */
  LLRT_TUNE_OTHER_BITS = 2, /* its results are others: it is not taken */
  LLRT_TUNE_FAILED = 3,     /* it could not be compiled, loaded or run: `why` */
  LLRT_TUNE_CHOSEN = 4,     /* the last that is told: what runs from now on */
  LLRT_TUNE_KEPT = 5        /* it alone is told: it was chosen before, and nothing was measured */
} llrt_tune_state;

/* A candidate, as it is told. All is the library's, for the time of the call. */
typedef struct llrt_tune_candidate {
  size_t size;         /* of this struct, as the library knows it */
  const char *choice;  /* "planned", or what is other than the planner's: "panels=1,variant=3" */
  const char *why;     /* FAILED; else "" */
  double predicted_us; /* by the planner's model, on the scale of the planned one's measured time;
                          0: it predicts nothing */
  double measured_us;  /* median; 0: not timed. CHOSEN: of the rounds that decided */
  double planned_us;   /* CHOSEN, KEPT: of the planned one in the same rounds; else 0 */
  int32_t state;       /* llrt_tune_state */
  int32_t reserved;
} llrt_tune_candidate;

/* NULL and all-zero: as llrt_op_prepare. */
typedef struct llrt_prepare_params {
  size_t size;
  int32_t tune;   /* llrt_tune */
  int32_t retune; /* 1: although a choice is kept for this shape */
  int32_t most;   /* candidates that are compiled, at most; 0: 48 */
  int32_t lazy;   /* 1: of an operation that is not tuned: nothing is compiled here but when a run
                     first wants it, which must not be on a capturing stream (NOT_PREPARED);
                     0: all kernels that the promises allow are compiled and loaded here */
  double seconds; /* that tuning may take, about; 0: 60 */
  void *user;
  void (*on_candidate)(void *user, const llrt_tune_candidate *candidate); /* NULL: nobody is told.
                                               On this thread; it must not call into the context */
} llrt_prepare_params;

/* llrt_op_prepare, and then tuning. The description's tensors are complete but for memory: shape,
 * strides, indices with their values. Tuning allocates memory of its own for them and what its
 * results are compared in, and twice the device's cache; tensors' own memory is neither read nor
 * written. It waits for the default stream, once in a while. One operation of a context is tuned at
 * a time. What goes wrong in tuning (memory, a candidate that fails) is told by on_candidate and in
 * the log, and leaves the operation as llrt_op_prepare makes it: an operation is returned all the
 * same. Ownership, thread: as llrt_op_prepare. Errors: as llrt_op_prepare; INVALID_ARGUMENT for
 * params or tensors that are none; UNSUPPORTED where tensors lie at addresses of an index's or have
 * extents in device memory, which tuning cannot make up. */
LLRT_API llrt_status llrt_op_prepare_with(llrt_device *device, const llrt_op_desc *desc,
                                          const llrt_prepare_params *params, llrt_op **op);

/* Which kernels a run of the operation on these tensors takes, and why, in a line of text:
 * "planned: variant 1" (as llrt explain counts, from 0), "tuned on NVIDIA H200: panels=1,
 * measured 10.2 us, predicted 9.8, planned 11.9". buffer, size and length as llrt_layout_print.
 * Thread: any. Errors: as llrt_op_run for the tensors; INVALID_ARGUMENT where size is too small
 * (*length is then what is needed). */
LLRT_API llrt_status llrt_op_choice_print(const llrt_op *op, const llrt_tensor *tensors, int n,
                                          char *buffer, size_t size, size_t *length);

#ifdef __cplusplus
}
#endif
#endif
