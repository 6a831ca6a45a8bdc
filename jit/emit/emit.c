/* From a plan to LLVM IR: one walk over the steps. Needs: a verified kernel. Keeps: every step's result
 * under the number that the plan gives it. */
#include "jit/emit/emit.h"

#include "jit/emit/address.h"
#include "jit/emit/builder.h"
#include "jit/emit/emit_memory.h"
#include "jit/emit/emit_steps.h"
#include "jit/emit/emit_value.h"

#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* i1; bounds may all be apart. */
static LLVMValueRef interior_of(emitter *e, const plan_step *step) {
  LLVMValueRef iteration = e->iteration, interior;
  if (step->looped) {
    if (step->iterations) e->iteration = e->outer;
    interior = emit_iteration_interior(e, &e->kernel->value[step->in]);
    e->iteration = iteration;
    return interior;
  }
  interior = emit_interior(e, step->apart);
  return interior ? interior : LLVMConstInt(e->i1, 1, false);
}

/* The value that both ways are one access of, with masks and without; NULL: they are something else. */
static const plan_value *accessed_both_ways(const emitter *e, const plan_step *step) {
  const plan_step *own = step + 1, *masked = step + 2;
  if (!emit_is_host(e) || step->body != 1 || step->otherwise != 1 || own->kind != masked->kind) return NULL;
  if (own->tensor != masked->tensor) return NULL;
  if (own->kind == PLAN_LOAD && own->out == masked->out) return &e->kernel->value[own->out];
  return own->kind == PLAN_STORE && own->in == masked->in ? &e->kernel->value[own->in] : NULL;
}

/* What is asked for ahead is so beside the interior's steps. */
static void emit_edge(emitter *e, const plan_step *step, int at) {
  emit_ahead ahead = e->ahead;
  e->ahead.total = 0;
  emit_steps(e, at + 1 + step->body, step->otherwise);
  e->ahead = ahead;
}

static void emit_if_interior(emitter *e, int at) {
  const plan_step *step = &e->kernel->step[at];
  LLVMBasicBlockRef inside = emit_new_block(e, "interior"), edge = emit_new_block(e, "edge");
  LLVMBasicBlockRef done = emit_new_block(e, "done");
  emit_words first;
  const plan_value *accessed = accessed_both_ways(e, step);
  plan_value spread;
  emit_place both;
  if (accessed) {
    plan_value_spread(e->kernel, accessed, &spread);
    emit_place_tensor(e, &spread, step[1].tensor, &both);
    e->both = &both;
  }
  LLVMBuildCondBr(e->builder, interior_of(e, step), inside, edge);
  LLVMPositionBuilderAtEnd(e->builder, inside);
  e->interior = true;
  emit_steps(e, at + 1, step->body);
  e->interior = false;
  if (step->joins) memcpy(first, e->value[step->out], sizeof first);
  LLVMBasicBlockRef from[2] = {LLVMGetInsertBlock(e->builder)};
  LLVMBuildBr(e->builder, done);
  LLVMPositionBuilderAtEnd(e->builder, edge);
  emit_edge(e, step, at);
  e->both = NULL;
  from[1] = LLVMGetInsertBlock(e->builder);
  LLVMBuildBr(e->builder, done);
  LLVMPositionBuilderAtEnd(e->builder, done);
  for (int i = 0; step->joins && i < emit_word_count(&e->kernel->value[step->out]); i++) {
    LLVMValueRef made[2] = {first[i], e->value[step->out][i]};
    e->value[step->out][i] = LLVMBuildPhi(e->builder, LLVMTypeOf(made[0]), "");
    LLVMAddIncoming(e->value[step->out][i], made, from, 2);
  }
}

static void emit_if_present(emitter *e, int at) {
  const plan_step *step = &e->kernel->step[at];
  LLVMValueRef present = step->looped ? emit_iteration_present(e, &e->kernel->value[step->in]) : emit_present(e);
  LLVMBasicBlockRef next = emit_open_guard_of_warps(e, present);
  emit_steps(e, at + 1, step->body);
  emit_close_guard(e, next);
}

