/* Steps that make values of values: exchanges, gathers, maps, combining. */
#include "jit/interpret/interpret.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/facts/eval.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/types/combine.h"
#include "jit/plan/types/number.h"

#include <math.h>
#include <stdlib.h>

/* ---- inside the warp ---- */

/* Every place of the result takes the element of the same tile coordinate from its own thread
 * (REGISTERS) or warp (SHUFFLE): number `group` of those of the result, which have 2^to_bits
 * places, and of the source's of 2^from_bits. */
static llrt_status exchange_group(interpreter *in, const plan_step *step, int64_t group,
                                  int from_bits, int to_bits) {
  int64_t first = group << from_bits, end = (group + 1) << from_bits;
  for (int64_t from = first; from < end; from++)
    in->place[interpreter_tile(in, step->in, from)] = from;
  for (int64_t at = group << to_bits; at < (group + 1) << to_bits; at++) {
    uint64_t wanted = interpreter_tile(in, step->out, at);
    int64_t from = in->place[wanted];
    if (from < first || from >= end || interpreter_tile(in, step->in, from) != wanted)
      return llrt_error(LLRT_INTERNAL, "tile coordinate %llu is not in reach of an exchange",
                        (unsigned long long)wanted);
    in->value[step->out][at] = in->value[step->in][from];
  }
  return LLRT_OK;
}

llrt_status interpret_exchange(interpreter *in, const plan_step *step, bool across_lanes) {
  const plan_kernel *kernel = in->kernel;
  int lanes = across_lanes ? kernel->lane_bits : 0;
  int from_bits = plan_value_bits(&kernel->value[step->in], PLAN_REGISTER) + lanes;
  int to_bits = plan_value_bits(&kernel->value[step->out], PLAN_REGISTER) + lanes;
  for (int64_t group = 0; group << to_bits < interpreter_size(kernel, step->out); group++)
    LLRT_TRY(exchange_group(in, step, group, from_bits, to_bits));
  return LLRT_OK;
}

/* ---- gather ---- */

static llrt_status load_gathered(interpreter *in, const plan_step *step,
                                 const llrt_layout *offset_of, uint64_t wanted, uint64_t *element) {
  uint64_t offset = llrt_layout_apply_flat(offset_of, wanted);
  offset = offset * in->kernel->buffer[step->buffer].bits / 4;
  if (in->written[offset] == 0 || in->written[offset] >= in->phase)
    return llrt_error(LLRT_INTERNAL, "shared offset %llu is read without a barrier after its write",
                      (unsigned long long)offset);
  *element = in->shared[offset];
  in->read[offset] = in->phase;
  return LLRT_OK;
}

/* Places [first, first + size) of the source by tile coordinate. */
static void place_group(interpreter *in, int value, int64_t first, int64_t size) {
  for (int64_t from = first; from < first + size; from++)
    in->place[interpreter_tile(in, value, from)] = from;
}

/* The element of the same warp whose tile coordinate is `wanted`. */
static llrt_status find_gathered(const interpreter *in, int value, int64_t at, int out_bits,
                                 int in_bits, uint64_t wanted, uint64_t *element) {
  int64_t from = in->place[wanted];
  if (from >> in_bits != at >> out_bits || interpreter_tile(in, value, from) != wanted)
    return llrt_error(LLRT_INTERNAL, "tile coordinate %llu is not in reach of a gather",
                      (unsigned long long)wanted);
  *element = in->value[value][from];
  return LLRT_OK;
}

/* Each element of `out` is that of `in` whose coordinate along the axis is the element of `second`:
 * found in shared memory (staged), else in the registers and lanes of the same warp. */
