/* Overhanging loads that touch nothing but their elements (plan_step.exact): see emit_overhang.c.
 * Of 16-bit elements a piece that begins with a word is n words; another one is an element, n - 1
 * words and an element. Both are loaded alike, as n - 1 words from the first one on that begins in
 * the piece, and two elements: the last one, and the one that is left. So it need not be known
 * where memory ends, and no lane waits for another. */
#include "jit/emit/core/builder.h"
#include "jit/emit/memory/overhang.h"
#include "jit/emit/place/address.h"

#include "base/bits.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

#define WORD_BYTES 4

typedef struct exact_piece {
  uint64_t index;              /* register */
  LLVMValueRef pointer, valid; /* i32: bytes inside the bounds; NULL: all */
  LLVMValueRef low;            /* of 16-bit elements: to_word; NULL: the piece begins with a word */
} exact_piece;

static LLVMValueRef load_bytes(const emitter *e, LLVMValueRef pointer, int at, int bytes) {
  LLVMValueRef from = emit_move_pointer(e, pointer, emit_i32(e, at));
  LLVMValueRef loaded = LLVMBuildLoad2(e->builder, emit_int_type(e, 8 * bytes), from, "");
  LLVMSetAlignment(loaded, (unsigned)bytes);
  return loaded;
}

/* ---- whole pieces ---- */

/* Of pieces that begin with a word: by accesses as wide as that allows. */
static void load_words(const overhang *o, LLVMValueRef pointer, LLVMValueRef *out) {
  emitter *e = o->e;
  int words = bits_max((1 << o->aligned) / WORD_BYTES, 1);
  for (int k = 0; k < o->n; k += words) {
    LLVMTypeRef type = words > 1 ? LLVMVectorType(e->i32, (unsigned)words) : e->i32;
    LLVMValueRef from = emit_move_pointer(e, pointer, emit_i32(e, k * WORD_BYTES));
    LLVMValueRef loaded = LLVMBuildLoad2(e->builder, type, from, "");
    LLVMSetAlignment(loaded, (unsigned)(words * WORD_BYTES));
    for (int i = 0; i < words; i++)
      out[k + i] =
          words > 1 ? LLVMBuildExtractElement(e->builder, loaded, emit_i32(e, i), "") : loaded;
  }
}

static LLVMValueRef load_half(const emitter *e, LLVMValueRef pointer, int at) {
  return LLVMBuildZExt(e->builder, load_bytes(e, pointer, at, 2), e->i32, "");
}

/* The selector of a byte permute that takes half `low` of two words' four, then half `high`. */
static int halves(const emitter *e, int low, int high) {
  const int byte[4] = {2 * low, 2 * low + 1, 2 * high, 2 * high + 1};
  return e->ops->selector(byte);
}

/* One of two selectors. */
static LLVMValueRef either(const emitter *e, LLVMValueRef odd, int if_odd, int if_even) {
  return emit_choose(e, odd, emit_i32(e, if_odd), emit_i32(e, if_even));
}

/* Whether a tile coordinate moves each digit of a stride that only a run knows by as many positions
 * as a word has elements, or a multiple. */
static bool moves_words(const overhang *o, uint64_t tile) {
  const plan_kernel *kernel = o->e->kernel;
  uint64_t moved = f2_apply(kernel->space.column, tile);
  int elements = WORD_BYTES / o->element;
  bool whole = true;
  for (int i = 0; i < kernel->n_digits; i++) {
    uint64_t bits = bits_mask(kernel->digit[i].bits);
    uint64_t position = moved >> llrt_layout_out_shift(&kernel->space, i) & bits;
    bool stride = kernel->digit[i].side[o->step->tensor].kind == PLAN_STRIDE;
    whole &= !stride || position % (uint64_t)elements == 0;
  }
  return whole;
}

/* Whether all registers' pieces are as far off words as the first one's: what registers move
 * addresses by is whole words. */
static bool are_alike(const overhang *o, const uint64_t *index, int n) {
  const plan_kernel *kernel = o->e->kernel;
  const uint64_t *registers = plan_value_columns(o->value, PLAN_REGISTER);
  plan_address_map map;
  uint64_t moved = 0, words = WORD_BYTES / (uint64_t)o->element - 1;
  plan_address_of_tensor(kernel, o->step->tensor, &map);
  for (int i = 0; i < n; i++) {
    uint64_t tile = f2_apply(registers, index[i]);
    if (!plan_is_unstrided(&map, tile) && !moves_words(o, tile)) return false;
    moved |= f2_apply(map.column, tile);
  }
  return (moved & words) == 0;
}

/* Bytes from `pointer` to the first word that begins there; i32. */
static LLVMValueRef to_word(const emitter *e, LLVMValueRef pointer) {
  LLVMValueRef low = LLVMBuildPtrToInt(e->builder, pointer, e->i64, "");
  return LLVMBuildAnd(e->builder, LLVMBuildTrunc(e->builder, low, e->i32, ""), emit_i32(e, 2), "");
}

