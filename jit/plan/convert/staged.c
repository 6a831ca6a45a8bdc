/* Converts through panels (plan_panel.staged): the flat kernel where what a block takes lies close
 * together on one side.
 *
 *   stage, barrier, loop { load elements from the panel, store vectors }      panel of the source
 *   loop { load vectors, store elements to the panel }, barrier, stage        of the destination
 *
 * The fastest places of the other side's order select so many positions that follow each other
 * there, and a stretch of the panel's side, which moves by whole vectors wherever it begins. So
 * rows that are not aligned cost nothing, and tiles overhang nothing: images whose channels become
 * the fastest, rows of scales (docs/one-pass.md). */
#include "jit/plan/convert/convert.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/convert/panel_digits.h"
#include "jit/plan/convert/panel_reach.h"
#include "jit/plan/cost/trace.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/facts/access.h"

#include <stdio.h>

/* Bytes of a vector: stores of less, by a warp, are not whole sectors. */
#define LEAST_VECTOR 8

/* ---- the panel ---- */

/* The most places that make a panel of tensor t of a useful size. */
static bool choose_panel(draft *d, int t) {
  plan_kernel *kernel = d->kernel;
  const plan_tuning *tuning = kernel->target.tuning;
  int64_t least = t == PLAN_DESTINATION ? tuning->staged_stored_bytes : tuning->staged_loaded_bytes;
  bool any = d->options && d->options->panels, smaller = false; /* any: of whatever size */
  int64_t width = kernel->tensor_bits[0] / 8,
          most = any ? kernel->target.facts.shared_bytes / 2 : kernel->target.panel_bytes;
  plan_panel chosen = {.positions = 0},
             panel = {.staged = true, .tensor = (uint8_t)t, .positions = 1};
  uint64_t inside = 0;
  for (int k = 0; k < kernel->n_places; k++) {
    const plan_place *place = &kernel->place[k];
    if (place->digit < 0 || place->count.arg >= 0 || kernel->digit[place->digit].axis < 0) break;
    inside |= 1ull << place->digit;
    panel.positions *= place->count.value;
    panel.places = (uint8_t)(k + 1);
    if (!panel_reach(d, t, inside, &panel) || panel.room * width > most) break;
    if (t == PLAN_DESTINATION && !panel_is_whole(d, inside, &panel)) continue;
    if ((double)panel.elements > (double)panel.positions * tuning->staged_gaps) continue;
    if (smaller && panel.elements * width > tuning->staged_bytes) break;
    smaller = true;
    if (any || panel.elements * width >= least) chosen = panel;
  }
  kernel->panel = chosen;
  kernel->warp_bits = chosen.room * width < tuning->staged_large_bytes ? 3 : 4;
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

static bool is_wanted(const op_description *desc, const plan_target *target,
                      const plan_options *options) {
  int bits = llrt_dtype_bits(desc->tensors[0].dtype);
  bool wanted = (options && options->panels) || target->panel_bytes > 0;
  wanted &= !target->simd_lanes && target->access_align_bytes > 1 && desc->n_tensors == 2 &&
            desc->n_maps == 0 && !desc->in_place && bits >= 8 && bits <= 32;
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
  int tile_bits =
      bits_max(draft_flat_tile(d), bits_highest((uint64_t)(2 * kernel->panel.positions - 1)));
  uint8_t vector = (uint8_t)d->flat_vector;
  plan_step stage = {.kind = PLAN_STAGE}, barrier = {.kind = PLAN_BARRIER};
  kernel->launch.block_elements = (int32_t)kernel->panel.positions;
  LLRT_TRY(draft_flat_value(d, tile_bits, &value, &iterations));
  LLRT_TRY(draft_value(kernel, &value, &number));
  if (t == 0) LLRT_TRY(draft_step(kernel, stage));
  if (t == 0) LLRT_TRY(draft_step(kernel, barrier));
  if (iterations > 0)
    LLRT_TRY(draft_step(
        kernel, (plan_step){.kind = PLAN_LOOP, .iterations = (uint8_t)iterations, .body = 2}));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_LOAD,
                                          .masked = true,
                                          .staged = t == 0,
                                          .vector = t == 0 ? 0 : vector}));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_STORE,
                                          .tensor = PLAN_DESTINATION,
                                          .masked = true,
                                          .staged = t == 1,
                                          .vector = t == 1 ? 0 : vector}));
  if (t == 1) LLRT_TRY(draft_step(kernel, barrier));
  return t == 1 ? draft_step(kernel, stage) : LLRT_OK;
}

/* What a panel has of the other side's rows. */
typedef enum panel_form {
  FORM_WHOLE = 1, /* whole runs */
  FORM_PARTS,     /* runs of so many bytes */
  FORM_PADDED,    /* rows of the source, to the next whole vector */
} panel_form;

typedef struct panel_choice {
  panel_form form;
  int run_bytes; /* FORM_PARTS */
  bool small;    /* no more bytes than plan_tuning.staged_bytes */
} panel_choice;

/* Of each side, the best first. Stores of 32 bytes are slower than of 64, those of 16 half as fast;
 * loads of 32, in some of 16, gain by the smaller panel (docs/history/panels.md). */
static const panel_choice choices[2][5] = {
    {{FORM_WHOLE, 0, true},
     {FORM_PARTS, 64, false},
     {FORM_PARTS, 32, false},
     {FORM_WHOLE, 0, false}},
    {{FORM_WHOLE, 0, true},
     {FORM_PARTS, 32, false},
     {FORM_WHOLE, 0, false},
     {FORM_PARTS, 16, false},
     {FORM_PADDED, 0, false}},
};

