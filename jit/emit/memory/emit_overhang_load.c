/* Overhanging loads: see emit_overhang.c. */
#include "jit/emit/core/builder.h"
#include "jit/emit/memory/overhang.h"
#include "jit/emit/place/address.h"

#include "base/bits.h"
#include "jit/plan/facts/row_group.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

#include <string.h>

/* Whether elements may be stored that come behind the end of a source's row. */
static bool needs_fill(const overhang *o) {
  for (int i = 0; i < o->e->kernel->n_bounds; i++) {
    const plan_bound *bound = &o->e->kernel->bound[i];
    if (bound->tensors & 1 && !(bound->tensors >> PLAN_DESTINATION & 1) &&
        plan_group_step(o->e->kernel, bound, &o->group) != 0)
      return true;
  }
  return false;
}

/* Puts the kernel's fill into what lies past `valid` bytes. */
static void fill_rest(const overhang *o, LLVMValueRef valid, LLVMValueRef *words) {
  const emitter *e = o->e;
  for (int k = 0; k < o->n; k++) {
    LLVMValueRef bytes = emit_subtract(e, valid, emit_i32(e, 4 * k));
    bytes = emit_larger(e, emit_smaller(e, bytes, emit_i32(e, 4)), emit_i32(e, 0));
    LLVMValueRef bits =
        LLVMBuildShl(e->builder, LLVMBuildZExt(e->builder, bytes, e->i64, ""), emit_i64(e, 3), "");
    LLVMValueRef mask = LLVMBuildShl(e->builder, emit_i64(e, 1), bits, "");
    mask = LLVMBuildTrunc(e->builder, emit_subtract(e, mask, emit_i64(e, 1)), e->i32, "");
    LLVMValueRef rest =
        LLVMBuildAnd(e->builder, LLVMBuildNot(e->builder, mask, ""), overhang_fill(o), "");
    words[k] = LLVMBuildOr(e->builder, LLVMBuildAnd(e->builder, words[k], mask, ""), rest, "");
  }
}

/* ---- one vector of memory ---- */

static LLVMValueRef word_of(const overhang *o, LLVMValueRef vector, int k) {
  return o->n > 1 ? LLVMBuildExtractElement(o->e->builder, vector, emit_i32(o->e, k), "") : vector;
}

/* The vector at `pointer` where `condition` (NULL: always), else what out holds. */
static void load_whole(const overhang *o, LLVMValueRef pointer, LLVMValueRef condition,
                       LLVMValueRef *out) {
  emitter *e = o->e;
  LLVMValueRef otherwise[OVERHANG_WORDS];
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
  LLVMBasicBlockRef next = emit_open_guard(e, condition);
  LLVMBasicBlockRef body = LLVMGetInsertBlock(e->builder);
  LLVMValueRef loaded = LLVMBuildLoad2(e->builder, overhang_vector_type(o), pointer, "");
  LLVMSetAlignment(loaded, (unsigned)o->bytes);
  for (int k = 0; k < o->n; k++) {
    otherwise[k] = out[k];
    out[k] = word_of(o, loaded, k);
  }
  emit_close_guard(e, next);
  for (int k = 0; k < o->n && next; k++) {
    LLVMValueRef now = out[k];
    out[k] = LLVMBuildPhi(e->builder, e->i32, "");
    LLVMAddIncoming(out[k], &now, &body, 1);
    LLVMAddIncoming(out[k], &otherwise[k], &before, 1);
  }
}

/* i1: whether `bytes` bytes at a pointer lie in the tensor's memory. */
static LLVMValueRef in_memory(const emitter *e, LLVMValueRef pointer, int bytes) {
  const plan_memory *memory = &e->kernel->memory;
  LLVMValueRef first = LLVMBuildPtrToInt(e->builder, pointer, e->i64, "");
  LLVMValueRef last = emit_add(e, first, emit_i64(e, bytes));
  LLVMValueRef begins =
      LLVMBuildICmp(e->builder, LLVMIntUGE, first, emit_number(e, &memory->begin), "");
  LLVMValueRef ends = LLVMBuildICmp(e->builder, LLVMIntULE, last, emit_number(e, &memory->end), "");
  return LLVMBuildAnd(e->builder, begins, ends, "");
}