llrt_status interpret_gather(interpreter *in, const plan_step *step) {
  const plan_kernel *kernel = in->kernel;
  uint64_t mask = bits_mask(step->axis_bits) << step->axis;
  int in_bits = plan_value_bits(&kernel->value[step->in], PLAN_REGISTER) + kernel->lane_bits;
  int out_bits = plan_value_bits(&kernel->value[step->out], PLAN_REGISTER) + kernel->lane_bits;
  llrt_layout offset_of;
  if (step->staged)
    LLRT_TRY(llrt_layout_right_inverse(&kernel->buffer[step->buffer].layout, &offset_of));
  for (int64_t at = 0; at < interpreter_size(kernel, step->out); at++) {
    uint64_t asked = in->value[step->second][at] << step->axis & mask;
    uint64_t wanted = (interpreter_tile(in, step->out, at) & ~mask) | asked,
             *element = &in->value[step->out][at];
    if (!step->staged && (at & (int64_t)bits_mask(out_bits)) == 0)
      place_group(in, step->in, (at >> out_bits) << in_bits, (int64_t)1 << in_bits);
    if (step->staged) LLRT_TRY(load_gathered(in, step, &offset_of, wanted, element));
    else LLRT_TRY(find_gathered(in, step->in, at, out_bits, in_bits, wanted, element));
  }
  return LLRT_OK;
}

/* ---- value maps ---- */

static uint64_t permute_word(const uint8_t perm[32], uint64_t word) {
  uint64_t out = 0;
  for (int i = 0; i < 32; i++) out |= (word >> perm[i] & 1) << i;
  return out;
}

/* Where element i of a 32-bit word lies from its first: `packed` log2 elements side by side, those
 * further on by the stride of lanes (host) or registers (GPU). */
static int64_t word_place(int i, int packed, int64_t stride) {
  return (int64_t)((uint64_t)i & bits_mask(packed)) + (i >> packed) * stride;
}

/* The words of which element `at` is the first. */
static void map_words(interpreter *in, const plan_step *step, int64_t at, int packed,
                      int64_t stride) {
  const uint8_t *perm = in->kernel->map[step->map].perm;
  const uint64_t *from = &in->value[step->in][at];
  uint64_t *to = &in->value[step->out][at], word = 0;
  int bits = in->kernel->value[step->in].bits;
  if (bits >= 32) {
    *to = permute_word(perm, *from & UINT32_MAX) | permute_word(perm, *from >> 32) << 32;
    return;
  }
  for (int i = 0; i < 32 / bits; i++)
    word |= (from[word_place(i, packed, stride)] & bits_mask(bits)) << (i * bits);
  word = permute_word(perm, word);
  for (int i = 0; i < 32 / bits; i++)
    to[word_place(i, packed, stride)] = word >> (i * bits) & bits_mask(bits);
}

/* A map of numbers of f32 or f64 by itself. */
static uint64_t act(const interpreter *in, const plan_map *map, uint64_t code) {
  const number_format *f = number_format_of((llrt_dtype)map->from);
  double x = number_value(f, code), by = 1;
  if (map->kind == PLAN_MAP_RELU) return x < 0 ? 0 : code;
  if (map->kind == PLAN_MAP_MULTIPLY)
    by = number_value(f, map->arg ? in->args[map->arg - 1] : map->constant);
  if (map->arg && by == 0) return 0;
  if (map->kind == PLAN_MAP_GELU) by = 0.5 * erfc(-x / sqrt(2));
  if (map->kind == PLAN_MAP_SILU) by = 1 / (1 + exp(-x));
  return number_code(f, x * by);
}

/* The scale of element `at` of the input that value `second` has. */
static uint64_t scale_by_value(const interpreter *in, const plan_step *step, int64_t at) {
  const plan_value *value = &in->kernel->value[step->in],
                   *scales = &in->kernel->value[step->second];
  int registers = plan_value_bits(value, PLAN_REGISTER);
  uint64_t own = plan_reduced_register(value, scales, (uint64_t)at & bits_mask(registers));
  return in->value[step->second]
                  [(uint64_t)at >> registers << plan_value_bits(scales, PLAN_REGISTER) | own];
}

/* element * scale: the product of two f32 is exact in f64, so it is rounded once. */
static llrt_status scale_element(const interpreter *in, const plan_step *step, int64_t at) {
  const plan_map *map = &in->kernel->map[step->map];
  llrt_dtype from = (llrt_dtype)map->from, to = (llrt_dtype)map->to;
  uint64_t code = 0;
  if (step->by_value) code = scale_by_value(in, step, at);
  else LLRT_TRY(interpreter_load(in, step, interpreter_kernel_tile(in, step->in, at), &code));
  double element =
      number_value(number_format_of(from), in->value[map->words ? step->out : step->in][at]);
  double scale = number_value(number_format_of((llrt_dtype)map->scale), code);
  double product = map->subtracts ? element - scale : ldexp(element * scale, -map->shift);
  if (!number_is_wide(from, to)) product = (double)(float)product;
  in->value[step->out][at] = number_code(number_format_of(to), product);
  return LLRT_OK;
}

