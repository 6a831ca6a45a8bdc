/* Launches: clusters one after the other, a cluster's blocks and a block's warps in turn from
 * barrier to barrier. */
#include "emulators/ptx/ptx_run.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Warp instructions of a launch: more is a loop without end. */
#define MAX_STEPS ((uint64_t)1 << 36)

/* ---- faults ---- */

static void place_fault(ptx_run *run, const ptx_warp *warp, const ptx_op *op, int lane) {
  emu_fault *fault = run->fault;
  fault->lane = lane;
  fault->block = run->block;
  if (warp) fault->warp = warp->index;
  if (!op) return;
  fault->line = op->line;
  fault->plan_step = op->step;
  snprintf(fault->instruction, sizeof fault->instruction, "%.*s", (int)op->text_length,
           run->kernel->module->text + op->text);
  for (char *at = fault->instruction; *at; at++) {
    if (*at == '\t') *at = ' ';
  }
}

bool ptx_fault(ptx_run *run, const ptx_warp *warp, const ptx_op *op, int lane, emu_fault_kind kind,
               const char *format, ...) {
  char text[160];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  emu_fault_set(run->fault, kind, "%s", text);
  place_fault(run, warp, op, lane);
  return false;
}

bool ptx_fault_at(ptx_run *run, const ptx_warp *warp, const ptx_op *op, int lane, uint64_t address,
                  emu_fault_kind kind, const char *format, ...) {
  char text[160];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  ptx_fault(run, warp, op, lane, kind, "%s", text);
  run->fault->address = address;
  run->fault->has_address = true;
  return false;
}

/* ---- running ---- */

/* Lanes whose guard holds. */
static bool apply_guard(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t *mask) {
  const uint64_t *guard = warp->value[op->guard];
  uint32_t holds = 0;
  int lane;
  if (warp->state[op->guard] && ptx_has_undefined(warp, op->guard, *mask, &lane)) {
    return ptx_fault(run, warp, op, lane, EMU_UNDEFINED, "the predicate is undefined");
  }
  for (int i = 0; i < PTX_LANES; i++) holds |= (uint32_t)(guard[i] & 1) << i;
  *mask &= op->guard_negated ? ~holds : holds;
  return true;
}

/* Runs a warp until it waits at a barrier, yields or ends. */
static bool run_warp(ptx_run *run, ptx_warp *warp) {
  const ptx_op *code = run->kernel->op;
  if (warp->yielded) ptx_take_turns(run, warp);
  warp->yielded = false;
  while (warp->alive && !warp->at_barrier && !warp->at_cluster_barrier && !warp->yielded) {
    if (warp->pc >= run->kernel->n_ops) {
      return ptx_fault(run, warp, NULL, EMU_NOWHERE, EMU_UNKNOWN, "the code ends without ret");
    }
    const ptx_op *op = &code[warp->pc];
    uint32_t mask = warp->active;
    if (op->guard >= 0 && !apply_guard(run, warp, op, &mask)) return false;
    if (run->steps_left-- == 0) return ptx_fault(run, warp, op, EMU_NOWHERE, EMU_LIMIT, "no end");
    run->by_class[op->form->class]++;
    if (run->grid->apart && op->guard >= 0 && ptx_is_branch(op)) ptx_note_way(run, warp, op, mask);
    warp->pc++;
    if (mask && !op->form->execute(run, warp, op, mask)) return false;
    if (warp->pc >= warp->limit) ptx_run_others(run, warp);
  }
  return true;
}

/* Whether all warps that barrier `number` wants wait at it; those are then in *members. */
static bool barrier_full(const ptx_run *run, int number, uint32_t *members) {
  int wanted = run->n_warps;
  *members = 0;
  for (int i = 0; i < run->n_warps; i++) {
    const ptx_warp *warp = &run->warp[i];
    if (!warp->at_barrier || warp->barrier != number) continue;
    *members |= 1u << i;
    if (warp->barrier_threads) wanted = warp->barrier_threads / PTX_LANES;
  }
  return *members && __builtin_popcount(*members) == wanted;
}

/* Ends a barrier that all its warps have come to. */
static void release(ptx_run *run, uint32_t members) {
  for (int i = 0; i < run->n_warps; i++) {
    if (members >> i & 1) run->warp[i].at_barrier = false;
  }
  emu_shared_order_lanes(&run->shared);
  if (__builtin_popcount(members) == run->n_warps) emu_shared_barrier(&run->shared);
  else if (run->mbarriers) emu_order_barrier(run->shared.order, members);
}

