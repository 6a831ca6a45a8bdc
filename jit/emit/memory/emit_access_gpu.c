/* Pieces of a GPU: words, parts of a word, matrices. See emit_access.c. */
#include "base/bits.h"
#include "jit/emit/memory/emit_access.h"
#include "jit/emit/place/address.h"
#include "jit/plan/facts/access.h"

#include <assert.h>

/* Puts `part` (of the word's type) into the elements of *word from register `index` on. */
static void put_part(emitter *e, const access *a, uint64_t index, LLVMValueRef part) {
  LLVMValueRef *word = &a->words[index >> a->word];
  unsigned element = (unsigned)(index & bits_mask(a->word));
  LLVMValueRef shift = LLVMConstInt(access_word_type(e, a), element * a->value->bits, 0);
  part = LLVMBuildShl(e->builder, part, shift, "");
  *word = element == 0 ? part : LLVMBuildOr(e->builder, *word, part, "");
}

/* Register index of element i of a piece: i's bits at the places that positions give; of word k. */
static uint64_t piece_element(const access *a, int i) {
  uint64_t index = 0;
  for (int j = 0; j < a->vector; j++)
    if (i >> j & 1) index |= 1ull << a->position[j];
  return index;
}

static uint64_t piece_register(const access *a, int k) { return piece_element(a, k << a->word); }

/* Where the second element of a piece from register `first` on is. */
static uint64_t next_tile(const access *a, uint64_t first) {
  return access_register_tile(a, first | piece_element(a, 1));
}

/* Stores those elements of the piece at register index `first` that are inside all bounds, each
 * under a condition of its own. */
static void store_inside(emitter *e, access *a, uint64_t first) {
  LLVMTypeRef unit = emit_int_type(e, a->value->bits);
  for (int i = 0; i < 1 << a->vector; i++) {
    uint64_t index = first | piece_element(a, i), element = index & bits_mask(a->word);
    LLVMBasicBlockRef next =
        emit_open_guard(e, emit_inside(e, &a->place, access_register_tile(a, index)));
    LLVMValueRef word = a->words[index >> a->word];
    LLVMValueRef shift = LLVMConstInt(LLVMTypeOf(word), element * a->value->bits, 0);
    LLVMValueRef part =
        LLVMBuildTrunc(e->builder, LLVMBuildLShr(e->builder, word, shift, ""), unit, "");
    LLVMValueRef store = LLVMBuildStore(e->builder, part,
                                        access_store_pointer(e, a, access_register_tile(a, index)));
    access_set_alignment(e, store, a->value->bits / 8);
    emit_close_guard(e, next);
  }
}

/* The piece from register `first` on: one access where its last element is inside the bounds, and
 * nothing where its first is not (plan_is_ordered). */
static void store_parts(emitter *e, access *a, uint64_t first, LLVMValueRef piece) {
  uint64_t last = first | piece_element(a, (1 << a->vector) - 1);
  LLVMValueRef all = emit_inside(e, &a->place, access_register_tile(a, last));
  LLVMBasicBlockRef next = emit_open_guard(e, all);
  LLVMValueRef store =
      LLVMBuildStore(e->builder, piece, access_store_pointer(e, a, access_register_tile(a, first)));
  access_set_alignment(e, store, access_piece_bytes(a));
  emit_close_guard(e, next);
  if (!all) return;
  LLVMValueRef any = emit_inside(e, &a->place, access_register_tile(a, first));
  next = emit_open_guard(e, emit_and(e, any, LLVMBuildNot(e->builder, all, "")));
  store_inside(e, a, first);
  emit_close_guard(e, next);
}

/* Two words of a byte each, as a scalar: where control joins, LLVM 19 has vectors of two bytes go
 * through local memory on NVIDIA. */
static void move_byte_pair(emitter *e, access *a, uint64_t first) {
  LLVMTypeRef type = emit_int_type(e, 16), byte = emit_int_type(e, 8);
  LLVMValueRef *low = &a->words[first >> a->word],
               *high = &a->words[(first | piece_register(a, 1)) >> a->word];
  LLVMValueRef eight = LLVMConstInt(type, 8, false);
  uint64_t tile = access_register_tile(a, first);
  if (a->load) {
    LLVMValueRef piece = access_load_piece(e, a, tile, type);
    *low = LLVMBuildZExt(e->builder, LLVMBuildTrunc(e->builder, piece, byte, ""),
                         access_word_type(e, a), "");
    *high = LLVMBuildZExt(e->builder, LLVMBuildLShr(e->builder, piece, eight, ""),
                          access_word_type(e, a), "");
    return;
  }
  LLVMValueRef part =
      LLVMBuildZExt(e->builder, LLVMBuildTrunc(e->builder, *low, byte, ""), type, "");
  LLVMValueRef piece =
      LLVMBuildShl(e->builder, LLVMBuildTrunc(e->builder, *high, type, ""), eight, "");
  piece = LLVMBuildOr(e->builder, piece, part, "");
  if (a->step->parted) store_parts(e, a, first, piece);
  else access_store_piece(e, a, tile, piece);
}

/* Stores a byte of which each of two words has an element of 4 bits, and bounds may part. */
static void store_pair_of_words(emitter *e, access *a, uint64_t first) {
  LLVMTypeRef byte = emit_int_type(e, 8);
  LLVMValueRef low = LLVMBuildTrunc(e->builder, a->words[first >> a->word], byte, ""),
               high = LLVMBuildTrunc(e->builder,
                                     a->words[(first | piece_register(a, 1)) >> a->word], byte, "");
  low = LLVMBuildAnd(e->builder, low, LLVMConstInt(byte, 15, false), "");
  high = LLVMBuildShl(e->builder, high, LLVMConstInt(byte, 4, false), "");
  access_store_byte(e, a, access_register_tile(a, first), next_tile(a, first),
                    LLVMBuildOr(e->builder, high, low, ""));
}