/* The element `at` (i32) bytes inside a vector, as i32; 0 where memory does not have it. */
static LLVMValueRef load_element_of(overhang *o, LLVMValueRef pointer, LLVMValueRef at) {
  emitter *e = o->e;
  pointer = emit_move_pointer(e, pointer, at);
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
  LLVMBasicBlockRef next = emit_open_guard(e, in_memory(e, pointer, o->element));
  LLVMBasicBlockRef body = LLVMGetInsertBlock(e->builder);
  LLVMValueRef loaded = LLVMBuildLoad2(e->builder, emit_int_type(e, o->value->bits), pointer, "");
  LLVMSetAlignment(loaded, (unsigned)o->element);
  loaded = LLVMBuildZExt(e->builder, loaded, e->i32, "");
  emit_close_guard(e, next);
  LLVMValueRef phi = LLVMBuildPhi(e->builder, e->i32, ""), zero = emit_i32(e, 0);
  LLVMAddIncoming(phi, &loaded, &body, 1);
  LLVMAddIncoming(phi, &zero, &before, 1);
  return phi;
}

/* Word k with `part` at `at` bytes inside the vector. */
static LLVMValueRef put_element(const emitter *e, LLVMValueRef word, int k, LLVMValueRef part,
                                LLVMValueRef at) {
  LLVMValueRef number = LLVMBuildLShr(e->builder, at, emit_i32(e, 2), "");
  LLVMValueRef here = LLVMBuildICmp(e->builder, LLVMIntEQ, number, emit_i32(e, k), "");
  return LLVMBuildOr(e->builder, word, emit_choose(e, here, part, emit_i32(e, 0)), "");
}

/* A vector that memory has in part: a loop over its elements. */
static void load_elements(overhang *o, LLVMValueRef pointer, LLVMValueRef *out) {
  emitter *e = o->e;
  LLVMValueRef zero = emit_i32(e, 0), word[OVERHANG_WORDS];
  LLVMBasicBlockRef entry = LLVMGetInsertBlock(e->builder);
  LLVMBasicBlockRef body = emit_new_block(e, "elements"), done = emit_new_block(e, "elements_done");
  LLVMBuildBr(e->builder, body);
  LLVMPositionBuilderAtEnd(e->builder, body);
  LLVMValueRef at = LLVMBuildPhi(e->builder, e->i32, "at");
  LLVMAddIncoming(at, &zero, &entry, 1);
  for (int k = 0; k < o->n; k++) {
    word[k] = LLVMBuildPhi(e->builder, e->i32, "");
    LLVMAddIncoming(word[k], &zero, &entry, 1);
  }
  LLVMValueRef part = load_element_of(o, pointer, at);
  LLVMValueRef shift = LLVMBuildShl(e->builder, LLVMBuildAnd(e->builder, at, emit_i32(e, 3), ""),
                                    emit_i32(e, 3), "");
  part = LLVMBuildShl(e->builder, part, shift, "");
  for (int k = 0; k < o->n; k++) out[k] = put_element(e, word[k], k, part, at);
  LLVMValueRef next = emit_add(e, at, emit_i32(e, o->element));
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->builder);
  LLVMBuildCondBr(e->builder, emit_less(e, next, emit_i32(e, o->bytes)), body, done);
  LLVMAddIncoming(at, &next, &latch, 1);
  for (int k = 0; k < o->n; k++) LLVMAddIncoming(word[k], &out[k], &latch, 1);
  LLVMPositionBuilderAtEnd(e->builder, done);
}

/* ---- loads ---- */

/* One vector of a load: NULL conditions hold always; partial is never looked at where steps are not
 * masked. */
typedef struct vector_load {
  LLVMValueRef pointer, condition, partial;
  LLVMValueRef words[OVERHANG_WORDS]; /* what is there where it is not loaded, then the result */
} vector_load;

typedef struct piece_load {
  uint64_t index; /* register */
  LLVMValueRef shift, valid;
  vector_load own, next; /* next: for the lane of the group's first piece, its last piece's */
  LLVMValueRef result[OVERHANG_WORDS];
} piece_load;

/* Loads it where memory has all of it. Careful: it is looked at whether it has. */
static void load_vector(overhang *o, vector_load *v, bool careful) {
  emitter *e = o->e;
  LLVMValueRef whole = v->condition;
  if (careful) {
    LLVMValueRef inside = in_memory(e, v->pointer, o->bytes);
    v->partial = emit_and(e, v->condition, LLVMBuildNot(e->builder, inside, ""));
    whole = emit_and(e, v->condition, inside);
  }
  load_whole(o, v->pointer, whole, v->words);
}

