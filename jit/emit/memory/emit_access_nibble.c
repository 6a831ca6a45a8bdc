/* Single elements of 4 bits, and bytes whose high half comes first. See emit_access.c. */

#include "base/bits.h"
#include "jit/emit/memory/emit_access.h"
#include "jit/emit/place/address.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

/* The element of 4 bits at `tile`, in the low or high half of the byte that is loaded from there.
 * For AMD a choice of two: LLVM's code generator (19) loses the shift of some addresses by 2, which
 * a shift of the byte takes. */
static LLVMValueRef nibble_of(emitter *e, emit_place *place, uint64_t tile, LLVMValueRef byte) {
  LLVMValueRef upper = LLVMBuildAnd(e->builder, emit_offset(e, place, tile), emit_i64(e, 1), "");
  if (place->tensor >= 0 && e->kernel->high_first[place->tensor])
    upper = LLVMBuildXor(e->builder, upper, emit_i64(e, 1), "");
  if (e->kernel->target.isa == PLAN_ISA_AMDGPU) {
    LLVMValueRef high = LLVMBuildLShr(e->builder, byte, LLVMConstInt(e->i8, 4, 0), "");
    LLVMValueRef low = LLVMBuildAnd(e->builder, byte, LLVMConstInt(e->i8, 15, 0), "");
    return LLVMBuildSelect(e->builder, LLVMBuildTrunc(e->builder, upper, e->i1, ""), high, low, "");
  }
  LLVMValueRef shift = LLVMBuildShl(e->builder, upper, emit_i64(e, 2), "");
  byte = LLVMBuildLShr(e->builder, byte, LLVMBuildTrunc(e->builder, shift, e->i8, ""), "");
  return LLVMBuildAnd(e->builder, byte, LLVMConstInt(e->i8, 15, 0), "");
}

/* A grouped product's elements are an edge's in every tile that an expert ends in: without a branch
 * for each all loads of a thread are under way at once. NULL: the target has no such loads. */
static LLVMValueRef load_at_once(emitter *e, emit_place *place, uint64_t tile, LLVMTypeRef type,
                                 LLVMValueRef inside) {
  if (!e->kernel->experts.used || !e->ops->load_if || !inside || place->nibbles) return NULL;
  LLVMValueRef zero = LLVMConstNull(type);
  LLVMValueRef loaded = e->ops->load_if(e, type, emit_pointer(e, place, tile), inside, zero);
  e->parted |= loaded && e->kernel->walk.n_places > 0;
  return loaded;
}

LLVMValueRef emit_load_element(emitter *e, emit_place *place, uint64_t tile, int bits,
                               bool masked) {
  LLVMTypeRef type = emit_int_type(e, bits_max(bits, 8));
  place->nibbles = bits < 8;
  LLVMValueRef inside = masked ? emit_inside(e, place, tile) : NULL;
  LLVMValueRef at_once = load_at_once(e, place, tile, type, inside);
  if (at_once) return at_once;
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
  LLVMBasicBlockRef next = emit_open_guard(e, inside);
  LLVMBasicBlockRef body = LLVMGetInsertBlock(e->builder);
  LLVMValueRef loaded = LLVMBuildLoad2(e->builder, type, emit_pointer(e, place, tile), "");
  access_set_alignment(e, loaded, bits / 8);
  if (bits < 8) loaded = nibble_of(e, place, tile, loaded);
  if (!next) return loaded;
  emit_close_guard(e, next);
  LLVMValueRef phi = LLVMBuildPhi(e->builder, type, ""), zero = LLVMConstNull(type);
  LLVMAddIncoming(phi, &loaded, &body, 1);
  LLVMAddIncoming(phi, &zero, &before, 1);
  return phi;
}

bool access_is_high_first(const emitter *e, const access *a) {
  return a->place.tensor >= 0 && e->kernel->high_first[a->place.tensor];
}

