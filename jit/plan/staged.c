/* Converts through panels (plan_panel.apart): the flat kernel where what a block takes lies close together on one side.
 *
 *   stage, barrier, loop { load elements from the panel, store vectors }      panel of the source
 *   loop { load vectors, store elements to the panel }, barrier, stage        of the destination
 *
 * The fastest places of the other side's order select so many positions that follow each other there, and a stretch of the
 * panel's side, which moves by whole vectors wherever it begins. So rows that are not aligned cost nothing, and tiles overhang
 * nothing: images whose channels become the fastest, rows of scales (docs/one-pass.md). */
#include "jit/plan/convert.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/panel_reach.h"

#include <string.h>

/* Panels are grown to this, so that several blocks share a multiprocessor; tiles are as fast as smaller ones, whose barriers take
 * much of the time (measured, as the next two: docs/measurements.md). */
#define WANTED_BYTES (32 << 10)
#define LEAST_BYTES (16 << 10)
/* From here on a block has 16 warps instead of 8: with 8 the few blocks of a multiprocessor are too few threads. */
#define LARGE_BYTES (48 << 10)
/* The widest elements that are stored to panels: those of 32 bits were slower than tiles. */
#define STORED_BITS 16
/* Bytes of a panel for each that is used, at most, in eighths: gaps of the source, of which others make no use. */
#define MOST_STAGED 10
/* Bytes of a vector: stores of less, by a warp, are not whole sectors. */
#define LEAST_VECTOR 8

/* ---- digits in memory's order ---- */

/* Digit i becomes two, of which the first has its lowest n bits. */
static void split_digit(draft *d, int i, int n) {
  plan_kernel *kernel = d->kernel;
  for (int j = kernel->n_digits++; j > i; j--) {
    kernel->digit[j] = kernel->digit[j - 1];
    d->count[j] = d->count[j - 1];
    d->top[j] = d->top[j - 1];
    d->fused[j] = d->fused[j - 1];
    memcpy(d->side[j], d->side[j - 1], sizeof d->side[j]);
    d->first[j] = d->first[j - 1];
    d->bits[j] = d->bits[j - 1];
  }
  d->bits[i] = n;
  d->count[i] = (int64_t)1 << n;
  d->top[i] = false;
  d->first[i + 1] += n;
  d->bits[i + 1] -= n;
  d->count[i + 1] >>= n;
  kernel->digit[i + 1].step <<= n;
  for (int t = 0; t < 2; t++) {
    if (kernel->digit[i + 1].side[t].kind != PLAN_STRIDE) continue;
    kernel->digit[i + 1].side[t].stride.value <<= n;
    d->side[i + 1][t].align += n;
  }
}

/* Whether an upper part of the digit is a digit, too. */
static bool may_split(const draft *d, int i) {
  const plan_digit *digit = &d->kernel->digit[i];
  bool may = digit->axis >= 0 && !digit->rest && !d->fused[i] && d->kernel->n_digits < PLAN_MAX_DIGITS;
  for (int t = 0; t < 2; t++)
    may &= digit->side[t].kind == PLAN_COLUMNS || (digit->side[t].kind == PLAN_STRIDE && digit->side[t].stride.arg < 0);
  return may;
}

/* Digits whose bits tensor t has in another order are split where it turns. */
static void split_digits(draft *d, int t) {
  for (int i = 0; i < d->kernel->n_digits; i++) {
    const uint64_t *column = &d->column[t][d->first[i]];
    bool columns = d->kernel->digit[i].side[t].kind == PLAN_COLUMNS && may_split(d, i);
    for (int b = 1; columns && b < d->bits[i]; b++)
      if (column[b] < column[b - 1]) {
        split_digit(d, i, b);
        break;
      }
  }
}

/* ---- the panel ---- */

/* The most places that make a panel of tensor t of a useful size. */
static bool choose_panel(draft *d, int t) {
  plan_kernel *kernel = d->kernel;
  bool any = d->options && d->options->panels, smaller = false; /* any: of whatever size */
  int64_t width = kernel->tensor_bits[0] / 8, most = any ? kernel->target.shared_bytes / 2 : kernel->target.panel_bytes;
  plan_panel chosen = {.positions = 0}, panel = {.apart = true, .tensor = (uint8_t)t, .positions = 1};
  uint64_t inside = 0;
  for (int k = 0; k < kernel->n_places; k++) {
    const plan_place *place = &kernel->place[k];
    if (place->digit < 0 || place->count.arg >= 0 || kernel->digit[place->digit].axis < 0) break;
    inside |= 1ull << place->digit;
    panel.positions *= place->count.value;
    panel.places = (uint8_t)(k + 1);
    if (!panel_reach(d, t, inside, &panel) || panel.room * width > most) break;
    if (t == PLAN_DESTINATION && !panel_is_whole(d, inside, &panel)) continue;
    if (panel.elements * 8 > panel.positions * MOST_STAGED) continue;
    if (smaller && panel.elements * width > WANTED_BYTES) break;
    smaller = true;
    if (any || panel.elements * width >= LEAST_BYTES) chosen = panel;
  }
  kernel->panel = chosen;
  kernel->warp_bits = chosen.room * width < LARGE_BYTES ? 3 : 4;
  return chosen.positions > 0;
}

