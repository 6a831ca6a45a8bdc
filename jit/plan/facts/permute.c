/* How PLAN_REGISTERS makes a word: shared by the cost model and by emission. */
#include "jit/plan/facts/permute.h"

#include "base/bits.h"
#include "jit/plan/facts/value.h"

#include <string.h>

/* One of a result's bytes, or a nibble of it, and where that comes from. */
typedef struct piece {
  int byte;      /* of the result */
  int word, at;  /* source word and byte of it */
  int shift;     /* bits up that the byte has to move, -4, 0 or 4 */
  uint32_t mask; /* bits of the result */
} piece;

/* The part that can hold the piece: bytes that it has already are the same or not needed. */
static plan_permute_part *part_for(plan_permute *g, const piece *p) {
  for (int i = 0; i < g->n_parts; i++) {
    plan_permute_part *part = &g->part[i];
    bool fits =
        part->word[p->byte] < 0 || (part->word[p->byte] == p->word && part->byte[p->byte] == p->at);
    if (part->shift == p->shift && fits) return part;
  }
  plan_permute_part *part = &g->part[g->n_parts++];
  *part = (plan_permute_part){.shift = (int8_t)p->shift};
  memset(part->word, -1, sizeof part->word);
  return part;
}

static void add_piece(plan_permute *g, const piece *p) {
  plan_permute_part *part = part_for(g, p);
  part->word[p->byte] = (int16_t)p->word;
  part->byte[p->byte] = (int8_t)p->at;
  part->mask |= p->mask;
}

void plan_permute_of(const plan_value *in, const plan_value *out, int word, plan_permute *g) {
  int n = 1 << out->word, bits = out->bits;
  memset(g, 0, sizeof *g);
  g->bytes = bits_min(bits_max((n * bits) / 8, 1), PLAN_PERMUTE_BYTES);
  for (int i = 0; i < n; i++) {
    plan_register_source from = plan_register_of(in, out, (word << out->word) | i);
    if (bits < 8) {
      add_piece(g, &(piece){.byte = i / 2,
                            .word = from.word,
                            .at = from.element / 2,
                            .shift = 4 * ((i & 1) - (from.element & 1)),
                            .mask = 0xFu << 4 * i});
      continue;
    }
    for (int b = 0; b < bits / 8 && b < PLAN_PERMUTE_BYTES; b++) {
      int byte = i * bits / 8 + b;
      add_piece(g, &(piece){.byte = byte,
                            .word = from.word,
                            .at = from.element * bits / 8 + b,
                            .mask = 0xFFu << 8 * byte});
    }
  }
}

int plan_permute_whole(const plan_permute *g, const plan_permute_part *part) {
  int word = -1;
  for (int i = 0; i < g->bytes; i++) {
    if (part->word[i] < 0) continue;
    if (part->byte[i] != i || (word >= 0 && part->word[i] != word)) return -1;
    word = part->word[i];
  }
  return word;
}

static int count_words(const plan_permute *g, const plan_permute_part *part) {
  int n = 0;
  for (int i = 0; i < g->bytes; i++) {
    bool known = part->word[i] < 0;
    for (int j = 0; j < i; j++) known |= part->word[j] == part->word[i];
    n += !known;
  }
  return n;
}

void plan_permute_cost(const plan_permute *g, int *permutes, int *logic) {
  for (int i = 0; i < g->n_parts; i++) {
    const plan_permute_part *part = &g->part[i];
    if (plan_permute_whole(g, part) < 0) *permutes += bits_max(count_words(g, part) - 1, 1);
    *logic += (part->shift != 0) + (i > 0);
  }
}
