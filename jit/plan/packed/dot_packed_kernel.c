/* Planning a dot with packed weights: D^T = W^T A^T by mma.sync, N being the instruction's 16 rows.
 *
 *   fill, copies
 *   walk K { await, copies of a later turn, W, scales and A from their rings, decode W, scale, dot
 * } join warps, cast, store
 *
 * Rings in shared memory hold operands turns before they are multiplied, by whole accesses of
 * memory: many bytes are under way, and no register is. What cannot be copied so is loaded, W and
 * its scales a turn ahead. Warps share N and K (and of many rows M); what they have summed along K
 * is joined in the end, in a fixed order. Rows that there are not cost nothing but their place in
 * the tile. */
#include "jit/plan/dot/dot_stage.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/block/block.h"
#include "jit/plan/dot/dot.h"
#include "jit/plan/dot/rounds.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/facts/buffer_use.h"
#include "jit/plan/facts/dot_tiling.h"
#include "jit/plan/facts/thread_registers.h"
#include "jit/plan/packed/dot_packed_kernel.h"

#include <string.h>

#define FEW 4         /* log2 rows that are stored by whoever has them */
#define WORD_N 4      /* log2 columns of an instruction: a tile has as many */
#define GROUP_WARPS 2 /* log2, of a warpgroup */

/* ---- the tile ---- */

/* The vector of the digits' bits that is position 2^p of M, N or K; 0: there is none. */
static uint64_t axis_bit(const dot_draft *x, int dim, int p) {
  return dot_axis_bit(x, packed_axis(x->job, dim), p);
}

static bool add_bits(dot_draft *x, int dim, int from, int n) {
  static const int dims[] = {
      [PACKED_M] = DOT_DIM_M, [PACKED_N] = DOT_DIM_N, [PACKED_K] = DOT_DIM_K};
  for (int p = from; p < from + n; p++) {
    uint64_t bit = axis_bit(x, dim, p);
    if (bit == 0) return false;
    x->bits[dims[dim]] |= bit;
    x->d.order[0][x->d.tile_bits++] = bit;
  }
  return true;
}

/* Fewer warps along K, and columns, where there are not as many: then those who multiply copy. */
static void fit_shape(const dot_draft *x, packed_shape *s) {
  const int asked = s->warps[PACKED_N];
  while (s->warps[PACKED_K] > 0 && !axis_bit(x, PACKED_K, s->k + s->warps[PACKED_K] - 1))
    s->warps[PACKED_K]--;
  while (s->k > PACKED_VECTOR_K && !axis_bit(x, PACKED_K, s->k - 1)) s->k--;
  while (s->n > WORD_N && !axis_bit(x, PACKED_N, s->n - 1)) s->n--;
  s->warps[PACKED_N] = bits_min(s->warps[PACKED_N], s->n - WORD_N);
  s->warpgroups &= s->warps[PACKED_N] >= GROUP_WARPS;
  if (s->warps[PACKED_N] < asked) s->producers = 0;
  s->cluster = bits_min(s->cluster, s->warps[PACKED_K]);
}

/* m, n, then K: the warps' part, and what lanes and registers of one have. */
static llrt_status make_tile(packed *p) {
  dot_draft *x = &p->x;
  draft *d = &x->d;
  packed_shape *s = &p->shape;
  fit_shape(x, s);
  d->tile_bits = 0;
  bool there = add_bits(x, PACKED_M, 0, s->m) && add_bits(x, PACKED_N, 0, s->n) &&
               add_bits(x, PACKED_K, s->k, s->warps[PACKED_K]) && add_bits(x, PACKED_K, 0, s->k);
  if (!there)
    return llrt_error(LLRT_UNSUPPORTED, "B has fewer packed weights than %d x %d, K by N",
                      1 << s->k, 1 << s->n);
  d->kernel->warp_bits = s->warps[PACKED_M] + s->warps[PACKED_N] + s->warps[PACKED_K];
  d->kernel->cluster_bits = s->cluster;
  p->first_n = s->m;
  p->first_warp = s->m + s->n;
  p->first_k = p->first_warp + s->warps[PACKED_K];
  for (int i = 0; i < s->m; i++)
    d->walked |= axis_bit(x, PACKED_M, i); /* then weights come from the cache */
  uint64_t tile = 0;
  for (int i = 0; i < d->tile_bits; i++) tile |= d->order[0][i];
  draft_fill_grid(d, tile, draft_reduced_bits(d));
  return draft_space(d);
}

/* ---- a turn ---- */

