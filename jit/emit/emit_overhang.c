/* Overhanging loads and stores: rows that start anywhere are moved by aligned vectors (docs/one-pass.md,
 * "Rows that are not aligned"). GPU only.
 *
 * A thread's *piece* is as many bytes as an aligned vector, 2^lanes neighbouring pieces are a group, in lanes.
 * A load takes the vector in which its piece begins, gets the next one from the lane that has it, and shifts
 * both by what the piece lies off the vector; the group's last piece needs one vector more, which the first
 * piece's lane loads. A store is the mirror image: each lane stores the first vector that begins in its piece,
 * made of its own end and the next piece's begin. What remains of a group is shorter than a vector: its begin
 * and its end, stored element by element by the group's lanes together. */
#include "jit/emit/builder.h"

#include "base/bits.h"

#include <assert.h>

#define MAX_WORDS 4 /* 32-bit words of a vector */

typedef struct overhang {
  emitter *e;
  const plan_step *step;
  const plan_value *value;
  LLVMValueRef *words; /* of the value */
  emit_place place;
  plan_group group;
  int element, bytes, n;  /* bytes of an element; bytes and words of a vector */
  int aligned;            /* log2 bytes that divide every piece's address */
  int pieces, reach;      /* of a group; its bytes */
  int position[8];
  LLVMValueRef piece;     /* i32: this lane's number in its group */
  LLVMValueRef first;     /* i1: whether this thread stores: it holds the first of copies. NULL: all do */
} overhang;

static LLVMValueRef add(const emitter *e, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildAdd(e->builder, a, b, "");
}

static LLVMValueRef subtract(const emitter *e, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSub(e->builder, a, b, "");
}

static LLVMValueRef choose(const emitter *e, LLVMValueRef c, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSelect(e->builder, c, a, b, "");
}

static LLVMValueRef is_less(const emitter *e, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildICmp(e->builder, LLVMIntSLT, a, b, "");
}

static LLVMValueRef smaller(const emitter *e, LLVMValueRef a, LLVMValueRef b) {
  return choose(e, is_less(e, a, b), a, b);
}

static LLVMValueRef larger(const emitter *e, LLVMValueRef a, LLVMValueRef b) {
  return choose(e, is_less(e, a, b), b, a);
}

/* `pointer` plus so many bytes (i32, signed). */
static LLVMValueRef move_pointer(const emitter *e, LLVMValueRef pointer, LLVMValueRef bytes) {
  LLVMValueRef offset = LLVMBuildSExt(e->builder, bytes, e->i64, "");
  return LLVMBuildGEP2(e->builder, e->i8, pointer, &offset, 1, "");
}

/* ---- lanes ---- */

/* The lane with piece `piece` (i32) of this lane's group. */
static LLVMValueRef lane_of_piece(const overhang *o, LLVMValueRef piece) {
  const emitter *e = o->e;
  int64_t mask = (int64_t)(o->pieces - 1) << o->group.first_lane;
  LLVMValueRef others = LLVMBuildAnd(e->builder, e->lane, emit_i32(e, ~mask), "");
  piece = LLVMBuildShl(e->builder, piece, emit_i32(e, o->group.first_lane), "");
  return LLVMBuildOr(e->builder, others, piece, "");
}

static void shuffle_words(const overhang *o, LLVMValueRef *words, LLVMValueRef lane, LLVMValueRef *out) {
  for (int k = 0; k < o->n; k++) out[k] = o->e->ops->shuffle(o->e, words[k], lane);
}

/* The words of the next piece's lane, after the last piece the first's. */
static void words_of_next(const overhang *o, LLVMValueRef *words, LLVMValueRef *out) {
  const emitter *e = o->e;
  LLVMValueRef next = add(e, o->piece, emit_i32(e, 1));
  next = LLVMBuildAnd(e->builder, next, emit_i32(e, o->pieces - 1), "");
  if (o->pieces > 1) {
    shuffle_words(o, words, lane_of_piece(o, next), out);
    return;
  }
  for (int k = 0; k < o->n; k++) out[k] = words[k];
}

