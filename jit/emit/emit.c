/* From a plan to LLVM IR: one walk over the steps. Needs: a verified kernel. Keeps: every step's
 * result under the number that the plan gives it. */
#include "jit/emit/emit.h"

#include "backends/intrinsics.h"
#include "jit/emit/control/emit_control.h"
#include "jit/emit/control/emit_rolled.h"
#include "jit/emit/core/builder.h"
#include "jit/emit/core/module_flags.h"
#include "jit/emit/memory/emit_memory.h"
#include "jit/emit/place/address.h"
#include "jit/emit/place/index.h"
#include "jit/emit/value/emit_value.h"
#include "jit/plan/check/plan_view.h"
#include "jit/plan/facts/box.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/kernel/step_table.h"

#include "base/memory.h"
#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether some step wants all lanes of a warp at once. Those that apply nodes do where they ask
 * whether all numbers of a warp are moderate (emit_moderate.c). */
static bool wants_whole_warps(const plan_kernel *kernel) {
  for (int i = 0; i < kernel->n_steps; i++) {
    const plan_step *step = &kernel->step[i];
    if (plan_step_row_of(step->kind)->warps || step->kind == PLAN_APPLY ||
        step->matrix != PLAN_MATRIX_NONE || step->overhang)
      return true;
  }
  return kernel->cluster_bits > 0 || kernel->experts.used;
}

/* The slots of the turn before are free when its products are done; the step behind says so. */
static void emit_late_step(emitter *e, const plan_step *step) {
  emit_late_begin(e, step);
  emit_release_step(e, step + 1);
  emit_late_end(e, step);
}

/* n steps from `first`; a step that owns a body takes its steps with it. */
static void make_steps(emitter *e, int first, int n) {
  for (int i = first; i < first + n; i++) {
    const plan_step *step = &e->kernel->step[i];
    int by_turns = n > 1 ? emit_rolled(e, i) : 0;
    if (by_turns > 0) {
      i += by_turns - 1;
      continue;
    }
    emit_location(e, i);
    switch ((plan_step_kind)step->kind) {
    case PLAN_LOAD:
      emit_load_step(e, step);
      emit_scales_ahead(e, i, first + n);
      break;
    case PLAN_REGISTERS: emit_registers_step(e, step); break;
    case PLAN_SHUFFLE: emit_shuffle_step(e, step); break;
    case PLAN_SHARED_STORE: emit_shared_store_step(e, step); break;
    case PLAN_BARRIER:
      if (step->pushed) emit_pushed_step(e);
      else e->ops->barrier(e, step->own);
      break;
    case PLAN_SHARED_LOAD: emit_shared_load_step(e, step); break;
    case PLAN_MAP: emit_map_step(e, step); break;
    case PLAN_STORE: emit_store_step(e, step); break;
    case PLAN_IF_PRESENT: emit_if_present(e, i); break;
    case PLAN_REPORT: emit_report_step(e, step); break;
    case PLAN_IF_INTERIOR: emit_if_interior(e, i); break;
    case PLAN_COLLECT: emit_collect(e, i); break;
    case PLAN_LOOP:
      if (step->turned) emit_turned_loop(e, i);
      else emit_loop(e, i);
      break;
    case PLAN_PREFETCH:
      if (emit_is_host(e)) emit_prefetch_step(e, i, first + n);
      else emit_ask_step(e, step);
      break;
    case PLAN_REPEAT: emit_repeat(e, i); break;
    case PLAN_STAGE: emit_stage_step(e); break;
    case PLAN_SCAN: emit_scan_step(e, step); break;
    case PLAN_PREFIX: emit_prefix_step(e, step); break;
    case PLAN_PICK: emit_pick_step(e, step); break;
    case PLAN_GATHER: emit_gather_step(e, step); break;
    case PLAN_AHEAD:
      if (e->kernel->lookback.queued) emit_later_ticket(e, i);
      else emit_later_turn(e, i);
      break;
    case PLAN_COPY:
      if (!step->box) emit_copy_step(e, step); /* boxes: emit_roles.c */
      break;
    case PLAN_COPIED: e->ops->await_copies(e, step->turns); break;
    case PLAN_DOT:
      if (step->late_sums) emit_late_step(e, step);
      else emit_dot_step(e, step);
      break;
    case PLAN_ROLES: emit_roles_step(e, i); break;
    case PLAN_PRODUCE:
    case PLAN_LANDED: break; /* not of these warps */
    case PLAN_FILLED: emit_filled_step(e); break;
    case PLAN_SETTLE: emit_settle_step(e, i); break;
    case PLAN_RELEASE:
      if (!step[-1].late_sums) emit_release_step(e, step);
      break;
    case PLAN_SEND: emit_send_step(e, step); break;
    case PLAN_SENT: emit_sent_step(e); break;
    case PLAN_MULTIPLIED: emit_multiplied_step(e, step); break;
    case PLAN_PUBLISH: emit_publish_step(e, step); break;
    case PLAN_PEEK: emit_peek_step(e, step); break;
    case PLAN_AWAIT: emit_await_step(e, step); break;
    case PLAN_OPAQUE: emit_opaque_step(e, step); break;
    case PLAN_FILL: emit_fill_step(e, step); break;
    case PLAN_JOIN: emit_join_step(e, step); break;
    case PLAN_FOLD: emit_fold_step(e, step); break;
    case PLAN_FOLD_LANES: emit_fold_lanes_step(e, step); break;
    case PLAN_SPREAD: emit_spread_step(e, step); break;
    case PLAN_POSITION:
    case PLAN_POSITION_ADD: emit_position_step(e, step); break;
    case PLAN_APPLY: emit_apply_step(e, step); break;
    case PLAN_CARRY: break; /* the walk's */
    case PLAN_WALK:
      if (e->kernel->lookback.queued) emit_queue(e, i);
      else emit_walk(e, i);
      break;
    }
    emit_bring_together(e);
    i += step->body + step->otherwise;
  }
}

