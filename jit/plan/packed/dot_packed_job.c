/* Whether a dot's weights are packed, and what multiplies them: see dot_packed_kernel.h. */
#include "jit/plan/packed/dot_packed_kernel.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/dot/dot.h"
#include "jit/plan/types/dot_packed.h"
#include "layout/storage_rule.h"

#include <math.h>
#include <string.h>

/* Whether elements of W have scales, which do not stand on sums. */
static bool is_scaled(const dot_job *job) {
  return job->tensor[LLRT_DOT_SCALE_B] >= 0 && !job->scaled_sums[1];
}

/* Whether what stands on A and W can be done where these kernels do it: scales and zero points of W
 * as it is decoded, others on sums. */
static bool has_kernel(const dot_job *job) {
  const int *tensor = job->tensor;
  return !job->words[0] && (tensor[LLRT_DOT_ZERO_B] < 0 || is_scaled(job)) &&
         tensor[LLRT_DOT_ZERO_A] < 0 && (tensor[LLRT_DOT_SCALE_A] < 0 || job->scaled_sums[0]) &&
         job->rule.sums == LLRT_F32;
}

/* ---- where elements of W lie ---- */

/* Coordinate bits that a lane of mma m16n8k16 has of W^T, its first operand: what a word of 8
 * elements has to be, one of 4 the first two of them; then of an instruction of 8 bits. */
#define WORD_BITS 3
#define WORD_ELEMENTS (1 << WORD_BITS)
#define ACCESS_BYTES 16
typedef struct word_bit {
  int axis, position;
} word_bit;
static const word_bit word_bits[2][WORD_BITS] = {{{PACKED_K, 0}, {PACKED_N, 3}, {PACKED_K, 3}},
                                                 {{PACKED_K, 0}, {PACKED_K, 1}, {PACKED_N, 3}}};

/* The offset bit of position 2^p of an axis, of a storage in canonical form; -1: there is no such
 * bit. */
static int offset_bit(const llrt_storage *storage, int axis, int p) {
  int inside = storage_tile_bits(storage, axis);
  for (int i = 0; p < inside && i < llrt_layout_in_bits(&storage->tile); i++)
    if (storage->tile.column[i] == 1ull << (llrt_layout_out_shift(&storage->tile, axis) + p))
      return i;
  p -= inside;
  for (int i = 0; p >= 0 && i < storage->n_digits; i++) {
    const llrt_digit *digit = &storage->digit[i];
    bool rest = digit->extent == LLRT_EXTENT_REST;
    if (digit->axis != axis) continue;
    if (digit->reversed || digit->target || !(rest || bits_is_power_of_two(digit->extent)))
      return -1;
    int n = rest ? p + 1 : bits_log2(digit->extent);
    if (p >= n) p -= n;
    else
      return storage_stride_is_number(digit) && bits_is_power_of_two(digit->stride)
                 ? bits_log2(digit->stride) + p
                 : -1;
  }
  return -1;
}

/* Whether offsets add up out of bits of the coordinates, and pads are zeros. */
static bool is_plain(const llrt_storage *storage) {
  if (storage_has_swizzle(storage) || storage_has_reversed(storage) || storage->n_targets)
    return false;
  if (storage->offset[0] % WORD_ELEMENTS || storage->pad == LLRT_PAD_KEEP || storage->pad_value)
    return false;
  for (int i = 0; i < llrt_layout_in_bits(&storage->tile); i++)
    if (!bits_is_power_of_two((int64_t)storage->tile.column[i])) return false;
  return true;
}

/* Bit `at` of words that elements form in their order comes from `from[at]` of words in memory. */
static void compose_words(packed *p, const int place[WORD_BITS], int n) {
  uint8_t *from = p->job.desc.dot.word_bits[1], made[32];
  const int bits = 32 >> n;
  for (int i = 0; i < 32; i++) {
    int element = 0;
    for (int j = 0; j < n; j++) element |= (i / bits >> j & 1) << place[j];
    int at = bits * element + i % bits;
    made[i] = p->job.words[1] ? from[at] : (uint8_t)at;
  }
  memcpy(from, made, sizeof made);
  p->job.words[1] = true;
}

