/* See memory_case.h.
 *
 * Value bits are taken in the order in which an access and its neighbours go through memory: a
 * GPU's registers and then lanes, the host's lanes first. The first `run` of them are bits 0, 1, …
 * of digit 0, which is a row of the tensor under test; the others are a random permutation, or a
 * random matrix. */
#include "memory_case.h"

#include "base/bits.h"

#include <stdio.h>
#include <string.h>

enum { MOST_DIGITS = 3, MOST_BITS = 13, MOST_POSITIONS = 1 << 15 };

typedef struct shape {
  step_places places;
  int bits, word, vector,
      run; /* log2: elements of a word, of an access, of what follows itself in memory */
  int n;   /* bits of tile and grid */
  bool aligned, permutation;
  int tested; /* the tensor */
  bool store;
  memory_way way;
} shape;

/* ---- what a thread holds ---- */

static void choose_places(uint64_t *seed, const plan_target *target, shape *s) {
  step_random_places(seed, target, s->bits, target->simd_lanes ? 2 : 3, &s->places, &s->word);
  if (!target->simd_lanes && s->way == MEMORY_PLAIN && step_once_in(seed, 4))
    s->word = step_below(seed, s->word + 1);
}

/* Bits of the value that follow each other in memory, at most. */
static int longest_run(const plan_target *target, const shape *s) {
  int n = target->simd_lanes ? s->word : s->places.registers;
  for (int i = 0; i < s->places.lanes && !(s->places.zero_lanes >> i & 1); i++) n++;
  return n;
}

static bool choose_vector(uint64_t *seed, const plan_target *target, shape *s) {
  int widest = bits_log2(target->access_bytes * 8 / s->bits), inside = s->places.registers;
  bool overhangs = s->way >= MEMORY_OVERHANG;
  if (target->simd_lanes) inside = longest_run(target, s);
  s->vector = step_below(seed, bits_min(widest, inside) + 1);
  if (s->bits == 4 && s->vector == 0) s->vector = 1;
  if (overhangs && (s->bits < 8 || s->bits > 32 || s->bits << s->vector < 32 || s->vector == 0))
    return false;
  if (s->vector > bits_min(widest, inside)) return false;
  s->run = s->vector + step_below(seed, longest_run(target, s) - s->vector + 1);
  return true;
}

/* The value: its bits in the order of memory are columns 0, 1, … of a matrix whose first `run` are
 * tile bits. */
static plan_value value_of(uint64_t *seed, const plan_target *target, const shape *s) {
  uint64_t matrix[LLRT_MAX_BITS];
  int order[LLRT_MAX_BITS], n = 0, lanes = s->places.lanes - bits_count(s->places.zero_lanes);
  int first =
      target->simd_lanes ? s->word : s->vector; /* registers that come before lanes in memory */
  step_random_matrix(seed, step_place_bits(&s->places), s->run, s->permutation, matrix);
  for (int i = 0; i < first; i++) order[n++] = i;
  for (int i = 0; i < lanes; i++) order[n++] = s->places.registers + i;
  return step_value_in_order(&s->places, order, n, matrix, s->bits, s->word);
}

/* ---- digits ---- */

/* A number of elements from `least` on: one that vectors divide, or any. */
static int64_t stride_from(uint64_t *seed, const shape *s, int64_t least) {
  int64_t unit = s->aligned ? (int64_t)1 << s->vector : s->bits == 4 ? 2 : 1;
  int64_t more = step_once_in(seed, 2) ? 0 : step_below(seed, 40);
  return (least + more + unit - 1) / unit * unit;
}

/* Digits of one tensor's side: the dense tensor's, or those of the one under test. */
static int64_t place_dense(plan_kernel *kernel, int t, int n) {
  int64_t size = (int64_t)1 << n;
  for (int z = 0; z < n; z++) kernel->column[t][z] = 1ull << z;
  for (int i = 0; i < kernel->n_digits; i++) {
    plan_digit *digit = &kernel->digit[i];
    digit->side[t] = (plan_digit_side){.kind = PLAN_COLUMNS, .stride = {.arg = -1, .value = size}};
    if (digit->rest) size *= digit->upper.value;
  }
  return size;
}

