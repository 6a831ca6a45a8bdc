/* Which block this is: its places and turns, by division of its index. Must agree with
 * jit/plan/facts/eval.c. */
#include "jit/emit/core/builder.h"
#include "jit/emit/place/address.h"
#include "jit/emit/place/place.h"

#include "base/bits.h"
#include "jit/plan/facts/box.h"

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

/* Where position `at` of a plane of first x second ones is, which is cut into bands of `band` along
 * the second place. All i32: blocks are fewer than 2^31, and so is what is multiplied here. */
typedef struct band_place {
  LLVMValueRef first, second;
} band_place;

static band_place place_in_bands(emitter *e, LLVMValueRef at, LLVMValueRef first,
                                 LLVMValueRef second, LLVMValueRef band) {
  LLVMBuilderRef b = e->builder;
  LLVMValueRef begin =
      LLVMBuildMul(b, LLVMBuildUDiv(b, at, LLVMBuildMul(b, band, first, ""), ""), band, "");
  LLVMValueRef args[2] = {band, LLVMBuildSub(b, second, begin, "")};
  LLVMValueRef rows = emit_intrinsic(e, "llvm.umin", &e->i32, 1, args, 2);
  LLVMValueRef inside = LLVMBuildSub(b, at, LLVMBuildMul(b, begin, first, ""), "");
  LLVMValueRef column = LLVMBuildUDiv(b, inside, rows, "");
  LLVMValueRef row = LLVMBuildSub(b, inside, LLVMBuildMul(b, column, rows, ""), "");
  return (band_place){column, LLVMBuildAdd(b, begin, row, "")};
}

/* The same of the block's plane, where most planes are one band, for which a multiplication does:
 * a producer's first copy waits for this. */
static band_place place_in_plane(emitter *e, LLVMValueRef at, LLVMValueRef first,
                                 LLVMValueRef second) {
  const plan_kernel *kernel = e->kernel;
  LLVMBuilderRef b = e->builder;
  LLVMValueRef wide = LLVMBuildZExt(b, at, e->i64, ""), limit = emit_i32(e, kernel->band);
  LLVMValueRef column =
      LLVMBuildTrunc(b, emit_divide_place(e, wide, &kernel->place[1]), e->i32, "");
  LLVMValueRef row = LLVMBuildSub(b, at, LLVMBuildMul(b, column, second, ""), "");
  LLVMBasicBlockRef before = LLVMGetInsertBlock(b);
  LLVMBasicBlockRef next =
      emit_open_guard_of_warps(e, LLVMBuildICmp(b, LLVMIntUGT, second, limit, ""));
  const band_place place = place_in_bands(e, at, first, second, limit);
  LLVMBasicBlockRef from[2] = {LLVMGetInsertBlock(b), before};
  emit_close_guard(e, next);
  LLVMValueRef columns[2] = {place.first, column}, rows[2] = {place.second, row};
  const band_place both = {LLVMBuildPhi(b, e->i32, ""), LLVMBuildPhi(b, e->i32, "")};
  LLVMAddIncoming(both.first, columns, from, 2);
  LLVMAddIncoming(both.second, rows, from, 2);
  return both;
}

/* The block's positions of the first two places, and of what is beyond, i64. */
typedef struct block_place {
  LLVMValueRef first, second, plane;
} block_place;

static block_place in_bands(emitter *e) {
  const plan_kernel *kernel = e->kernel;
  LLVMBuilderRef b = e->builder;
  LLVMValueRef at = LLVMBuildTrunc(b, e->block, e->i32, ""), plane = emit_i64(e, 0);
  LLVMValueRef first = LLVMBuildTrunc(b, count_of(e, &kernel->place[0]), e->i32, "");
  LLVMValueRef second = LLVMBuildTrunc(b, count_of(e, &kernel->place[1]), e->i32, "");
  if (kernel->n_places > 2) {
    plane =
        emit_divide_place(e, emit_divide_place(e, e->block, &kernel->place[0]), &kernel->place[1]);
    LLVMValueRef number = LLVMBuildTrunc(b, plane, e->i32, "");
    LLVMValueRef begin = LLVMBuildMul(b, LLVMBuildMul(b, number, first, ""), second, "");
    at = LLVMBuildSub(b, at, begin, "");
  }
  const band_place place = place_in_plane(e, at, first, second);
  return (block_place){.first = LLVMBuildZExt(b, place.first, e->i64, ""),
                       .second = LLVMBuildZExt(b, place.second, e->i64, ""),
                       .plane = plane};
}

