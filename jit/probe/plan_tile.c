/* See plan_tile.h: layouts -> values, then load, repeat (exchange, exchange), store. */
#include "jit/probe/plan_tile.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/block/block.h"
#include "jit/plan/check/plan_view.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/exchange/exchange.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/vector_list.h"
#include "jit/plan/reduce/reduce.h"
#include "jit/plan/types/combine.h"
#include "jit/plan/types/number.h"
#include "jit/probe/tile_side.h"
#include "layout/f2.h"

#include <string.h>

#define COORDINATE_BITS 32 /* of a gather */

/* ---- the kernel ---- */

/* Labels the reduced rows in order of their pivots: a full tile's coordinates are its own bits. */
static void sort_rows(f2_basis *tile, uint64_t *columns) {
  int n = 0;
  for (uint64_t p = tile->pivots; p; p &= p - 1) {
    int row = bits_lowest(p);
    columns[n] = tile->row[row];
    tile->label[row] = 1ull << n++;
  }
}

/* One digit, of which a tile (2^block bits of them) is the fixed part; a block takes a tile. */
static llrt_status fill_space(draft *d, const llrt_layout *layout, const vector_list *blocks,
                              f2_basis *tile) {
  plan_kernel *kernel = d->kernel;
  llrt_layout *space = &kernel->space;
  int bits = llrt_layout_out_bits(layout);
  LLRT_TRY(draft_tile_digit(d, bits, bits));
  for (int t = 0; t < kernel->n_tensors; t++)
    for (int b = 0; b < bits; b++) kernel->column[t][b] = 1ull << b;
  *space = llrt_layout_empty();
  LLRT_TRY(llrt_layout_add_out(space, "d0", bits));
  LLRT_TRY(llrt_layout_add_in(space, "tile", tile->rank));
  LLRT_TRY(llrt_layout_add_in(space, "grid", blocks->n));
  sort_rows(tile, space->column);
  memcpy(&space->column[tile->rank], blocks->at, (size_t)blocks->n * sizeof *blocks->at);
  if (blocks->n > 0) {
    kernel->place[kernel->n_places++] = (plan_place){.digit = -1, .bits = (uint8_t)blocks->n};
    kernel->launch.grid[kernel->launch.n_grid++] =
        (plan_grid_place){.axis = -1, .factor = (int64_t)1 << blocks->n};
  }
  return draft_digit_place(d, 0, (int64_t)1 << bits);
}

/* log2 elements of an access: the widest that verify allows. */
static int access_vector(const plan_kernel *kernel, int tensor, const plan_value *value) {
  plan_address_map map;
  plan_address_of_tensor(kernel, tensor, &map);
  return plan_access_widest(kernel, value, &map,
                            kernel->target.simd_lanes ? PLAN_LANE : PLAN_REGISTER);
}

static llrt_status opaque_step(plan_kernel *kernel, int *at) {
  int in = *at;
  LLRT_TRY(draft_value(kernel, &kernel->value[in], at));
  return draft_step(kernel,
                    (plan_step){.kind = PLAN_OPAQUE, .in = (uint8_t)in, .out = (uint8_t)*at});
}

/* The tile bits of an out-dim, all inside a block, lowest first. */
static llrt_status axis_order(const llrt_layout *layout, int axis, const f2_basis *span,
                              plan_order *order) {
  int shift = llrt_layout_out_shift(layout, axis);
  order->n = (uint8_t)layout->out[axis].bits;
  for (int i = 0; i < order->n; i++) {
    uint64_t at = 0;
    bool inside = f2_basis_coordinates(span, 1ull << (shift + i), &at);
    if (!inside || bits_count(at) != 1)
      return llrt_error(LLRT_UNSUPPORTED, "an axis that is split between blocks");
    order->bit[i] = (uint8_t)bits_lowest(at);
  }
  return LLRT_OK;
}