/* What is loaded is what is stored: no pads are written. */
static bool writes_no_pads(const plan_kernel *kernel) {
  bool none = true;
  for (int i = 0; i < kernel->n_bounds; i++)
    none &= !(kernel->bound[i].tensors & 1) || kernel->bound[i].tensors >> PLAN_DESTINATION & 1;
  return none;
}

/* ---- the kernel ---- */

static bool is_wanted(const llrt_op_desc *desc, const plan_target *target, const plan_options *options) {
  int bits = llrt_dtype_bits(desc->tensors[0].dtype);
  bool wanted = (options && options->panels) || target->panel_bytes > 0;
  wanted &= !target->lanes_first && target->access_align_bytes > 1 && desc->n_tensors == 2 && desc->n_maps == 0 &&
            !desc->in_place && bits >= 8 && bits <= 32;
  for (int t = 0; t < 2 && wanted; t++) {
    wanted &= llrt_dtype_bits(desc->tensors[t].dtype) == bits && desc->tensors[t].n_indices == 0;
    for (int a = 0; a < LLRT_MAX_RANK; a++) wanted &= !desc->tensors[t].extent_ptr[a];
  }
  return wanted;
}

static llrt_status staged_steps(draft *d, int t) {
  plan_kernel *kernel = d->kernel;
  plan_value value;
  int iterations = 0, number = 0;
  int tile_bits = bits_max(draft_flat_tile(d), bits_highest((uint64_t)(2 * kernel->panel.positions - 1)));
  uint8_t vector = (uint8_t)d->flat_vector;
  plan_step stage = {.kind = PLAN_STAGE}, barrier = {.kind = PLAN_BARRIER};
  kernel->launch.block_elements = (int32_t)kernel->panel.positions;
  LLRT_TRY(draft_flat_value(d, tile_bits, &value, &iterations));
  LLRT_TRY(draft_value(kernel, &value, &number));
  if (t == 0) LLRT_TRY(draft_step(kernel, stage));
  if (t == 0) LLRT_TRY(draft_step(kernel, barrier));
  if (iterations > 0)
    LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_LOOP, .iterations = (uint8_t)iterations, .body = 2}));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_LOAD, .masked = true, .staged = t == 0, .vector = t == 0 ? 0 : vector}));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_STORE, .tensor = PLAN_DESTINATION, .masked = true, .staged = t == 1,
                                          .vector = t == 1 ? 0 : vector}));
  if (t == 1) LLRT_TRY(draft_step(kernel, barrier));
  return t == 1 ? draft_step(kernel, stage) : LLRT_OK;
}

/* With a panel of tensor t. */
static llrt_status make_of(const llrt_op_desc *desc, const plan_target *target, const plan_options *options, int t,
                           plan_kernel *kernel, bool *made) {
  draft d;
  *made = false;
  draft_begin(&d, desc, target, options, kernel);
  kernel->flat = true;
  LLRT_TRY(draft_maps(&d));
  LLRT_TRY(draft_digits(&d));
  if (d.divided || kernel->swizzle[0].swizzle_len || kernel->swizzle[1].swizzle_len) return LLRT_OK;
  split_digits(&d, 1 - t);
  LLRT_TRY(draft_flat_digits(&d, 1 - t));
  if ((t == PLAN_DESTINATION && !writes_no_pads(kernel)) || !choose_panel(&d, t)) return LLRT_OK;
  draft_place_vector(&d, 1 - t);
  if (plan_access_bytes(kernel->tensor_bits[0], d.flat_vector) < LEAST_VECTOR) return LLRT_OK;
  kernel->panel.unit = (uint8_t)bits_log2(target->access_bytes);
  kernel->panel.vector = (uint8_t)d.flat_vector;
  LLRT_TRY(draft_arg(&d, (plan_arg){.kind = PLAN_ARG_END, .factor = kernel->tensor_bits[0]}, &kernel->panel.end));
  LLRT_TRY(staged_steps(&d, t));
  draft_finish(kernel);
  *made = true;
  return LLRT_OK;
}

llrt_status plan_staged_make(const llrt_op_desc *desc, const plan_target *target, const plan_options *options,
                             plan_kernel *kernel, bool *made) {
  bool any = options && options->panels;
  *made = false;
  for (int t = 0; t < 2 && !*made && is_wanted(desc, target, options); t++) {
    if (t == PLAN_DESTINATION && !any && llrt_dtype_bits(desc->tensors[0].dtype) > STORED_BITS) continue;
    LLRT_TRY(make_of(desc, target, options, t, kernel, made));
    *made = *made && (any || !panel_is_slow(kernel));
  }
  return LLRT_OK;
}