/* The halves of every byte of the value's words, exchanged. */
void access_swap_halves(emitter *e, const access *a, LLVMValueRef *from, LLVMValueRef *to) {
  for (uint64_t w = 0; w < 1ull << (a->registers - a->word); w++) {
    LLVMTypeRef type = LLVMTypeOf(from[w]);
    LLVMValueRef low = emit_splat(type, 0x0F0F0F0F), four = emit_splat(type, 4);
    LLVMValueRef up =
        LLVMBuildShl(e->builder, LLVMBuildAnd(e->builder, from[w], low, ""), four, "");
    LLVMValueRef down =
        LLVMBuildAnd(e->builder, LLVMBuildLShr(e->builder, from[w], four, ""), low, "");
    to[w] = LLVMBuildOr(e->builder, up, down, "");
  }
}

/* The element of 4 bits at `tile`, in its byte's low or high half, as a word. */
static LLVMValueRef load_nibble(emitter *e, access *a, uint64_t tile) {
  LLVMValueRef byte = nibble_of(e, &a->place, tile, access_load_piece(e, a, tile, e->i8));
  return LLVMBuildZExt(e->builder, byte, access_word_type(e, a), "");
}

/* The word from element `index` on, of a lane whose first element adds `lane` to tile coordinates.
 */
static LLVMValueRef load_word_of_nibbles(emitter *e, access *a, uint64_t index, uint64_t lane) {
  LLVMTypeRef type = access_word_type(e, a);
  LLVMValueRef word = LLVMConstInt(type, 0, 0);
  for (unsigned i = 0; i < 1u << a->word; i++) {
    LLVMValueRef part = load_nibble(e, a, access_register_tile(a, index | i) ^ lane);
    part = LLVMBuildShl(e->builder, part, LLVMConstInt(type, i * a->value->bits, 0), "");
    word = LLVMBuildOr(e->builder, word, part, "");
  }
  return word;
}

bool access_is_single_nibble(const access *a) { return a->value->bits < 8 && a->vector == 0; }

void access_load_nibbles(emitter *e, access *a) {
  int lane_bits = emit_is_host(e) ? access_lane_bits(a->value) : 0;
  for (uint64_t index = 0; index < 1ull << a->registers; index += 1ull << a->word) {
    LLVMValueRef *word = &a->words[index >> a->word];
    *word = load_word_of_nibbles(e, a, index, 0);
    if (lane_bits == 0) continue;
    LLVMValueRef lanes = LLVMGetUndef(access_lanes_type(e, a, lane_bits));
    for (uint64_t l = 0; l < 1ull << lane_bits; l++) {
      uint64_t tile = f2_apply(plan_value_columns(a->value, PLAN_LANE), l);
      LLVMValueRef one = l ? load_word_of_nibbles(e, a, index, tile) : *word;
      lanes = LLVMBuildInsertElement(e->builder, lanes, one, emit_i32(e, (int64_t)l), "");
    }
    *word = lanes;
  }
}

/* ---- halves of bytes that are kept ---- */

bool access_parts_bytes(const access *a) {
  return a->step->kind == PLAN_STORE && a->step->parted && a->value->bits < 8 && a->vector == 1;
}

/* The bits of a byte that are to stay, by who of its two elements is stored (NULL: it is). */
static LLVMValueRef kept_bits(emitter *e, LLVMValueRef stored, uint64_t bits) {
  LLVMValueRef none = LLVMConstInt(e->i8, 0, 0), all = LLVMConstInt(e->i8, bits, 0);
  return stored ? LLVMBuildSelect(e->builder, stored, none, all, "") : none;
}

/* The byte that is there, if `wanted`; else 0. */
static LLVMValueRef byte_there(emitter *e, LLVMValueRef wanted, LLVMValueRef pointer) {
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder), next = emit_open_guard(e, wanted);
  LLVMBasicBlockRef body = LLVMGetInsertBlock(e->builder);
  LLVMValueRef byte = LLVMBuildLoad2(e->builder, e->i8, pointer, ""),
               zero = LLVMConstInt(e->i8, 0, 0);
  emit_close_guard(e, next);
  LLVMValueRef phi = LLVMBuildPhi(e->builder, e->i8, "");
  LLVMAddIncoming(phi, &byte, &body, 1);
  LLVMAddIncoming(phi, &zero, &before, 1);
  return phi;
}