llrt_status interpret_map(interpreter *in, const plan_step *step) {
  const plan_kernel *kernel = in->kernel;
  const plan_map *map = &kernel->map[step->map];
  int bits = kernel->value[step->in].bits;
  int64_t stride = 1, elements = bits_max(32 / bits, 1);
  int packed = kernel->target.simd_lanes ? kernel->value[step->in].word : 0;
  if (kernel->target.simd_lanes)
    stride <<= plan_value_bits(&kernel->value[step->in], PLAN_REGISTER);
  for (int64_t at = 0; map->words && at < interpreter_size(kernel, step->in); at += elements)
    map_words(in, step, at, 0, 1);
  for (int64_t at = 0; at < interpreter_size(kernel, step->in); at++) {
    if (map->kind == PLAN_MAP_XOR)
      in->value[step->out][at] = in->value[step->in][at] ^ (map->constant & bits_mask(bits));
    else if (map->kind == PLAN_MAP_SCALE) LLRT_TRY(scale_element(in, step, at));
    else if (map->kind >= PLAN_MAP_MULTIPLY && map->kind <= PLAN_MAP_SILU)
      in->value[step->out][at] = act(in, map, in->value[step->in][at]);
    else if (map->kind == PLAN_MAP_CAST)
      in->value[step->out][at] = number_cast((llrt_dtype)map->from, (llrt_dtype)map->to,
                                             in->value[map->words ? step->out : step->in][at]);
    else if (map->kind == PLAN_MAP_TRUTH)
      in->value[step->out][at] = combine_truth((llrt_dtype)map->from, in->value[step->in][at]);
    else if (!(at & (int64_t)bits_mask(packed)) && at / stride % (elements >> packed) == 0)
      map_words(in, step, at, packed, stride);
  }
  return LLRT_OK;
}

/* ---- combining ---- */

static combine_pair pair_of(const interpreter *in, const plan_step *step, int key, int index,
                            int64_t at) {
  uint64_t position = step->pairs ? in->value[index][at] : 0;
  if (step->pairs && in->kernel->value[index].bits == 32) position = (uint64_t)(int32_t)position;
  uint64_t sign = step->sizes ? 1ull << (in->kernel->value[key].bits - 1) : 0;
  return (combine_pair){in->value[key][at] & ~sign, (int64_t)position};
}

static void put_pair(interpreter *in, const plan_step *step, combine_pair pair, int64_t at) {
  in->value[step->out][at] = pair.key & bits_mask(in->kernel->value[step->out].bits);
  if (step->pairs)
    in->value[step->index_out][at] =
        (uint64_t)pair.index & bits_mask(in->kernel->value[step->index_out].bits);
}

static combine_pair join(const plan_step *step, combine_pair a, combine_pair b) {
  llrt_dtype type = (llrt_dtype)step->type;
  if (step->pairs) return combine_two_pairs(step->combiner, type, a, b);
  return (combine_pair){combine_two(step->combiner, type, a.key, b.key), 0};
}

void interpret_fill(interpreter *in, const plan_step *step) {
  llrt_dtype type = (llrt_dtype)step->type;
  const combine_pair neutral = {step->exclusive
                                    ? combine_empty(step->combiner, (llrt_dtype)step->element, type)
                                    : combine_identity(step->combiner, type),
                                0};
  for (int64_t at = 0; at < interpreter_size(in->kernel, step->out); at++)
    put_pair(in, step, neutral, at);
}

void interpret_combine(interpreter *in, const plan_step *step) {
  for (int64_t at = 0; at < interpreter_size(in->kernel, step->out); at++)
    put_pair(in, step,
             join(step, pair_of(in, step, step->in, step->index_in, at),
                  pair_of(in, step, step->with, step->index_with, at)),
             at);
}

/* The elements at coordinates y + beyond, for all bits beyond the result's tile, as a tree: lowest
 * bit first. known[c] is where the group has coordinate c, or -1. */
