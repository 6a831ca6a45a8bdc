/* Shapes whose K is no longer than a group of scales. Such scales have one position along K, so
 * they stand on the sums (dot.h, rule 1), whatever their groups are called: these shapes have a
 * kernel of their own, of the description that says LLRT_GROUP_ALL, and those of the description as
 * it is take what is longer. Where that kernel cannot be made, such shapes are refused: the others
 * round an element with its scale. */
#include "jit/plan/dot/dot.h"

#include "base/memory.h"
#include "base/status.h"
#include "jit/plan/types/number.h"

#include <stdlib.h>
#include <string.h>

static const llrt_dot_role scales[2] = {LLRT_DOT_SCALE_A, LLRT_DOT_SCALE_B};
static const llrt_dot_role zeros[2] = {LLRT_DOT_ZERO_A, LLRT_DOT_ZERO_B};

static int summed_axis(const op_description *desc) { return desc->tensors[0].rank - 1; }

/* Positions of K that share one of an operand's scales; 0: there are none, or they are for all of K
 * anyway. */
static int64_t group_of(const op_description *desc, int operand) {
  int t = dot_tensor(&desc->dot, scales[operand]);
  int32_t group = t < 0 ? LLRT_GROUP_ALL : desc->dot.group[t][summed_axis(desc)];
  return group == LLRT_GROUP_ALL ? 0 : group > 1 ? group : 1;
}

static void share_all(op_description *desc, llrt_dot_role role) {
  int t = dot_tensor(&desc->dot, role);
  if (t >= 0) desc->dot.group[t][summed_axis(desc)] = LLRT_GROUP_ALL;
}

/* Whether promises allow so few positions along K, of which there are some. */
static bool may_be(const op_description *desc, int64_t most) {
  const llrt_promise *k = &desc->promises[0].shape[summed_axis(desc)];
  return k->min <= most && k->multiple <= most;
}

/* The description of up to `most` positions along K; false where its sums are of a type that does
 * not go with what is asked. */
static bool describe_short(const op_description *desc, int64_t most, op_description *out) {
  llrt_promise *k = &out->promises[0].shape[summed_axis(desc)];
  dot_rule rule;
  *out = *desc;
  for (int i = 0; i < 2; i++) {
    if (group_of(desc, i) < most) continue;
    share_all(out, scales[i]);
    share_all(out, zeros[i]);
  }
  if (k->max == 0 || k->max > most) k->max = most;
  dot_operand_type a = dot_operand_of(out, LLRT_DOT_A), b = dot_operand_of(out, LLRT_DOT_B);
  bool found = dot_rule_find(&a, &b, desc->dot.accumulate, desc->dot.tf32, &rule);
  if (!found)
    out->dot.accumulate = LLRT_DTYPE_NONE; /* integers now, of which sums in f32 were asked for */
  found = found || dot_rule_find(&a, &b, LLRT_DTYPE_NONE, desc->dot.tf32, &rule);
  return found &&
         number_cast_exists(rule.sums, desc->tensors[dot_tensor(&desc->dot, LLRT_DOT_D)].dtype);
}

/* Whether a variant takes every shape. */
static bool takes_all(const plan_kernel *first, int rank) {
  const plan_range *range = &first->launch.range;
  bool all = range->axes == 0 && range->max_elements == 0 && range->min_elements == 0;
  for (int a = 0; a < rank; a++) all &= range->min_extent[a] == 0 && range->max_extent[a] == 0;
  return all;
}

/* Inserts, in front of variant `at` of `out`, the stages of the first variant of `made` that takes
 * every shape, for shapes of `least` to `most` positions along `axis`, K. *stages: how many; 0
 * where there is no such variant, or `out` has no room for it. */
