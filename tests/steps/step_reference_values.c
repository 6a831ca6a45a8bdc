/* Steps that make values of values, as docs/steps.md defines them. */
#include "step_state.h"

#include "base/bits.h"
#include "layout/f2.h"
#include "tests/number_reference.h"

#include <stdlib.h>

/* ---- moving elements ---- */

/* out(y) = in(y), from the same `places` places: those of a thread, of a warp. */
static bool take(step_state *s, const plan_step *step, int extra_bits) {
  int64_t from = step_registers_of(s, step->in) << extra_bits, to = step_registers_of(s, step->out)
                                                                    << extra_bits;
  for (int64_t at = 0; at < step_places_of(s, step->out); at++) {
    bool found = false;
    for (int64_t i = at / to * from; i < (at / to + 1) * from && !found; i++) {
      found = step_own_tile(s, step->in, i) == step_own_tile(s, step->out, at);
      if (found) s->value[step->out][at] = s->value[step->in][i];
    }
    if (!found)
      return step_fail(s, "element %lld of v%d is out of reach", (long long)at, step->out);
  }
  return true;
}

/* ---- elements by coordinate ---- */

/* The elements of a value by coordinate of its own tile; those of a value that is reduced stand
 * where the others' bits are 0. */
step_element *step_by_tile(const step_state *s, int value) {
  step_element *found = calloc((size_t)1 << s->kernel->space.in[0].bits, sizeof *found);
  for (int64_t at = 0; at < step_places_of(s, value); at++)
    found[step_tile(s, value, at)] = s->value[value][at];
  return found;
}

/* The kernel's tile bits that a value has. */
uint64_t step_bits_of(const step_state *s, int value) {
  uint64_t mask = 0;
  for (int i = 0, own = s->kernel->value[value].layout.out[0].bits; own > 0; i++)
    if (!(s->kernel->value[value].reduced >> i & 1)) mask |= 1ull << i, own--;
  return mask;
}

/* out(x) = in(x with the coordinate along an axis that `second` names). */
static bool gather(step_state *s, const plan_step *step) {
  step_element *all = step_by_tile(s, step->in);
  uint64_t mask = bits_mask(step->axis_bits) << step->axis;
  for (int64_t at = 0; at < step_places_of(s, step->out); at++) {
    uint64_t wanted = (step_tile(s, step->out, at) & ~mask) |
                      (s->value[step->second][at].bits << step->axis & mask);
    s->value[step->out][at] = all[wanted];
  }
  free(all);
  return true;
}

/* ---- maps ---- */

static double activated(const plan_map *map, double x) {
  if (map->kind == PLAN_MAP_RELU) return x < 0 ? 0 : x;
  if (map->kind == PLAN_MAP_MULTIPLY)
    return x * reference_decode((llrt_dtype)map->from, map->constant);
  if (map->kind == PLAN_MAP_GELU) return x * (1 + erf(x / sqrt(2))) / 2;
  return x / (1 + exp(-x));
}

static uint64_t mapped(const plan_map *map, uint64_t code, uint64_t scale) {
  llrt_dtype from = (llrt_dtype)map->from, to = (llrt_dtype)map->to;
  double x = map->kind == PLAN_MAP_XOR ? 0 : reference_decode(from, code);
  bool wide = from == LLRT_F64 || to == LLRT_F64 || from == LLRT_I32 || from == LLRT_U32 ||
              to == LLRT_I32 || to == LLRT_U32;
  switch ((plan_map_kind)map->kind) {
  case PLAN_MAP_XOR: return code ^ (map->constant & bits_mask(llrt_dtype_bits(from)));
  case PLAN_MAP_TRUTH: return x != 0; /* of NaN true */
  case PLAN_MAP_CAST: return reference_encode(to, x);
  case PLAN_MAP_SCALE: {
    double by = reference_decode((llrt_dtype)map->scale, scale),
           made = map->subtracts ? x - by : ldexp(x * by, -map->shift);
    return reference_encode(to, wide ? made : (double)(float)made);
  }
  default:
    if (map->kind == PLAN_MAP_RELU && !(x < 0)) return code;
    return reference_encode(to, activated(map, x));
  }
}

/* Bits of 32-bit words, which the lowest register bits, on the host the lowest lanes behind those
 * of a word, number. */