/* Ends barriers at which all their warps wait; *moved then. A fault where some never come. */
static bool end_phase(ptx_run *run, bool *moved) {
  int waiting = 0, ended = 0;
  uint32_t members;
  for (int i = 0; i < run->n_warps; i++) {
    waiting += run->warp[i].at_barrier;
    ended += run->warp[i].alive == 0;
  }
  for (int number = 0; waiting && number < 16; number++) {
    if (!barrier_full(run, number, &members)) continue;
    if (!run->mbarriers && __builtin_popcount(members) != run->n_warps) {
      return ptx_fault(run, NULL, NULL, EMU_NOWHERE, EMU_UNKNOWN,
                       "a barrier of some warps, without mbarriers");
    }
    release(run, members);
    *moved = true;
  }
  if (*moved) return true;
  if (waiting && waiting + ended == run->n_warps) {
    for (int i = 0; i < run->n_warps; i++) {
      if (!run->warp[i].at_barrier) continue;
      return ptx_fault(run, &run->warp[i], &run->kernel->op[run->warp[i].pc - 1], EMU_NOWHERE,
                       EMU_BARRIER, "%d of %d warps ended without coming to this barrier", ended,
                       run->n_warps);
    }
  }
  return true;
}

bool ptx_kernel_lets_start(const ptx_kernel *kernel) {
  bool lets = false;
  for (int i = 0; i < kernel->n_ops; i++)
    lets |= strncmp(kernel->op[i].form->syntax, "griddepcontrol launch", 21) == 0;
  return lets;
}

bool ptx_block_ended(const ptx_run *run) {
  for (int i = 0; i < run->n_warps; i++) {
    if (run->warp[i].alive) return false;
  }
  return true;
}

static void set_special(ptx_run *run, ptx_special special, int w, uint64_t first, uint64_t step) {
  int reg = run->kernel->special[special];
  if (reg < 0) return;
  for (int i = 0; i < PTX_LANES; i++) run->warp[w].value[reg][i] = first + step * (uint64_t)i;
  run->warp[w].state[reg] = PTX_DEFINED;
}