/* ---- shifting ---- */

/* The vector that begins `shift` (i32) bytes inside of `own` followed by `next`: selects by whole words, then
 * one funnel shift each. */
static void realign(const overhang *o, LLVMValueRef *own, LLVMValueRef *next, LLVMValueRef shift,
                    LLVMValueRef *out) {
  emitter *e = o->e;
  LLVMValueRef w[2 * MAX_WORDS];
  bool funnel = o->aligned < 2;
  for (int k = 0; k < o->n; k++) {
    w[k] = own[k];
    w[o->n + k] = next[k];
  }
  for (int b = bits_log2(o->n) - 1; b >= 0 && o->aligned < 3 + b; b--) {
    LLVMValueRef bit = LLVMBuildAnd(e->builder, shift, emit_i32(e, 4 << b), "");
    LLVMValueRef moved = LLVMBuildICmp(e->builder, LLVMIntNE, bit, emit_i32(e, 0), "");
    int needed = o->n + (1 << b) - 1 + funnel;
    for (int k = 0; k < needed; k++) w[k] = choose(e, moved, w[k + (1 << b)], w[k]);
  }
  LLVMValueRef amount = LLVMBuildShl(e->builder, shift, emit_i32(e, 3), "");
  for (int k = 0; k < o->n; k++) {
    LLVMValueRef args[] = {w[k + 1], w[k], amount};
    out[k] = funnel ? emit_intrinsic(e, "llvm.fshr", &e->i32, 1, args, 3) : w[k];
  }
}

static bool may_shift(const overhang *o) { return 1 << o->aligned < o->bytes; }

/* How far an address (a pointer) lies past a vector's begin, or with `before` in front of the next; i32. */
static LLVMValueRef misalignment(const overhang *o, LLVMValueRef pointer, bool before) {
  const emitter *e = o->e;
  if (!may_shift(o)) return emit_i32(e, 0);
  LLVMValueRef low = LLVMBuildPtrToInt(e->builder, pointer, e->i64, "");
  low = LLVMBuildTrunc(e->builder, low, e->i32, "");
  if (before) low = LLVMBuildNeg(e->builder, low, "");
  return LLVMBuildAnd(e->builder, low, emit_i32(e, o->bytes - 1), "");
}

/* ---- masks ---- */

/* left elements as bytes, within what the piece's group cares for; i32. */
static LLVMValueRef clamp_bytes(const overhang *o, LLVMValueRef left) {
  const emitter *e = o->e;
  left = smaller(e, left, emit_i64(e, o->reach / o->element));
  left = larger(e, left, emit_i64(e, -(o->reach / o->element)));
  left = LLVMBuildTrunc(e->builder, left, e->i32, "");
  return LLVMBuildMul(e->builder, left, emit_i32(e, o->element), "");
}

/* How many bytes from the begin of the piece at `tile` on are inside all bounds: i32, negative where the row
 * ends before it, more than the piece's where it goes on. */
static LLVMValueRef valid_bytes(overhang *o, uint64_t tile) {
  emitter *e = o->e;
  LLVMValueRef inside = NULL, valid = emit_i32(e, o->reach);
  for (int i = 0; i < e->kernel->n_bounds; i++) {
    const plan_bound *bound = &e->kernel->bound[i];
    if (!(bound->tensors >> o->step->tensor & 1)) continue;
    LLVMValueRef at = emit_bounded(e, o->value, bound, tile), limit = emit_bound_limit(e, bound);
    int64_t step = plan_group_step(e->kernel, bound, &o->group);
    if (step == 0) {
      inside = emit_and(e, inside, LLVMBuildICmp(e->builder, LLVMIntULT, at, limit, ""));
      continue;
    }
    LLVMValueRef left = subtract(e, limit, at);
    if (step > 1) {
      left = add(e, left, emit_i64(e, step - 1));
      left = LLVMBuildSDiv(e->builder, left, emit_i64(e, step), "");
    }
    valid = smaller(e, valid, clamp_bytes(o, left));
  }
  return inside ? choose(e, inside, valid, emit_i32(e, -o->reach)) : valid;
}