static bool permute_words(step_state *s, const plan_step *step, const plan_map *map) {
  const plan_value *value = &s->kernel->value[step->in];
  int bits = value->bits, registers = value->layout.in[0].bits,
      inside = s->kernel->target.simd_lanes ? value->word : registers;
  for (int64_t at = 0; at < step_places_of(s, step->in); at++) {
    uint64_t made = 0;
    for (int b = 0; b < bits;
         b++) { /* bit b of the element is bit `to` of its word, or of one of its words */
      int number = 0, places = bits < 32 ? 5 - bits_log2(bits) : 0;
      for (int i = 0; i < places; i++)
        number |= (int)(at >> (i < inside ? i : registers + i - inside) & 1) << i;
      int from = map->perm[(number * bits + b) % 32], element = from / bits;
      int64_t source = at;
      for (int i = 0; i < places; i++) {
        int bit = i < inside ? i : registers + i - inside;
        source = (source & ~((int64_t)1 << bit)) | (int64_t)(element >> i & 1) << bit;
      }
      int within = bits < 32 ? from % bits : (b & 32) + from;
      made |= (s->value[step->in][source].bits >> within & 1) << b;
    }
    s->value[step->out][at] = (step_element){made, 0};
  }
  return true;
}

static bool map_all(step_state *s, const plan_step *step) {
  const plan_map *map = &s->kernel->map[step->map];
  if (map->kind == PLAN_MAP_WORD_BITS) return permute_words(s, step, map);
  step_element *scales = step->by_value ? step_by_tile(s, step->second) : NULL;
  for (int64_t at = 0; at < step_places_of(s, step->in); at++) {
    uint64_t tile = step_tile(s, step->in, at), scale = 0;
    int64_t position[PLAN_MAX_DIGITS];
    if (scales) scale = scales[tile & step_bits_of(s, step->second)].bits;
    else if (map->kind == PLAN_MAP_SCALE) {
      step_position(s, tile, position);
      scale = step_read(s, step->tensor, step_offset(s, step->tensor, position)).bits;
    }
    s->value[step->out][at] = (step_element){mapped(map, s->value[step->in][at].bits, scale), 0};
  }
  free(scales);
  return true;
}

/* ---- combining ---- */

static double lesser(double a, double b) { return a < b || (a == b && signbit(a)) ? a : b; }

static uint64_t joined_floats(int op, llrt_dtype type, uint64_t a, uint64_t b) {
  double x = reference_decode(type, a), y = reference_decode(type, b);
  if (op == LLRT_COMBINE_SUM) return reference_encode(type, x + y);
  if (op == LLRT_COMBINE_PROD) return reference_encode(type, x * y);
  if (isnan(x) || isnan(y)) return reference_encode(type, (double)NAN);
  return lesser(x, y) == x ? (op == LLRT_COMBINE_MIN ? a : b) : op == LLRT_COMBINE_MIN ? b : a;
}

/* a, which stands before b, joined with b. */
static uint64_t joined(int op, llrt_dtype type, uint64_t a, uint64_t b) {
  int bits = llrt_dtype_bits(type);
  bool is_signed = type == LLRT_I32 || type == LLRT_I64;
  if (type == LLRT_F32 || type == LLRT_F64 || bits == 16) return joined_floats(op, type, a, b);
  int64_t x = (int64_t)(a << (64 - bits)) >> (64 - bits),
          y = (int64_t)(b << (64 - bits)) >> (64 - bits);
  bool less = is_signed ? x < y : a < b;
  switch (op) {
  case LLRT_COMBINE_SUM: return (a + b) & bits_mask(bits);
  case LLRT_COMBINE_PROD: return (a * b) & bits_mask(bits);
  case LLRT_COMBINE_MIN: return less ? a : b;
  case LLRT_COMBINE_MAX: return less ? b : a;
  case LLRT_COMBINE_ANY: return a | b;
  case LLRT_COMBINE_ALL: return a & b;
  default:
    return ((a & 0xFFFF) * (b & 0xFFFF) & 0xFFFF) |
           (((b & 0xFFFF) * (a >> 16) + (b >> 16)) & 0xFFFF) << 16;
  }
}

/* What changes nothing that it is joined with; of a sum of floats that is -0. */
static uint64_t neutral(int op, llrt_dtype type) {
  int bits = llrt_dtype_bits(type);
  uint64_t top = 1ull << (bits - 1);
  bool is_signed = type == LLRT_I32 || type == LLRT_I64,
       is_float = type == LLRT_F32 || type == LLRT_F64;
  switch (op) {
  case LLRT_COMBINE_SUM: return is_float ? top : 0;
  case LLRT_COMBINE_PROD: return is_float ? reference_encode(type, 1) : 1;
  case LLRT_COMBINE_ARGMIN:
  case LLRT_COMBINE_MIN:
    return is_float    ? (type == LLRT_F32 ? 0x7F800000 : 0x7FF0000000000000)
           : is_signed ? top - 1
                       : bits_mask(bits);
  case LLRT_COMBINE_ARGMAX:
  case LLRT_COMBINE_MAX:
    return is_float ? (type == LLRT_F32 ? 0xFF800000 : 0xFFF0000000000000) : is_signed ? top : 0;
  case LLRT_COMBINE_ANY: return 0;
  case LLRT_COMBINE_ALL: return 1;
  default: return 1;
  }
}