static bool reads_shared_operands(const plan_kernel *kernel) {
  bool reads = false;
  for (int i = 0; i < kernel->n_steps; i++)
    reads |= kernel->step[i].kind == PLAN_DOT && kernel->step[i].shared;
  return reads;
}

static void emit_init(emitter *e, const plan_kernel *kernel, LLVMContextRef context) {
#define OPS(NAME, name) [PLAN_ISA_##NAME] = &emit_ops_##name,
  static const emit_target_ops *const ops[] = {PLAN_ISAS(OPS)};
#undef OPS
  e->kernel = kernel;
  e->whole_warps = wants_whole_warps(kernel);
  e->proxies = reads_shared_operands(kernel);
  e->ops = ops[kernel->target.isa];
  e->make_steps = make_steps;
  e->make_word = emit_make_word;
  e->context = context;
  e->module = LLVMModuleCreateWithNameInContext(PLAN_ENTRY_NAME, context);
  e->builder = LLVMCreateBuilderInContext(context);
  e->i1 = LLVMInt1TypeInContext(context);
  e->i8 = LLVMInt8TypeInContext(context);
  e->i32 = LLVMInt32TypeInContext(context);
  e->i64 = LLVMInt64TypeInContext(context);
}

/* Blocks beyond the tiles that experts have do nothing; NULL: there are none, or rounds see to it.
 */
static LLVMBasicBlockRef emit_open_expert_tiles(emitter *e) {
  if (!e->kernel->experts.shared || e->kernel->launch.rounds > 0) return NULL;
  LLVMValueRef there = emit_less(e, e->block, emit_expert_positions(e));
  return emit_open_guard_of_warps(e, there);
}

