/* See plan_dot_tile.h. */
#include "jit/probe/plan_dot_tile.h"
#include "jit/probe/dot_tile_value.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/check/plan_view.h"
#include "jit/plan/cost/cycles.h"
#include "jit/plan/dot/dot_stage.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/exchange/exchange.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/value.h"

#include <string.h>

int plan_dot_tile_bits(const plan_dot_tile *tile) {
  return tile->m + tile->n + tile->k - bits_min(tile->m, bits_min(tile->n, tile->k));
}

/* ---- space ---- */

static llrt_status fill_space(draft *d, const plan_dot_tile *tile) {
  plan_kernel *kernel = d->kernel;
  int bits = tile->m + tile->n + tile->k, size = plan_dot_tile_bits(tile);
  LLRT_TRY(draft_tile_digit(d, bits, size));
  for (int o = 0; o < 3; o++) {
    dot_tile_matrix x = dot_tile_matrix_of(tile, o);
    for (int i = 0; i < x.columns; i++) kernel->column[x.tensor][x.column_bit + i] = 1ull << i;
    for (int i = 0; i < x.rows; i++)
      kernel->column[x.tensor][x.row_bit + i] = 1ull << (x.columns + i);
  }
  kernel->space = llrt_layout_empty();
  LLRT_TRY(llrt_layout_add_out(&kernel->space, "d0", bits));
  LLRT_TRY(llrt_layout_add_in(&kernel->space, "tile", bits));
  LLRT_TRY(llrt_layout_add_in(&kernel->space, "grid", 0));
  for (int i = 0; i < bits; i++) kernel->space.column[i] = 1ull << i;
  return draft_digit_place(d, 0, (int64_t)1 << size);
}

/* ---- steps ---- */

/* log2 elements of an access. */
static int access_vector(const plan_kernel *kernel, int tensor, const plan_value *value) {
  plan_value spread;
  plan_address_map map;
  plan_value_spread(kernel, value, &spread);
  plan_address_of_tensor(kernel, tensor, &map);
  return plan_access_widest(kernel, &spread, &map,
                            kernel->target.simd_lanes ? PLAN_LANE : PLAN_REGISTER);
}

/* Casts on the side of the exchange on which elements are narrower. */
static llrt_status move_value(draft *d, llrt_dtype from, llrt_dtype to, const plan_value *target,
                              int *value) {
  bool early = llrt_dtype_bits(to) <= llrt_dtype_bits(from);
  plan_value moved = draft_retyped(d, target, llrt_dtype_bits(early ? to : from));
  if (early) LLRT_TRY(draft_cast(d, from, to, value));
  LLRT_TRY(draft_exchange(d, *value, &moved, value));
  return early ? LLRT_OK : draft_cast(d, from, to, value);
}

/* An operand on its way: loaded, then of its type or the product's. */
typedef struct operand {
  llrt_dtype type, product;
  const plan_value *wanted; /* by the instruction, of the product's type */
  int value;
} operand;

/* Whole, or the part of an iteration. */
static llrt_status load_operand(draft *d, const plan_dot_tile *tile, int number, int parts,
                                operand *o) {
  plan_kernel *kernel = d->kernel;
  plan_value loaded;
  int tensor = dot_tile_matrix_of(tile, number).tensor;
  LLRT_TRY(dot_tile_value(d, tile, number, parts, o->type, &loaded));
  LLRT_TRY(draft_value(kernel, &loaded, &o->value));
  return draft_step(kernel, (plan_step){.kind = PLAN_LOAD,
                                        .tensor = (uint8_t)tensor,
                                        .out = (uint8_t)o->value,
                                        .vector = (uint8_t)access_vector(kernel, tensor, &loaded)});
}

static llrt_status zero_step(draft *d, const plan_dot_tile *tile, const plan_value *like,
                             int *value) {
  LLRT_TRY(draft_value(d->kernel, like, value));
  return draft_step(d->kernel, (plan_step){.kind = PLAN_FILL,
                                           .combiner = LLRT_COMBINE_SUM,
                                           .exclusive = true,
                                           .type = (uint8_t)tile->sum,
                                           .out = (uint8_t)*value});
}

