/* docs/steps.md, carried out: blocks, control, memory. Every step is done for all threads of a
 * block before the next. */
#include "step_state.h"

#include "base/bits.h"
#include "jit/plan/facts/access.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool step_fail(step_state *s, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(s->message, 160, format, list);
  va_end(list);
  return false;
}

uint64_t step_combination(const uint64_t *columns, uint64_t of) {
  uint64_t sum = 0;
  for (; of; of &= of - 1) sum ^= columns[bits_lowest(of)];
  return sum;
}

/* ---- values ---- */

int64_t step_registers_of(const step_state *s, int value) {
  return (int64_t)1 << s->kernel->value[value].layout.in[0].bits;
}

int64_t step_places_of(const step_state *s, int value) {
  return step_registers_of(s, value) << (s->kernel->lane_bits + s->kernel->warp_bits);
}

uint64_t step_own_tile(const step_state *s, int value, int64_t at) {
  const llrt_layout *layout = &s->kernel->value[value].layout;
  int places = layout->in[0].bits + layout->in[1].bits + layout->in[2].bits;
  uint64_t counted = s->iteration & (((uint64_t)1 << layout->in[3].bits) - 1);
  return step_combination(layout->column, (uint64_t)at) ^
         step_combination(&layout->column[places], counted);
}

uint64_t step_tile(const step_state *s, int value, int64_t at) {
  uint64_t own = step_own_tile(s, value, at), tile = 0;
  if (s->kernel->flat) return own;
  for (int i = 0; i < s->kernel->space.in[0].bits; i++) {
    if (s->kernel->value[value].reduced >> i & 1) continue;
    tile |= (own & 1) << i;
    own >>= 1;
  }
  return tile;
}

bool step_is_first(const step_state *s, int value, int64_t at) {
  const llrt_layout *layout = &s->kernel->value[value].layout;
  for (int i = layout->in[0].bits; i < layout->in[0].bits + layout->in[1].bits + layout->in[2].bits;
       i++)
    if (at >> i & 1 && layout->column[i] == 0) return false;
  return true;
}

/* ---- coordinates ---- */

int64_t step_number(const step_state *s, const plan_number *number) {
  if (number->arg < 0) return number->value;
  const plan_arg *arg = &s->kernel->launch.arg[number->arg];
  int64_t extent =
      s->c->tensor[0].elements; /* every tensor is a vector; sizes follow the first's */
  return arg->kind == PLAN_ARG_CEIL ? (extent + arg->factor - 1) / arg->factor
                                    : extent / arg->factor;
}

/* Place `tile` of a flat kernel's block: the index, split into digits by the places. */
static int64_t flat_index(const step_state *s, uint64_t tile) {
  return s->block * s->kernel->panel.positions + (int64_t)tile;
}

static void flat_position(const step_state *s, uint64_t tile, int64_t position[PLAN_MAX_DIGITS]) {
  int64_t left = flat_index(s, tile);
  for (int i = 0; i < s->kernel->n_places; i++) {
    int64_t count = step_number(s, &s->kernel->place[i].count);
    position[s->kernel->place[i].digit] = i + 1 < s->kernel->n_places ? left % count : left;
    left /= count;
  }
}

void step_position(const step_state *s, uint64_t tile, int64_t position[PLAN_MAX_DIGITS]) {
  if (s->kernel->flat) {
    flat_position(s, tile, position);
    return;
  }
  const llrt_layout *space = &s->kernel->space;
  uint64_t fixed = step_combination(space->column, tile) ^
                   step_combination(&space->column[space->in[0].bits], s->grid);
  for (int i = 0; i < s->kernel->n_digits; i++) {
    int n = s->kernel->digit[i].bits;
    position[i] = s->upper[i] << n | (int64_t)(fixed & (((uint64_t)1 << n) - 1));
    fixed >>= n;
  }
}

