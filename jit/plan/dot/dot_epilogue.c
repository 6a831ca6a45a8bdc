/* From sums to D: what stands on sums (scales, alpha, C, bias, maps), each rounded, then one cast.
 * Without any of them results are cast before they move to the threads that store them. On the host
 * what stands on them acts where they were made: lanes are then results along one axis, and what
 * others share is one number or as many. */
#include "jit/plan/dot/dot.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/exchange/exchange.h"
#include "jit/plan/facts/value.h"

#include <math.h>
#include <string.h>

static uint64_t result_bits(const dot_draft *x) { return x->bits[DOT_DIM_M] | x->bits[DOT_DIM_N]; }

/* The code of a number in f32 or f64. */
static uint64_t code_of(llrt_dtype type, double number) {
  float narrow = (float)number;
  uint64_t code = 0;
  if (type == LLRT_F64) memcpy(&code, &number, sizeof number);
  else memcpy(&code, &narrow, sizeof narrow);
  return code;
}

static llrt_status multiply(dot_draft *x, llrt_dtype type, double by, int *value) {
  if (by == 1) return LLRT_OK;
  return dot_map(x,
                 (plan_map){.kind = PLAN_MAP_MULTIPLY,
                            .from = (uint8_t)type,
                            .to = (uint8_t)type,
                            .constant = code_of(type, by)},
                 -1, value);
}

/* By the run's alpha or beta. */
static llrt_status multiply_by_arg(dot_draft *x, llrt_dtype type, plan_arg_kind kind, int *value) {
  plan_number number;
  LLRT_TRY(
      draft_arg(&x->d, (plan_arg){.kind = (uint8_t)kind, .factor = type == LLRT_F64}, &number));
  return dot_map(x,
                 (plan_map){.kind = PLAN_MAP_MULTIPLY,
                            .from = (uint8_t)type,
                            .to = (uint8_t)type,
                            .arg = (uint16_t)(number.arg + 1)},
                 -1, value);
}

/* Whether a thread's or register's place moves by some of these tile bits and by others at once, as
 * in a storage that is no permutation of bits. */
static bool mixes(const plan_value *value, uint64_t tile_bits) {
  uint64_t some = plan_value_bits_of(value, tile_bits);
  for (int i = 0; i < llrt_layout_in_bits(&value->layout); i++)
    if (value->layout.column[i] & some && value->layout.column[i] & ~some) return true;
  return false;
}

/* The tensor's elements for the results that a value holds: along axes that it lacks one for all,
 * where threads can be told apart without them. */
static llrt_status load_beside(dot_draft *x, int tensor, llrt_dtype type, const plan_value *like,
                               int *value) {
  const draft *d = &x->d;
  plan_value own;
  dot_access access;
  uint64_t lacks = 0;
  int rank = x->job->desc.tensors[0].rank;
  const int axes[2] = {rank - 3 + x->job->finish, rank - 2 + x->job->finish};
  for (int dim = 0; dim < 2; dim++)
    if (draft_is_dropped(d, tensor, axes[dim])) lacks |= x->bits[dim];
  if (mixes(like, dot_tile_bits(x, lacks))) lacks = 0;
  plan_value_reduce(like, dot_tile_bits(x, lacks), &own);
  own = draft_retyped(d, &own, x->d.kernel->tensor_bits[tensor]);
  dot_value_access(x, tensor, &own, &access);
  LLRT_TRY(dot_load(x, tensor, &access, value));
  return dot_cast(x, x->job->desc.tensors[tensor].dtype, type, value);
}

/* *value joined with the tensor's elements: those of C first multiplied by beta. */
static llrt_status join_beside(dot_draft *x, llrt_dot_role role, int combiner, llrt_dtype type,
                               int *value) {
  plan_kernel *kernel = x->d.kernel;
  int tensor = x->job->tensor[role], beside, in = *value;
  if (tensor < 0) return LLRT_OK;
  plan_value like = kernel->value[in];
  LLRT_TRY(load_beside(x, tensor, type, &like, &beside));
  if (role == LLRT_DOT_C && x->job->desc.dot.has_beta)
    LLRT_TRY(multiply_by_arg(x, type, PLAN_ARG_BETA, &beside));
  LLRT_TRY(draft_value(kernel, &like, value));
  return draft_step(kernel, (plan_step){.kind = PLAN_PREFIX,
                                        .in = (uint8_t)in,
                                        .second = (uint8_t)beside,
                                        .out = (uint8_t)*value,
                                        .combiner = (uint8_t)combiner,
                                        .type = (uint8_t)type});
}

