/* Vector memory and LDS: addresses, then lanes' bytes between a space and registers. Scalar
 * loads. */
#include "gfx9_code.h"

#include <string.h>

/* ---- addresses ---- */

static bool is_defined(gfx9_wave *wave, const gfx9_op *op, const gfx9_operand *vector) {
  for (uint64_t left = gfx9_exec(wave); left; left &= left - 1) {
    int i = __builtin_ctzll(left);
    for (int w = 0; w < vector->words; w++) {
      if (!wave->v_undefined[vector->index + w][i]) continue;
      return gfx9_fault(wave, op, EMU_UNDEFINED, i,
                        op->info->space == GFX9_LDS ? "the LDS address" : "the address");
    }
  }
  return true;
}

/* Adds a scalar operand, of one or two words; "off" is nothing. */
static bool add_scalar(gfx9_wave *wave, const gfx9_op *op, const gfx9_operand *base,
                       uint64_t *sum) {
  if (gfx9_is_undefined(wave, base)) {
    return gfx9_fault(wave, op, EMU_UNDEFINED, EMU_NOWHERE, "the base of the address");
  }
  if (base->kind == GFX9_CONSTANT) *sum += (uint32_t)base->value;
  if (base->kind != GFX9_SCALAR) return true;
  *sum += base->words == 2 ? gfx9_pair(&wave->s[base->index]) : wave->s[base->index];
  return true;
}

/* Whether a buffer is the one that gfx90a's kernels begin with, for scratch memory: known by its
 * swizzling by lanes. */
static bool is_of_scratch(const gfx9_wave *wave, const gfx9_operand *buffer) {
  return wave->s[buffer->index + 3] >> 23 & 1 && !wave->s_undefined[buffer->index + 3];
}

/* A buffer's description: base, stride 0, length; or that of scratch memory. Lanes beyond the
 * length do nothing and load 0. */
static bool describe(gfx9_wave *wave, const gfx9_op *op, const gfx9_operand *buffer,
                     gfx9_access *access, uint64_t *base) {
  const uint32_t *word = &wave->s[buffer->index];
  uint64_t unused = 0;
  gfx9_operand pair = *buffer;
  pair.words = 2;
  access->scratch = is_of_scratch(wave, buffer);
  if (access->scratch) return true;
  if (gfx9_is_undefined(wave, buffer)) return add_scalar(wave, op, buffer, &unused);
  if (word[1] >> 16 || !add_scalar(wave, op, &pair, base)) {
    return gfx9_fault(wave, op, EMU_UNKNOWN, EMU_NOWHERE, "a buffer with a stride or swizzling");
  }
  for (int i = 0; i < GFX9_LANES; i++) {
    if (access->address[i] + access->bytes > word[2]) access->lanes &= ~((uint64_t)1 << i);
  }
  return true;
}

/* The offset in bytes of access 0 or 1. */
static int32_t offset_of(const gfx9_op *op, int which) {
  int parameter = op->info->parameter;
  if (!(parameter & GFX9_TWO)) return op->offset;
  int32_t unit = (parameter & GFX9_BYTES) * (parameter & GFX9_ST64 ? 64 : 1);
  return unit * (which ? op->offset1 : op->offset);
}

/* Sums of 32 bits, which wrap: LDS takes any base from GFX7 on, and buffers whose range nobody
 * checks, those of scratch memory, any from GFX9 on (LLVM, AMDGPUISelDAGToDAG.cpp, isDSOffsetLegal
 * and SelectMUBUFScratchOffen, folds constants into the offset of a base that may be negative). */
static void wrap_addresses(gfx9_access *access) {
  for (int i = 0; i < GFX9_LANES; i++) access->address[i] = (uint32_t)access->address[i];
}

/* What a buffer and the scalar offset add. Of scratch memory that offset is the wave's: it is added
 * to what lanes have been spread to, so it is that of all lanes together (LLVM,
 * getScratchScaleFactor). */
static bool address_buffer(gfx9_wave *wave, const gfx9_op *op, const gfx9_operand *buffer,
                           uint64_t offset, gfx9_access *access) {
  uint64_t sum = 0;
  for (int i = 0; i < GFX9_LANES && !is_of_scratch(wave, buffer); i++) access->address[i] += offset;
  if (!describe(wave, op, buffer, access, &sum)) return false;
  if (!access->scratch) {
    for (int i = 0; i < GFX9_LANES; i++) access->address[i] += sum;
    return true;
  }
  if (offset % (4 * GFX9_LANES))
    return gfx9_fault(wave, op, EMU_UNKNOWN, EMU_NOWHERE,
                      "an offset of a wave's scratch memory that parts words");
  wrap_addresses(access);
  for (int i = 0; i < GFX9_LANES; i++)
    access->address[i] = (uint32_t)(access->address[i] + offset / GFX9_LANES);
  return true;
}

/* The addresses of one access, from operand `at` on: vector, then what the space adds. Sums of flat
 * and global memory have 64 bits; those of scratch instructions do not wrap, for which LLVM wants
 * bases that are not negative. */
