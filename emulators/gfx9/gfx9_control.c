/* Branches, waits, barriers, exec, and moves between lanes and scalars. */
#include "gfx9_code.h"

#include <time.h>

#include <string.h>

bool gfx9_nop(gfx9_wave *wave, const gfx9_op *op) {
  (void)wave, (void)op;
  return true;
}

bool gfx9_end(gfx9_wave *wave, const gfx9_op *op) {
  (void)op;
  wave->state = GFX9_ENDED;
  return true;
}

/* A barrier waits for waves, not for memory: LDS operations still under way would race with what
 * the other waves do after it, but for exchanges between lanes, which touch no memory. (Vector
 * memory writes reach the cache of the block's compute unit in order, so the workgroup's other
 * waves need no wait for these.) */
bool gfx9_barrier(gfx9_wave *wave, const gfx9_op *op) {
  if (wave->pending.lds_accessed > wave->pending.lds_done) {
    return gfx9_fault(wave, op, EMU_NOT_WAITED, EMU_NOWHERE,
                      "LDS operations may be under way at a barrier");
  }
  wave->state = GFX9_AT_BARRIER;
  return true;
}

/* Vector memory operations and LDS operations end in the order of issue, so at most n under way
 * means that the others, the oldest, are done; scalar loads end in any order. */
bool gfx9_wait(gfx9_wave *wave, const gfx9_op *op) {
  gfx9_pending *pending = &wave->pending;
  uint32_t vector = (op->dword & 15) | (op->dword >> 14 & 3) << 4, lds = op->dword >> 8 & 15;
  if (pending->vector_issued - pending->vector_done > vector) {
    pending->vector_done = pending->vector_issued - vector;
  }
  if (pending->lds_issued - pending->lds_done > lds) pending->lds_done = pending->lds_issued - lds;
  if (lds == 0 && pending->scalar_under_way) {
    pending->scalar_under_way = 0;
    for (int i = 0; i < GFX9_SCALARS; i++) wave->s_pending[i] = false;
  }
  return true;
}

/* Conditions in the order of their SOPP opcodes, from s_cbranch_scc0 = 4; 0: always. */
bool gfx9_branch(gfx9_wave *wave, const gfx9_op *op) {
  bool taken = true;
  switch (op->info->parameter) {
  case 4:
  case 5:
    if (wave->scc_undefined) return gfx9_fault(wave, op, EMU_UNDEFINED, EMU_NOWHERE, "scc");
    taken = wave->scc == (op->info->parameter == 5);
    break;
  case 6:
  case 7:
    if (gfx9_pair(&wave->s_undefined[GFX9_VCC])) {
      return gfx9_fault(wave, op, EMU_UNDEFINED, EMU_NOWHERE, "vcc");
    }
    taken = (gfx9_pair(&wave->s[GFX9_VCC]) != 0) == (op->info->parameter == 7);
    break;
  case 8:
  case 9: taken = (gfx9_exec(wave) != 0) == (op->info->parameter == 9); break;
  default: break;
  }
  if (taken) wave->pc = op->target;
  return true;
}

/* The scalar operand of a step, 64 bits. */
static uint64_t scalar_pair(const gfx9_wave *wave, const gfx9_operand *operand,
                            uint64_t *undefined) {
  *undefined = 0;
  if (operand->kind == GFX9_CONSTANT) return operand->value;
  *undefined = gfx9_pair(&wave->s_undefined[operand->index]);
  return gfx9_pair(&wave->s[operand->index]);
}

/* Destination = exec, then exec = source OP exec; in _wrexec the destination is what exec becomes.
 * `parameter` names OP: & | ^, with ~source, ~exec as n1, n2, and turned over in capitals. */
enum { AND = '&', OR = '|', XOR = '^', NAND = 'A', NOR = 'O', XNOR = 'X' };

bool gfx9_save_exec(gfx9_wave *wave, const gfx9_op *op) {
  const char *name = op->info->name;
  uint64_t undefined, exec = gfx9_exec(wave), made;
  uint64_t source = scalar_pair(wave, &op->operand[1], &undefined);
  uint64_t x = strstr(name, "n1_") ? ~source : source, y = strstr(name, "n2_") ? ~exec : exec;
  switch (op->info->parameter) {
  case AND: made = x & y, undefined &= y; break;
  case OR: made = x | y, undefined &= ~y; break;
  case XOR: made = x ^ y; break;
  case NAND: made = ~(x & y), undefined &= y; break;
  case NOR: made = ~(x | y), undefined &= ~y; break;
  default: made = ~(x ^ y); break;
  }
  wave->scc = made != 0;
  wave->scc_undefined = false;
  return gfx9_write_mask(wave, op, op->operand[0].index, strstr(name, "_wrexec") ? made : exec,
                         0) &&
         gfx9_write_mask(wave, op, GFX9_EXEC, made, undefined);
}