/* Puts the kernel's fill into what lies past `valid` bytes. */
static void fill_rest(const overhang *o, LLVMValueRef valid, LLVMValueRef *words) {
  const emitter *e = o->e;
  uint64_t pattern = 0;
  for (int at = 0; at < 32; at += o->value->bits) pattern |= e->kernel->fill << at;
  for (int k = 0; k < o->n; k++) {
    LLVMValueRef bytes = subtract(e, valid, emit_i32(e, 4 * k));
    bytes = larger(e, smaller(e, bytes, emit_i32(e, 4)), emit_i32(e, 0));
    LLVMValueRef bits = LLVMBuildShl(e->builder, LLVMBuildZExt(e->builder, bytes, e->i64, ""),
                                     emit_i64(e, 3), "");
    LLVMValueRef mask = LLVMBuildShl(e->builder, emit_i64(e, 1), bits, "");
    mask = LLVMBuildTrunc(e->builder, subtract(e, mask, emit_i64(e, 1)), e->i32, "");
    LLVMValueRef rest = LLVMBuildAnd(e->builder, LLVMBuildNot(e->builder, mask, ""),
                                     emit_i32(e, (int64_t)(pattern & UINT32_MAX)), "");
    words[k] = LLVMBuildOr(e->builder, LLVMBuildAnd(e->builder, words[k], mask, ""), rest, "");
  }
}

/* ---- one vector of memory ---- */

static LLVMTypeRef vector_type(const overhang *o) {
  return o->n > 1 ? LLVMVectorType(o->e->i32, (unsigned)o->n) : o->e->i32;
}

static LLVMValueRef word_of(const overhang *o, LLVMValueRef vector, int k) {
  return o->n > 1 ? LLVMBuildExtractElement(o->e->builder, vector, emit_i32(o->e, k), "") : vector;
}

/* The vector at `pointer` where `condition` (NULL: always), else what out holds. */
static void load_whole(const overhang *o, LLVMValueRef pointer, LLVMValueRef condition,
                       LLVMValueRef *out) {
  emitter *e = o->e;
  LLVMValueRef otherwise[MAX_WORDS];
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
  LLVMBasicBlockRef next = emit_open_guard(e, condition);
  LLVMBasicBlockRef body = LLVMGetInsertBlock(e->builder);
  LLVMValueRef loaded = LLVMBuildLoad2(e->builder, vector_type(o), pointer, "");
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
  LLVMValueRef last = add(e, first, emit_i64(e, bytes));
  LLVMValueRef begins = LLVMBuildICmp(e->builder, LLVMIntUGE, first, emit_number(e, &memory->begin), "");
  LLVMValueRef ends = LLVMBuildICmp(e->builder, LLVMIntULE, last, emit_number(e, &memory->end), "");
  return LLVMBuildAnd(e->builder, begins, ends, "");
}

/* The element `at` (i32) bytes inside a vector, as i32; 0 where memory does not have it. */
static LLVMValueRef load_element_of(overhang *o, LLVMValueRef pointer, LLVMValueRef at) {
  emitter *e = o->e;
  pointer = move_pointer(e, pointer, at);
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
  return LLVMBuildOr(e->builder, word, choose(e, here, part, emit_i32(e, 0)), "");
}

