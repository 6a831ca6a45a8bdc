/* Where experts' positions end. Ends are loaded; where each position has its expert's number
 * (plan_experts.sorted), they are searched for by halving.
 *
 * A GPU's warp that counts tiles looks for the ends of all its entries' last experts at once and
 * leaves them in a table in shared memory, behind that of tiles: so blocks of up to as many experts
 * as there are entries never search again, and of more between two of these ends alone. */
#include "jit/emit/place/emit_experts.h"

#include "jit/emit/core/builder.h"
#include "jit/emit/place/index.h"

#include "base/bits.h"

LLVMValueRef expert_tiles(emitter *e, LLVMValueRef n) {
  int64_t tile = e->kernel->experts.tile;
  n = emit_add(e, n, emit_i64(e, tile - 1));
  return LLVMBuildLShr(e->builder, n, emit_i64(e, bits_log2(tile)), "");
}

/* Value number i of the tensor of ends; i64. */
static LLVMValueRef load_value(emitter *e, LLVMValueRef i) {
  LLVMValueRef at = e->ops->global(e, e->args[e->kernel->experts.ends]);
  at = LLVMBuildGEP2(e->builder, e->i32, at, &i, 1, "");
  LLVMValueRef loaded = LLVMBuildLoad2(e->builder, e->i32, at, "");
  LLVMSetAlignment(loaded, 4);
  return LLVMBuildSExt(e->builder, loaded, e->i64, "");
}

static LLVMValueRef at_least_zero(emitter *e, LLVMValueRef x) {
  return emit_larger(e, x, emit_i64(e, 0));
}

/* ---- ends that are given ---- */

/* ends[i], taken into 0 .. limit. */
static LLVMValueRef load_end(emitter *e, LLVMValueRef i) {
  LLVMValueRef limit = emit_number(e, &e->kernel->experts.limit);
  return emit_smaller(e, at_least_zero(e, load_value(e, i)), limit);
}

static void load_positions(emitter *e, LLVMValueRef i, LLVMValueRef *first, LLVMValueRef *n) {
  LLVMValueRef zero = emit_i64(e, 0), before = emit_subtract(e, i, emit_i64(e, 1));
  LLVMValueRef is_first = LLVMBuildICmp(e->builder, LLVMIntEQ, i, zero, "");
  LLVMValueRef end = load_end(e, i);
  *first = emit_choose(e, is_first, zero, load_end(e, at_least_zero(e, before)));
  *n = at_least_zero(e, emit_subtract(e, end, *first));
}

/* ---- ends that are searched for ---- */

#define MOST_SEARCHES PLAN_EXPERT_ENTRIES

/* Searches that go on at the same time: of each, behind how many of the positions low .. high - 1
 * (i64) the first one is whose expert's number is above `expert`. */
typedef struct searches {
  int n;
  LLVMValueRef expert[MOST_SEARCHES], low[MOST_SEARCHES], high[MOST_SEARCHES];
} searches;

/* One step of search k: values past its end are not looked at. */
static void halve(emitter *e, searches *s, int k, LLVMValueRef last) {
  LLVMValueRef one = emit_i64(e, 1), open = emit_less(e, s->low[k], s->high[k]);
  LLVMValueRef sum = emit_add(e, s->low[k], s->high[k]);
  LLVMValueRef middle = LLVMBuildLShr(e->builder, sum, one, "");
  LLVMValueRef value = load_value(e, emit_smaller(e, middle, last));
  LLVMValueRef behind = emit_less(e, s->expert[k], value); /* the middle is another expert's */
  LLVMValueRef up = LLVMBuildAnd(e->builder, open, LLVMBuildNot(e->builder, behind, ""), "");
  LLVMValueRef down = LLVMBuildAnd(e->builder, open, behind, "");
  s->low[k] = emit_choose(e, up, emit_add(e, middle, one), s->low[k]);
  s->high[k] = emit_choose(e, down, middle, s->high[k]);
}

