/* Where elements are: their addresses. Must agree with jit/plan/facts/eval.c.
 *
 * An element's address is the XOR of four parts: one known at compile time (its register, on the
 * host its lane), and those of thread, iteration and grid. Where the known part's bits are not
 * moved by the others it is an offset from a common pointer; the rest is XORed in first. In a
 * shared buffer each bit of it goes its own way. */
#include "jit/emit/place/place.h"
#include "jit/emit/core/builder.h"
#include "jit/emit/place/address.h"
#include "jit/emit/place/index.h"

#include "base/bits.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/following.h"
#include "jit/plan/facts/index_eval.h"
#include "jit/plan/facts/runs.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

#include <string.h>

/* ---- addresses ---- */

/* Columns tile -> address, grid -> address of a tensor's XOR part. */
static void tensor_columns(const plan_kernel *kernel, int tensor, uint64_t *of_grid) {
  const llrt_layout *space = &kernel->space;
  for (int b = 0; b < space->in[1].bits; b++)
    of_grid[b] = f2_apply(kernel->column[tensor], space->column[space->in[0].bits + b]);
}

/* Of the element (its byte, where two share one) `offset` elements on. */
static LLVMValueRef element_pointer(const emitter *e, int bits, LLVMValueRef pointer,
                                    LLVMValueRef offset) {
  if (bits < 8) offset = LLVMBuildAShr(e->builder, offset, emit_i64(e, 3 - bits_log2(bits)), "");
  return LLVMBuildGEP2(e->builder, emit_int_type(e, bits_max(bits, 8)), pointer, &offset, 1, "");
}

static LLVMValueRef advance(const emitter *e, const emit_place *place, LLVMValueRef pointer,
                            LLVMValueRef offset) {
  return element_pointer(e, place->bits, pointer, offset);
}

/* Z of a tensor's origin and sum. */
static LLVMValueRef swizzle_offset(const emitter *e, int tensor, LLVMValueRef sum) {
  const llrt_swizzle *z = &e->kernel->swizzle[tensor];
  LLVMValueRef expert = emit_expert_offset(e, tensor);
  sum = LLVMBuildAdd(e->builder, sum, emit_i64(e, e->kernel->origin[tensor]), "");
  if (expert) sum = LLVMBuildAdd(e->builder, sum, expert, "");
  if (z->swizzle_len == 0) return sum;
  LLVMValueRef inner = emit_i64(e, (int64_t)(bits_mask(z->swizzle_len) << z->per_element));
  LLVMValueRef distance = emit_i64(e, z->atom_len), moved;
  if (z->upward) {
    moved = LLVMBuildShl(e->builder, LLVMBuildAnd(e->builder, sum, inner, ""), distance, "");
  } else {
    moved = LLVMBuildAnd(e->builder, LLVMBuildLShr(e->builder, sum, distance, ""), inner, "");
  }
  return LLVMBuildXor(e->builder, sum, moved, "");
}

/* The offset of tile coordinate `tile` XOR what the thread adds, all of it at run time; terms of
 * the indices, NULL without. */
static LLVMValueRef whole_offset(emitter *e, const emit_place *place, const emit_index_terms *terms,
                                 uint64_t tile) {
  const plan_kernel *kernel = e->kernel;
  uint64_t of_grid[LLRT_MAX_BITS] = {0};
  bool tensor = place->tensor >= 0;
  if (tensor) tensor_columns(kernel, place->tensor, of_grid);
  LLVMValueRef sum =
      emit_linear_sum(e, place->value, tile, place->map.column, tensor ? of_grid : NULL);
  if (terms) sum = LLVMBuildXor(e->builder, sum, terms->columns, "");
  if (terms) sum = LLVMBuildAdd(e->builder, sum, terms->sum, "");
  for (int i = 0; tensor && i < kernel->n_digits; i++) {
    const plan_digit_side *side = &kernel->digit[i].side[place->tensor];
    if (side->kind == PLAN_INDEXED) continue;
    if (side->kind == PLAN_COLUMNS && !kernel->digit[i].rest) continue;
    LLVMValueRef position =
        side->kind == PLAN_STRIDE ? emit_digit_position(e, place->value, i, tile) : e->upper[i];
    LLVMValueRef term = LLVMBuildMul(e->builder, position, emit_number(e, &side->stride), "");
    sum = LLVMBuildAdd(e->builder, sum, term, "");
  }
  return tensor ? swizzle_offset(e, place->tensor, sum) : sum;
}

