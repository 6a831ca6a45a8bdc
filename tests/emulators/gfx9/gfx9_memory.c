/* Global loads and stores, and scalar loads. */
#include "gfx9_code.h"

#include <string.h>

/* The addresses that a vector memory instruction makes: [base +] register + offset. */
static bool global_addresses(gfx9_wave *wave, const gfx9_op *op, const gfx9_operand *vector,
                             const gfx9_operand *base, uint64_t address[GFX9_LANES]) {
  uint64_t exec = gfx9_exec(wave), from = (uint64_t)(int64_t)op->offset;
  const uint32_t *low = wave->v[vector->index];
  const uint32_t *high = vector->words == 2 ? wave->v[vector->index + 1] : gfx9_zero;
  if (vector->words != (base->kind == GFX9_NONE ? 2 : 1)) {
    return gfx9_fault(wave, op, EMU_UNKNOWN, EMU_NOWHERE, "the address has another width");
  }
  if (base->kind != GFX9_NONE) {
    if (gfx9_is_undefined(wave, base)) {
      return gfx9_fault(wave, op, EMU_UNDEFINED, EMU_NOWHERE, "the base of the address");
    }
    from += gfx9_pair(&wave->s[base->index]);
  }
  for (int i = 0; i < GFX9_LANES; i++) address[i] = from + (low[i] | (uint64_t)high[i] << 32);
  if (!gfx9_is_undefined(wave, vector)) return true;
  for (uint64_t left = exec; left; left &= left - 1) {
    int i = __builtin_ctzll(left);
    uint32_t undefined = wave->v_undefined[vector->index][i];
    if (vector->words == 2) undefined |= wave->v_undefined[vector->index + 1][i];
    if (undefined) return gfx9_fault(wave, op, EMU_UNDEFINED, i, "the address");
  }
  return true;
}

/* Vector memory takes any address: amdhsa sets the unaligned access mode, and LLVM makes use of it.
 * Scalar loads (alignment 4) do not. */
static emu_range *find_range(gfx9_wave *wave, const gfx9_op *op, int lane, uint64_t address,
                             uint32_t bytes, uint32_t alignment) {
  gfx9_machine *machine = wave->machine;
  emu_range *range = machine->recent;
  if (!range || !emu_range_holds(range, address, bytes)) {
    range = emu_memory_find(machine->memory, address, bytes);
  }
  bool aligned = address % alignment == 0;
  if (range && aligned) {
    machine->recent = range;
    return range;
  }
  gfx9_fault(wave, op, range ? EMU_MISALIGNED : EMU_OUT_OF_RANGE, lane, "%u bytes", bytes);
  machine->fault->address = address;
  machine->fault->has_address = true;
  return NULL;
}

static uint32_t widen(uint32_t value, uint32_t bytes, int parameter) {
  if (!(parameter & GFX9_SIGNED)) return value;
  unsigned shift = 32 - 8 * bytes;
  return (uint32_t)((int32_t)(value << shift) >> shift);
}

/* A narrow value as it stands in the register: widened, or in one half beside the other half. */
static uint32_t place(uint32_t value, uint32_t old, uint32_t bytes, int parameter) {
  value = widen(value, bytes, parameter);
  if (!(parameter & GFX9_D16)) return value;
  value &= 0xffff;
  return parameter & GFX9_HIGH ? value << 16 | (old & 0xffff) : value | (old & 0xffff0000);
}

static void take_lane(gfx9_row *rows, int lane, const uint8_t *bytes, uint32_t count,
                      const uint32_t *old, int parameter) {
  uint32_t words[4] = {0};
  memcpy(words, bytes, count);
  if (count < 4) {
    rows[0][lane] = place(words[0], old[lane], count, parameter);
    return;
  }
  for (uint32_t w = 0; w < count / 4; w++) rows[w][lane] = words[w];
}

static int words_of(uint32_t bytes) { return bytes < 4 ? 1 : (int)(bytes / 4); }

