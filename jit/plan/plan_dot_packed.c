/* Planning a dot with packed weights for few rows: D^T = W^T A^T by mma.sync, N being the instruction's 16 rows.
 *
 *   fill, walk K { load W, load scales (a turn ahead), load A, decode W, scale, dot }, join warps, cast, store
 *
 * W goes from memory straight into the registers of its fragments: a warp reads whole vectors behind each other, as
 * wide as memory allows, and keeps a turn of them under way while it works on another. Warps share K; what they have
 * summed is joined in the end. Rows that there are not cost nothing but their place in the tile. */
#include "jit/plan/dot.h"
#include "jit/plan/dot_packed.h"
#include "jit/plan/reduce.h"

#include "base/bits.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TILE 24 /* bits */
#define TILE_N 5    /* log2 positions of N */
#define WARPS 3     /* log2, that share K */
#define FEW 4       /* log2 rows */

enum { AXIS_M, AXIS_N, AXIS_K }; /* the operation's, where there are no batch axes */

typedef struct packed {
  dot_draft x;
  dot_job job;
  int group;            /* log2 positions of K that share a scale */
  llrt_dtype compute;   /* f16, bf16 */
  int instruction;
  int m, n, k, warps;   /* log2 positions of the tile: k of one warp */
  int first_n, first_warp, first_k; /* tile bits: m's are lowest */
  uint64_t m_bits, n_bits, k_bits;
} packed;

/* ---- what is packed ---- */

/* Whether what stands on A and W can be done where this kernel does it: scales of W as it decodes, others on sums. */
static bool has_kernel(const dot_job *job) {
  const int *tensor = job->tensor;
  return job->desc.tensors[0].rank == 3 && !job->words[0] && tensor[LLRT_DOT_SCALE_B] >= 0 && !job->scaled_sums[1] &&
         tensor[LLRT_DOT_ZERO_A] < 0 && tensor[LLRT_DOT_ZERO_B] < 0 &&
         (tensor[LLRT_DOT_SCALE_A] < 0 || job->scaled_sums[0]) && job->rule.sums == LLRT_F32;
}

/* Whether a tensor's storage, of the operation's axes, is the packed one, of axes K and N. */
static bool is_stored_so(const llrt_op_desc *desc, int tensor, const llrt_storage *rule) {
  llrt_storage own = *rule;
  llrt_layout *tile = &own.tile;
  const llrt_storage *storage = desc->tensors[tensor].storage;
  if (storage->tile.n_out != 3 || storage->n_digits != own.n_digits || storage->pad != own.pad ||
      storage->pad_value != own.pad_value || storage->swizzle.swizzle_len || storage->offset[0])
    return false;
  for (int i = 0; i < own.n_digits; i++)
    if (storage->digit[i].axis != (own.digit[i].axis == 0 ? AXIS_K : AXIS_N) ||
        storage->digit[i].extent != own.digit[i].extent || storage->digit[i].stride != own.digit[i].stride)
      return false;
  int n = llrt_layout_in_bits(tile);
  if (llrt_layout_in_bits(&storage->tile) != n) return false;
  for (int i = 0; i < n; i++)
    for (int axis = 0; axis < 2; axis++) {
      char name[2][LLRT_NAME_BYTES] = {"dim0", "dim2"};
      if (axis == 1) memcpy(name[0], "dim1", 5), memcpy(name[1], "dim1", 5);
      int a = llrt_layout_out_index(tile, name[0]), b = llrt_layout_out_index(&storage->tile, name[1]);
      uint64_t x = tile->column[i] >> llrt_layout_out_shift(tile, a) & bits_mask(tile->out[a].bits);
      uint64_t y = storage->tile.column[i] >> llrt_layout_out_shift(&storage->tile, b) &
                   bits_mask(storage->tile.out[b].bits);
      if (x != y) return false;
    }
  return true;
}

