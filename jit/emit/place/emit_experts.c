/* Grouped products (plan_experts): which expert's tile a block has, found in the ends that are in
 * device memory (emit_expert_ends.c).
 *
 * A GPU's block begins with a table in shared memory: of each of so many runs of experts, as many
 * as a warp's lanes have entries, the tiles of that run and all before it. A tile's number is found
 * there by halving; in the run, which is one expert where there are no more than entries, by
 * looking at one after the other. The host, whose ends are in its cache, looks at all. */
#include "jit/emit/place/emit_experts.h"

#include "jit/emit/core/builder.h"
#include "jit/emit/place/address.h"
#include "jit/emit/place/index.h"

#include "base/bits.h"

/* ---- one expert ---- */

/* Tiles of expert i; 0 from the last expert on. */
static LLVMValueRef tiles_at(emitter *e, LLVMValueRef i) {
  LLVMValueRef count = emit_number(e, &e->kernel->experts.count), first, n;
  LLVMValueRef last = emit_subtract(e, count, emit_i64(e, 1));
  expert_positions(e, emit_smaller(e, i, last), &first, &n);
  return emit_choose(e, emit_less(e, i, count), expert_tiles(e, n), emit_i64(e, 0));
}

/* ---- a loop over experts ---- */

typedef struct expert_loop {
  LLVMBasicBlockRef head, done;
  LLVMValueRef expert, tiles; /* phis, i64: this one, and the tiles of those before it */
} expert_loop;

static void open_loop(emitter *e, LLVMValueRef expert, LLVMValueRef tiles, expert_loop *loop) {
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
  *loop = (expert_loop){.head = emit_new_block(e, "expert"), .done = emit_new_block(e, "found")};
  LLVMBuildBr(e->builder, loop->head);
  LLVMPositionBuilderAtEnd(e->builder, loop->head);
  loop->expert = LLVMBuildPhi(e->builder, e->i64, "");
  loop->tiles = LLVMBuildPhi(e->builder, e->i64, "");
  LLVMAddIncoming(loop->expert, &expert, &before, 1);
  LLVMAddIncoming(loop->tiles, &tiles, &before, 1);
}

/* Ends where `ends` holds; else the next expert's turn comes. */
static void close_loop(emitter *e, const expert_loop *loop, LLVMValueRef own, LLVMValueRef ends) {
  LLVMValueRef next = emit_add(e, loop->expert, emit_i64(e, 1));
  LLVMValueRef tiles = emit_add(e, loop->tiles, own);
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->builder);
  LLVMAddIncoming(loop->expert, &next, &latch, 1);
  LLVMAddIncoming(loop->tiles, &tiles, &latch, 1);
  LLVMBuildCondBr(e->builder, ends, loop->done, loop->head);
  LLVMPositionBuilderAtEnd(e->builder, loop->done);
}

/* The expert of a tile, among those from `expert` to `last`, before which there are `tiles`; what
 * is past all is the last one's. *number: of the tile among the expert's; the positions of that one
 * are the block's. */
static LLVMValueRef walk_to(emitter *e, LLVMValueRef expert, LLVMValueRef last, LLVMValueRef tiles,
                            LLVMValueRef tile, LLVMValueRef *number) {
  expert_loop loop;
  LLVMValueRef *n = &e->extent[e->kernel->experts.axis];
  open_loop(e, expert, tiles, &loop);
  expert_positions(e, loop.expert, &e->experts.first, n);
  LLVMValueRef own = expert_tiles(e, *n);
  *number = emit_subtract(e, tile, loop.tiles);
  LLVMValueRef here = emit_less(e, *number, own);
  LLVMValueRef ends = LLVMBuildOr(
      e->builder, here, LLVMBuildNot(e->builder, emit_less(e, loop.expert, last), ""), "");
  close_loop(e, &loop, own, ends);
  return loop.expert;
}

/* ---- all tiles ---- */

static LLVMValueRef host_tiles(emitter *e) {
  expert_loop loop;
  LLVMValueRef last = emit_subtract(e, emit_number(e, &e->kernel->experts.count), emit_i64(e, 1));
  open_loop(e, emit_i64(e, 0), emit_i64(e, 0), &loop);
  LLVMValueRef own = tiles_at(e, loop.expert);
  LLVMValueRef ends = LLVMBuildNot(e->builder, emit_less(e, loop.expert, last), "");
  LLVMValueRef all = emit_add(e, loop.tiles, own);
  close_loop(e, &loop, own, ends);
  return all;
}

static int entry_bits(const emitter *e) {
  return e->kernel->lane_bits + bits_log2(PLAN_EXPERT_ENTRIES);
}

/* Experts of an entry, i64. */
static LLVMValueRef experts_of_entry(emitter *e) {
  int bits = entry_bits(e);
  LLVMValueRef up = emit_i64(e, ((int64_t)1 << bits) - 1);
  LLVMValueRef count = emit_add(e, emit_number(e, &e->kernel->experts.count), up);
  return LLVMBuildLShr(e->builder, count, emit_i64(e, bits), "");
}