static void emit_loop(emitter *e, int at) {
  const plan_step *step = &e->kernel->step[at], *last = step + step->body;
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
  LLVMBasicBlockRef body = emit_new_block(e, "loop"), done = emit_new_block(e, "loop_done");
  LLVMValueRef zero = emit_i64(e, 0), outer = e->iteration, before_outer = e->outer;
  LLVMBuildBr(e->builder, body);
  LLVMPositionBuilderAtEnd(e->builder, body);
  LLVMValueRef counter = LLVMBuildPhi(e->builder, e->i64, "iteration");
  if (step->joins) emit_carry_value(e, step->in, step->out, before);
  /* The host's compiler would search all ways to keep every address of the body in a register from turn to turn. */
  e->iteration = emit_is_host(e) ? e->ops->opaque(e, counter) : counter;
  e->outer = outer;
  if (outer)
    e->iteration = LLVMBuildOr(
        e->builder, LLVMBuildShl(e->builder, outer, emit_i64(e, step->iterations), ""), e->iteration, "");
  emit_steps(e, at + 1, step->body);
  LLVMValueRef next = LLVMBuildAdd(e->builder, counter, emit_i64(e, 1), "");
  LLVMValueRef more = LLVMBuildICmp(e->builder, LLVMIntULT, next,
                                    emit_i64(e, (int64_t)1 << step->iterations), "");
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->builder);
  LLVMBuildCondBr(e->builder, more, body, done);
  LLVMAddIncoming(counter, &zero, &before, 1);
  LLVMAddIncoming(counter, &next, &latch, 1);
  if (step->joins) emit_close_value(e, step->out, last->out, latch);
  LLVMPositionBuilderAtEnd(e->builder, done);
  if (step->joins) memcpy(e->value[step->nested ? step->with : step->out], e->value[last->out], sizeof(emit_words));
  e->iteration = outer;
  e->outer = before_outer;
}

static void emit_opaque_step(emitter *e, const plan_step *step) {
  for (int i = 0; i < emit_word_count(&e->kernel->value[step->out]); i++)
    e->value[step->out][i] = e->ops->opaque(e, e->value[step->in][i]);
}

/* Inside the loop the thread's number is hidden, as values are: else every address of the body would be
 * computed before it and stay in a register of its own. */
static void emit_repeat(emitter *e, int at) {
  const plan_step *step = &e->kernel->step[at];
  LLVMValueRef *carried = e->value[step->out], *last = e->value[e->kernel->step[at + step->body].out];
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
  LLVMBasicBlockRef body = emit_new_block(e, "repeat"), done = emit_new_block(e, "repeat_done");
  LLVMValueRef zero = emit_i32(e, 0);
  int n = emit_word_count(&e->kernel->value[step->out]);
  LLVMBuildBr(e->builder, body);
  LLVMPositionBuilderAtEnd(e->builder, body);
  LLVMValueRef turn = LLVMBuildPhi(e->builder, e->i32, "turn");
  LLVMAddIncoming(turn, &zero, &before, 1);
  for (int i = 0; i < n; i++) {
    LLVMValueRef first = e->value[step->in][i];
    carried[i] = LLVMBuildPhi(e->builder, LLVMTypeOf(first), "");
    LLVMAddIncoming(carried[i], &first, &before, 1);
  }
  LLVMValueRef lane = e->lane, warp = e->warp;
  if (lane) e->lane = e->ops->opaque(e, lane);
  if (warp) e->warp = e->ops->opaque(e, warp);
  emit_steps(e, at + 1, step->body);
  e->lane = lane;
  e->warp = warp;
  LLVMValueRef next = LLVMBuildAdd(e->builder, turn, emit_i32(e, 1), "");
  LLVMValueRef more = LLVMBuildICmp(e->builder, LLVMIntULT, next, emit_i32(e, step->turns), "");
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->builder);
  LLVMBuildCondBr(e->builder, more, body, done);
  LLVMAddIncoming(turn, &next, &latch, 1);
  for (int i = 0; i < n; i++) LLVMAddIncoming(carried[i], &last[i], &latch, 1);
  LLVMPositionBuilderAtEnd(e->builder, done);
}

/* Whether some step wants all lanes of a warp at once. */
static bool wants_whole_warps(const plan_kernel *kernel) {
  for (int i = 0; i < kernel->n_steps; i++) {
    const plan_step *step = &kernel->step[i];
    switch ((plan_step_kind)step->kind) {
      case PLAN_SHUFFLE:
      case PLAN_BARRIER:
      case PLAN_STAGE:
      case PLAN_SCAN:
      case PLAN_GATHER:
      case PLAN_DOT:
      case PLAN_AWAIT:
      case PLAN_FOLD_LANES: return true;
      default: break;
    }
    if (step->matrix != PLAN_MATRIX_NONE || step->overhang) return true;
  }
  return kernel->cluster_bits > 0;
}

