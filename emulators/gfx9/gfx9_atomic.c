/* Atomic operations on global memory and LDS: lanes one after another, lowest first. */
#include "gfx9_code.h"
#include "gfx9_float.h"

#include "emulators/common/emu_float.h"

#include <string.h>

static uint32_t add_f16(uint32_t a, uint32_t b) {
  return f16_result(f16_of(a) + f16_of(b), a, b, 0, false);
}

static uint32_t add_bf16(uint32_t a, uint32_t b) {
  uint32_t x = a << 16, y = b << 16;
  double sum = (double)f32_of(x) + (double)f32_of(y);
  if (sum != sum) return f32_result((float)sum, x, y, 0, false) >> 16;
  return (uint32_t)emu_pack(&emu_bf16, sum, EMU_NEAREST, false);
}

/* Two sums of 16-bit numbers. */
static uint32_t in_halves(uint32_t (*add)(uint32_t, uint32_t), uint64_t a, uint64_t b) {
  return add(a & 0xffff, b & 0xffff) | add(a >> 16 & 0xffff, b >> 16 & 0xffff) << 16;
}

static int64_t extended(uint64_t x, unsigned bits) {
  return (int64_t)(x << (64 - bits)) >> (64 - bits);
}

/* What memory holds afterwards. */
static uint64_t combined(int operation, unsigned bits, uint64_t old, uint64_t data,
                         uint64_t compare) {
  switch (operation) {
  case '+': return old + data;
  case '-': return old - data;
  case '&': return old & data;
  case '|': return old | data;
  case '^': return old ^ data;
  case 's': return data;
  case 'c': return old == compare ? data : old;
  case 'i': return old >= data ? 0 : old + 1;
  case 'd': return old == 0 || old > data ? data : old - 1;
  case 'u': return old < data ? old : data;
  case 'U': return old > data ? old : data;
  case 'm': return extended(old, bits) < extended(data, bits) ? old : data;
  case 'M': return extended(old, bits) > extended(data, bits) ? old : data;
  case 'h': return in_halves(add_f16, old, data);
  case 'b': return in_halves(add_bf16, old, data);
  case 'l': return float_least(old, data, (int)bits, 1);
  case 'L': return float_least(old, data, (int)bits, -1);
  default:
    if (bits == 64) return f64_result(f64_of(old) + f64_of(data), old, data, 0, false);
    return f32_result(f32_of((uint32_t)old) + f32_of((uint32_t)data), (uint32_t)old, (uint32_t)data,
                      0, false);
  }
}

/* `words` words of a lane from register `index` on; false: they have undefined bits. */
static bool gather(const gfx9_wave *wave, int index, int words, int lane, uint64_t *value) {
  *value = wave->v[index][lane];
  if (words == 2) *value |= (uint64_t)wave->v[index + 1][lane] << 32;
  return !wave->v_undefined[index][lane] && (words == 1 || !wave->v_undefined[index + 1][lane]);
}

static bool run_lane(gfx9_wave *wave, const gfx9_op *op, const gfx9_access *access, int lane,
                     int data, int compare, uint64_t *old) {
  int words = (int)access->bytes / 4;
  uint64_t value, expected = 0, unknown = 0;
  bool defined = gather(wave, data, words, lane, &value);
  if (compare >= 0) defined &= gather(wave, compare, words, lane, &expected);
  uint8_t *undefined, *bytes = gfx9_locate(wave, op, access, lane, &undefined);
  if (!bytes) return false;
  *old = 0;
  memcpy(old, bytes, access->bytes);
  memcpy(&unknown, undefined, access->bytes);
  if (!defined || unknown) {
    return gfx9_fault(wave, op, EMU_UNDEFINED, lane, "an atomic's operand");
  }
  uint64_t made = combined(op->info->parameter >> 16, 8 * access->bytes, *old, value, expected);
  memcpy(bytes, &made, access->bytes);
  return true;
}

/* [destination,] address, data. To compare with: in vector memory, words behind the data; in LDS,
 * an operand before them. */
bool gfx9_atomic(gfx9_wave *wave, const gfx9_op *op) {
  gfx9_access access = {.store = true, .atomic = true};
  gfx9_row *rows = wave->machine->scratch;
  bool returns = op->operand[0].destination, lds = op->info->space == GFX9_LDS;
  int at = returns, words = (op->info->parameter & GFX9_BYTES) / 4;
  int data = op->operand[at + 1].index, compare = -1;
  if (op->info->parameter >> 16 == 'c') {
    compare = lds ? data : data + words;
    if (lds) data = op->operand[at + 2].index;
  }
  if (!gfx9_make_addresses(wave, op, at, 0, &access)) return false;
  for (uint64_t left = access.lanes; left; left &= left - 1) {
    int i = __builtin_ctzll(left);
    uint64_t old;
    if (!run_lane(wave, op, &access, i, data, compare, &old)) return false;
    rows[0][i] = (uint32_t)old;
    rows[1][i] = (uint32_t)(old >> 32);
  }
  for (int w = 0; returns && w < words; w++) {
    gfx9_write_row(wave, op->operand[0].index + w, gfx9_exec(wave), rows[w], NULL);
  }
  gfx9_issue(wave, op, op->operand[0].index, returns ? words : 0);
  return true;
}
