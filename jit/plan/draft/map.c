/* Value maps in a plan: which steps they are and where they stand. Each makes a value of the same
 * layout from another, so they may stand before or after the exchange, which moves the narrower
 * elements. */
#include "jit/plan/draft/draft.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/types/number.h"

#include <string.h>

#define WORD_LOG2_BITS 5

/* ---- the list ---- */

llrt_status draft_map(plan_kernel *kernel, plan_map map, uint8_t *number) {
  if (kernel->n_maps == PLAN_MAX_MAPS)
    return llrt_error(LLRT_UNSUPPORTED, "a kernel of more than %d maps", PLAN_MAX_MAPS);
  *number = (uint8_t)kernel->n_maps;
  kernel->map[kernel->n_maps++] = map;
  return LLRT_OK;
}

/* Appends a map of elements of type `from`; *from becomes its result's. */
static void add_map(plan_kernel *kernel, plan_map map, llrt_dtype to, llrt_dtype *from) {
  map.from = (uint8_t)*from;
  map.to = (uint8_t)to;
  kernel->map[kernel->n_maps++] = map;
  *from = to;
}

static plan_map word_bits(const llrt_map *map) {
  plan_map out = {.kind = PLAN_MAP_WORD_BITS};
  memcpy(out.perm, map->perm, sizeof out.perm);
  return out;
}

/* How many maps come before the exchange: all that make elements no wider, and of words none. */
static int before_exchange(const plan_kernel *kernel) {
  int n = kernel->n_maps, words = n > 0 && kernel->map[n - 1].kind == PLAN_MAP_WORD_BITS;
  for (int i = 0; i < n; i++)
    if (kernel->tensor_bits[1] > kernel->tensor_bits[0] && kernel->map[i].from != kernel->map[i].to)
      return i;
  return n - words;
}

llrt_status draft_maps(draft *d) {
  const plan_map cast = {.kind = PLAN_MAP_CAST};
  const op_description *desc = d->desc;
  plan_kernel *kernel = d->kernel;
  llrt_dtype at = desc->tensors[0].dtype, to = desc->tensors[1].dtype;
  if (kernel->split_128) at = to = LLRT_B64; /* what moves, and has whole words, too */
  for (int i = 0; i < desc->n_maps; i++) {
    const llrt_map *map = &desc->maps[i];
    if (map->kind == LLRT_MAP_XOR && kernel->split_128)
      return llrt_error(LLRT_UNSUPPORTED,
                        "map %d: XOR is for elements of up to 64 bits, not of 128", i);
    if (map->kind == LLRT_MAP_XOR) {
      add_map(kernel, (plan_map){.kind = PLAN_MAP_XOR, .constant = map->constant}, at, &at);
    } else if (map->kind == LLRT_MAP_SCALE) {
      uint8_t type = (uint8_t)desc->tensors[SCALE_TENSOR].dtype;
      add_map(kernel, (plan_map){.kind = PLAN_MAP_SCALE, .scale = type}, to, &at);
    } else {
      if (at != to) add_map(kernel, cast, to, &at);
      add_map(kernel, word_bits(map), to, &at);
      d->word_elements = bits_max(WORD_LOG2_BITS - bits_log2(kernel->tensor_bits[1]), 0);
    }
  }
  if (at != to) add_map(kernel, cast, to, &at);
  d->maps_before = before_exchange(kernel);
  return LLRT_OK;
}

/* Stores exchange the halves of bytes behind the maps: bit i of what they store is bit i ^ 4 of
 * memory. */
void draft_swap_words(const draft *d) {
  plan_kernel *kernel = d->kernel;
  for (int i = 0; i < kernel->n_maps && kernel->high_first[PLAN_DESTINATION]; i++) {
    plan_map *map = &kernel->map[i], before = *map;
    for (int bit = 0; bit < 32 && map->kind == PLAN_MAP_WORD_BITS; bit++)
      map->perm[bit] = before.perm[bit ^ 4] ^ 4;
  }
}

/* ---- steps ---- */

int draft_word_of(const draft *d, int bits) {
  int word = d->kernel->target.word_bits ? d->kernel->target.word_bits : 8;
  return bits_max(bits_log2(word) - bits_log2(bits), 0);
}

plan_value draft_retyped(const draft *d, const plan_value *value, int bits) {
  plan_value out = *value;
  out.bits = (uint8_t)bits;
  out.word = (uint8_t)bits_min(draft_word_of(d, bits), plan_value_bits(value, PLAN_REGISTER));
  return out;
}

llrt_status draft_map_steps(draft *d, int first, int n, bool masked, int *value) {
  plan_kernel *kernel = d->kernel;
  for (int i = first; i < first + n; i++) {
    plan_value made = kernel->value[*value];
    const plan_map *map = &kernel->map[i];
    plan_step step = {.kind = PLAN_MAP, .in = (uint8_t)*value, .map = (uint8_t)i};
    if (map->kind == PLAN_MAP_SCALE) {
      step.tensor = SCALE_TENSOR;
      step.masked = masked;
    }
    if (map->from != map->to) made = draft_retyped(d, &made, llrt_dtype_bits((llrt_dtype)map->to));
    LLRT_TRY(draft_value(kernel, &made, value));
    step.out = (uint8_t)*value;
    LLRT_TRY(draft_step(kernel, step));
  }
  return LLRT_OK;
}

llrt_status draft_retype(draft *d, plan_map map, int *value) {
  uint8_t number;
  if (map.kind == PLAN_MAP_CAST && map.from == map.to) return LLRT_OK;
  LLRT_TRY(draft_map(d->kernel, map, &number));
  return draft_map_steps(d, number, 1, false, value);
}

llrt_status draft_cast(draft *d, llrt_dtype from, llrt_dtype to, int *value) {
  return draft_retype(
      d, (plan_map){.kind = PLAN_MAP_CAST, .from = (uint8_t)from, .to = (uint8_t)to}, value);
}

/* ---- pads ---- */

static llrt_status uncast(const plan_map *map, uint64_t *value) {
  const number_format *from = number_format_of((llrt_dtype)map->from);
  const number_format *to = number_format_of((llrt_dtype)map->to);
  uint64_t wanted = *value & bits_mask(to->bits);
  *value = number_code(from, number_value(to, wanted));
  if (number_code(to, number_value(from, *value)) == wanted) return LLRT_OK;
  return llrt_error(LLRT_UNSUPPORTED,
                    "no %s becomes the destination's pad value %#llx (%s) in the cast",
                    llrt_dtype_name((llrt_dtype)map->from), (unsigned long long)wanted,
                    llrt_dtype_name((llrt_dtype)map->to));
}

llrt_status draft_unmap(const plan_kernel *kernel, uint64_t value, uint64_t *unmapped) {
  for (int i = kernel->n_maps - 1; i >= 0; i--) {
    const plan_map *map = &kernel->map[i];
    if (map->kind == PLAN_MAP_XOR) value ^= map->constant;
    if (map->kind == PLAN_MAP_CAST) LLRT_TRY(uncast(map, &value));
    if (map->kind == PLAN_MAP_SCALE && value != 0)
      return llrt_error(LLRT_UNSUPPORTED, "pads of scaled elements can only be 0");
  }
  *unmapped = value & bits_mask(kernel->tensor_bits[0]);
  return LLRT_OK;
}