/* Address bits that tile parts of the tensor's indices can set. */
static uint64_t index_bits(const plan_kernel *kernel, int tensor) {
  uint64_t bits = 0;
  for (int i = 0; i < kernel->n_indices; i++)
    for (int b = 0; kernel->index[i].tensor == tensor && b < kernel->index[i].tile_bits; b++)
      bits |= kernel->index[i].column[b];
  return bits;
}

/* log2 elements by which each iteration moves an address further than the one before; -1: not all
 * do so, or others move those bits, too. still: the value as iterations that move nothing have it.
 */
static int step_of_iterations(const emitter *e, const emit_place *place, plan_value *still) {
  uint64_t of_grid[LLRT_MAX_BITS] = {0}, own[LLRT_MAX_BITS], moved = 0;
  const uint64_t *columns = plan_value_columns(place->value, PLAN_ITERATION);
  int n = plan_value_bits(place->value, PLAN_ITERATION);
  bool even = n > 0 && e->kernel->swizzle[place->tensor].swizzle_len == 0;
  *still = *place->value;
  memset((uint64_t *)plan_value_columns(still, PLAN_ITERATION), 0, (size_t)n * sizeof *columns);
  for (int i = 0; i < n; i++) {
    own[i] = f2_apply(place->map.column, columns[i]);
    even &= own[i] != 0 && own[i] == own[0] << i;
    moved |= own[i];
  }
  for (int i = 0; i < e->kernel->n_digits; i++)
    even &= e->kernel->digit[i].side[place->tensor].kind != PLAN_STRIDE ||
            !emit_iterations_move(e, place->value, i);
  tensor_columns(e->kernel, place->tensor, of_grid);
  moved &= emit_moving_bits(e, still, place->map.column, of_grid);
  return even && moved == 0 ? bits_lowest(own[0]) : -1;
}

/* The pointer to what is at tile coordinate 0, of which all that no iteration changes is made in
 * front of the loop, or stands as it is in each of the turns that follow each other; NULL: there
 * are no turns, or it cannot be taken apart. */
static LLVMValueRef pointer_by_iterations(emitter *e, const emit_place *place) {
  plan_value still;
  bool turns = e->in_front || e->straight;
  if (!turns || place->indexed || place->tensor < 0 || place->staged) return NULL;
  int step = step_of_iterations(e, place, &still);
  if (step < 0) return NULL;
  emit_place first = *place;
  LLVMBasicBlockRef here = LLVMGetInsertBlock(e->builder);
  if (e->in_front) LLVMPositionBuilderBefore(e->builder, LLVMGetBasicBlockTerminator(e->in_front));
  first.value = &still;
  first.base = e->ops->global(e, e->args[place->tensor]);
  LLVMValueRef pointer = advance(e, &first, first.base, whole_offset(e, &first, NULL, 0));
  LLVMPositionBuilderAtEnd(e->builder, here);
  LLVMValueRef more = LLVMBuildShl(e->builder, e->iteration, emit_i64(e, step), "");
  return advance(e, place, pointer, more);
}

static void fill_spot(emitter *e, emit_place *place, uint64_t tile, emit_spot *spot) {
  bool flat = place->tensor >= 0 && e->kernel->flat;
  const emit_index_terms *terms = NULL;
  if (place->indexed) {
    emit_index_terms_at(e, place, tile, &spot->terms);
    terms = &spot->terms;
  }
  spot->base = terms && terms->base ? terms->base : place->base;
  spot->common = flat ? NULL : pointer_by_iterations(e, place);
  if (!flat && !spot->common)
    spot->common = advance(e, place, spot->base, whole_offset(e, place, terms, 0));
}

