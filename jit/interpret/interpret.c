/* Executes a kernel over host memory, a block after another, every step for all warps before the
 * next: the oracle for planning. Checks what hardware would not forgive: accesses outside a tensor,
 * shared reads of what was not written since the last barrier began to hold. */
#include "jit/interpret/interpret.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/interpret/plan_interpret.h"
#include "jit/interpret/scan_eval.h"
#include "jit/plan/check/plan_view.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/eval.h"
#include "jit/plan/facts/following.h"
#include "jit/plan/facts/index_eval.h"
#include "jit/plan/facts/iteration.h"
#include "jit/plan/facts/row_group.h"
#include "jit/plan/kernel/step_table.h"
#include "jit/plan/types/combine.h"
#include "jit/plan/types/dot_instruction.h"
#include "jit/plan/types/number.h"
#include "layout/f2.h"

#include <stdlib.h>
#include <string.h>

static void interpreter_fini(interpreter *in) {
  for (int i = 0; i < PLAN_MAX_VALUES; i++) {
    free(in->value[i]);
    free(in->tile[i]);
  }
  free(in->place);
  free(in->shared);
  free(in->written);
  free(in->copier);
  free(in->reader);
  free(in->group);
  free(in->reading);
  free(in->read);
  free(in->far);
}

/* No block ends whose memory others may still read. */
static llrt_status check_unread_by_others(const interpreter *in) {
  for (size_t i = 0; i < in->shared_size << in->kernel->cluster_bits; i++)
    if (in->far[i] >= in->met)
      return llrt_error(LLRT_INTERNAL, "a block ends without a barrier after others' read");
  return LLRT_OK;
}

static llrt_status interpreter_init(interpreter *in) {
  const plan_kernel *kernel = in->kernel;
  bool failed = false;
  size_t tile_size = 1;
  for (int i = 0; i < kernel->n_values; i++) {
    size_t n = (size_t)1 << kernel->value[i].layout.out[0].bits;
    if (n > tile_size) tile_size = n;
  }
  failed |= !(in->place = calloc(tile_size, sizeof *in->place));
  for (int i = 0; i < kernel->n_values; i++) {
    size_t n = (size_t)interpreter_size(kernel, i);
    failed |= !(in->value[i] = calloc(n, sizeof(uint64_t)));
    failed |= !(in->tile[i] = calloc(n, sizeof(uint64_t)));
    for (size_t at = 0; at < n && in->tile[i]; at++)
      in->tile[i][at] = f2_apply(kernel->value[i].layout.column, at);
  }
  in->shared_size = (size_t)kernel->panel.elements;
  for (int i = 0; i < kernel->n_buffers; i++) {
    size_t places = (size_t)plan_buffer_end(&kernel->buffer[i]) * 2; /* elements of 4 bits */
    if (places > in->shared_size) in->shared_size = places;
  }
  size_t places = (in->shared_size << kernel->cluster_bits) + 1;
  failed |= !(in->shared = calloc(places, sizeof(uint64_t)));
  failed |= !(in->written = calloc(places, sizeof(int)));
  failed |= !(in->copier = calloc(places, sizeof(int)));
  failed |= !(in->reader = calloc(places, sizeof(int)));
  failed |= !(in->read = calloc(places, sizeof(int)));
  failed |= !(in->far = calloc(places, sizeof(int)));
  failed |= !(in->group = calloc(places, sizeof(int)));
  failed |= !(in->reading = calloc(places, sizeof(int)));
  return failed ? llrt_error(LLRT_OUT_OF_MEMORY, "no memory for the plan interpreter") : LLRT_OK;
}

/* ---- blocks and turns ---- */

/* What stands for block `block` of the grid. */
static void enter_block(interpreter *in, int64_t block) {
  in->block = block;
  plan_decode_block(in->kernel, block, in->args, &in->grid, in->upper);
}

/* Turn `turn` of the block's share; queued: ticket number `turn`. */
static void enter_turn(interpreter *in, int64_t turn, uint64_t grid) {
  int64_t own = turn, end;
  in->turn = turn;
  in->grid = grid;
  if (in->kernel->lookback.queued) {
    enter_block(in, turn);
    plan_block_turns(in->kernel, in->upper, in->args, &own, &end);
  }
  plan_decode_turn(in->kernel, own, in->args, &in->grid, in->upper);
}