static void emit_function(emitter *e) {
  const plan_kernel *kernel = e->kernel;
  e->ops->begin(e);
  if (kernel->target.isa != PLAN_ISA_HOST) emit_begin_locations(e);
  if (kernel->launch.shared_bytes > 0) {
    e->shared[0] = e->ops->shared(e, kernel->launch.shared_bytes);
    LLVMValueRef start = e->shared_start = e->shared[0];
    LLVMValueRef place = emit_i64(e, kernel->lookback.place);
    if (kernel->lookback.used) e->ticket = LLVMBuildGEP2(e->builder, e->i8, start, &place, 1, "");
    for (int i = 0; i < kernel->n_buffers; i++) {
      LLVMValueRef offset = emit_i64(e, kernel->buffer[i].offset);
      e->shared[i] = kernel->buffer[i].offset
                         ? LLVMBuildGEP2(e->builder, e->i8, start, &offset, 1, "")
                         : start;
    }
  }
  emit_begin_pushed(e);
  e->grid = emit_i64(e, 0);
  for (int i = 0; i < kernel->n_digits; i++) e->upper[i] = e->grid;
  if (kernel->lookback.used) emit_ticket(e);
  emit_begin_experts(e);
  LLVMBasicBlockRef behind = emit_open_expert_tiles(e);
  bool by_rounds = kernel->experts.shared && kernel->launch.rounds > 0; /* which find the expert */
  if (kernel->flat) emit_flat_first(e);
  else if (!by_rounds) emit_decode_block(e);
  if (!by_rounds && (kernel->launch.rounds == 0 || kernel->n_indices == 0)) emit_begin_indices(e);
  emit_begin_streams(e);
  emit_steps(e, 0, kernel->n_steps);
  if (kernel->launch.rounds > 0) emit_close_rounds(e, &e->rounds);
  if (plan_sends(kernel)) emit_await_sent(e); /* the block's memory is read until then */
  if (plan_fetches_together(kernel)) e->ops->barrier(e, false); /* others tell its barriers */
  emit_close_guard(e, behind);
  e->ops->end(e);
}

/* See EMIT_ROWS. Addresses of walks want the code generator's passes. */
static bool is_straight_program(const plan_kernel *kernel) {
  bool applies = false, walks = false;
  for (int i = 0; i < kernel->n_steps; i++) {
    applies |= kernel->step[i].kind == PLAN_APPLY;
    walks |= kernel->step[i].kind == PLAN_WALK || kernel->step[i].kind == PLAN_LOOP;
  }
  return applies && !walks;
}

/* With words of so many values behind it: those of as many as there may be are 2 MB. */
static emitter *new_emitter(int n_values) {
  size_t words = (size_t)n_values * sizeof(emit_words);
  emitter *e = memory_zeroed(1, sizeof *e + 2 * words);
  if (!e) return NULL;
  e->value = (emit_words *)(e + 1);
  e->prepared = e->value + n_values;
  return e;
}

llrt_status jit_emit_kernel(const plan_kernel *kernel, LLVMContextRef context,
                            LLVMModuleRef *module, char *message, size_t message_size) {
  *module = NULL;
  if (plan_verify(kernel) != LLRT_OK) {
    snprintf(message, message_size, "%s", llrt_error_text());
    return LLRT_INTERNAL;
  }
  emitter *e = new_emitter(kernel->n_values);
  if (!e) {
    snprintf(message, message_size, "out of memory");
    return LLRT_OUT_OF_MEMORY;
  }
  if (emit_rolling_begin(kernel, &e->rolling) != LLRT_OK) {
    free(e);
    snprintf(message, message_size, "out of memory");
    return LLRT_OUT_OF_MEMORY;
  }
  emit_init(e, kernel, context);
  emit_function(e);
  emit_rolling_end(e->rolling);
  if (is_straight_program(kernel))
    LLVMGetOrInsertNamedMetadata(e->module, EMIT_ROWS, strlen(EMIT_ROWS));
  *module = e->module;
  LLVMDisposeBuilder(e->builder);
  free(e);
  return LLRT_OK;
}