uint64_t step_neutral(const plan_step *step) {
  return neutral(step->combiner, (llrt_dtype)step->type);
}

static uint64_t join(const plan_step *step, uint64_t a, uint64_t b) {
  return joined(step->combiner, (llrt_dtype)step->type, a, b);
}

static bool fill(step_state *s, const plan_step *step) {
  uint64_t code = neutral(step->combiner, (llrt_dtype)step->type);
  if (step->exclusive && step->combiner == LLRT_COMBINE_SUM) code = 0;
  for (int64_t at = 0; at < step_places_of(s, step->out); at++) {
    s->value[step->out][at] = (step_element){code, 0};
    if (step->pairs) s->value[step->index_out][at] = (step_element){0, 0};
  }
  return true;
}

/* ---- pairs ---- */

typedef struct pair {
  uint64_t key;
  int64_t at;
} pair;

static pair pair_at(const step_state *s, int key, int index, int64_t at) {
  uint64_t position = s->value[index][at].bits;
  int unused = 64 - s->kernel->value[index].bits;
  return (pair){s->value[key][at].bits, (int64_t)(position << unused) >> unused};
}

/* The better key's; of equally good ones the lower position's. */
static pair better(const plan_step *step, pair a, pair b) {
  llrt_dtype type = (llrt_dtype)step->type;
  int bits = llrt_dtype_bits(type), unused = 64 - bits;
  bool is_float = type == LLRT_F32 || type == LLRT_F64,
       is_signed = type == LLRT_I32 || type == LLRT_I64, less, equal;
  if (is_float) {
    double x = reference_decode(type, a.key), y = reference_decode(type, b.key);
    less = x < y, equal = x == y;
  } else {
    int64_t x = (int64_t)(a.key << unused) >> unused, y = (int64_t)(b.key << unused) >> unused;
    less = is_signed ? x < y : a.key < b.key, equal = a.key == b.key;
  }
  bool first = equal ? a.at < b.at : step->combiner == LLRT_COMBINE_ARGMIN ? less : !less;
  return first ? a : b;
}

static void put_pair(step_state *s, const plan_step *step, int64_t at, pair made) {
  s->value[step->out][at] = (step_element){made.key, 0};
  s->value[step->index_out][at] =
      (step_element){(uint64_t)made.at & bits_mask(s->kernel->value[step->index_out].bits), 0};
}

static bool join_pairs(step_state *s, const plan_step *step) {
  for (int64_t at = 0; at < step_places_of(s, step->out); at++)
    put_pair(s, step, at,
             better(step, pair_at(s, step->in, step->index_in, at),
                    pair_at(s, step->with, step->index_with, at)));
  return true;
}

/* Of those whose coordinates agree in the bits that the result has the best, whatever their order.
 */
static bool fold_pairs(step_state *s, const plan_step *step) {
  int kept = s->kernel->value[step->out].layout.out[0].bits;
  for (int64_t at = 0; at < step_places_of(s, step->out); at++) {
    pair best = {0, 0};
    bool some = false;
    for (int64_t i = 0; i < step_places_of(s, step->in); i++) {
      if ((step_own_tile(s, step->in, i) & bits_mask(kept)) != step_own_tile(s, step->out, at))
        continue;
      pair own = pair_at(s, step->in, step->index_in, i);
      best = some ? better(step, best, own) : own;
      some = true;
    }
    put_pair(s, step, at, best);
  }
  return true;
}

/* Operands that are reduced along more stand for all elements along it. */
static bool join_values(step_state *s, const plan_step *step, int second) {
  step_element *first = step_by_tile(s, step->in), *other = step_by_tile(s, second);
  for (int64_t at = 0; at < step_places_of(s, step->out); at++) {
    uint64_t tile = step_tile(s, step->out, at);
    uint64_t a = first[tile & step_bits_of(s, step->in)].bits,
             b = other[tile & step_bits_of(s, second)].bits;
    s->value[step->out][at] = (step_element){join(step, a, b), 0};
  }
  free(first);
  free(other);
  return true;
}

/* Elements whose coordinates agree in the bits that the result has, the lowest of the others first.
 */
static bool fold(step_state *s, const plan_step *step) {
  int kept = s->kernel->value[step->out].layout.out[0].bits,
      n = s->kernel->value[step->in].layout.out[0].bits - kept;
  step_element *all = calloc((size_t)1 << (kept + n), sizeof *all);
  for (int64_t at = 0; at < step_places_of(s, step->in); at++) {
    step_element *own = &all[step_own_tile(s, step->in, at)];
    *own = s->value[step->in][at];
    if (step->sizes) own->bits &= 0x7FFF;
  }
  for (int64_t at = 0; at < step_places_of(s, step->out); at++) {
    uint64_t tile = step_own_tile(s, step->out, at), made = all[tile].bits;
    for (uint64_t k = 1; k < 1ull << n; k++) made = join(step, made, all[tile | k << kept].bits);
    s->value[step->out][at] = (step_element){made, 0};
  }
  free(all);
  return true;
}