/* The block's share of turns. Queued: the first block has drawn all tickets before others begin. */
static void find_turns(interpreter *in) {
  const plan_lookback *lookback = &in->kernel->lookback;
  if (in->kernel->deal.used) {
    in->begin = in->piece.from;
    in->end = in->piece.to;
    return;
  }
  if (!lookback->queued) {
    plan_block_turns(in->kernel, in->upper, in->args, &in->begin, &in->end);
    return;
  }
  in->begin = 0;
  in->end = in->block == 0 ? plan_number_value(&lookback->blocks, in->args, 0) : 0;
}

/* Before a walk the block's share is that of its uppers. */
static llrt_status run_ahead(interpreter *in, int at) {
  const plan_step *step = &in->kernel->step[at];
  const uint64_t grid = in->grid;
  const int64_t turn = in->turn, begin = in->begin, end = in->end, block = in->block;
  llrt_status status = LLRT_OK;
  int64_t upper[PLAN_MAX_DIGITS];
  memcpy(upper, in->upper, sizeof upper);
  if (turn < 0) {
    find_turns(in);
    in->turn = in->begin;
  }
  if (in->turn + step->turns < in->end) {
    enter_turn(in, in->turn + step->turns, grid & bits_mask(in->kernel->walk.grid_bits));
    status = interpret_steps(in, at + 1, step->body);
  }
  in->groups += plan_begins_copies(in->kernel, at);
  in->block = block;
  in->grid = grid;
  in->turn = turn, in->begin = begin, in->end = end;
  memcpy(in->upper, upper, sizeof upper);
  return status;
}

/* ---- control ---- */

static void reach_of_iteration(const interpreter *in, const plan_step *step, bool *interior,
                               bool *beyond) {
  plan_iteration_reach(in->kernel, &in->kernel->value[step->in], in->iteration >> step->iterations,
                       in->grid, in->upper, step->ignored_bounds, in->args, interior, beyond);
}

static bool is_interior(const interpreter *in, const plan_step *step) {
  bool interior, beyond;
  if (step->in_ring) return in->turn - in->begin < in->kernel->buffer[step->in_ring - 1].slots;
  if (step->holds) return true; /* which is never wrong */
  if (step->by_values)
    return plan_values_follow(in->kernel, &in->kernel->index[step->by_values - 1], step->vector,
                              in->grid, in->upper, in->args);
  if (!step->looped)
    return plan_block_interior(in->kernel, in->upper, step->ignored_bounds, in->args) &&
           plan_block_within(in->kernel, in->grid, in->upper, in->args);
  reach_of_iteration(in, step, &interior, &beyond);
  return interior;
}

/* Whether the block, or this iteration, has something to do. */
static bool is_present(const interpreter *in, const plan_step *step) {
  const plan_kernel *kernel = in->kernel;
  int64_t position[PLAN_MAX_DIGITS], value;
  bool interior, beyond;
  if (step->looped) {
    reach_of_iteration(in, step, &interior, &beyond);
    return !beyond;
  }
  if (plan_block_beyond(kernel, in->upper, in->args)) return false;
  plan_tile_position(kernel, 0, in->grid, in->upper, position);
  for (int i = 0; i < kernel->n_indices; i++)
    if (plan_ends_block(&kernel->index[i]) &&
        !plan_index_value(kernel, &kernel->index[i], position, in->args, &value))
      return false;
  return true;
}

/* Whether every axis that has a count in device memory has a position. */
static bool has_elements(const interpreter *in) {
  bool all = true;
  for (int axis = 0; axis < LLRT_MAX_RANK; axis++)
    all &= !in->kernel->extent[axis].used || plan_device_limit(in->kernel, axis, in->args) > 0;
  return all;
}

/* Every value is counted at the element whose other coordinates are 0. */
static llrt_status run_report(interpreter *in, const plan_step *step) {
  const plan_kernel *kernel = in->kernel;
  const plan_index *index = &kernel->index[step->index];
  int32_t *counter = (int32_t *)(uintptr_t)plan_number_value(&index->report, in->args, 0);
  for (int64_t at = 0; at < interpreter_size(kernel, step->in) && has_elements(in); at++) {
    int64_t position[PLAN_MAX_DIGITS], value;
    if (at != interpreter_first_place(in, step->in, at)) continue;
    if (!interpreter_position(in, step, interpreter_tile(in, step->in, at), position)) continue;
    bool counts = true;
    for (int i = 0; i < kernel->n_digits; i++) {
      int axis = kernel->digit[i].axis;
      if (axis < 0 || !(index->axes >> axis & 1)) counts &= position[i] == 0;
    }
    if (counts && !plan_index_value(kernel, index, position, in->args, &value)) ++*counter;
  }
  return LLRT_OK;
}