static bool is_packed(const dot_job *job, int *group) {
  const llrt_op_desc *desc = &job->desc;
  int weights = job->tensor[LLRT_DOT_B], scale = job->tensor[LLRT_DOT_SCALE_B];
  llrt_storage values, scales;
  if (!has_kernel(job) || llrt_dtype_bits(desc->tensors[weights].dtype) != 4) return false;
  int32_t positions = desc->dot.group[scale][AXIS_K];
  *group = positions > 0 && bits_is_power_of_two(positions) ? bits_log2(positions) : 0;
  int bits = llrt_dtype_bits(desc->tensors[scale].dtype);
  if (desc->dot.group[scale][AXIS_N] != 1 || dot_packed_values(&values) != LLRT_OK ||
      dot_packed_scales(*group, bits, &scales) != LLRT_OK)
    return false;
  return is_stored_so(desc, weights, &values) && is_stored_so(desc, scale, &scales);
}

/* What the matrix instruction multiplies: A's own type, where it holds all values of W. NONE: another kernel's. */
static llrt_dtype compute_type(const dot_job *job) {
  const llrt_tensor *tensors = job->desc.tensors;
  llrt_dtype type = tensors[job->tensor[LLRT_DOT_A]].dtype, scale = tensors[job->tensor[LLRT_DOT_SCALE_B]].dtype;
  bool halves = type == LLRT_F16 || type == LLRT_BF16;
  bool rounded = job->rule.b.rounded == type || job->rule.b.rounded == LLRT_DTYPE_NONE ||
                 (type == LLRT_F16 && scale == LLRT_E8M0);
  return halves && rounded && (scale == type || scale == LLRT_E8M0) && dot_dtype_holds(type, &job->rule.b.values)
             ? type : LLRT_DTYPE_NONE;
}

/* mma.sync m16n8k16 of the type; -1: the target has none. */
static int find_instruction(const plan_target *target, llrt_dtype type) {
  for (int i = 0; i < dot_instruction_count(); i++) {
    const dot_instruction *row = dot_instruction_at(i);
    if (row->family == DOT_MMA && row->a == type && row->b == type && row->m == 4 && row->n == 3 && row->k == 4 &&
        dot_instruction_is_of(row, target))
      return i;
  }
  return -1;
}

/* ---- the tile ---- */

/* The vector of the digits' bits that is position 2^p of an axis; 0: there is none. */
static uint64_t axis_bit(const draft *d, int axis, int p) {
  for (int i = 0; i < d->kernel->n_digits; i++) {
    const plan_digit *digit = &d->kernel->digit[i];
    int at = p - bits_log2(digit->step);
    if (digit->axis == axis && bits_is_power_of_two(digit->step) && at >= 0 && at < d->bits[i])
      return 1ull << (d->first[i] + at);
  }
  return 0;
}

static bool add_bits(dot_draft *x, int axis, int from, int n) {
  static const int dims[] = {[AXIS_M] = DOT_DIM_M, [AXIS_N] = DOT_DIM_N, [AXIS_K] = DOT_DIM_K};
  for (int p = from; p < from + n; p++) {
    uint64_t bit = axis_bit(&x->d, axis, p);
    if (bit == 0) return false;
    x->bits[dims[axis]] |= bit;
    x->d.order[0][x->d.tile_bits++] = bit;
  }
  return true;
}

/* Fixed bits that the tile has not: of K they number turns, of others blocks. */
static void fill_grid(draft *d) {
  uint64_t tile = 0;
  for (int i = 0; i < d->tile_bits; i++) tile |= d->order[0][i];
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < d->kernel->n_digits; i++)
      for (int b = 0; b < d->bits[i]; b++) {
        uint64_t x = 1ull << (d->first[i] + b);
        if (x & tile || d->kernel->digit[i].rest || draft_is_reduced(d, d->kernel->digit[i].axis) != pass) continue;
        d->grid[d->n_grid++] = x;
        d->n_walked += pass;
      }
}