/* A piece of whole words, as a scalar or vector of them. */
static void move_words(emitter *e, access *a, uint64_t first) {
  int n = 1 << (a->vector - a->word), bits = a->value->bits << a->word;
  if (n == 2 && bits == 8) {
    move_byte_pair(e, a, first);
    return;
  }
  if (n == 2 && access_parts_bytes(a)) {
    store_pair_of_words(e, a, first);
    return;
  }
  LLVMTypeRef unit = emit_int_type(e, bits),
              type = n > 1 ? LLVMVectorType(unit, (unsigned)n) : unit;
  uint64_t tile = access_register_tile(a, first);
  LLVMValueRef piece = a->load ? access_load_piece(e, a, tile, type) : LLVMGetUndef(type);
  for (int k = 0; k < n; k++) {
    LLVMValueRef *word = &a->words[(first | piece_register(a, k)) >> a->word];
    LLVMValueRef at = emit_i32(e, k);
    if (a->load) {
      *word = n > 1 ? LLVMBuildExtractElement(e->builder, piece, at, "") : piece;
      *word = LLVMBuildZExt(e->builder, *word, access_word_type(e, a), "");
    } else {
      LLVMValueRef part = LLVMBuildTrunc(e->builder, *word, unit, "");
      piece = n > 1 ? LLVMBuildInsertElement(e->builder, piece, part, at, "") : part;
    }
  }
  if (a->load) return;
  if (access_parts_bytes(a)) access_store_byte(e, a, tile, next_tile(a, first), piece);
  else if (a->step->parted) store_parts(e, a, first, piece);
  else access_store_piece(e, a, tile, piece);
}

/* A piece that is part of a word: 2^vector elements from element `first` of its word. */
static void move_part(emitter *e, access *a, uint64_t first) {
  LLVMTypeRef unit = emit_int_type(e, a->value->bits << a->vector);
  uint64_t tile = access_register_tile(a, first);
  if (a->load) {
    LLVMValueRef part = access_load_piece(e, a, tile, unit);
    put_part(e, a, first, LLVMBuildZExt(e->builder, part, access_word_type(e, a), ""));
    return;
  }
  int element = (int)(first & bits_mask(a->word));
  LLVMValueRef shift =
      LLVMConstInt(access_word_type(e, a), (unsigned)(element * a->value->bits), 0);
  LLVMValueRef part = LLVMBuildLShr(e->builder, a->words[first >> a->word], shift, "");
  part = LLVMBuildTrunc(e->builder, part, unit, "");
  if (access_parts_bytes(a)) access_store_byte(e, a, tile, next_tile(a, first), part);
  else if (a->step->parted) store_parts(e, a, first, part);
  else access_store_piece(e, a, tile, part);
}

/* One instruction: the words of its matrices from register `first` on. */
void access_move_matrices(emitter *e, access *a, uint64_t first) {
  int n = 1 << a->matrix.count;
  bool transposed = a->step->matrix == PLAN_MATRIX_TRANSPOSED;
  LLVMValueRef moved[4], *word[4], row = emit_pointer(e, &a->place, access_register_tile(a, first));
  for (int m = 0; m < n; m++) {
    uint64_t index = first;
    for (int j = 0; j < a->matrix.count; j++)
      if (m >> j & 1) index |= 1ull << a->matrix.position[j];
    word[m] = &a->words[index >> a->word];
    moved[m] = *word[m];
  }
  if (!a->load) {
    e->ops->matrix_store(e, row, a->matrix.count, transposed, moved);
    return;
  }
  e->ops->matrix_load(e, row, a->matrix.count, transposed, moved);
  for (int m = 0; m < n; m++) *word[m] = moved[m];
}

static void move_all_matrices(emitter *e, access *a) {
  a->inner = bits_mask(a->word);
  for (int j = 0; j < a->matrix.count; j++) a->inner |= 1ull << a->matrix.position[j];
  for (uint64_t index = 0; index < 1ull << a->registers; index++)
    if (!(index & a->inner) && access_takes_part(e, a, index)) access_move_matrices(e, a, index);
}

/* Loads what indices say of every piece, before any piece: so all those loads are under way
 * together. */
static void read_indices(emitter *e, access *a) {
  for (uint64_t index = 0; index < 1ull << a->registers; index++)
    if (!(index & a->inner)) emit_place_terms(e, &a->place, access_register_tile(a, index));
}

void access_move_gpu(emitter *e, access *a) {
  if (a->step->matrix) {
    move_all_matrices(e, a);
    return;
  }
  if (e->kernel->flat) { /* whose vectors are the lowest registers */
    for (int j = 0; j < a->vector; j++) a->position[j] = j;
  } else {
    bool found =
        plan_access_positions(a->value, &a->place.map, PLAN_REGISTER, a->vector, a->position);
    assert(found || a->vector == 0);
    (void)found;
  }
  for (int j = 0; j < a->vector; j++) a->inner |= 1ull << a->position[j];
  if (a->place.indexed && 1 << a->registers >> a->vector <= EMIT_MAX_SPOTS) read_indices(e, a);
  for (uint64_t index = 0; index < 1ull << a->registers; index++) {
    if (index & a->inner || !access_takes_part(e, a, index)) continue;
    if (a->vector >= a->word) move_words(e, a, index);
    else move_part(e, a, index);
  }
}
