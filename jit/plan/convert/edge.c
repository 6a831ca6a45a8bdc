/* Edges of tiles: accesses that look at bounds.
 *
 * Blocks, or tiles of a strip, that overhang a bound take the interior's steps once more, masked.
 * On the host, where registers move under masks, the two ways part at accesses alone: what lies
 * between them stands there once. */
#include "jit/plan/draft/draft.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/convert/tile_steps.h"
#include "jit/plan/facts/iteration.h"
#include "jit/plan/facts/row_group.h"
#include "jit/plan/facts/value.h"

/* log2 masked accesses of one thread beyond which a loop over elements takes their place: each is a
 * branch. */
#define MASKED_MAX_ACCESSES 6
/* log2 registers of a tile that is not halved and has a single body. Of fewer there is little to
 * have in common; behind a branch all are there at once, which more would not be in registers. */
#define SINGLE_BODY_LEAST_BITS 3
#define SINGLE_BODY_MAX_BITS 4

/* Whether a GPU's store of the edge keeps its width, and stores what is inside of an access that
 * bounds part element by element: where limits are known, which tiles are as large as, most
 * accesses of edges are whole. */
static bool stores_parts(const draft *d, const plan_step *step, const plan_value *value) {
  const plan_kernel *kernel = d->kernel;
  return step->kind == PLAN_STORE && value->bits >= 8 && kernel->n_indices == 0 &&
         step->misaligned == 0 && plan_value_bits(value, PLAN_REGISTER) <= MASKED_MAX_ACCESSES &&
         plan_is_ordered(kernel, step->tensor, value, step->vector) &&
         draft_known_parts(d, value, step->tensor, step->vector);
}

/* Makes an access masked: as wide as it is where bounds do not part its elements or it can overhang
 * rows, else narrower, but of 4 bits no less than the byte that one thread has to store, which is
 * then parted. */
static void mask_access(const draft *d, plan_step *step) {
  const plan_value *value = &d->kernel->value[step->kind == PLAN_LOAD ? step->out : step->in];
  int whole = draft_whole_vector(d, value, step->tensor, step->vector), aligned = step->vector;
  step->masked = true;
  if (step->front || (value->bits < 8 && step->overhang)) return;
  if (whole == step->vector && !step->overhang) return;
  step->overhang = value->bits >= 8 && draft_group_fits(d, step->tensor, value, step->vector);
  step->by_words = draft_by_words(d, step, value);
  if (step->overhang) return;
  step->loose = step->overhang = draft_may_be_loose(d, step, value);
  if (step->loose) return;
  step->parted = stores_parts(d, step, value);
  if (step->parted) return;
  if (d->kernel->target.access_align_bytes > 1) whole = bits_min(whole, aligned - step->misaligned);
  if (step->kind == PLAN_STORE && value->bits < 8 && whole < 1) {
    step->parted = true;
    whole = 1;
  }
  step->misaligned = (uint8_t)bits_max(step->misaligned - (step->vector - whole), 0);
  step->vector = (uint8_t)whole;
}

/* The same on the host, where what bounds part of a SIMD register moves lane by lane. What is
 * stored past the caches has to be whole lines. */
static void part_access(const draft *d, plan_step *step) {
  const plan_value *value = &d->kernel->value[step->kind == PLAN_LOAD ? step->out : step->in];
  step->masked = true;
  step->parted = draft_whole_vector(d, value, step->tensor, step->vector) < step->vector;
  if (step->parted) step->streaming = 0;
}

/* A step of the interior becomes one of the edge. */
void draft_mask_step(const draft *d, plan_step *step) {
  bool host = d->kernel->target.simd_lanes;
  if (step->kind == PLAN_LOAD || step->kind == PLAN_STORE)
    host ? part_access(d, step) : mask_access(d, step);
  if (step->kind == PLAN_MAP) step->masked = d->kernel->map[step->map].kind == PLAN_MAP_SCALE;
}

/* Whether the host's edges move registers, not elements. */
bool draft_moves_parts(const draft *d) {
  const plan_kernel *kernel = d->kernel;
  bool moves = kernel->target.simd_lanes && kernel->n_indices == 0 && d->word_elements == 0;
  for (int t = 0; t < 2; t++) moves &= kernel->tensor_bits[t] >= 8;
  for (int i = 0; i < kernel->n_maps; i++) moves &= kernel->map[i].kind != PLAN_MAP_SCALE;
  return moves;
}

/* log2 accesses of a thread. */
static int count_accesses(const plan_kernel *kernel, const plan_step *step) {
  const plan_value *value = &kernel->value[step->kind == PLAN_LOAD ? step->out : step->in];
  return plan_value_bits(value, PLAN_REGISTER) - step->vector;
}

/* The interior's steps from `first` once more, accesses masked and as wide as masks allow: the same
 * values and buffers serve both paths. False where that would be too much code. */
llrt_status draft_masked_steps(draft *d, int first, int end, bool *done) {
  plan_kernel *kernel = d->kernel;
  bool host = kernel->target.simd_lanes;
  *done = false;
  for (int i = first; i < end && !host; i++) {
    plan_step step = kernel->step[i];
    if (step.kind != PLAN_LOAD && step.kind != PLAN_STORE) continue;
    mask_access(d, &step);
    if (count_accesses(kernel, &step) > MASKED_MAX_ACCESSES) return LLRT_OK;
  }
  for (int i = first; i < end; i++) {
    plan_step step = kernel->step[i];
    draft_mask_step(d, &step);
    LLRT_TRY(draft_step(kernel, step));
  }
  *done = true;
  return LLRT_OK;
}

/* Whether each of the host's tiles overhangs a bound, wherever it lies: rows of 48 of which tiles
 * have 64. */
bool draft_is_always_edge(const draft *d, const plan_value *tile) {
  const plan_kernel *kernel = d->kernel;
  for (int i = 0; i < kernel->n_bounds && kernel->target.simd_lanes; i++) {
    const plan_bound *bound = &kernel->bound[i];
    if (!bound->device && bound->limit.arg < 0 &&
        plan_iteration_span(kernel, tile, bound) > bound->limit.value)
      return true;
  }
  return false;
}

/* ---- ways that part at accesses ---- */

bool draft_is_single_body(const draft *d, const draft_values *values,
                          const draft_two_loops *loops) {
  int registers = plan_value_bits(&values->load, PLAN_REGISTER);
  if (!draft_moves_parts(d)) return false;
  return loops->used || (registers >= SINGLE_BODY_LEAST_BITS && registers <= SINGLE_BODY_MAX_BITS);
}

llrt_status draft_access(draft *d, plan_step step, int inner) {
  plan_kernel *kernel = d->kernel;
  plan_step masked = step, branch = {.kind = PLAN_IF_INTERIOR, .body = 1, .otherwise = 1};
  if (!d->single_body.used) return draft_step(kernel, step);
  draft_mask_step(d, &masked);
  branch.joins = step.kind == PLAN_LOAD;
  branch.out = step.out;
  branch.looped = d->strip_bits > 0;
  if (branch.looped) branch.in = d->single_body.whole, branch.iterations = (uint8_t)inner;
  LLRT_TRY(draft_step(kernel, branch));
  LLRT_TRY(draft_step(kernel, step));
  return draft_step(kernel, masked);
}