static llrt_status map_step(packed *p, plan_map map, plan_step step, int *value) {
  plan_kernel *kernel = p->x.d.kernel;
  plan_value made =
      draft_retyped(&p->x.d, &kernel->value[*value], llrt_dtype_bits((llrt_dtype)map.to));
  step.kind = PLAN_MAP;
  step.in = (uint8_t)*value;
  LLRT_TRY(draft_map(kernel, map, &step.map));
  LLRT_TRY(draft_value(kernel, &made, value));
  step.out = (uint8_t)*value;
  return draft_step(kernel, step);
}

static uint8_t type_of(const packed *p, int operand) {
  return (uint8_t)p->job.desc.tensors[p->operand[operand].tensor].dtype;
}

/* Numbers of the compute type, times their scales, or less their zero points. */
static llrt_status scale_step(packed *p, int operand, plan_map map, int *weights) {
  if (p->operand[operand].tensor < 0) return LLRT_OK;
  map.kind = PLAN_MAP_SCALE;
  map.from = map.to = (uint8_t)p->compute;
  map.scale = type_of(p, operand);
  return map_step(
      p, map,
      (plan_step){.lazy = true, .by_value = true, .second = (uint8_t)p->operand[operand].number},
      weights);
}

/* Elements of W as what products take. */
static llrt_status decode_steps(packed *p, int *weights) {
  const uint8_t *range = p->job.desc.dot.scale_range[1];
  plan_map cast = {
      .kind = PLAN_MAP_CAST, .from = type_of(p, PACKED_WEIGHTS), .to = (uint8_t)p->compute};
  cast.words = p->job.words[1];
  memcpy(cast.perm, p->job.desc.dot.word_bits[1], sizeof cast.perm);
  if (p->bytes) {
    const packed_operand *scales = &p->operand[PACKED_SCALES];
    cast.kind = PLAN_MAP_SCALE;
    cast.scale = type_of(p, PACKED_SCALES);
    cast.low = range[0];
    cast.high = range[1];
    cast.shift = (int16_t)p->shift;
    return map_step(p, cast,
                    (plan_step){.lazy = true, .by_value = true, .second = (uint8_t)scales->number},
                    weights);
  }
  LLRT_TRY(map_step(p, cast, (plan_step){.lazy = true}, weights));
  LLRT_TRY(scale_step(p, PACKED_ZEROS, (plan_map){.subtracts = true}, weights));
  return scale_step(p, PACKED_SCALES, (plan_map){.low = range[0], .high = range[1]}, weights);
}

/* The copies of a turn `turns` ahead. */
static plan_step ahead(int turns) { return (plan_step){.kind = PLAN_AHEAD, .turns = turns}; }

/* What is copied of the turn is there, and what is cast of it; what turns later is copied begins.
 * The slot that is filled next was read in the turn before, which the barrier parts, too. */
static llrt_status ring_steps(packed *p) {
  plan_kernel *kernel = p->x.d.kernel;
  const packed_operand *rows = &p->operand[PACKED_ROWS];
  int slots = p->shape.slots;
  bool produced = p->shape.producers > 0;
  if (produced) LLRT_TRY(packed_copy_steps(p, (plan_step){.kind = PLAN_PRODUCE}));
  LLRT_TRY(draft_step(kernel, produced ? (plan_step){.kind = PLAN_FILLED}
                                       : (plan_step){.kind = PLAN_COPIED, .turns = slots - 2}));
  if (packed_producers_cast(p)) return LLRT_OK;
  const plan_step barrier = {.kind = PLAN_BARRIER, .own = true};
  for (int i = 0; i < rows->n_cast; i++) {
    bool stores = rows->cast[i].kind == PLAN_SHARED_STORE;
    if (produced && stores)
      LLRT_TRY(draft_step(kernel, barrier)); /* another warpgroup may be a turn behind */
    LLRT_TRY(draft_step(kernel, rows->cast[i]));
  }
  if (!produced || rows->n_cast > 0) LLRT_TRY(draft_step(kernel, barrier));
  return produced ? LLRT_OK : packed_copy_steps(p, ahead(slots - 1));
}

/* All operands are there. */
static llrt_status operand_steps(packed *p, int walk) {
  plan_kernel *kernel = p->x.d.kernel;
  bool rings = false;
  for (int i = 0; i < PACKED_OPERANDS; i++) {
    rings |= p->operand[i].ring;
    if (p->operand[i].tensor >= 0 && !p->operand[i].ring)
      LLRT_TRY(packed_load_steps(p, &p->operand[i]));
    if (i < PACKED_ROWS) kernel->step[walk].ahead = (uint8_t)(kernel->n_steps - walk - 1);
  }
  if (rings) LLRT_TRY(ring_steps(p));
  for (int i = 0; i < PACKED_OPERANDS; i++) {
    bool stays = i == PACKED_ROWS && p->shape.warpgroups;
    if (p->operand[i].ring && !stays) LLRT_TRY(draft_step(kernel, p->operand[i].load));
    if (p->operand[i].widen.kind) LLRT_TRY(draft_step(kernel, p->operand[i].widen));
  }
  return LLRT_OK;
}