static llrt_status run_loop(interpreter *in, int at) {
  const plan_step *step = &in->kernel->step[at];
  uint64_t outer = in->iteration;
  for (uint64_t i = 0; i < 1ull << step->iterations; i++) {
    in->iteration = outer << step->iterations | i;
    if (step->joins) interpreter_copy(in, i ? step[step->body].out : step->in, step->out);
    LLRT_TRY(interpret_steps(in, at + 1, step->body));
  }
  in->iteration = outer;
  if (step->joins)
    interpreter_copy(in, step[step->body].out, step->nested ? step->with : step->out);
  return LLRT_OK;
}

static llrt_status run_repeat(interpreter *in, int at) {
  const plan_step *step = &in->kernel->step[at];
  interpreter_copy(in, step->in, step->out);
  for (int turn = 0; turn < step->turns; turn++) {
    if (turn > 0) interpreter_copy(in, step[step->body].out, step->out);
    LLRT_TRY(interpret_steps(in, at + 1, step->body));
  }
  return LLRT_OK;
}

/* Blocks go one after the other, so that what comes before has been left. */
static llrt_status run_settle(interpreter *in, int at) {
  const plan_step *step = &in->kernel->step[at];
  const plan_piece *piece = &in->piece;
  int64_t n = interpreter_size(in->kernel, step->in),
          turns = plan_number_value(&in->kernel->walk.turns, in->args, 1);
  if (piece->to < turns) {
    memcpy(&in->cells[in->dealt * n], in->value[step->in], (size_t)n * sizeof *in->cells);
    return LLRT_OK;
  }
  interpreter_copy(in, step->in, step->out);
  for (int64_t block = in->dealt - 1; piece->from > 0 && block >= piece->before; block--)
    for (int64_t i = 0; i < n; i++) {
      uint64_t *sum = &in->value[step->out][i];
      *sum = combine_two(LLRT_COMBINE_SUM, LLRT_F32, *sum, in->cells[block * n + i]);
    }
  return interpret_steps(in, at + 1, step->body);
}

/* ---- all steps ---- */

/* Whether the step needs a value that products under way make. */
static bool uses_pending(const interpreter *in, const plan_step *step) {
  bool first = in->pending[step->in] > in->multiplied,
       with = in->pending[step->with] > in->multiplied;
  bool second = in->pending[step->second] > in->multiplied;
  int uses = plan_step_row_of(step->kind)->uses;
  if (step->kind == PLAN_DOT && dot_instruction_at(step->instruction)->family == DOT_WGMMA)
    uses &= ~PLAN_USES_WITH;
  return (first && uses & PLAN_USES_IN) || (with && uses & PLAN_USES_WITH) ||
         (second && uses & PLAN_USES_SECOND);
}

static void carry(interpreter *in, const plan_step *from, bool first, const plan_step *walk) {
  if (walk->bare) return;
  interpreter_copy(in, first ? from->in : from->out, walk->out);
  if (walk->pairs) interpreter_copy(in, first ? from->index_in : from->index_out, walk->index_out);
}

/* What PLAN_CARRY steps of the walk's body carry. */
static void carry_more(interpreter *in, int at, bool first) {
  const plan_step *walk = &in->kernel->step[at], *end = walk + walk->body;
  for (const plan_step *step = walk + 1; step <= end; step += 1 + step->body + step->otherwise)
    if (step->kind == PLAN_CARRY) interpreter_copy(in, first ? step->in : step->with, step->out);
}

static llrt_status run_walk(interpreter *in, int at) {
  const plan_step *step = &in->kernel->step[at];
  const uint64_t grid = in->grid;
  const int64_t block = in->block;
  int64_t upper[PLAN_MAX_DIGITS];
  memcpy(upper, in->upper, sizeof upper);
  find_turns(in);
  carry(in, step, true, step);
  carry_more(in, at, true);
  const int64_t begin = in->begin, end = in->end;
  for (int64_t turn = begin; turn < end; turn++) {
    enter_turn(in, step->reverse ? begin + end - 1 - turn : turn, grid);
    LLRT_TRY(interpret_steps(in, at + 1, step->body));
    carry(in, &step[step->body], false, step);
    carry_more(in, at, false);
  }
  in->block = block;
  in->grid = grid;
  in->turn = -1;
  in->begin = in->end = 0;
  memcpy(in->upper, upper, sizeof upper);
  return LLRT_OK;
}