void ptx_set_time(ptx_run *run, ptx_warp *warp) {
  struct timespec now;
  if (run->kernel->special[PTX_GLOBALTIMER] < 0) return;
  clock_gettime(CLOCK_MONOTONIC, &now);
  set_special(run, PTX_GLOBALTIMER, (int)(warp - run->warp),
              (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec, 0);
}

static void set_specials(ptx_run *run, int w) {
  const ptx_grid *grid = run->grid;
  ptx_set_time(run, &run->warp[w]);
  set_special(run, PTX_TID_X, w, (uint64_t)w * PTX_LANES, 1);
  set_special(run, PTX_TID_YZ, w, 0, 0);
  set_special(run, PTX_NTID_X, w, grid->threads, 0);
  set_special(run, PTX_NTID_YZ, w, 1, 0);
  set_special(run, PTX_CTAID_X, w, run->block, 0);
  set_special(run, PTX_CTAID_YZ, w, 0, 0);
  set_special(run, PTX_NCTAID_X, w, grid->blocks, 0);
  set_special(run, PTX_NCTAID_YZ, w, 1, 0);
  set_special(run, PTX_CLUSTER_CTARANK, w, (uint64_t)run->rank, 0);
  set_special(run, PTX_CLUSTER_NCTARANK, w, (uint64_t)run->cluster->size, 0);
  set_special(run, PTX_CLUSTERID_X, w, run->block / (uint64_t)run->cluster->size, 0);
  set_special(run, PTX_NCLUSTERID_X, w, grid->blocks / (uint64_t)run->cluster->size, 0);
  set_special(run, PTX_LANEID, w, 0, 1);
  set_special(run, PTX_WARPID, w, (uint64_t)w, 0);
  for (int s = PTX_LANEMASK_EQ; s <= PTX_LANEMASK_GE; s++) {
    set_special(run, (ptx_special)s, w, 0, 0);
    int reg = run->kernel->special[s];
    for (int i = 0; reg >= 0 && i < PTX_LANES; i++) {
      uint32_t equal = 1u << i, below = equal - 1;
      uint32_t masks[] = {equal, below, below | equal, ~(below | equal), ~below};
      run->warp[w].value[reg][i] = masks[s - PTX_LANEMASK_EQ];
    }
  }
}

static void start_block(ptx_run *run) {
  const ptx_kernel *kernel = run->kernel;
  emu_shared_reset(&run->shared);
  ptx_mbarriers_reset(run);
  for (int w = 0; w < run->n_warps; w++) {
    ptx_warp *warp = &run->warp[w];
    uint32_t threads = run->grid->threads - (uint32_t)w * PTX_LANES;
    memset(warp->state, PTX_NEVER, (size_t)kernel->n_registers);
    memset(warp->local_undefined, 0xff, (size_t)PTX_LANES * kernel->local_bytes);
    for (int i = 0; i < kernel->n_constants; i++) {
      warp->state[kernel->constant[i].reg] = PTX_DEFINED;
    }
    set_specials(run, w);
    ptx_async_reset(warp);
    ptx_wgmma_reset(warp);
    warp->polling = NULL;
    warp->index = w;
    warp->pc = 0;
    warp->alive = warp->active = threads >= PTX_LANES ? PTX_FULL : (1u << threads) - 1;
    warp->limit = INT32_MAX;
    for (int i = 0; i < PTX_LANES; i++) warp->together[i] = warp->alive;
    warp->waiting = warp->came = 0;
    warp->waited = run->grid->programmatic ? 0 : PTX_FULL;
    warp->yielded = warp->at_barrier = warp->relaxed = warp->arrived = warp->at_cluster_barrier =
        false;
  }
}

/* Runs each warp as far as it comes; *moved: there was progress, not only polling. */
static bool run_turn(ptx_run *run, bool *moved) {
  uint64_t before = run->steps_left;
  int yields = 0;
  for (int w = 0; w < run->n_warps; w++) {
    ptx_warp *warp = &run->warp[w];
    if (warp->alive && !warp->at_barrier && !warp->at_cluster_barrier && !run_warp(run, warp))
      return false;
    yields += warp->yielded;
  }
  *moved |= before - run->steps_left > 4 * (uint64_t)yields;
  return end_phase(run, moved);
}

static bool cluster_ended(const ptx_cluster *cluster) {
  for (int r = 0; r < cluster->size; r++) {
    if (!ptx_block_ended(cluster->run[r])) return false;
  }
  return true;
}

static bool run_cluster(ptx_cluster *cluster, uint32_t first) {
  cluster->phase = 0;
  for (int r = 0; r < cluster->size; r++) {
    cluster->run[r]->block = first + (uint32_t)r;
    start_block(cluster->run[r]);
    cluster->run[r]->counters.blocks++;
  }
  for (int idle = 0; !cluster_ended(cluster);
       idle++) { /* turns of nothing but polling, by one lane after the other */
    bool moved = false;
    for (int r = 0; r < cluster->size; r++) {
      if (!ptx_block_ended(cluster->run[r]) && !run_turn(cluster->run[r], &moved)) return false;
    }
    if (ptx_cluster_release(cluster) || moved) idle = -1;
    if (idle < PTX_LANES) continue;
    return ptx_fault(cluster->run[0], NULL, NULL, EMU_NOWHERE, EMU_BARRIER,
                     "all warps wait for ever");
  }
  for (int r = 0; r < cluster->size; r++) {
    if (!ptx_mbarriers_ended(cluster->run[r]) || !ptx_wgmma_ended(cluster->run[r])) return false;
  }
  return true;
}

/* ---- beginning and end ---- */

static bool warp_init(const ptx_kernel *kernel, ptx_warp *warp, bool apart) {
  size_t n = (size_t)kernel->n_registers + 1;
  warp->value = calloc(n, sizeof(ptx_lanes));
  warp->undefined = calloc(n, sizeof(ptx_lanes));
  warp->state = calloc(n, 1);
  warp->stamp = calloc(n, sizeof *warp->stamp);
  if (apart) warp->ways = calloc((size_t)kernel->n_ops, sizeof *warp->ways);
  warp->local = calloc(PTX_LANES, kernel->local_bytes + 1);
  warp->local_undefined = calloc(PTX_LANES, kernel->local_bytes + 1);
  if (!warp->value || !warp->undefined || !warp->state || !warp->stamp || (apart && !warp->ways) ||
      !warp->local || !warp->local_undefined)
    return false;
  for (int i = 0; i < kernel->n_constants; i++) {
    const ptx_constant *constant = &kernel->constant[i];
    for (int lane = 0; lane < PTX_LANES; lane++) warp->value[constant->reg][lane] = constant->value;
  }
  return true;
}

static void run_fini(ptx_run *run) {
  for (int w = 0; w < run->n_warps; w++) {
    ptx_async_reset(&run->warp[w]);
    ptx_wgmma_reset(&run->warp[w]);
    free(run->warp[w].ways);
    free(run->warp[w].stamp);
    free(run->warp[w].local);
    free(run->warp[w].local_undefined);
    free(run->warp[w].value);
    free(run->warp[w].undefined);
    free(run->warp[w].state);
  }
  ptx_flow_free(&run->flow);
  ptx_mbarriers_fini(run);
  emu_shared_fini(&run->shared);
  free(run);
}

static bool run_init(ptx_run *run) {
  const ptx_kernel *kernel = run->kernel;
  uint32_t dynamic = kernel->dynamic_shared ? run->grid->dynamic_shared : 0;
  for (int w = 0; w < run->n_warps; w++) {
    if (!warp_init(kernel, &run->warp[w], run->grid->apart)) return false;
  }
  for (uint32_t i = 0; i < kernel->n_params; i++) {
    memcpy(run->param + kernel->param_offset[i], run->grid->parameters[i], kernel->param_size[i]);
  }
  if (run->grid->apart && !ptx_flow_make(kernel, &run->flow)) return false;
  return emu_shared_init(&run->shared, kernel->shared_bytes + dynamic) && ptx_mbarriers_init(run);
}

/* Adds what a block of the cluster counted. */
static void add_total(const ptx_run *run, emu_counters *counters) {
  const uint64_t *n = run->by_class;
  emu_counters_add(counters, &run->counters);
  counters->arithmetic += n[PTX_ARITHMETIC];
  counters->conversions += n[PTX_CONVERT];
  counters->moves += n[PTX_MOVE];
  counters->permutes += n[PTX_PERMUTE];
  counters->shuffles += n[PTX_SHUFFLE];
  counters->branches += n[PTX_BRANCH];
  counters->barriers += n[PTX_BARRIER];
  counters->matrix += n[PTX_MATRIX];
  counters->atomics += n[PTX_ATOMIC];
  for (int i = 0; i < PTX_CLASSES; i++) counters->instructions += n[i];
}

static ptx_run *make_run(const ptx_kernel *kernel, const ptx_grid *grid, ptx_cluster *cluster,
                         int rank, emu_fault *fault) {
  ptx_run *run = calloc(1, sizeof *run);
  if (!run) return NULL;
  run->kernel = kernel;
  run->grid = grid;
  run->fault = fault;
  run->cluster = cluster;
  run->rank = rank;
  run->steps_left = MAX_STEPS;
  run->n_warps = (int)((grid->threads + PTX_LANES - 1) / PTX_LANES);
  if (run_init(run)) return run;
  run_fini(run);
  return NULL;
}

bool ptx_launch(const ptx_kernel *kernel, const ptx_grid *grid, emu_counters *counters,
                emu_fault *fault) {
  ptx_cluster cluster = {.size = grid->cluster ? (int)grid->cluster : 1};
  memset(counters, 0, sizeof *counters);
  memset(fault, 0, sizeof *fault);
  if (grid->threads == 0 || grid->threads > PTX_MAX_WARPS * PTX_LANES || grid->blocks == 0 ||
      cluster.size > PTX_MAX_CLUSTER || grid->blocks % (uint32_t)cluster.size ||
      (kernel->max_threads && grid->threads > kernel->max_threads)) {
    return emu_fault_set(fault, EMU_LIMIT, "%s cannot run %u blocks of %u threads", kernel->name,
                         grid->blocks, grid->threads);
  }
  bool done = true;
  int made = 0;
  for (; done && made < cluster.size; made += done) {
    cluster.run[made] = make_run(kernel, grid, &cluster, made, fault);
    done = cluster.run[made] != NULL;
  }
  if (!done) emu_fault_set(fault, EMU_LIMIT, "no memory for a launch");
  const uint32_t clusters = grid->blocks / (uint32_t)cluster.size;
  for (uint32_t i = 0; done && i < clusters; i++)
    done = run_cluster(&cluster, (grid->reversed ? clusters - 1 - i : i) * (uint32_t)cluster.size);
  for (int r = 0; r < made; r++) {
    add_total(cluster.run[r], counters);
    run_fini(cluster.run[r]);
  }
  return done;
}
