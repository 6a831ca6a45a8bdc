/* Moving bit fields within a word: how a column is rewritten when dims change order or size. */
#ifndef LLRT_LAYOUT_FIELDS_H
#define LLRT_LAYOUT_FIELDS_H

#include "base/bits.h"

#include <llrt/layout.h>

typedef struct fields {
  int count;
  struct {
    uint64_t mask; /* of the field, at bit 0 */
    uint8_t from, to;
  } field[LLRT_MAX_OUT_DIMS];
} fields;

/* Bits [from, from + bits) go to [to, to + bits). At most LLRT_MAX_OUT_DIMS fields; one of no bits
 * takes no place. */
static inline void fields_add(fields *move, int from, int to, int bits) {
  if (bits == 0) return;
  move->field[move->count].mask = bits_mask(bits);
  move->field[move->count].from = (uint8_t)from;
  move->field[move->count].to = (uint8_t)to;
  move->count++;
}

/* The word with the fields moved and all other bits dropped. */
static inline uint64_t fields_move(const fields *move, uint64_t word) {
  uint64_t moved = 0;
  for (int i = 0; i < move->count; i++)
    moved |= ((word >> move->field[i].from) & move->field[i].mask) << move->field[i].to;
  return moved;
}

#endif