/* A vector that memory has in part, where `condition`: a loop over its elements; elsewhere what out holds. */
static void load_partial(overhang *o, LLVMValueRef pointer, LLVMValueRef condition, LLVMValueRef *out) {
  emitter *e = o->e;
  LLVMValueRef zero = emit_i32(e, 0), word[MAX_WORDS], made[MAX_WORDS];
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
  LLVMBasicBlockRef done = emit_open_guard(e, condition);
  LLVMBasicBlockRef entry = LLVMGetInsertBlock(e->builder), body = emit_new_block(e, "elements");
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
  for (int k = 0; k < o->n; k++) made[k] = put_element(e, word[k], k, part, at);
  LLVMValueRef next = add(e, at, emit_i32(e, o->element));
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->builder);
  LLVMBuildCondBr(e->builder, is_less(e, next, emit_i32(e, o->bytes)), body, done);
  LLVMAddIncoming(at, &next, &latch, 1);
  for (int k = 0; k < o->n; k++) LLVMAddIncoming(word[k], &made[k], &latch, 1);
  LLVMPositionBuilderAtEnd(e->builder, done);
  for (int k = 0; k < o->n; k++) {
    LLVMValueRef old = out[k];
    out[k] = LLVMBuildPhi(e->builder, e->i32, "");
    LLVMAddIncoming(out[k], &made[k], &latch, 1);
    LLVMAddIncoming(out[k], &old, &before, 1);
  }
}

/* The vector at `pointer` where `condition`, else what out holds. Masked steps look at each vector's place in
 * memory; the others run in blocks all of whose vectors are inside. */
static void load_vector(overhang *o, LLVMValueRef pointer, LLVMValueRef condition, LLVMValueRef *out) {
  emitter *e = o->e;
  if (!o->step->masked) {
    load_whole(o, pointer, condition, out);
    return;
  }
  LLVMValueRef inside = in_memory(e, pointer, o->bytes);
  load_whole(o, pointer, emit_and(e, condition, inside), out);
  load_partial(o, pointer, emit_and(e, condition, LLVMBuildNot(e->builder, inside, "")), out);
}

/* ---- loads ---- */

static void load_piece(overhang *o, uint64_t tile, LLVMValueRef *out) {
  emitter *e = o->e;
  LLVMValueRef zero = emit_i32(e, 0), own[MAX_WORDS], next[MAX_WORDS], valid = NULL, needed = NULL;
  LLVMValueRef at = emit_pointer(e, &o->place, tile), shift = misalignment(o, at, false);
  LLVMValueRef begin = move_pointer(e, at, LLVMBuildNeg(e->builder, shift, ""));
  if (o->step->masked) {
    valid = valid_bytes(o, tile);
    needed = is_less(e, zero, add(e, valid, shift));
  }
  for (int k = 0; k < o->n; k++) own[k] = zero;
  load_vector(o, begin, needed, own);
  for (int k = 0; k < o->n; k++) out[k] = next[k] = own[k];
  if (may_shift(o)) {
    LLVMValueRef more = LLVMBuildICmp(e->builder, LLVMIntEQ, o->piece, zero, "");
    more = emit_and(e, more, LLVMBuildICmp(e->builder, LLVMIntNE, shift, zero, ""));
    if (valid)
      more = emit_and(e, more, is_less(e, emit_i32(e, o->reach), add(e, valid, shift)));
    load_vector(o, move_pointer(e, begin, emit_i32(e, o->reach)), more, next);
    words_of_next(o, next, next);
    realign(o, own, next, shift, out);
  }
  if (valid) fill_rest(o, valid, out);
}

/* ---- stores ---- */

static void store_vector(const overhang *o, LLVMValueRef pointer, LLVMValueRef condition,
                         LLVMValueRef *words) {
  emitter *e = o->e;
  LLVMBasicBlockRef next = emit_open_guard(e, emit_and(e, o->first, condition));
  LLVMValueRef vector = o->n > 1 ? LLVMGetUndef(vector_type(o)) : words[0];
  for (int k = 0; k < o->n && o->n > 1; k++)
    vector = LLVMBuildInsertElement(e->builder, vector, words[k], emit_i32(e, k), "");
  LLVMSetAlignment(LLVMBuildStore(e->builder, vector, pointer), (unsigned)o->bytes);
  emit_close_guard(e, next);
}