static llrt_status fold_at(interpreter *in, const plan_step *step, const int64_t *known, uint64_t y,
                           combine_pair *result) {
  int tile = in->kernel->value[step->out].layout.out[0].bits;
  int n = in->kernel->value[step->in].layout.out[0].bits - tile;
  combine_pair *list = calloc((size_t)1 << n, sizeof *list);
  if (!list) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for the plan interpreter");
  llrt_status status = LLRT_OK;
  int64_t some = 0, held = 0;
  for (int64_t i = 0; i < 1 << n; i++) {
    int64_t at = known[y | (uint64_t)i << tile];
    if (at < 0) continue; /* not in the group: the bits that it holds are a subspace */
    list[held++] = pair_of(in, step, step->in, step->index_in, at);
    some = 1;
  }
  if (!some || !bits_is_power_of_two(held))
    status =
        llrt_error(LLRT_INTERNAL, "a fold finds %lld elements of a coordinate", (long long)held);
  for (; held > 1; held /= 2)
    for (int64_t i = 0; i < held / 2; i++) list[i] = join(step, list[2 * i], list[2 * i + 1]);
  *result = list[0];
  free(list);
  return status;
}

/* Groups are threads, or warps. A value that is folded across lanes lies within a warp's
 * coordinates. */
llrt_status interpret_fold(interpreter *in, const plan_step *step, bool across_lanes) {
  const plan_kernel *kernel = in->kernel;
  int from = plan_value_bits(&kernel->value[step->in], PLAN_REGISTER);
  int to = plan_value_bits(&kernel->value[step->out], PLAN_REGISTER);
  int group = across_lanes ? kernel->lane_bits : 0;
  int64_t size = (int64_t)1 << (from + group), out_size = (int64_t)1 << (to + group);
  int64_t coordinates = (int64_t)1 << kernel->value[step->in].layout.out[0].bits;
  for (int64_t g = 0; g < interpreter_size(kernel, step->in) / size; g++) {
    memset(in->place, 0xFF, (size_t)coordinates * sizeof *in->place);
    for (int64_t i = g * size; i < (g + 1) * size; i++)
      in->place[interpreter_tile(in, step->in, i)] = i;
    for (int64_t i = g * out_size; i < (g + 1) * out_size; i++) {
      combine_pair result;
      LLRT_TRY(fold_at(in, step, in->place, interpreter_tile(in, step->out, i), &result));
      put_pair(in, step, result, i);
    }
  }
  return LLRT_OK;
}

/* Every place of the result takes its element from the same thread. */
void interpret_spread(interpreter *in, const plan_step *step) {
  const plan_kernel *kernel = in->kernel;
  int64_t from = (int64_t)1 << plan_value_bits(&kernel->value[step->in], PLAN_REGISTER);
  int64_t to = (int64_t)1 << plan_value_bits(&kernel->value[step->out], PLAN_REGISTER);
  for (int64_t at = 0; at < interpreter_size(kernel, step->out); at++)
    for (int64_t i = at / to * from; i < (at / to + 1) * from; i++)
      if (interpreter_tile(in, step->in, i) == interpreter_tile(in, step->out, at))
        in->value[step->out][at] = in->value[step->in][i];
}

/* Relative: to the thread's register 0. */
static int64_t position_at(const interpreter *in, int value, int64_t at) {
  int64_t position[PLAN_MAX_DIGITS];
  plan_tile_position(in->kernel, interpreter_tile(in, value, at), in->grid, in->upper, position);
  return plan_position_of(in->kernel, position, in->args);
}

void interpret_position(interpreter *in, const plan_step *step, bool add) {
  const plan_kernel *kernel = in->kernel;
  int laid_out = add ? step->with : step->out;
  int64_t registers = (int64_t)1 << plan_value_bits(&kernel->value[laid_out], PLAN_REGISTER);
  int64_t own = (int64_t)1 << plan_value_bits(&kernel->value[step->out], PLAN_REGISTER);
  for (int64_t at = 0; at < interpreter_size(kernel, step->out); at++) {
    int64_t first = position_at(in, laid_out, at / own * registers);
    int64_t x = add ? first + (int64_t)in->value[step->in][at] : position_at(in, step->out, at);
    if (!add && step->relative) x -= first;
    in->value[step->out][at] = (uint64_t)x & bits_mask(kernel->value[step->out].bits);
  }
}