/* m, n, then K: the warps' part, and what lanes and registers of one have. */
static llrt_status make_tile(packed *p) {
  draft *d = &p->x.d;
  d->tile_bits = 0;
  while (p->warps > 0 && !axis_bit(d, AXIS_K, p->k + p->warps - 1)) p->warps--;
  dot_draft *x = &p->x;
  bool there = add_bits(x, AXIS_M, 0, p->m) && add_bits(x, AXIS_N, 0, p->n) &&
               add_bits(x, AXIS_K, p->k, p->warps) && add_bits(x, AXIS_K, 0, p->k);
  if (!there) return llrt_error(LLRT_UNSUPPORTED, "packed weights of fewer than %d x %d", 1 << p->k, 1 << p->n);
  d->kernel->warp_bits = p->warps;
  p->first_n = p->m;
  p->first_warp = p->m + p->n;
  p->first_k = p->first_warp + p->warps;
  p->m_bits = bits_mask(p->m);
  p->n_bits = bits_mask(p->n) << p->first_n;
  p->k_bits = bits_mask(p->k) << p->first_k;
  for (int i = 0; i < p->m; i++) d->walked |= axis_bit(d, AXIS_M, i); /* then weights come from the cache */
  fill_grid(d);
  return draft_space(d);
}

/* ---- values ---- */

/* Tile bits in the order of an in-dim. */
typedef struct places {
  int n;
  uint64_t at[MAX_TILE];
} places;

static void add(places *list, uint64_t bit) { list->at[list->n++] = bit; }
static uint64_t m_bit(const packed *p, int i) { (void)p; return 1ull << i; }
static uint64_t n_bit(const packed *p, int i) { return 1ull << (p->first_n + i); }
static uint64_t k_bit(const packed *p, int i) { return 1ull << (p->first_k + i); }

static llrt_status make_value(const packed *p, int bits, uint64_t reduced, const places *registers, const places *lanes,
                              plan_value *out) {
  places warps = {0};
  for (int i = 0; i < p->warps; i++) add(&warps, 1ull << (p->first_warp + i));
  const places *lists[] = {registers, lanes, &warps};
  static const char *const names[] = {"register", "lane", "warp"};
  *out = (plan_value){.bits = (uint8_t)bits, .reduced = reduced};
  out->word = (uint8_t)bits_min(draft_word_of(&p->x.d, bits), registers->n);
  out->layout = llrt_layout_empty();
  LLRT_TRY(llrt_layout_add_out(&out->layout, "tile", p->x.d.tile_bits - bits_count(reduced)));
  for (int dim = 0; dim < 3; dim++) {
    int first = llrt_layout_in_bits(&out->layout);
    LLRT_TRY(llrt_layout_add_in(&out->layout, names[dim], lists[dim]->n));
    for (int i = 0; i < lists[dim]->n; i++)
      out->layout.column[first + i] = plan_value_bits_of(out, lists[dim]->at[i]);
  }
  return llrt_layout_add_in(&out->layout, "iteration", 0);
}

/* W: words and vectors as memory has them (dot_packed.c), then what more a lane has along K, along N. */
static llrt_status weights_value(const packed *p, plan_value *out) {
  places registers = {0}, lanes = {0};
  add(&registers, k_bit(p, 0));
  add(&registers, n_bit(p, 3));
  for (int i = 1; i < 5; i++) add(&registers, k_bit(p, i));
  for (int i = 7; i < p->k; i++) add(&registers, k_bit(p, i));
  for (int i = 4; i < p->n; i++) add(&registers, n_bit(p, i));
  for (int i = 5; i < 7; i++) add(&lanes, k_bit(p, i));
  for (int i = 0; i < 3; i++) add(&lanes, n_bit(p, i));
  return make_value(p, 4, p->m_bits, &registers, &lanes, out);
}

/* A: the instruction's k as W has it, eight elements of a row an access. */
static llrt_status rows_value(const packed *p, int bits, plan_value *out) {
  places registers = {0}, lanes = {0};
  for (int i = 0; i < 5; i++) add(&registers, k_bit(p, i));
  for (int i = 7; i < p->k; i++) add(&registers, k_bit(p, i));
  for (int i = 3; i < p->m; i++) add(&registers, m_bit(p, i));
  for (int i = 5; i < 7; i++) add(&lanes, k_bit(p, i));
  for (int i = 0; i < 3; i++) add(&lanes, m_bit(p, i));
  return make_value(p, bits, p->n_bits, &registers, &lanes, out);
}