/* The spot of a tile coordinate: remembered, or made now in place of the oldest. */
static const emit_spot *spot_of(emitter *e, emit_place *place, uint64_t tile) {
  uint64_t key = 0;
  if (place->indexed)
    key = e->kernel->flat ? tile : f2_apply(e->kernel->space.column, tile) & place->selecting;
  int known = bits_min(place->n_spots, EMIT_MAX_SPOTS);
  for (int i = 0; i < known; i++)
    if (place->spot[i].key == key) return &place->spot[i];
  emit_spot *spot = &place->spot[place->n_spots++ % EMIT_MAX_SPOTS];
  spot->key = key;
  fill_spot(e, place, tile, spot);
  return spot;
}

const emit_index_terms *emit_place_terms(emitter *e, emit_place *place, uint64_t tile) {
  return place->indexed ? &spot_of(e, place, tile)->terms : NULL;
}

void emit_place_tensor(emitter *e, const plan_value *value, int tensor, emit_place *place) {
  *place = (emit_place){.value = value, .bits = e->kernel->tensor_bits[tensor], .tensor = tensor};
  place->base = e->ops->global(e, e->args[tensor]);
  for (int i = 0; i < e->kernel->n_indices; i++)
    place->indexed |= e->kernel->index[i].tensor == tensor;
  place->selecting = plan_selecting_bits(e->kernel, tensor);
  if (!e->kernel->flat) {
    uint64_t of_grid[LLRT_MAX_BITS] = {0};
    plan_address_of_tensor(e->kernel, tensor, &place->map);
    tensor_columns(e->kernel, tensor, of_grid);
    place->moving = emit_moving_bits(e, value, place->map.column, of_grid);
    place->moving |= index_bits(e->kernel, tensor);
  }
  if (!place->indexed) spot_of(e, place, 0);
}

void emit_place_following(const emitter *e, const plan_step *step, emit_place *place) {
  plan_address_of_access(e->kernel, step, &place->map);
  place->following = true;
  place->selecting &=
      ~plan_following_bits(e->kernel, plan_slots_of(e->kernel, step->tensor), step->following);
}

/* Columns of a buffer's address in bytes. */
static void byte_columns(const emit_place *place, uint64_t *of_tile) {
  int up = bits_log2(place->bits) - 3;
  for (int b = 0; b < LLRT_MAX_BITS; b++)
    of_tile[b] = up >= 0 ? place->map.column[b] << up : place->map.column[b] >> -up;
}

LLVMValueRef emit_turn_number(const emitter *e) {
  LLVMValueRef number = LLVMBuildSub(e->builder, e->walked->turn, e->walked->begin, "");
  number = LLVMBuildTrunc(e->builder, number, e->i32, "");
  return e->turns_before ? LLVMBuildAdd(e->builder, number, e->turns_before, "") : number;
}

LLVMValueRef emit_slot_pointer(emitter *e, int buffer) {
  const plan_buffer *ring = &e->kernel->buffer[buffer];
  if (ring->slots == 0 || !e->walked) return e->shared[buffer];
  LLVMValueRef slot = LLVMBuildURem(e->builder, emit_turn_number(e), emit_i32(e, ring->slots), "");
  slot = LLVMBuildMul(e->builder, slot, emit_i32(e, ring->bytes), "");
  return LLVMBuildGEP2(e->builder, e->i8, e->shared[buffer], &slot, 1, "");
}

