/* Where things are: block decode, element addresses, edge masks. Must agree with jit/plan/eval.c.
 *
 * An element's address is the XOR of four parts: one known at compile time (its register, on the host
 * its lane), and those of thread, iteration and grid. Where the known part's bits are not moved by the
 * others it is an offset from a common pointer; the rest is XORed in first. In a shared buffer each bit
 * of it goes its own way. */
#include "jit/emit/builder.h"

#include "base/bits.h"
#include "jit/plan/eval.h"

#include <string.h>

/* ---- block decode ---- */

/* numerator / divisor by the multiplier that the launch computed (plan_magic). */
static LLVMValueRef divide(const emitter *e, LLVMValueRef numerator, const plan_place *place) {
  if (place->count.arg < 0)
    return LLVMBuildUDiv(e->builder, numerator, emit_number(e, &place->count), "");
  LLVMTypeRef i128 = emit_int_type(e, 128);
  LLVMValueRef twice = LLVMBuildShl(e->builder, numerator, emit_i64(e, 1), "");
  LLVMValueRef product =
      LLVMBuildMul(e->builder, LLVMBuildZExt(e->builder, twice, i128, ""),
                   LLVMBuildZExt(e->builder, emit_number(e, &place->magic), i128, ""), "");
  LLVMValueRef high = LLVMBuildLShr(e->builder, product, LLVMConstInt(i128, 64, false), "");
  return LLVMBuildLShr(e->builder, LLVMBuildTrunc(e->builder, high, e->i64, ""),
                       emit_number(e, &place->magic_shift), "");
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
  LLVMValueRef quotient = divide(e, *index, place);
  LLVMValueRef whole = LLVMBuildMul(e->builder, quotient, emit_number(e, &place->count), "");
  position = LLVMBuildSub(e->builder, *index, whole, "");
  *index = quotient;
  return position;
}

void emit_decode_block(emitter *e) {
  const plan_kernel *kernel = e->kernel;
  LLVMValueRef index = e->block;
  e->grid = emit_i64(e, 0);
  for (int i = 0; i < kernel->n_digits; i++) e->upper[i] = emit_i64(e, 0);
  for (int i = 0; i < kernel->n_places; i++) {
    const plan_place *place = &kernel->place[i];
    LLVMValueRef position = take_place(e, kernel->place, i, kernel->n_places, &index);
    if (place->digit >= 0) e->upper[place->digit] = position;
    else e->grid = position;
  }
}

