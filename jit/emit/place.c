/* Where things are: block decode, element addresses, edge masks. Must agree with jit/plan/eval.c.
 *
 * An element's address is the XOR of four parts: one known at compile time (its register, on the host
 * its lane), and those of thread, iteration and grid. Where the known part's bits are not moved by the
 * others it is an offset from a common pointer; the rest is XORed in first. */
#include "jit/emit/builder.h"

#include "base/bits.h"

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

/* Takes the fastest place off *index; its position. */
static LLVMValueRef take_place(const emitter *e, int i, LLVMValueRef *index) {
  const plan_place *place = &e->kernel->place[i];
  LLVMValueRef position = *index;
  if (i + 1 == e->kernel->n_places) return position;
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
    LLVMValueRef position = take_place(e, i, &index);
    if (place->digit >= 0) e->upper[place->digit] = position;
    else e->grid = position;
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

/* The flat index at tile coordinate `tile` XOR what the thread adds. */
static LLVMValueRef flat_index(emitter *e, const plan_value *value, uint64_t tile) {
  uint64_t identity[LLRT_MAX_BITS];
  int bits = value->layout.out[0].bits;
  for (int b = 0; b < LLRT_MAX_BITS; b++) identity[b] = 1ull << b;
  LLVMValueRef first = LLVMBuildShl(e->builder, e->block, emit_i64(e, bits), "");
  LLVMValueRef low = linear_sum(e, value, tile, identity, NULL);
  return LLVMBuildOr(e->builder, first, low, "");
}

/* ---- addresses ---- */

/* Columns tile -> address, grid -> address of a tensor's XOR part. */
static void tensor_columns(const plan_kernel *kernel, int tensor, uint64_t *of_grid) {
  const llrt_layout *space = &kernel->space;
  for (int b = 0; b < space->in[1].bits; b++)
    of_grid[b] = f2_apply(kernel->column[tensor], space->column[space->in[0].bits + b]);
}

static LLVMValueRef advance(const emitter *e, const emit_place *place, LLVMValueRef pointer,
                            LLVMValueRef offset) {
  return LLVMBuildGEP2(e->builder, place->element, pointer, &offset, 1, "");
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

/* The offset of tile coordinate `tile` XOR what the thread adds, all of it at run time. */
static LLVMValueRef whole_offset(emitter *e, const emit_place *place, uint64_t tile) {
  const plan_kernel *kernel = e->kernel;
  uint64_t of_grid[LLRT_MAX_BITS] = {0};
  bool tensor = place->tensor >= 0;
  if (tensor) tensor_columns(kernel, place->tensor, of_grid);
  LLVMValueRef sum =
      linear_sum(e, place->value, tile, place->map.column, tensor ? of_grid : NULL);
  for (int i = 0; tensor && i < kernel->n_digits; i++) {
    const plan_digit_side *side = &kernel->digit[i].side[place->tensor];
    if (side->kind == PLAN_COLUMNS && !kernel->digit[i].rest) continue;
    LLVMValueRef position = side->kind == PLAN_STRIDE ? digit_position(e, place->value, i, tile)
                                                      : e->upper[i];
    LLVMValueRef term = LLVMBuildMul(e->builder, position, emit_number(e, &side->stride), "");
    sum = LLVMBuildAdd(e->builder, sum, term, "");
  }
  return tensor ? swizzle_offset(e, place->tensor, sum) : sum;
}

void emit_place_tensor(emitter *e, const plan_value *value, int tensor, emit_place *place) {
  *place = (emit_place){
      .value = value, .element = emit_int_type(e, e->kernel->tensor_bits[tensor]), .tensor = tensor};
  place->base = e->ops->global(e, e->args[tensor]);
  if (e->kernel->flat) return;
  uint64_t of_grid[LLRT_MAX_BITS] = {0};
  plan_address_of_tensor(e->kernel, tensor, &place->map);
  tensor_columns(e->kernel, tensor, of_grid);
  place->moving = moving_bits(e, value, place->map.column, of_grid);
  place->common = advance(e, place, place->base, whole_offset(e, place, 0));
}

void emit_place_buffer(emitter *e, const plan_value *value, int buffer, emit_place *place) {
  *place = (emit_place){.value = value,
                         .element = emit_int_type(e, value->bits),
                         .tensor = -1,
                         .base = e->shared[buffer]};
  plan_address_of_buffer(e->kernel, buffer, &place->map);
  place->moving = moving_bits(e, value, place->map.column, NULL);
  place->common = advance(e, place, place->base, whole_offset(e, place, 0));
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
    uint64_t of_tile[LLRT_MAX_BITS] = {0}, of_grid[LLRT_MAX_BITS] = {0};
    if (side->kind != PLAN_STRIDE) continue;
    digit_columns(kernel, i, of_tile, of_grid);
    known = f2_apply(of_tile, tile);
    if (known & moving_bits(e, place->value, of_tile, of_grid)) return false;
    LLVMValueRef term =
        LLVMBuildMul(e->builder, emit_i64(e, (int64_t)known), emit_number(e, &side->stride), "");
    *offset = LLVMBuildAdd(e->builder, *offset, term, "");
  }
  return true;
}

static LLVMValueRef tiled_pointer(emitter *e, const emit_place *place, uint64_t tile) {
  LLVMValueRef offset;
  if (separate_offset(e, place, tile, &offset)) return advance(e, place, place->common, offset);
  return advance(e, place, place->base, whole_offset(e, place, tile));
}

/* ---- flat kernels: positions by division ---- */

static void flat_positions(emitter *e, const plan_value *value, uint64_t tile,
                           LLVMValueRef position[PLAN_MAX_DIGITS]) {
  LLVMValueRef index = flat_index(e, value, tile);
  for (int i = 0; i < e->kernel->n_digits; i++) position[i] = emit_i64(e, 0);
  for (int i = 0; i < e->kernel->n_places; i++)
    position[e->kernel->place[i].digit] = take_place(e, i, &index);
}

static LLVMValueRef flat_coordinate(const emitter *e, int axis,
                                    LLVMValueRef position[PLAN_MAX_DIGITS]) {
  LLVMValueRef sum = emit_i64(e, 0);
  for (int i = 0; i < e->kernel->n_digits; i++) {
    if (e->kernel->digit[i].axis != axis) continue;
    LLVMValueRef term =
        LLVMBuildMul(e->builder, position[i], emit_i64(e, e->kernel->digit[i].step), "");
    sum = LLVMBuildAdd(e->builder, sum, term, "");
  }
  return sum;
}

/* What a term adds to its tensor's address. Divisors are constants. */
static LLVMValueRef flat_term(const emitter *e, const plan_term *term, LLVMValueRef coordinate) {
  LLVMValueRef at = LLVMBuildUDiv(e->builder, coordinate, emit_i64(e, term->step), "");
  if (term->extent > 0) at = LLVMBuildURem(e->builder, at, emit_i64(e, term->extent), "");
  if (term->bits > 0) return emit_linear(e, at, term->column, term->bits);
  return LLVMBuildMul(e->builder, at, emit_number(e, &term->stride), "");
}

static LLVMValueRef flat_pointer(emitter *e, const emit_place *place, uint64_t tile) {
  const plan_kernel *kernel = e->kernel;
  LLVMValueRef columns = emit_i64(e, 0), sum = emit_i64(e, 0), position[PLAN_MAX_DIGITS];
  flat_positions(e, place->value, tile, position);
  for (int i = 0; i < kernel->n_digits; i++) {
    const plan_digit *digit = &kernel->digit[i];
    const plan_digit_side *side = &digit->side[place->tensor];
    if (side->kind == PLAN_COLUMNS && !digit->rest) {
      const uint64_t *of_digit =
          &kernel->column[place->tensor][llrt_layout_out_shift(&kernel->space, i)];
      LLVMValueRef part = emit_linear(e, position[i], of_digit, digit->bits);
      columns = LLVMBuildXor(e->builder, columns, part, "");
    } else {
      LLVMValueRef term = LLVMBuildMul(e->builder, position[i], emit_number(e, &side->stride), "");
      sum = LLVMBuildAdd(e->builder, sum, term, "");
    }
  }
  for (int i = 0; i < kernel->n_terms; i++) {
    const plan_term *term = &kernel->term[i];
    if (term->tensor != place->tensor) continue;
    LLVMValueRef part = flat_term(e, term, flat_coordinate(e, term->axis, position));
    sum = LLVMBuildAdd(e->builder, sum, part, "");
  }
  sum = LLVMBuildAdd(e->builder, sum, columns, "");
  return advance(e, place, place->base, swizzle_offset(e, place->tensor, sum));
}

LLVMValueRef emit_pointer(emitter *e, const emit_place *place, uint64_t tile) {
  if (place->tensor >= 0 && e->kernel->flat) return flat_pointer(e, place, tile);
  return tiled_pointer(e, place, tile);
}

/* ---- masks ---- */

static LLVMValueRef conjunction(const emitter *e, LLVMValueRef a, LLVMValueRef b) {
  return a ? LLVMBuildAnd(e->builder, a, b, "") : b;
}

static LLVMValueRef below(const emitter *e, LLVMValueRef at, const plan_number *limit) {
  return LLVMBuildICmp(e->builder, LLVMIntULT, at, emit_number(e, limit), "");
}

/* What a bound looks at: the coordinate of its axis, or its digit's position. */
static LLVMValueRef bounded(emitter *e, const plan_value *value, const plan_bound *bound,
                            uint64_t tile) {
  if (bound->axis < 0) return digit_position(e, value, bound->top, tile);
  LLVMValueRef sum = emit_i64(e, 0);
  for (int i = 0; i < e->kernel->n_digits; i++) {
    const plan_digit *digit = &e->kernel->digit[i];
    if (digit->axis != bound->axis) continue;
    LLVMValueRef part = LLVMBuildMul(e->builder, digit_position(e, value, i, tile),
                                     emit_i64(e, digit->step), "");
    sum = LLVMBuildAdd(e->builder, sum, part, "");
  }
  return sum;
}

static LLVMValueRef flat_inside(emitter *e, const emit_place *place, uint64_t tile) {
  const plan_kernel *kernel = e->kernel;
  LLVMValueRef position[PLAN_MAX_DIGITS];
  LLVMValueRef inside = below(e, flat_index(e, place->value, tile), &kernel->flat_elements);
  flat_positions(e, place->value, tile, position);
  for (int i = 0; i < kernel->n_bounds; i++) {
    const plan_bound *bound = &kernel->bound[i];
    if (!(bound->tensors >> place->tensor & 1)) continue;
    LLVMValueRef at =
        bound->axis < 0 ? position[bound->top] : flat_coordinate(e, bound->axis, position);
    inside = conjunction(e, inside, below(e, at, &bound->limit));
  }
  return inside;
}

LLVMValueRef emit_inside(emitter *e, const emit_place *place, uint64_t tile) {
  const plan_kernel *kernel = e->kernel;
  LLVMValueRef inside = NULL;
  if (kernel->flat) return flat_inside(e, place, tile);
  for (int i = 0; i < kernel->n_bounds; i++) {
    const plan_bound *bound = &kernel->bound[i];
    if (!(bound->tensors >> place->tensor & 1)) continue;
    LLVMValueRef at = bounded(e, place->value, bound, tile);
    inside = conjunction(e, inside, below(e, at, &bound->limit));
  }
  return inside;
}

LLVMValueRef emit_interior(emitter *e) {
  const plan_kernel *kernel = e->kernel;
  LLVMValueRef interior = NULL;
  for (int i = 0; i < kernel->n_bounds; i++)
    interior = conjunction(e, interior,
                           below(e, e->upper[kernel->bound[i].top], &kernel->bound[i].full));
  return interior;
}

static uint64_t copy_mask(const plan_value *value, plan_dim dim) {
  uint64_t mask = 0;
  for (int i = 0; i < plan_value_bits(value, dim); i++)
    if (plan_value_columns(value, dim)[i] == 0) mask |= 1ull << i;
  return mask;
}

LLVMValueRef emit_is_first_copy(emitter *e, const plan_value *value) {
  LLVMValueRef first = NULL;
  const struct {
    plan_dim dim;
    LLVMValueRef at;
  } dims[] = {{PLAN_LANE, e->lane}, {PLAN_WARP, e->warp}};
  for (int d = 0; d < 2; d++) {
    uint64_t mask = copy_mask(value, dims[d].dim);
    if (!dims[d].at || mask == 0) continue;
    LLVMValueRef bits = LLVMBuildAnd(e->builder, dims[d].at, emit_i32(e, (int64_t)mask), "");
    first = conjunction(e, first,
                        LLVMBuildICmp(e->builder, LLVMIntEQ, bits, emit_i32(e, 0), ""));
  }
  return first;
}