static plan_map_kind map_kind(llrt_map_kind kind) {
  return kind == LLRT_MAP_RELU   ? PLAN_MAP_RELU
         : kind == LLRT_MAP_GELU ? PLAN_MAP_GELU
                                 : PLAN_MAP_SILU;
}

/* The last one may cast what it scales (`to`). */
static llrt_status map_steps(dot_draft *x, llrt_dtype type, llrt_dtype to, int *value) {
  const op_description *desc = &x->job->desc;
  for (int i = 0; i < desc->n_maps; i++) {
    llrt_map_kind kind = desc->maps[i].kind;
    const bool last = i + 1 == desc->n_maps;
    if (kind == LLRT_MAP_ADD) {
      LLRT_TRY(join_beside(x, LLRT_DOT_ADD, LLRT_COMBINE_SUM, type, value));
    } else if (kind == LLRT_MAP_SCALE) {
      int tensor = x->job->tensor[LLRT_DOT_SCALE_D];
      LLRT_TRY(dot_map(x,
                       (plan_map){.kind = PLAN_MAP_SCALE,
                                  .from = (uint8_t)type,
                                  .to = (uint8_t)(last ? to : type),
                                  .scale = (uint8_t)desc->tensors[tensor].dtype},
                       tensor, value));
    } else {
      LLRT_TRY(dot_map(
          x,
          (plan_map){.kind = (uint8_t)map_kind(kind), .from = (uint8_t)type, .to = (uint8_t)type},
          -1, value));
    }
  }
  return LLRT_OK;
}

/* Everything between the sums, of dot_acting_type, and the cast. to: the type itself, or what a
 * last scale makes of its products. */
static llrt_status acting_steps(dot_draft *x, llrt_dtype type, llrt_dtype to, int *value) {
  const op_dot *dot = &x->job->desc.dot;
  if (x->job->scaled_sums[0])
    LLRT_TRY(join_beside(x, LLRT_DOT_SCALE_A, LLRT_COMBINE_PROD, type, value));
  if (x->job->scaled_sums[1])
    LLRT_TRY(join_beside(x, LLRT_DOT_SCALE_B, LLRT_COMBINE_PROD, type, value));
  LLRT_TRY(join_beside(x, LLRT_DOT_GLOBAL_A, LLRT_COMBINE_PROD, type, value));
  LLRT_TRY(join_beside(x, LLRT_DOT_GLOBAL_B, LLRT_COMBINE_PROD, type, value));
  LLRT_TRY(multiply(x, type, ldexp(1, x->job->shift), value));
  if (dot->has_alpha) LLRT_TRY(multiply_by_arg(x, type, PLAN_ARG_ALPHA, value));
  LLRT_TRY(join_beside(x, LLRT_DOT_C, LLRT_COMBINE_SUM, type, value));
  LLRT_TRY(join_beside(x, LLRT_DOT_BIAS, LLRT_COMBINE_SUM, type, value));
  return map_steps(x, type, to, value);
}

bool dot_acts(const dot_job *job) {
  static const llrt_dot_role roles[] = {LLRT_DOT_C, LLRT_DOT_BIAS, LLRT_DOT_GLOBAL_A,
                                        LLRT_DOT_GLOBAL_B};
  const op_description *desc = &job->desc;
  bool any = desc->n_maps > 0 || desc->dot.has_alpha || job->shift != 0;
  for (int i = 0; i < 4; i++) any |= job->tensor[roles[i]] >= 0;
  return any || job->scaled_sums[0] || job->scaled_sums[1];
}

/* The sums are i32 or of their own type. */
static llrt_status store_at_once(dot_draft *x, llrt_dtype sum, llrt_dtype type,
                                 const dot_access *stored, int value) {
  bool early = llrt_dtype_bits(type) <= llrt_dtype_bits(sum);
  if (early) LLRT_TRY(dot_cast(x, sum, type, &value));
  plan_value target = draft_retyped(&x->d, &stored->value, x->d.kernel->value[value].bits);
  LLRT_TRY(draft_exchange(&x->d, value, &target, &value));
  if (!early) LLRT_TRY(dot_cast(x, sum, type, &value));
  return dot_store(x, x->job->tensor[LLRT_DOT_D], stored, value);
}