/* Leaves what was found in s->low. span: no search has more positions; all lanes have the same. */
static void search(emitter *e, searches *s, LLVMValueRef span) {
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder), head = emit_new_block(e, "search");
  LLVMBasicBlockRef body = emit_new_block(e, "halve"), done = emit_new_block(e, "ended");
  LLVMValueRef one = emit_i64(e, 1), low[MOST_SEARCHES], high[MOST_SEARCHES];
  LLVMValueRef last = emit_subtract(e, emit_number(e, &e->kernel->experts.limit), one);
  LLVMBuildBr(e->builder, head);
  LLVMPositionBuilderAtEnd(e->builder, head);
  LLVMValueRef left = LLVMBuildPhi(e->builder, e->i64, "");
  LLVMAddIncoming(left, &span, &before, 1);
  for (int k = 0; k < s->n; k++) {
    low[k] = LLVMBuildPhi(e->builder, e->i64, "");
    high[k] = LLVMBuildPhi(e->builder, e->i64, "");
    LLVMAddIncoming(low[k], &s->low[k], &before, 1);
    LLVMAddIncoming(high[k], &s->high[k], &before, 1);
    s->low[k] = low[k];
    s->high[k] = high[k];
  }
  LLVMBuildCondBr(e->builder, emit_less(e, emit_i64(e, 0), left), body, done);
  LLVMPositionBuilderAtEnd(e->builder, body);
  for (int k = 0; k < s->n; k++) halve(e, s, k, last);
  LLVMValueRef next = LLVMBuildLShr(e->builder, left, one, "");
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->builder);
  LLVMAddIncoming(left, &next, &latch, 1);
  for (int k = 0; k < s->n; k++) {
    LLVMAddIncoming(low[k], &s->low[k], &latch, 1);
    LLVMAddIncoming(high[k], &s->high[k], &latch, 1);
    s->low[k] = low[k];
  }
  LLVMBuildBr(e->builder, head);
  LLVMPositionBuilderAtEnd(e->builder, done);
}

static LLVMValueRef is_equal(emitter *e, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildICmp(e->builder, LLVMIntEQ, a, b, "");
}

/* Of the entry that the block's expert is in, or of all. */
static void search_positions(emitter *e, LLVMValueRef i, LLVMValueRef *first, LLVMValueRef *n) {
  const emit_expert_entry *in = &e->experts.entry;
  LLVMValueRef zero = emit_i64(e, 0), low = in->used ? in->low : zero;
  LLVMValueRef high = in->used ? in->high : emit_number(e, &e->kernel->experts.limit);
  LLVMValueRef is_front = is_equal(e, i, in->used ? in->front : zero);
  LLVMValueRef before = emit_subtract(e, i, emit_i64(e, 1));
  searches s = {.n = 2, .expert = {before, i}, .low = {low, low}, .high = {high, high}};
  s.high[0] = emit_choose(e, is_front, low, high);
  if (in->used) s.low[1] = emit_choose(e, is_equal(e, i, in->back), high, low);
  LLVMValueRef span = at_least_zero(e, emit_subtract(e, s.high[0], s.low[0]));
  search(e, &s, emit_larger(e, span, emit_subtract(e, s.high[1], s.low[1])));
  *first = s.low[0];
  *n = at_least_zero(e, emit_subtract(e, s.low[1], s.low[0]));
}

void expert_positions(emitter *e, LLVMValueRef i, LLVMValueRef *first, LLVMValueRef *n) {
  if (e->kernel->experts.sorted) search_positions(e, i, first, n);
  else load_positions(e, i, first, n);
}

/* ---- the table of ends ---- */

static LLVMValueRef end_pointer(emitter *e, LLVMValueRef entry) {
  const int64_t entries = (int64_t)PLAN_EXPERT_ENTRIES << e->kernel->lane_bits;
  LLVMValueRef at = emit_add(e, entry, emit_i64(e, entries));
  return LLVMBuildGEP2(e->builder, e->i32, e->experts.table, &at, 1, "");
}

static LLVMValueRef load_entry_end(emitter *e, LLVMValueRef entry) {
  LLVMValueRef loaded = LLVMBuildLoad2(e->builder, e->i32, end_pointer(e, entry), "");
  return LLVMBuildZExt(e->builder, loaded, e->i64, "");
}

void expert_enter(emitter *e, LLVMValueRef entry, LLVMValueRef front, LLVMValueRef back) {
  LLVMValueRef zero = emit_i64(e, 0), before = emit_subtract(e, entry, emit_i64(e, 1));
  LLVMValueRef low = load_entry_end(e, at_least_zero(e, before));
  e->experts.entry = (emit_expert_entry){.used = true,
                                         .low = emit_choose(e, is_equal(e, entry, zero), zero, low),
                                         .high = load_entry_end(e, entry),
                                         .front = front,
                                         .back = back};
}

/* What the lane before this one has; in the first one 0. */
static LLVMValueRef of_lane_before(emitter *e, LLVMValueRef x) {
  LLVMValueRef zero = emit_i32(e, 0);
  LLVMValueRef is_first = is_equal(e, e->lane, zero);
  LLVMValueRef before = LLVMBuildSub(e->builder, e->lane, emit_i32(e, 1), "");
  LLVMValueRef from = LLVMBuildSelect(e->builder, is_first, zero, before, "");
  LLVMValueRef other = e->ops->shuffle(e, LLVMBuildTrunc(e->builder, x, e->i32, ""), from);
  other = LLVMBuildSelect(e->builder, is_first, zero, other, "");
  return LLVMBuildZExt(e->builder, other, e->i64, "");
}

