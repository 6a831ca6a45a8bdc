/* Strides of digits and axes, and copies of boxes (plan_box): where a tensor is rows at one stride.
 */
#ifndef LLRT_JIT_PLAN_FACTS_BOX_H
#define LLRT_JIT_PLAN_FACTS_BOX_H

#include "jit/plan/kernel/plan.h"

static inline bool plan_is_number(const plan_number *number, int64_t value) {
  return number->arg < 0 && number->value == value;
}

static inline bool plan_same_number(const plan_number *a, const plan_number *b) {
  return a->arg == b->arg && (a->arg >= 0 || a->value == b->value);
}

/* The stride of one position of a digit in a tensor, elements; false: there is no such number. */
bool plan_digit_stride(const plan_kernel *kernel, int tensor, int digit, plan_number *stride);
/* The stride of one position of an axis, which several digits may make up; false: there is no such
 * number. */
bool plan_axis_stride(const plan_kernel *kernel, int tensor, int axis, plan_number *stride);
/* Whether a digit moves the tensor's address. */
bool plan_digit_moves(const plan_kernel *kernel, int tensor, int digit);
/* Whether no digit of an axis other than these, and nothing else, moves the tensor's address. */
bool plan_is_of_axes(const plan_kernel *kernel, int tensor, const int8_t *axis, int rank);

/* Whether a box of these axes keeps within a bound of the tensor. It ends with an axis; within a
 * tile it has the rows that the bound leaves where they take the tile's room, and what follows
 * where only rows of the results are beyond. Where products sum along experts' positions threads
 * copy an expert's last turn (plan_cuts_boxes). */
bool plan_box_keeps(const plan_kernel *kernel, int tensor, const plan_box *box, const int8_t *axis,
                    const plan_bound *bound);

/* Whether a tile may lack rows of a box that nobody reads if they are not there: rows of products
 * that read the slot themselves (plan_box.rest). */
bool plan_box_may_lack(const plan_kernel *kernel, int tensor, const plan_box *box,
                       const int8_t *axis);

/* Bytes from box to box of a slot: rows that are no power of two leave some free. */
int plan_box_pitch(const plan_box *box);
/* Boxes of a slot that have something of the block's: beyond a digit's own bound there is nothing
 * to copy. */
int plan_box_count(const plan_kernel *kernel, const plan_step *step);
/* Bytes of a slot up to the end of what boxes fill. */
int plan_box_end(const plan_kernel *kernel, const plan_step *step);

/* Whether blocks of a cluster fetch boxes for each other. */
bool plan_fetches_together(const plan_kernel *kernel);

/* How many other blocks of a cluster fetch something of what a block has. */
int plan_other_fetchers(const plan_kernel *kernel);

/* Whether the walk is along experts' positions: of an expert's last turn, if it has not all of its
 * positions, producers' threads copy what boxes copy of others. */
bool plan_cuts_boxes(const plan_kernel *kernel);

/* Rounds: whether warps that are no producers ask which position they have only behind its walk,
 * whose products go from slot to slot. */
bool plan_asks_late(const plan_kernel *kernel);

/* Whether producers copy nothing but boxes. */
bool plan_only_boxes(const plan_kernel *kernel);

/* Whether the device stores what is in shared memory (PLAN_SEND). */
bool plan_sends(const plan_kernel *kernel);

/* Whether products read a buffer themselves. */
bool plan_is_multiplied(const plan_kernel *kernel, int buffer);

/* Whether producers' threads tell by themselves that a turn's copies have arrived, which they wait
 * for: where there are no boxes, nor such copies as plan_waits_fence says. */
bool plan_threads_tell(const plan_kernel *kernel);
/* Turns whose copies by threads of producers are under way while the next one's slot is waited for,
 * at least 1: a turn's slot is known to be filled when the copies of so many turns behind it have
 * begun. */
int plan_copies_lag(const plan_kernel *kernel);
/* Whether they copy lines of memory (plan_step.lines): a turn is there when the next one is. */
bool plan_copies_lines(const plan_kernel *kernel);

/* Whether copies of threads tell it that products read, past the threads' own accesses: then those
 * who wait for a turn's slots see to it that products see what they see. Of experts' rows. */
bool plan_waits_fence(const plan_kernel *kernel);

/* The number of the producers' PLAN_LANDED; -1: they only copy. */
int plan_landed_step(const plan_kernel *kernel);

#endif
