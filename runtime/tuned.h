/* Choices that were measured, as an operation and the disk keep them: for one shape each, on one
 * device. Who makes them: tune.c. */
#ifndef LLRT_RUNTIME_TUNED_H
#define LLRT_RUNTIME_TUNED_H

#include "runtime/disk_entry.h"
#include "runtime/prepared.h"

#define TUNED_TEXT 256

/* One choice. Never changed once others see it; freed with its operation. */
typedef struct tuned_choice {
  struct tuned_choice *next;    /* made before this one */
  int64_t shape[LLRT_MAX_RANK]; /* of the operation's first tensor, the shape it is for */
  double predicted_us, measured_us, planned_us; /* llrt_tune_candidate's */
  char text[TUNED_TEXT];                        /* plan_choice_print's */
  llrt_op *op; /* of one variant, whose range is the shape alone; NULL: what is planned is best */
} tuned_choice;

/* The latest choice for the shape of `first`, or NULL. */
const tuned_choice *llrt_tuned_find(const llrt_op *op, const llrt_tensor *first);

/* What runs on tensors whose first one is like `first`: the choice's kernels, else op itself. */
static inline const llrt_op *llrt_tuned_for(const llrt_op *op, const llrt_tensor *first) {
  if (!atomic_load_explicit(&op->tuned, memory_order_acquire)) return op;
  const tuned_choice *choice = llrt_tuned_find(op, first);
  return choice && choice->op ? choice->op : op;
}

/* Puts a choice (malloc'ed, its op held) before those that are there; the operation's from now on.
 */
void llrt_tuned_add(llrt_op *op, tuned_choice *choice);
void llrt_tuned_release(tuned_choice *first);

/* Looks for choices on the disk: the first time that it is called for the operation, or `again`.
 * Kernels are loaded. What cannot be used is told and left out. Precondition: op->build is held. */
void llrt_tuned_look(llrt_op *op, bool again);

/* Writes the operation's choices over what the disk has of them. Precondition: the lock of
 * llrt_tuned_lock is held, and what the disk had has been looked for under it. */
void llrt_tuned_store(llrt_op *op);

/* The lock that one who tunes the operation on this device holds; -1: there is none to hold. */
int llrt_tuned_lock(const llrt_op *op, int milliseconds);

/* ---- tuned_bytes.c ---- */

/* Whether an entry of the disk cache holds choices, not kernels alone; why it is none, or NULL, and
 * how many choices it has. */
bool llrt_tuned_is_entry(const disk_entry *entry);
const char *llrt_tuned_check(const disk_entry *entry, int *n);

/* All choices of op->tuned, the latest for each shape, as an entry's content. */
llrt_status llrt_tuned_write(const llrt_op *op, llrt_text *out);

/* Reads an entry's content: choices with operations that have code and nothing loaded, in *first.
 * Why it is not for this operation on this device, or NULL. */
const char *llrt_tuned_read(const llrt_op *op, const disk_entry *entry, tuned_choice **first);

#endif