/* Stores the element `at` (i32) bytes inside a vector at `pointer`. */
static void store_element(const overhang *o, LLVMValueRef *words, LLVMValueRef at,
                          LLVMValueRef condition, LLVMValueRef pointer) {
  emitter *e = o->e;
  LLVMBasicBlockRef next = emit_open_guard(e, emit_and(e, o->first, condition));
  LLVMValueRef word = words[0];
  LLVMValueRef number = LLVMBuildLShr(e->builder, at, emit_i32(e, 2), "");
  for (int k = 1; k < o->n; k++) {
    LLVMValueRef here = LLVMBuildICmp(e->builder, LLVMIntEQ, number, emit_i32(e, k), "");
    word = choose(e, here, words[k], word);
  }
  LLVMValueRef shift = LLVMBuildShl(e->builder, LLVMBuildAnd(e->builder, at, emit_i32(e, 3), ""),
                                    emit_i32(e, 3), "");
  word = LLVMBuildLShr(e->builder, word, shift, "");
  word = LLVMBuildTrunc(e->builder, word, emit_int_type(e, o->value->bits), "");
  LLVMSetAlignment(LLVMBuildStore(e->builder, word, pointer), (unsigned)o->element);
  emit_close_guard(e, next);
}

/* The lanes of a group take a vector's elements in so many turns; this lane's in one of them: its bytes from
 * the vector's begin, i32, past the vector where there are more lanes than elements. */
static int element_turns(const overhang *o) {
  return bits_max(o->bytes / o->element >> o->group.lanes, 1);
}

static LLVMValueRef element_of_turn(const overhang *o, int turn) {
  const emitter *e = o->e;
  LLVMValueRef number = add(e, o->piece, emit_i32(e, turn * o->pieces));
  return LLVMBuildMul(e->builder, number, emit_i32(e, o->element), "");
}

/* The first `length` (i32) bytes of a vector, to `pointer` on. */
static void store_begin_of(const overhang *o, LLVMValueRef *words, LLVMValueRef length,
                           LLVMValueRef pointer) {
  const emitter *e = o->e;
  for (int turn = 0; turn < element_turns(o); turn++) {
    LLVMValueRef at = element_of_turn(o, turn);
    store_element(o, words, at, is_less(e, at, length), move_pointer(e, pointer, at));
  }
}

/* Both ends of a whole group at once: the last lane's vector has the end first, the begin after it. */
static void store_ends(const overhang *o, LLVMValueRef *moved, LLVMValueRef start, LLVMValueRef shift) {
  const emitter *e = o->e;
  LLVMValueRef words[MAX_WORDS], last = emit_i32(e, o->pieces - 1);
  LLVMValueRef shifted = LLVMBuildICmp(e->builder, LLVMIntNE, shift, emit_i32(e, 0), "");
  LLVMValueRef at_end = subtract(e, emit_i32(e, o->bytes), shift);
  if (o->pieces > 1) shuffle_words(o, moved, lane_of_piece(o, last), words);
  else for (int k = 0; k < o->n; k++) words[k] = moved[k];
  for (int turn = 0; turn < element_turns(o); turn++) {
    LLVMValueRef at = element_of_turn(o, turn);
    LLVMValueRef there = is_less(e, at, emit_i32(e, o->bytes));
    LLVMValueRef far = choose(e, is_less(e, at, at_end), emit_i32(e, o->reach - o->bytes),
                              emit_i32(e, -o->bytes));
    LLVMValueRef pointer = move_pointer(e, start, add(e, add(e, shift, at), far));
    store_element(o, words, at, emit_and(e, there, shifted), pointer);
  }
}

/* The ends of a group of which `total` (i32) bytes are inside the bounds. */
static void store_masked_ends(const overhang *o, LLVMValueRef *own, LLVMValueRef *moved,
                              LLVMValueRef start, LLVMValueRef shift, LLVMValueRef total) {
  const emitter *e = o->e;
  LLVMValueRef words[MAX_WORDS], zero = emit_i32(e, 0), size = emit_i32(e, bits_log2(o->bytes));
  LLVMValueRef rest = larger(e, subtract(e, total, shift), zero);
  LLVMValueRef whole = LLVMBuildLShr(e->builder, rest, size, "");
  LLVMValueRef stored = LLVMBuildShl(e->builder, whole, size, "");
  LLVMValueRef last = smaller(e, whole, emit_i32(e, o->pieces - 1));
  shuffle_words(o, moved, lane_of_piece(o, last), words);
  store_begin_of(o, words, subtract(e, rest, stored), move_pointer(e, start, add(e, shift, stored)));
  if (!may_shift(o)) return;
  shuffle_words(o, own, lane_of_piece(o, zero), words);
  store_begin_of(o, words, smaller(e, shift, total), start);
}