/* The bits of `kept` as they are in memory, the others of `byte`. */
static void merge_byte(emitter *e, LLVMValueRef byte, LLVMValueRef there, LLVMValueRef kept,
                       LLVMValueRef pointer) {
  byte = LLVMBuildAnd(e->builder, byte, LLVMBuildNot(e->builder, kept, ""), "");
  byte = LLVMBuildOr(e->builder, byte, LLVMBuildAnd(e->builder, there, kept, ""), "");
  LLVMBuildStore(e->builder, byte, pointer);
}

/* One thread stores all that is stored of a byte, so nothing else changes what it reads. */
void access_store_byte(emitter *e, access *a, uint64_t tile, uint64_t next, LLVMValueRef byte) {
  LLVMValueRef first = access_condition(e, a, tile), second = access_condition(e, a, next);
  uint64_t low = access_is_high_first(e, a) ? 0xF0 : 0x0F;
  bool always = !first || !second;
  LLVMBasicBlockRef end =
      emit_open_guard(e, always ? NULL : LLVMBuildOr(e->builder, first, second, ""));
  LLVMValueRef pointer = access_store_pointer(e, a, tile), whole = emit_and(e, first, second);
  if (whole) {
    LLVMValueRef kept =
        LLVMBuildOr(e->builder, kept_bits(e, first, low), kept_bits(e, second, low ^ 0xFF), "");
    LLVMValueRef there = byte_there(e, LLVMBuildNot(e->builder, whole, ""), pointer);
    merge_byte(e, byte, there, kept, pointer);
  } else {
    LLVMBuildStore(e->builder, byte, pointer);
  }
  emit_close_guard(e, end);
}

/* The element `nibble` at `tile`, into its half of its byte, if that is the kernel's. */
static void store_nibble(emitter *e, access *a, uint64_t tile, LLVMValueRef nibble) {
  LLVMValueRef one = LLVMConstInt(e->i8, 1, 0),
               mine = LLVMConstInt(e->i8, e->kernel->stored_half - 1, 0);
  LLVMBasicBlockRef end = emit_open_guard(e, access_condition(e, a, tile));
  LLVMValueRef half = LLVMBuildTrunc(e->builder, emit_offset(e, &a->place, tile), e->i8, "");
  half = LLVMBuildAnd(e->builder, half, one, "");
  LLVMBasicBlockRef other =
      emit_open_guard(e, LLVMBuildICmp(e->builder, LLVMIntEQ, half, mine, ""));
  bool high = (e->kernel->stored_half == 2) != access_is_high_first(e, a);
  LLVMValueRef pointer = emit_pointer(e, &a->place, tile),
               there = LLVMBuildLoad2(e->builder, e->i8, pointer, "");
  nibble = LLVMBuildTrunc(e->builder, nibble, e->i8, "");
  if (high) nibble = LLVMBuildShl(e->builder, nibble, LLVMConstInt(e->i8, 4, 0), "");
  merge_byte(e, nibble, there, LLVMConstInt(e->i8, high ? 0x0F : 0xF0, 0), pointer);
  emit_close_guard(e, other);
  emit_close_guard(e, end);
}

/* The elements of a word, of a lane whose first element adds `lane` to tile coordinates. */
static void store_word_of_nibbles(emitter *e, access *a, uint64_t index, uint64_t lane,
                                  LLVMValueRef word) {
  for (unsigned i = 0; i < 1u << a->word; i++) {
    LLVMValueRef shift = LLVMConstInt(LLVMTypeOf(word), i * (unsigned)a->value->bits, 0);
    store_nibble(e, a, access_register_tile(a, index | i) ^ lane,
                 LLVMBuildLShr(e->builder, word, shift, ""));
  }
}

void access_store_nibbles(emitter *e, access *a) {
  int lane_bits = emit_is_host(e) ? access_lane_bits(a->value) : 0;
  for (uint64_t index = 0; index < 1ull << a->registers; index += 1ull << a->word) {
    LLVMValueRef word = a->words[index >> a->word];
    for (uint64_t l = 0; l < 1ull << lane_bits; l++) {
      uint64_t tile = f2_apply(plan_value_columns(a->value, PLAN_LANE), l);
      LLVMValueRef one =
          lane_bits ? LLVMBuildExtractElement(e->builder, word, emit_i32(e, (int64_t)l), "") : word;
      store_word_of_nibbles(e, a, index, lane_bits ? tile : 0, one);
    }
  }
}