LLVMValueRef emit_place_in_run(emitter *e, const plan_step *copy) {
  const plan_kernel *kernel = e->kernel;
  LLVMValueRef lane = e->lane, warp = e->warp, place = emit_i32(e, 0);
  plan_value whole;
  plan_value_spread(kernel, &kernel->value[copy->in], &whole);
  e->lane = emit_i32(e, 0);
  e->warp = e->rank ? e->rank : e->lane;
  for (int i = 0; i < kernel->n_digits; i++) {
    const uint64_t *column =
        &kernel->column[copy->tensor][llrt_layout_out_shift(&kernel->space, i)];
    if (kernel->digit[i].rest || kernel->digit[i].side[copy->tensor].kind != PLAN_COLUMNS) continue;
    LLVMValueRef position = emit_resize(e, emit_digit_position(e, &whole, i, 0), e->i32);
    position = emit_linear(e, position, column, kernel->digit[i].bits);
    place = LLVMBuildXor(e->builder, place, position, "");
  }
  e->lane = lane;
  e->warp = warp;
  return place;
}

/* Where the turn's part of a slot begins that a box of runs has filled. */
static LLVMValueRef part_pointer(emitter *e, int buffer) {
  const plan_buffer *ring = &e->kernel->buffer[buffer];
  LLVMValueRef start = emit_slot_pointer(e, buffer);
  if (!ring->window) return start;
  LLVMValueRef at = emit_place_in_run(e, plan_box_step(e->kernel, buffer));
  at = LLVMBuildAnd(e->builder, at, emit_i32(e, ring->window), "");
  at = LLVMBuildMul(e->builder, at, emit_i32(e, ring->bits), "");
  at = LLVMBuildLShr(e->builder, at, emit_i32(e, 3), "");
  return LLVMBuildGEP2(e->builder, e->i8, start, &at, 1, "");
}

void emit_place_buffer(emitter *e, const plan_value *value, int buffer, emit_place *place) {
  uint64_t of_tile[LLRT_MAX_BITS];
  *place = (emit_place){
      .value = value, .bits = value->bits, .tensor = -1, .base = part_pointer(e, buffer)};
  plan_address_of_buffer(e->kernel, buffer, &place->map);
  byte_columns(place, of_tile);
  place->moving = emit_moving_bits(e, value, of_tile, NULL);
  place->sum = emit_moving_part(e, value, of_tile, NULL, place->moving);
}

/* Bytes that the thread moves too are XORed in, the others are an offset known to the compiler,
 * which loads and stores hold themselves: accesses that differ in those alone share the XOR
 * (jit/plan/cost/cost.c counts it). */
LLVMValueRef emit_buffer_offset(emitter *e, const emit_place *place, uint64_t tile,
                                int64_t *behind) {
  uint64_t of_tile[LLRT_MAX_BITS];
  byte_columns(place, of_tile);
  uint64_t known = f2_apply(of_tile, tile), inside = known & place->moving;
  *behind = (int64_t)(known ^ inside);
  if (!inside) return place->sum;
  return LLVMBuildXor(e->builder, place->sum, LLVMConstInt(LLVMTypeOf(place->sum), inside, false),
                      "");
}

LLVMValueRef emit_buffer_pointer(emitter *e, const emit_place *place, uint64_t tile) {
  int64_t behind;
  LLVMValueRef at = emit_resize(e, emit_buffer_offset(e, place, tile, &behind), e->i64);
  LLVMValueRef pointer = LLVMBuildGEP2(e->builder, e->i8, place->base, &at, 1, "");
  at = emit_i64(e, behind);
  return LLVMBuildGEP2(e->builder, e->i8, pointer, &at, 1, "");
}

/* offset(tile) - offset(0) in elements, where `tile` moves bits of the offset that the thread, the
 * iteration and the grid leave alone, so that XOR is addition; false where they do not. */
static bool separate_offset(emitter *e, const emit_place *place, uint64_t tile,
                            LLVMValueRef *offset) {
  const plan_kernel *kernel = e->kernel;
  uint64_t known = f2_apply(place->map.column, tile);
  if (known & place->moving) return false;
  if (place->tensor >= 0 && kernel->swizzle[place->tensor].swizzle_len) return false;
  *offset = emit_i64(e, (int64_t)known);
  for (int i = 0; place->tensor >= 0 && i < kernel->n_digits; i++) {
    const plan_digit_side *side = &kernel->digit[i].side[place->tensor];
    if (side->kind != PLAN_STRIDE) continue;
    int64_t position = emit_position_known(e, place->value, i, tile);
    if (position < 0) return false;
    LLVMValueRef term =
        LLVMBuildMul(e->builder, emit_i64(e, position), emit_number(e, &side->stride), "");
    *offset = LLVMBuildAdd(e->builder, *offset, term, "");
  }
  return true;
}