static const char *const form_names[] = {
    [FORM_WHOLE] = "whole runs", [FORM_PARTS] = "parts of runs", [FORM_PADDED] = "padded rows"};

static bool make_digits(draft *d, int t, const panel_choice *choice, uint64_t *run,
                        panel_rows *rows) {
  int width = d->kernel->tensor_bits[0] / 8;
  panel_order_digits(d, 1 - t);
  if (choice->form == FORM_PARTS)
    return panel_shorten_run(d, 1 - t, choice->run_bytes / width, run);
  return choice->form != FORM_PADDED ||
         panel_pad_rows(d, LEAST_VECTOR / width, d->kernel->target.tuning->staged_bytes / width,
                        rows);
}

/* With a panel of tensor t. */
static llrt_status make_of(const op_description *desc, const plan_target *target,
                           const plan_options *options, int t, const panel_choice *choice,
                           plan_kernel *kernel, bool *made, const char **why) {
  draft d;
  uint64_t run = 0;
  panel_rows rows;
  *made = false;
  draft_begin(&d, desc, target, options, kernel);
  kernel->flat = true;
  LLRT_TRY(draft_maps(&d));
  LLRT_TRY(draft_digits(&d));
  *why = "the storages have no common refinement, or are swizzled";
  if (d.divided || kernel->swizzle[0].swizzle_len || kernel->swizzle[1].swizzle_len) return LLRT_OK;
  *why = "the other side's digits have no such run";
  if (!make_digits(&d, t, choice, &run, &rows)) return LLRT_OK;
  LLRT_TRY(draft_flat_digits(&d, 1 - t));
  if (choice->form == FORM_PARTS) panel_place_rows(&d, t, run);
  if (choice->form == FORM_PADDED) LLRT_TRY(panel_bound_rows(&d, &rows));
  *why = "the destination has pads that are written";
  if (t == PLAN_DESTINATION && !writes_no_pads(kernel)) return LLRT_OK;
  *why = "no number of positions makes a panel of a useful size";
  if (!choose_panel(&d, t)) return LLRT_OK;
  draft_place_vector(&d, 1 - t);
  *why = "the other side's vectors are too short";
  if (plan_access_bytes(kernel->tensor_bits[0], d.flat_vector) < LEAST_VECTOR) return LLRT_OK;
  *why = "the panel is no whole number of the other side's vectors";
  if (kernel->panel.positions % (1 << d.flat_vector) != 0) return LLRT_OK;
  kernel->panel.unit = (uint8_t)bits_log2(target->access_bytes);
  kernel->panel.vector = (uint8_t)d.flat_vector;
  LLRT_TRY(draft_arg(&d, (plan_arg){.kind = PLAN_ARG_END, .factor = kernel->tensor_bits[0]},
                     &kernel->panel.end));
  LLRT_TRY(staged_steps(&d, t));
  draft_finish(kernel);
  *made = true;
  return LLRT_OK;
}

/* Whether the panel is as good as it should be: what it is compared with, a caller knows. */
static bool is_worth(const plan_kernel *kernel, const panel_choice *choice) {
  const plan_tuning *tuning = kernel->target.tuning;
  int bits = kernel->tensor_bits[0], t = kernel->panel.tensor;
  if (choice->small && kernel->panel.elements * bits / 8 > tuning->staged_bytes) return false;
  if (choice->form == FORM_PADDED) return bits <= tuning->staged_stored_bits;
  bool whole = choice->form == FORM_WHOLE, stored = t == PLAN_DESTINATION;
  if (stored && whole && bits > tuning->staged_stored_bits) return false;
  return panel_wavefronts(kernel) <= (stored && whole && bits == 8 ? tuning->staged_byte_wavefronts
                                                                   : tuning->staged_wavefronts);
}

llrt_status plan_staged_make(const op_description *desc, const plan_target *target,
                             const plan_options *options, plan_kernel *kernel, bool *made) {
  static const panel_choice asked[] = {
      {FORM_WHOLE, 0, false}, {FORM_PARTS, 32, false}, {FORM_PADDED, 0, false}};
  int number = options ? options->panels : 0;
  *made = false;
  if (!is_wanted(desc, target, options))
    return plan_refused(options, NULL, "panels in shared memory",
                        "they are NVIDIA's of compute capability 9.0 and up, for plain moves of "
                        "elements of 8 to 32 bits");
  for (int t = 0; t < 2; t++)
    for (int i = 0; i < (number ? 1 : 5) && (number || choices[t][i].form); i++) {
      const panel_choice *choice = number ? &asked[number - 1] : &choices[t][i];
      if (choice->form == FORM_PADDED && t != PLAN_DESTINATION) continue;
      const char *why = "";
      LLRT_TRY(make_of(desc, target, options, t, choice, kernel, made, &why));
      const plan_kernel *compared = *made ? kernel : NULL;
      if (*made) why = "too many wavefronts of shared memory, or too large";
      *made = *made && (number || is_worth(kernel, choice));
      if (*made) return LLRT_OK;
      char what[PLAN_ATTEMPT_NAME];
      snprintf(what, sizeof what, "panels of %s of the %s", form_names[choice->form],
               t == 0 ? "source" : "destination");
      plan_refused(options, compared, what, "%s", why);
    }
  return LLRT_OK;
}