/* v_readfirstlane_b32 (two operands) and v_readlane_b32. */
bool gfx9_read_lane(gfx9_wave *wave, const gfx9_op *op) {
  uint64_t exec = gfx9_exec(wave);
  const gfx9_operand *source = &op->operand[1], *selector = &op->operand[2];
  uint32_t scratch[1];
  int lane = exec ? __builtin_ctzll(exec) : 0;
  if (op->n_operands == 3) {
    if (gfx9_is_undefined(wave, selector)) {
      return gfx9_fault(wave, op, EMU_UNDEFINED, EMU_NOWHERE, "the lane's number");
    }
    lane = (int)(gfx9_read_row(wave, selector, 0, scratch, 1)[0] % GFX9_LANES);
  }
  if (source->kind != GFX9_VECTOR) {
    return gfx9_fault(wave, op, EMU_UNKNOWN, -1, "no vector register");
  }
  return gfx9_write_scalar(wave, op, op->operand[0].index, wave->v[source->index][lane],
                           wave->v_undefined[source->index][lane]);
}

/* v_writelane_b32: one lane, whatever exec says. */
bool gfx9_write_lane(gfx9_wave *wave, const gfx9_op *op) {
  gfx9_row value, undefined;
  if (gfx9_is_undefined(wave, &op->operand[2])) {
    return gfx9_fault(wave, op, EMU_UNDEFINED, EMU_NOWHERE, "the lane's number");
  }
  uint32_t lane = gfx9_read_row(wave, &op->operand[2], 0, value, 1)[0] % GFX9_LANES;
  const uint32_t *row = gfx9_read_row(wave, &op->operand[1], 0, value, GFX9_LANES);
  const uint32_t *unknown = gfx9_read_undefined(wave, &op->operand[1], 0, undefined, GFX9_LANES);
  gfx9_write_row(wave, op->operand[0].index, (uint64_t)1 << lane, row, unknown);
  return true;
}

/* v_swap_b32. */
bool gfx9_swap(gfx9_wave *wave, const gfx9_op *op) {
  int a = op->operand[0].index, b = op->operand[1].index;
  uint64_t exec = gfx9_exec(wave);
  gfx9_row value, undefined;
  memcpy(value, wave->v[a], sizeof value);
  memcpy(undefined, wave->v_undefined[a], sizeof undefined);
  gfx9_write_row(wave, a, exec, wave->v[b], wave->tainted[b] ? wave->v_undefined[b] : NULL);
  gfx9_write_row(wave, b, exec, value, undefined);
  return true;
}

/* Who waits for another device sleeps between its looks: that is when others run. */
bool gfx9_sleep(gfx9_wave *wave, const gfx9_op *op) {
  gfx9_machine *machine = wave->machine;
  (void)op;
  if (machine->system) machine->system->rest(machine->system->user, machine->sleeps++);
  return true;
}

/* The constant clock, in ticks of 10 ns. The result may be used after lgkmcnt(0), as that of a
 * scalar load. */
bool gfx9_real_time(gfx9_wave *wave, const gfx9_op *op) {
  struct timespec time;
  int into = op->operand[0].index;
  clock_gettime(CLOCK_MONOTONIC, &time);
  uint64_t ticks = (uint64_t)time.tv_sec * 100000000u + (uint64_t)time.tv_nsec / 10;
  for (int w = 0; w < 2; w++) {
    if (!gfx9_write_scalar(wave, op, into + w, (uint32_t)(ticks >> 32 * w), 0)) return false;
    wave->s_pending[into + w] = true;
  }
  wave->pending.scalar_under_way++;
  return true;
}

bool gfx9_program_counter(gfx9_wave *wave, const gfx9_op *op) {
  uint64_t address = wave->machine->module->entry + op->pc + 4;
  return gfx9_write_mask(wave, op, op->operand[0].index, address, 0);
}
