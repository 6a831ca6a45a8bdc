/* Control: moves, branches, barriers, the end. */
#include "emulators/ptx/ptx_run.h"

#include <string.h>

/* ---- branches ---- */

static bool run_branch(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  ptx_part(run, warp, mask, op->target);
  return true;
}

/* Whether grids in front may still run: the grid's own end says that theirs has come. */
static bool is_beside(const ptx_run *run) { return run->grid->front || run->grid->may_be_beside; }

bool ptx_may_touch(ptx_run *run, const ptx_warp *warp, const ptx_op *op, int lane, uint64_t address,
                   int bytes, bool write) {
  const ptx_grid *grid = run->grid;
  bool waited = warp->waited >> lane & 1;
  if (!waited && !is_beside(run))
    return ptx_fault_at(run, warp, op, lane, address, EMU_RACE,
                        "global memory before griddepcontrol.wait");
  if (!waited && grid->front && ptx_front_meets(grid->front, address, bytes, write))
    return ptx_fault_at(run, warp, op, lane, address, EMU_RACE,
                        "what the grid in front touches, before griddepcontrol.wait");
  if (grid->touched && !ptx_front_add(grid->touched, address, bytes, write))
    return ptx_fault_at(run, warp, op, lane, address, EMU_LIMIT, "no memory for what is touched");
  return true;
}

static bool run_exit(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  if (is_beside(run) && mask & ~warp->waited)
    return ptx_fault(run, warp, op, __builtin_ctz(mask & ~warp->waited), EMU_RACE,
                     "ends without griddepcontrol.wait");
  warp->alive &= ~mask;
  warp->active &= ~mask;
  if (!warp->alive || warp->active || ptx_run_others(run, warp)) return true;
  return ptx_fault(run, warp, op, __builtin_ctz(mask), EMU_BARRIER,
                   "others of the warp wait for lanes that end here");
}

static bool run_trap(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  (void)mask;
  return ptx_fault(run, warp, op, __builtin_ctz(mask), EMU_LIMIT, "the kernel traps");
}

bool ptx_is_branch(const ptx_op *op) { return op->form->execute == run_branch; }

bool ptx_is_exit(const ptx_op *op) {
  return op->form->execute == run_exit || op->form->execute == run_trap;
}

bool ptx_is_return(const ptx_op *op) { return strcmp(op->form->syntax, "ret") == 0; }

/* ---- barriers ---- */

static bool run_barrier(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  const ptx_operand *number = &op->operand[0], *wanted = &op->operand[1];
  bool counted = op->n_operands > 1;
  if (!number->immediate || number->value < 0 || number->value > 15 ||
      (counted && !wanted->immediate)) {
    return ptx_fault(run, warp, op, EMU_NOWHERE, EMU_UNKNOWN,
                     "a barrier that is no constant from 0 to 15");
  }
  if (counted && (wanted->value <= 0 || wanted->value % PTX_LANES)) {
    return ptx_fault(run, warp, op, EMU_NOWHERE, EMU_OUT_OF_RANGE, "a barrier of %lld threads",
                     (long long)wanted->value);
  }
  uint32_t threads = run->grid->threads - (uint32_t)warp->index * PTX_LANES;
  uint32_t all = threads >= PTX_LANES ? PTX_FULL : (1u << threads) - 1;
  if (!run->grid->apart && ptx_come_each(run, warp, op, &mask)) return true;
  if (mask != all) {
    return ptx_fault(run, warp, op, __builtin_ctz(all & ~mask), EMU_BARRIER,
                     "lanes 0x%08x of the warp's 0x%08x come to this barrier", mask, all);
  }
  warp->at_barrier = true;
  warp->barrier = (int)number->value;
  warp->barrier_threads = counted ? (int)wanted->value : 0;
  return true;
}

static bool run_warp_barrier(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  uint32_t members = (uint32_t)warp->value[ptx_reg(op, 0, 0)][__builtin_ctz(mask)];
  if (!ptx_may_meet(run, warp, op, mask)) return false;
  if (ptx_come_together(run, warp, op, members, mask)) return true;
  emu_shared_order_lanes(&run->shared);
  if ((members & warp->alive) == mask) return true;
  return ptx_fault(run, warp, op, EMU_NOWHERE, EMU_BARRIER,
                   "lanes 0x%08x come to a barrier of 0x%08x", mask, members);
}

/* The grid before this one has ended already. */
static bool run_grid_wait(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  (void)run, (void)op;
  warp->waited |= mask;
  return true;
}