static llrt_status load_step(plan_kernel *kernel, int tensor, const plan_value *value,
                             int *number) {
  LLRT_TRY(draft_value(kernel, value, number));
  return draft_step(kernel, (plan_step){.kind = PLAN_LOAD,
                                        .tensor = (uint8_t)tensor,
                                        .out = (uint8_t)*number,
                                        .vector = (uint8_t)access_vector(kernel, tensor, value)});
}

/* The coordinates of a gather are hidden each time, so that no turn works out their places for the
 * next. */
static llrt_status gather_steps(draft *d, const plan_tile *tile, const f2_basis *span,
                                int coordinates, int in, int *out) {
  plan_order order;
  LLRT_TRY(axis_order(tile->a, tile->gather->axis, span, &order));
  LLRT_TRY(opaque_step(d->kernel, &coordinates));
  return draft_gather(d, in, coordinates, order.n ? order.bit[0] : 0, order.n, out);
}

static llrt_status check_cast(const plan_tile *tile) {
  const plan_tile_cast *cast = tile->cast;
  int to = llrt_dtype_bits(cast->to);
  LLRT_REQUIRE(!tile->scan && !tile->reduce && !tile->gather, "a cast beside other work");
  LLRT_REQUIRE(llrt_dtype_bits(cast->from) == tile->element_bits && to >= 8 && to <= 64,
               "a cast from %s to %s", llrt_dtype_name(cast->from), llrt_dtype_name(cast->to));
  if (!number_cast_exists(cast->from, cast->to) || !number_cast_exists(cast->to, cast->from))
    return llrt_error(LLRT_UNSUPPORTED, "a cast from %s to %s and back",
                      llrt_dtype_name(cast->from), llrt_dtype_name(cast->to));
  return LLRT_OK;
}

static void add_casts(const plan_tile *tile, plan_kernel *kernel) {
  const plan_tile_cast *cast = tile->cast;
  kernel->map[0] =
      (plan_map){.kind = PLAN_MAP_CAST, .from = (uint8_t)cast->from, .to = (uint8_t)cast->to};
  kernel->map[1] =
      (plan_map){.kind = PLAN_MAP_CAST, .from = (uint8_t)cast->to, .to = (uint8_t)cast->from};
  kernel->n_maps = 2;
}

/* One way of a conversion to `target` that casts by map number `map`; the narrower elements are
 * exchanged. */
static llrt_status cast_exchange(draft *d, int map, const plan_value *target, int *at) {
  const plan_map *cast = &d->kernel->map[map];
  int from = llrt_dtype_bits((llrt_dtype)cast->from), to = llrt_dtype_bits((llrt_dtype)cast->to);
  plan_value moved = draft_retyped(d, target, bits_min(from, to));
  if (to < from) LLRT_TRY(draft_map_steps(d, map, 1, false, at));
  LLRT_TRY(draft_exchange(d, *at, &moved, at));
  return to < from ? LLRT_OK : draft_map_steps(d, map, 1, false, at);
}

/* `turns` times there and back; `coordinates`: of a gather. */
static llrt_status repeat_steps(draft *d, const plan_tile *tile, const plan_value value[2],
                                const f2_basis *span, int coordinates, int loaded, int *out) {
  plan_kernel *kernel = d->kernel;
  int carried, at, repeat;
  LLRT_TRY(draft_value(kernel, &value[0], &carried));
  at = carried;
  repeat = kernel->n_steps;
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_REPEAT,
                                          .in = (uint8_t)loaded,
                                          .out = (uint8_t)carried,
                                          .turns = tile->turns}));
  if (tile->gather) LLRT_TRY(gather_steps(d, tile, span, coordinates, carried, &at));
  else if (tile->cast) LLRT_TRY(cast_exchange(d, 0, &value[1], &at));
  else LLRT_TRY(draft_exchange(d, carried, &value[1], &at));
  LLRT_TRY(opaque_step(kernel, &at));
  if (tile->cast) {
    LLRT_TRY(cast_exchange(d, 1, &value[0], &at));
    LLRT_TRY(opaque_step(kernel, &at));
  } else if (!tile->gather || !llrt_layout_equal(&value[0].layout, &value[1].layout)) {
    LLRT_TRY(draft_exchange(d, at, &value[0], &at));
    LLRT_TRY(opaque_step(kernel, &at));
  }
  draft_close(kernel, repeat);
  *out = at;
  return LLRT_OK;
}