static void insert(const plan *made, int axis, int64_t least, int64_t most, int at, plan *out,
                   int *stages) {
  const size_t size = sizeof *made->variant;
  int first = 0;
  while (first < made->n_variants && !takes_all(&made->variant[first], axis + 1))
    first += 1 + made->variant[first].launch.later;
  *stages = first < made->n_variants ? 1 + made->variant[first].launch.later : 0;
  if (out->n_variants + *stages > PLAN_MAX_VARIANTS) *stages = 0;
  if (*stages == 0) return;
  memmove(&out->variant[at + *stages], &out->variant[at], (size_t)(out->n_variants - at) * size);
  memcpy(&out->variant[at], &made->variant[first], (size_t)*stages * size);
  plan_range *range = &out->variant[at].launch.range;
  *range = (plan_range){.min_elements = 0};
  range->min_extent[axis] = least;
  range->max_extent[axis] = most;
  out->n_variants += *stages;
}

/* Shapes whose scales stand on the sums, in the making. */
typedef struct short_shapes {
  const op_description *desc;
  const plan_target *target;
  const plan_options *options;
  plan *out;
  int64_t least;   /* positions along K of the shapes that are not looked at yet */
  int64_t refused; /* the most positions of shapes that no kernel takes; 0: there are none */
  int at;          /* the variant behind theirs */
} short_shapes;

/* Plans `few` and inserts its kernel for shapes of s->least to `most` positions. *stages: 0 where
 * there is none. Blocks share no K: what adds shares takes scales without their axis K, where they
 * may have pads. */
static llrt_status try_short(const short_shapes *s, const op_description *few, int64_t most,
                             int *stages) {
  *stages = 0;
  plan *made = memory_new(sizeof *made);
  if (!made) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a plan");
  llrt_status status = plan_dot_make(few, s->target, s->options, false, made);
  if (status == LLRT_OK) insert(made, summed_axis(few), s->least, most, s->at, s->out, stages);
  free(made);
  return status == LLRT_UNSUPPORTED ? LLRT_OK : status;
}

/* Those of up to `most` positions along K, from s->least on, which then is behind them. One
 * position is an extent that is known once none is ruled out: then neighbours along M and N share
 * the bytes of row-major copies of 4-bit elements. */
static llrt_status add_short(short_shapes *s, int64_t most) {
  op_description few;
  int stages = 0;
  if (most < s->least || !may_be(s->desc, most)) return LLRT_OK;
  if (describe_short(s->desc, most, &few)) {
    llrt_promise *k = &few.promises[0].shape[summed_axis(&few)];
    LLRT_TRY(try_short(s, &few, most, &stages));
    bool open = k->min < s->least && k->max >= s->least;
    if (open) k->min = s->least;
    if (stages == 0 && open) LLRT_TRY(try_short(s, &few, most, &stages));
  }
  s->at += stages;
  s->least = most + 1;
  if (stages == 0) s->refused = most;
  return LLRT_OK;
}

/* Leaves shapes of 1 to s->refused positions along K to no variant: those of the description as it
 * is round otherwise. */
static llrt_status refuse(const short_shapes *s) {
  const int axis = summed_axis(s->desc);
  const llrt_promise *k = &s->desc->promises[0].shape[axis];
  if (k->min > 0 && k->max > 0 && k->max <= s->refused) return dot_refuse_short(k->max);
  for (int v = s->at; v < s->out->n_variants; v++) {
    plan_range *range = &s->out->variant[v].launch.range;
    if (s->out->variant[v].launch.stage > 0) continue;
    if (range->min_extent[axis] == 0) range->or_empty |= 1u << axis;
    if (range->min_extent[axis] <= s->refused) range->min_extent[axis] = s->refused + 1;
  }
  return LLRT_OK;
}

llrt_status dot_add_short(const op_description *desc, const op_description *known,
                          const plan_target *target, const plan_options *options, plan *out) {
  int64_t group[2] = {group_of(desc, 0), group_of(desc, 1)};
  short_shapes s = {known, target, options, out, .least = 1}; /* of no position a scale has none */
  bool swap = group[0] > group[1];
  for (int i = 0; i < 2; i++)
    if (group[i ^ swap] > 0) LLRT_TRY(add_short(&s, group[i ^ swap]));
  return s.refused > 0 ? refuse(&s) : LLRT_OK;
}