bool gfx9_global_load(gfx9_wave *wave, const gfx9_op *op) {
  gfx9_row *value = &wave->machine->scratch[0], *undefined = &wave->machine->scratch[4];
  const gfx9_operand *into = &op->operand[0];
  uint32_t bytes = op->info->parameter & GFX9_BYTES;
  uint64_t address[GFX9_LANES], exec = gfx9_exec(wave);
  if (!global_addresses(wave, op, &op->operand[1], &op->operand[2], address)) return false;
  for (uint64_t left = exec; left; left &= left - 1) {
    int i = __builtin_ctzll(left);
    emu_range *range = find_range(wave, op, i, address[i], bytes, 1);
    if (!range) return false;
    take_lane(value, i, emu_range_data(range, address[i]), bytes, wave->v[into->index],
              op->info->parameter);
    take_lane(undefined, i, emu_range_undefined(range, address[i]), bytes,
              wave->v_undefined[into->index], op->info->parameter);
  }
  wave->pending.vector_issued++;
  for (int w = 0; w < words_of(bytes); w++) {
    gfx9_row *unknown = &undefined[w];
    uint32_t any = 0;
    for (uint64_t left = exec; left; left &= left - 1) any |= (*unknown)[__builtin_ctzll(left)];
    gfx9_write_row(wave, into->index + w, exec, value[w], any ? *unknown : NULL);
    wave->vector_tag[into->index + w] = wave->pending.vector_issued;
  }
  emu_counters *counters = wave->machine->counters;
  counters->global_loads += exec != 0;
  counters->global_load_sectors += (uint64_t)emu_count_sectors(address, exec, (int)bytes);
  counters->global_load_bytes += (uint64_t)__builtin_popcountll(exec) * bytes;
  return true;
}

/* One lane's bytes to memory; every bit must be defined. */
static bool store_lane(gfx9_wave *wave, const gfx9_op *op, int lane, uint64_t address,
                       uint32_t bytes) {
  const gfx9_operand *data = &op->operand[1];
  uint32_t value[4], undefined[4], any = 0;
  int shift = op->info->parameter & GFX9_HIGH ? 16 : 0;
  for (int w = 0; w < words_of(bytes); w++) {
    value[w] = wave->v[data->index + w][lane] >> shift;
    undefined[w] = wave->v_undefined[data->index + w][lane] >> shift;
  }
  const uint8_t *unknown = (const uint8_t *)undefined;
  for (uint32_t b = 0; b < bytes; b++) any |= unknown[b];
  if (any) return gfx9_fault(wave, op, EMU_UNDEFINED, lane, "the stored value");
  emu_range *range = find_range(wave, op, lane, address, bytes, 1);
  if (!range) return false;
  memcpy(emu_range_data(range, address), value, bytes);
  memset(emu_range_undefined(range, address), 0, bytes);
  return true;
}

bool gfx9_global_store(gfx9_wave *wave, const gfx9_op *op) {
  uint32_t bytes = op->info->parameter & GFX9_BYTES;
  uint64_t address[GFX9_LANES], exec = gfx9_exec(wave);
  if (!global_addresses(wave, op, &op->operand[0], &op->operand[2], address)) return false;
  for (uint64_t left = exec; left; left &= left - 1) {
    int i = __builtin_ctzll(left);
    if (!store_lane(wave, op, i, address[i], bytes)) return false;
  }
  wave->pending.vector_issued++;
  emu_counters *counters = wave->machine->counters;
  counters->global_stores += exec != 0;
  counters->global_store_sectors += (uint64_t)emu_count_sectors(address, exec, (int)bytes);
  counters->global_store_bytes += (uint64_t)__builtin_popcountll(exec) * bytes;
  return true;
}

/* s_load_dwordxN destination, base, offset. The result may be used after lgkmcnt(0). */
bool gfx9_scalar_load(gfx9_wave *wave, const gfx9_op *op) {
  const gfx9_operand *into = &op->operand[0], *base = &op->operand[1], *plus = &op->operand[2];
  uint32_t bytes = op->info->parameter & GFX9_BYTES, words[16], undefined[16], scratch[1];
  if (gfx9_is_undefined(wave, base) || gfx9_is_undefined(wave, plus)) {
    return gfx9_fault(wave, op, EMU_UNDEFINED, EMU_NOWHERE, "the address");
  }
  uint64_t address = gfx9_pair(&wave->s[base->index]) + gfx9_read_row(wave, plus, 0, scratch, 1)[0];
  emu_range *range = find_range(wave, op, EMU_NOWHERE, address, bytes, 4);
  if (!range) return false;
  memcpy(words, emu_range_data(range, address), bytes);
  memcpy(undefined, emu_range_undefined(range, address), bytes);
  for (uint32_t w = 0; w < bytes / 4; w++) {
    if (!gfx9_write_scalar(wave, op, into->index + (int)w, words[w], undefined[w])) return false;
    wave->s_pending[into->index + (int)w] = true;
  }
  wave->pending.scalar_under_way++;
  return true;
}