bool step_inside(const step_state *s, const plan_step *step,
                 const int64_t position[PLAN_MAX_DIGITS]) {
  for (int b = 0; b < s->kernel->n_bounds && step->masked; b++) {
    const plan_bound *bound = &s->kernel->bound[b];
    int64_t at = 0;
    if (!(bound->tensors >> step->tensor & 1) || step->ignored_bounds >> b & 1) continue;
    if (bound->axis < 0) at = position[bound->top];
    for (int i = 0; i < s->kernel->n_digits && bound->axis >= 0; i++)
      if (s->kernel->digit[i].axis == bound->axis) at += position[i] * s->kernel->digit[i].step;
    if (at >= step_number(s, &bound->limit)) return false;
  }
  return true;
}

/* llrt/storage.h: Z(p) = p ^ (p >> atom_len & (2^swizzle_len - 1) << per_element), or upward those
 * higher bits XORed with these. */
static int64_t swizzled(const llrt_swizzle *z, int64_t p) {
  int64_t mask = (((int64_t)1 << z->swizzle_len) - 1) << z->per_element;
  if (z->upward) return p ^ (p & mask) << z->atom_len;
  return p ^ (p >> z->atom_len & mask);
}

int64_t step_offset(const step_state *s, int tensor, const int64_t position[PLAN_MAX_DIGITS]) {
  uint64_t columns = 0;
  int64_t sum = 0;
  for (int i = 0, first = 0; i < s->kernel->n_digits; first += s->kernel->digit[i++].bits) {
    const plan_digit *digit = &s->kernel->digit[i];
    const plan_digit_side *side = &digit->side[tensor];
    int64_t fixed = position[i] & (((int64_t)1 << digit->bits) - 1),
            stride = step_number(s, &side->stride);
    if (side->kind == PLAN_INDEXED) continue;
    if (side->kind == PLAN_STRIDE) sum += stride * position[i];
    else {
      columns ^= step_combination(&s->kernel->column[tensor][first], (uint64_t)fixed);
      if (digit->rest) sum += stride * (position[i] >> digit->bits);
    }
  }
  int64_t base = s->kernel->launch.arg[tensor].factor * 8 / s->kernel->tensor_bits[tensor];
  return base +
         swizzled(&s->kernel->swizzle[tensor], s->kernel->origin[tensor] + (int64_t)columns + sum);
}

/* ---- indices ---- */

typedef struct indexed {
  int64_t sum;
  bool valid, kept; /* every value is in range; none leaves the element out */
} indexed;

/* The value at a position, as its index takes it; false where it is out of range. Beyond the shape
 * there are none. */
static bool index_value(const step_state *s, const plan_index *index,
                        const int64_t position[PLAN_MAX_DIGITS], int64_t *value) {
  int64_t at = 0, extent = step_number(s, &index->extent);
  *value = 0;
  for (int a = 0; a < LLRT_MAX_RANK; a++) {
    int64_t x = 0;
    if (!(index->axes >> a & 1)) continue;
    for (int i = 0; i < s->kernel->n_digits; i++)
      if (s->kernel->digit[i].axis == a) x += position[i] * s->kernel->digit[i].step;
    if (x >= step_number(s, &index->limit[a])) return true;
    at += x * step_number(s, &index->stride[a]);
  }
  int32_t narrow;
  memcpy(&narrow, s->memory[2] + at * (index->wide ? 8 : 4), sizeof narrow);
  *value = narrow;
  if (index->wide) memcpy(value, s->memory[2] + at * 8, sizeof *value);
  if (index->out_of_range == LLRT_RANGE_CLAMP)
    *value = *value < 0 ? 0 : *value >= extent ? extent - 1 : *value;
  return *value >= 0 && *value < extent;
}

static bool leaves_out(const plan_index *index) {
  return index->out_of_range == LLRT_RANGE_SKIP || index->out_of_range == LLRT_RANGE_REPORT;
}

