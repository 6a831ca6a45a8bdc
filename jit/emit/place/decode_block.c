/* Which block this is: its places and turns, by division of its index. Must agree with
 * jit/plan/facts/eval.c. */
#include "jit/emit/core/builder.h"
#include "jit/emit/place/address.h"
#include "jit/emit/place/place.h"

#include "base/bits.h"

/* How many positions a place has. */
static LLVMValueRef count_of(const emitter *e, const plan_place *place) {
  return emit_counts_experts(e, place) ? e->experts.tiles : emit_number(e, &place->count);
}

/* Takes place i of n, the fastest left, off *index; its position. */
static LLVMValueRef take_place(const emitter *e, const plan_place *places, int i, int n,
                               LLVMValueRef *index) {
  const plan_place *place = &places[i];
  LLVMValueRef position = *index;
  if (i + 1 == n) return position;
  if (place->digit < 0) {
    position = LLVMBuildAnd(e->builder, *index, emit_i64(e, (int64_t)bits_mask(place->bits)), "");
    *index = LLVMBuildLShr(e->builder, *index, emit_i64(e, place->bits), "");
    return position;
  }
  LLVMValueRef quotient = emit_counts_experts(e, place)
                              ? LLVMBuildUDiv(e->builder, *index, e->experts.tiles, "")
                              : emit_divide_place(e, *index, place);
  LLVMValueRef whole = LLVMBuildMul(e->builder, quotient, count_of(e, place), "");
  position = LLVMBuildSub(e->builder, *index, whole, "");
  *index = quotient;
  return position;
}

/* Positions of a band, i32; of tiles of experts no more than one has. */
static LLVMValueRef band_size(const emitter *e) {
  const plan_kernel *kernel = e->kernel;
  LLVMValueRef band = emit_i32(e, kernel->band);
  if (!emit_counts_experts(e, &kernel->place[1])) return band;
  LLVMValueRef own = LLVMBuildTrunc(e->builder, emit_number(e, &kernel->experts.band), e->i32, "");
  return emit_smaller(e, own, band);
}

/* The number that the block has where the first place is the fastest. Blocks are fewer than 2^31,
 * and so is what is multiplied here. */
static LLVMValueRef in_bands(emitter *e) {
  const plan_kernel *kernel = e->kernel;
  LLVMBuilderRef b = e->builder;
  LLVMValueRef block = LLVMBuildTrunc(b, e->block, e->i32, ""), args[2] = {band_size(e), NULL};
  LLVMValueRef first = LLVMBuildTrunc(b, count_of(e, &kernel->place[0]), e->i32, "");
  LLVMValueRef second = LLVMBuildTrunc(b, count_of(e, &kernel->place[1]), e->i32, "");
  LLVMValueRef plane = LLVMBuildUDiv(b, block, LLVMBuildMul(b, first, second, ""), "");
  LLVMValueRef start = LLVMBuildMul(b, LLVMBuildMul(b, plane, first, ""), second, "");
  LLVMValueRef at = LLVMBuildSub(b, block, start, "");
  args[1] = second;
  LLVMValueRef band = emit_intrinsic(e, "llvm.umin", &e->i32, 1, args, 2);
  LLVMValueRef begin =
      LLVMBuildMul(b, LLVMBuildUDiv(b, at, LLVMBuildMul(b, band, first, ""), ""), band, "");
  args[0] = band;
  args[1] = LLVMBuildSub(b, second, begin, "");
  LLVMValueRef rows = emit_intrinsic(e, "llvm.umin", &e->i32, 1, args, 2);
  LLVMValueRef inside = LLVMBuildSub(b, at, LLVMBuildMul(b, begin, first, ""), "");
  LLVMValueRef column = LLVMBuildUDiv(b, inside, rows, "");
  LLVMValueRef row = LLVMBuildSub(b, inside, LLVMBuildMul(b, column, rows, ""), "");
  row = LLVMBuildMul(b, LLVMBuildAdd(b, begin, row, ""), first, "");
  return LLVMBuildZExt(b, LLVMBuildAdd(b, LLVMBuildAdd(b, start, row, ""), column, ""), e->i64, "");
}