/* Exchanges a word's n bits in the tile, so that they stand in our order. */
static void order_words(const packed *p, const word_bit *bits, int n, llrt_storage *storage) {
  for (int j = 0; j < n; j++) {
    int axis = packed_axis(&p->job, bits[j].axis);
    storage->tile.column[j] = 1ull
                              << (llrt_layout_out_shift(&storage->tile, axis) + bits[j].position);
  }
}

/* Whether words of W are what a lane multiplies, whatever order their elements have, and wherever
 * words lie. Those of another order than ours are read in ours, and their bits brought there as
 * words of permuted bits are. */
static bool find_words(packed *p, int tensor, bool bytes) {
  const word_bit *bits = word_bits[bytes];
  const llrt_storage *storage = p->job.desc.tensors[tensor].storage;
  llrt_storage canonical;
  int place[WORD_BITS], seen = 0, width = llrt_dtype_bits(p->job.desc.tensors[tensor].dtype),
                        in_word = bits_log2(32 / width);
  bool same = true;
  p->bytes = bytes;
  if (storage_canonicalise(storage, &canonical) != LLRT_OK || !is_plain(&canonical)) return false;
  for (int j = 0; j < in_word; j++) {
    place[j] = offset_bit(&canonical, packed_axis(&p->job, bits[j].axis), bits[j].position);
    if (place[j] < 0 || place[j] >= in_word) return false;
    seen |= 1 << place[j];
    same &= place[j] == j;
  }
  p->columns = 0;
  for (int n = 0, access = bits_log2(ACCESS_BYTES * 8 / width); n < LLRT_MAX_BITS; n++) {
    int at = offset_bit(&canonical, packed_axis(&p->job, PACKED_N), n);
    if (at >= 0 && at < access) p->columns = n + 1;
  }
  if (same || seen != (1 << in_word) - 1) return same;
  if (canonical.pad != LLRT_PAD_NONE)
    return false; /* a bound may part a word, whose elements it takes for others */
  p->words = llrt_layout_in_bits(&storage->tile) < in_word ? canonical : *storage;
  if (llrt_layout_in_bits(&p->words.tile) < in_word) return false;
  order_words(p, bits, in_word, &p->words);
  compose_words(p, place, in_word);
  p->job.desc.tensors[tensor].storage = &p->words;
  return true;
}

/* Scales, if there are some, and zero points, which have their groups. */
static bool has_packed_groups(packed *p) {
  const op_description *desc = &p->job.desc;
  const int *tensor = p->job.tensor;
  int weights = tensor[LLRT_DOT_B], scale = tensor[LLRT_DOT_SCALE_B],
      zero = tensor[LLRT_DOT_ZERO_B];
  llrt_storage scales;
  if (!is_scaled(&p->job)) return true;
  int32_t positions = desc->dot.group[scale][packed_axis(&p->job, PACKED_K)];
  p->scale_bits = positions > 0 && bits_is_power_of_two(positions) ? bits_log2(positions) : 0;
  return desc->dot.group[scale][packed_axis(&p->job, PACKED_N)] == 1 &&
         dot_packed_has_scales(desc->tensors[scale].dtype) &&
         dot_packed_scales(p->scale_bits, 0, &scales) == LLRT_OK &&
         (zero < 0 ||
          dot_packed_has_zeros(desc->tensors[weights].dtype, desc->tensors[zero].dtype));
}

static bool is_packed(packed *p) {
  const op_description *desc = &p->job.desc;
  int weights = p->job.tensor[LLRT_DOT_B];
  llrt_dtype type = desc->tensors[weights].dtype;
  return has_kernel(&p->job) && dot_packed_has_elements(type) && has_packed_groups(p) &&
         (find_words(p, weights, false) ||
          (llrt_dtype_bits(type) == 4 && find_words(p, weights, true)));
}

/* Whether all values of W are numbers of a type: those before scales, and those that products with
 * scales give, rounded once. */
