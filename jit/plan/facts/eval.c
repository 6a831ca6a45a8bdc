/* See eval.h. */
#include "jit/plan/facts/eval.h"

#include "base/bits.h"
#include "jit/plan/facts/index_eval.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"
#include "layout/storage_rule.h"

#include <string.h>

int64_t plan_number_value(const plan_number *number, const uint64_t *args, int64_t unknown) {
  if (number->arg < 0) return number->value;
  return args ? (int64_t)args[number->arg] : unknown;
}

/* The number that a block has where the first place is the fastest. */
static int64_t in_bands(const plan_kernel *kernel, int64_t block, const uint64_t *args) {
  int64_t first = plan_number_value(&kernel->place[0].count, args, 1);
  int64_t second = plan_number_value(&kernel->place[1].count, args, 1);
  if (kernel->band_from > 0 &&
      plan_number_value(&kernel->band_pitch, args, 0) % kernel->band_from != 0)
    return block;
  int64_t at = block % (first * second), begin = at / (kernel->band * first) * kernel->band;
  int64_t rows = second - begin < kernel->band ? second - begin : kernel->band,
          inside = at - begin * first;
  return block - at + (begin + inside % rows) * first + inside / rows;
}

void plan_decode_block(const plan_kernel *kernel, int64_t block, const uint64_t *args,
                       uint64_t *grid, int64_t upper[PLAN_MAX_DIGITS]) {
  *grid = 0;
  for (int i = 0; i < kernel->n_digits; i++) upper[i] = 0;
  if (kernel->band > 0) block = in_bands(kernel, block, args);
  for (int i = 0; i < kernel->n_places; i++) {
    const plan_place *place = &kernel->place[i];
    int64_t count = (int64_t)1 << place->bits;
    if (place->digit >= 0) count = plan_number_value(&place->count, args, 1);
    int64_t position = i + 1 == kernel->n_places ? block : block % count;
    if (place->digit >= 0) upper[place->digit] = position;
    else *grid = (uint64_t)position;
    block /= count;
  }
}

/* The first of the dealt turns of a block: runs have `dealt` / blocks turns, the first ones one
 * more. */
static int64_t first_dealt(int64_t dealt, int64_t blocks, int64_t block) {
  int64_t longer = dealt % blocks;
  return block * (dealt / blocks) + (block < longer ? block : longer);
}

plan_piece plan_deal_piece(int64_t positions, int64_t turns, int64_t blocks, int64_t block,
                           int64_t left) {
  int64_t waves = positions / blocks > 1 ? positions / blocks - 1 : 0, first = waves * blocks;
  int64_t dealt = (positions - first) * turns, begin = first_dealt(dealt, blocks, block),
          run = first_dealt(dealt, blocks, block + 1) - begin;
  if (left < 0) left = run + waves * turns;
  plan_piece piece = {.left = left, .to = turns};
  if (left > run) {
    piece.position = block + ((left - run) / turns - 1) * blocks;
    piece.rest = left - turns;
  } else if (left > 0) {
    int64_t own = (begin + left - 1) / turns, start = own * turns;
    piece.position = first + own;
    piece.from = begin > start ? begin - start : 0;
    piece.to = begin + left - start;
    piece.rest = left - (piece.to - piece.from);
    piece.before = block;
    while (piece.from > 0 && first_dealt(dealt, blocks, piece.before) > start) piece.before--;
  }
  return piece;
}

void plan_block_turns(const plan_kernel *kernel, const int64_t upper[PLAN_MAX_DIGITS],
                      const uint64_t *args, int64_t *begin, int64_t *end) {
  const plan_turns *walk = &kernel->walk;
  int64_t turns = plan_number_value(&walk->turns, args, 1);
  int64_t share = walk->split < 0 ? turns : plan_number_value(&walk->share, args, 1);
  *begin = walk->split < 0 ? 0 : upper[walk->split] * share;
  *end = share < turns - *begin ? *begin + share : turns;
}

bool plan_begins_copies(const plan_kernel *kernel, int at) {
  bool copies = false;
  for (int i = at + 1; i <= at + kernel->step[at].body; i++)
    copies |= kernel->step[i].kind == PLAN_COPY;
  return copies;
}