static llrt_status run_step(interpreter *in, int at) {
  const plan_step *step = &in->kernel->step[at];
  if (uses_pending(in, step))
    return llrt_error(LLRT_INTERNAL, "step %d uses what products under way make", at);
  switch ((plan_step_kind)step->kind) {
  case PLAN_LOAD: return interpret_global(in, step, step->out, true);
  case PLAN_STORE: return interpret_global(in, step, step->in, false);
  case PLAN_SHARED_STORE: return interpret_shared(in, step, step->in, false);
  case PLAN_SHARED_LOAD: return interpret_shared(in, step, step->out, true);
  case PLAN_REGISTERS: return interpret_exchange(in, step, false);
  case PLAN_SHUFFLE: return interpret_exchange(in, step, true);
  case PLAN_MAP: return interpret_map(in, step);
  case PLAN_BARRIER:
    in->phase++;
    if (!step->own) in->met = in->phase;
    return LLRT_OK;
  case PLAN_REPORT: return run_report(in, step);
  case PLAN_IF_PRESENT:
    return is_present(in, step) ? interpret_steps(in, at + 1, step->body) : LLRT_OK;
  case PLAN_IF_INTERIOR:
    if (is_interior(in, step)) return interpret_steps(in, at + 1, step->body);
    return interpret_steps(in, at + 1 + step->body, step->otherwise);
  case PLAN_COLLECT: return interpret_collect(in, at);
  case PLAN_LOOP: return run_loop(in, at);
  case PLAN_PREFETCH: return LLRT_OK;
  case PLAN_REPEAT: return run_repeat(in, at);
  case PLAN_STAGE: return interpret_stage(in);
  case PLAN_PUBLISH:
  case PLAN_PEEK:
  case PLAN_AWAIT:
    return plan_eval_lookback(in->kernel, step, in->block, in->upper, in->args, in->value);
  case PLAN_SCAN: return plan_eval_scan(in->kernel, step, in->value);
  case PLAN_PREFIX: plan_eval_prefix(in->kernel, step, in->value); return LLRT_OK;
  case PLAN_PICK: plan_eval_pick(in->kernel, step, in->value); return LLRT_OK;
  case PLAN_GATHER: return interpret_gather(in, step);
  case PLAN_AHEAD: return run_ahead(in, at);
  case PLAN_COPY: return interpret_copy(in, step);
  case PLAN_COPIED: interpret_await(in, step); return LLRT_OK;
  case PLAN_DOT: return interpret_dot(in, step);
  case PLAN_SETTLE: return run_settle(in, at);
  case PLAN_MULTIPLIED: interpret_multiplied(in, step); return LLRT_OK;
  case PLAN_ROLES: return LLRT_OK;
  case PLAN_PRODUCE: return interpret_produce(in, at);
  case PLAN_LANDED: interpret_landed(in); return LLRT_OK;
  case PLAN_FILLED: interpret_filled(in); return LLRT_OK;
  case PLAN_RELEASE: return interpret_release(in, step);
  case PLAN_SEND: in->phase++; return interpret_send(in, step);
  case PLAN_SENT: in->phase++; return LLRT_OK;
  case PLAN_OPAQUE: interpreter_copy(in, step->in, step->out); return LLRT_OK;
  case PLAN_FILL: interpret_fill(in, step); return LLRT_OK;
  case PLAN_JOIN: interpret_combine(in, step); return LLRT_OK;
  case PLAN_FOLD: return interpret_fold(in, step, false);
  case PLAN_FOLD_LANES: return interpret_fold(in, step, true);
  case PLAN_SPREAD: interpret_spread(in, step); return LLRT_OK;
  case PLAN_POSITION: interpret_position(in, step, false); return LLRT_OK;
  case PLAN_POSITION_ADD: interpret_position(in, step, true); return LLRT_OK;
  case PLAN_APPLY: interpret_apply(in, step); return LLRT_OK;
  case PLAN_CARRY: return LLRT_OK;
  case PLAN_WALK: return run_walk(in, at);
  }
  return llrt_error(LLRT_INTERNAL, "step %d of unknown kind %d", at, step->kind);
}

static llrt_status run_steps(interpreter *in, int first, int n) {
  for (int i = first; i < first + n; i++) {
    LLRT_TRY(run_step(in, i));
    i += in->kernel->step[i].body + in->kernel->step[i].otherwise;
  }
  return LLRT_OK;
}