/* The columns of digit i, from address bit `from` on; how many. The first `run` of digit 0 are 1,
 * 2, 4, … */
static void place_columns(uint64_t *seed, plan_kernel *kernel, const shape *s, int i, int first,
                          int from) {
  uint64_t matrix[LLRT_MAX_BITS];
  int bits = kernel->digit[i].bits, fixed = i == 0 ? bits_min(s->run, bits) : 0;
  step_random_matrix(seed, bits, fixed, step_once_in(seed, 2), matrix);
  for (int b = 0; b < bits; b++) kernel->column[s->tested][first + b] = matrix[b] << from;
}

static void place_tested(uint64_t *seed, plan_kernel *kernel, const shape *s) {
  int columns = 0, t = s->tested;
  int64_t size;
  for (int i = 0, first = 0; i < kernel->n_digits; first += kernel->digit[i++].bits) {
    plan_digit_side *side = &kernel->digit[i].side[t];
    *side = (plan_digit_side){.kind = i > 0 && step_once_in(seed, 2) ? PLAN_STRIDE : PLAN_COLUMNS,
                              .stride = {.arg = -1}};
    if (side->kind == PLAN_STRIDE) continue;
    place_columns(seed, kernel, s, i, first, columns);
    columns += kernel->digit[i].bits;
  }
  size = (int64_t)1 << columns;
  for (int i = 0; i < kernel->n_digits; i++) {
    plan_digit *digit = &kernel->digit[i];
    plan_digit_side *side = &digit->side[t];
    int64_t positions = digit->rest ? digit->upper.value : 1;
    if (side->kind == PLAN_STRIDE) positions <<= digit->bits;
    else if (!digit->rest) continue;
    int64_t stride = stride_from(seed, s, size);
    side->stride.value = step_once_in(seed, 6) ? -stride : stride;
    size += stride * (positions - 1);
  }
}

static void make_digits(uint64_t *seed, plan_kernel *kernel, const shape *s) {
  llrt_layout *space = &kernel->space;
  int left = s->n, tile = step_place_bits(&s->places);
  *space = llrt_layout_empty();
  kernel->n_digits = 1 + step_below(seed, MOST_DIGITS);
  for (int i = 0; i < kernel->n_digits; i++) {
    plan_digit *digit = &kernel->digit[i];
    char name[16];
    int least = i == 0 ? s->run : 0, most = left;
    digit->bits =
        (uint8_t)(i + 1 == kernel->n_digits ? left : least + step_below(seed, most - least + 1));
    digit->rest = step_once_in(seed, 2) || digit->bits == 0;
    digit->upper = (plan_number){.arg = -1, .value = digit->rest ? 1 + step_below(seed, 3) : 1};
    left -= digit->bits;
    snprintf(name, sizeof name, "d%d", i);
    llrt_layout_add_out(space, name, digit->bits);
  }
  llrt_layout_add_in(space, "tile", tile);
  llrt_layout_add_in(space, "grid", s->n - tile);
  step_random_matrix(seed, s->n, s->run, s->permutation, space->column);
}

static void make_places(plan_kernel *kernel, const shape *s) {
  int grid = s->n - step_place_bits(&s->places);
  if (grid > 0) {
    kernel->launch.grid[kernel->launch.n_grid++] =
        (plan_grid_place){.axis = -1, .factor = (int64_t)1 << grid};
    kernel->place[kernel->n_places++] = (plan_place){.digit = -1, .bits = (uint8_t)grid};
  }
  for (int i = 0; i < kernel->n_digits; i++) {
    const plan_digit *digit = &kernel->digit[i];
    if (!digit->rest) continue;
    kernel->launch.grid[kernel->launch.n_grid++] =
        (plan_grid_place){.axis = -1, .factor = digit->upper.value};
    kernel->place[kernel->n_places++] = (plan_place){.digit = (int8_t)i,
                                                     .count = digit->upper,
                                                     .magic = {.arg = -1},
                                                     .magic_shift = {.arg = -1}};
  }
}

/* ---- coordinates and bounds ---- */