/* Rows of the tile that are no block's are not multiplied. */
static llrt_status leave_rows(const packed *p, const plan_step *product) {
  plan_padding left;
  plan_dot_left(p->x.d.kernel, product, &left);
  if (!p->shape.own || left.n > 0) return LLRT_OK;
  return llrt_error(LLRT_UNSUPPORTED, "instructions for %d rows take all 2^%d of a tile",
                    p->shape.own, p->shape.m);
}

/* Short sums are of one turn: a group's stand beside those of all turns, a warp's, from value
 * `zero`, join them behind. */
static llrt_status turn_steps(packed *p, int walk, int zero, int carried, int *next) {
  plan_kernel *kernel = p->x.d.kernel;
  const packed_operand *rows = &p->operand[PACKED_ROWS];
  plan_value sums = kernel->value[carried];
  bool group = p->shape.warpgroups, produced = p->shape.producers > 0,
       fresh = p->short_sums && group, joins = p->short_sums && !group;
  int weights = p->operand[PACKED_WEIGHTS].number;
  LLRT_TRY(operand_steps(p, walk));
  LLRT_TRY(decode_steps(p, &weights));
  LLRT_TRY(draft_value(kernel, &sums, next));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_DOT,
                                          .in = (uint8_t)weights,
                                          .parts = produced && !fresh,
                                          .fresh_sums = fresh,
                                          .second = (uint8_t)(group ? rows->held : rows->number),
                                          .with = (uint8_t)(joins ? zero : carried),
                                          .out = (uint8_t)*next,
                                          .shared = group ? 2 : 0,
                                          .from = {0, group ? rows->load.buffer : 0},
                                          .instruction = (uint8_t)p->instruction}));
  const int made = *next;
  LLRT_TRY(leave_rows(p, &kernel->step[kernel->n_steps - 1]));
  if (produced)
    return draft_step(kernel, (plan_step){.kind = PLAN_RELEASE,
                                          .turns = !fresh,
                                          .in = (uint8_t)made,
                                          .out = (uint8_t)made});
  if (group && !fresh) return dot_stage_finish(&p->x.d, next);
  if (!joins) return LLRT_OK;
  LLRT_TRY(draft_value(kernel, &sums, next));
  return draft_step(kernel, (plan_step){.kind = PLAN_JOIN,
                                        .combiner = LLRT_COMBINE_SUM,
                                        .type = LLRT_F32,
                                        .in = (uint8_t)carried,
                                        .with = (uint8_t)made,
                                        .out = (uint8_t)*next});
}

static llrt_status walk_steps(packed *p, int *sums) {
  plan_kernel *kernel = p->x.d.kernel;
  plan_value value;
  int first, carried, next, walk;
  LLRT_TRY(packed_sums_value(p, &value));
  LLRT_TRY(draft_value(kernel, &value, &first));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_FILL,
                                          .combiner = LLRT_COMBINE_SUM,
                                          .type = LLRT_F32,
                                          .exclusive = true,
                                          .out = (uint8_t)first}));
  LLRT_TRY(draft_value(kernel, &value, &carried));
  LLRT_TRY(packed_plan_operands(p));
  if (p->shape.producers) LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_ROLES}));
  for (int i = 0; i + 1 < p->shape.slots && !p->shape.producers; i++)
    LLRT_TRY(packed_copy_steps(p, ahead(i)));
  LLRT_TRY(draft_open(kernel,
                      (plan_step){.kind = PLAN_WALK, .in = (uint8_t)first, .out = (uint8_t)carried},
                      &walk));
  LLRT_TRY(turn_steps(p, walk, first, carried, &next));
  draft_close(kernel, walk);
  if (p->shape.producers && !p->short_sums) LLRT_TRY(dot_stage_finish(&p->x.d, &carried));
  *sums = carried;
  return LLRT_OK;
}

/* Those of a position whose turns others have, too. */
static llrt_status dealt_results(packed *p, int sums) {
  int at;
  LLRT_TRY(rounds_settle(&p->x.d, &sums, &at));
  LLRT_TRY(dot_epilogue(&p->x, sums));
  draft_close(p->x.d.kernel, at);
  return LLRT_OK;
}

