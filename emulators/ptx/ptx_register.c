/* Registers with undefined bits, and the execution of operations on registers alone. */
#include "emulators/ptx/ptx_run.h"

#include <string.h>

uint64_t *ptx_undefined(ptx_warp *warp, int reg) {
  if (warp->state[reg] != PTX_PARTLY) {
    memset(warp->undefined[reg], warp->state[reg] == PTX_NEVER ? 0xff : 0, sizeof(ptx_lanes));
    warp->state[reg] = PTX_PARTLY;
  }
  return warp->undefined[reg];
}

static void blend(uint64_t *into, const uint64_t *from, uint32_t mask) {
  if (mask == PTX_FULL) {
    memcpy(into, from, sizeof(ptx_lanes));
    return;
  }
  for (int i = 0; i < PTX_LANES; i++) into[i] = mask >> i & 1 ? from[i] : into[i];
}

/* Whether one lane has undefined bits. */
static bool any(const uint64_t *undefined) {
  uint64_t all = 0;
  for (int i = 0; i < PTX_LANES; i++) all |= undefined[i];
  return all != 0;
}

void ptx_write(ptx_warp *warp, int reg, uint32_t mask, const uint64_t *value,
               const uint64_t *undefined) {
  static const ptx_lanes none;
  warp->stamp[reg] = ++warp->writes;
  blend(warp->value[reg], value, mask);
  if (!undefined && mask == PTX_FULL) {
    warp->state[reg] = PTX_DEFINED;
  } else if (undefined || warp->state[reg] != PTX_DEFINED) {
    uint64_t *shadow = ptx_undefined(warp, reg);
    blend(shadow, undefined ? undefined : none, mask);
    if (!any(shadow)) warp->state[reg] = PTX_DEFINED;
  }
}

bool ptx_has_undefined(ptx_warp *warp, int reg, uint32_t mask, int *lane) {
  if (warp->state[reg] == PTX_DEFINED) return false;
  const uint64_t *shadow = ptx_undefined(warp, reg);
  for (*lane = 0; *lane < PTX_LANES; ++*lane) {
    if (mask >> *lane & 1 && shadow[*lane]) return true;
  }
  return false;
}

bool ptx_require_defined(ptx_run *run, ptx_warp *warp, const ptx_op *op, int n, uint32_t mask,
                         const char *what) {
  int lane;
  for (int k = 0; k < op->operand[n].count; k++) {
    if (ptx_has_undefined(warp, ptx_reg(op, n, k), mask, &lane)) {
      return ptx_fault(run, warp, op, lane, EMU_UNDEFINED, "%s is undefined", what);
    }
  }
  return true;
}

/* The undefined bits of the result: form->spread, or all bits wherever an operand has one. */
static void spread_lanes(ptx_warp *warp, const ptx_op *op, const uint64_t *const value[3],
                         uint64_t *undefined) {
  static const ptx_lanes none;
  const uint64_t *shadow[3] = {none, none, none};
  for (int n = 1; n < op->n_operands; n++) shadow[n - 1] = ptx_undefined(warp, ptx_reg(op, n, 0));
  for (int i = 0; i < PTX_LANES; i++) {
    uint64_t u[3] = {shadow[0][i], shadow[1][i], shadow[2][i]};
    uint64_t v[3] = {value[0][i], value[1][i], value[2][i]};
    uint64_t bits = u[0] | u[1] | u[2] ? UINT64_MAX : 0;
    if (bits && op->form->spread) bits = op->form->spread(op, v, u);
    undefined[i] = bits & op->mask;
  }
}

bool ptx_compute_op(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  static const ptx_lanes none;
  const uint64_t *value[3] = {none, none, none};
  ptx_lanes result, undefined;
  bool dirty = false;
  (void)run;
  for (int n = 1; n < op->n_operands; n++) {
    int reg = ptx_reg(op, n, 0);
    value[n - 1] = warp->value[reg];
    dirty |= warp->state[reg] != PTX_DEFINED;
  }
  if (dirty) spread_lanes(warp, op, value, undefined);
  op->form->compute(op, value[0], value[1], value[2], result);
  ptx_write(warp, ptx_reg(op, 0, 0), mask, result, dirty ? undefined : NULL);
  return true;
}
