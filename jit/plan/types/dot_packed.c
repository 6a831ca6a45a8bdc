/* The storages of packed weights: see dot_packed.h. */
#include "jit/plan/types/dot_packed.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/types/dot_instruction.h"

#include <stdio.h>
#include <string.h>

/* One offset bit: a bit of K (axis 0) or N (axis 1). */
typedef struct offset_bit {
  uint8_t axis, bit;
} offset_bit;

#define K(n) {0, n}
#define N(n) {1, n}

/* Values. A word holds a lane's part of one instruction: W^T is the first operand of mma m16n8k16,
 * whose lanes and registers have k0 | m3 | k3 and k1 k2 m0 m1 m2 of its coordinates, and one of
 * four warps' 16 rows of wgmma m64k16's. K has its own order there, so that activations are read as
 * they lie. A vector of four such words has 64 positions of K with its neighbours; a warp's vectors
 * lie behind each other. */
static const offset_bit values4[] = {K(0), N(3), K(3), K(4), K(5), K(1),
                                     K(2), N(0), N(1), N(2), K(6), K(7)};
/* The same for wgmma m64k32 of 8 bits, of which a word is half of a lane's part: k0 k1 m3 k4 | k2
 * k3 m0 m1 m2. */
static const offset_bit byte_values[] = {K(0), K(1), N(3), K(4), K(5), K(2),
                                         K(3), N(0), N(1), N(2), K(6), K(7)};
/* The same where half of that is a word. */
static const offset_bit values8[] = {K(0), N(3), K(3), K(4), K(1), K(2),
                                     N(0), N(1), N(2), K(5), K(6), K(7)};
/* Scales: a column's lie together, so that the four lanes that have the column read the same. */
static const offset_bit scales[] = {N(3), K(4), K(5), K(6), K(7), N(0), N(1), N(2)};
/* Zero points: a tile's columns lie together, so that copies of a turn's groups, however few, are
 * of 8 bytes or more. */
static const offset_bit zeros[] = {N(3), N(0), N(1), N(2), K(4), K(5), K(6), K(7)};

/* Tiles of those bits side by side, along K first, and those of so many batch axes behind each
 * other; bits of K below `low` are not there. */
static llrt_status make_storage(const offset_bit *bits, int n, int low, int batch,
                                llrt_storage *out) {
  llrt_layout tile = llrt_layout_empty();
  int there = 0, order[LLRT_MAX_RANK] = {batch, batch + 1};
  for (int i = 0; i < n; i++) there += bits[i].axis || bits[i].bit >= low;
  for (int i = 0; i < batch + 2; i++) {
    char name[16];
    snprintf(name, sizeof name, "dim%d", i);
    if (i < batch) order[2 + i] = batch - 1 - i;
    LLRT_TRY(llrt_layout_add_out(&tile, name,
                                 i < batch    ? 0
                                 : i == batch ? DOT_PACKED_K - low
                                              : DOT_PACKED_N));
  }
  LLRT_TRY(llrt_layout_add_in(&tile, "offset", there));
  for (int i = 0, at = 0; i < n; i++) {
    if (!bits[i].axis && bits[i].bit < low) continue;
    tile.column[at++] =
        1ull << (bits[i].axis ? DOT_PACKED_K - low + bits[i].bit : bits[i].bit - low);
  }
  LLRT_TRY(llrt_storage_tiled(&tile, order, out));
  out->pad = LLRT_PAD_VALUE;
  return LLRT_OK;
}

llrt_status dot_packed_values(int bits, bool bytes, int batch, llrt_storage *out) {
  const offset_bit *order = bits == 8 ? values8 : bytes ? byte_values : values4;
  return make_storage(order, (int)(sizeof values4 / sizeof *values4), 0, batch, out);
}

static llrt_status make_groups(const offset_bit *bits, int n, int group, int batch,
                               llrt_storage *out) {
  if (1 << group < DOT_PACKED_LEAST_GROUP || 1 << group > DOT_PACKED_MOST_GROUP)
    return llrt_error(LLRT_UNSUPPORTED,
                      "packed scales and zero points are for groups of %d to %d along K, not of %d",
                      DOT_PACKED_LEAST_GROUP, DOT_PACKED_MOST_GROUP, 1 << group);
  return make_storage(bits, n, group, batch, out);
}

llrt_status dot_packed_scales(int group, int batch, llrt_storage *out) {
  return make_groups(scales, (int)(sizeof scales / sizeof *scales), group, batch, out);
}

