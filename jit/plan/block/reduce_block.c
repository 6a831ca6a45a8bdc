/* The combination of a value inside a block (docs/reduce.md): a tree in every thread, butterflies
 * over lanes, then through shared memory with one store of every partial result, behind which the
 * warps' bits are lanes that hold copies otherwise, or registers. */

#include "base/bits.h"

#include "base/status.h"
#include "jit/plan/block/block.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/exchange/exchange.h"
#include "jit/plan/facts/fold.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/facts/vector_list.h"

#include <string.h>

static plan_step combining(const reduce_value *value, plan_step_kind kind) {
  return (plan_step){.kind = (uint8_t)kind,
                     .combiner = (uint8_t)value->op,
                     .type = (uint8_t)value->type,
                     .pairs = value->pairs,
                     .sizes = value->sizes,
                     .in = (uint8_t)value->key,
                     .index_in = (uint8_t)value->at};
}

/* A step of one kind that leaves values laid out as `out`. */
static llrt_status join_step(draft *d, reduce_value *value, plan_step_kind kind,
                             const plan_value *out, bool ordered) {
  plan_step step = combining(value, kind);
  plan_value made = *out;
  step.ordered = ordered;
  LLRT_TRY(draft_value(d->kernel, &made, &value->key));
  step.out = (uint8_t)value->key;
  if (value->pairs) {
    made.bits = (uint8_t)llrt_dtype_bits(value->index);
    LLRT_TRY(draft_value(d->kernel, &made, &value->at));
    step.index_out = (uint8_t)value->at;
  }
  return draft_step(d->kernel, step);
}

static bool reaches_beyond(const plan_value *value, plan_dim dim, int tile_bits) {
  int bit[LLRT_MAX_BITS];
  return plan_fold_bits(value, dim, tile_bits, bit) > 0;
}

llrt_status reduce_fold(draft *d, reduce_value *value, int tile_bits, bool ordered) {
  const plan_value in = d->kernel->value[value->key];
  plan_value out;
  if (!reaches_beyond(&in, PLAN_REGISTER, tile_bits)) return LLRT_OK;
  LLRT_TRY(plan_fold_laid_out(d->kernel, &in, tile_bits, in.bits, &out));
  bool stays = plan_value_columns(&in, PLAN_REGISTER)[0] >> tile_bits == 0;
  if (stays) out.word = in.word;
  return join_step(d, value, PLAN_FOLD, &out, ordered);
}

static llrt_status fold_lanes(draft *d, reduce_value *value, int tile_bits) {
  const plan_value in = d->kernel->value[value->key];
  plan_value out;
  if (!reaches_beyond(&in, PLAN_LANE, tile_bits)) return LLRT_OK;
  LLRT_TRY(plan_fold_laid_out(d->kernel, &in, tile_bits, in.bits, &out));
  return join_step(d, value, PLAN_FOLD_LANES, &out, false);
}

/* How many coordinates from `from` on are columns of dim. */
static int count_beyond(const plan_value *value, plan_dim dim, int from) {
  int bit[LLRT_MAX_BITS];
  return plan_fold_bits(value, dim, from, bit);
}

/* Whether one access loads the results of all warps, which takes less time than to join them across
 * lanes: each thread has one number of 32 bits, and no other block any. */
static bool fits_access(const plan_kernel *kernel, const reduce_value *value, int kept) {
  enum { ACCESS_BITS = 128 };
  const plan_value *in = &kernel->value[value->key];
  return kernel->cluster_bits == 0 && !value->pairs && in->bits == 32 &&
         in->bits << count_beyond(in, PLAN_WARP, kept) <= ACCESS_BITS &&
         plan_value_bits(in, PLAN_REGISTER) == 0;
}

/* The layout behind shared memory: the reduced columns of warps lie in lanes that hold copies,
 * lowest first, and then in registers; at_once: in registers. spread: registers take their places
 * in the warps, from the lowest on; to_blocks: where they are not enough for all, from the highest
 * on, so that each block of a cluster has a part. */
static llrt_status behind_shared(const plan_value *in, int kept, bool spread, bool to_blocks,
                                 bool at_once, plan_value *out) {
  vector_list dims[3];
  int bit[LLRT_MAX_BITS], n = plan_fold_bits(in, PLAN_WARP, kept, bit), next = 0;
  uint64_t moved[LLRT_MAX_BITS];
  for (int i = 0; i < 3; i++) vector_list_read(in, (plan_dim)i, &dims[i]);
  const bool blocks_first = to_blocks && n > dims[0].n;
  for (int turn = 0; turn < n; turn++) {
    const int i = blocks_first ? n - 1 - turn : turn;
    uint64_t *warp = &dims[2].at[bit[i]];
    moved[i] = *warp;
    *warp = spread && dims[0].n > 0 ? dims[0].at[--dims[0].n] : 0;
  }
  for (int l = 0; l < dims[1].n && next < n && !at_once; l++)
    if (dims[1].at[l] == 0) dims[1].at[l] = moved[next++];
  while (next < n) dims[0].at[dims[0].n++] = moved[next++];
  return vector_lists_value(in->layout.out[0].bits, in->bits, dims, out);
}

