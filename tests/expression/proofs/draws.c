/* Random expressions (tests/expression/expression_draw.h) on one device, and why those that are
 * refused are. */
#include "tests/expression/expression_draw.h"
#include "tests/expression/proofs/proofs.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REASONS = 64, REASON_BYTES = 160 };

/* What refuses expressions, without numbers and places. */
typedef struct reason {
  char text[REASON_BYTES];
  int64_t count;
} reason;

typedef struct reasons {
  int n;
  reason of[REASONS];
} reasons;

/* Behind the names in front of a colon; digits that follow each other are an N. */
static void reason_of(const char *why, char *out) {
  const char *begin = why;
  size_t n = 0;
  for (const char *at = why; (at = strstr(at, ": ")); at += 2)
    if (at - why < 40) begin = at + 2;
  for (; *begin && n + 1 < REASON_BYTES; begin++) {
    bool digit = isdigit((unsigned char)*begin) != 0;
    if (digit && n > 0 && out[n - 1] == 'N') continue;
    out[n++] = digit ? 'N' : *begin;
  }
  out[n] = 0;
}

static void count_reason(reasons *all, const char *why) {
  char text[REASON_BYTES];
  int i = 0;
  reason_of(why, text);
  while (i < all->n && strcmp(all->of[i].text, text) != 0) i++;
  if (i == REASONS) return;
  if (i == all->n) memcpy(all->of[all->n++].text, text, sizeof text);
  all->of[i].count++;
}

static int by_count(const void *a, const void *b) {
  int64_t x = ((const reason *)a)->count, y = ((const reason *)b)->count;
  return (x < y) - (x > y);
}

static void print_reasons(reasons *all) {
  qsort(all->of, (size_t)all->n, sizeof *all->of, by_count);
  for (int i = 0; i < all->n; i++) printf("%6" PRId64 " %s\n", all->of[i].count, all->of[i].text);
}

/* What is not told by the text. */
static void print_tensors(const trial *t) {
  printf("  way %d", (int)t->way);
  if (t->in_place) printf(", in place of tensor %d", t->in_place - 1);
  if (t->counted) printf(", %d of axis %d count", t->count, t->counted - 1);
  if (t->offset) printf(", off by %d", t->offset);
  printf("\n");
  for (int i = 0; i < LLRT_EXPR_MAX_TENSORS; i++) {
    const trial_tensor *own = &t->tensor[i];
    if (own->storage) printf("  tensor %d: %s\n", i, own->storage);
    if (t->rare[i].strided) printf("  tensor %d: strided\n", i);
    if (t->rare[i].wide) printf("  tensor %d: any numbers\n", i);
    if (own->index.positions)
      printf("  tensor %d: an index of %d positions along axis %d\n", i, own->index.positions,
             own->index.axis);
  }
}

int proof_draws(const proof_options *options) {
  static expression_draw draw;
  static reasons why_not;
  int64_t refused = 0, wrong = 0;
  for (int64_t i = 0; i < options->count; i++) {
    uint64_t seed = options->seed + (uint64_t)i;
    expression_draw_seed(seed, &draw);
    draw.trial.device = options->device;
    const char *why = trial_run(&draw.trial);
    if (!why) continue;
    if (trial_refused()) {
      refused++;
      count_reason(&why_not, why);
      if (options->only) printf("seed %" PRIu64 " refused: %s\n%s\n", seed, why, draw.text);
      continue;
    }
    wrong++;
    printf("seed %" PRIu64 " on %s, %lld x %lld: %s\n%s\n", seed, options->name,
           (long long)draw.trial.extent[0], (long long)draw.trial.extent[1], why, draw.text);
    print_tensors(&draw.trial);
    fflush(stdout);
  }
  print_reasons(&why_not);
  printf("%s: seeds %" PRIu64 " to %" PRIu64 ": %" PRId64 " right, %" PRId64 " refused, %" PRId64
         " wrong\n",
         options->name, options->seed, options->seed + (uint64_t)options->count - 1,
         options->count - refused - wrong, refused, wrong);
  return wrong > 0;
}
