/* Pieces of the host: runs of a register's lanes. See emit_access.c. */
#include "jit/emit/memory/emit_access.h"

#include "base/bits.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

/* The address bits that anything but the first n lane bits and what a word holds moves. */
static uint64_t moved_besides(const access *a, int n) {
  uint64_t moved = a->place.map.of_grid;
  for (int dim = PLAN_REGISTER; dim <= PLAN_ITERATION; dim++)
    for (int i = dim == PLAN_REGISTER ? a->word
                 : dim == PLAN_LANE   ? n
                                      : 0;
         i < plan_value_bits(a->value, (plan_dim)dim); i++)
      moved |= f2_apply(a->place.map.column, plan_value_columns(a->value, (plan_dim)dim)[i]);
  return moved;
}

/* log2 lanes, at most `most`, that lie in memory one after the other, word by word, wherever the
 * first one lies. */
static int contiguous_lanes(const access *a, int most) {
  const uint64_t *lanes = plan_value_columns(a->value, PLAN_LANE);
  int n = 0;
  while (n < most && f2_apply(a->place.map.column, lanes[n]) == 1ull << (a->word + n) &&
         plan_is_unstrided(&a->place.map, lanes[n]))
    n++;
  while (n > 0 && moved_besides(a, n) & bits_mask(a->word + n)) n--;
  return n;
}

/* Lanes [first, first + n) of `wide`, or with `into` those lanes replaced by `narrow`. */
static LLVMValueRef take_lanes(emitter *e, LLVMValueRef wide, int first, int n) {
  LLVMValueRef mask[64];
  if (n == 1) return LLVMBuildExtractElement(e->builder, wide, emit_i32(e, first), "");
  for (int i = 0; i < n; i++) mask[i] = emit_i32(e, first + i);
  return LLVMBuildShuffleVector(e->builder, wide, LLVMGetUndef(LLVMTypeOf(wide)),
                                LLVMConstVector(mask, (unsigned)n), "");
}

static LLVMValueRef put_lanes(emitter *e, LLVMValueRef wide, LLVMValueRef narrow, int first, int n,
                              int lanes) {
  LLVMValueRef widen[64], mask[64];
  if (n == 1) return LLVMBuildInsertElement(e->builder, wide, narrow, emit_i32(e, first), "");
  for (int i = 0; i < lanes; i++) {
    widen[i] = i < n ? emit_i32(e, i) : LLVMGetUndef(e->i32);
    mask[i] = emit_i32(e, i >= first && i < first + n ? lanes + i - first : i);
  }
  narrow = LLVMBuildShuffleVector(e->builder, narrow, LLVMGetUndef(LLVMTypeOf(narrow)),
                                  LLVMConstVector(widen, (unsigned)lanes), "");
  return LLVMBuildShuffleVector(e->builder, wide, narrow, LLVMConstVector(mask, (unsigned)lanes),
                                "");
}

/* What the second element of a lane's byte adds to tile coordinates. */
static uint64_t next_tile(const access *a) {
  return plan_value_columns(a->value, PLAN_REGISTER)[0];
}

/* The register of words from element `index` on; a piece is a run of 2^run_bits lanes. No bound
 * parts a single one. */
static void move_host_register(emitter *e, access *a, uint64_t index, int lane_bits, int run_bits) {
  int lanes = 1 << lane_bits, run = 1 << run_bits;
  LLVMTypeRef piece_type = access_lanes_type(e, a, run_bits);
  LLVMValueRef *word = &a->words[index >> a->word];
  if (a->place.tensor >= 0) emit_ahead_some(e);
  if (a->load) *word = LLVMGetUndef(access_lanes_type(e, a, lane_bits));
  for (int first = 0; first < lanes; first += run) {
    const uint64_t *columns = plan_value_columns(a->value, PLAN_LANE);
    uint64_t tile = access_register_tile(a, index) ^ f2_apply(columns, (uint64_t)first);
    emit_parted parts = {NULL, NULL};
    if (a->step->parted && run > 1 && !access_parts_bytes(a))
      emit_part(e, &a->place, tile, columns, run_bits, &parts);
    if (a->load) {
      LLVMValueRef piece = parts.mask ? access_load_parted(e, a, tile, piece_type, &parts)
                                      : access_load_piece(e, a, tile, piece_type);
      *word = run == lanes ? piece : put_lanes(e, *word, piece, first, run, lanes);
    } else {
      LLVMValueRef piece = run == lanes ? *word : take_lanes(e, *word, first, run);
      if (access_parts_bytes(a)) access_store_byte(e, a, tile, tile ^ next_tile(a), piece);
      else if (parts.mask) access_store_parted(e, a, tile, piece, &parts);
      else access_store_piece(e, a, tile, piece);
    }
  }
}

void access_move_host(emitter *e, access *a) {
  int lane_bits = access_lane_bits(a->value);
  int run_bits = contiguous_lanes(a, bits_min(a->vector - a->word, lane_bits));
  for (uint64_t index = 0; index < 1ull << a->registers; index += 1ull << a->word)
    if (access_takes_part(e, a, index)) move_host_register(e, a, index, lane_bits, run_bits);
  access_store_waiting(e, a);
}
