/* How undefined bits spread, by the rule that the table gives each operation. */
#include "gfx9_code.h"

#include <string.h>

/* Rows of scratch behind those of gfx9_lanes.c: substitutes for six rows, and two results. */
enum { SUBSTITUTE = 20, ALTERNATIVE = 26 };

/* Lanes with an undefined bit in any row of the sources in `which`. */
static uint64_t touched_lanes(gfx9_rows undefined, unsigned which, int n) {
  uint64_t lanes = 0;
  for (int i = 0; i < n; i++) {
    uint32_t any = 0;
    for (int k = 0; k < 3; k++)
      if (which >> k & 1) any |= undefined[k][0][i] | undefined[k][1][i];
    lanes |= (uint64_t)(any != 0) << i;
  }
  return lanes;
}

static void fill(uint32_t *row, uint64_t lanes, int n) {
  for (int i = 0; i < n; i++) row[i] |= 0u - (uint32_t)(lanes >> i & 1);
}

static void spread_upward(gfx9_rows undefined, int n, gfx9_unknown *result) {
  for (int i = 0; i < n; i++) {
    uint64_t low = 0;
    for (int k = 0; k < 3; k++) low |= undefined[k][0][i] | (uint64_t)undefined[k][1][i] << 32;
    low |= 0 - low;
    result->d[i] = (uint32_t)low;
    result->dh[i] = (uint32_t)(low >> 32);
  }
}

static void spread_bitwise(gfx9_rows undefined, int n, gfx9_unknown *result) {
  for (int i = 0; i < n; i++) {
    result->d[i] = undefined[0][0][i] | undefined[1][0][i] | undefined[2][0][i];
    result->dh[i] = undefined[0][1][i] | undefined[1][1][i] | undefined[2][1][i];
  }
}

/* Runs the operation with every undefined bit of the data sources set, or with every one clear. */
static void run_substituted(gfx9_machine *machine, const gfx9_op *op, const gfx9_args *x,
                            gfx9_rows undefined, int n, bool set, uint32_t *d, uint32_t *dh) {
  gfx9_args other = *x;
  other.d = d;
  other.dh = dh;
  for (int k = 0; k < 3; k++) {
    for (int word = 0; word < 2 && op->info->data >> k & 1; word++) {
      uint32_t *row = machine->scratch[SUBSTITUTE + 2 * k + word];
      const uint32_t *value = x->source[k][word], *unknown = undefined[k][word];
      for (int i = 0; i < n; i++) row[i] = set ? value[i] | unknown[i] : value[i] & ~unknown[i];
      other.source[k][word] = row;
    }
  }
  op->info->lanes(&other, n);
}

static void spread_monotone(gfx9_machine *machine, const gfx9_op *op, const gfx9_args *x,
                            gfx9_rows undefined, int n, gfx9_unknown *result) {
  uint32_t *d = machine->scratch[ALTERNATIVE], *dh = machine->scratch[ALTERNATIVE + 1];
  run_substituted(machine, op, x, undefined, n, true, result->d, result->dh);
  run_substituted(machine, op, x, undefined, n, false, d, dh);
  for (int i = 0; i < n; i++) {
    result->d[i] ^= d[i];
    result->dh[i] ^= dh[i];
  }
}

void gfx9_spread_undefined(gfx9_machine *machine, const gfx9_op *op, const gfx9_args *x,
                           gfx9_rows undefined, int n, gfx9_unknown *result) {
  uint64_t all = result->in; /* lanes whose whole result is undefined */
  memset(result->d, 0, sizeof(gfx9_row));
  memset(result->dh, 0, sizeof(gfx9_row));
  switch ((gfx9_rule)op->info->rule) {
  case GFX9_ANY: all |= touched_lanes(undefined, 7, n); break;
  case GFX9_UPWARD: spread_upward(undefined, n, result); break;
  case GFX9_BITWISE: spread_bitwise(undefined, n, result); break;
  case GFX9_MONOTONE:
    spread_monotone(machine, op, x, undefined, n, result);
    all |= touched_lanes(undefined, ~(unsigned)op->info->data, n);
    break;
  }
  result->out = result->in | touched_lanes(undefined, 7, n);
  fill(result->d, all, n);
  fill(result->dh, all, n);
}