void plan_decode_turn(const plan_kernel *kernel, int64_t turn, const uint64_t *args, uint64_t *grid,
                      int64_t upper[PLAN_MAX_DIGITS]) {
  const plan_turns *walk = &kernel->walk;
  if (walk->down) turn = plan_number_value(&walk->turns, args, 1) - 1 - turn;
  *grid &= bits_mask(walk->grid_bits);
  for (int i = 0; i < walk->n_places; i++) {
    const plan_place *place = &walk->place[i];
    int64_t count = (int64_t)1 << place->bits;
    if (place->digit >= 0) count = plan_number_value(&place->count, args, 1);
    int64_t position = i + 1 == walk->n_places ? turn : turn % count;
    if (place->digit >= 0) upper[place->digit] = position;
    else *grid |= (uint64_t)position << walk->grid_bits;
    turn /= count;
  }
}

void plan_tile_position(const plan_kernel *kernel, uint64_t y, uint64_t grid,
                        const int64_t upper[PLAN_MAX_DIGITS], int64_t position[PLAN_MAX_DIGITS]) {
  const llrt_layout *space = &kernel->space;
  uint64_t bits = f2_apply(space->column, y) ^ f2_apply(&space->column[space->in[0].bits], grid);
  for (int i = 0; i < kernel->n_digits; i++) {
    int n = kernel->digit[i].bits;
    position[i] = upper[i] << n | (int64_t)(bits & bits_mask(n));
    bits = n < 64 ? bits >> n : 0;
  }
}

bool plan_flat_index(const plan_kernel *kernel, int64_t block, uint64_t tile, const uint64_t *args,
                     int64_t *index) {
  int64_t size = kernel->panel.positions;
  if (size == 0) size = (int64_t)1 << kernel->value[0].layout.out[0].bits;
  *index = block * size + (int64_t)tile;
  return (int64_t)tile < size && *index < plan_number_value(&kernel->flat_elements, args, 0);
}

/* Leaves the quotient in *index and returns the rest; of what fits 32 bits by the division that
 * takes a quarter of the time. */
static int64_t divide(int64_t *index, int64_t count) {
  const int64_t whole = *index;
  if ((uint64_t)(whole | count) >> 32) *index = whole / count;
  else *index = (uint32_t)whole / (uint32_t)count;
  return whole - *index * count;
}

void plan_flat_position(const plan_kernel *kernel, int64_t index, const uint64_t *args,
                        const int64_t upper[PLAN_MAX_DIGITS], int64_t position[PLAN_MAX_DIGITS]) {
  for (int i = 0; i < kernel->n_digits; i++) position[i] = upper[i];
  for (int i = 0; i < kernel->n_places; i++) {
    const plan_place *place = &kernel->place[i];
    int64_t count = plan_number_value(&place->count, args, 1);
    if (i + 1 == kernel->n_places) position[place->digit] = index;
    else position[place->digit] = count == 1 ? 0 : divide(&index, count);
  }
}

int64_t plan_coordinate(const plan_kernel *kernel, int axis,
                        const int64_t position[PLAN_MAX_DIGITS]) {
  int64_t coordinate = 0;
  for (int i = 0; i < kernel->n_digits; i++)
    if (kernel->digit[i].axis == axis) coordinate += position[i] * kernel->digit[i].step;
  return coordinate;
}

int64_t plan_position_of(const plan_kernel *kernel, const int64_t position[PLAN_MAX_DIGITS],
                         const uint64_t *args) {
  int64_t sum = 0;
  for (uint32_t axes = kernel->position_axes; axes; axes &= axes - 1) {
    int axis = bits_lowest(axes);
    sum += plan_coordinate(kernel, axis, position) *
           plan_number_value(&kernel->position[axis], args, 1);
  }
  return sum;
}

/* Adds what a term does: the axes' parts of a tile are columns, which may have bits in common. */
static void add_term(const plan_term *term, int64_t coordinate, const uint64_t *args,
                     int64_t unknown, uint64_t *columns, int64_t *sum) {
  int64_t position = coordinate / term->step;
  if (term->extent > 0) position %= term->extent;
  if (term->bits > 0) *columns ^= f2_apply(term->column, (uint64_t)position);
  else *sum += position * plan_number_value(&term->stride, args, unknown);
}