/* The block of the grid's position `block`. */
static llrt_status run_block(interpreter *in) {
  const plan_kernel *kernel = in->kernel;
  size_t size = (in->shared_size << kernel->cluster_bits) * sizeof(int);
  memset(in->written, 0, size);
  memset(in->read, 0, size);
  memset(in->reader, 0, size);
  memset(in->far, 0, size);
  memset(in->group, 0, size);
  memset(in->reading, 0, size);
  memset(in->pending, 0, sizeof in->pending);
  in->products = in->multiplied = 0;
  in->released = 0;
  in->phase = in->met = 1;
  in->groups = 0;
  in->turn = -1;
  in->begin = in->end = 0;
  if (!kernel->flat) plan_decode_block(kernel, in->block, in->args, &in->grid, in->upper);
  LLRT_TRY(interpret_steps(in, 0, kernel->n_steps));
  return check_unread_by_others(in);
}

#define DEALT_TO 5 /* blocks of a device of a few multiprocessors */

/* All pieces of all blocks. */
static llrt_status run_dealt(interpreter *in) {
  const plan_kernel *kernel = in->kernel;
  int settle = 0;
  while (kernel->step[settle].kind != PLAN_SETTLE) settle++;
  int64_t positions = plan_number_value(&kernel->positions, in->args, 1);
  int64_t turns = plan_number_value(&kernel->walk.turns, in->args, 1),
          blocks = positions * turns < DEALT_TO ? 1 : DEALT_TO;
  llrt_status status = LLRT_OK;
  in->cells = calloc((size_t)(blocks * interpreter_size(kernel, kernel->step[settle].in)),
                     sizeof *in->cells);
  if (!in->cells) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for the plan interpreter");
  for (in->dealt = 0; in->dealt < blocks && status == LLRT_OK; in->dealt++)
    for (int64_t left = -1; left != 0 && status == LLRT_OK; left = in->piece.rest) {
      in->piece = plan_deal_piece(positions, turns, blocks, in->dealt, left);
      in->block = in->piece.position;
      if (in->piece.left > 0) status = run_block(in);
    }
  free(in->cells);
  return status;
}

static llrt_status run_stage_of(const plan_kernel *kernel, const plan_run *run) {
  llrt_tensor tensors[LLRT_MAX_TENSORS];
  llrt_storage_binding bindings[LLRT_MAX_TENSORS];
  interpreter in = {
      .kernel = kernel, .tensors = run->tensors, .bindings = run->bindings, .run_steps = run_steps};
  int64_t blocks;
  LLRT_TRY(plan_verify(kernel));
  if (kernel->launch.view.used) {
    LLRT_TRY(plan_view_tensors(&kernel->launch, run, tensors, bindings));
    for (int t = 0; t < kernel->n_tensors; t++) /* results of all splits lie behind each other */
      if (kernel->launch.view.tensor[t] < 0 && kernel->walk.n_places && kernel->walk.split >= 0)
        bindings[t].span *= run->splits;
    in.tensors = tensors;
    in.bindings = bindings;
  }
  LLRT_TRY(plan_run_stage(&kernel->launch, run, in.args, &blocks));
  llrt_status status = interpreter_init(&in);
  if (kernel->deal.used && status == LLRT_OK) status = run_dealt(&in);
  for (in.block = 0;
       !kernel->deal.used && in.block << kernel->cluster_bits < blocks && status == LLRT_OK;
       in.block++)
    status = run_block(&in);
  interpreter_fini(&in);
  return status;
}

llrt_status plan_interpret(const plan_kernel *first, const llrt_tensor *tensors,
                           const llrt_storage_binding *bindings, int n_tensors) {
  plan_run run;
  LLRT_TRY(plan_run_begin(&first->launch, tensors, bindings, n_tensors, &run));
  unsigned char *workspace = NULL;
  if (run.workspace_bytes > 0) {
    workspace = aligned_alloc(256, (size_t)run.workspace_bytes); /* whole regions of 256 bytes */
    if (!workspace) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for the plan interpreter");
    memset(workspace, 0, (size_t)run.workspace_bytes);
    plan_run_place(&run, workspace, workspace + run.zero_bytes);
  }
  llrt_status status = LLRT_OK;
  for (int i = 0; i <= first->launch.later && status == LLRT_OK; i++)
    status = run_stage_of(&first[i], &run);
  free(workspace);
  return status;
}