/* In the panel that index 0 chooses from; of a value out of range, beyond the shape too, the first
 * one's. */
static LLVMValueRef staged_pointer(emitter *e, const emit_place *place, const emit_spot *spot,
                                   uint64_t tile) {
  LLVMValueRef width = emit_i64(e, e->kernel->panel.width), value = spot->terms.value;
  if (e->kernel->index[0].out_of_range != LLRT_RANGE_CLAMP) {
    LLVMValueRef extent = emit_number(e, &e->kernel->index[0].extent);
    LLVMValueRef there = LLVMBuildICmp(e->builder, LLVMIntULT, value, extent, "");
    value = LLVMBuildSelect(e->builder, there, value, emit_i64(e, 0), "");
  }
  LLVMValueRef at = LLVMBuildShl(e->builder, value, width, "");
  at = LLVMBuildOr(e->builder, at, emit_linear_sum(e, place->value, tile, place->map.column, NULL),
                   "");
  return advance(e, place, e->shared[0], at);
}

LLVMValueRef emit_values_pointer(emitter *e) {
  plan_value still = e->kernel->value[0]; /* no thread moves anything */
  memset(still.layout.column, 0, sizeof still.layout.column);
  emit_place place = {.value = &still, .bits = e->kernel->tensor_bits[0], .tensor = 0};
  return advance(e, &place, e->ops->global(e, e->args[0]), whole_offset(e, &place, NULL, 0));
}

static LLVMValueRef tiled_pointer(emitter *e, emit_place *place, uint64_t tile) {
  const emit_spot *spot = spot_of(e, place, tile);
  if (place->staged) return staged_pointer(e, place, spot, tile);
  LLVMValueRef offset;
  if (!place->nibbles && separate_offset(e, place, tile, &offset))
    return advance(e, place, spot->common, offset);
  const emit_index_terms *terms = place->indexed ? &spot->terms : NULL;
  return advance(e, place, spot->base, whole_offset(e, place, terms, tile));
}
/* ---- flat kernels ---- */

/* Adds what a term does to its tensor's address: the axes' parts of a tile are columns, which may
 * have bits in common. Divisors are constants. */
static void add_term(const emitter *e, const plan_term *term, LLVMValueRef coordinate,
                     LLVMValueRef *columns, LLVMValueRef *sum) {
  LLVMValueRef at = LLVMBuildUDiv(e->builder, coordinate, emit_i64(e, term->step), "");
  if (term->extent > 0) at = LLVMBuildURem(e->builder, at, emit_i64(e, term->extent), "");
  if (term->bits > 0) {
    *columns = LLVMBuildXor(e->builder, *columns, emit_linear(e, at, term->column, term->bits), "");
  } else {
    LLVMValueRef part = LLVMBuildMul(e->builder, at, emit_number(e, &term->stride), "");
    *sum = LLVMBuildAdd(e->builder, *sum, part, "");
  }
}