/* Axis 0 is digit 0 and what counts on above it; other digits are of axis 1, or of none. */
static void make_axes(uint64_t *seed, plan_kernel *kernel) {
  int64_t step[2] = {1, 1};
  bool reversed = step_once_in(seed, 3); /* the axis goes through the last digit first */
  for (int k = 0; k < kernel->n_digits; k++) {
    plan_digit *digit = &kernel->digit[reversed ? kernel->n_digits - 1 - k : k];
    int axis = step_once_in(seed, 3);
    int64_t positions = digit->upper.value << digit->bits;
    digit->axis = (int8_t)axis;
    digit->step = step[axis];
    step[axis] *= bits_max(positions - step_below(seed, 3),
                           1); /* a digit may have fewer positions than bits hold */
  }
}

static int64_t axis_end(const plan_kernel *kernel, int axis) {
  int64_t end = 1;
  for (int i = 0; i < kernel->n_digits; i++)
    if (kernel->digit[i].axis == axis)
      end += ((kernel->digit[i].upper.value << kernel->digit[i].bits) - 1) * kernel->digit[i].step;
  return end;
}

/* Upper positions of the bound's top digit below which all is inside. */
static int64_t full_of(const plan_kernel *kernel, const plan_bound *bound) {
  const plan_digit *top = &kernel->digit[bound->top];
  int64_t below = (int64_t)1 << top->bits;
  if (bound->axis < 0) return bound->limit.value >> top->bits;
  int64_t rest =
      axis_end(kernel, bound->axis) - 1 - ((top->upper.value << top->bits) - 1) * top->step;
  int64_t full = (bound->limit.value - 1 - rest - (below - 1) * top->step);
  return full < 0 ? 0 : full / (top->step << top->bits) + 1;
}

static void make_bounds(uint64_t *seed, plan_kernel *kernel, const shape *s) {
  kernel->n_bounds = step_below(seed, 4);
  if (s->way != MEMORY_PLAIN && s->way != MEMORY_INTERIOR && kernel->n_bounds == 0)
    kernel->n_bounds = 1;
  for (int b = 0; b < kernel->n_bounds; b++) {
    plan_bound *bound = &kernel->bound[b];
    int top = step_below(seed, kernel->n_digits);
    *bound = (plan_bound){.axis = -1,
                          .top = (int8_t)top,
                          .tensors = (uint8_t)(1 << s->tested),
                          .limit = {.arg = -1},
                          .full = {.arg = -1}};
    if (step_once_in(seed, 2)) bound->axis = kernel->digit[top].axis;
    for (int i = 0; i < kernel->n_digits && bound->axis >= 0; i++)
      if (kernel->digit[i].axis == bound->axis &&
          kernel->digit[i].step > kernel->digit[bound->top].step)
        bound->top = (int8_t)i;
    int64_t end = bound->axis < 0 ? kernel->digit[top].upper.value << kernel->digit[top].bits
                                  : axis_end(kernel, bound->axis);
    bound->limit.value =
        step_once_in(seed, 6) ? end + step_below(seed, 3) : 1 + step_below(seed, (int)end);
    bound->full.value = full_of(kernel, bound);
    if (s->way == MEMORY_LOOSE) bound->tensors = 3;
  }
}

/* ---- what is where ---- */

typedef struct reach {
  int64_t low, high; /* offsets of elements that are inside, from the tensor's origin */
  int64_t lowest;    /* of all */
  int64_t top;       /* the greatest place of those that are inside, swizzled */
  int64_t divisor;   /* of the offsets at which accesses begin */
  bool parts;        /* a bound parts an access */
} reach;

static uint64_t image(const uint64_t *columns, uint64_t of) {
  uint64_t sum = 0;
  for (; of; of &= of - 1) sum ^= columns[bits_lowest(of)];
  return sum;
}