static llrt_status scan_steps(draft *d, const plan_tile *tile, const plan_value value[2],
                              const f2_basis *span, int loaded, int *out) {
  draft_scan_spec spec = {.combiner = (uint8_t)tile->scan->combiner,
                          .type = (uint8_t)tile->scan->type,
                          .exclusive = tile->scan->exclusive,
                          .reverse = tile->scan->reverse,
                          .carry = -1};
  LLRT_TRY(axis_order(tile->a, tile->scan->axis, span, &spec.order));
  LLRT_TRY(draft_exchange(d, loaded, &value[1], out));
  LLRT_TRY(draft_scan(d, *out, &spec, out, NULL));
  return draft_exchange(d, *out, &value[0], out);
}

static llrt_status add_steps(draft *d, const plan_tile *tile, const plan_value value[2],
                             const f2_basis *span) {
  plan_kernel *kernel = d->kernel;
  int loaded, at, coordinates = -1;
  if (tile->gather) {
    plan_value asked = draft_retyped(d, &value[1], kernel->tensor_bits[2]);
    LLRT_TRY(load_step(kernel, 2, &asked, &coordinates));
  }
  LLRT_TRY(load_step(kernel, 0, &value[0], &loaded));
  if (tile->scan) LLRT_TRY(scan_steps(d, tile, value, span, loaded, &at));
  else LLRT_TRY(repeat_steps(d, tile, value, span, coordinates, loaded, &at));
  /* A block whose memory others still read must not end. */
  if (kernel->cluster_bits > 0) LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_BARRIER}));
  return draft_step(kernel, (plan_step){.kind = PLAN_STORE,
                                        .tensor = 1,
                                        .in = (uint8_t)at,
                                        .vector = (uint8_t)access_vector(kernel, 1, &value[0])});
}

static llrt_status check_scan(const plan_tile *tile) {
  const plan_tile_scan *scan = tile->scan;
  LLRT_REQUIRE(combine_accumulates(scan->combiner, scan->type, scan->type) &&
                   !combine_is_arg(scan->combiner),
               "a scan of %s", llrt_dtype_name(scan->type));
  LLRT_REQUIRE(llrt_dtype_bits(scan->type) == tile->element_bits, "elements of %d bits",
               tile->element_bits);
  LLRT_REQUIRE(scan->axis >= 0 && scan->axis < tile->a->n_out, "axis %d", scan->axis);
  return LLRT_OK;
}

/* ---- reductions ---- */

static llrt_status check_reduce(const plan_tile *tile, tile_side side[2]) {
  const plan_tile_reduce *reduce = tile->reduce;
  LLRT_REQUIRE(combine_accumulates(reduce->combiner, reduce->type, reduce->type) &&
                   !combine_is_arg(reduce->combiner),
               "a reduction of %s", llrt_dtype_name(reduce->type));
  LLRT_REQUIRE(llrt_dtype_bits(reduce->type) == tile->element_bits, "elements of %d bits",
               tile->element_bits);
  LLRT_TRY(tile_side_read(tile->a, &side[0]));
  LLRT_REQUIRE(reduce->axis >= 0 && reduce->axis < tile->a->n_out, "axis %d", reduce->axis);
  side[1] = side[0];
  return LLRT_OK;
}

/* Copies as elements of their own: columns beyond the tensor's bits. */
static void count_copies(const llrt_layout *layout, tile_side *p) {
  int next = llrt_layout_out_bits(layout), registers = llrt_layout_in_index(layout, "register");
  int first = registers < 0 ? 0 : llrt_layout_in_shift(layout, registers);
  for (int i = 0; registers >= 0 && i < layout->in[registers].bits; i++)
    if (layout->column[first + i] == 0) p->registers.at[p->registers.n++] = 1ull << next++;
  for (int i = 0; i < p->lanes.n; i++)
    if (p->lanes.at[i] == 0) p->lanes.at[i] = 1ull << next++;
  for (int i = 0; i < p->warps.n; i++)
    if (p->warps.at[i] == 0) p->warps.at[i] = 1ull << next++;
}