/* A tensor's offset at the digits' positions; terms: what its indices add, or NULL. */
static LLVMValueRef offset_at(emitter *e, int tensor, const LLVMValueRef position[PLAN_MAX_DIGITS],
                              const emit_index_terms *terms) {
  const plan_kernel *kernel = e->kernel;
  LLVMValueRef columns = terms ? terms->columns : emit_i64(e, 0);
  LLVMValueRef sum = terms ? terms->sum : emit_i64(e, 0);
  for (int i = 0; i < kernel->n_digits; i++) {
    const plan_digit *digit = &kernel->digit[i];
    const plan_digit_side *side = &digit->side[tensor];
    LLVMValueRef at = position[i];
    if (side->kind == PLAN_INDEXED) continue;
    if (side->kind == PLAN_COLUMNS && digit->bits > 0) {
      const uint64_t *of_digit = &kernel->column[tensor][llrt_layout_out_shift(&kernel->space, i)];
      if (digit->rest)
        at = LLVMBuildAnd(e->builder, at, emit_i64(e, (int64_t)bits_mask(digit->bits)), "");
      LLVMValueRef part = emit_linear(e, at, of_digit, digit->bits);
      columns = LLVMBuildXor(e->builder, columns, part, "");
    }
    if (side->kind == PLAN_COLUMNS && !digit->rest) continue;
    if (side->kind == PLAN_COLUMNS && digit->bits > 0)
      at = LLVMBuildLShr(e->builder, position[i], emit_i64(e, digit->bits), "");
    LLVMValueRef term = LLVMBuildMul(e->builder, at, emit_number(e, &side->stride), "");
    sum = LLVMBuildAdd(e->builder, sum, term, "");
  }
  for (int i = 0; i < kernel->n_terms; i++) {
    const plan_term *term = &kernel->term[i];
    if (term->tensor == tensor)
      add_term(e, term, emit_coordinate_of(e, term->axis, position), &columns, &sum);
  }
  sum = LLVMBuildAdd(e->builder, sum, columns, "");
  return swizzle_offset(e, tensor, sum);
}

/* The same so far behind the block's first position. */
static LLVMValueRef flat_offset(emitter *e, int tensor, LLVMValueRef low,
                                const emit_index_terms *terms) {
  LLVMValueRef position[PLAN_MAX_DIGITS];
  emit_flat_positions(e, low, position);
  return offset_at(e, tensor, position, terms);
}

LLVMValueRef emit_pointer_at(emitter *e, int tensor, const LLVMValueRef position[PLAN_MAX_DIGITS],
                             LLVMValueRef *offset) {
  *offset = offset_at(e, tensor, position, NULL);
  return element_pointer(e, e->kernel->tensor_bits[tensor], e->ops->global(e, e->args[tensor]),
                         *offset);
}

/* Where a tensor begins for all of the block. */
static LLVMValueRef block_base(emitter *e, int tensor) {
  for (int i = 0; i < e->kernel->n_indices; i++) {
    const plan_index *index = &e->kernel->index[i];
    if (index->tensor == tensor && index->uniform && index->kind == LLRT_INDEX_POINTER)
      return e->ops->global(e, e->index[i].value);
  }
  return e->ops->global(e, e->args[tensor]);
}

LLVMValueRef emit_panel(emitter *e, int tensor, LLVMValueRef *pointer) {
  LLVMValueRef offset = flat_offset(e, tensor, emit_i64(e, 0), NULL);
  *pointer = element_pointer(e, e->kernel->tensor_bits[tensor], block_base(e, tensor), offset);
  return offset;
}

static LLVMValueRef place_offset(emitter *e, emit_place *place, uint64_t tile) {
  const emit_spot *spot = spot_of(e, place, tile);
  return flat_offset(e, place->tensor, emit_flat_low(e, place->value, tile),
                     place->indexed ? &spot->terms : NULL);
}

static LLVMValueRef flat_pointer(emitter *e, emit_place *place, uint64_t tile) {
  LLVMValueRef offset = place_offset(e, place, tile);
  if (!place->staged) return advance(e, place, spot_of(e, place, tile)->base, offset);
  return advance(e, place, e->shared[0], LLVMBuildSub(e->builder, offset, e->panel, ""));
}

LLVMValueRef emit_pointer(emitter *e, emit_place *place, uint64_t tile) {
  if (place->tensor < 0) return emit_buffer_pointer(e, place, tile);
  if (e->kernel->flat) return flat_pointer(e, place, tile);
  return tiled_pointer(e, place, tile);
}

LLVMValueRef emit_offset(emitter *e, emit_place *place, uint64_t tile) {
  if (place->tensor >= 0 && e->kernel->flat) return place_offset(e, place, tile);
  return whole_offset(e, place, emit_place_terms(e, place, tile), tile);
}