static int64_t offset_at(const plan_kernel *kernel, int t, uint64_t fixed, const int64_t *upper,
                         uint32_t ignored_bounds, bool *inside) {
  int64_t sum = 0, position[MOST_DIGITS];
  uint64_t columns = 0;
  for (int i = 0, first = 0; i < kernel->n_digits; first += kernel->digit[i++].bits) {
    const plan_digit *digit = &kernel->digit[i];
    uint64_t own = fixed >> first & bits_mask(digit->bits);
    position[i] = upper[i] << digit->bits | (int64_t)own;
    if (digit->side[t].kind == PLAN_STRIDE) sum += position[i] * digit->side[t].stride.value;
    else {
      columns ^= image(&kernel->column[t][first], own);
      sum += upper[i] * digit->side[t].stride.value;
    }
  }
  *inside = true;
  for (int b = 0; b < kernel->n_bounds; b++) {
    const plan_bound *bound = &kernel->bound[b];
    int64_t at = bound->axis < 0 ? position[bound->top] : 0;
    for (int i = 0; i < kernel->n_digits && bound->axis >= 0; i++)
      if (kernel->digit[i].axis == bound->axis) at += position[i] * kernel->digit[i].step;
    if (bound->tensors >> t & 1 && !(ignored_bounds >> b & 1)) *inside &= at < bound->limit.value;
  }
  return sum + (int64_t)columns;
}

