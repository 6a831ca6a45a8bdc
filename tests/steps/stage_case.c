/* See stage_case.h: STAGE, BARRIER, load from the panel, store. Digits inside of a panel have any
 * extents, and lie in either tensor in an order of their own; the last digit counts panels. */
#include "stage_case.h"

#include "base/bits.h"

enum { INSIDE = 3, DIGITS = INSIDE + 1 };

typedef struct panels {
  int64_t count[DIGITS], positions; /* of a panel */
  int64_t gap;                      /* a tensor's elements for each of the panel's positions */
} panels;

static plan_number number(int64_t value) { return (plan_number){.arg = -1, .value = value}; }

static void choose_panels(uint64_t *seed, int most, panels *p) {
  p->positions = 1;
  for (int i = 0; i < INSIDE; i++) {
    p->count[i] = 1 + step_below(seed, 7);
    if (p->positions * p->count[i] > most) p->count[i] = 1;
    p->positions *= p->count[i];
  }
  p->count[INSIDE] = 1 + step_below(seed, 4);
  p->gap = 1 + step_below(seed, 2);
}

/* Places inside in a random order; panels one behind the other. */
static void lay_out(uint64_t *seed, step_case *c, const panels *p, int tensor, int64_t gap) {
  int order[INSIDE];
  int64_t stride = gap;
  for (int i = 0; i < INSIDE; i++) {
    int at = step_below(seed, i + 1);
    order[i] = order[at];
    order[at] = i;
  }
  for (int k = 0; k < INSIDE; k++) {
    c->kernel.digit[order[k]].side[tensor] =
        (plan_digit_side){.kind = PLAN_STRIDE, .stride = number(stride)};
    stride *= p->count[order[k]];
  }
  c->kernel.digit[INSIDE].side[tensor] =
      (plan_digit_side){.kind = PLAN_STRIDE, .stride = number(stride)};
  c->tensor[tensor].elements = stride * p->count[INSIDE];
}

static void make_digits(plan_kernel *kernel, const panels *p) {
  kernel->space = llrt_layout_empty();
  kernel->n_digits = kernel->n_places = DIGITS;
  for (int i = 0; i < DIGITS; i++) {
    kernel->digit[i] =
        (plan_digit){.axis = -1, .rest = true, .step = 1, .upper = number(p->count[i])};
    kernel->place[i] = (plan_place){.digit = (int8_t)i,
                                    .count = number(p->count[i]),
                                    .magic = {.arg = -1},
                                    .magic_shift = {.arg = -1}};
    llrt_layout_add_out(&kernel->space, (char[]){'d', (char)('0' + i), 0}, 0);
  }
  llrt_layout_add_in(&kernel->space, "tile", 0);
  llrt_layout_add_in(&kernel->space, "grid", 0);
}

bool stage_case_make(step_case *c, const plan_target *target) {
  static const int widths[] = {8, 16, 32, 64};
  uint64_t seed = c->seed, matrix[LLRT_MAX_BITS];
  plan_kernel *kernel = &c->kernel;
  step_places places;
  panels p;
  int word, bits = widths[step_below(&seed, 4)];
  for (int t = 0; t < STEP_TENSORS; t++) c->tensor[t] = (step_tensor){.bits = t < 2 ? bits : 0};
  step_random_places(&seed, target, bits, 2, &places, &word);
  places.zero_lanes = places.zero_warps = 0;
  int n = step_place_bits(&places);
  choose_panels(&seed, 1 << n, &p);
  step_begin(c, target, 2, &places);
  make_digits(kernel, &p);
  lay_out(&seed, c, &p, 0, p.gap);
  lay_out(&seed, c, &p, 1, 1);
  int64_t all = p.positions * p.count[INSIDE];
  kernel->flat = true;
  kernel->flat_elements = number(all);
  kernel->panel = (plan_panel){.positions = p.positions, .elements = p.positions * p.gap};
  int64_t bytes = kernel->panel.elements * bits / 8;
  int most = bits_min(bits_lowest((uint64_t)bytes), bits_log2(target->access_bytes));
  kernel->panel.unit = (uint8_t)step_below(&seed, most + 1);
  kernel->launch.block_elements = (int32_t)p.positions;
  kernel->launch.grid[kernel->launch.n_grid++] = (plan_grid_place){.axis = -1, .factor = all};
  for (int i = 0; i < n; i++) matrix[i] = 1ull << i;
  plan_value value = step_value(&places, matrix, bits, 0);
  int loaded = step_add_value(c, &value);
  step_add(c, (plan_step){.kind = PLAN_STAGE});
  step_add(c, (plan_step){.kind = PLAN_BARRIER});
  step_add(c,
           (plan_step){.kind = PLAN_LOAD, .out = (uint8_t)loaded, .masked = true, .staged = true});
  step_add(c, (plan_step){.kind = PLAN_STORE, .tensor = 1, .in = (uint8_t)loaded, .masked = true});
  kernel->launch.shared_bytes = ((int)bytes + 15) & -16;
  step_finish(c);
  return true;
}
