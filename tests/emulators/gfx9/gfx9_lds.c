/* LDS reads and writes, and the lane exchanges that go through its crossbar. */
#include "gfx9_code.h"

#include <string.h>

typedef struct lds_access {
  uint64_t address[GFX9_LANES];
  uint32_t bytes;
  bool store;
} lds_access;

static bool make_addresses(gfx9_wave *wave, const gfx9_op *op, const gfx9_operand *vector,
                           int32_t offset, lds_access *access) {
  const uint32_t *row = wave->v[vector->index], *undefined = wave->v_undefined[vector->index];
  for (int i = 0; i < GFX9_LANES; i++) access->address[i] = (uint64_t)row[i] + (uint32_t)offset;
  for (uint64_t left = gfx9_exec(wave); left && wave->tainted[vector->index]; left &= left - 1) {
    int i = __builtin_ctzll(left);
    if (undefined[i]) return gfx9_fault(wave, op, EMU_UNDEFINED, i, "the LDS address");
  }
  return true;
}

static bool check_lane(gfx9_wave *wave, const gfx9_op *op, const lds_access *access, int lane) {
  emu_shared *shared = &wave->machine->shared;
  emu_fault *fault = wave->machine->fault;
  uint64_t address = access->address[lane];
  int other = 0;
  int64_t raced = -1;
  if (!emu_shared_holds(shared, address, access->bytes)) {
    gfx9_fault(wave, op, EMU_OUT_OF_RANGE, lane, "%u bytes of LDS", access->bytes);
  } else if (address % access->bytes) {
    gfx9_fault(wave, op, EMU_MISALIGNED, lane, "%u bytes of LDS", access->bytes);
  } else {
    raced = access->store
                ? emu_shared_write(shared, (uint32_t)address, access->bytes, wave->number, &other)
                : emu_shared_read(shared, (uint32_t)address, access->bytes, wave->number, &other);
    if (raced < 0) return true;
    gfx9_fault(wave, op, EMU_RACE, lane, "LDS byte %lld, with wave %d", (long long)raced, other);
  }
  fault->address = raced >= 0 ? (uint64_t)raced : address;
  fault->has_address = true;
  return false;
}

/* Which lanes one pass over the banks serves. As many lanes as fill all banks once, in order; but 16-byte
 * reads join quads of lanes from both halves of 32 ("Understanding AMD GPU LDS and Bank Conflicts" in the
 * documentation of Composable Kernel). */
static uint64_t phase_lanes(const lds_access *access, int phase) {
  static const uint32_t reads_16[4] = {0x00f0000f, 0x000f00f0, 0xf0000f00, 0x0f00f000};
  if (access->bytes == 16 && !access->store) return (uint64_t)reads_16[phase & 3] << (phase & ~3) * 8;
  unsigned lanes = access->bytes <= 4 ? 32 : access->bytes == 8 ? 16 : 8;
  return (((uint64_t)1 << lanes) - 1) << lanes * (unsigned)phase;
}

static void count(gfx9_wave *wave, const lds_access *access) {
  emu_counters *counters = wave->machine->counters;
  int phases = access->bytes <= 4 ? 2 : access->bytes == 8 ? 4 : 8;
  uint64_t wavefronts = 0, needed = 0;
  for (int p = 0; p < phases; p++) {
    uint64_t lanes = phase_lanes(access, p) & gfx9_exec(wave);
    if (!lanes) continue;
    wavefronts += (uint64_t)emu_count_phase(access->address, lanes, __builtin_ctzll(lanes),
                                            63 - __builtin_clzll(lanes), (int)access->bytes);
    needed++;
  }
  *(access->store ? &counters->shared_stores : &counters->shared_loads) += needed != 0;
  *(access->store ? &counters->shared_store_wavefronts : &counters->shared_load_wavefronts) +=
      wavefronts;
  *(access->store ? &counters->shared_store_conflicts : &counters->shared_load_conflicts) +=
      wavefronts - needed;
}

/* The offset in bytes of access 0 or 1. */
static int32_t offset_of(const gfx9_op *op, int which) {
  int parameter = op->info->parameter;
  if (!(parameter & GFX9_TWO)) return op->offset;
  int32_t unit = (parameter & GFX9_BYTES) * (parameter & GFX9_ST64 ? 64 : 1);
  return unit * (which ? op->offset1 : op->offset);
}

static uint32_t extend(uint32_t value, uint32_t bytes, int parameter) {
  if (!(parameter & GFX9_SIGNED)) return value;
  return bytes == 1 ? (uint32_t)(int8_t)value : (uint32_t)(int16_t)value;
}

static uint32_t half(uint32_t value, uint32_t old, int parameter) {
  if (!(parameter & GFX9_D16)) return value;
  value &= 0xffff;
  return parameter & GFX9_HIGH ? value << 16 | (old & 0xffff) : value | (old & 0xffff0000);
}

