/* Ways of planning an operation other than the planner's own: what a measured choice chooses among
 * (runtime/tune.h, docs/measured-choice.md). A choice is a few numbers that are other than the
 * target's: tuned ones (tuning.h), sizes of tiles, variants that are wished for; and which of the
 * plan's variants runs. It says nothing that is not planned, checked and emitted like any plan. */
#ifndef LLRT_JIT_PLAN_PLAN_CHOICE_H
#define LLRT_JIT_PLAN_PLAN_CHOICE_H

#include "base/hash.h"
#include "base/text.h"
#include "jit/plan/kernel/plan.h"

#define PLAN_CHOICE_SETS 8

typedef struct plan_choice {
  int32_t n; /* numbers that are other ones; all zero: the planner's own way */
  struct {
    int32_t number; /* in this file's list */
    double value;
  } set[PLAN_CHOICE_SETS];
} plan_choice;

/* A plan made by a choice, and the numbers that its kernels point to. */
typedef struct plan_chosen {
  plan_tuning tuning;
  plan plan;
  int32_t variant; /* the first kernel of the variant that the shape runs; -1: none takes it */
} plan_chosen;

/* "staged_bytes=16384,panels=1,variant=3"; the planner's own way: "planned". */
void plan_choice_print(const plan_choice *choice, llrt_text *out);
/* The other way. False where the text is none. */
bool plan_choice_parse(const char *text, plan_choice *choice);

/* Plans desc as the choice says for runs whose first tensor is like `first`, on a device of so many
 * multiprocessors. Errors: as plan_make; UNSUPPORTED where the variant that is asked for is none
 * that the shape may run. */
llrt_status plan_choose(const op_description *desc, const plan_target *target,
                        const plan_choice *choice, const llrt_tensor *first, int units,
                        plan_chosen *out);

/* The variant that a choice asks for, as explain counts them; -1: none. *numbers: the choice
 * without it. All variants of one choice's numbers are of one plan. */
int plan_choice_variant(const plan_choice *choice, plan_choice *numbers);

/* Makes variant `number` the one that runs, -1: the planner's own, of a plan that is made. Errors:
 * UNSUPPORTED where it is none that the shape may run. */
llrt_status plan_chosen_take(plan_chosen *made, int number, const llrt_tensor *first, int units);

/* The kernels of a plan's variant, and the numbers that they point to: a plan has megabytes, of
 * which few are worth keeping. */
typedef struct plan_kept {
  plan_tuning tuning;
  int32_t n; /* stages */
  plan_kernel stage[];
} plan_kept;

/* Of made->variant. Ownership: free. NULL: there is no memory. */
plan_kept *plan_chosen_keep(const plan_chosen *made);

/* The variant of a plan that a run takes (llrt_op_pick's rule); -1: none. */
int plan_pick(const plan *made, const llrt_tensor *first, int units);

/* What differs from `from` by one number, into to[], at most `most`; returns how many. Of the
 * plan's variants those that take the shape as well. made: the plan of `from`. */
int plan_neighbours(const op_description *desc, const plan_target *target, const plan_choice *from,
                    const plan_chosen *made, const llrt_tensor *first, plan_choice *to, int most);

/* Those of them alone that are other variants of the plan, than made->variant. */
int plan_variants(const plan_choice *from, const plan_chosen *made, const llrt_tensor *first,
                  plan_choice *to, int most);

/* `from` with all variants that may run a shape, whose list is longer: of operations that have more
 * than they choose from. False: it has them already, or there are no more. */
bool plan_widen(const op_description *desc, const plan_choice *from, plan_choice *wide);

/* Equal for variants that do the same, whatever shapes they are for. Errors: OUT_OF_MEMORY. */
llrt_status plan_variant_hash(plan_chosen *made, llrt_hash *hash);

#endif