bool gfx9_make_addresses(gfx9_wave *wave, const gfx9_op *op, int at, int which,
                         gfx9_access *access) {
  const gfx9_operand *vector = &op->operand[at], *base = &op->operand[at + 1];
  int space = op->info->space;
  bool global = space == GFX9_GLOBAL || space == GFX9_FLAT;
  uint64_t sum = (uint64_t)(int64_t)offset_of(op, which);
  access->bytes = op->info->parameter & GFX9_BYTES;
  access->lanes = gfx9_exec(wave);
  access->scratch = space == GFX9_SCRATCH;
  if (space == GFX9_GLOBAL || access->scratch) base = &op->operand[op->n_operands - 1];
  bool based = (space == GFX9_GLOBAL || access->scratch) && base->kind != GFX9_NONE;
  if (global && vector->words != (based ? 1 : 2)) {
    return gfx9_fault(wave, op, EMU_UNKNOWN, EMU_NOWHERE, "the address has another width");
  }
  if (based && !add_scalar(wave, op, base, &sum)) return false;
  uint64_t offset = 0;
  if (space == GFX9_BUFFER && !add_scalar(wave, op, &op->operand[at + 2], &offset)) return false;
  if (vector->kind == GFX9_VECTOR && !is_defined(wave, op, vector)) return false;
  const uint32_t *low = vector->kind == GFX9_VECTOR ? wave->v[vector->index] : gfx9_zero;
  const uint32_t *high = vector->words == 2 ? wave->v[vector->index + 1] : gfx9_zero;
  for (int i = 0; i < GFX9_LANES; i++) {
    access->address[i] = sum + (low[i] | (uint64_t)high[i] << 32);
  }
  if (space == GFX9_LDS) wrap_addresses(access);
  if (space != GFX9_BUFFER) return true;
  return address_buffer(wave, op, base, offset, access);
}

/* ---- bytes ---- */

/* Vector memory takes any address: amdhsa sets the unaligned access mode, and LLVM makes use of it.
 * Scalar loads (alignment 4) do not. */