static llrt_status dot_step(draft *d, const dot_layouts *how, int a, int b, int with, int *sum) {
  bool swapped = how->how.swapped;
  LLRT_TRY(draft_value(d->kernel, &how->acc, sum));
  return draft_step(d->kernel, (plan_step){.kind = PLAN_DOT,
                                           .in = (uint8_t)(swapped ? b : a),
                                           .second = (uint8_t)(swapped ? a : b),
                                           .with = (uint8_t)with,
                                           .out = (uint8_t)*sum,
                                           .instruction = (uint8_t)how->how.instruction});
}

/* ---- parts of k ----
 * Where a thread has no room for all of k, both operands lie in shared memory, one behind the
 * other, and a loop loads and multiplies parts of them. Where that has no room either, the loop
 * takes the parts from memory. */

#define OPERAND_BITS 6 /* log2 words of an operand that a thread holds at once */

/* log2 parts that leave so much room. */
static int part_bits(const dot_layouts *how, const dot_space *space) {
  int a = plan_value_bits(&how->a, PLAN_REGISTER) - how->a.word,
      b = plan_value_bits(&how->b, PLAN_REGISTER) - how->b.word;
  int over = bits_max(bits_max(a, b) - OPERAND_BITS, 0);
  return bits_min(over, space->n[DOT_DIM_K] - dot_instruction_at(how->how.instruction)->k);
}

/* The value with tile bits of its registers counted by iterations; copies along those that it
 * lacks. */
static plan_value iterate_bits(const plan_value *whole, const uint64_t *tile_bits, int n) {
  plan_value out = *whole;
  uint64_t kept[LLRT_MAX_BITS], counted[LLRT_MAX_BITS];
  int n_kept = 0, all = llrt_layout_in_bits(&whole->layout),
      registers = plan_value_bits(whole, PLAN_REGISTER), left = 0;
  for (int i = 0; i < n; i++)
    counted[i] = plan_value_bits_of(whole, tile_bits[i] & ~whole->reduced);
  for (int i = 0; i < all; i++) {
    bool counts = false;
    for (int j = 0; j < n; j++) counts |= i < registers && whole->layout.column[i] == counted[j];
    left += !counts && i < registers;
    if (!counts) kept[n_kept++] = whole->layout.column[i];
  }
  for (int i = 0; i < n; i++) kept[n_kept++] = counted[i];
  memcpy(out.layout.column, kept, (size_t)n_kept * sizeof *kept);
  out.layout.in[PLAN_REGISTER].bits = (uint8_t)left;
  out.layout.in[PLAN_ITERATION].bits = (uint8_t)n;
  return out;
}

/* The same with the highest bits of k. */
static plan_value part_of(const plan_value *whole, const dot_space *space, int parts) {
  uint64_t bits[24];
  for (int i = 0; i < parts; i++)
    bits[i] = 1ull << space->bit[DOT_DIM_K][space->n[DOT_DIM_K] - parts + i];
  return iterate_bits(whole, bits, parts);
}

/* Stores an operand whole, behind `offset`; *load: the step of a part. Taken from the exchange of
 * the whole. */
static llrt_status store_whole(draft *d, operand *o, const dot_space *space, int parts, int offset,
                               plan_step *load) {
  static const plan_options shared = {.exchange = PLAN_EXCHANGE_SHARED, .whole_buffers = true};
  plan_kernel *kernel = d->kernel;
  const plan_options *asked = d->options;
  bool early = llrt_dtype_bits(o->product) <= llrt_dtype_bits(o->type);
  plan_value whole;
  int first, out;
  if (early) LLRT_TRY(draft_cast(d, o->type, o->product, &o->value));
  if (early) o->type = o->product;
  whole = draft_retyped(d, o->wanted, llrt_dtype_bits(o->type));
  first = kernel->n_steps;
  d->options = &shared;
  llrt_status status = draft_exchange(d, o->value, &whole, &out);
  d->options = asked;
  LLRT_TRY(status);
  *load = kernel->step[kernel->n_steps - 1];
  int loads = 0;
  for (int i = first; i < kernel->n_steps; i++) loads += kernel->step[i].kind == PLAN_SHARED_LOAD;
  if (load->kind != PLAN_SHARED_LOAD || loads != 1)
    return llrt_error(LLRT_UNSUPPORTED, "an operand of %d bytes passes shared memory in parts",
                      kernel->buffer[load->buffer].bytes);
  kernel->n_steps -= 2; /* the load and the barrier before it */
  kernel->buffer[load->buffer].offset = offset;
  kernel->value[out] = part_of(&whole, space, parts);
  plan_address_map map;
  plan_address_of_buffer(kernel, load->buffer, &map);
  while (load->vector > 0 &&
         !plan_access_positions(&kernel->value[out], &map, PLAN_REGISTER, load->vector, NULL))
    load->vector--;
  return LLRT_OK;
}