void emit_block_turns(emitter *e, LLVMValueRef *begin, LLVMValueRef *end) {
  const plan_turns *walk = &e->kernel->walk;
  LLVMValueRef turns = emit_number(e, &walk->turns);
  *begin = emit_i64(e, 0);
  *end = turns;
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

/* ---- linear parts ---- */

/* An unsigned number in another integer type that holds it. */
static LLVMValueRef resize(const emitter *e, LLVMValueRef x, LLVMTypeRef type) {
  return LLVMBuildIntCast2(e->builder, x, type, false, "");
}

/* The image of a value's in-dim `dim` under tile -> something (columns `of_tile`), at run-time
 * coordinate x (any integer type), in `type`, which holds it. NULL: it is zero. */
static LLVMValueRef dim_part(emitter *e, const plan_value *value, plan_dim dim, LLVMValueRef x,
                             const uint64_t *of_tile, LLVMTypeRef type) {
  uint64_t columns[LLRT_MAX_BITS] = {0}, all = 0;
  int n = plan_value_bits(value, dim);
  for (int i = 0; i < n; i++) {
    columns[i] = f2_apply(of_tile, plan_value_columns(value, dim)[i]);
    all |= columns[i];
  }
  if (!x || all == 0) return NULL;
  return emit_linear(e, resize(e, x, type), columns, n);
}

/* The XOR of what thread, iteration and grid add under tile, grid -> something, in the narrower of i32
 * and i64 that holds `bits`, a superset of what it can set. */
static LLVMValueRef moving_part(emitter *e, const plan_value *value, const uint64_t *of_tile,
                                const uint64_t *of_grid, uint64_t bits) {
  LLVMTypeRef type = bits >> 32 ? e->i64 : e->i32;
  LLVMValueRef parts[] = {
      dim_part(e, value, PLAN_LANE, e->lane, of_tile, type),
      dim_part(e, value, PLAN_WARP, e->warp, of_tile, type),
      dim_part(e, value, PLAN_ITERATION, e->iteration, of_tile, type),
      of_grid ? emit_linear(e, resize(e, e->grid, type), of_grid, e->kernel->space.in[1].bits) : NULL};
  LLVMValueRef sum = LLVMConstInt(type, 0, false);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (parts[i]) sum = LLVMBuildXor(e->builder, sum, parts[i], "");
  return sum;
}

/* Bits that moving_part can set. */
static uint64_t moving_bits(const emitter *e, const plan_value *value, const uint64_t *of_tile,
                            const uint64_t *of_grid) {
  uint64_t bits = 0;
  for (plan_dim d = emit_is_host(e) ? PLAN_ITERATION : PLAN_LANE; d <= PLAN_ITERATION; d++)
    for (int i = 0; i < plan_value_bits(value, d); i++)
      bits |= f2_apply(of_tile, plan_value_columns(value, d)[i]);
  for (int i = 0; of_grid && i < e->kernel->space.in[1].bits; i++) bits |= of_grid[i];
  return bits;
}

/* The image of tile coordinate `tile` XOR what thread, iteration and grid add; i64. */
static LLVMValueRef linear_sum(emitter *e, const plan_value *value, uint64_t tile,
                               const uint64_t *of_tile, const uint64_t *of_grid) {
  uint64_t known = f2_apply(of_tile, tile);
  uint64_t bits = moving_bits(e, value, of_tile, of_grid) | known;
  LLVMValueRef sum = moving_part(e, value, of_tile, of_grid, bits);
  sum = LLVMBuildXor(e->builder, sum, LLVMConstInt(LLVMTypeOf(sum), known, false), "");
  return resize(e, sum, e->i64);
}

/* ---- positions of digits ---- */

/* Columns tile -> bits of digit i, and grid -> the same. */
static void digit_columns(const plan_kernel *kernel, int i, uint64_t *of_tile, uint64_t *of_grid) {
  const llrt_layout *space = &kernel->space;
  int shift = llrt_layout_out_shift(space, i), tile = space->in[0].bits;
  uint64_t mask = bits_mask(space->out[i].bits);
  for (int b = 0; b < tile; b++) of_tile[b] = space->column[b] >> shift & mask;
  for (int b = 0; b < space->in[1].bits; b++)
    of_grid[b] = space->column[tile + b] >> shift & mask;
}

/* The position of digit i at tile coordinate `tile` XOR the moving parts. */
static LLVMValueRef digit_position(emitter *e, const plan_value *value, int i, uint64_t tile) {
  const plan_digit *digit = &e->kernel->digit[i];
  LLVMValueRef position = emit_i64(e, 0);
  if (digit->bits > 0) {
    uint64_t of_tile[LLRT_MAX_BITS] = {0}, of_grid[LLRT_MAX_BITS] = {0};
    digit_columns(e->kernel, i, of_tile, of_grid);
    position = linear_sum(e, value, tile, of_tile, of_grid);
  }
  if (!digit->rest) return position;
  LLVMValueRef upper = LLVMBuildShl(e->builder, e->upper[i], emit_i64(e, digit->bits), "");
  return LLVMBuildOr(e->builder, upper, position, "");
}

int64_t emit_position_known(emitter *e, const plan_value *value, int i, uint64_t tile) {
  uint64_t of_tile[LLRT_MAX_BITS] = {0}, of_grid[LLRT_MAX_BITS] = {0};
  digit_columns(e->kernel, i, of_tile, of_grid);
  uint64_t known = f2_apply(of_tile, tile);
  return known & moving_bits(e, value, of_tile, of_grid) ? -1 : (int64_t)known;
}

/* Tile coordinate `tile` XOR what the thread adds: the position in a flat kernel's block. */
static LLVMValueRef flat_low(emitter *e, const plan_value *value, uint64_t tile) {
  uint64_t identity[LLRT_MAX_BITS];
  for (int b = 0; b < LLRT_MAX_BITS; b++) identity[b] = 1ull << b;
  return linear_sum(e, value, tile, identity, NULL);
}

/* The flat index of the block's first position. */
static LLVMValueRef flat_first(emitter *e) {
  int64_t size = e->kernel->panel.positions;
  if (size == 0) size = (int64_t)1 << e->kernel->value[0].layout.out[0].bits;
  return LLVMBuildMul(e->builder, e->block, emit_i64(e, size), "");
}

static LLVMValueRef flat_index(emitter *e, const plan_value *value, uint64_t tile) {
  return LLVMBuildAdd(e->builder, flat_first(e), flat_low(e, value, tile), "");
}

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
  sum = LLVMBuildAdd(e->builder, sum, emit_i64(e, e->kernel->origin[tensor]), "");
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

/* The offset of tile coordinate `tile` XOR what the thread adds, all of it at run time; terms of the
 * indices, NULL without. */
static LLVMValueRef whole_offset(emitter *e, const emit_place *place, const emit_index_terms *terms,
                                 uint64_t tile) {
  const plan_kernel *kernel = e->kernel;
  uint64_t of_grid[LLRT_MAX_BITS] = {0};
  bool tensor = place->tensor >= 0;
  if (tensor) tensor_columns(kernel, place->tensor, of_grid);
  LLVMValueRef sum =
      linear_sum(e, place->value, tile, place->map.column, tensor ? of_grid : NULL);
  if (terms) sum = LLVMBuildXor(e->builder, sum, terms->columns, "");
  if (terms) sum = LLVMBuildAdd(e->builder, sum, terms->sum, "");
  for (int i = 0; tensor && i < kernel->n_digits; i++) {
    const plan_digit_side *side = &kernel->digit[i].side[place->tensor];
    if (side->kind == PLAN_INDEXED) continue;
    if (side->kind == PLAN_COLUMNS && !kernel->digit[i].rest) continue;
    LLVMValueRef position = side->kind == PLAN_STRIDE ? digit_position(e, place->value, i, tile)
                                                      : e->upper[i];
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

static void fill_spot(emitter *e, emit_place *place, uint64_t tile, emit_spot *spot) {
  bool flat = place->tensor >= 0 && e->kernel->flat;
  const emit_index_terms *terms = NULL;
  if (place->indexed) {
    emit_index_terms_at(e, place, tile, &spot->terms);
    terms = &spot->terms;
  }
  spot->base = terms && terms->base ? terms->base : place->base;
  if (!flat) spot->common = advance(e, place, spot->base, whole_offset(e, place, terms, 0));
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
  *place = (emit_place){
      .value = value, .bits = e->kernel->tensor_bits[tensor], .tensor = tensor};
  place->base = e->ops->global(e, e->args[tensor]);
  for (int i = 0; i < e->kernel->n_indices; i++)
    place->indexed |= e->kernel->index[i].tensor == tensor;
  place->selecting = plan_selecting_bits(e->kernel, tensor);
  if (!e->kernel->flat) {
    uint64_t of_grid[LLRT_MAX_BITS] = {0};
    plan_address_of_tensor(e->kernel, tensor, &place->map);
    tensor_columns(e->kernel, tensor, of_grid);
    place->moving = moving_bits(e, value, place->map.column, of_grid);
    place->moving |= index_bits(e->kernel, tensor);
  }
  if (!place->indexed) spot_of(e, place, 0);
}

/* Columns of a buffer's address in bytes. */
static void byte_columns(const emit_place *place, uint64_t *of_tile) {
  int up = bits_log2(place->bits) - 3;
  for (int b = 0; b < LLRT_MAX_BITS; b++)
    of_tile[b] = up >= 0 ? place->map.column[b] << up : place->map.column[b] >> -up;
}

LLVMValueRef emit_slot_pointer(emitter *e, int buffer) {
  const plan_buffer *ring = &e->kernel->buffer[buffer];
  if (ring->slots == 0 || !e->walked) return e->shared[buffer];
  LLVMValueRef slot = LLVMBuildSub(e->builder, e->walked->turn, e->walked->begin, "");
  slot = LLVMBuildTrunc(e->builder, slot, e->i32, "");
  slot = LLVMBuildAnd(e->builder, slot, emit_i32(e, (int64_t)bits_mask(ring->slots)), "");
  slot = LLVMBuildMul(e->builder, slot, emit_i32(e, ring->bytes), "");
  return LLVMBuildGEP2(e->builder, e->i8, e->shared[buffer], &slot, 1, "");
}

void emit_place_buffer(emitter *e, const plan_value *value, int buffer, emit_place *place) {
  uint64_t of_tile[LLRT_MAX_BITS];
  *place = (emit_place){.value = value,
                         .bits = value->bits,
                         .tensor = -1,
                         .base = emit_slot_pointer(e, buffer)};
  plan_address_of_buffer(e->kernel, buffer, &place->map);
  byte_columns(place, of_tile);
  place->moving = moving_bits(e, value, of_tile, NULL);
  place->sum = moving_part(e, value, of_tile, NULL, place->moving);
}

/* Bytes that the thread moves too are XORed in, the others are an offset known to the compiler, which loads and
 * stores hold themselves: accesses that differ in those alone share the XOR (jit/plan/cost.c counts it). */
LLVMValueRef emit_buffer_offset(emitter *e, const emit_place *place, uint64_t tile, int64_t *behind) {
  uint64_t of_tile[LLRT_MAX_BITS];
  byte_columns(place, of_tile);
  uint64_t known = f2_apply(of_tile, tile), inside = known & place->moving;
  *behind = (int64_t)(known ^ inside);
  if (!inside) return place->sum;
  return LLVMBuildXor(e->builder, place->sum, LLVMConstInt(LLVMTypeOf(place->sum), inside, false), "");
}

LLVMValueRef emit_buffer_pointer(emitter *e, const emit_place *place, uint64_t tile) {
  int64_t behind;
  LLVMValueRef at = resize(e, emit_buffer_offset(e, place, tile, &behind), e->i64);
  LLVMValueRef pointer = LLVMBuildGEP2(e->builder, e->i8, place->base, &at, 1, "");
  at = emit_i64(e, behind);
  return LLVMBuildGEP2(e->builder, e->i8, pointer, &at, 1, "");
}

/* What `tile` adds to the offset of tile coordinate 0, where the bits that it moves are moved by nothing
 * else; false where they are. */
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

/* In the panel that index 0 chooses from; of a value out of range, beyond the shape too, the first one's. */
static LLVMValueRef staged_pointer(emitter *e, const emit_place *place, const emit_spot *spot, uint64_t tile) {
  LLVMValueRef width = emit_i64(e, e->kernel->panel.width), value = spot->terms.value;
  if (e->kernel->index[0].out_of_range != LLRT_RANGE_CLAMP) {
    LLVMValueRef extent = emit_number(e, &e->kernel->index[0].extent);
    LLVMValueRef there = LLVMBuildICmp(e->builder, LLVMIntULT, value, extent, "");
    value = LLVMBuildSelect(e->builder, there, value, emit_i64(e, 0), "");
  }
  LLVMValueRef at = LLVMBuildShl(e->builder, value, width, "");
  at = LLVMBuildOr(e->builder, at, linear_sum(e, place->value, tile, place->map.column, NULL), "");
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
  if (!place->nibbles && separate_offset(e, place, tile, &offset)) return advance(e, place, spot->common, offset);
  const emit_index_terms *terms = place->indexed ? &spot->terms : NULL;
  return advance(e, place, spot->base, whole_offset(e, place, terms, tile));
}

/* ---- flat kernels: positions by division ---- */

/* Whether 32 bits hold a position of the place and what carries over to it, both below 2^31. */
static bool is_narrow(const plan_place *place) {
  return place->count.arg < 0 && place->count.value <= (int64_t)1 << 31;
}

void emit_flat_first(emitter *e) {
  LLVMValueRef index = flat_first(e);
  for (int i = 0; i < e->kernel->n_places; i++)
    e->first[i] = take_place(e, e->kernel->place, i, e->kernel->n_places, &index);
}

/* The position in place i of what lies *carry (i32) behind the block's first; *carry: what goes on to the next. */
static LLVMValueRef flat_position(emitter *e, int i, LLVMValueRef *carry) {
  const plan_place *place = &e->kernel->place[i];
  LLVMTypeRef type = is_narrow(place) ? e->i32 : e->i64;
  LLVMValueRef first = resize(e, e->first[i], type);
  LLVMValueRef at = LLVMBuildAdd(e->builder, first, resize(e, *carry, type), "");
  LLVMValueRef count = resize(e, emit_number(e, &place->count), type), quotient;
  quotient = type == e->i32 ? LLVMBuildUDiv(e->builder, at, count, "") : divide(e, at, place);
  *carry = resize(e, quotient, e->i32);
  at = LLVMBuildSub(e->builder, at, LLVMBuildMul(e->builder, quotient, count, ""), "");
  return resize(e, at, e->i64);
}

/* Positions of what lies `low` (i64, below 2^31) behind the block's first. That one's are made once; what is added to
 * them carries over in numbers of 32 bits, whose divisions are cheap. */
static void flat_positions(emitter *e, LLVMValueRef low, LLVMValueRef position[PLAN_MAX_DIGITS]) {
  LLVMValueRef carry = resize(e, low, e->i32);
  int last = e->kernel->n_places - 1;
  for (int i = 0; i < e->kernel->n_digits; i++)
    position[i] = e->upper[i] ? e->upper[i] : emit_i64(e, 0);
  for (int i = 0; i < last; i++)
    position[e->kernel->place[i].digit] = flat_position(e, i, &carry);
  if (last < 0) return;
  LLVMValueRef rest = resize(e, carry, e->i64);
  position[e->kernel->place[last].digit] = LLVMBuildAdd(e->builder, e->first[last], rest, "");
}

static LLVMValueRef coordinate_of(const emitter *e, int axis,
                                  const LLVMValueRef position[PLAN_MAX_DIGITS]) {
  LLVMValueRef sum = emit_i64(e, 0);
  for (int i = 0; i < e->kernel->n_digits; i++) {
    if (e->kernel->digit[i].axis != axis) continue;
    LLVMValueRef term =
        LLVMBuildMul(e->builder, position[i], emit_i64(e, e->kernel->digit[i].step), "");
    sum = LLVMBuildAdd(e->builder, sum, term, "");
  }
  return sum;
}

LLVMValueRef emit_position(emitter *e, const plan_value *value, int i, uint64_t tile) {
  LLVMValueRef position[PLAN_MAX_DIGITS];
  if (!e->kernel->flat) return digit_position(e, value, i, tile);
  flat_positions(e, flat_low(e, value, tile), position);
  return position[i];
}

LLVMValueRef emit_coordinate(emitter *e, const plan_value *value, int axis, uint64_t tile) {
  LLVMValueRef position[PLAN_MAX_DIGITS];
  if (e->kernel->flat) flat_positions(e, flat_low(e, value, tile), position);
  for (int i = 0; i < e->kernel->n_digits && !e->kernel->flat; i++)
    if (e->kernel->digit[i].axis == axis) position[i] = digit_position(e, value, i, tile);
  return coordinate_of(e, axis, position);
}

/* What a term adds to its tensor's address. Divisors are constants. */
static LLVMValueRef flat_term(const emitter *e, const plan_term *term, LLVMValueRef coordinate) {
  LLVMValueRef at = LLVMBuildUDiv(e->builder, coordinate, emit_i64(e, term->step), "");
  if (term->extent > 0) at = LLVMBuildURem(e->builder, at, emit_i64(e, term->extent), "");
  if (term->bits > 0) return emit_linear(e, at, term->column, term->bits);
  return LLVMBuildMul(e->builder, at, emit_number(e, &term->stride), "");
}

/* A tensor's offset so far behind the block's first position; terms: what its indices add, or NULL. */
static LLVMValueRef flat_offset(emitter *e, int tensor, LLVMValueRef low,
                                const emit_index_terms *terms) {
  const plan_kernel *kernel = e->kernel;
  LLVMValueRef columns = terms ? terms->columns : emit_i64(e, 0);
  LLVMValueRef sum = terms ? terms->sum : emit_i64(e, 0), position[PLAN_MAX_DIGITS];
  flat_positions(e, low, position);
  for (int i = 0; i < kernel->n_digits; i++) {
    const plan_digit *digit = &kernel->digit[i];
    const plan_digit_side *side = &digit->side[tensor];
    if (side->kind == PLAN_INDEXED) continue;
    if (side->kind == PLAN_COLUMNS && !digit->rest) {
      const uint64_t *of_digit =
          &kernel->column[tensor][llrt_layout_out_shift(&kernel->space, i)];
      LLVMValueRef part = emit_linear(e, position[i], of_digit, digit->bits);
      columns = LLVMBuildXor(e->builder, columns, part, "");
    } else {
      LLVMValueRef term = LLVMBuildMul(e->builder, position[i], emit_number(e, &side->stride), "");
      sum = LLVMBuildAdd(e->builder, sum, term, "");
    }
  }
  for (int i = 0; i < kernel->n_terms; i++) {
    const plan_term *term = &kernel->term[i];
    if (term->tensor != tensor) continue;
    LLVMValueRef part = flat_term(e, term, coordinate_of(e, term->axis, position));
    sum = LLVMBuildAdd(e->builder, sum, part, "");
  }
  sum = LLVMBuildAdd(e->builder, sum, columns, "");
  return swizzle_offset(e, tensor, sum);
}

LLVMValueRef emit_panel(emitter *e, LLVMValueRef *pointer) {
  LLVMValueRef offset = flat_offset(e, 0, emit_i64(e, 0), NULL);
  *pointer = element_pointer(e, e->kernel->tensor_bits[0], e->ops->global(e, e->args[0]), offset);
  return offset;
}

static LLVMValueRef place_offset(emitter *e, emit_place *place, uint64_t tile) {
  const emit_spot *spot = spot_of(e, place, tile);
  return flat_offset(e, place->tensor, flat_low(e, place->value, tile),
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

/* ---- masks ---- */

static LLVMValueRef below(const emitter *e, LLVMValueRef at, LLVMValueRef limit) {
  return LLVMBuildICmp(e->builder, LLVMIntULT, at, limit, "");
}

LLVMValueRef emit_bound_limit(emitter *e, const plan_bound *bound) {
  if (!bound->device) return emit_number(e, &bound->limit);
  LLVMValueRef extent = e->extent[bound->axis];
  if (bound->round == 1) return extent;
  LLVMValueRef round = emit_i64(e, bound->round);
  extent = LLVMBuildAdd(e->builder, extent, emit_i64(e, bound->round - 1), "");
  return LLVMBuildMul(e->builder, LLVMBuildUDiv(e->builder, extent, round, ""), round, "");
}

LLVMValueRef emit_bound_full(emitter *e, const plan_bound *bound) {
  if (!bound->device) return emit_number(e, &bound->full);
  return LLVMBuildUDiv(e->builder, emit_bound_limit(e, bound), emit_i64(e, bound->group), "");
}

LLVMValueRef emit_bounded(emitter *e, const plan_value *value, const plan_bound *bound, uint64_t tile) {
  if (bound->axis < 0) return emit_position(e, value, bound->top, tile);
  return emit_coordinate(e, value, bound->axis, tile);
}

/* Whether a position is the block's, and the tensor's. */
static LLVMValueRef flat_inside(emitter *e, const plan_value *value, uint64_t tile) {
  LLVMValueRef panel = emit_i64(e, e->kernel->panel.positions);
  if (e->kernel->panel.positions > 0) return below(e, flat_low(e, value, tile), panel);
  return below(e, flat_index(e, value, tile), emit_number(e, &e->kernel->flat_elements));
}

LLVMValueRef emit_inside(emitter *e, const emit_place *place, uint64_t tile) {
  const plan_kernel *kernel = e->kernel;
  LLVMValueRef inside = NULL;
  if (kernel->flat) inside = flat_inside(e, place->value, tile);
  for (int i = 0; i < kernel->n_bounds; i++) {
    const plan_bound *bound = &kernel->bound[i];
    if (!(bound->tensors >> place->tensor & 1) || e->apart >> i & 1) continue;
    LLVMValueRef at = emit_bounded(e, place->value, bound, tile);
    inside = emit_and(e, inside, below(e, at, emit_bound_limit(e, bound)));
  }
  return inside;
}

LLVMValueRef emit_interior(emitter *e, uint32_t apart) {
  const plan_kernel *kernel = e->kernel;
  LLVMValueRef interior = emit_block_within(e);
  for (int i = 0; i < kernel->n_bounds; i++) {
    if (apart >> i & 1) continue;
    LLVMValueRef full = emit_bound_full(e, &kernel->bound[i]);
    interior = emit_and(e, interior, below(e, e->upper[kernel->bound[i].top], full));
  }
  return interior;
}

static uint64_t copy_mask(const plan_value *value, plan_dim dim) {
  uint64_t mask = 0;
  for (int i = 0; i < plan_value_bits(value, dim); i++)
    if (plan_value_columns(value, dim)[i] == 0) mask |= 1ull << i;
  return mask;
}

static LLVMValueRef is_first(emitter *e, const plan_value *value, uint64_t warps) {
  LLVMValueRef first = NULL;
  const struct {
    plan_dim dim;
    LLVMValueRef at;
    uint64_t among;
  } dims[] = {{PLAN_LANE, e->lane, UINT64_MAX}, {PLAN_WARP, e->warp, warps}};
  for (int d = 0; d < 2; d++) {
    uint64_t mask = copy_mask(value, dims[d].dim) & dims[d].among;
    if (!dims[d].at || mask == 0) continue;
    LLVMValueRef bits = LLVMBuildAnd(e->builder, dims[d].at, emit_i32(e, (int64_t)mask), "");
    first = emit_and(e, first, LLVMBuildICmp(e->builder, LLVMIntEQ, bits, emit_i32(e, 0), ""));
  }
  return first;
}

LLVMValueRef emit_is_first_copy(emitter *e, const plan_value *value) {
  return is_first(e, value, UINT64_MAX);
}

LLVMValueRef emit_is_first_in_block(emitter *e, const plan_value *value) {
  return is_first(e, value, bits_mask(e->kernel->warp_bits - e->kernel->cluster_bits));
}

LLVMValueRef emit_block_of(emitter *e, const plan_value *value, const plan_blocks *blocks, uint64_t known) {
  int warps = e->kernel->warp_bits - e->kernel->cluster_bits;
  LLVMValueRef block = moving_part(e, value, blocks->of_tile, NULL, bits_mask(e->kernel->cluster_bits));
  LLVMValueRef own = LLVMBuildLShr(e->builder, e->warp, emit_i32(e, warps), "");
  own = LLVMBuildAnd(e->builder, own, emit_i32(e, (int64_t)blocks->own), "");
  block = LLVMBuildXor(e->builder, block, own, "");
  return LLVMBuildXor(e->builder, block, emit_i32(e, (int64_t)known), "");
}