int64_t plan_offset(const plan_kernel *kernel, int tensor, const int64_t position[PLAN_MAX_DIGITS],
                    const plan_index_terms *terms, const uint64_t *args, int64_t unknown) {
  uint64_t columns = terms ? terms->columns : 0;
  int64_t sum = kernel->origin[tensor] + (terms ? terms->sum : 0);
  for (int i = 0, shift = 0; i < kernel->n_digits; i++) {
    const plan_digit *digit = &kernel->digit[i];
    const plan_digit_side *side = &digit->side[tensor];
    if (side->kind == PLAN_STRIDE) {
      sum += position[i] * plan_number_value(&side->stride, args, unknown);
    } else if (side->kind == PLAN_COLUMNS) {
      columns ^=
          f2_apply(&kernel->column[tensor][shift], (uint64_t)position[i] & bits_mask(digit->bits));
      if (digit->rest)
        sum += (position[i] >> digit->bits) * plan_number_value(&side->stride, args, unknown);
    }
    shift += digit->bits;
  }
  for (int i = 0; i < kernel->n_terms; i++)
    if (kernel->term[i].tensor == tensor)
      add_term(&kernel->term[i], plan_coordinate(kernel, kernel->term[i].axis, position), args,
               unknown, &columns, &sum);
  return (int64_t)storage_swizzle(&kernel->swizzle[tensor], (uint64_t)(sum + (int64_t)columns));
}

int64_t plan_device_limit(const plan_kernel *kernel, int axis, const uint64_t *args) {
  const plan_device_extent *extent = &kernel->extent[axis];
  int64_t limit = plan_number_value(&extent->limit, args, INT64_MAX);
  if (!args || !extent->used) return limit;
  const int32_t *at = (const int32_t *)(uintptr_t)plan_number_value(&extent->address, args, 0);
  return *at < 0 ? 0 : *at < limit ? *at : limit;
}

int64_t plan_bound_limit(const plan_kernel *kernel, const plan_bound *bound, const uint64_t *args) {
  if (!bound->device || !args) return plan_number_value(&bound->limit, args, INT64_MAX);
  return bits_ceil_div(plan_device_limit(kernel, bound->axis, args), bound->round) * bound->round;
}

static int64_t bound_full(const plan_kernel *kernel, const plan_bound *bound,
                          const uint64_t *args) {
  if (!bound->device || !args) return plan_number_value(&bound->full, args, 0);
  return plan_bound_limit(kernel, bound, args) / bound->covered;
}

bool plan_block_beyond(const plan_kernel *kernel, const int64_t upper[PLAN_MAX_DIGITS],
                       const uint64_t *args) {
  for (int i = 0; i < kernel->n_bounds; i++) {
    const plan_bound *bound = &kernel->bound[i];
    if (bound->device && bound->tensors >> PLAN_DESTINATION & 1 &&
        upper[bound->top] * bound->covered >= plan_bound_limit(kernel, bound, args))
      return true;
  }
  return false;
}

bool plan_position_inside(const plan_kernel *kernel, int tensor, uint32_t ignored_bounds,
                          const int64_t position[PLAN_MAX_DIGITS], const uint64_t *args) {
  for (int i = 0; i < kernel->n_bounds; i++) {
    const plan_bound *bound = &kernel->bound[i];
    int64_t at =
        bound->axis < 0 ? position[bound->top] : plan_coordinate(kernel, bound->axis, position);
    if (bound->tensors >> tensor & 1 && !(ignored_bounds >> i & 1) &&
        at >= plan_bound_limit(kernel, bound, args))
      return false;
  }
  return true;
}

bool plan_position_before(const plan_kernel *kernel, const int64_t position[PLAN_MAX_DIGITS],
                          const uint64_t *args, int64_t before[PLAN_MAX_DIGITS]) {
  const plan_sequence *sequence = &kernel->sequence;
  memcpy(before, position, PLAN_MAX_DIGITS * sizeof *before);
  for (int k = 0; k < sequence->n; k++) {
    int i = sequence->digit[k];
    if (before[i]-- > 0) return true;
    before[i] = plan_number_value(&sequence->count[k], args, 1) - 1;
  }
  return false;
}

bool plan_block_interior(const plan_kernel *kernel, const int64_t upper[PLAN_MAX_DIGITS],
                         uint32_t ignored_bounds, const uint64_t *args) {
  for (int i = 0; i < kernel->n_bounds; i++)
    if (!(ignored_bounds >> i & 1) &&
        upper[kernel->bound[i].top] >= bound_full(kernel, &kernel->bound[i], args))
      return false;
  return true;
}

uint64_t plan_value_at(const plan_value *value, uint64_t reg, uint64_t lane, uint64_t warp,
                       uint64_t iteration) {
  int lanes = plan_value_bits(value, PLAN_REGISTER);
  int warps = lanes + plan_value_bits(value, PLAN_LANE);
  int iterations = warps + plan_value_bits(value, PLAN_WARP);
  return f2_apply(value->layout.column,
                  reg | lane << lanes | warp << warps | iteration << iterations);
}