/* Where lanes hold copies, each of them keeps another part of the registers, as many as make more
 * than one access: then one store takes what otherwise would several, of which most lanes have no
 * part. */
static llrt_status spread_copies(draft *d, int *number) {
  const plan_value in = d->kernel->value[*number];
  vector_list dims[3];
  plan_value out;
  int access = bits_log2(d->kernel->target.access_bytes * 8 / in.bits), from = *number;
  if (d->kernel->target.simd_lanes || (d->options && d->options->ignore_copies)) return LLRT_OK;
  for (int i = 0; i < 3; i++) vector_list_read(&in, (plan_dim)i, &dims[i]);
  for (int l = 0; l < dims[1].n && dims[0].n > access; l++)
    if (dims[1].at[l] == 0) dims[1].at[l] = dims[0].at[--dims[0].n];
  if (dims[0].n == plan_value_bits(&in, PLAN_REGISTER)) return LLRT_OK;
  LLRT_TRY(vector_lists_value(in.layout.out[0].bits, in.bits, dims, &out));
  LLRT_TRY(draft_value(d->kernel, &out, number));
  return draft_step(d->kernel,
                    (plan_step){.kind = PLAN_SPREAD, .in = (uint8_t)from, .out = (uint8_t)*number});
}

static llrt_status through_shared(draft *d, reduce_value *value, int kept, bool spread) {
  const plan_value in = d->kernel->value[value->key];
  plan_value target;
  bool at_once = fits_access(d->kernel, value, kept);
  LLRT_TRY(behind_shared(&in, kept, spread, d->pushes, at_once, &target));
  LLRT_TRY(spread_copies(d, &value->key));
  LLRT_TRY(draft_exchange(d, value->key, &target, &value->key));
  if (!value->pairs) return LLRT_OK;
  target.bits = (uint8_t)llrt_dtype_bits(value->index);
  LLRT_TRY(spread_copies(d, &value->at));
  return draft_exchange(d, value->at, &target, &value->at);
}

llrt_status reduce_threads(draft *d, reduce_value *value, int kept) {
  const plan_value in = d->kernel->value[value->key];
  int warps = count_beyond(&in, PLAN_WARP, kept), lanes = count_beyond(&in, PLAN_LANE, kept);
  return reduce_fold(d, value, kept + warps + lanes, false);
}

/* The barrier behind the stores of the steps from `first` on, if it is the only one; -1. */
static int only_barrier(const draft *d, int first) {
  const plan_step *step = d->kernel->step;
  int found = -1;
  for (int i = first; i < d->kernel->n_steps; i++) {
    if (step[i].kind != PLAN_BARRIER) continue;
    if (found >= 0 || step[i - 1].kind != PLAN_SHARED_STORE) return -1;
    found = i;
  }
  return found;
}

/* Of two exchanges behind each other, whose buffers lie apart, the second one's stores come before
 * the barrier of the first, and then it has none; first: the steps that each begins with. */
static void share_barrier(draft *d, int *barrier, int first) {
  plan_kernel *kernel = d->kernel;
  plan_step moved[PLAN_MAX_STEPS];
  int own = only_barrier(d, first), n = own - first;
  if (*barrier < 0 || own < 0 || kernel->step[*barrier].own != kernel->step[own].own) return;
  memcpy(moved, &kernel->step[first], (size_t)n * sizeof *moved);
  memmove(&kernel->step[*barrier + n], &kernel->step[*barrier],
          (size_t)(first - *barrier) * sizeof *moved);
  memcpy(&kernel->step[*barrier], moved, (size_t)n * sizeof *moved);
  memmove(&kernel->step[own], &kernel->step[own + 1],
          (size_t)(kernel->n_steps - own - 1) * sizeof *moved);
  kernel->n_steps--;
  *barrier += n;
}

llrt_status reduce_blocks(draft *d, reduce_value *const *values, const int *kept, int n,
                          bool spread) {
  int barrier = -1;
  for (int i = 0; i < n; i++) {
    const plan_value in = d->kernel->value[values[i]->key];
    LLRT_TRY(reduce_threads(d, values[i], kept[i]));
    LLRT_TRY(fold_lanes(d, values[i], kept[i] + count_beyond(&in, PLAN_WARP, kept[i])));
  }
  for (int i = 0; i < n; i++) {
    const plan_value in = d->kernel->value[values[i]->key];
    int first = d->kernel->n_steps;
    if (count_beyond(&in, PLAN_WARP, kept[i]) == 0) continue;
    LLRT_TRY(through_shared(d, values[i], kept[i], spread));
    if (i == 0 && d->apart) barrier = only_barrier(d, first);
    else share_barrier(d, &barrier, first);
  }
  for (int i = 0; i < n; i++) {
    const plan_value loaded = d->kernel->value[values[i]->key];
    LLRT_TRY(reduce_fold(d, values[i], kept[i] + count_beyond(&loaded, PLAN_LANE, kept[i]), false));
    LLRT_TRY(fold_lanes(d, values[i], kept[i]));
  }
  return LLRT_OK;
}

llrt_status reduce_block(draft *d, reduce_value *value, int kept, bool spread) {
  return reduce_blocks(d, &value, &kept, 1, spread);
}