/* Tiles of the experts of each entry, whose ends are low .. high. */
static void count_tiles(emitter *e, LLVMValueRef entry, LLVMValueRef each,
                        const LLVMValueRef low[PLAN_EXPERT_ENTRIES],
                        const LLVMValueRef high[PLAN_EXPERT_ENTRIES],
                        LLVMValueRef tiles[PLAN_EXPERT_ENTRIES]) {
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder), head = emit_new_block(e, "count");
  LLVMBasicBlockRef body = emit_new_block(e, "expert"), done = emit_new_block(e, "counted");
  LLVMValueRef zero = emit_i64(e, 0), one = emit_i64(e, 1);
  LLVMValueRef count = emit_number(e, &e->kernel->experts.count), end[PLAN_EXPERT_ENTRIES];
  LLVMValueRef span =
      emit_choose(e, is_equal(e, each, one), zero, emit_number(e, &e->kernel->experts.limit));
  searches s = {.n = PLAN_EXPERT_ENTRIES};
  LLVMBuildBr(e->builder, head);
  LLVMPositionBuilderAtEnd(e->builder, head);
  LLVMValueRef at = LLVMBuildPhi(e->builder, e->i64, "");
  LLVMAddIncoming(at, &zero, &before, 1);
  for (int j = 0; j < PLAN_EXPERT_ENTRIES; j++) {
    tiles[j] = LLVMBuildPhi(e->builder, e->i64, "");
    end[j] = LLVMBuildPhi(e->builder, e->i64, "");
    LLVMAddIncoming(tiles[j], &zero, &before, 1);
    LLVMAddIncoming(end[j], (LLVMValueRef *)&low[j], &before, 1);
  }
  LLVMBuildCondBr(e->builder, emit_less(e, at, each), body, done);
  LLVMPositionBuilderAtEnd(e->builder, body);
  LLVMValueRef after = emit_add(e, at, one), is_last = is_equal(e, after, each);
  for (int j = 0; j < PLAN_EXPERT_ENTRIES; j++) {
    LLVMValueRef i = LLVMBuildMul(e->builder, emit_add(e, entry, emit_i64(e, j)), each, "");
    s.expert[j] = emit_add(e, i, at);
    LLVMValueRef past =
        LLVMBuildNot(e->builder, emit_less(e, emit_add(e, s.expert[j], one), count), "");
    s.low[j] = emit_choose(e, LLVMBuildOr(e->builder, is_last, past, ""), high[j], low[j]);
    s.high[j] = high[j];
  }
  search(e, &s, span);
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->builder);
  for (int j = 0; j < PLAN_EXPERT_ENTRIES; j++) {
    LLVMValueRef own = expert_tiles(e, at_least_zero(e, emit_subtract(e, s.low[j], end[j])));
    own = emit_choose(e, emit_less(e, s.expert[j], count), own, zero);
    own = emit_add(e, tiles[j], own);
    LLVMAddIncoming(tiles[j], &own, &latch, 1);
    LLVMAddIncoming(end[j], &s.low[j], &latch, 1);
  }
  LLVMAddIncoming(at, &after, &latch, 1);
  LLVMBuildBr(e->builder, head);
  LLVMPositionBuilderAtEnd(e->builder, done);
}

void expert_count_sorted(emitter *e, LLVMValueRef entry, LLVMValueRef each,
                         LLVMValueRef tiles[PLAN_EXPERT_ENTRIES]) {
  LLVMValueRef limit = emit_number(e, &e->kernel->experts.limit), low[PLAN_EXPERT_ENTRIES];
  LLVMValueRef count = emit_number(e, &e->kernel->experts.count);
  searches s = {.n = PLAN_EXPERT_ENTRIES};
  for (int j = 0; j < PLAN_EXPERT_ENTRIES; j++) {
    LLVMValueRef behind =
        LLVMBuildMul(e->builder, emit_add(e, entry, emit_i64(e, j + 1)), each, "");
    s.expert[j] = emit_subtract(e, emit_smaller(e, behind, count), emit_i64(e, 1));
    s.low[j] = emit_i64(e, 0);
    s.high[j] = limit;
  }
  search(e, &s, limit);
  low[0] = of_lane_before(e, s.low[PLAN_EXPERT_ENTRIES - 1]);
  for (int j = 0; j < PLAN_EXPERT_ENTRIES; j++) {
    LLVMValueRef end = LLVMBuildTrunc(e->builder, s.low[j], e->i32, "");
    LLVMBuildStore(e->builder, end, end_pointer(e, emit_add(e, entry, emit_i64(e, j))));
    if (j > 0) low[j] = s.low[j - 1];
  }
  count_tiles(e, entry, each, low, s.low, tiles);
}