/* What few rows there are is stored by whoever has it. */
static llrt_status result_steps(packed *p, int sums) {
  plan_kernel *kernel = p->x.d.kernel;
  int tensor = p->job.tensor[LLRT_DOT_D];
  reduce_value value = {.op = LLRT_COMBINE_SUM, .type = LLRT_F32, .key = sums};
  bool sent;
  if (kernel->deal.used) return dealt_results(p, sums);
  LLRT_TRY(packed_send_results(p, sums, &sent));
  if (sent) return LLRT_OK;
  LLRT_TRY(reduce_block(&p->x.d, &value, p->shape.m + p->shape.n, true));
  if (p->shape.m > FEW || dot_acts(p->x.job)) return dot_epilogue(&p->x, value.key);
  LLRT_TRY(dot_cast(&p->x, LLRT_F32, p->job.desc.tensors[tensor].dtype, &value.key));
  const plan_value *stored = &kernel->value[value.key];
  int vector = draft_whole_vector(&p->x.d, stored, tensor, packed_access_vector(p, stored, tensor));
  return draft_step(kernel, (plan_step){.kind = PLAN_STORE,
                                        .tensor = (uint8_t)tensor,
                                        .in = (uint8_t)value.key,
                                        .vector = (uint8_t)vector,
                                        .masked = kernel->n_bounds > 0});
}

/* ---- the kernel ---- */

/* One that finds what it wants of registers. */
static llrt_status choose_instruction(packed *p) {
  plan_kernel *kernel = p->x.d.kernel;
  plan_value sums;
  kernel->producers = (uint8_t)p->shape.producers;
  kernel->slots = (uint8_t)(p->shape.producers ? p->shape.slots : 0);
  kernel->resident = p->shape.resident;
  p->instruction = packed_instruction(p, &kernel->target, p->shape.warpgroups, p->shape.m);
  if (p->instruction < 0)
    return llrt_error(LLRT_UNSUPPORTED, "no instruction of warpgroups multiplies 2^%d rows of A",
                      p->shape.m);
  LLRT_TRY(packed_sums_value(p, &sums));
  if (!p->shape.warpgroups ||
      plan_registers_hold(kernel, &sums, dot_instruction_at(p->instruction), p->short_sums, true))
    return LLRT_OK;
  return llrt_error(LLRT_UNSUPPORTED,
                    "the sums of 2^%d x 2^%d results pass the registers of 2^%d warps", p->shape.m,
                    p->shape.n, kernel->warp_bits);
}

llrt_status packed_plan_kernel(packed *p, const plan_target *target, const plan_options *options,
                               plan_kernel *kernel) {
  draft *d = &p->x.d;
  int sums;
  draft_begin(d, &p->job.desc, target, options, kernel);
  d->pushes = true;
  d->row_bits = p->shape.m;
  draft_sum_along(d, packed_axis(&p->job, PACKED_K), packed_axis(&p->job, PACKED_M));
  p->x.job = &p->job;
  p->x.types.sum = LLRT_F32;
  if (p->shape.own) d->tile_positions[d->first_tiled] = p->shape.own;
  LLRT_TRY(draft_digits(d));
  if (d->divided)
    return llrt_error(LLRT_UNSUPPORTED, "the storages of A and D do not fit packed weights");
  LLRT_TRY(make_tile(p));
  LLRT_TRY(choose_instruction(p));
  const uint8_t *bits = kernel->tensor_bits;
  if (p->shape.producers)
    dot_plan_bands(&p->x, (int64_t[]){bits[p->operand[PACKED_ROWS].tensor] << p->shape.m,
                                      bits[p->operand[PACKED_WEIGHTS].tensor] << p->shape.n});
  dot_count_turns(&p->x);
  LLRT_TRY(draft_walk_turns(d, 1u << packed_axis(&p->job, PACKED_K), 1));
  if (d->roles.grouped) draft_uniform_indices(d);
  if (p->shape.rounds || p->shape.deal) LLRT_TRY(rounds_begin(d));
  if (p->shape.deal) {
    plan_value dealt;
    LLRT_TRY(packed_sums_value(p, &dealt));
    LLRT_TRY(rounds_deal(d, &dealt, target->facts.units));
    kernel->launch.walk.least = target->tuning->packed_dealt_turns;
  }
  LLRT_TRY(walk_steps(p, &sums));
  LLRT_TRY(result_steps(p, sums));
  /* A block whose memory others still read must not end. */
  if (plan_others_read(kernel)) LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_BARRIER}));
  draft_finish(kernel);
  if (kernel->launch.shared_bytes >
      target->facts.shared_bytes) /* rings fit; with barriers or results beside them they may not */
    return llrt_error(
        LLRT_UNSUPPORTED,
        "rings and what is beside them take %d bytes of shared memory, a block has %d",
        kernel->launch.shared_bytes, target->facts.shared_bytes);
  return LLRT_OK;
}
