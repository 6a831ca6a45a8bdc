/* Sub-dword addressing (SDWA) and data-parallel primitives (DPP): which bytes and which lanes an
 * operation reads and writes. CDNA3 ISA, sections "SDWA" and "DPP". */
#include "gfx9_code.h"
#include "gfx9_float.h"

#include <string.h>

static unsigned selection_shift(int selection) {
  return selection < GFX9_WORD_0  ? 8u * (unsigned)selection
         : selection < GFX9_DWORD ? 16u * (unsigned)(selection - GFX9_WORD_0)
                                  : 0;
}

static uint32_t selection_mask(int selection) {
  return selection < GFX9_WORD_0 ? 0xff : selection < GFX9_DWORD ? 0xffff : 0xffffffff;
}

/* `from` may be `to`. */
void gfx9_select(int selection, bool sign, const uint32_t *from, uint32_t *to) {
  unsigned shift = selection_shift(selection);
  uint32_t mask = selection_mask(selection), top = sign ? (mask >> 1) + 1 : 0;
  for (int i = 0; i < GFX9_LANES; i++) {
    uint32_t value = from[i] >> shift & mask;
    to[i] = (value ^ top) - top;
  }
}

/* Applies to word `word` of source k what stands around it in the text: its magnitude, its
 * negative, and in mixed operations its conversion from f16. Undefined bits stay where they are,
 * but for that conversion. */
void gfx9_modify(const gfx9_op *op, int k, int word, int part, bool undefined, const uint32_t *from,
                 uint32_t *to, int n) {
  bool convert = op->info->modifiers & GFX9_MIX && op->op_sel_hi >> k & 1;
  int half = op->op_sel >> k & 1 ? 16 : 0;
  uint32_t sign = word == op->sign_bit / 32 ? (uint32_t)1 << op->sign_bit % 32 : 0;
  uint32_t clear = op->absolute >> k & 1 ? sign : 0, turn = op->negate[part] >> k & 1 ? sign : 0;
  for (int i = 0; i < n; i++) {
    uint32_t value = from[i];
    if (convert && undefined) value = value >> half & 0xffff ? 0xffffffff : 0;
    if (convert && !undefined) value = f16_to_f32(value >> half & 0xffff);
    to[i] = undefined ? value : (value & ~clear) ^ turn;
  }
}

/* Puts the low bits of row where the selection says, with the rest as dst_unused says. */
void gfx9_select_destination(const gfx9_sdwa *sdwa, const uint32_t *old, uint32_t *row) {
  unsigned shift = selection_shift(sdwa->destination);
  uint32_t mask = selection_mask(sdwa->destination), top = (mask >> 1) + 1;
  if (sdwa->destination == GFX9_DWORD) return;
  for (int i = 0; i < GFX9_LANES; i++) {
    uint32_t value = row[i] & mask;
    if (sdwa->unused == GFX9_SEXT && value & top) value |= ~mask;
    uint32_t placed = value << shift;
    if (sdwa->unused == GFX9_PRESERVE) placed |= old[i] & ~(mask << shift);
    row[i] = placed;
  }
}

/* Inside a row of 16: the lane that position p reads, or -1. */
static int row_source(uint16_t control, int p) {
  int count = control & 15;
  switch (control & 0x1f0) {
  case 0x100: return p + count < 16 ? p + count : -1;
  case 0x110: return p - count;
  case 0x120: return (p + 16 - count) % 16;
  case 0x140: return count == 0 ? 15 - p : (p & 8) | (7 - (p & 7));
  default: return count; /* row_newbcast */
  }
}

void gfx9_dpp_lanes(uint16_t control, int8_t from[GFX9_LANES]) {
  for (int i = 0; i < GFX9_LANES; i++) {
    int p = i % 16, source;
    if (control < 0x100) {
      source = (i & ~3) | (control >> (2 * (i & 3)) & 3);
    } else if (control == 0x142) {
      source = i < 16 ? -1 : (i & ~15) - 1;
    } else if (control == 0x143) {
      source = i < 32 ? -1 : 31;
    } else if (control >= 0x130 && control < 0x140) {
      int step = control < 0x138 ? 1 : -1; /* shl, rol, shr, ror */
      source = control & 4 ? (i + step + 64) % 64 : i + step == 64 ? -1 : i + step;
    } else {
      int inside = row_source(control, p);
      source = inside < 0 ? -1 : (i & ~15) + inside;
    }
    from[i] = (int8_t)source;
  }
}