llrt_status dot_packed_zeros(int group, int batch, llrt_storage *out) {
  return make_groups(zeros, (int)(sizeof zeros / sizeof *zeros), group, batch, out);
}

static bool is_integer(llrt_dtype type) {
  return type == LLRT_I4 || type == LLRT_U4 || type == LLRT_I8 || type == LLRT_U8;
}

bool dot_packed_has_elements(llrt_dtype element) {
  return is_integer(element) || element == LLRT_E2M1 || element == LLRT_E4M3 ||
         element == LLRT_E5M2;
}

bool dot_packed_has_scales(llrt_dtype scale) {
  return scale == LLRT_E8M0 || scale == LLRT_F16 || scale == LLRT_BF16 || scale == LLRT_E4M3;
}

bool dot_packed_has_zeros(llrt_dtype element, llrt_dtype zero) {
  return is_integer(element) && is_integer(zero);
}

/* Pairs of elements become two 16-bit floats each, by as few shifts and masks as there are
 * (jit/emit/value/emit_unpack.c): where the bits of a pair lie in the halves of a word, 16 and
 * more: in the other element's half.
 *
 * bf16 wants mantissa, exponent and sign at 6, 7, 8 and 15: that is how three pairs lie, but for
 * one rotation each, and the last one but for its mantissa. f16 wants them at 9, 10, 11 and 15: so
 * lies the first, the second a byte lower; of the others, a byte apart too, numbers and signs go by
 * one shift each, together. Integers stay together. */
typedef uint8_t pair_bits[4][4];
static const pair_bits bf16_bits = {{0, 1, 2, 9}, {4, 5, 6, 13}, {10, 11, 12, 19}, {14, 7, 8, 15}};
static const pair_bits f16_bits = {{9, 10, 11, 15}, {1, 2, 3, 7}, {12, 13, 14, 8}, {4, 5, 6, 0}};
static const pair_bits integer_bits = {
    {0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}};

/* As bytes: magnitudes are selectors of a byte permute, four in each half; signs are in their
 * bytes' upper bits, those of the second four behind a shift by 4
 * (jit/emit/value/emit_unpack_bytes.c).
 */
static uint8_t byte_place(int element, int bit) {
  if (bit < 3) return (uint8_t)(4 * element + bit);
  return (uint8_t)(element < 4 ? 8 * element + 7 : 8 * (element - 4) + 3);
}

/* Pairs of 8 bits: integers' in the same byte of both halves, floats' side by side, as instructions
 * take them. */
static int place_of_eight(llrt_dtype element, int bit) {
  int byte = bit / 8;
  return is_integer(element) ? byte % 2 * 16 + byte / 2 * 8 + bit % 8 : bit;
}

void dot_packed_words(llrt_dtype element, llrt_dtype other, bool bytes, uint8_t packed[32],
                      uint8_t formed[32]) {
  bool f16 = other == LLRT_F16 || other == LLRT_E4M3 || other == LLRT_E5M2,
       eight = llrt_dtype_bits(element) == 8;
  const pair_bits *bits = element != LLRT_E2M1 ? &integer_bits : f16 ? &f16_bits : &bf16_bits;
  for (int i = 0; i < 32; i++) {
    int pair = i / 8, half = i / 4 % 2, place = (16 * half + (*bits)[pair][i % 4]) % 32;
    formed[i] = (uint8_t)(eight   ? place_of_eight(element, i)
                          : bytes ? byte_place(i / 4, i % 4)
                                  : place);
    packed[formed[i]] = (uint8_t)i;
  }
}

/* ---- weights as e5m2 ---- */

#define ONE 127 /* of e8m0 */
#define NO_NUMBER 255

int dot_packed_shift(int low, int high) {
  if (low >= ONE - DOT_PACKED_REACH && high <= ONE + DOT_PACKED_REACH) return 0;
  return low + DOT_PACKED_REACH - ONE;
}

bool dot_packed_in_bytes(const plan_target *target, llrt_dtype element, llrt_dtype scale,
                         llrt_dtype other, int low, int high) {
  bool fits = element == LLRT_E2M1 && scale == LLRT_E8M0 && low > 0 && high < NO_NUMBER &&
              high - low <= 2 * DOT_PACKED_REACH;
  bool found = false;
  for (int i = 0; i < dot_instruction_count() && !found; i++) {
    const dot_instruction *row = dot_instruction_at(i);
    found = row->family == DOT_WGMMA && row->a == LLRT_E5M2 && row->b == other &&
            dot_instruction_is_of(row, target);
  }
  return fits && found;
}