/* Of 16-bit elements, of which any may begin the piece; low: to_word. */
static void load_halves(const overhang *o, LLVMValueRef pointer, LLVMValueRef low,
                        LLVMValueRef *out) {
  emitter *e = o->e;
  LLVMValueRef zero = emit_i32(e, 0);
  LLVMValueRef odd = LLVMBuildICmp(e->builder, LLVMIntNE, low, zero, ""), word[OVERHANG_WORDS + 1];
  LLVMValueRef first = emit_move_pointer(e, pointer, low);
  LLVMValueRef left = emit_choose(e, odd, zero, emit_i32(e, o->bytes - WORD_BYTES));
  word[0] = load_half(e, emit_move_pointer(e, pointer, left), 0);
  for (int k = 1; k < o->n; k++) word[k] = load_bytes(e, first, (k - 1) * WORD_BYTES, WORD_BYTES);
  word[o->n] = load_half(e, pointer, o->bytes - 2);
  /* odd: of words k and k + 1 what lies across them, of the first the element that is left. */
  for (int k = 0; k < o->n; k++) {
    bool begins = k == 0, ends = k == o->n - 1;
    LLVMValueRef lower = word[k];
    if (ends && !begins) lower = emit_choose(e, odd, word[k], word[0]);
    int if_odd = begins ? halves(e, 0, 2) : halves(e, 1, 2);
    int if_even = ends ? halves(e, 0, 2) : halves(e, 2, 3);
    out[k] = e->ops->permute(e, lower, word[k + 1], either(e, odd, if_odd, if_even));
  }
}

static void load_piece(const overhang *o, const exact_piece *piece, LLVMValueRef *out) {
  if (!piece->low) load_words(o, piece->pointer, out);
  else load_halves(o, piece->pointer, piece->low, out);
}

/* ---- pieces that a bound parts ---- */

/* Word k, of which the element at `at` (i32) bytes inside the piece becomes `part`. */
static LLVMValueRef put_element(const overhang *o, LLVMValueRef word, int k, LLVMValueRef part,
                                LLVMValueRef at) {
  const emitter *e = o->e;
  LLVMValueRef number = LLVMBuildLShr(e->builder, at, emit_i32(e, 2), "");
  LLVMValueRef here = LLVMBuildICmp(e->builder, LLVMIntEQ, number, emit_i32(e, k), "");
  LLVMValueRef shift = LLVMBuildAnd(e->builder, at, emit_i32(e, 3), "");
  shift = LLVMBuildShl(e->builder, shift, emit_i32(e, 3), "");
  int64_t all = o->element == 2 ? 0xFFFF : 0xFFFFFFFF;
  LLVMValueRef mask = LLVMBuildShl(e->builder, emit_i32(e, all), shift, "");
  LLVMValueRef kept = LLVMBuildAnd(e->builder, word, LLVMBuildNot(e->builder, mask, ""), "");
  part = LLVMBuildOr(e->builder, kept, LLVMBuildShl(e->builder, part, shift, ""), "");
  return emit_choose(e, here, part, word);
}

/* The first `valid` bytes, at least one element; out: what the others are, then all. */
static void load_part(const overhang *o, const exact_piece *piece, LLVMValueRef *out) {
  emitter *e = o->e;
  LLVMValueRef zero = emit_i32(e, 0), word[OVERHANG_WORDS];
  LLVMBasicBlockRef entry = LLVMGetInsertBlock(e->builder), body = emit_new_block(e, "part");
  LLVMBasicBlockRef done = emit_new_block(e, "part_done");
  LLVMBuildBr(e->builder, body);
  LLVMPositionBuilderAtEnd(e->builder, body);
  LLVMValueRef at = LLVMBuildPhi(e->builder, e->i32, "at");
  LLVMAddIncoming(at, &zero, &entry, 1);
  for (int k = 0; k < o->n; k++) {
    word[k] = LLVMBuildPhi(e->builder, e->i32, "");
    LLVMAddIncoming(word[k], &out[k], &entry, 1);
  }
  LLVMValueRef part = load_bytes(e, emit_move_pointer(e, piece->pointer, at), 0, o->element);
  if (o->element < WORD_BYTES) part = LLVMBuildZExt(e->builder, part, e->i32, "");
  for (int k = 0; k < o->n; k++) out[k] = put_element(o, word[k], k, part, at);
  LLVMValueRef next = emit_add(e, at, emit_i32(e, o->element));
  LLVMBuildCondBr(e->builder, emit_less(e, next, piece->valid), body, done);
  LLVMAddIncoming(at, &next, &body, 1);
  for (int k = 0; k < o->n; k++) LLVMAddIncoming(word[k], &out[k], &body, 1);
  LLVMPositionBuilderAtEnd(e->builder, done);
}