/* Which vectors the piece at register p->index wants, and where. */
static void aim_piece(overhang *o, piece_load *p) {
  emitter *e = o->e;
  LLVMValueRef zero = emit_i32(e, 0), reach = emit_i32(e, o->reach);
  uint64_t tile = f2_apply(plan_value_columns(o->value, PLAN_REGISTER), p->index);
  LLVMValueRef at = emit_pointer(e, &o->place, tile);
  p->shift = overhang_misalignment(o, at, false);
  p->own.pointer = emit_move_pointer(e, at, LLVMBuildNeg(e->builder, p->shift, ""));
  if (o->step->masked) {
    p->valid = overhang_valid_bytes(o, tile);
    p->own.condition = emit_less(e, zero, emit_add(e, p->valid, p->shift));
  }
  if (!overhang_may_shift(o)) return;
  p->next.pointer = emit_move_pointer(e, p->own.pointer, reach);
  p->next.condition =
      LLVMBuildAnd(e->builder, LLVMBuildICmp(e->builder, LLVMIntEQ, o->piece, zero, ""),
                   LLVMBuildICmp(e->builder, LLVMIntNE, p->shift, zero, ""), "");
  if (p->valid)
    p->next.condition =
        emit_and(e, p->next.condition, emit_less(e, reach, emit_add(e, p->valid, p->shift)));
}

/* Asks for its vectors. Nothing here waits for what is loaded. */
static void request_piece(overhang *o, piece_load *p, bool careful) {
  for (int k = 0; k < o->n; k++) p->own.words[k] = overhang_fill(o);
  load_vector(o, &p->own, careful);
  if (!overhang_may_shift(o)) return;
  memcpy(p->next.words, p->own.words, sizeof p->next.words);
  load_vector(o, &p->next, careful);
}

/* The pointer and condition of vector `number`: first all pieces' own, then those after the groups.
 * n, a power of two: pieces. */
static vector_load chosen_vector(const overhang *o, const piece_load *pieces, int n,
                                 LLVMValueRef number) {
  const emitter *e = o->e;
  LLVMValueRef after = LLVMBuildICmp(e->builder, LLVMIntUGE, number, emit_i32(e, n), "");
  LLVMValueRef piece = LLVMBuildAnd(e->builder, number, emit_i32(e, n - 1), "");
  vector_load chosen = {.partial = LLVMConstInt(e->i1, 0, false)};
  for (int i = 0; i < n; i++) {
    const piece_load *p = &pieces[i];
    LLVMValueRef here = LLVMBuildICmp(e->builder, LLVMIntEQ, piece, emit_i32(e, i), "");
    LLVMValueRef partial = p->own.partial;
    if (p->next.partial) partial = emit_choose(e, after, p->next.partial, partial);
    chosen.partial = emit_choose(e, here, partial, chosen.partial);
    chosen.pointer = i == 0 ? p->own.pointer : emit_choose(e, here, p->own.pointer, chosen.pointer);
  }
  LLVMValueRef further = emit_choose(e, after, emit_i32(e, o->reach), emit_i32(e, 0));
  chosen.pointer = emit_move_pointer(e, chosen.pointer, further);
  return chosen;
}

/* Those of the vectors that memory has in part, element by element; a loop, for few threads have
 * one. */
static void load_partials(overhang *o, const piece_load *pieces, int n_pieces, vector_load **all,
                          int n) {
  emitter *e = o->e;
  LLVMValueRef any = all[0]->partial, zero = emit_i32(e, 0),
               now[2 * OVERHANG_PIECES][OVERHANG_WORDS];
  for (int i = 1; i < n; i++) any = LLVMBuildOr(e->builder, any, all[i]->partial, "");
  LLVMBasicBlockRef skipped = LLVMGetInsertBlock(e->builder), done = emit_open_guard(e, any);
  LLVMBasicBlockRef entry = LLVMGetInsertBlock(e->builder), body = emit_new_block(e, "partial");
  LLVMBuildBr(e->builder, body);
  LLVMPositionBuilderAtEnd(e->builder, body);
  LLVMValueRef number = LLVMBuildPhi(e->builder, e->i32, "number");
  LLVMAddIncoming(number, &zero, &entry, 1);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < o->n; k++) {
      now[i][k] = LLVMBuildPhi(e->builder, e->i32, "");
      LLVMAddIncoming(now[i][k], &all[i]->words[k], &entry, 1);
    }
  vector_load chosen = chosen_vector(o, pieces, n_pieces, number);
  LLVMBasicBlockRef whole = LLVMGetInsertBlock(e->builder),
                    next = emit_open_guard(e, chosen.partial);
  LLVMValueRef made[OVERHANG_WORDS];
  load_elements(o, chosen.pointer, made);
  LLVMBasicBlockRef loaded = LLVMGetInsertBlock(e->builder);
  emit_close_guard(e, next);
  for (int k = 0; k < o->n; k++) {
    chosen.words[k] = LLVMBuildPhi(e->builder, e->i32, "");
    LLVMAddIncoming(chosen.words[k], &made[k], &loaded, 1);
    LLVMAddIncoming(chosen.words[k], &zero, &whole, 1);
  }
  LLVMValueRef after = emit_add(e, number, emit_i32(e, 1));
  for (int i = 0; i < n; i++) {
    LLVMValueRef here = LLVMBuildICmp(e->builder, LLVMIntEQ, number, emit_i32(e, i), "");
    here = LLVMBuildAnd(e->builder, here, chosen.partial, "");
    for (int k = 0; k < o->n; k++) {
      LLVMValueRef word = emit_choose(e, here, chosen.words[k], now[i][k]);
      LLVMAddIncoming(now[i][k], &word, &next, 1);
      now[i][k] = word;
    }
  }
  LLVMBuildCondBr(e->builder, emit_less(e, after, emit_i32(e, n)), body, done);
  LLVMAddIncoming(number, &after, &next, 1);
  LLVMPositionBuilderAtEnd(e->builder, done);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < o->n; k++) {
      LLVMValueRef before = all[i]->words[k];
      all[i]->words[k] = LLVMBuildPhi(e->builder, e->i32, "");
      LLVMAddIncoming(all[i]->words[k], &now[i][k], &next, 1);
      LLVMAddIncoming(all[i]->words[k], &before, &skipped, 1);
    }
}