static LLVMValueRef entry_pointer(emitter *e, LLVMValueRef entry) {
  return LLVMBuildGEP2(e->builder, e->i32, e->experts.table, &entry, 1, "");
}

/* Adds the tiles of the experts behind the first one of each of the lane's entries. */
static void add_others(emitter *e, LLVMValueRef entry, LLVMValueRef each,
                       LLVMValueRef tiles[PLAN_EXPERT_ENTRIES]) {
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder), head = emit_new_block(e, "others");
  LLVMBasicBlockRef body = emit_new_block(e, "other"), done = emit_new_block(e, "summed");
  LLVMValueRef one = emit_i64(e, 1), sum[PLAN_EXPERT_ENTRIES];
  LLVMBuildBr(e->builder, head);
  LLVMPositionBuilderAtEnd(e->builder, head);
  LLVMValueRef at = LLVMBuildPhi(e->builder, e->i64, "");
  LLVMAddIncoming(at, &one, &before, 1);
  for (int j = 0; j < PLAN_EXPERT_ENTRIES; j++) {
    sum[j] = LLVMBuildPhi(e->builder, e->i64, "");
    LLVMAddIncoming(sum[j], &tiles[j], &before, 1);
  }
  LLVMBuildCondBr(e->builder, emit_less(e, at, each), body, done);
  LLVMPositionBuilderAtEnd(e->builder, body);
  for (int j = 0; j < PLAN_EXPERT_ENTRIES; j++) {
    LLVMValueRef first = LLVMBuildMul(e->builder, emit_add(e, entry, emit_i64(e, j)), each, "");
    tiles[j] = emit_add(e, sum[j], tiles_at(e, emit_add(e, first, at)));
  }
  LLVMValueRef next = emit_add(e, at, one);
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->builder);
  LLVMAddIncoming(at, &next, &latch, 1);
  for (int j = 0; j < PLAN_EXPERT_ENTRIES; j++) {
    LLVMAddIncoming(sum[j], &tiles[j], &latch, 1);
    tiles[j] = sum[j];
  }
  LLVMBuildBr(e->builder, head);
  LLVMPositionBuilderAtEnd(e->builder, done);
}

/* Tiles of each of the lane's entries, whose experts' ends are given. */
static void count_given(emitter *e, LLVMValueRef entry, LLVMValueRef each,
                        LLVMValueRef tiles[PLAN_EXPERT_ENTRIES]) {
  for (int j = 0; j < PLAN_EXPERT_ENTRIES; j++) {
    LLVMValueRef at = emit_add(e, entry, emit_i64(e, j));
    tiles[j] = tiles_at(e, LLVMBuildMul(e->builder, at, each, ""));
  }
  add_others(e, entry, each, tiles);
}

/* The sum of x, i32, of this lane and those before it. */
static LLVMValueRef scan_lanes(emitter *e, LLVMValueRef x) {
  for (int k = 0; k < e->kernel->lane_bits; k++) {
    LLVMValueRef distance = emit_i32(e, 1 << k);
    LLVMValueRef from = LLVMBuildSub(e->builder, e->lane, distance, "");
    LLVMValueRef there = LLVMBuildICmp(e->builder, LLVMIntSGE, from, emit_i32(e, 0), "");
    from = LLVMBuildSelect(e->builder, there, from, e->lane, "");
    LLVMValueRef other = e->ops->shuffle(e, x, from);
    other = LLVMBuildSelect(e->builder, there, other, emit_i32(e, 0), "");
    x = LLVMBuildAdd(e->builder, x, other, "");
  }
  return x;
}

/* By the lanes of one warp. */
static void fill_table(emitter *e) {
  LLVMValueRef each = experts_of_entry(e), tiles[PLAN_EXPERT_ENTRIES];
  LLVMValueRef entry = LLVMBuildZExt(e->builder, e->lane, e->i64, "");
  entry = LLVMBuildMul(e->builder, entry, emit_i64(e, PLAN_EXPERT_ENTRIES), "");
  if (e->kernel->experts.sorted) expert_count_sorted(e, entry, each, tiles);
  else count_given(e, entry, each, tiles);
  LLVMValueRef own = emit_i32(e, 0), until[PLAN_EXPERT_ENTRIES];
  for (int j = 0; j < PLAN_EXPERT_ENTRIES; j++)
    until[j] = own =
        LLVMBuildAdd(e->builder, own, LLVMBuildTrunc(e->builder, tiles[j], e->i32, ""), "");
  LLVMValueRef before = LLVMBuildSub(e->builder, scan_lanes(e, own), own, "");
  for (int j = 0; j < PLAN_EXPERT_ENTRIES; j++)
    LLVMBuildStore(e->builder, LLVMBuildAdd(e->builder, before, until[j], ""),
                   entry_pointer(e, emit_add(e, entry, emit_i64(e, j))));
}