static uint64_t along(const plan_order *order, uint64_t k) {
  uint64_t tile = 0;
  for (int i = 0; i < order->n; i++) tile |= (k >> i & 1) << order->bit[i];
  return tile;
}

/* What is before position k, or with `own` up to it, from the first element on. */
static uint64_t scanned(const step_state *s, const plan_step *step, const step_element *all,
                        uint64_t line, uint64_t k, bool own) {
  const plan_order *order = &s->kernel->order[step->order];
  uint64_t made = neutral(step->combiner, (llrt_dtype)step->type), n = 1ull << order->n;
  bool some = false;
  for (uint64_t i = step->reverse ? k : 0; i < (step->reverse ? n : k + 1); i++) {
    if (i == k && !own) continue;
    uint64_t element = all[line | along(order, i)].bits;
    made = some ? join(step, made, element) : element;
    some = true;
  }
  return made;
}

static bool scan(step_state *s, const plan_step *step) {
  const plan_order *order = &s->kernel->order[step->order];
  step_element *all = step_by_tile(s, step->in);
  uint64_t mask = along(order, bits_mask(order->n)), last = step->reverse ? 0 : bits_mask(order->n);
  for (int64_t at = 0; at < step_places_of(s, step->out); at++) {
    uint64_t tile = step_tile(s, step->out, at), k = 0;
    for (int i = 0; i < order->n; i++) k |= (tile >> order->bit[i] & 1) << i;
    s->value[step->out][at] =
        (step_element){scanned(s, step, all, tile & ~mask, k, !step->exclusive), 0};
  }
  for (int64_t at = 0; at < step_places_of(s, step->total); at++) {
    uint64_t tile = step_tile(s, step->total, at);
    s->value[step->total][at] = (step_element){scanned(s, step, all, tile, last, true), 0};
  }
  free(all);
  return true;
}

/* Positions count the coordinates of some axes, each so many times; relative to the thread's
 * register 0. */
static int64_t position_of(const step_state *s, int value, int64_t at) {
  int64_t position[PLAN_MAX_DIGITS], sum = 0;
  step_position(s, step_tile(s, value, at), position);
  for (int i = 0; i < s->kernel->n_digits; i++) {
    const plan_digit *digit = &s->kernel->digit[i];
    if (digit->axis >= 0 && s->kernel->position_axes >> digit->axis & 1)
      sum += position[i] * digit->step * step_number(s, &s->kernel->position[digit->axis]);
  }
  return sum;
}

static bool positions(step_state *s, const plan_step *step) {
  bool add = step->kind == PLAN_POSITION_ADD;
  int like = add ? step->with : step->out;
  for (int64_t at = 0; at < step_places_of(s, step->out); at++) {
    int64_t first = at / step_registers_of(s, like) * step_registers_of(s, like),
            made = position_of(s, step->out, at);
    if (add) made = (int64_t)s->value[step->in][at].bits + position_of(s, like, first);
    else if (step->relative) made -= position_of(s, step->out, first);
    s->value[step->out][at] =
        (step_element){(uint64_t)made & bits_mask(s->kernel->value[step->out].bits), 0};
  }
  return true;
}

static bool copy(step_state *s, const plan_step *step) {
  for (int64_t at = 0; at < step_places_of(s, step->out); at++)
    s->value[step->out][at] = s->value[step->in][at];
  return true;
}

bool step_run_value(step_state *s, const plan_step *step) {
  switch ((plan_step_kind)step->kind) {
  case PLAN_MAP: return map_all(s, step);
  case PLAN_FILL: return fill(s, step);
  case PLAN_JOIN: return step->pairs ? join_pairs(s, step) : join_values(s, step, step->with);
  case PLAN_PREFIX: return join_values(s, step, step->second);
  case PLAN_FOLD:
  case PLAN_FOLD_LANES: return step->pairs ? fold_pairs(s, step) : fold(s, step);
  case PLAN_SCAN: return scan(s, step);
  case PLAN_POSITION:
  case PLAN_POSITION_ADD: return positions(s, step);
  case PLAN_GATHER: return gather(s, step);
  case PLAN_OPAQUE: return copy(s, step);
  case PLAN_PICK: return take(s, step, 0);
  case PLAN_REGISTERS:
  case PLAN_SPREAD: return take(s, step, 0);
  case PLAN_SHUFFLE: return take(s, step, s->kernel->lane_bits);
  default: return step_run_shared(s, step);
  }
}
