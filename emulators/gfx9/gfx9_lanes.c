/* Operations on lanes: gathers the sources' rows, runs the operation on all lanes, writes the
 * active ones. Scalar operations are the same with one lane. */
#include "gfx9_code.h"

#include <string.h>

const gfx9_row gfx9_zero;

/* Rows of scratch: values of three sources, their undefined bits; results of two parts and
 * theirs. */
enum { VALUES = 0, UNDEFINED = 6, RESULT = 12 };

typedef const uint32_t *(*row_reader)(const gfx9_wave *, const gfx9_operand *, int, uint32_t *,
                                      int);

/* What source 0 of a DPP instruction reads, lane by lane: zero where there is nothing to read. */
static const uint32_t *move_lanes(const gfx9_wave *wave, const gfx9_op *op, const uint32_t *row,
                                  uint32_t *to) {
  int8_t from[GFX9_LANES];
  gfx9_row moved; /* `row` may be `to` */
  uint64_t exec = gfx9_exec(wave);
  gfx9_dpp_lanes(op->dpp.control, from);
  for (int i = 0; i < GFX9_LANES; i++) {
    moved[i] = from[i] >= 0 && exec >> from[i] & 1 ? row[from[i]] : 0;
  }
  memcpy(to, moved, sizeof moved);
  return to;
}

/* Word `word` of source k, for one part of a packed operation. */
static const uint32_t *fetch(const gfx9_wave *wave, const gfx9_op *op, row_reader reader, int k,
                             int word, int part, uint32_t *scratch, int n) {
  const gfx9_operand *operand = &op->operand[op->source[k]];
  bool upper = (part ? op->op_sel_hi : op->op_sel) >> k & 1;
  bool by_words = op->info->packed == 32 || (op->info->modifiers & GFX9_OP_SEL && word == 0);
  const uint32_t *row = reader(wave, operand, by_words ? upper : word, scratch, n);
  if (op->dpp.used && k == op->first) row = move_lanes(wave, op, row, scratch);
  int selection = op->info->packed == 16            ? GFX9_WORD_0 + upper
                  : op->sdwa.used && k >= op->first ? op->sdwa.source[k - op->first]
                                                    : GFX9_DWORD;
  if (selection == GFX9_DWORD && op->info->halves && reader == gfx9_read_undefined) {
    selection = GFX9_WORD_0; /* what a value has above them its form cuts off */
  }
  if (selection != GFX9_DWORD) {
    gfx9_select(selection, op->sext >> k & 1, row, scratch);
    row = scratch;
  }
  if (op->plain) return row;
  gfx9_modify(op, k, word, part, reader == gfx9_read_undefined, row, scratch, n);
  return scratch;
}

static void read_sources(const gfx9_wave *wave, const gfx9_op *op, row_reader reader, int part,
                         int n, gfx9_rows rows) {
  int first = reader == gfx9_read_undefined ? UNDEFINED : VALUES;
  for (int k = 0; k < 3; k++) {
    rows[k][0] = rows[k][1] = gfx9_zero;
    if (k >= op->n_sources) continue;
    int words = op->info->packed ? 1 : op->operand[op->source[k]].words;
    for (int word = 0; word < words; word++) {
      rows[k][word] =
          fetch(wave, op, reader, k, word, part, wave->machine->scratch[first + 2 * k + word], n);
    }
  }
}

/* `in`, and which of its lanes are undefined. */
static uint64_t read_condition(const gfx9_wave *wave, const gfx9_op *op, uint64_t *undefined) {
  *undefined = 0;
  if (op->scalar) {
    *undefined = op->info->scc & GFX9_SCC_IN && wave->scc_undefined;
    return wave->scc;
  }
  const gfx9_operand *last = &op->operand[op->n_operands - 1];
  if (!last->mask || last->destination) return 0;
  if (last->kind == GFX9_CONSTANT) return last->value;
  *undefined = gfx9_pair(&wave->s_undefined[last->index]);
  return gfx9_pair(&wave->s[last->index]);
}

static bool any_undefined(const gfx9_wave *wave, const gfx9_op *op) {
  for (int k = 0; k < op->n_sources; k++)
    if (gfx9_is_undefined(wave, &op->operand[op->source[k]])) return true;
  return false;
}

/* The lanes that a DPP instruction writes. */
static uint64_t dpp_written(const gfx9_wave *wave, const gfx9_dpp *dpp) {
  int8_t from[GFX9_LANES];
  uint64_t exec = gfx9_exec(wave), written = 0;
  gfx9_dpp_lanes(dpp->control, from);
  for (int i = 0; i < GFX9_LANES; i++) {
    bool enabled = dpp->row_mask >> (i / 16) & 1 && dpp->bank_mask >> (i % 16 / 4) & 1;
    bool valid = from[i] >= 0 && exec >> from[i] & 1;
    if (enabled && (valid || dpp->bound_ctrl)) written |= (uint64_t)1 << i;
  }
  return exec & written;
}