/* out: what `make` makes where the condition holds, else as before. */
static void load_if(const overhang *o, LLVMValueRef condition, const exact_piece *piece, bool whole,
                    LLVMValueRef *out) {
  emitter *e = o->e;
  LLVMValueRef before[OVERHANG_WORDS];
  LLVMBasicBlockRef from = LLVMGetInsertBlock(e->builder), next = emit_open_guard(e, condition);
  for (int k = 0; k < o->n; k++) before[k] = out[k];
  if (whole) load_piece(o, piece, out);
  else load_part(o, piece, out);
  LLVMBasicBlockRef body = LLVMGetInsertBlock(e->builder);
  emit_close_guard(e, next);
  for (int k = 0; k < o->n; k++) {
    LLVMValueRef made = out[k];
    out[k] = LLVMBuildPhi(e->builder, e->i32, "");
    LLVMAddIncoming(out[k], &made, &body, 1);
    LLVMAddIncoming(out[k], &before[k], &from, 1);
  }
}

static LLVMValueRef is_whole(const overhang *o, const exact_piece *piece) {
  return LLVMBuildICmp(o->e->builder, LLVMIntSGE, piece->valid, emit_i32(o->e, o->bytes), "");
}

static LLVMValueRef is_part(const overhang *o, const exact_piece *piece) {
  LLVMValueRef begun = emit_less(o->e, emit_i32(o->e, 0), piece->valid);
  return LLVMBuildAnd(o->e->builder, begun, emit_less(o->e, piece->valid, emit_i32(o->e, o->bytes)),
                      "");
}

/* The piece, if it is whole. */
static void load_whole(const overhang *o, const exact_piece *piece, LLVMValueRef *words) {
  if (piece->valid) load_if(o, is_whole(o, piece), piece, true, words);
  else load_piece(o, piece, words);
}

/* Of pieces of two elements, all as far off words as each other: in rows that begin with a word a
 * word each, in others two elements. */
static void load_alike(const overhang *o, exact_piece *pieces, int n,
                       LLVMValueRef words[][OVERHANG_WORDS]) {
  emitter *e = o->e;
  LLVMBasicBlockRef way[2] = {emit_new_block(e, "words"), emit_new_block(e, "halves")};
  LLVMBasicBlockRef done = emit_new_block(e, "loaded"), end[2];
  LLVMValueRef made[2][OVERHANG_PIECES][OVERHANG_WORDS];
  LLVMValueRef low = pieces[0].low;
  emit_bring_together(e);
  LLVMValueRef even = LLVMBuildICmp(e->builder, LLVMIntEQ, low, emit_i32(e, 0), "");
  LLVMBuildCondBr(e->builder, e->ops->all_lanes(e, even), way[0], way[1]);
  for (int w = 0; w < 2; w++) {
    LLVMPositionBuilderAtEnd(e->builder, way[w]);
    for (int i = 0; i < n; i++) {
      made[w][i][0] = words[i][0];
      pieces[i].low = w == 0 ? NULL : low;
      load_whole(o, &pieces[i], made[w][i]);
    }
    end[w] = LLVMGetInsertBlock(e->builder);
    LLVMBuildBr(e->builder, done);
  }
  LLVMPositionBuilderAtEnd(e->builder, done);
  for (int i = 0; i < n; i++) {
    LLVMValueRef both[2] = {made[0][i][0], made[1][i][0]};
    words[i][0] = LLVMBuildPhi(e->builder, e->i32, "");
    LLVMAddIncoming(words[i][0], both, end, 2);
  }
}

/* ---- the step ---- */

/* All whole pieces are under way before a part is waited for. */
void overhang_load_exact(overhang *o, const uint64_t *index, int n) {
  emitter *e = o->e;
  exact_piece pieces[OVERHANG_PIECES];
  LLVMValueRef words[OVERHANG_PIECES][OVERHANG_WORDS];
  bool alike = are_alike(o, index, n);
  bool of_words = alike && o->n == 1 && o->aligned < bits_log2(WORD_BYTES);
  for (int i = 0; i < n; i++) {
    exact_piece *p = &pieces[i];
    uint64_t tile = f2_apply(plan_value_columns(o->value, PLAN_REGISTER), index[i]);
    *p = (exact_piece){.index = index[i], .pointer = emit_pointer(e, &o->place, tile)};
    if (o->aligned < bits_log2(WORD_BYTES))
      p->low = alike && i > 0 ? pieces[0].low : to_word(e, p->pointer);
    for (int k = 0; k < o->n; k++) words[i][k] = overhang_fill(o);
    if (o->step->masked) p->valid = overhang_valid_bytes(o, tile);
    if (!of_words) load_whole(o, p, words[i]);
  }
  if (of_words) load_alike(o, pieces, n, words);
  for (int i = 0; i < n && o->step->masked; i++)
    load_if(o, is_part(o, &pieces[i]), &pieces[i], false, words[i]);
  if (o->step->masked) emit_bring_together(e);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < o->n; k++) o->words[overhang_register(o, pieces[i].index, k)] = words[i][k];
}
