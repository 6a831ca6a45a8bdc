/* What steps and values are to the turns of a run (rolled.h). */
#ifndef LLRT_JIT_PLAN_ROLLED_STEPS_H
#define LLRT_JIT_PLAN_ROLLED_STEPS_H

#include "jit/plan/rolled/rolled.h"

/* ---- a run's lists ---- */

bool rolled_list_has(const int *list, int n, int x);
/* Puts x behind a list of *n, which may have `most`, if it is not in it; false: there is no room.
 */
bool rolled_list_add(int *list, int *n, int most, int x);
/* Whether a step of the run's turns makes the value. */
bool rolled_is_made(const plan_kernel *kernel, const rolled_run *run, int value);

/* ---- values ---- */

/* The highest `bits` register columns of a value, as bits of the kernel's tile; false: it has not
 * so many. */
bool rolled_part(const plan_kernel *kernel, int value, int bits, uint64_t *column);

/* Whether a value has the run's columns as its highest ones, or none of them. */
typedef enum rolled_standing_kind {
  ROLLED_WHOLE,
  ROLLED_SINGLE,
  ROLLED_OTHER
} rolled_standing_kind;
rolled_standing_kind rolled_standing(const plan_kernel *kernel, const rolled_run *run, int value);

/* Words of a thread. */
int rolled_words(const plan_kernel *kernel, int value);

/* ---- steps ---- */

typedef struct rolled_operands {
  int n, value[4];
} rolled_operands;
rolled_operands rolled_operands_of(const plan_step *step);
bool rolled_uses(const plan_step *step, int value);
bool rolled_makes(const plan_step *step, int value);
/* The last step before `end` that makes the value; -1: none. */
int rolled_maker(const plan_kernel *kernel, int value, int end);

/* The value of which a step works on all elements; log2 of how many a thread has. */
int rolled_whole(const plan_step *step);
int rolled_registers(const plan_kernel *kernel, const plan_step *step);

/* Whether an access moves whole vectors wherever the block lies, and as nothing but their address
 * says. */
bool rolled_moves_plainly(const plan_kernel *kernel, const plan_step *step);
/* Whether a step may be made by turns. */
bool rolled_may_turn(const plan_kernel *kernel, const plan_step *step);
/* Whether each access of the step, and each word, has all its elements in one turn. */
bool rolled_keeps_together(const plan_kernel *kernel, const rolled_run *run, const plan_step *step);
/* Whether what a fold joins last are the turns: then its tree is the same by turns. */
bool rolled_joins_turns_last(const plan_kernel *kernel, const rolled_run *run,
                             const plan_step *step);
/* Instructions of an element, about. */
int rolled_weight(const plan_kernel *kernel, const plan_step *step);

/* ---- places in shared memory (rolled_places.h) ---- */

#define ROLLED_ACCESS_WORDS 4

/* Of a value's words in all threads of a block. */
int rolled_bytes(const plan_kernel *kernel, int value);
/* Where places begin: behind what the kernel has beside. */
int rolled_first_byte(const plan_kernel *kernel);
/* Bytes that a block has for them: as many blocks have room on a multiprocessor as have registers.
 */
int rolled_room(const plan_kernel *kernel);
/* Whether a value that turns of a run with 2^bits of them take or leave may wait there, if there is
 * room. */
bool rolled_may_wait(const plan_kernel *kernel, int value, int bits);

#endif