static indexed index_at(const step_state *s, int tensor, const int64_t position[PLAN_MAX_DIGITS]) {
  indexed made = {0, true, true};
  for (int i = 0; i < s->kernel->n_indices; i++) {
    const plan_index *index = &s->kernel->index[i];
    int64_t value;
    if (index->tensor != tensor) continue;
    if (!index_value(s, index, position, &value)) {
      made.valid = false;
      made.kept &= !leaves_out(index);
      continue;
    }
    made.sum += (int64_t)step_combination(
        index->column, (uint64_t)value & bits_mask(index->tile_bits)); /* of bits of their own */
    value >>= index->tile_bits;
    for (int p = 0; p < index->n_parts; p++) {
      bool last = p + 1 == index->n_parts;
      made.sum +=
          (last ? value : value % index->part[p].extent) * step_number(s, &index->part[p].stride);
      if (!last) value /= index->part[p].extent;
    }
  }
  return made;
}

/* Every value out of range once: at the element inside the tensor whose positions along other axes
 * are 0. */
static bool report(step_state *s, const plan_step *step) {
  const plan_index *index = &s->kernel->index[step->index];
  const plan_step bounds = {.masked = true, .tensor = index->tensor};
  for (int64_t at = 0; at < step_places_of(s, step->in); at++) {
    int64_t position[PLAN_MAX_DIGITS], value;
    bool counts = step_is_first(s, step->in, at);
    step_position(s, step_tile(s, step->in, at), position);
    for (int i = 0; i < s->kernel->n_digits; i++)
      counts &= index->axes >> s->kernel->digit[i].axis & 1 || position[i] == 0;
    if (!counts || !step_inside(s, &bounds, position) || index_value(s, index, position, &value))
      continue;
    int32_t count;
    unsigned char *counter = s->memory[2] + s->kernel->launch.arg[index->report.arg].factor;
    memcpy(&count, counter, sizeof count);
    count++;
    memcpy(counter, &count, sizeof count);
  }
  return true;
}

/* ---- memory of tensors ---- */

static uint64_t get_bits(const unsigned char *memory, int64_t at, int bits) {
  uint64_t x = 0;
  if (bits == 4) return memory[at / 2] >> at % 2 * 4 & 15;
  memcpy(&x, memory + at * bits / 8, (size_t)bits / 8);
  return x;
}

static void put_bits(unsigned char *memory, int64_t at, int bits, uint64_t x) {
  if (bits == 4)
    memory[at / 2] =
        (unsigned char)((memory[at / 2] & ~(15 << at % 2 * 4)) | (int)(x & 15) << at % 2 * 4);
  else memcpy(memory + at * bits / 8, &x, (size_t)bits / 8);
}

step_element step_read(const step_state *s, int tensor, int64_t offset) {
  int bits = s->kernel->tensor_bits[tensor];
  int64_t at = offset ^ s->kernel->high_first[tensor];
  return (step_element){get_bits(s->memory[tensor], at, bits), get_bits(s->open[tensor], at, bits)};
}

static void write(const step_state *s, int tensor, int64_t offset, step_element element) {
  int bits = s->kernel->tensor_bits[tensor];
  int64_t at = offset ^ s->kernel->high_first[tensor];
  put_bits(s->memory[tensor], at, bits, element.bits);
  put_bits(s->open[tensor], at, bits, element.open & bits_mask(bits));
}

/* Whether the first element of the access is inside that has the element at `at`. */
static bool begins_inside(const step_state *s, const plan_step *step, int value, int64_t at) {
  int64_t position[PLAN_MAX_DIGITS];
  plan_address_map map;
  int registers[LLRT_MAX_BITS];
  plan_address_of_tensor(s->kernel, step->tensor, &map);
  if (!plan_access_positions(&s->kernel->value[value], &map, PLAN_REGISTER, step->vector,
                             registers))
    return true;
  for (int v = 0; v < step->vector; v++) at &= ~((int64_t)1 << registers[v]);
  step_position(s, step_tile(s, value, at), position);
  return step_inside(s, step, position);
}

/* What a load puts where it loads nothing: with `loose` nothing that is defined, if the access has
 * a first element. */
static step_element left_out(const step_state *s, const plan_step *step, int value, int64_t at) {
  uint64_t all = bits_mask(s->kernel->tensor_bits[step->tensor]);
  return (step_element){s->kernel->fill & all,
                        step->loose && begins_inside(s, step, value, at) ? all : 0};
}