static int64_t divisor_of(int64_t a, int64_t b) {
  a = a < 0 ? -a : a;
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* llrt/storage.h, llrt_swizzle. */
static int64_t swizzled(const llrt_swizzle *z, int64_t x) {
  int64_t inner = (int64_t)(bits_mask(z->swizzle_len) << z->per_element);
  return z->upward ? x ^ (x & inner) << z->atom_len : x ^ (x >> z->atom_len & inner);
}

/* The access that holds the element of fixed bits `fixed`: those of its first `vector` bits are its
 * own. */
static void look(const plan_kernel *kernel, const shape *s, uint64_t fixed, const int64_t *upper,
                 uint32_t ignored_bounds, reach *r) {
  bool inside, any = false, all = true;
  for (uint64_t k = 0; k < 1ull << s->vector; k++) {
    int64_t at = offset_at(kernel, s->tested, fixed | k, upper, ignored_bounds, &inside);
    any |= inside;
    all &= inside;
    if (at < r->lowest) r->lowest = at;
    if (inside && at < r->low) r->low = at;
    if (inside && at > r->high) r->high = at;
    int64_t place = swizzled(&kernel->swizzle[s->tested], at + kernel->origin[s->tested]);
    if (inside && place > r->top) r->top = place;
    if (k == 0) r->divisor = divisor_of(at, r->divisor);
  }
  r->parts |= any && !all;
}

static bool look_at_all(const plan_kernel *kernel, const shape *s, uint32_t ignored_bounds,
                        reach *r) {
  int64_t upper[MOST_DIGITS] = {0}, blocks = 1;
  *r = (reach){.low = INT64_MAX, .lowest = INT64_MAX, .high = INT64_MIN, .top = INT64_MIN};
  for (int i = 0; i < kernel->n_digits; i++) blocks *= kernel->digit[i].upper.value;
  if (blocks << s->n > MOST_POSITIONS) return false;
  for (int64_t u = 0; u < blocks; u++) {
    int64_t left = u;
    for (int i = 0; i < kernel->n_digits; left /= kernel->digit[i++].upper.value)
      upper[i] = left % kernel->digit[i].upper.value;
    for (uint64_t fixed = 0; fixed < 1ull << s->n; fixed += 1ull << s->vector)
      look(kernel, s, fixed, upper, ignored_bounds, r);
  }
  return r->low <= r->high;
}

/* ---- steps ---- */

static plan_step access_of(const shape *s, int tensor, bool load, int value, int vector) {
  return (plan_step){.kind = load ? PLAN_LOAD : PLAN_STORE,
                     .tensor = (uint8_t)tensor,
                     .in = (uint8_t)(load ? 0 : value),
                     .out = (uint8_t)(load ? value : 0),
                     .vector = (uint8_t)vector,
                     .masked = tensor == s->tested};
}

/* The step under test, and the dense tensor's. */
static void pair_of(const shape *s, int value, const plan_step *tested, int dense,
                    plan_step pair[2]) {
  pair[s->store] = *tested;
  pair[!s->store] = access_of(s, !s->tested, s->store, value, dense);
  if (s->way == MEMORY_LOOSE) {
    pair[1].masked = true;
    pair[1].vector = 0;
  }
}

static void tell_memory(uint64_t *seed, step_case *c, const shape *s, const plan_step *tested,
                        int64_t low) {
  plan_kernel *kernel = &c->kernel;
  plan_launch *launch = &kernel->launch;
  int bytes = c->tensor[0].bits / 8 << tested->vector;
  if (s->store || !tested->overhang) return;
  kernel->memory = (plan_memory){.used = true,
                                 .guards = s->way == MEMORY_INTERIOR,
                                 .vector = (uint8_t)bits_log2(bytes),
                                 .begin = {.arg = -1},
                                 .end = {.arg = launch->n_args}};
  launch->arg[launch->n_args++] = (plan_arg){.kind = PLAN_ARG_END, .factor = c->tensor[0].bits};
  if (c->tensor[0].lead % bytes == 0 && low >= 0 && step_once_in(seed, 2)) return;
  kernel->memory.begin.arg = launch->n_args;
  launch->arg[launch->n_args++] = (plan_arg){.kind = PLAN_ARG_BEGIN};
}

static void add_steps(step_case *c, const shape *s, plan_step tested, int value, int dense) {
  plan_step pair[2];
  if (s->way != MEMORY_INTERIOR) {
    pair_of(s, value, &tested, dense, pair);
    step_add(c, pair[0]);
    step_add(c, pair[1]);
    return;
  }
  step_add(c, (plan_step){.kind = PLAN_IF_INTERIOR, .body = 2, .otherwise = 2});
  for (int masked = 0; masked < 2; masked++) {
    tested.masked = masked;
    if (!masked) tested.ignored_bounds = 0;
    pair_of(s, value, &tested, dense, pair);
    step_add(c, pair[0]);
    step_add(c, pair[1]);
  }
}

/* Whether the step can be as it is wanted; sets what goes with it. */
static bool complete(uint64_t *seed, const plan_target *target, const shape *s, const reach *r,
                     int divisor, plan_step *step) {
  int size = bits_log2(bits_max(s->bits << s->vector, 8) / 8),
      surely = bits_lowest((uint64_t)divisor); /* log2 bytes */
  bool host = target->simd_lanes;
  step->misaligned = (uint8_t)bits_max(size - surely, 0);
  if (step->misaligned < size && step->misaligned > 0 && step_once_in(seed, 4))
    step->misaligned++; /* less is known than is so */
  step->overhang = s->way >= MEMORY_OVERHANG;
  step->loose = s->way == MEMORY_LOOSE;
  step->by_words =
      step->overhang && !s->store && !step->loose && step->misaligned > 0 && step_once_in(seed, 2);
  step->exact =
      step->overhang && !s->store && !step->loose && s->bits >= 16 && step_once_in(seed, 2);
  step->by_words |= step->exact;
  step->by_groups = step->overhang && s->store && s->bits >= 8 && step_once_in(seed, 2);
  step->parted = s->way == MEMORY_PARTED;
  step->predicated = !s->store && !step->overhang && step_once_in(seed, 2);
  if (!step->overhang && !step->parted && r->parts) return false;
  if (!step->overhang && target->access_align_bytes > 1 && step->misaligned) return false;
  if (host && s->store && !step->parted && step->misaligned == 0 && size > 0 &&
      step_once_in(seed, 2))
    step->streaming = (uint8_t)size;
  return true;
}

/* log2 elements of the dense tensor's accesses, of 4 bits whole bytes. */
static int dense_vector(uint64_t *seed, const shape *s) {
  int least = s->bits == 4;
  return step_once_in(seed, 2) ? bits_max(s->vector, least) : least;
}

/* A swizzle that keeps accesses together. */
static void choose_swizzle(uint64_t *seed, plan_kernel *kernel, const shape *s) {
  llrt_swizzle *z = &kernel->swizzle[s->tested];
  if (s->way > MEMORY_PARTED || !s->aligned || !step_once_in(seed, 2))
    return; /* else sums carry inside an access */
  z->per_element = (uint8_t)(s->vector + step_below(seed, 3));
  z->swizzle_len = (uint8_t)(1 + step_below(seed, 3));
  z->atom_len = (uint8_t)(z->swizzle_len + step_below(seed, 3));
  z->upward = (uint8_t)step_below(seed, 2);
}

/* Where the tensor under test begins in memory, and how large both are. */
static int place_memory(uint64_t *seed, step_case *c, const shape *s, uint32_t ignored_bounds,
                        reach *r, int64_t dense) {
  plan_kernel *kernel = &c->kernel;
  int unit = bits_max(s->bits, 8) / 8, t = s->tested;
  int64_t whole = s->aligned ? (int64_t)1 << s->vector : s->bits == 4 ? 2 : 1;
  int64_t origin = -(r->low < 0 ? (r->low - whole + 1) / whole : r->low / whole) *
                   whole; /* what is inside begins at 0 or behind */
  int lead = s->aligned || step_once_in(seed, 3) ? 0 : unit * step_below(seed, 32 / unit);
  int64_t begin = step_once_in(seed, 2) ? 0 : whole * step_below(seed, 4);
  if (!s->aligned && step_once_in(seed, 2)) lead += (int)bits_min(16 * step_below(seed, 4), 64);
  kernel->origin[t] = origin;
  kernel->launch.arg[t].factor = begin * s->bits / 8;
  if (s->bits == 4 && begin % 2) kernel->launch.arg[t].factor = (begin + 1) * s->bits / 8;
  int64_t from = kernel->launch.arg[t].factor * 8 / s->bits;
  c->tensor[t].lead = lead;
  choose_swizzle(seed, kernel, s);
  look_at_all(kernel, s, ignored_bounds, r);
  c->tensor[t].elements = from + r->top + 1 + (step_once_in(seed, 2) ? 0 : step_below(seed, 5));
  c->tensor[t].elements += s->bits == 4 && c->tensor[t].elements % 2;
  c->tensor[!t].lead = 0;
  c->tensor[!t].elements = dense;
  int64_t bytes = lead + kernel->launch.arg[t].factor;
  return (int)(divisor_of(bytes, divisor_of(origin * s->bits / 8,
                                            bits_max((int)(r->divisor * s->bits / 8 & 4095), 0))) &
               4095);
}

bool memory_case_make(step_case *c, const plan_target *target, bool store, memory_way way) {
  static const int widths[] = {4, 8, 8, 16, 16, 32, 32, 64};
  uint64_t seed = c->seed;
  plan_kernel *kernel = &c->kernel;
  shape s = {.tested = store, .store = store, .way = way, .bits = widths[step_below(&seed, 8)]};
  reach r;
  if (way == MEMORY_PARTED && s.bits == 4) return false;
  choose_places(&seed, target, &s);
  if (!choose_vector(&seed, target, &s)) return false;
  s.aligned = step_once_in(&seed, way >= MEMORY_OVERHANG ? 4 : 2);
  s.permutation = step_once_in(&seed, 2);
  s.n = bits_min(step_place_bits(&s.places) + step_below(&seed, 3), MOST_BITS);
  if (s.n < step_place_bits(&s.places)) return false;
  c->tensor[0].bits = c->tensor[1].bits = s.bits;
  step_begin(c, target, 2, &s.places);
  plan_value value = value_of(&seed, target, &s);
  make_digits(&seed, kernel, &s);
  make_places(kernel, &s);
  make_axes(&seed, kernel);
  place_tested(&seed, kernel, &s);
  int64_t dense = place_dense(kernel, !s.tested, s.n);
  make_bounds(&seed, kernel, &s);
  kernel->fill = step_random(&seed) & bits_mask(s.bits);
  plan_step tested = access_of(&s, s.tested, !store, 0, s.vector);
  if (kernel->n_bounds > 1 && step_once_in(&seed, 4) && way != MEMORY_LOOSE)
    tested.ignored_bounds = (uint32_t)step_below(&seed, 1 << kernel->n_bounds);
  if (!look_at_all(kernel, &s, tested.ignored_bounds, &r)) return false;
  if (way == MEMORY_PLAIN && r.parts) { /* elements alone are on one side of a bound */
    s.vector = tested.vector = (uint8_t)(store || s.bits > 4 ? s.bits == 4 : 0);
    if (!look_at_all(kernel, &s, tested.ignored_bounds, &r)) return false;
  }
  int divisor = place_memory(&seed, c, &s, tested.ignored_bounds, &r, dense);
  if (!complete(&seed, target, &s, &r, divisor ? divisor : 4096, &tested)) return false;
  step_add_value(c, &value);
  tell_memory(&seed, c, &s, &tested, kernel->origin[s.tested] + r.lowest);
  add_steps(c, &s, tested, 0, dense_vector(&seed, &s));
  step_finish(c);
  return true;
}