static bool run_nothing(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  (void)run, (void)warp, (void)op, (void)mask;
  return true;
}

/* ---- moves ---- */

static bool run_move(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  int from = ptx_reg(op, 1, 0);
  (void)run;
  ptx_write(warp, ptx_reg(op, 0, 0), mask, warp->value[from],
            warp->state[from] ? ptx_undefined(warp, from) : NULL);
  ptx_wgmma_move(warp, ptx_reg(op, 0, 0), from);
  return true;
}

/* mov.b64 d, {a, b}: parts from the lowest up. */
static void pack(ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  int count = op->operand[1].count, width = op->bits / count;
  ptx_lanes value = {0}, undefined = {0};
  for (int k = 0; k < count; k++) {
    int reg = ptx_reg(op, 1, k);
    const uint64_t *v = warp->value[reg], *u = ptx_undefined(warp, reg);
    uint64_t part = ((uint64_t)1 << width) - 1;
    for (int i = 0; i < PTX_LANES; i++) {
      value[i] |= (v[i] & part) << (k * width);
      undefined[i] |= (u[i] & part) << (k * width);
    }
  }
  ptx_write(warp, ptx_reg(op, 0, 0), mask, value, undefined);
}

/* mov.b64 {a, b}, d. */
static void unpack(ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  int count = op->operand[0].count, width = op->bits / count, reg = ptx_reg(op, 1, 0);
  const uint64_t *v = warp->value[reg], *u = ptx_undefined(warp, reg);
  uint64_t part = ((uint64_t)1 << width) - 1;
  ptx_lanes value, undefined;
  for (int k = 0; k < count; k++) {
    for (int i = 0; i < PTX_LANES; i++) {
      value[i] = v[i] >> (k * width) & part;
      undefined[i] = u[i] >> (k * width) & part;
    }
    ptx_write(warp, ptx_reg(op, 0, k), mask, value, undefined);
  }
}

static bool run_vector_move(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  int to = op->operand[0].count, from = op->operand[1].count;
  if ((to > 1 && from > 1) || to > 4 || from > 4 || to == 3 || from == 3) {
    return ptx_fault(run, warp, op, EMU_NOWHERE, EMU_UNKNOWN, "operands of this move");
  }
  if (to > 1) {
    unpack(warp, op, mask);
  } else if (from > 1) {
    pack(warp, op, mask);
  } else {
    return run_move(run, warp, op, mask);
  }
  return true;
}

/* cvta: shared memory and parameters have their windows in generic addresses; addresses of global
 * memory and of a thread's own are the same. */
static bool run_cvta(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  int from = ptx_reg(op, 1, 0);
  static const uint64_t windows[] = {0, PTX_SHARED_WINDOW, 0, PTX_PARAM_WINDOW, 0};
  bool back = op->choice[0] == 1;
  ptx_lanes value;
  (void)run;
  for (int i = 0; i < PTX_LANES; i++) {
    uint64_t window = windows[op->choice[1]];
    value[i] = warp->value[from][i] + (back ? -window : window);
  }
  ptx_write(warp, ptx_reg(op, 0, 0), mask, value,
            warp->state[from] ? ptx_undefined(warp, from) : NULL);
  return true;
}

#define ROW(syntax, operands, execute, class) {syntax, operands, execute, NULL, NULL, class, 0}

const ptx_form ptx_control_forms[] = {
    ROW("mov pred", "ds", run_move, PTX_MOVE),
    ROW("mov %D", "vw", run_vector_move, PTX_MOVE),
    ROW("cvta ?to shared|global|param|local u64", "ds", run_cvta, PTX_MOVE),
    ROW("bra ?uni", "l", run_branch, PTX_BRANCH),
    ROW("ret", "", run_exit, PTX_BRANCH),
    ROW("exit", "", run_exit, PTX_BRANCH),
    ROW("trap", "", run_trap, PTX_BRANCH),
    ROW("bar sync", "s?s", run_barrier, PTX_BARRIER),
    ROW("barrier sync ?aligned", "s?s", run_barrier, PTX_BARRIER),
    ROW("bar warp sync", "s", run_warp_barrier, PTX_BARRIER),
    ROW("griddepcontrol wait", "", run_grid_wait, PTX_BRANCH),
    ROW("griddepcontrol launch_dependents", "", run_nothing, PTX_BRANCH),
    ROW("membar cta|gl|sys", "", run_nothing, PTX_BARRIER),
    ROW("fence acq_rel|sc cta|cluster|gpu|sys", "", run_nothing, PTX_BARRIER),
    {0}};