static LLVMValueRef load_entry(emitter *e, LLVMValueRef entry) {
  LLVMValueRef loaded = LLVMBuildLoad2(e->builder, e->i32, entry_pointer(e, entry), "");
  return LLVMBuildZExt(e->builder, loaded, e->i64, "");
}

void emit_begin_experts(emitter *e) {
  const plan_experts *experts = &e->kernel->experts;
  if (!experts->shared) return;
  LLVMValueRef all;
  if (emit_is_host(e)) {
    all = host_tiles(e);
  } else {
    LLVMValueRef offset = emit_i64(e, experts->table);
    e->experts.table = LLVMBuildGEP2(e->builder, e->i8, e->shared_start, &offset, 1, "");
    LLVMValueRef first = LLVMBuildICmp(e->builder, LLVMIntEQ, e->block_warp, emit_i32(e, 0), "");
    LLVMBasicBlockRef next = emit_open_guard_of_warps(e, first);
    fill_table(e);
    emit_close_guard(e, next);
    e->ops->barrier(e, true);
    all = load_entry(e, emit_i64(e, ((int64_t)1 << entry_bits(e)) - 1));
  }
  /* Where ends decrease there would be more than any grid has. */
  e->experts.tiles = emit_smaller(e, all, emit_number(e, &experts->most));
}

LLVMValueRef emit_expert_positions(emitter *e) {
  LLVMValueRef positions = e->experts.tiles;
  for (int i = 0; i < e->kernel->n_places; i++) {
    const plan_place *place = &e->kernel->place[i];
    if (emit_counts_experts(e, place)) continue;
    LLVMValueRef count =
        place->digit >= 0 ? emit_number(e, &place->count) : emit_i64(e, (int64_t)1 << place->bits);
    positions = LLVMBuildMul(e->builder, positions, count, "");
  }
  return positions;
}

/* ---- a block's expert ---- */

/* The entry in which a tile is: how many end before it. */
static LLVMValueRef find_entry(emitter *e, LLVMValueRef tile) {
  LLVMValueRef entry = emit_i64(e, 0);
  for (int k = entry_bits(e) - 1; k >= 0; k--) {
    LLVMValueRef end = load_entry(e, emit_add(e, entry, emit_i64(e, ((int64_t)1 << k) - 1)));
    LLVMValueRef behind = LLVMBuildNot(e->builder, emit_less(e, tile, end), "");
    entry = emit_choose(e, behind, emit_add(e, entry, emit_i64(e, (int64_t)1 << k)), entry);
  }
  return entry;
}

static LLVMValueRef find_expert(emitter *e, LLVMValueRef tile, LLVMValueRef *number) {
  LLVMValueRef zero = emit_i64(e, 0), one = emit_i64(e, 1);
  LLVMValueRef last = emit_subtract(e, emit_number(e, &e->kernel->experts.count), one);
  if (emit_is_host(e)) return walk_to(e, zero, last, zero, tile, number);
  LLVMValueRef entry = find_entry(e, tile), each = experts_of_entry(e);
  LLVMValueRef before = load_entry(e, emit_larger(e, emit_subtract(e, entry, one), zero));
  before = emit_choose(e, LLVMBuildICmp(e->builder, LLVMIntEQ, entry, zero, ""), zero, before);
  LLVMValueRef first = LLVMBuildMul(e->builder, entry, each, "");
  LLVMValueRef until = emit_subtract(e, emit_add(e, first, each), one);
  LLVMValueRef front = emit_smaller(e, first, last), back = emit_smaller(e, until, last);
  if (e->kernel->experts.sorted) expert_enter(e, entry, front, back);
  return walk_to(e, front, back, before, tile, number);
}

void emit_decode_expert(emitter *e) {
  const plan_experts *experts = &e->kernel->experts;
  if (experts->shared)
    e->upper[experts->of] = find_expert(e, e->upper[experts->digit], &e->upper[experts->digit]);
  else expert_positions(e, e->upper[experts->of], &e->experts.first, &e->extent[experts->axis]);
}

LLVMValueRef emit_expert_turns(emitter *e) {
  return expert_tiles(e, e->extent[e->kernel->experts.axis]);
}

LLVMValueRef emit_expert_has_turn(emitter *e, LLVMValueRef turn) {
  LLVMValueRef end = emit_add(e, turn, emit_i64(e, 1));
  end = LLVMBuildMul(e->builder, end, emit_i64(e, e->kernel->experts.tile), "");
  return emit_less(e, end, emit_add(e, e->extent[e->kernel->experts.axis], emit_i64(e, 1)));
}

LLVMValueRef emit_expert_offset(const emitter *e, int tensor) {
  const plan_experts *experts = &e->kernel->experts;
  if (!experts->used || !(experts->tensors >> tensor & 1)) return NULL;
  return LLVMBuildMul(e->builder, e->experts.first, emit_number(e, &experts->stride[tensor]), "");
}