static llrt_status sums_value(const packed *p, plan_value *out) {
  places registers = {0}, lanes = {0};
  add(&registers, m_bit(p, 0));
  for (int i = 3; i < p->n; i++) add(&registers, n_bit(p, i));
  for (int i = 3; i < p->m; i++) add(&registers, m_bit(p, i));
  for (int i = 1; i < 3; i++) add(&lanes, m_bit(p, i));
  for (int i = 0; i < 3; i++) add(&lanes, n_bit(p, i));
  LLRT_TRY(make_value(p, 32, p->k_bits, &registers, &lanes, out));
  out->word = 0;
  return LLRT_OK;
}

/* ---- steps ---- */

static int access_vector(const packed *p, const plan_value *value, int tensor) {
  dot_access access;
  dot_value_access(&p->x, tensor, value, &access);
  return bits_min(access.vector, access.align);
}

/* Bounds of the rows, which the tile may pass by a lot. */
static uint32_t row_bounds(const packed *p) {
  const plan_kernel *kernel = p->x.d.kernel;
  uint32_t rows = 0;
  for (int i = 0; i < kernel->n_bounds; i++)
    if (kernel->digit[kernel->bound[i].top].axis == AXIS_M) rows |= 1u << i;
  return rows;
}

/* A load whose turn is inside all bounds but those of rows, or masked. */
static llrt_status load_steps(packed *p, int tensor, const plan_value *value, int *loaded) {
  plan_kernel *kernel = p->x.d.kernel;
  plan_value spread;
  uint32_t rows = tensor == p->job.tensor[LLRT_DOT_A] ? row_bounds(p) : 0, others = ~row_bounds(p);
  LLRT_TRY(draft_value(kernel, value, loaded));
  plan_step load = {.kind = PLAN_LOAD, .tensor = (uint8_t)tensor, .out = (uint8_t)*loaded, .predicated = true,
                    .masked = rows != 0, .apart = others, .vector = (uint8_t)access_vector(p, value, tensor)};
  bool edge = (bits_mask(kernel->n_bounds) & others) != 0;
  if (edge)
    LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_IF_INTERIOR, .joins = true, .body = 1, .otherwise = 1,
                                            .apart = ~others, .out = (uint8_t)*loaded}));
  LLRT_TRY(draft_step(kernel, load));
  if (!edge) return LLRT_OK;
  load.masked = true;
  load.apart = 0;
  plan_value_spread(kernel, value, &spread);
  load.vector = (uint8_t)draft_whole_vector(&p->x.d, &spread, tensor, load.vector);
  return draft_step(kernel, load);
}

static llrt_status map_step(packed *p, plan_map map, plan_step step, int *value) {
  plan_kernel *kernel = p->x.d.kernel;
  plan_value made = draft_retyped(&p->x.d, &kernel->value[*value], llrt_dtype_bits((llrt_dtype)map.to));
  if (kernel->n_maps == PLAN_MAX_MAPS) return llrt_error(LLRT_INTERNAL, "a kernel of more than %d maps", PLAN_MAX_MAPS);
  step.kind = PLAN_MAP;
  step.in = (uint8_t)*value;
  step.map = (uint8_t)kernel->n_maps;
  kernel->map[kernel->n_maps++] = map;
  LLRT_TRY(draft_value(kernel, &made, value));
  step.out = (uint8_t)*value;
  return draft_step(kernel, step);
}