/* The number that the block has where the first place is the fastest. */
static LLVMValueRef number_in_bands(emitter *e) {
  const plan_kernel *kernel = e->kernel;
  LLVMBuilderRef b = e->builder;
  const block_place place = in_bands(e);
  LLVMValueRef row = LLVMBuildMul(b, place.plane, count_of(e, &kernel->place[1]), "");
  row = LLVMBuildAdd(b, row, place.second, "");
  row = LLVMBuildMul(b, row, count_of(e, &kernel->place[0]), "");
  return LLVMBuildAdd(b, row, place.first, "");
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
  LLVMValueRef banded = number_in_bands(e), plain = e->block;
  LLVMBasicBlockRef body = LLVMGetInsertBlock(e->builder);
  emit_close_guard(e, next);
  LLVMValueRef phi = LLVMBuildPhi(e->builder, e->i64, "");
  LLVMAddIncoming(phi, &banded, &body, 1);
  LLVMAddIncoming(phi, &plain, &before, 1);
  return phi;
}

/* The places from number i on, of which *index is left. */
static void take_places(emitter *e, int i, LLVMValueRef index) {
  const plan_kernel *kernel = e->kernel;
  for (; i < kernel->n_places; i++) {
    const plan_place *place = &kernel->place[i];
    LLVMValueRef position = take_place(e, kernel->place, i, kernel->n_places, &index);
    if (place->digit >= 0) e->upper[place->digit] = position;
    else e->grid = position;
  }
}

/* Whether bands are of tiles of experts, and each expert's tiles have bands of their own: so blocks
 * that run at the same time share the weights of as many tiles as it has. */
static bool has_bands_of_experts(const emitter *e) {
  const plan_kernel *kernel = e->kernel;
  return kernel->band > 0 && kernel->place[0].digit >= 0 &&
         emit_counts_experts(e, &kernel->place[1]);
}

/* Whether places from number i on have one position each. */
static bool are_single(const plan_kernel *kernel, int i) {
  bool single = true;
  for (; i < kernel->n_places; i++) {
    const plan_place *place = &kernel->place[i];
    single &= place->digit < 0 ? place->bits == 0 : plan_is_number(&place->count, 1);
  }
  return single;
}

/* An expert's positions of both places follow each other. Where ends decrease a tile beyond all may
 * have an expert without any. */
static void decode_bands_of_experts(emitter *e) {
  const plan_kernel *kernel = e->kernel;
  LLVMBuilderRef b = e->builder;
  LLVMValueRef first = count_of(e, &kernel->place[0]), at = e->block, index = e->block;
  LLVMValueRef *tile = &e->upper[kernel->place[1].digit];
  const bool single = are_single(kernel, 2);
  if (!single) {
    LLVMValueRef plane = LLVMBuildMul(b, first, count_of(e, &kernel->place[1]), "");
    index = LLVMBuildUDiv(b, at, plane, "");
    at = LLVMBuildSub(b, at, LLVMBuildMul(b, index, plane, ""), "");
  }
  LLVMValueRef number = *tile = emit_divide_place(e, at, &kernel->place[0]);
  emit_decode_expert(e);
  LLVMValueRef before = LLVMBuildMul(b, LLVMBuildSub(b, number, *tile, ""), first, "");
  LLVMValueRef own = emit_larger(e, emit_expert_turns(e), emit_i64(e, 1)),
               band = emit_smaller(e, own, emit_i64(e, kernel->band));
  const band_place place =
      place_in_bands(e, LLVMBuildTrunc(b, LLVMBuildSub(b, at, before, ""), e->i32, ""),
                     LLVMBuildTrunc(b, first, e->i32, ""), LLVMBuildTrunc(b, own, e->i32, ""),
                     LLVMBuildTrunc(b, band, e->i32, ""));
  *tile = LLVMBuildZExt(b, place.second, e->i64, "");
  e->upper[kernel->place[0].digit] = LLVMBuildZExt(b, place.first, e->i64, "");
  if (!single) take_places(e, 2, index);
}

void emit_decode_block(emitter *e) {
  const plan_kernel *kernel = e->kernel;
  LLVMValueRef index = e->block;
  e->grid = emit_i64(e, 0);
  for (int i = 0; i < kernel->n_digits; i++) e->upper[i] = emit_i64(e, 0);
  if (has_bands_of_experts(e)) {
    decode_bands_of_experts(e);
    return;
  }
  int taken = 0;
  if (kernel->band > 0 && kernel->band_from == 0) {
    const block_place place = in_bands(e);
    e->upper[kernel->place[0].digit] = place.first;
    e->upper[kernel->place[1].digit] = place.second;
    index = place.plane;
    taken = 2;
  } else if (kernel->band > 0) {
    index = in_bands_of_far_rows(e);
  }
  take_places(e, taken, index);
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
