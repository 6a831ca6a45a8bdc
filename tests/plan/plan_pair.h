/* Conversions between two storages of a matrix, planned for a target and executed by the
 * interpreter against the storages' own definition. */
#ifndef LLRT_TESTS_PLAN_PLAN_PAIR_H
#define LLRT_TESTS_PLAN_PLAN_PAIR_H

#include "jit/plan/kernel/plan.h"
#include "runtime/described.h"

#define PAIR_TARGETS 8
#define PAIR_FIRST_HOST 4 /* of pair_targets */
#define PAIR_WIDTHS 6
extern const char *const pair_targets[PAIR_TARGETS];
extern const llrt_dtype pair_widths[PAIR_WIDTHS];

typedef struct pair {
  llrt_storage storage[2];
  int64_t shape[2], strides[2][2];
} pair;

/* One conversion; buffers are guarded by the interpreter's span checks. */
typedef struct conversion {
  op_description desc;
  llrt_storage_binding binding[2];
  size_t bytes[2];
} conversion;

#define UNTOUCHED 0xA5 /* what every byte of a destination is before */

typedef struct text_pair {
  const char *source, *destination;
  int64_t shape[2];
} text_pair;

void pair_parse(const text_pair *text, pair *p);
void conversion_make(const pair *p, llrt_dtype dtype, conversion *c);
void conversion_free(conversion *c);
void conversion_fill(conversion *c, uint64_t *seed);
/* Counts bytes of the destination that do not hold what they must: elements in every copy, pads as
 * the rule says, and elsewhere what was there. */
int64_t conversion_wrong_places(const pair *p, const conversion *c);

/* Plans a conversion of the pair; `options` may be NULL. Fails the test where that is refused. */
void pair_plan(const pair *p, llrt_dtype dtype, const char *target_name,
               const plan_options *options, plan *out);

extern bool pair_stream; /* whether hosts move everything as large tensors */
/* Plans and runs every variant that takes the shape; returns how many ran. */
int pair_check(const pair *p, const char *target_name, llrt_dtype dtype, plan_exchange exchange,
               const char *what);

/* Prints a plan one of whose variants failed. */
void pair_explain(const plan *made, int variant);

/* LLRT_TEST_SEED, or the same one each time. */
uint64_t test_seed_of_run(void);

#endif