/* Whether both operands fit shared memory, each as the narrower of its two types. */
static bool fits_shared(const draft *d, const operand o[2]) {
  int64_t bytes = 0;
  for (int i = 0; i < 2; i++) {
    int bits = bits_min(llrt_dtype_bits(o[i].type), llrt_dtype_bits(o[i].product));
    bytes += ((int64_t)bits << o[i].wanted->layout.out[0].bits) / 8;
  }
  return bytes <= d->kernel->target.facts.shared_bytes;
}

/* The loop over the parts, which carries the sum. */
typedef struct part_loop {
  int step, carried;
} part_loop;

static llrt_status open_parts(draft *d, const plan_dot_tile *tile, const dot_layouts *how,
                              int parts, part_loop *loop) {
  int zero;
  LLRT_TRY(zero_step(d, tile, &how->acc, &zero));
  LLRT_TRY(draft_value(d->kernel, &how->acc, &loop->carried));
  loop->step = d->kernel->n_steps;
  return draft_step(d->kernel, (plan_step){.kind = PLAN_LOOP,
                                           .joins = true,
                                           .iterations = (uint8_t)parts,
                                           .in = (uint8_t)zero,
                                           .out = (uint8_t)loop->carried});
}

static llrt_status close_parts(draft *d, const dot_layouts *how, const operand o[2],
                               const part_loop *loop, int *sum) {
  int made;
  LLRT_TRY(dot_step(d, how, o[0].value, o[1].value, loop->carried, &made));
  draft_close(d->kernel, loop->step);
  *sum = loop->carried;
  return LLRT_OK;
}

static llrt_status part_steps(draft *d, const plan_dot_tile *tile, const dot_layouts *how,
                              const dot_space *space, int parts, operand o[2], int *sum) {
  plan_kernel *kernel = d->kernel;
  plan_step load[2];
  part_loop loop;
  for (int i = 0; i < 2; i++) LLRT_TRY(load_operand(d, tile, i, 0, &o[i]));
  for (int i = 0, offset = 0; i < 2; i++) {
    LLRT_TRY(store_whole(d, &o[i], space, parts, offset, &load[i]));
    offset = plan_buffer_end(&kernel->buffer[load[i].buffer]);
    if (offset > kernel->target.facts.shared_bytes)
      return llrt_error(LLRT_UNSUPPORTED, "operands of %d bytes of shared memory", offset);
  }
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_BARRIER}));
  LLRT_TRY(open_parts(d, tile, how, parts, &loop));
  for (int i = 0; i < 2; i++) {
    LLRT_TRY(draft_step(kernel, load[i]));
    o[i].value = load[i].out;
    LLRT_TRY(draft_cast(d, o[i].type, o[i].product, &o[i].value));
  }
  return close_parts(d, how, o, &loop, sum);
}

static llrt_status memory_part_steps(draft *d, const plan_dot_tile *tile, const dot_layouts *how,
                                     const dot_space *space, int parts, operand o[2], int *sum) {
  part_loop loop;
  LLRT_TRY(open_parts(d, tile, how, parts, &loop));
  d->strip_bits = parts;
  for (int i = 0; i < 2; i++) LLRT_TRY(load_operand(d, tile, i, parts, &o[i]));
  for (int i = 0; i < 2; i++) {
    plan_value part = part_of(o[i].wanted, space, parts);
    LLRT_TRY(move_value(d, o[i].type, o[i].product, &part, &o[i].value));
  }
  d->strip_bits = 0;
  return close_parts(d, how, o, &loop, sum);
}

/* ---- the host ----
 * One warp has the work of all. A loop takes as many sums as the processor has registers for,
 * another one in it makes them along k. Each loads its part of the operands as the product wants
 * it, so that there is little code, whatever the tile's extents are. */

