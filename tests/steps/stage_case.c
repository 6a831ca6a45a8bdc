/* See stage_case.h: STAGE, BARRIER, load from the panel, store; or load, store to the panel,
 * BARRIER, STAGE. Digits inside of a panel have any extents, and lie in either tensor in an order
 * of their own; the last digit counts panels. */
#include "stage_case.h"

#include "control_case.h"

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

/* Places inside in a random order, behind digit 0 or any; panels one behind the other. Returns the
 * slowest digit inside. */
static int lay_out(uint64_t *seed, step_case *c, const panels *p, int tensor, int64_t gap,
                   bool first) {
  int order[INSIDE];
  int64_t stride = gap;
  for (int i = 0; i < INSIDE; i++) {
    int at = first && i ? 1 + step_below(seed, i) : step_below(seed, i + 1);
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
  return order[INSIDE - 1];
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

static bool make_in_place(step_case *c, const plan_target *target) {
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
  lay_out(&seed, c, &p, 0, p.gap, false);
  lay_out(&seed, c, &p, 1, 1, false);
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

/* ---- panels apart ---- */

typedef struct apart {
  panels p;
  int tensor, other, bits, vector; /* the panel's tensor; log2 elements of the other's accesses */
  int slowest;                     /* digit of the panel's tensor that has the largest stride */
  step_places places;
} apart;

/* Positions of digit 0 are whole vectors. */
static void choose_apart(uint64_t *seed, const plan_target *target, apart *a) {
  static const int widths[] = {8, 16, 32};
  int word;
  a->bits = widths[step_below(seed, 3)];
  step_random_places(seed, target, a->bits, 3, &a->places, &word);
  a->places.zero_lanes = a->places.zero_warps = 0;
  int most = bits_min(a->places.registers, bits_log2(128 / a->bits));
  a->vector = word + step_below(seed, most - word + 1);
  choose_panels(seed, 1 << (step_place_bits(&a->places) - a->vector), &a->p);
  a->p.count[0] <<= a->vector;
  a->p.positions <<= a->vector;
  if (a->tensor) a->p.gap = 1;
}

/* Elements of a panel from its first to its last. */
static int64_t reach_of(const step_case *c, const apart *a) {
  int64_t reach = 1;
  for (int i = 0; i < INSIDE; i++)
    reach += (a->p.count[i] - 1) * c->kernel.digit[i].side[a->tensor].stride.value;
  return reach;
}

/* A bound of the slowest digit: of every panel, or of the last one alone, whose tensor ends with
 * it. What is not stored is not loaded, or is. */
static void bound_apart(uint64_t *seed, step_case *c, apart *a) {
  plan_kernel *kernel = &c->kernel;
  plan_panel *panel = &kernel->panel;
  int d = a->slowest, unit = d == 0 ? 1 << a->vector : 1;
  int64_t stride = kernel->digit[d].side[a->tensor].stride.value, count = a->p.count[d];
  int64_t left = unit * (1 + step_below(seed, (int)(count / unit)));
  bool last = step_once_in(seed, 2);
  if (step_once_in(seed, 3)) return;
  kernel->digit[d].axis = 0;
  if (last) {
    kernel->digit[INSIDE].axis = 0;
    kernel->digit[INSIDE].step = count;
  }
  int64_t before = last ? count * (a->p.count[INSIDE] - 1) : 0;
  kernel->bound[kernel->n_bounds++] =
      (plan_bound){.axis = 0,
                   .top = (int8_t)(last ? INSIDE : d),
                   .tensors = (uint8_t)(step_once_in(seed, 2) ? 3 : 2),
                   .limit = number(before + left),
                   .full = number(last ? a->p.count[INSIDE] - 1 : 0)};
  if (a->tensor == 0) kernel->bound[0].tensors |= 1;
  int64_t cut = (count - left) * stride;
  if (last) c->tensor[a->tensor].elements -= cut;
  if (last && a->tensor) {
    panel->ended = 1;
    panel->pitch = stride;
  }
  if (!last) panel->elements -= cut;
}

static void stage_apart(step_case *c, const apart *a) {
  plan_step stage = {.kind = PLAN_STAGE}, barrier = {.kind = PLAN_BARRIER};
  plan_step load = {.kind = PLAN_LOAD, .masked = true, .vector = (uint8_t)a->vector},
            store = {.kind = PLAN_STORE, .tensor = 1, .masked = true, .vector = (uint8_t)a->vector};
  plan_step *staged = a->tensor ? &store : &load;
  staged->staged = true;
  staged->vector = 0;
  if (!a->tensor) step_add(c, stage);
  if (!a->tensor) step_add(c, barrier);
  step_add(c, load);
  step_add(c, store);
  if (a->tensor) step_add(c, barrier);
  if (a->tensor) step_add(c, stage);
}

/* Panels may begin anywhere; the other tensor's vectors are aligned. */
static void place_apart(uint64_t *seed, step_case *c, const apart *a) {
  plan_kernel *kernel = &c->kernel;
  plan_panel *panel = &kernel->panel;
  plan_launch *launch = &kernel->launch;
  c->tensor[a->tensor].lead = a->bits / 8 * step_below(seed, 256 * 8 / a->bits);
  panel->room = panel->elements;
  panel->unit = (uint8_t)bits_log2(kernel->target.access_bytes);
  panel->places = INSIDE;
  panel->vector = (uint8_t)a->vector;
  panel->end = (plan_number){.arg = launch->n_args};
  launch->arg[launch->n_args++] = (plan_arg){.kind = PLAN_ARG_END, .factor = a->bits};
  launch->shared_bytes = (int)(panel->room * a->bits / 8) + (1 << panel->unit);
}

static bool make_apart(step_case *c, const plan_target *target, int tensor) {
  uint64_t seed = c->seed, matrix[LLRT_MAX_BITS];
  plan_kernel *kernel = &c->kernel;
  apart a = {.tensor = tensor, .other = !tensor};
  if (target->simd_lanes) return false;
  choose_apart(&seed, target, &a);
  for (int t = 0; t < STEP_TENSORS; t++) c->tensor[t] = (step_tensor){.bits = t < 2 ? a.bits : 0};
  step_begin(c, target, 2, &a.places);
  make_digits(kernel, &a.p);
  a.slowest = lay_out(&seed, c, &a.p, a.tensor, a.p.gap, false);
  lay_out(&seed, c, &a.p, a.other, 1, true);
  int64_t all = a.p.positions * a.p.count[INSIDE];
  kernel->flat = true;
  kernel->flat_elements = number(all);
  kernel->fill = a.tensor ? 0 : step_random(&seed) & bits_mask(a.bits);
  kernel->panel = (plan_panel){.staged = true,
                               .tensor = (uint8_t)a.tensor,
                               .positions = a.p.positions,
                               .elements = reach_of(c, &a)};
  place_apart(&seed, c, &a);
  bound_apart(&seed, c, &a);
  kernel->launch.block_elements = (int32_t)a.p.positions;
  kernel->launch.grid[kernel->launch.n_grid++] = (plan_grid_place){.axis = -1, .factor = all};
  for (int i = 0; i < step_place_bits(&a.places); i++) matrix[i] = 1ull << i;
  plan_value value = step_value(&a.places, matrix, a.bits, 5 - bits_log2(a.bits));
  step_add_value(c, &value);
  stage_apart(c, &a);
  step_finish(c);
  return true;
}

bool stage_case_make(step_case *c, const plan_target *target, stage_way way) {
  switch (way) {
  case STAGE_IN_PLACE: return make_in_place(c, target);
  case STAGE_GATHERED: return control_case_make(c, target, CONTROL_PANEL);
  default: return make_apart(c, target, way == STAGE_DESTINATION);
  }
}