/* Elements of W as numbers of the compute type, times their scales. */
static llrt_status decode_steps(packed *p, int scales, int *weights) {
  const llrt_tensor *tensors = p->job.desc.tensors;
  uint8_t type = (uint8_t)p->compute;
  const uint8_t *range = p->job.desc.dot.scale_range[1];
  plan_map cast = {.kind = PLAN_MAP_CAST, .from = (uint8_t)tensors[p->job.tensor[LLRT_DOT_B]].dtype, .to = type};
  cast.words = p->job.words[1];
  memcpy(cast.perm, p->job.desc.dot.word_bits[1], sizeof cast.perm);
  plan_map scale = {.kind = PLAN_MAP_SCALE, .from = type, .to = type,
                    .scale = (uint8_t)tensors[p->job.tensor[LLRT_DOT_SCALE_B]].dtype,
                    .low = range[0], .high = range[1]};
  LLRT_TRY(map_step(p, cast, (plan_step){.lazy = true}, weights));
  return map_step(p, scale, (plan_step){.lazy = true, .by_value = true, .second = (uint8_t)scales}, weights);
}

static llrt_status turn_steps(packed *p, int walk, int carried, int *next) {
  plan_kernel *kernel = p->x.d.kernel;
  plan_value weights, scales, rows, sums = kernel->value[carried];
  int w, s, a;
  LLRT_TRY(weights_value(p, &weights));
  plan_value_reduce(&weights, bits_mask(bits_min(p->group, p->k)) << p->first_k, &scales);
  const llrt_tensor *tensors = p->job.desc.tensors;
  const int *tensor = p->job.tensor;
  scales.bits = (uint8_t)llrt_dtype_bits(tensors[tensor[LLRT_DOT_SCALE_B]].dtype);
  scales.word = (uint8_t)bits_min(draft_word_of(&p->x.d, scales.bits), plan_value_bits(&scales, PLAN_REGISTER));
  LLRT_TRY(load_steps(p, tensor[LLRT_DOT_B], &weights, &w));
  LLRT_TRY(load_steps(p, tensor[LLRT_DOT_SCALE_B], &scales, &s));
  kernel->step[walk].ahead = (uint8_t)(kernel->n_steps - walk - 1);
  LLRT_TRY(rows_value(p, 16, &rows));
  LLRT_TRY(load_steps(p, tensor[LLRT_DOT_A], &rows, &a));
  LLRT_TRY(decode_steps(p, s, &w));
  LLRT_TRY(draft_value(kernel, &sums, next));
  return draft_step(kernel, (plan_step){.kind = PLAN_DOT, .in = (uint8_t)w, .second = (uint8_t)a,
                                        .with = (uint8_t)carried, .out = (uint8_t)*next,
                                        .instruction = (uint8_t)p->instruction});
}

static llrt_status walk_steps(packed *p, int *sums) {
  plan_kernel *kernel = p->x.d.kernel;
  plan_value value;
  int first, carried, next, walk;
  LLRT_TRY(sums_value(p, &value));
  LLRT_TRY(draft_value(kernel, &value, &first));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_FILL, .combiner = LLRT_COMBINE_SUM, .type = LLRT_F32,
                                          .exclusive = true, .out = (uint8_t)first}));
  LLRT_TRY(draft_value(kernel, &value, &carried));
  walk = kernel->n_steps;
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_WALK, .in = (uint8_t)first, .out = (uint8_t)carried}));
  LLRT_TRY(turn_steps(p, walk, carried, &next));
  kernel->step[walk].body = (uint8_t)(kernel->n_steps - walk - 1);
  *sums = carried;
  return LLRT_OK;
}

/* What few rows there are is stored by whoever has it. */
static llrt_status result_steps(packed *p, int sums) {
  plan_kernel *kernel = p->x.d.kernel;
  int tensor = p->job.tensor[LLRT_DOT_D];
  reduce_value value = {.op = LLRT_COMBINE_SUM, .type = LLRT_F32, .key = sums};
  LLRT_TRY(reduce_block(&p->x.d, &value, p->m + p->n, true));
  if (p->m > FEW || dot_acts(&p->x)) return dot_epilogue(&p->x, value.key);
  LLRT_TRY(dot_cast(&p->x, LLRT_F32, p->job.desc.tensors[tensor].dtype, &value.key));
  const plan_value *stored = &kernel->value[value.key];
  int vector = draft_whole_vector(&p->x.d, stored, tensor, access_vector(p, stored, tensor));
  return draft_step(kernel, (plan_step){.kind = PLAN_STORE, .tensor = (uint8_t)tensor, .in = (uint8_t)value.key,
                                        .vector = (uint8_t)vector, .masked = kernel->n_bounds > 0});
}