static bool holds_weights(const dot_job *job, llrt_dtype type) {
  dot_operand_type scaled = dot_operand_of(&job->desc, LLRT_DOT_B), plain = scaled;
  llrt_dtype rounded = job->rule.b.rounded;
  plain.scale = LLRT_DTYPE_NONE;
  if (!dot_dtype_holds_exactly(type, &plain)) return false;
  if (!is_scaled(job) || rounded == type) return true;
  return dot_dtype_holds_exactly(type, &scaled) && dot_dtype_holds_exactly(rounded, &scaled);
}

/* What the matrix instruction multiplies: A's own type, or one that holds it, where it holds all
 * values of W. NONE: another kernel's. */
static llrt_dtype compute_type(const dot_job *job) {
  static const llrt_dtype types[] = {LLRT_F16, LLRT_BF16};
  llrt_dtype rows = job->desc.tensors[job->tensor[LLRT_DOT_A]].dtype;
  for (int i = 0; i < 2; i++)
    if ((rows == types[i] || rows == LLRT_E4M3 || rows == LLRT_E5M2) &&
        holds_weights(job, types[i]))
      return types[i];
  return LLRT_DTYPE_NONE;
}

/* Weights of bytes as e5m2; rows stay what they are. */
static void choose_bytes(packed *p, const plan_target *target) {
  op_description *desc = &p->job.desc;
  const uint8_t *range = desc->dot.scale_range[1];
  p->compute = LLRT_DTYPE_NONE;
  if (!is_scaled(&p->job)) return;
  llrt_dtype scale = desc->tensors[p->job.tensor[LLRT_DOT_SCALE_B]].dtype;
  llrt_dtype rows = desc->tensors[p->job.tensor[LLRT_DOT_A]].dtype,
             weights = desc->tensors[p->job.tensor[LLRT_DOT_B]].dtype;
  if (!dot_packed_in_bytes(target, weights, scale, rows, range[0], range[1])) return;
  p->compute = LLRT_E5M2;
  p->rows = rows;
  p->short_sums = !desc->dot.fast_accumulate;
  p->shift = dot_packed_shift(range[0], range[1]);
  p->job.shift = p->shift;
}

bool packed_casts_rows(const packed *p) {
  return llrt_dtype_bits(p->job.desc.tensors[p->operand[PACKED_ROWS].tensor].dtype) <
         llrt_dtype_bits(p->rows);
}

#define BESIDE_ROWS \
  7 /* log2, of an instruction whose sums stand beside those of all turns: both are registers */

int packed_instruction(const packed *p, const plan_target *target, bool warpgroups, int rows) {
  int k = p->bytes ? 5 : 4;
  if (p->short_sums && rows > BESIDE_ROWS) rows = BESIDE_ROWS;
  for (int i = 0; i < dot_instruction_count(); i++) {
    const dot_instruction *row = dot_instruction_at(i);
    bool fits = warpgroups ? row->family == DOT_WGMMA && row->n == rows
                           : row->family == DOT_MMA && row->m == 4 && row->n == 3;
    if (fits && row->a == p->compute && row->b == p->rows && row->k == k &&
        dot_instruction_is_of(row, target))
      return i;
  }
  return -1;
}

bool packed_begin(packed *p, const plan_target *target, const char **why) {
  *why = "the target has no instructions for words in their order";
  if (!target->packed_weights) return false;
  *why = "B's storage, or its scales' and zero points', is not what llrt_dot_pack gives";
  if (!is_packed(p)) return false;
  *why = "D has pads that are written";
  if (p->job.desc.tensors[p->job.tensor[LLRT_DOT_D]].storage->pad == LLRT_PAD_VALUE)
    return false; /* no kernel here writes D's pads */
  *why = "no matrix instruction multiplies these types exactly";
  p->compute = p->rows = compute_type(&p->job);
  if (p->bytes) choose_bytes(p, target);
  static const int roles[] = {LLRT_DOT_B, LLRT_DOT_SCALE_B, LLRT_DOT_ZERO_B, LLRT_DOT_A};
  for (int i = 0; i < PACKED_OPERANDS; i++) p->operand[i].tensor = p->job.tensor[roles[i]];
  if (!is_scaled(&p->job)) p->operand[PACKED_SCALES].tensor = -1;
  return p->compute && packed_instruction(p, target, false, 0) >= 0;
}