/* The bits of `list` that are reduced, or those that are not, become the next ones of the tile. */
static void order_bits(const vector_list *list, uint64_t reduced, bool wanted, vector_list *order) {
  int from = order->n;
  for (int i = 0; i < list->n; i++) {
    if (!list->at[i] || ((list->at[i] & reduced) != 0) != wanted) continue;
    int at = order->n++;
    for (; wanted && at > from && order->at[at - 1] > list->at[i]; at--)
      order->at[at] = order->at[at - 1];
    order->at[at] = list->at[i];
  }
}

/* The tile's coordinates as reduce_block wants them, and a layout with one bit a column. *kept:
 * log2 results. */
static llrt_status order_tile(const plan_tile *tile, const tile_side *side,
                              const vector_list *blocks, tile_side *clean, vector_list *order,
                              int *kept) {
  reduce_pivots pivots = {.n = 0};
  int axis = tile->reduce->axis;
  uint64_t reduced = bits_mask(tile->a->out[axis].bits) << llrt_layout_out_shift(tile->a, axis);
  *clean = *side;
  clean->blocks = *blocks;
  vector_list *const lists[] = {&clean->registers, &clean->lanes, &clean->warps, &clean->blocks};
  for (int l = 0; l < 4; l++) reduce_own_bits(&pivots, lists[l]->n, lists[l]->at);
  for (int i = 0; i < clean->blocks.n; i++)
    if (clean->blocks.at[i] & reduced)
      return llrt_error(LLRT_UNSUPPORTED, "elements are combined between blocks");
  for (int l = 0; l < 3; l++) order_bits(lists[l], reduced, false, order);
  *kept = order->n;
  for (int l = 2; l >= 0; l--) order_bits(lists[l], reduced, true, order);
  return LLRT_OK;
}

/* Loads, reduces and stores the tile. */
static llrt_status reduce_tile_steps(draft *d, const plan_tile *tile, const plan_value *load,
                                     const plan_value *clean, int kept) {
  plan_kernel *kernel = d->kernel;
  reduce_value value = {.op = tile->reduce->combiner, .type = tile->reduce->type};
  LLRT_TRY(draft_value(kernel, load, &value.key));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_LOAD,
                                          .out = (uint8_t)value.key,
                                          .vector = (uint8_t)access_vector(kernel, 0, load)}));
  LLRT_TRY(draft_exchange(d, value.key, clean, &value.key));
  LLRT_TRY(reduce_block(d, &value, kept, false));
  const plan_value *result = &kernel->value[value.key];
  return draft_step(kernel, (plan_step){.kind = PLAN_STORE,
                                        .tensor = 1,
                                        .in = (uint8_t)value.key,
                                        .vector = (uint8_t)access_vector(kernel, 1, result)});
}

/* Behind fit: `side` is what the target makes of the layout. */
static llrt_status plan_tile_reduction(draft *d, const plan_tile *tile, const tile_side *side,
                                       const vector_list *blocks) {
  plan_kernel *kernel = d->kernel;
  tile_side clean;
  vector_list order = {.n = 0};
  f2_basis span;
  plan_value load, cleaned;
  int kept, bits = llrt_layout_out_bits(tile->a);
  LLRT_TRY(order_tile(tile, side, blocks, &clean, &order, &kept));
  f2_basis_init(&span);
  for (int i = 0; i < order.n; i++) f2_basis_insert(&span, order.at[i]);
  LLRT_TRY(fill_space(d, tile->a, blocks, &span));
  f2_basis_init(&span);
  for (int i = 0; i < order.n; i++) {
    f2_basis_insert_as(&span, order.at[i], 1ull << i);
    kernel->space.column[i] = order.at[i] & bits_mask(bits);
  }
  LLRT_TRY(tile_side_value(kernel, side, &span, tile->element_bits, &load));
  LLRT_TRY(tile_side_value(kernel, &clean, &span, tile->element_bits, &cleaned));
  LLRT_TRY(reduce_tile_steps(d, tile, &load, &cleaned, kept));
  draft_finish(kernel);
  return plan_verify(kernel);
}