/* Sums on which nothing acts. Those in i64 become f64 first, unless they are D's type. */
static llrt_status store_whole(dot_draft *x, llrt_dtype sum, llrt_dtype type,
                               const dot_access *stored, int value) {
  if (sum == LLRT_I64 && type != LLRT_I64) {
    LLRT_TRY(dot_cast(x, sum, LLRT_F64, &value));
    sum = LLRT_F64;
  }
  return store_at_once(x, sum, type, stored, value);
}

/* Has each block of a cluster store what it has the sums of: they change places inside a block
 * then. Accesses stay. */
static void keep_blocks(const plan_kernel *kernel, int sums, dot_access *stored) {
  llrt_layout *layout = &stored->value.layout;
  const plan_value *value = &kernel->value[sums];
  int lanes = plan_value_bits(&stored->value, PLAN_LANE),
      registers = plan_value_bits(&stored->value, PLAN_REGISTER);
  uint64_t *warps = &layout->column[registers + lanes];
  for (int i = kernel->warp_bits - kernel->cluster_bits; i < kernel->warp_bits; i++) {
    uint64_t own = plan_value_columns(value, PLAN_WARP)[i];
    for (int c = stored->vector; c < registers + lanes + kernel->warp_bits; c++) {
      bool lane = c >= registers && c < registers + lanes;
      if (lane || own == 0 || layout->column[c] != own) continue;
      layout->column[c] = warps[i];
      warps[i] = own;
      break;
    }
  }
}

/* Whether what acts on a grouped product's results does so where warpgroups have made them: a
 * thread has few rows there, so few of their weights, and results change threads when they are
 * cast. */
static bool acts_where_made(const dot_draft *x) {
  static const llrt_dot_role beside[] = {LLRT_DOT_C, LLRT_DOT_BIAS, LLRT_DOT_GLOBAL_A,
                                         LLRT_DOT_GLOBAL_B, LLRT_DOT_ADD};
  const dot_job *job = x->job;
  bool any = job->scaled_sums[0] || job->scaled_sums[1];
  for (int i = 0; i < 5; i++) any |= job->tensor[beside[i]] >= 0;
  const int scale = job->tensor[LLRT_DOT_SCALE_D], columns = job->desc.tensors[0].rank - 2;
  const bool by_rows = scale < 0 || draft_is_dropped(&x->d, scale, columns);
  const bool groups = x->warpgroups ? !x->swapped : x->d.kernel->producers > 0; /* or packed */
  return groups && x->d.kernel->experts.shared && !any && by_rows;
}

/* Whether results are scaled last, by rows, and cast to fewer bits: one step does both, and no sum
 * that is NaN has to become the one NaN of f32 in between. */
static bool scales_and_casts(const dot_draft *x, llrt_dtype acting, llrt_dtype type) {
  const op_description *desc = &x->job->desc;
  return acts_where_made(x) && acting == LLRT_F32 && (type == LLRT_BF16 || type == LLRT_F16) &&
         desc->n_maps > 0 && desc->maps[desc->n_maps - 1].kind == LLRT_MAP_SCALE;
}

llrt_status dot_epilogue(dot_draft *x, int sums) {
  int tensor = x->job->tensor[LLRT_DOT_D];
  llrt_dtype sum = x->job->rule.sums, type = x->job->desc.tensors[tensor].dtype;
  dot_access stored;
  LLRT_TRY(dot_memory_value(x, tensor, result_bits(x), &stored));
  keep_blocks(x->d.kernel, sums, &stored);
  if (x->warpgroups) dot_keep_warps(x->d.kernel, &x->d.kernel->value[sums], &stored);
  if (x->job->partial || !dot_acts(x->job))
    return store_whole(x, sum, x->job->partial ? sum : type, &stored, sums);
  llrt_dtype acting = dot_acting_type(sum);
  LLRT_TRY(dot_cast(x, sum, acting, &sums));
  if (x->d.kernel->target.simd_lanes || acts_where_made(x)) {
    const llrt_dtype made = scales_and_casts(x, acting, type) ? type : acting;
    LLRT_TRY(acting_steps(x, acting, made, &sums));
    return store_at_once(x, made, type, &stored, sums);
  }
  plan_value target = draft_retyped(&x->d, &stored.value, llrt_dtype_bits(acting));
  LLRT_TRY(draft_exchange(&x->d, sums, &target, &sums));
  LLRT_TRY(acting_steps(x, acting, acting, &sums));
  LLRT_TRY(dot_cast(x, acting, type, &sums));
  return dot_store(x, tensor, &stored, sums);
}