/* The same where bands are only for some pitches, which all blocks have in common. */
static LLVMValueRef in_bands_of_far_rows(emitter *e) {
  const plan_kernel *kernel = e->kernel;
  LLVMValueRef pitch = emit_number(e, &kernel->band_pitch),
               low = emit_i64(e, kernel->band_from - 1);
  LLVMValueRef far = LLVMBuildICmp(e->builder, LLVMIntEQ, LLVMBuildAnd(e->builder, pitch, low, ""),
                                   emit_i64(e, 0), "");
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
  LLVMBasicBlockRef next = emit_open_guard_of_warps(e, far);
  LLVMValueRef banded = in_bands(e), plain = e->block;
  LLVMBasicBlockRef body = LLVMGetInsertBlock(e->builder);
  emit_close_guard(e, next);
  LLVMValueRef phi = LLVMBuildPhi(e->builder, e->i64, "");
  LLVMAddIncoming(phi, &banded, &body, 1);
  LLVMAddIncoming(phi, &plain, &before, 1);
  return phi;
}

void emit_decode_block(emitter *e) {
  const plan_kernel *kernel = e->kernel;
  LLVMValueRef index = e->block;
  if (kernel->band > 0) index = kernel->band_from > 0 ? in_bands_of_far_rows(e) : in_bands(e);
  e->grid = emit_i64(e, 0);
  for (int i = 0; i < kernel->n_digits; i++) e->upper[i] = emit_i64(e, 0);
  for (int i = 0; i < kernel->n_places; i++) {
    const plan_place *place = &kernel->place[i];
    LLVMValueRef position = take_place(e, kernel->place, i, kernel->n_places, &index);
    if (place->digit >= 0) e->upper[place->digit] = position;
    else e->grid = position;
  }
  if (kernel->experts.used) emit_decode_expert(e);
}

void emit_block_turns(emitter *e, LLVMValueRef *begin, LLVMValueRef *end) {
  const plan_turns *walk = &e->kernel->walk;
  LLVMValueRef turns = emit_number(e, &walk->turns);
  *begin = emit_i64(e, 0);
  *end = turns;
  if (e->kernel->experts.used && !e->kernel->experts.shared) *end = emit_expert_turns(e);
  if (e->kernel->deal.used) {
    *begin = e->deal.from;
    *end = e->deal.to;
    return;
  }
  if (walk->split < 0) return;
  LLVMValueRef share = emit_number(e, &walk->share), args[2] = {turns, NULL};
  *begin = LLVMBuildMul(e->builder, e->upper[walk->split], share, "");
  args[1] = LLVMBuildAdd(e->builder, *begin, share, "");
  *end = emit_intrinsic(e, "llvm.smin", &e->i64, 1, args, 2);
}

void emit_decode_turn(emitter *e, LLVMValueRef turn) {
  const plan_turns *walk = &e->kernel->walk;
  LLVMValueRef index = turn;
  if (walk->down) {
    index = LLVMBuildSub(e->builder, emit_number(e, &walk->turns), turn, "");
    index = LLVMBuildSub(e->builder, index, emit_i64(e, 1), "");
  }
  for (int i = 0; i < walk->n_places; i++) {
    LLVMValueRef position = take_place(e, walk->place, i, walk->n_places, &index);
    if (walk->place[i].digit >= 0) {
      e->upper[walk->place[i].digit] = position;
    } else {
      position = LLVMBuildShl(e->builder, position, emit_i64(e, walk->grid_bits), "");
      e->grid = LLVMBuildOr(e->builder, e->grid, position, "");
    }
  }
}

void emit_flat_first(emitter *e) {
  LLVMValueRef index = emit_first_index(e);
  for (int i = 0; i < e->kernel->n_places; i++)
    e->first[i] = take_place(e, e->kernel->place, i, e->kernel->n_places, &index);
}