#define HOST_SUM_BITS 4     /* log2 registers of sums */
#define HOST_PRODUCT_BITS 6 /* log2 products that follow each other without a branch */

/* Tile bits that loops count: the inner one's, then the outer one's. */
typedef struct host_loops {
  int inner, outer;
  uint64_t bits[LLRT_MAX_BITS];
} host_loops;

static host_loops host_loops_of(const draft *d, const dot_layouts *how, const dot_space *space) {
  const plan_target *target = &d->kernel->target;
  host_loops loops = {0};
  int word = bits_log2((how->acc.bits << d->kernel->lane_bits) / 8 / target->vector_bytes);
  int registers = plan_value_bits(&how->acc, PLAN_REGISTER), all = space->n[DOT_DIM_K];
  int kept = bits_min(registers, bits_max(HOST_SUM_BITS - word, 0));
  int unrolled = bits_min(all, bits_max(HOST_PRODUCT_BITS - word - kept, 0));
  loops.inner = all - unrolled;
  loops.outer = registers - kept;
  for (int i = 0; i < loops.inner; i++) loops.bits[i] = 1ull << space->bit[DOT_DIM_K][unrolled + i];
  for (int i = 0; i < loops.outer; i++)
    loops.bits[loops.inner + i] =
        plan_tile_bits_of(&how->acc, plan_value_columns(&how->acc, PLAN_REGISTER)[kept + i]);
  return loops;
}

static llrt_status host_operand(draft *d, const plan_dot_tile *tile, const host_loops *loops,
                                int number, operand *o) {
  plan_kernel *kernel = d->kernel;
  int tensor = dot_tile_matrix_of(tile, number).tensor;
  plan_value loaded = draft_retyped(d, o->wanted, llrt_dtype_bits(o->type));
  bool single = loaded.bits < 8; /* such elements share bytes: one by one */
  loaded.word = 0;
  loaded = iterate_bits(&loaded, loops->bits, loops->inner + loops->outer);
  LLRT_TRY(draft_value(kernel, &loaded, &o->value));
  LLRT_TRY(draft_step(
      kernel,
      (plan_step){.kind = PLAN_LOAD,
                  .tensor = (uint8_t)tensor,
                  .out = (uint8_t)o->value,
                  .masked = single,
                  .vector = (uint8_t)(single ? 0 : access_vector(kernel, tensor, &loaded))}));
  return draft_cast(d, o->type, o->product, &o->value);
}

static llrt_status host_sums(draft *d, const plan_dot_tile *tile, const dot_layouts *how,
                             const host_loops *loops, operand o[2], int *sum) {
  plan_kernel *kernel = d->kernel;
  dot_layouts turn = *how;
  plan_value between = iterate_bits(&how->acc, &loops->bits[loops->inner], loops->outer);
  int zero, carried, made, loop;
  turn.acc = iterate_bits(&how->acc, loops->bits, loops->inner + loops->outer);
  LLRT_TRY(zero_step(d, tile, &between, &zero));
  LLRT_TRY(draft_value(kernel, &turn.acc, &carried));
  LLRT_TRY(draft_value(kernel, &between, sum));
  loop = kernel->n_steps;
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_LOOP,
                                          .joins = true,
                                          .nested = true,
                                          .with = (uint8_t)*sum,
                                          .iterations = (uint8_t)loops->inner,
                                          .in = (uint8_t)zero,
                                          .out = (uint8_t)carried}));
  for (int i = 0; i < 2; i++) LLRT_TRY(host_operand(d, tile, loops, i, &o[i]));
  LLRT_TRY(dot_step(d, &turn, o[0].value, o[1].value, carried, &made));
  draft_close(kernel, loop);
  return LLRT_OK;
}

static llrt_status store_step(draft *d, int sum) {
  plan_kernel *kernel = d->kernel;
  return draft_step(
      kernel, (plan_step){.kind = PLAN_STORE,
                          .tensor = TENSOR_D,
                          .in = (uint8_t)sum,
                          .vector = (uint8_t)access_vector(kernel, TENSOR_D, &kernel->value[sum])});
}