static emu_range *find_range(gfx9_wave *wave, const gfx9_op *op, int lane, uint64_t address,
                             uint32_t bytes, uint32_t alignment) {
  gfx9_machine *machine = wave->machine;
  emu_range *range = machine->recent;
  if (!range || !emu_range_holds(range, address, bytes)) {
    range = emu_memory_find(machine->memory, address, bytes);
  }
  if (!range && machine->system)
    range = machine->system->find(machine->system->user, address, bytes);
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

/* The bytes of one lane's access and their undefined bits; NULL: a fault. */
uint8_t *gfx9_locate(gfx9_wave *wave, const gfx9_op *op, const gfx9_access *access, int lane,
                     uint8_t **undefined) {
  uint64_t address = access->address[lane];
  if (op->info->space == GFX9_LDS) return gfx9_locate_lds(wave, op, access, lane, undefined);
  if (access->scratch) {
    uint32_t size = wave->machine->module->descriptor.private_bytes;
    if (address >= size || access->bytes > size - address) {
      gfx9_fault(wave, op, EMU_OUT_OF_RANGE, lane, "%u bytes of scratch at %lld", access->bytes,
                 (long long)address);
      return NULL;
    }
    address += wave->scratch + (uint64_t)lane * size;
  }
  emu_range *range = find_range(wave, op, lane, address, access->bytes, 1);
  if (!range) return NULL;
  *undefined = emu_range_undefined(range, address);
  return emu_range_data(range, address);
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
  if (count < 4) words[0] = place(words[0], old[lane], count, parameter);
  for (uint32_t w = 0; w < (count + 3) / 4; w++) rows[w][lane] = words[w];
}

static int words_of(uint32_t bytes) { return (int)(bytes + 3) / 4; }

static void count(gfx9_wave *wave, const gfx9_op *op, const gfx9_access *access, bool store) {
  emu_counters *counters = wave->machine->counters;
  if (access->scratch) return;
  if (op->info->space == GFX9_LDS) {
    gfx9_count_lds(wave, access, store);
    return;
  }
  uint64_t lanes = access->lanes;
  *(store ? &counters->global_stores : &counters->global_loads) += lanes != 0;
  *(store ? &counters->global_store_sectors : &counters->global_load_sectors) +=
      (uint64_t)emu_count_sectors(access->address, lanes, (int)access->bytes);
  *(store ? &counters->global_store_bytes : &counters->global_load_bytes) +=
      (uint64_t)__builtin_popcountll(lanes) * access->bytes;
}

/* One more operation under way; with `words`, one that will write registers. LDS takes those of a
 * wave in order. */
void gfx9_issue(gfx9_wave *wave, const gfx9_op *op, int into, int words) {
  int space = op->info->space;
  bool vector = space != GFX9_LDS, lds = space == GFX9_LDS || space == GFX9_FLAT;
  wave->pending.vector_issued += vector;
  wave->pending.lds_issued += lds;
  bool exchange = op->info->step == gfx9_lds_permute || op->info->step == gfx9_lds_swizzle;
  if (lds && !exchange) wave->pending.lds_accessed = wave->pending.lds_issued;
  if (lds) emu_shared_order_lanes(&wave->machine->shared);
  for (int i = into; i < into + words; i++) {
    if (vector) wave->vector_tag[i] = wave->pending.vector_issued;
    if (lds) wave->lds_tag[i] = wave->pending.lds_issued;
  }
}

/* One access of every active lane into registers from `into` on. */
static bool load_one(gfx9_wave *wave, const gfx9_op *op, gfx9_access *access, int into) {
  gfx9_row *value = &wave->machine->scratch[0], *undefined = &wave->machine->scratch[4];
  int words = words_of(access->bytes), parameter = op->info->parameter;
  uint64_t exec = gfx9_exec(wave);
  if (access->lanes != exec) memset(value, 0, 8 * sizeof *value);
  for (uint64_t left = access->lanes; left; left &= left - 1) {
    int i = __builtin_ctzll(left);
    uint8_t *unknown, *bytes = gfx9_locate(wave, op, access, i, &unknown);
    if (!bytes) return false;
    take_lane(value, i, bytes, access->bytes, wave->v[into], parameter);
    take_lane(undefined, i, unknown, access->bytes, wave->v_undefined[into], parameter);
  }
  for (int w = 0; w < words; w++) {
    uint32_t any = 0;
    for (uint64_t left = access->lanes; left; left &= left - 1) {
      any |= undefined[w][__builtin_ctzll(left)];
    }
    gfx9_write_row(wave, into + w, exec, value[w], any ? undefined[w] : NULL);
  }
  count(wave, op, access, false);
  return true;
}

bool gfx9_load(gfx9_wave *wave, const gfx9_op *op) {
  gfx9_access access[2] = {0};
  int n = op->info->parameter & GFX9_TWO ? 2 : 1, into = op->operand[0].index, words = 0;
  /* All addresses before anything is written: the address register may be a destination. */
  for (int k = 0; k < n; k++)
    if (!gfx9_make_addresses(wave, op, 1, k, &access[k])) return false;
  for (int k = 0; k < n; k++) {
    if (!load_one(wave, op, &access[k], into + words)) return false;
    words += words_of(access[k].bytes);
  }
  gfx9_issue(wave, op, into, words);
  return true;
}

/* One lane's bytes to memory. LDS holds undefined bits, global memory must not get any. */
static bool store_lane(gfx9_wave *wave, const gfx9_op *op, const gfx9_access *access, int lane,
                       const gfx9_operand *data) {
  uint32_t value[4], undefined[4], any = 0;
  int shift = op->info->parameter & GFX9_HIGH ? 16 : 0;
  for (int w = 0; w < words_of(access->bytes); w++) {
    value[w] = wave->v[data->index + w][lane] >> shift;
    undefined[w] = wave->v_undefined[data->index + w][lane] >> shift;
  }
  for (uint32_t b = 0; b < access->bytes; b++) any |= ((const uint8_t *)undefined)[b];
  if (any && op->info->space != GFX9_LDS && !access->scratch) {
    return gfx9_fault(wave, op, EMU_UNDEFINED, lane, "the stored value");
  }
  uint8_t *unknown, *bytes = gfx9_locate(wave, op, access, lane, &unknown);
  if (!bytes) return false;
  memcpy(bytes, value, access->bytes);
  memcpy(unknown, undefined, access->bytes);
  return true;
}

bool gfx9_store(gfx9_wave *wave, const gfx9_op *op) {
  gfx9_access access = {.store = true};
  bool buffer = op->info->space == GFX9_BUFFER; /* its data come first */
  int n = op->info->parameter & GFX9_TWO ? 2 : 1;
  for (int k = 0; k < n; k++) {
    const gfx9_operand *data = &op->operand[buffer ? 0 : 1 + k];
    if (!gfx9_make_addresses(wave, op, buffer, k, &access)) return false;
    for (uint64_t left = access.lanes; left; left &= left - 1) {
      if (!store_lane(wave, op, &access, __builtin_ctzll(left), data)) return false;
    }
    count(wave, op, &access, true);
  }
  gfx9_issue(wave, op, 0, 0);
  return true;
}

/* s_load_dwordxN destination, base, offset, or s_buffer_load with a buffer's description (stride
 * 0), whose length must hold the bytes. The result may be used after lgkmcnt(0). */
bool gfx9_scalar_load(gfx9_wave *wave, const gfx9_op *op) {
  const gfx9_operand *into = &op->operand[0], *plus = &op->operand[2];
  gfx9_operand base = op->operand[1];
  uint32_t bytes = op->info->parameter & GFX9_BYTES, words[16], undefined[16];
  uint64_t address = (uint64_t)(int64_t)op->offset;
  bool buffer = base.words == 4;
  if (!add_scalar(wave, op, plus, &address)) return false;
  const uint32_t *description = &wave->s[base.index];
  if (buffer && (description[1] >> 16 || address + bytes > description[2])) {
    return gfx9_fault(wave, op, EMU_OUT_OF_RANGE, EMU_NOWHERE, "%u bytes of a buffer", bytes);
  }
  base.words = 2;
  if (!add_scalar(wave, op, &base, &address)) return false;
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
