/* One call's way to its operation: what choose.c and choose_shape.c share. */
#ifndef LLRT_RUNTIME_CHOICE_H
#define LLRT_RUNTIME_CHOICE_H

#include "runtime/cache.h"
#include "runtime/prepared.h"

typedef struct choice {
  llrt_device *device;
  kernel_cache *cache;
  op_description *desc; /* with the promises of the call's class */
  storage_set *set;
  const op_call *call;
  llrt_hash key; /* of the class */
} choice;

/* Operations are borrowed here: while `choosing` is held, the cache keeps what it has. */

/* Keeps `own`, which was made of the description, or the one that is kept of it already. Errors:
 * OUT_OF_MEMORY. */
llrt_status llrt_choice_keep(const choice *c, llrt_op *own, const op_description *desc,
                             llrt_op **op);

/* Of an operation that was planned and is not kept: the next process need not plan it. */
void llrt_choice_reject(llrt_op *own);

/* Clocks that the call takes on its device by the variant for its shape, as the cost model sees it:
 * the start of a launch, and what blocks move, also where they reach beyond the ends of axes. -1:
 * the operation is not planned, or has no variant for it. */
double llrt_choice_clocks(const choice *c, const llrt_op *op);

/* Whether a kernel with the call's small extents compiled in may be worth asking for beside `op`,
 * which would serve else (NULL: nothing is there). */
bool llrt_choice_may_gain(const choice *c, const llrt_op *op);

/* An operation with those extents compiled in that make the call faster, and any others, where that
 * is worth a kernel beside `other` (NULL: beside one for all extents, which is planned for that):
 * for the first shape of a description 0.95 of the time, for 15 more 0.8. *op = NULL: it is
 * not. c->desc: with open extents. Errors: OUT_OF_MEMORY. */
llrt_status llrt_choice_of_shape(const choice *c, llrt_op *other, llrt_op **op);

/* The same of what the disk has code of; nothing is planned. */
llrt_status llrt_choice_of_stored_shape(const choice *c, llrt_op **op);

#endif