static llrt_status host_steps(draft *d, const plan_dot_tile *tile, const dot_space *space,
                              const dot_layouts *how, operand o[2]) {
  plan_kernel *kernel = d->kernel;
  host_loops loops = host_loops_of(d, how, space);
  int sum, loop = kernel->n_steps;
  if (tile->layout[0] || tile->layout[1] || tile->layout[2])
    return llrt_error(LLRT_UNSUPPORTED, "layouts of lanes on the host");
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_LOOP, .iterations = (uint8_t)loops.outer}));
  LLRT_TRY(host_sums(d, tile, how, &loops, o, &sum));
  LLRT_TRY(draft_cast(d, tile->sum, tile->d, &sum));
  LLRT_TRY(store_step(d, sum));
  draft_close(kernel, loop);
  return LLRT_OK;
}

/* ---- products of warpgroups ---- */

static llrt_status group_steps(draft *d, const plan_dot_tile *tile, const dot_layouts *how,
                               const dot_space *space, operand o[2], int *sum) {
  plan_kernel *kernel = d->kernel;
  int buffer[2] = {-1, -1}, value[2], zero, end = 0;
  for (int i = 0; i < 2; i++) LLRT_TRY(load_operand(d, tile, i, 0, &o[i]));
  for (int i = 0; i < 2; i++) {
    if (i == 0 && tile->group == 1) {
      LLRT_TRY(move_value(d, o[i].type, o[i].product, o[i].wanted, &o[i].value));
      LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_BARRIER}));
    } else {
      LLRT_TRY(draft_cast(d, o[i].type, o[i].product, &o[i].value));
      LLRT_TRY(dot_stage_buffer(d, &kernel->value[o[i].value], space, i, tile->across[i], end,
                                &buffer[i]));
      LLRT_TRY(dot_stage_store(d, o[i].value, buffer[i]));
      end = plan_buffer_end(&kernel->buffer[buffer[i]]);
    }
    value[i] = o[i].value;
  }
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_BARRIER}));
  LLRT_TRY(zero_step(d, tile, &how->acc, &zero));
  LLRT_TRY(dot_stage_products(d, how, value, buffer, zero, sum));
  return dot_stage_finish(d, sum);
}

/* ---- all of it ---- */

static llrt_status whole_steps(draft *d, const plan_dot_tile *tile, const dot_layouts *how,
                               operand o[2], int *sum) {
  int zero;
  for (int i = 0; i < 2; i++) LLRT_TRY(load_operand(d, tile, i, 0, &o[i]));
  for (int i = 0; i < 2; i++)
    LLRT_TRY(move_value(d, o[i].type, o[i].product, o[i].wanted, &o[i].value));
  LLRT_TRY(zero_step(d, tile, &how->acc, &zero));
  return dot_step(d, how, o[0].value, o[1].value, zero, sum);
}

static llrt_status dot_steps(draft *d, const plan_dot_tile *tile, const dot_space *space,
                             const dot_layouts *how) {
  operand o[2] = {{.type = tile->a, .product = tile->product_a, .wanted = &how->a},
                  {.type = tile->b, .product = tile->product_b, .wanted = &how->b}};
  plan_value stored;
  if (d->kernel->target.simd_lanes) return host_steps(d, tile, space, how, o);
  int sum, parts = tile->group ? 0 : part_bits(how, space);
  bool given = tile->layout[0] || tile->layout[1];
  if (tile->group) LLRT_TRY(group_steps(d, tile, how, space, o, &sum));
  else if (parts == 0) LLRT_TRY(whole_steps(d, tile, how, o, &sum));
  else if (given || fits_shared(d, o)) LLRT_TRY(part_steps(d, tile, how, space, parts, o, &sum));
  else LLRT_TRY(memory_part_steps(d, tile, how, space, parts, o, &sum));
  LLRT_TRY(dot_tile_value(d, tile, 2, 0, tile->d, &stored));
  LLRT_TRY(move_value(d, tile->sum, tile->d, &stored, &sum));
  return store_step(d, sum);
}

/* ---- the whole ---- */