/* The same for all vectors of the pieces; lanes that lend their own then lend what that has become.
 */
static void load_all_partials(overhang *o, piece_load *pieces, int n) {
  vector_load *all[2 * OVERHANG_PIECES] = {&pieces[0].own};
  int count = overhang_may_shift(o) ? 2 * n : n;
  for (int i = 0; i < count; i++) all[i] = i < n ? &pieces[i].own : &pieces[i - n].next;
  load_partials(o, pieces, n, all, count);
  for (int i = 0; i < n && overhang_may_shift(o); i++)
    for (int k = 0; k < o->n; k++)
      pieces[i].next.words[k] = emit_choose(o->e, pieces[i].next.condition, pieces[i].next.words[k],
                                            pieces[i].own.words[k]);
}

static void finish_piece(overhang *o, piece_load *p) {
  memcpy(p->result, p->own.words, sizeof p->result);
  if (overhang_may_shift(o)) {
    overhang_next(o, p->next.words, p->next.words);
    overhang_realign(o, p->own.words, p->next.words, p->shift, p->result);
  }
}

static void finish_all(overhang *o, piece_load *pieces, int n) {
  for (int i = 0; i < n; i++) finish_piece(o, &pieces[i]);
}

/* The pieces become registers. */
static void keep_all(overhang *o, piece_load *pieces, int n) {
  for (int i = 0; i < n; i++) {
    piece_load *p = &pieces[i];
    if (p->valid && needs_fill(o)) fill_rest(o, p->valid, p->result);
    for (int k = 0; k < o->n; k++) o->words[overhang_register(o, p->index, k)] = p->result[k];
  }
}

/* Pieces by words, where memory has all that they touch. */
static void load_by_words(overhang *o, piece_load *pieces, int n) {
  LLVMValueRef words[OVERHANG_PIECES][OVERHANG_WORDS + 1], zero = emit_i32(o->e, 0);
  for (int i = 0; i < n; i++) {
    piece_load *p = &pieces[i];
    LLVMValueRef wanted = p->valid ? emit_less(o->e, zero, p->valid) : NULL;
    overhang_request_words(o, p->own.pointer, p->shift, wanted, words[i]);
  }
  for (int i = 0; i < n; i++) overhang_join_words(o, pieces[i].shift, words[i], pieces[i].result);
}

/* All vectors are under way before the first is waited for. */
static void request_all(overhang *o, piece_load *pieces, int n, bool careful) {
  for (int i = 0; i < n; i++) request_piece(o, &pieces[i], careful);
  if (careful) load_all_partials(o, pieces, n);
}

/* Words of `one`, or of `other` where control came from there. */
static void join_words(const overhang *o, LLVMValueRef *one, LLVMBasicBlockRef from,
                       LLVMValueRef *other, LLVMBasicBlockRef beside) {
  for (int k = 0; k < o->n; k++) {
    LLVMValueRef phi = LLVMBuildPhi(o->e->builder, o->e->i32, "");
    LLVMAddIncoming(phi, &one[k], &from, 1);
    LLVMAddIncoming(phi, &other[k], &beside, 1);
    one[k] = phi;
  }
}