/* ---- the whole ---- */

static llrt_status check_tile(const plan_tile *tile, tile_side side[2]) {
  LLRT_REQUIRE(tile->scan || tile->reduce || tile->turns >= 1, "turns: %d", tile->turns);
  LLRT_REQUIRE(tile->element_bits >= 8 && tile->element_bits <= 64 &&
                   bits_is_power_of_two(tile->element_bits),
               "elements of %d bits", tile->element_bits);
  if (tile->cast) LLRT_TRY(check_cast(tile));
  if (tile->reduce) return check_reduce(tile, side);
  LLRT_REQUIRE(!tile->gather ||
                   (tile->a && tile->gather->axis >= 0 && tile->gather->axis < tile->a->n_out),
               "a gather along an axis that there is not");
  LLRT_TRY(tile_side_read(tile->a, &side[0]));
  LLRT_TRY(tile_side_read(tile->b, &side[1]));
  LLRT_REQUIRE(tile->a->n_out == tile->b->n_out, "layouts of different tensors");
  for (int i = 0; i < tile->a->n_out; i++)
    LLRT_REQUIRE(strcmp(tile->a->out[i].name, tile->b->out[i].name) == 0 &&
                     tile->a->out[i].bits == tile->b->out[i].bits,
                 "out-dim %d: layouts of different tensors", i);
  return tile->scan ? check_scan(tile) : LLRT_OK;
}

/* The widest of what threads hold in layout a (side 0) or b: also elements as what they are cast
 * to, in b the coordinates. */
static int widest_bits(const plan_tile *tile, int side) {
  int bits = tile->element_bits;
  if (tile->cast) bits = bits_max(bits, llrt_dtype_bits(tile->cast->to));
  return tile->gather && side == 1 ? bits_max(bits, COORDINATE_BITS) : bits;
}

llrt_status plan_tile_make(const plan_tile *tile, const plan_target *target,
                           const plan_options *options, plan_kernel *out) {
  draft d = {.options = options, .kernel = out};
  tile_side side[2];
  vector_list apart, moving[2];
  plan_value value[2];
  f2_basis span;
  memset(out, 0, sizeof *out);
  LLRT_TRY(check_tile(tile, side));
  out->target = *target;
  for (int t = 0; t < 2; t++) out->tensor_bits[t] = (uint8_t)tile->element_bits;
  out->n_tensors = 2 + (tile->gather != NULL);
  if (tile->gather) out->tensor_bits[2] = COORDINATE_BITS;
  out->lane_bits = target->simd_lanes ? bits_log2(target->vector_bytes * 8 / tile->element_bits)
                                      : target->lane_bits;
  LLRT_TRY(tile_side_blocks(side, &apart, moving, &span));
  LLRT_TRY(tile_side_fit_blocks(out, side, moving, !tile->scan && !tile->gather));
  bool blind = tile->reduce && options && options->ignore_copies;
  for (int s = 0; s < 2 && blind; s++) count_copies(tile->a, &side[s]);
  LLRT_TRY(tile_side_fit(out, side));
  if (tile->reduce) return plan_tile_reduction(&d, tile, &side[0], &apart);
  LLRT_TRY(fill_space(&d, tile->a, &apart, &span));
  for (int s = 0; s < 2; s++)
    LLRT_TRY(tile_side_value(out, &side[s], &span, widest_bits(tile, s), &value[s]));
  if (tile->cast) add_casts(tile, out);
  LLRT_TRY(add_steps(&d, tile, value, &span));
  draft_finish(out);
  return plan_verify(out);
}