static void begin(draft *d, const plan_dot_tile *tile, const plan_target *target,
                  plan_kernel *out) {
  const llrt_dtype types[] = {tile->a, tile->d, tile->b};
  int narrowest = llrt_dtype_bits(tile->sum);
  memset(out, 0, sizeof *out);
  memset(d, 0, sizeof *d);
  d->kernel = out;
  out->target = *target;
  out->n_tensors = 3;
  for (int t = 0; t < 3; t++) {
    out->tensor_bits[t] = (uint8_t)llrt_dtype_bits(types[t]);
    narrowest = bits_max(bits_min(narrowest, out->tensor_bits[t]), 8);
  }
  out->lane_bits =
      target->simd_lanes ? bits_log2(target->vector_bytes * 8 / narrowest) : target->lane_bits;
  out->warp_bits = target->simd_lanes ? 0 : tile->warps;
}

static llrt_status plan_way(const plan_dot_tile *tile, const plan_target *target,
                            const plan_options *options, const dot_space *space,
                            const dot_layouts *how, plan_kernel *out) {
  draft d;
  begin(&d, tile, target, out);
  d.options = options;
  LLRT_TRY(fill_space(&d, tile));
  LLRT_TRY(dot_steps(&d, tile, space, how));
  draft_finish(out);
  return plan_verify(out);
}

static dot_space space_of(const plan_dot_tile *tile) {
  dot_space space = {.n = {tile->m, tile->n, tile->k},
                     .a = tile->product_a,
                     .b = tile->product_b,
                     .acc = tile->sum,
                     .tf32 = tile->tf32};
  const int first[3] = {0, tile->m, tile->m + tile->n};
  for (int dim = 0; dim < 3; dim++)
    for (int i = 0; i < space.n[dim]; i++) space.bit[dim][i] = (uint8_t)(first[dim] + i);
  return space;
}

/* Clocks of the block: products, and everything else beside them. */
static double clocks_of(const plan_kernel *kernel) {
  plan_cycles cycles;
  plan_cycles_of(&kernel->target, &kernel->cost, 1 << kernel->warp_bits, &cycles);
  return cycles.total + kernel->cost.product_clocks * (1 << kernel->warp_bits);
}

#define MAX_WAYS 16

/* The cheapest way, or the one that is asked for, by products of the tile's types. *chosen: -1
 * where there is none. */
static llrt_status plan_ways(const plan_dot_tile *tile, const plan_target *target,
                             const plan_options *options, plan_kernel *out, int *chosen) {
  const bool host = target->simd_lanes; /* its loops hold no value whole */
  const dot_room room = {.results = host ? LLRT_MAX_BITS : PLAN_VALUE_BITS,
                         .operand = host ? LLRT_MAX_BITS : 16};
  dot_layouts ways[MAX_WAYS];
  dot_space space = space_of(tile);
  double best = -1;
  int n = tile->group ? dot_layouts_group(out, &space, &room, false, ways)
                      : dot_layouts_list(out, &space, &room, ways, MAX_WAYS);
  llrt_status refused = LLRT_OK;
  *chosen = tile->choice > 0 && tile->choice <= n ? tile->choice - 1 : -1;
  for (int i = 0; i < n && tile->choice == 0; i++) {
    llrt_status status = plan_way(tile, target, options, &space, &ways[i], out);
    if (status != LLRT_OK) refused = status;
    if (status != LLRT_OK || (*chosen >= 0 && clocks_of(out) >= best)) continue;
    *chosen = i;
    best = clocks_of(out);
  }
  if (*chosen < 0) return refused;
  return plan_way(tile, target, options, &space, &ways[*chosen], out);
}

llrt_status plan_dot_tile_make(const plan_dot_tile *tile, const plan_target *target,
                               const plan_options *options, plan_kernel *out) {
  draft d;
  plan_dot_tile wide = *tile;
  int chosen;
  begin(&d, tile, target, out);
  if (out->warp_bits > target->warp_bits)
    return llrt_error(LLRT_UNSUPPORTED, "%d warps", 1 << out->warp_bits);
  LLRT_TRY(fill_space(&d, tile));
  llrt_status status = plan_ways(tile, target, options, out, &chosen);
  if (status == LLRT_OK && chosen >= 0) return LLRT_OK;
  wide.product_a = wide.product_b = tile->sum;
  if (tile->choice == 0 && (tile->product_a != tile->sum || tile->product_b != tile->sum))
    status = plan_ways(&wide, target, options, out, &chosen);
  if (status != LLRT_OK || chosen >= 0) return status;
  return llrt_error(LLRT_UNSUPPORTED, "no way of this dot fits the threads of a block");
}