/* Where the block's panel begins; gathered, it is all of the tensor. As far as the tensor goes. */
static bool open_panel(step_state *s) {
  const plan_panel *panel = &s->kernel->panel;
  int64_t position[PLAN_MAX_DIGITS], all = s->c->tensor[panel->tensor].elements;
  step_position(s, 0, position);
  s->panel_first = panel->gathered ? 0 : step_offset(s, panel->tensor, position);
  if (s->panel_first < 0 || s->panel_first > all)
    return step_fail(s, "a panel from element %lld on", (long long)s->panel_first);
  s->panel_elements = panel->gathered ? all : panel->elements;
  if (s->panel_elements > all - s->panel_first) s->panel_elements = all - s->panel_first;
  free(s->panel);
  free(s->in_panel);
  s->panel = malloc((size_t)s->panel_elements * sizeof *s->panel + 1);
  s->in_panel = calloc((size_t)s->panel_elements + 1, 1);
  return true;
}

/* To memory: all of the panel, which is what was stored. */
static bool stage_destination(step_state *s) {
  for (int64_t i = 0; i < s->panel_elements; i++) {
    if (!s->in_panel[i]) return step_fail(s, "no element %lld of the panel", (long long)i);
    write(s, STEP_DESTINATION, s->panel_first + i, s->panel[i]);
  }
  return true;
}

/* The block's panel, as it is now. */
static bool stage(step_state *s) {
  if (s->kernel->panel.tensor == STEP_DESTINATION) return stage_destination(s);
  if (!open_panel(s)) return false;
  for (int64_t i = 0; i < s->panel_elements; i++) s->panel[i] = step_read(s, 0, s->panel_first + i);
  return true;
}

/* An element of the destination's panel, which has it once. */
static bool to_panel(step_state *s, int64_t offset, step_element element) {
  int64_t at = offset - s->panel_first;
  if (at < 0 || at >= s->panel_elements || s->in_panel[at])
    return step_fail(s, "element %lld to the panel", (long long)at);
  s->panel[at] = element;
  s->in_panel[at] = true;
  return true;
}

static bool from_panel(step_state *s, int64_t offset, step_element *element) {
  int64_t at = offset - s->panel_first;
  if (!s->panel || at < 0 || at >= s->panel_elements)
    return step_fail(s, "element %lld of the panel", (long long)at);
  *element = s->panel[at];
  return true;
}

/* Whether the element at a place of the value is one that the kernel has. */
static bool is_there(const step_state *s, const plan_step *step, uint64_t tile,
                     const int64_t position[PLAN_MAX_DIGITS]) {
  if (s->kernel->flat && ((int64_t)tile >= s->kernel->panel.positions ||
                          flat_index(s, tile) >= step_number(s, &s->kernel->flat_elements)))
    return false;
  return step_inside(s, step, position);
}

static bool move(step_state *s, const plan_step *step, int value, bool load) {
  if (!load && step->staged && !open_panel(s)) return false;
  for (int64_t at = 0; at < step_places_of(s, value); at++) {
    int64_t position[PLAN_MAX_DIGITS];
    step_element *element = &s->value[value][at];
    step_position(s, step_tile(s, value, at), position);
    if (!is_there(s, step, step_tile(s, value, at), position)) {
      if (load) *element = left_out(s, step, value, at);
      continue;
    }
    indexed own = index_at(s, step->tensor, position);
    bool kept = own.valid;
    for (int t = 0; t < s->kernel->n_tensors && !load; t++) kept &= index_at(s, t, position).kept;
    if (!kept) {
      if (load) *element = (step_element){0, 0};
      continue;
    }
    int64_t offset = step_offset(s, step->tensor, position) + own.sum;
    if (offset < 0 || offset >= s->c->tensor[step->tensor].elements)
      return step_fail(s, "element %lld of tensor %d", (long long)offset, step->tensor);
    if (load && step->staged && !from_panel(s, offset, element)) return false;
    if (load && !step->staged) *element = step_read(s, step->tensor, offset);
    if (load || !step_is_first(s, value, at)) continue;
    if (!step->staged) write(s, step->tensor, offset, *element);
    else if (!to_panel(s, offset, *element)) return false;
  }
  return true;
}