static void write_vector(gfx9_wave *wave, const gfx9_op *op, const gfx9_operand *operand,
                         const gfx9_args *x, const gfx9_unknown *unknown) {
  uint64_t lanes = op->dpp.used ? dpp_written(wave, &op->dpp) : gfx9_exec(wave);
  uint32_t *undefined = unknown ? unknown->d : NULL;
  if (op->sdwa.used) {
    if (!unknown && wave->tainted[operand->index]) {
      undefined = wave->machine->scratch[RESULT + 2];
      memset(undefined, 0, sizeof(gfx9_row));
    }
    gfx9_select_destination(&op->sdwa, wave->v[operand->index], x->d);
    if (undefined) {
      gfx9_select_destination(&op->sdwa, wave->v_undefined[operand->index], undefined);
    }
  }
  gfx9_write_row(wave, operand->index, lanes, x->d, undefined);
  if (operand->words == 2) {
    gfx9_write_row(wave, operand->index + 1, lanes, x->dh, unknown ? unknown->dh : NULL);
  }
}

static bool write_scalar(gfx9_wave *wave, const gfx9_op *op, const gfx9_operand *operand,
                         const gfx9_args *x, const gfx9_unknown *unknown) {
  if (operand->words == 1) {
    return gfx9_write_scalar(wave, op, operand->index, x->d[0], unknown ? unknown->d[0] : 0);
  }
  uint64_t undefined = unknown ? unknown->d[0] | (uint64_t)unknown->dh[0] << 32 : 0;
  return gfx9_write_mask(wave, op, operand->index, x->d[0] | (uint64_t)x->dh[0] << 32, undefined);
}

static void set_scc(gfx9_wave *wave, const gfx9_op *op, const gfx9_args *x,
                    const gfx9_unknown *unknown) {
  bool wide = op->operand[0].words == 2;
  if (op->info->scc & GFX9_SCC_OUT) {
    wave->scc = x->out & 1;
    wave->scc_undefined = unknown && unknown->out & 1;
  } else if (op->info->scc & GFX9_SCC_NONZERO) {
    uint32_t low = unknown ? unknown->d[0] : 0, high = unknown && wide ? unknown->dh[0] : 0;
    bool known = (x->d[0] & ~low) || (wide && (x->dh[0] & ~high));
    wave->scc = x->d[0] || (wide && x->dh[0]);
    wave->scc_undefined = !known && (low || high);
  }
}

static bool write_results(gfx9_wave *wave, const gfx9_op *op, const gfx9_args *x,
                          const gfx9_unknown *unknown) {
  if (op->scalar) set_scc(wave, op, x, unknown);
  for (int k = 0; k < op->n_operands && op->operand[k].destination; k++) {
    const gfx9_operand *operand = &op->operand[k];
    uint64_t exec = gfx9_exec(wave);
    if (operand->mask) {
      if (!gfx9_write_mask(wave, op, operand->index, x->out & exec,
                           unknown ? unknown->out & exec : 0)) {
        return false;
      }
    } else if (operand->kind == GFX9_VECTOR) {
      write_vector(wave, op, operand, x, unknown);
    } else if (!write_scalar(wave, op, operand, x, unknown)) {
      return false;
    }
  }
  return true;
}

/* One part: the whole, or one half of packed operands. */
static void run_part(gfx9_wave *wave, const gfx9_op *op, int part, bool undefined, gfx9_args *x,
                     gfx9_unknown *unknown) {
  gfx9_row *rows = &wave->machine->scratch[RESULT + 4 * part];
  int n = op->scalar ? 1 : GFX9_LANES;
  gfx9_rows spread;
  x->d = rows[0], x->dh = rows[1];
  unknown->d = rows[2], unknown->dh = rows[3];
  x->clamp = op->clamp;
  read_sources(wave, op, gfx9_read_row, part, n, x->source);
  op->info->lanes(x, n);
  if (!undefined) return;
  read_sources(wave, op, gfx9_read_undefined, part, n, spread);
  gfx9_spread_undefined(wave->machine, op, x, spread, n, unknown);
}

/* low gets both parts: in halves of a word, or in two words. */
static void join(int packed, uint32_t *low, uint32_t *high, const uint32_t *upper) {
  for (int i = 0; i < GFX9_LANES; i++) {
    if (packed == 16) low[i] = (low[i] & 0xffff) | upper[i] << 16;
    high[i] = upper[i];
  }
}

bool gfx9_run_lanes(gfx9_wave *wave, const gfx9_op *op) {
  int packed = op->info->packed;
  gfx9_args x[2] = {0};
  gfx9_unknown unknown[2] = {0};
  x[0].in = read_condition(wave, op, &unknown[0].in);
  if (!op->scalar) unknown[0].in &= gfx9_exec(wave);
  bool undefined = unknown[0].in || any_undefined(wave, op);
  for (int part = 0; part < (packed ? 2 : 1); part++) {
    run_part(wave, op, part, undefined, &x[part], &unknown[part]);
  }
  if (packed) join(packed, x[0].d, x[0].dh, x[1].d);
  if (packed && undefined) join(packed, unknown[0].d, unknown[0].dh, unknown[1].d);
  return write_results(wave, op, &x[0], undefined ? &unknown[0] : NULL);
}