static void store_piece(overhang *o, uint64_t tile, LLVMValueRef *own) {
  emitter *e = o->e;
  LLVMValueRef next[MAX_WORDS], moved[MAX_WORDS], zero = emit_i32(e, 0);
  LLVMValueRef at = emit_pointer(e, &o->place, tile), shift = misalignment(o, at, true);
  LLVMValueRef size = emit_i32(e, o->bytes), before = LLVMBuildMul(e->builder, o->piece, size, "");
  LLVMValueRef start = move_pointer(e, at, LLVMBuildNeg(e->builder, before, ""));
  LLVMValueRef total = emit_i32(e, o->reach);
  if (o->step->masked) {
    total = add(e, valid_bytes(o, tile), before);
    total = larger(e, smaller(e, total, emit_i32(e, o->reach)), zero);
  }
  for (int k = 0; k < o->n; k++) moved[k] = own[k];
  if (may_shift(o)) {
    words_of_next(o, own, next);
    realign(o, own, next, shift, moved);
  }
  LLVMValueRef end = add(e, add(e, before, shift), size);
  LLVMValueRef whole = LLVMBuildICmp(e->builder, LLVMIntSLE, end, total, "");
  store_vector(o, move_pointer(e, at, shift), whole, moved);
  if (o->step->masked) store_masked_ends(o, own, moved, start, shift, total);
  else store_ends(o, moved, start, shift);
}

/* ---- steps ---- */

/* Register index of word k of the piece that begins at register `first`. */
static uint64_t word_register(const overhang *o, uint64_t first, int k) {
  for (int j = o->value->word; j < o->step->vector; j++)
    if (k >> (j - o->value->word) & 1) first |= 1ull << o->position[j];
  return first >> o->value->word;
}

static void begin(emitter *e, const plan_step *step, int number, overhang *o) {
  const plan_value *value = &e->kernel->value[number];
  *o = (overhang){.e = e, .step = step, .value = value, .words = e->value[number]};
  emit_place_tensor(e, value, step->tensor, &o->place);
  bool grouped = plan_group_of(e->kernel, step->tensor, value, step->vector, &o->group);
  bool found = plan_access_positions(value, &o->place.map, PLAN_REGISTER, step->vector, o->position);
  assert(grouped && found);
  (void)grouped;
  (void)found;
  o->element = value->bits / 8;
  o->bytes = plan_access_bytes(value->bits, step->vector);
  o->n = o->bytes / 4;
  o->aligned = bits_log2(o->bytes) - step->misaligned;
  o->pieces = 1 << o->group.lanes;
  o->reach = o->bytes << o->group.lanes;
  o->piece = LLVMBuildLShr(e->builder, e->lane, emit_i32(e, o->group.first_lane), "");
  o->piece = LLVMBuildAnd(e->builder, o->piece, emit_i32(e, o->pieces - 1), "");
}

void emit_overhang_step(emitter *e, const plan_step *step) {
  bool load = step->kind == PLAN_LOAD;
  overhang o;
  begin(e, step, load ? step->out : step->in, &o);
  if (!load) o.first = emit_is_first_copy(e, o.value);
  uint64_t inner = 0;
  for (int j = 0; j < step->vector; j++) inner |= 1ull << o.position[j];
  for (uint64_t index = 0; index < 1ull << plan_value_bits(o.value, PLAN_REGISTER); index++) {
    LLVMValueRef words[MAX_WORDS];
    uint64_t tile = f2_apply(plan_value_columns(o.value, PLAN_REGISTER), index);
    if (index & inner) continue;
    for (int k = 0; k < o.n && !load; k++) words[k] = o.words[word_register(&o, index, k)];
    if (load) load_piece(&o, tile, words);
    else store_piece(&o, tile, words);
    for (int k = 0; k < o.n && load; k++) o.words[word_register(&o, index, k)] = words[k];
  }
}