/* ---- control ---- */

/* Whether the value at a position is in range, and as far behind a multiple of 2^vector as the
 * position is, which the value at that multiple's position is, too. */
static bool follows(const step_state *s, const plan_step *step,
                    const int64_t position[PLAN_MAX_DIGITS]) {
  const plan_index *index = &s->kernel->index[step->by_values - 1];
  int64_t value, first, behind = 0, n = 1ll << step->vector, start[PLAN_MAX_DIGITS];
  bool there = true;
  memcpy(start, position, sizeof start);
  for (int i = 0; i < s->kernel->n_digits; i++) {
    const plan_digit *digit = &s->kernel->digit[i];
    if (!(index->axes >> digit->axis & 1)) continue;
    there &= position[i] * digit->step < step_number(s, &index->limit[digit->axis]);
    if (digit->step == 1) start[i] -= position[i] % n;
    if (digit->step == 1) behind = position[i] % n;
  }
  return there && index_value(s, index, position, &value) && index_value(s, index, start, &first) &&
         first % n == 0 && value - first == behind;
}

static bool all_follow(const step_state *s, const plan_step *step) {
  bool all = true;
  for (uint64_t tile = 0; tile < 1ull << s->kernel->space.in[0].bits; tile++) {
    int64_t position[PLAN_MAX_DIGITS];
    step_position(s, tile, position);
    all &= follows(s, step, position);
  }
  return all;
}

/* Whether the value of the block's second position, which is one of the shape, is the first's next.
 */
static bool begin_to_follow(const step_state *s, const plan_step *step) {
  const plan_index *index = &s->kernel->index[step->by_values - 1];
  int64_t position[PLAN_MAX_DIGITS], next[PLAN_MAX_DIGITS], first = 0, second = 0, at = 0, axis = 0;
  step_position(s, 0, position);
  memcpy(next, position, sizeof next);
  for (int i = 0; i < s->kernel->n_digits; i++) {
    const plan_digit *digit = &s->kernel->digit[i];
    if (!(index->axes >> digit->axis & 1)) continue;
    axis = digit->axis;
    next[i] += digit->step == 1;
    at += next[i] * digit->step;
  }
  if (at >= step_number(s, &index->limit[axis])) return false;
  index_value(s, index, position, &first);
  index_value(s, index, next, &second);
  return second == first + 1;
}

/* Whether every bound holds for all that the block's digits may be, by their upper parts. */
static bool is_interior(const step_state *s, const plan_step *step) {
  if (step->holds) return true; /* which is never wrong */
  if (step->by_values && step->vector == 0) return begin_to_follow(s, step);
  if (step->by_values) return all_follow(s, step);
  for (int b = 0; b < s->kernel->n_bounds; b++) {
    const plan_bound *bound = &s->kernel->bound[b];
    if (!(step->ignored_bounds >> b & 1) && s->upper[bound->top] >= step_number(s, &bound->full))
      return false;
  }
  return true;
}

/* out is in, then what the body's last step made in the turn before. */
static void carry(step_state *s, int from, int to) {
  memcpy(s->value[to], s->value[from], (size_t)step_places_of(s, to) * sizeof(step_element));
}

static bool loop(step_state *s, int at) {
  const plan_step *step = &s->kernel->step[at];
  uint64_t outer = s->iteration;
  for (uint64_t i = 0; i < 1ull << step->iterations; i++) {
    s->iteration = outer << step->iterations | i;
    if (step->joins) carry(s, i ? step[step->body].out : step->in, step->out);
    if (!step_run(s, at + 1, step->body)) return false;
  }
  s->iteration = outer;
  if (step->joins) carry(s, step[step->body].out, step->out);
  return true;
}

static bool repeat(step_state *s, int at) {
  const plan_step *step = &s->kernel->step[at];
  for (int turn = 0; turn < step->turns; turn++) {
    carry(s, turn ? step[step->body].out : step->in, step->out);
    if (!step_run(s, at + 1, step->body)) return false;
  }
  return true;
}

