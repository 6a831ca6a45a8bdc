/* Registers of a wave, their undefined bits, and the memory operations that will still write
 * them. */
#include "gfx9_code.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool gfx9_fault(gfx9_wave *wave, const gfx9_op *op, emu_fault_kind kind, int lane,
                const char *format, ...) {
  emu_fault *fault = wave->machine->fault;
  char message[sizeof fault->message];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  emu_fault_set(fault, kind, "%s", message);
  snprintf(fault->instruction, sizeof fault->instruction, "%s", op->text);
  fault->line = (int)op->pc;
  fault->plan_step = op->step;
  fault->block = wave->machine->block;
  fault->warp = wave->number;
  fault->lane = lane;
  return false;
}

/* ---- waits ---- */

static bool is_under_way(const gfx9_wave *wave, const gfx9_operand *operand, bool by_vector,
                         bool by_lds) {
  for (int i = operand->index; i < operand->index + operand->words; i++) {
    if (operand->kind == GFX9_SCALAR && wave->s_pending[i]) return true;
    if (operand->kind != GFX9_VECTOR) continue;
    if (by_vector && wave->vector_tag[i] > wave->pending.vector_done) return true;
    if (by_lds && wave->lds_tag[i] > wave->pending.lds_done) return true;
  }
  return false;
}

/* No operand may be the destination of a memory operation that may be under way; but operations of
 * one kind write in order, so a load may have the destination of the load before it. */
bool gfx9_check_waits(gfx9_wave *wave, const gfx9_op *op) {
  bool reads = op->info->space == GFX9_LDS;
  bool loads = op->info->space && !reads && op->info->space != GFX9_FLAT;
  for (int k = 0; k < op->n_operands; k++) {
    const gfx9_operand *operand = &op->operand[k];
    bool into = operand->destination;
    if (!is_under_way(wave, operand, !(into && loads), !(into && reads))) continue;
    return gfx9_fault(wave, op, EMU_NOT_WAITED, EMU_NOWHERE,
                      "operand %d is being loaded and no s_waitcnt has waited for it", k);
  }
  return true;
}

/* ---- reading ---- */

const uint32_t *gfx9_read_row(const gfx9_wave *wave, const gfx9_operand *operand, int word,
                              uint32_t *scratch, int n) {
  if (operand->kind == GFX9_VECTOR) return wave->v[operand->index + word];
  uint32_t value = operand->kind == GFX9_SCALAR ? wave->s[operand->index + word]
                                                : (uint32_t)(operand->value >> (32 * word));
  for (int i = 0; i < n; i++) scratch[i] = value;
  return scratch;
}

const uint32_t *gfx9_read_undefined(const gfx9_wave *wave, const gfx9_operand *operand, int word,
                                    uint32_t *scratch, int n) {
  if (operand->kind == GFX9_VECTOR) return wave->v_undefined[operand->index + word];
  uint32_t value = operand->kind == GFX9_SCALAR ? wave->s_undefined[operand->index + word] : 0;
  for (int i = 0; i < n; i++) scratch[i] = value;
  return scratch;
}

bool gfx9_is_undefined(const gfx9_wave *wave, const gfx9_operand *operand) {
  for (int i = operand->index; i < operand->index + operand->words; i++) {
    if (operand->kind == GFX9_VECTOR && wave->tainted[i]) return true;
    if (operand->kind == GFX9_SCALAR && wave->s_undefined[i]) return true;
  }
  return false;
}

/* ---- writing ---- */

static void write_lanes(uint32_t *to, uint64_t lanes, const uint32_t *from) {
  if (lanes == GFX9_ALL) {
    memcpy(to, from, sizeof(gfx9_row));
    return;
  }
  for (int i = 0; i < GFX9_LANES; i++) {
    uint32_t keep = (uint32_t)(lanes >> i & 1) - 1;
    to[i] = (to[i] & keep) | (from[i] & ~keep);
  }
}

static bool is_zero(const uint32_t *row) {
  uint32_t all = 0;
  for (int i = 0; i < GFX9_LANES; i++) all |= row[i];
  return all == 0;
}

void gfx9_write_row(gfx9_wave *wave, int index, uint64_t lanes, const uint32_t *row,
                    const uint32_t *undefined) {
  static const gfx9_row zero;
  write_lanes(wave->v[index], lanes, row);
  if (!undefined && !wave->tainted[index]) return;
  write_lanes(wave->v_undefined[index], lanes, undefined ? undefined : zero);
  wave->tainted[index] = !is_zero(wave->v_undefined[index]);
}

bool gfx9_write_scalar(gfx9_wave *wave, const gfx9_op *op, int index, uint32_t value,
                       uint32_t undefined) {
  if (index >= GFX9_EXEC && undefined) {
    return gfx9_fault(wave, op, EMU_UNDEFINED, EMU_NOWHERE, "exec becomes undefined");
  }
  wave->s[index] = value;
  wave->s_undefined[index] = undefined;
  return true;
}

bool gfx9_write_mask(gfx9_wave *wave, const gfx9_op *op, int index, uint64_t value,
                     uint64_t undefined) {
  return gfx9_write_scalar(wave, op, index, (uint32_t)value, (uint32_t)undefined) &&
         gfx9_write_scalar(wave, op, index + 1, (uint32_t)(value >> 32),
                           (uint32_t)(undefined >> 32));
}