/* ---- blocks ---- */

/* The parts of a mixed sum that tile bits cannot move, and can. */
static void add_reach(emitter *e, LLVMValueRef fixed, uint64_t touched, const plan_number *stride,
                      LLVMValueRef *low, LLVMValueRef *high) {
  LLVMValueRef least = LLVMBuildAnd(e->builder, fixed, emit_i64(e, (int64_t)~touched), "");
  LLVMValueRef most = LLVMBuildOr(e->builder, fixed, emit_i64(e, (int64_t)touched), "");
  if (stride) {
    LLVMValueRef number = emit_number(e, stride);
    least = LLVMBuildMul(e->builder, least, number, "");
    most = LLVMBuildMul(e->builder, most, number, "");
    LLVMValueRef down = is_less(e, number, emit_i64(e, 0)), first = least;
    least = choose(e, down, most, least);
    most = choose(e, down, first, most);
  }
  *low = add(e, *low, least);
  *high = add(e, *high, most);
}

/* Columns grid -> what `columns` makes of space bits. */
static LLVMValueRef of_grid(emitter *e, const uint64_t *columns, int shift, uint64_t mask) {
  const llrt_layout *space = &e->kernel->space;
  uint64_t made[LLRT_MAX_BITS] = {0};
  for (int b = 0; b < space->in[1].bits; b++) {
    uint64_t x = space->column[space->in[0].bits + b];
    made[b] = (columns ? f2_apply(columns, x) : x) >> shift & mask;
  }
  return emit_linear(e, e->grid, made, space->in[1].bits);
}

LLVMValueRef emit_block_within(emitter *e) {
  const plan_kernel *kernel = e->kernel;
  const plan_memory *memory = &kernel->memory;
  if (!memory->guards) return NULL;
  LLVMValueRef low = emit_i64(e, kernel->origin[0]), high = low;
  add_reach(e, of_grid(e, kernel->column[0], 0, ~0ull), plan_touched_columns(kernel, 0), NULL, &low,
            &high);
  for (int i = 0; i < kernel->n_digits; i++) {
    const plan_digit *digit = &kernel->digit[i];
    LLVMValueRef position = e->upper[i];
    uint64_t touched = 0;
    if (digit->side[0].kind == PLAN_STRIDE) {
      int shift = llrt_layout_out_shift(&kernel->space, i);
      LLVMValueRef fixed = of_grid(e, NULL, shift, bits_mask(digit->bits));
      position = LLVMBuildShl(e->builder, position, emit_i64(e, digit->bits), "");
      position = LLVMBuildOr(e->builder, position, fixed, "");
      touched = plan_touched_positions(kernel, i);
    } else if (!digit->rest) {
      continue;
    }
    add_reach(e, position, touched, &digit->side[0].stride, &low, &high);
  }
  int64_t bytes = kernel->tensor_bits[0] / 8, vector = (int64_t)1 << memory->vector;
  LLVMValueRef size = emit_i64(e, bytes), mask = emit_i64(e, -vector);
  low = add(e, e->args[0], LLVMBuildMul(e->builder, low, size, ""));
  high = LLVMBuildMul(e->builder, add(e, high, emit_i64(e, 1)), size, "");
  high = add(e, add(e, e->args[0], high), emit_i64(e, vector - 1));
  low = LLVMBuildAnd(e->builder, low, mask, "");
  high = LLVMBuildAnd(e->builder, high, mask, "");
  LLVMValueRef begins = LLVMBuildICmp(e->builder, LLVMIntUGE, low, emit_number(e, &memory->begin), "");
  LLVMValueRef ends = LLVMBuildICmp(e->builder, LLVMIntULE, high, emit_number(e, &memory->end), "");
  return LLVMBuildAnd(e->builder, begins, ends, "");
}