/* It is mostly one of the edge's steps that parts lanes: inner blocks pay nothing. */
void emit_bring_together(emitter *e) {
  if (e->parted && e->whole_warps && e->ops->meet_warp) e->ops->meet_warp(e);
  e->parted = false;
}

/* Emits n steps from `first`; a step that owns a body takes its steps with it. */
void emit_steps(emitter *e, int first, int n) {
  for (int i = first; i < first + n; i++) {
    const plan_step *step = &e->kernel->step[i];
    emit_location(e, i);
    switch ((plan_step_kind)step->kind) {
      case PLAN_LOAD:
        emit_load_step(e, step);
        emit_scales_ahead(e, i, first + n);
        break;
      case PLAN_REGISTERS: emit_registers_step(e, step); break;
      case PLAN_SHUFFLE: emit_shuffle_step(e, step); break;
      case PLAN_SHARED_STORE: emit_shared_store_step(e, step); break;
      case PLAN_BARRIER: e->ops->barrier(e, step->own); break;
      case PLAN_SHARED_LOAD: emit_shared_load_step(e, step); break;
      case PLAN_MAP: emit_map_step(e, step); break;
      case PLAN_STORE: emit_store_step(e, step); break;
      case PLAN_IF_PRESENT: emit_if_present(e, i); break;
      case PLAN_REPORT: emit_report_step(e, step); break;
      case PLAN_IF_INTERIOR: emit_if_interior(e, i); break;
      case PLAN_COLLECT: emit_collect(e, i); break;
      case PLAN_LOOP: emit_loop(e, i); break;
      case PLAN_PREFETCH: emit_prefetch_step(e, i, first + n); break;
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
      case PLAN_DOT: emit_dot_step(e, step); break;
      case PLAN_ROLES: emit_roles_step(e, i); break;
      case PLAN_PRODUCE:
      case PLAN_LANDED: break; /* not of these warps */
      case PLAN_FILLED: emit_filled_step(e); break;
      case PLAN_SETTLE: emit_settle_step(e, i); break;
      case PLAN_RELEASE: emit_release_step(e, step); break;
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
  for (int i = 0; i < kernel->n_steps; i++) reads |= kernel->step[i].kind == PLAN_DOT && kernel->step[i].shared;
  return reads;
}

static void emit_init(emitter *e, const plan_kernel *kernel, LLVMContextRef context) {
  static const emit_target_ops *const ops[] = {[PLAN_ISA_HOST] = &emit_ops_host,
                                               [PLAN_ISA_NVPTX] = &emit_ops_nvptx,
                                               [PLAN_ISA_AMDGPU] = &emit_ops_amdgpu};
  e->kernel = kernel;
  e->whole_warps = wants_whole_warps(kernel);
  e->proxies = reads_shared_operands(kernel);
  e->ops = ops[kernel->target.isa];
  e->context = context;
  e->module = LLVMModuleCreateWithNameInContext(PLAN_ENTRY_NAME, context);
  e->builder = LLVMCreateBuilderInContext(context);
  e->i1 = LLVMInt1TypeInContext(context);
  e->i8 = LLVMInt8TypeInContext(context);
  e->i32 = LLVMInt32TypeInContext(context);
  e->i64 = LLVMInt64TypeInContext(context);
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
      e->shared[i] = kernel->buffer[i].offset ? LLVMBuildGEP2(e->builder, e->i8, start, &offset, 1, "") : start;
    }
  }
  e->grid = emit_i64(e, 0);
  if (kernel->lookback.used) emit_ticket(e);
  if (kernel->flat) emit_flat_first(e);
  else emit_decode_block(e);
  emit_begin_indices(e);
  emit_begin_streams(e);
  emit_steps(e, 0, kernel->n_steps);
  if (kernel->launch.rounds > 0) emit_close_rounds(e, &e->rounds);
  e->ops->end(e);
}

llrt_status jit_emit_kernel(const plan_kernel *kernel, LLVMContextRef context, LLVMModuleRef *module,
                            char *message, size_t message_size) {
  *module = NULL;
  if (plan_verify(kernel) != LLRT_OK) {
    snprintf(message, message_size, "%s", llrt_last_error());
    return LLRT_INTERNAL;
  }
  emitter *e = calloc(1, sizeof *e);
  if (!e) {
    snprintf(message, message_size, "out of memory");
    return LLRT_OUT_OF_MEMORY;
  }
  emit_init(e, kernel, context);
  emit_function(e);
  *module = e->module;
  LLVMDisposeBuilder(e->builder);
  free(e);
  return LLRT_OK;
}
