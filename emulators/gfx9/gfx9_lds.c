/* LDS reads and writes, and the lane exchanges that go through its crossbar. */
#include "gfx9_code.h"

#include <string.h>

/* The bytes of one lane's access to LDS; NULL: a fault. Atomics do not race. */
uint8_t *gfx9_locate_lds(gfx9_wave *wave, const gfx9_op *op, const gfx9_access *access, int lane,
                         uint8_t **undefined) {
  emu_shared *shared = &wave->machine->shared;
  emu_fault *fault = wave->machine->fault;
  uint64_t address = access->address[lane];
  uint32_t bytes = access->bytes, alignment = bytes == 12 ? 16 : bytes;
  int other = 0;
  int64_t raced = -1;
  if (!emu_shared_holds(shared, address, bytes)) {
    gfx9_fault(wave, op, EMU_OUT_OF_RANGE, lane, "%u bytes of LDS", bytes);
  } else if (address % alignment) {
    gfx9_fault(wave, op, EMU_MISALIGNED, lane, "%u bytes of LDS", bytes);
  } else {
    uint32_t at = (uint32_t)address;
    if (!access->atomic) {
      emu_thread by = {wave->number, lane};
      raced = access->store ? emu_shared_write(shared, at, bytes, by, &other)
                            : emu_shared_read(shared, at, bytes, by, &other);
    }
    *undefined = shared->undefined + at;
    if (raced < 0) return shared->data + at;
    if (other == EMU_OTHER_LANE)
      gfx9_fault(wave, op, EMU_RACE, lane, "LDS byte %lld, with another lane", (long long)raced);
    else
      gfx9_fault(wave, op, EMU_RACE, lane, "LDS byte %lld, with wave %d", (long long)raced, other);
  }
  fault->address = raced >= 0 ? (uint64_t)raced : address;
  fault->has_address = true;
  return NULL;
}

/* Which lanes one pass over the banks serves. As many lanes as fill all banks once, in order; but
 * 16-byte reads join quads of lanes from both halves of 32 ("Understanding AMD GPU LDS and Bank
 * Conflicts" in the documentation of Composable Kernel). */
static uint64_t phase_lanes(const gfx9_access *access, bool store, int phase) {
  static const uint32_t reads_16[4] = {0x00f0000f, 0x000f00f0, 0xf0000f00, 0x0f00f000};
  if (access->bytes == 16 && !store) return (uint64_t)reads_16[phase & 3] << (phase & ~3) * 8;
  unsigned lanes = access->bytes <= 4 ? 32 : access->bytes == 8 ? 16 : 8;
  return (((uint64_t)1 << lanes) - 1) << lanes * (unsigned)phase;
}

void gfx9_count_lds(gfx9_wave *wave, const gfx9_access *access, bool store) {
  emu_counters *counters = wave->machine->counters;
  int phases = access->bytes <= 4 ? 2 : access->bytes == 8 ? 4 : 8;
  uint64_t wavefronts = 0, needed = 0;
  for (int p = 0; p < phases; p++) {
    uint64_t lanes = phase_lanes(access, store, p) & gfx9_exec(wave);
    if (!lanes) continue;
    wavefronts += (uint64_t)emu_count_phase(access->address, lanes, __builtin_ctzll(lanes),
                                            63 - __builtin_clzll(lanes), (int)access->bytes);
    needed++;
  }
  *(store ? &counters->shared_stores : &counters->shared_loads) += needed != 0;
  *(store ? &counters->shared_store_wavefronts : &counters->shared_load_wavefronts) += wavefronts;
  *(store ? &counters->shared_store_conflicts : &counters->shared_load_conflicts) +=
      wavefronts - needed;
}

/* Gives lane i the data of lane from[i]; lanes that are not active are read as 0. */
static void exchange(gfx9_wave *wave, const gfx9_op *op, int data, const uint8_t from[GFX9_LANES]) {
  gfx9_row value, undefined;
  uint64_t exec = gfx9_exec(wave);
  int into = op->operand[0].index;
  for (int i = 0; i < GFX9_LANES; i++) {
    bool active = exec >> from[i] & 1;
    value[i] = active ? wave->v[data][from[i]] : 0;
    undefined[i] = active ? wave->v_undefined[data][from[i]] : 0;
  }
  gfx9_write_row(wave, into, exec, value, wave->tainted[data] ? undefined : NULL);
  gfx9_issue(wave, op, into, 1);
}

/* ds_bpermute_b32 destination, address, data: pulls from lane (address + offset) / 4.
 * ds_permute_b32 ('>'): pushes to it; of several lanes that push to one the highest stays. */
bool gfx9_lds_permute(gfx9_wave *wave, const gfx9_op *op) {
  gfx9_access access = {0};
  uint8_t from[GFX9_LANES] = {0};
  int into = op->operand[0].index, data = op->operand[2].index;
  if (!gfx9_make_addresses(wave, op, 1, 0, &access)) return false;
  if (op->info->parameter != '>') {
    for (int i = 0; i < GFX9_LANES; i++) from[i] = (uint8_t)(access.address[i] / 4 % GFX9_LANES);
    exchange(wave, op, data, from);
    return true;
  }
  gfx9_row value = {0}, undefined = {0};
  for (uint64_t left = gfx9_exec(wave); left; left &= left - 1) {
    int i = __builtin_ctzll(left), to = (int)(access.address[i] / 4 % GFX9_LANES);
    value[to] = wave->v[data][i];
    undefined[to] = wave->v_undefined[data][i];
  }
  gfx9_write_row(wave, into, gfx9_exec(wave), value, wave->tainted[data] ? undefined : NULL);
  gfx9_issue(wave, op, into, 1);
  return true;
}

/* Bit 15 set: two bits for each lane of a quad. Else, in halves of 32: (lane & and | or) ^ xor,
 * five bits each from the lowest. */
bool gfx9_lds_swizzle(gfx9_wave *wave, const gfx9_op *op) {
  uint8_t from[GFX9_LANES];
  unsigned control = (unsigned)op->offset;
  for (unsigned i = 0; i < GFX9_LANES; i++) {
    unsigned lane = control >> 15 ? (i & 28) | (control >> (2 * (i & 3)) & 3)
                                  : (((i & control) | control >> 5) ^ control >> 10) & 31;
    from[i] = (uint8_t)((i & 32) | lane);
  }
  exchange(wave, op, op->operand[1].index, from);
  return true;
}