/* One access of every active lane into registers from `into` on. */
static bool read_one(gfx9_wave *wave, const gfx9_op *op, lds_access *access, int into) {
  gfx9_row *value = &wave->machine->scratch[0], *undefined = &wave->machine->scratch[4];
  const emu_shared *shared = &wave->machine->shared;
  int parameter = op->info->parameter, words = access->bytes < 4 ? 1 : (int)access->bytes / 4;
  uint64_t exec = gfx9_exec(wave);
  uint32_t any[4] = {0};
  for (uint64_t left = exec; left; left &= left - 1) {
    int i = __builtin_ctzll(left);
    uint32_t data[4] = {0}, unknown[4] = {0};
    if (!check_lane(wave, op, access, i)) return false;
    memcpy(data, shared->data + access->address[i], access->bytes);
    memcpy(unknown, shared->undefined + access->address[i], access->bytes);
    if (access->bytes < 4) {
      data[0] = half(extend(data[0], access->bytes, parameter), wave->v[into][i], parameter);
      unknown[0] = half(extend(unknown[0], access->bytes, parameter), wave->v_undefined[into][i],
                        parameter);
    }
    for (int w = 0; w < words; w++) {
      value[w][i] = data[w];
      undefined[w][i] = unknown[w];
      any[w] |= unknown[w];
    }
  }
  for (int w = 0; w < words; w++) {
    gfx9_write_row(wave, into + w, exec, value[w], any[w] ? undefined[w] : NULL);
    wave->lds_tag[into + w] = wave->pending.lds_issued + 1;
  }
  count(wave, access);
  return true;
}

bool gfx9_lds_read(gfx9_wave *wave, const gfx9_op *op) {
  lds_access access = {.bytes = op->info->parameter & GFX9_BYTES}, second = access;
  bool two = op->info->parameter & GFX9_TWO;
  int into = op->operand[0].index, words = (int)access.bytes / 4;
  /* Both addresses before anything is written: the address register may be a destination. */
  if (!make_addresses(wave, op, &op->operand[1], offset_of(op, 0), &access)) return false;
  if (!make_addresses(wave, op, &op->operand[1], offset_of(op, 1), &second)) return false;
  if (!read_one(wave, op, &access, into)) return false;
  if (two && !read_one(wave, op, &second, into + words)) return false;
  wave->pending.lds_issued++;
  return true;
}

static bool write_one(gfx9_wave *wave, const gfx9_op *op, lds_access *access,
                      const gfx9_operand *data) {
  const emu_shared *shared = &wave->machine->shared;
  int words = access->bytes < 4 ? 1 : (int)access->bytes / 4;
  int shift = op->info->parameter & GFX9_HIGH ? 16 : 0;
  for (uint64_t left = gfx9_exec(wave); left; left &= left - 1) {
    int i = __builtin_ctzll(left);
    uint32_t value[4], undefined[4];
    if (!check_lane(wave, op, access, i)) return false;
    for (int w = 0; w < words; w++) {
      value[w] = wave->v[data->index + w][i] >> shift;
      undefined[w] = wave->v_undefined[data->index + w][i] >> shift;
    }
    memcpy(shared->data + access->address[i], value, access->bytes);
    memcpy(shared->undefined + access->address[i], undefined, access->bytes);
  }
  count(wave, access);
  return true;
}

bool gfx9_lds_write(gfx9_wave *wave, const gfx9_op *op) {
  lds_access access = {.bytes = op->info->parameter & GFX9_BYTES, .store = true};
  for (int which = 0; which < op->n_operands - 1; which++) {
    if (!make_addresses(wave, op, &op->operand[0], offset_of(op, which), &access)) return false;
    if (!write_one(wave, op, &access, &op->operand[1 + which])) return false;
  }
  wave->pending.lds_issued++;
  return true;
}

/* Gives lane i the data of lane from[i]; lanes that are not active are read as 0. */
static void exchange(gfx9_wave *wave, int into, int data, const uint8_t from[GFX9_LANES]) {
  gfx9_row value, undefined;
  uint64_t exec = gfx9_exec(wave);
  for (int i = 0; i < GFX9_LANES; i++) {
    bool active = exec >> from[i] & 1;
    value[i] = active ? wave->v[data][from[i]] : 0;
    undefined[i] = active ? wave->v_undefined[data][from[i]] : 0;
  }
  gfx9_write_row(wave, into, exec, value, wave->tainted[data] ? undefined : NULL);
  wave->lds_tag[into] = ++wave->pending.lds_issued;
}

/* ds_bpermute_b32 destination, address, data: pulls from lane (address + offset) / 4.
 * ds_permute_b32 ('>'): pushes to it; of several lanes that push to one the highest stays. */
bool gfx9_lds_permute(gfx9_wave *wave, const gfx9_op *op) {
  lds_access access = {.bytes = 4};
  uint8_t from[GFX9_LANES] = {0};
  int into = op->operand[0].index, data = op->operand[2].index;
  if (!make_addresses(wave, op, &op->operand[1], op->offset, &access)) return false;
  if (op->info->parameter != '>') {
    for (int i = 0; i < GFX9_LANES; i++) from[i] = (uint8_t)(access.address[i] / 4 % GFX9_LANES);
    exchange(wave, into, data, from);
    return true;
  }
  gfx9_row value = {0}, undefined = {0};
  for (uint64_t left = gfx9_exec(wave); left; left &= left - 1) {
    int i = __builtin_ctzll(left), to = (int)(access.address[i] / 4 % GFX9_LANES);
    value[to] = wave->v[data][i];
    undefined[to] = wave->v_undefined[data][i];
  }
  gfx9_write_row(wave, into, gfx9_exec(wave), value, wave->tainted[data] ? undefined : NULL);
  wave->lds_tag[into] = ++wave->pending.lds_issued;
  return true;
}
