/* The storages of packed weights: see dot_packed.h. */
#include "jit/plan/dot_packed.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/dot_instruction.h"

#include <string.h>

/* One offset bit: a bit of K (axis 0) or N (axis 1). */
typedef struct offset_bit {
  uint8_t axis, bit;
} offset_bit;

#define K(n) {0, n}
#define N(n) {1, n}

/* Values. A word holds a lane's part of one instruction: W^T is the first operand of mma m16n8k16, whose lanes and
 * registers have k0 | m3 | k3 and k1 k2 m0 m1 m2 of its coordinates, and one of four warps' 16 rows of wgmma m64k16's. K
 * has its own order there, so that activations are read as they lie. A vector of four such words has 64 positions of K
 * with its neighbours; a warp's vectors lie behind each other. */
static const offset_bit values[] = {K(0), N(3), K(3), K(4), K(5), K(1), K(2), N(0), N(1), N(2), K(6), K(7)};
/* The same for wgmma m64k32 of 8 bits, of which a word is half of a lane's part: k0 k1 m3 k4 | k2 k3 m0 m1 m2. */
static const offset_bit byte_values[] = {K(0), K(1), N(3), K(4), K(5), K(2), K(3), N(0), N(1), N(2), K(6), K(7)};
/* Scales: a column's lie together, so that the four lanes that have the column read the same. */
static const offset_bit scales[] = {N(3), K(5), K(6), K(7), N(0), N(1), N(2)};

/* Tiles of those bits side by side, along K first; those of K below bit `low` are not there. */
static llrt_status make_storage(const offset_bit *bits, int n, int low, llrt_storage *out) {
  static const int order[] = {0, 1};
  llrt_layout tile = llrt_layout_empty();
  int there = 0;
  for (int i = 0; i < n; i++) there += bits[i].axis || bits[i].bit >= low;
  LLRT_TRY(llrt_layout_add_out(&tile, "dim0", DOT_PACKED_K - low));
  LLRT_TRY(llrt_layout_add_out(&tile, "dim1", DOT_PACKED_N));
  LLRT_TRY(llrt_layout_add_in(&tile, "offset", there));
  for (int i = 0, at = 0; i < n; i++) {
    if (!bits[i].axis && bits[i].bit < low) continue;
    tile.column[at++] = 1ull << (bits[i].axis ? DOT_PACKED_K - low + bits[i].bit : bits[i].bit - low);
  }
  LLRT_TRY(llrt_storage_tiled(&tile, order, out));
  out->pad = LLRT_PAD_VALUE;
  return LLRT_OK;
}

llrt_status dot_packed_values(bool bytes, llrt_storage *out) {
  return make_storage(bytes ? byte_values : values, (int)(sizeof values / sizeof *values), 0, out);
}

llrt_status dot_packed_scales(int group, int bits, llrt_storage *out) {
  if (group < 5 || group > 7 || (bits != 8 && bits != 16))
    return llrt_error(LLRT_UNSUPPORTED, "packed scales of %d bits for groups of %d along K", bits, 1 << group);
  return make_storage(scales, (int)(sizeof scales / sizeof *scales), group, out);
}

/* Pairs of elements become two 16-bit floats each, by as few shifts and masks as there are (jit/emit/emit_unpack.c):
 * where the bits of a pair lie in the halves of a word, 16 and more: in the other element's half.
 *
 * bf16 wants mantissa, exponent and sign at 6, 7, 8 and 15: that is how three pairs lie, but for one rotation each, and
 * the last one but for its mantissa. f16 wants them at 9, 10, 11 and 15: so lies the first, the second a byte lower; of
 * the others, a byte apart too, numbers and signs go by one shift each, together. Integers stay together. */
typedef uint8_t pair_bits[4][4];
static const pair_bits bf16_bits = {{0, 1, 2, 9}, {4, 5, 6, 13}, {10, 11, 12, 19}, {14, 7, 8, 15}};
static const pair_bits f16_bits = {{9, 10, 11, 15}, {1, 2, 3, 7}, {12, 13, 14, 8}, {4, 5, 6, 0}};
static const pair_bits integer_bits = {{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}};

/* As bytes: magnitudes are selectors of a byte permute, four in each half; signs are in their bytes' upper bits, those of
 * the second four behind a shift by 4 (jit/emit/emit_unpack_bytes.c). */
static uint8_t byte_place(int element, int bit) {
  if (bit < 3) return (uint8_t)(4 * element + bit);
  return (uint8_t)(element < 4 ? 8 * element + 7 : 8 * (element - 4) + 3);
}

void dot_packed_words(llrt_dtype element, llrt_dtype other, bool bytes, uint8_t packed[32], uint8_t formed[32]) {
  const pair_bits *bits = element != LLRT_E2M1 ? &integer_bits : other == LLRT_F16 || other == LLRT_E4M3 || other == LLRT_E5M2 ? &f16_bits : &bf16_bits;
  for (int i = 0; i < 32; i++) {
    int pair = i / 8, half = i / 4 % 2;
    formed[i] = bytes ? byte_place(i / 4, i % 4) : (uint8_t)((16 * half + (*bits)[pair][i % 4]) % 32);
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

bool dot_packed_in_bytes(const plan_target *target, llrt_dtype element, llrt_dtype scale, llrt_dtype other, int low, int high) {
  bool fits = element == LLRT_E2M1 && scale == LLRT_E8M0 && low > 0 && high < NO_NUMBER && high - low <= 2 * DOT_PACKED_REACH;
  bool found = false;
  for (int i = 0; i < dot_instruction_count() && !found; i++) {
    const dot_instruction *row = dot_instruction_at(i);
    found = row->family == DOT_WGMMA && row->a == LLRT_E5M2 && row->b == other && dot_instruction_is_of(row, target);
  }
  return fits && found;
}