/* ---- the kernel ---- */

static llrt_status turn_arguments(packed *p) {
  draft *d = &p->x.d;
  plan_turns *turns = &d->kernel->walk;
  turns->grid_bits = (uint8_t)(d->n_grid - d->n_walked);
  turns->split = -1;
  d->kernel->launch.walk.axes = 1u << AXIS_K;
  d->kernel->launch.walk.least = 1;
  LLRT_TRY(draft_arg(d, (plan_arg){.kind = PLAN_ARG_TURNS}, &turns->turns));
  return draft_arg(d, (plan_arg){.kind = PLAN_ARG_SHARE}, &turns->share);
}

static llrt_status plan_kernel_of(packed *p, const plan_target *target, const plan_options *options, plan_kernel *kernel) {
  draft *d = &p->x.d;
  int sums;
  draft_begin(d, &p->job.desc, target, options, kernel);
  d->row_bits = p->m;
  d->summed = AXIS_K;
  d->first_tiled = AXIS_M;
  p->x.job = &p->job;
  p->x.types.sum = LLRT_F32;
  LLRT_TRY(draft_digits(d));
  if (d->divided) return llrt_error(LLRT_UNSUPPORTED, "the storages of A and D do not fit packed weights");
  LLRT_TRY(make_tile(p));
  LLRT_TRY(turn_arguments(p));
  LLRT_TRY(walk_steps(p, &sums));
  LLRT_TRY(result_steps(p, sums));
  kernel->resident = 2;
  draft_finish(kernel);
  return LLRT_OK;
}

/* Rows of a tile and positions of K that a warp takes in a turn, log2: each for up to so many rows, the last for
 * all. Registers of A and of the sums leave less for what is under way. */
static const struct {
  int m, k;
} shapes[] = {{3, 8}, {4, 7}, {5, 7}};
#define N_SHAPES ((int)(sizeof shapes / sizeof *shapes))

static llrt_status plan_shapes(packed *p, const plan_target *target, const plan_options *options, plan *out) {
  int64_t most = p->job.desc.promises[0].shape[AXIS_M].max;
  const packed begin = *p;
  out->n_variants = 0;
  for (int i = 0; i < N_SHAPES; i++) {
    plan_kernel *kernel = &out->variant[out->n_variants++];
    int64_t rows = (int64_t)1 << shapes[i].m;
    *p = begin;
    p->m = shapes[i].m;
    p->k = shapes[i].k;
    LLRT_TRY(plan_kernel_of(p, target, options, kernel));
    bool last = i == N_SHAPES - 1 || (most > 0 && most <= rows);
    if (last) break;
    kernel->launch.range = (plan_range){.max_extent[AXIS_M] = rows};
  }
  return LLRT_OK;
}

llrt_status plan_dot_packed_make(const llrt_op_desc *desc, const plan_target *target, const plan_options *options,
                                 plan *out, bool *made) {
  packed *p = calloc(1, sizeof *p);
  *made = false;
  if (!p) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a plan");
  dot_begin_job(desc, &p->job);
  p->n = TILE_N;
  p->warps = bits_min(WARPS, target->warp_bits);
  bool packed_here = target->isa == PLAN_ISA_NVPTX && is_packed(&p->job, &p->group);
  if (packed_here) p->compute = compute_type(&p->job);
  p->instruction = p->compute ? find_instruction(target, p->compute) : -1;
  llrt_status status = LLRT_OK;
  if (p->instruction >= 0) {
    status = plan_shapes(p, target, options, out);
    *made = status == LLRT_OK;
    if (status == LLRT_UNSUPPORTED) status = LLRT_OK; /* storages or extents that only the general kernels take */
  }
  free(p);
  return status;
}