/* What a uniform index says that leaves elements out. */
static bool is_present(const step_state *s) {
  int64_t position[PLAN_MAX_DIGITS], value;
  step_position(s, 0, position);
  for (int i = 0; i < s->kernel->n_indices; i++) {
    const plan_index *index = &s->kernel->index[i];
    if (index->uniform && leaves_out(index) && !index_value(s, index, position, &value))
      return false;
  }
  return true;
}

static bool run_one(step_state *s, int at) {
  const plan_step *step = &s->kernel->step[at];
  switch ((plan_step_kind)step->kind) {
  case PLAN_LOAD: return move(s, step, step->out, true);
  case PLAN_STORE: return move(s, step, step->in, false);
  case PLAN_IF_INTERIOR:
    if (is_interior(s, step)) return step_run(s, at + 1, step->body);
    return step_run(s, at + 1 + step->body, step->otherwise);
  case PLAN_IF_PRESENT: return !is_present(s) || step_run(s, at + 1, step->body);
  case PLAN_REPORT: return report(s, step);
  case PLAN_LOOP: return loop(s, at);
  case PLAN_REPEAT: return repeat(s, at);
  case PLAN_WALK: return step_walk(s, at);
  case PLAN_AHEAD: return step_ahead(s, at);
  case PLAN_PRODUCE:
  case PLAN_COLLECT: return step_run(s, at + 1, step->body);
  case PLAN_PREFETCH: return true;
  case PLAN_STAGE: return stage(s);
  case PLAN_SETTLE: /* all turns of a position are in `in` here, whoever is dealt them */
    carry(s, step->in, step->out);
    return step_run(s, at + 1, step->body);
  default: return step_run_value(s, step);
  }
}

bool step_run(step_state *s, int first, int n) {
  for (int i = first; i < first + n; i++) {
    if (!run_one(s, i)) return false;
    i += s->kernel->step[i].body + s->kernel->step[i].otherwise;
  }
  return true;
}

/* ---- the whole ---- */

static int64_t place_count(const step_state *s, const plan_place *place) {
  return place->digit >= 0 ? step_number(s, &place->count) : (int64_t)1 << place->bits;
}

static bool run_block(step_state *s) {
  int64_t left = s->block;
  s->grid = 0;
  s->turn = -1;
  memset(s->upper, 0, sizeof s->upper);
  for (int i = 0; i < s->kernel->n_places && !s->kernel->flat; i++) {
    const plan_place *place = &s->kernel->place[i];
    int64_t at = left % place_count(s, place);
    if (place->digit >= 0) s->upper[place->digit] = at;
    else s->grid = (uint64_t)at;
    left /= place_count(s, place);
  }
  /* What no step has made yet is not defined. */
  for (int v = 0; v < s->kernel->n_values; v++)
    for (int64_t i = 0; i < step_places_of(s, v); i++)
      s->value[v][i] = (step_element){0, ~(uint64_t)0};
  return step_run(s, 0, s->kernel->n_steps);
}

bool step_reference(const step_case *c, unsigned char *const memory[STEP_TENSORS],
                    unsigned char *const open[STEP_TENSORS], char message[160]) {
  step_state s = {.c = c, .kernel = &c->kernel, .memory = memory, .open = open, .message = message};
  int64_t blocks = 1;
  bool right = true;
  for (int v = 0; v < c->kernel.n_values; v++)
    s.value[v] = malloc((size_t)step_places_of(&s, v) * sizeof(step_element));
  s.shared = calloc(((size_t)c->kernel.launch.shared_bytes * 2 << c->kernel.cluster_bits) + 1,
                    sizeof *s.shared);
  for (int i = 0; i < c->kernel.n_places; i++) blocks *= place_count(&s, &c->kernel.place[i]);
  if (c->kernel.flat)
    blocks = bits_ceil_div(step_number(&s, &c->kernel.flat_elements), c->kernel.panel.positions);
  step_begin_lookback(&s);
  for (s.block = 0; s.block < blocks && right; s.block++) right = run_block(&s);
  for (int v = 0; v < c->kernel.n_values; v++) free(s.value[v]);
  free(s.shared);
  free(s.cells);
  free(s.panel);
  free(s.in_panel);
  return right;
}