/* What was loaded, or by words is done, on either way. */
static void join_ways(overhang *o, piece_load *pieces, LLVMBasicBlockRef plain, piece_load *careful,
                      LLVMBasicBlockRef looked, int n) {
  for (int i = 0; i < n; i++) {
    if (o->step->by_words) {
      join_words(o, pieces[i].result, plain, careful[i].result, looked);
      continue;
    }
    join_words(o, pieces[i].own.words, plain, careful[i].own.words, looked);
    if (overhang_may_shift(o))
      join_words(o, pieces[i].next.words, plain, careful[i].next.words, looked);
  }
  if (!o->step->by_words) finish_all(o, pieces, n);
}

/* Where all vectors lie in memory it is not looked at. */
static void load_within(overhang *o, piece_load *pieces, int n) {
  if (o->step->by_words) {
    load_by_words(o, pieces, n);
    return;
  }
  request_all(o, pieces, n, false);
  finish_all(o, pieces, n);
}

static void load_carefully(overhang *o, piece_load *pieces, int n) {
  request_all(o, pieces, n, true);
  finish_all(o, pieces, n);
}

/* In masked steps a block whose vectors all lie in memory does not look at where each lies. */
static void load_either_way(overhang *o, piece_load *pieces, int n) {
  emitter *e = o->e;
  LLVMValueRef within = emit_block_within(e);
  if (!within) {
    load_carefully(o, pieces, n);
    return;
  }
  piece_load careful[OVERHANG_PIECES];
  memcpy(careful, pieces, (size_t)n * sizeof *pieces);
  LLVMBasicBlockRef plain = emit_new_block(e, "within"), looked = emit_new_block(e, "looked_at");
  LLVMBasicBlockRef done = emit_new_block(e, "requested");
  LLVMBuildCondBr(e->builder, within, plain, looked);
  LLVMPositionBuilderAtEnd(e->builder, looked);
  o->step->by_words ? load_carefully(o, careful, n) : request_all(o, careful, n, true);
  emit_bring_together(e); /* either way by itself: where they meet is too late */
  looked = LLVMGetInsertBlock(e->builder);
  LLVMBuildBr(e->builder, done);
  LLVMPositionBuilderAtEnd(e->builder, plain);
  o->step->by_words ? load_by_words(o, pieces, n) : request_all(o, pieces, n, false);
  emit_bring_together(e);
  plain = LLVMGetInsertBlock(e->builder);
  LLVMBuildBr(e->builder, done);
  LLVMPositionBuilderAtEnd(e->builder, done);
  join_ways(o, pieces, plain, careful, looked, n);
}

/* i1, the same in a warp: whether one of its lanes wants a piece. */
static LLVMValueRef is_wanted(const overhang *o, const piece_load *pieces, int n) {
  emitter *e = o->e;
  LLVMValueRef any = pieces[0].own.condition;
  for (int i = 1; i < n; i++) any = LLVMBuildOr(e->builder, any, pieces[i].own.condition, "");
  return LLVMBuildNot(e->builder, e->ops->all_lanes(e, LLVMBuildNot(e->builder, any, "")), "");
}

/* Warps that have nothing inside the bounds, channels beyond the last, do nothing. */
static void load_masked(overhang *o, piece_load *pieces, int n) {
  emitter *e = o->e;
  emit_bring_together(e);
  LLVMValueRef wanted = is_wanted(o, pieces, n), fill[OVERHANG_WORDS];
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder),
                    next = emit_open_guard_of_warps(e, wanted);
  load_either_way(o, pieces, n);
  keep_all(o, pieces, n);
  emit_bring_together(e);
  LLVMBasicBlockRef body = LLVMGetInsertBlock(e->builder);
  emit_close_guard(e, next);
  for (int k = 0; k < o->n; k++) fill[k] = overhang_fill(o);
  for (int i = 0; i < n; i++) {
    LLVMValueRef words[OVERHANG_WORDS];
    for (int k = 0; k < o->n; k++) words[k] = o->words[overhang_register(o, pieces[i].index, k)];
    join_words(o, words, body, fill, before);
    for (int k = 0; k < o->n; k++) o->words[overhang_register(o, pieces[i].index, k)] = words[k];
  }
}

void overhang_load(overhang *o, const uint64_t *index, int n) {
  piece_load pieces[OVERHANG_PIECES] = {{0}};
  for (int i = 0; i < n; i++) {
    pieces[i].index = index[i];
    aim_piece(o, &pieces[i]);
  }
  if (o->step->masked && overhang_may_shift(o) && n > 1) { /* else it would be more than it saves */
    load_masked(o, pieces, n);
    return;
  }
  o->step->masked ? load_carefully(o, pieces, n) : load_within(o, pieces, n);
  keep_all(o, pieces, n);
}
