/* What a dot's description and its tensors' shapes must keep. The axes are batch.., M, N, K. */
#include "runtime/validate.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/types/dot_type.h"
#include "jit/plan/types/number.h"
#include "runtime/dot_grouped.h"

#define ALWAYS (1u << LLRT_DOT_A | 1u << LLRT_DOT_D | 1u << LLRT_DOT_B)
#define EPILOGUE \
  (1u << LLRT_DOT_C | 1u << LLRT_DOT_BIAS | 1u << LLRT_DOT_GLOBAL_A | 1u << LLRT_DOT_GLOBAL_B | \
   1u << LLRT_DOT_ADD | 1u << LLRT_DOT_SCALE_D)
#define MAX_GROUP (1 << 30)

static const char *name_of(const op_description *desc, llrt_dot_role role) {
  return op_tensor_called(desc->dot.roles, dot_tensor(&desc->dot, role));
}

static llrt_dtype dtype_of(const op_description *desc, llrt_dot_role role) {
  int t = dot_tensor(&desc->dot, role);
  return t < 0 ? LLRT_DTYPE_NONE : desc->tensors[t].dtype;
}

/* ---- types ---- */

/* A permutation of 0..31, or all zero. */
static bool is_word_bits(const uint8_t words[32]) {
  uint32_t seen = 0;
  bool zero = true;
  for (int i = 0; i < 32; i++) {
    zero &= words[i] == 0;
    seen |= words[i] < 32 ? 1u << words[i] : 0;
  }
  return zero || seen == UINT32_MAX;
}

static llrt_status check_scaling(const op_description *desc, llrt_dot_role role,
                                 const dot_operand_type *type) {
  const char *element = llrt_dtype_name(type->element), *scale = llrt_dtype_name(type->scale);
  switch (dot_scaling_check(type)) {
  case DOT_SCALING_FITS: return LLRT_OK;
  case DOT_SCALING_TYPE:
    return llrt_error(LLRT_UNSUPPORTED,
                      "the %s has scales of %s, not f32, f16, bf16, an 8-bit float or e8m0",
                      name_of(desc, role), scale);
  case DOT_SCALING_WIDE:
    return llrt_error(LLRT_UNSUPPORTED,
                      "the %s is %s: scales that differ along K need elements of at most 8 bits",
                      name_of(desc, role), element);
  case DOT_SCALING_ZERO: break;
  }
  return llrt_error(LLRT_UNSUPPORTED,
                    "the %s is %s with zero points of %s: integers of at most 8 bits have them, of "
                    "such integers, f16 or bf16",
                    name_of(desc, role), element, llrt_dtype_name(type->zero));
}

static llrt_status check_operand(const op_description *desc, llrt_dot_role role) {
  dot_operand_type type = dot_operand_of(desc, role);
  const uint8_t *range = type.range, *words = desc->dot.word_bits[role == LLRT_DOT_B];
  if (!dot_operand_exists(type.element))
    return llrt_error(LLRT_UNSUPPORTED, "the %s is %s, which a dot does not take",
                      name_of(desc, role), llrt_dtype_name(type.element));
  LLRT_TRY(check_scaling(desc, role, &type));
  LLRT_REQUIRE(range[0] <= range[1] && range[1] < 255, "scale_range of the %s is %d to %d",
               name_of(desc, role), range[0], range[1]);
  LLRT_REQUIRE(is_word_bits(words), "word_bits of the %s is no permutation", name_of(desc, role));
  if ((words[0] || words[1]) && llrt_dtype_bits(type.element) > 8)
    return llrt_error(LLRT_UNSUPPORTED,
                      "the %s is %s: word_bits are for elements of at most 8 bits",
                      name_of(desc, role), llrt_dtype_name(type.element));
  LLRT_REQUIRE(range[1] == 0 || type.scale == LLRT_E8M0,
               "scale_range of the %s: its scales are %s, not e8m0", name_of(desc, role),
               llrt_dtype_name(type.scale));
  return LLRT_OK;
}

static bool is_addend(llrt_dtype dtype) {
  return dtype == LLRT_DTYPE_NONE || dtype == LLRT_F64 || dtype == LLRT_F32 || dtype == LLRT_F16 ||
         dtype == LLRT_BF16;
}

static bool is_scale(llrt_dtype dtype) {
  const number_format *format = number_format_of(dtype);
  return dtype == LLRT_DTYPE_NONE ||
         (format && format->kind != NUMBER_INTEGER && format->bits >= 8 && format->bits <= 32);
}

static bool is_global(llrt_dtype dtype) { return dtype == LLRT_DTYPE_NONE || dtype == LLRT_F32; }

static llrt_status check_edges(const op_description *desc) {
  static const struct {
    llrt_dot_role role;
    bool (*fits)(llrt_dtype dtype);
  } edges[] = {{LLRT_DOT_C, is_addend},        {LLRT_DOT_BIAS, is_addend},
               {LLRT_DOT_ADD, is_addend},      {LLRT_DOT_SCALE_D, is_scale},
               {LLRT_DOT_GLOBAL_A, is_global}, {LLRT_DOT_GLOBAL_B, is_global}};
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
    llrt_dtype dtype = dtype_of(desc, edges[i].role);
    if (!edges[i].fits(dtype))
      return llrt_error(LLRT_UNSUPPORTED, "the %s of a dot cannot be %s",
                        name_of(desc, edges[i].role), llrt_dtype_name(dtype));
  }
  return LLRT_OK;
}

static bool scales_sums(const op_description *desc) {
  return dot_operand_of(desc, LLRT_DOT_A).on_sums || dot_operand_of(desc, LLRT_DOT_B).on_sums;
}

static bool acts_on_sums(const op_description *desc) {
  const op_dot *dot = &desc->dot;
  return dot->roles & EPILOGUE || desc->n_maps > 0 || dot->has_alpha || scales_sums(desc);
}

static llrt_status check_pair(const op_description *desc) {
  dot_operand_type a = dot_operand_of(desc, LLRT_DOT_A), b = dot_operand_of(desc, LLRT_DOT_B);
  llrt_dtype d = dtype_of(desc, LLRT_DOT_D);
  dot_rule rule;
  if (!dot_rule_find(&a, &b, desc->dot.accumulate, desc->dot.tf32, &rule))
    return llrt_error(LLRT_UNSUPPORTED, "%s with %s sums in %s, not in %s",
                      llrt_dtype_name(a.element), llrt_dtype_name(b.element),
                      llrt_dtype_name(rule.sums), llrt_dtype_name(desc->dot.accumulate));
  bool acts = acts_on_sums(desc);
  if (d == LLRT_I64 && acts)
    return llrt_error(LLRT_UNSUPPORTED,
                      "%s with %s to i64: nothing can act on sums that are written as they are",
                      llrt_dtype_name(a.element), llrt_dtype_name(b.element));
  if (!dot_can_be(rule.sums, d))
    return llrt_error(LLRT_UNSUPPORTED, "%s with %s sums in %s: the result cannot be %s",
                      llrt_dtype_name(a.element), llrt_dtype_name(b.element),
                      llrt_dtype_name(rule.sums), llrt_dtype_name(d));
  return LLRT_OK;
}

/* ---- maps ---- */

static llrt_status check_maps(const op_description *desc) {
  int adds = 0, scales = 0;
  LLRT_REQUIRE(desc->n_maps >= 0 && desc->n_maps <= LLRT_MAX_MAPS, "%d maps, not 0 to %d",
               desc->n_maps, LLRT_MAX_MAPS);
  for (int i = 0; i < desc->n_maps; i++) {
    llrt_map_kind kind = desc->maps[i].kind;
    LLRT_TRY(llrt_validate_map_reserved(&desc->maps[i], i));
    adds += kind == LLRT_MAP_ADD;
    scales += kind == LLRT_MAP_SCALE;
    LLRT_REQUIRE(kind >= LLRT_MAP_SCALE && kind <= LLRT_MAP_SILU,
                 "map %d: a dot has no map of kind %d", i, (int)kind);
  }
  LLRT_REQUIRE(adds <= 1 && scales <= 1, "maps: a second ADD or SCALE");
  LLRT_REQUIRE(adds == (int)(desc->dot.roles >> LLRT_DOT_ADD & 1),
               "an ADD map and params.add go together");
  LLRT_REQUIRE(scales == (int)(desc->dot.roles >> LLRT_DOT_SCALE_D & 1),
               "a SCALE map and params.scale go together");
  return LLRT_OK;
}

/* ---- which tensor has which axis ---- */

/* Axes that tensors of a role have (bit a); may: those along which several positions may share one.
 */
static void axes_of(const op_dot *dot, llrt_dot_role role, int rank, uint32_t *has, uint32_t *may) {
  uint32_t m = 1u << (rank - 3), n = 1u << (rank - 2), k = 1u << (rank - 1), batch = m - 1;
  bool grouped_rows = dot_grouped_axis(dot) == DOT_GROUPED_M;
  *may = 0;
  switch (role) {
  case LLRT_DOT_A: *has = m | k; break;
  case LLRT_DOT_B: *has = n | k; break;
  case LLRT_DOT_D: *has = (grouped_rows ? 0 : batch) | m | n; break;
  case LLRT_DOT_ENDS: *has = dot_is_sorted(dot) ? 1u << dot_grouped_axis(dot) : batch; break;
  case LLRT_DOT_C:
  case LLRT_DOT_ADD: *has = m | n; break;
  case LLRT_DOT_SCALE_A:
  case LLRT_DOT_ZERO_A: *has = 0, *may = m | k; break;
  case LLRT_DOT_SCALE_B:
  case LLRT_DOT_ZERO_B: *has = 0, *may = n | k; break;
  case LLRT_DOT_SCALE_D: *has = 0, *may = m | n; break;
  default: *has = role == LLRT_DOT_BIAS ? n : 0; break;
  }
}

static llrt_status check_groups(const op_description *desc, int t) {
  int rank = desc->tensors[0].rank;
  llrt_dot_role role = dot_role(desc->dot.roles, t);
  bool grouped = dot_grouped_axis(&desc->dot) >= 0;
  bool alone =
      (role == LLRT_DOT_BIAS && !grouped) || role == LLRT_DOT_GLOBAL_A || role == LLRT_DOT_GLOBAL_B;
  uint32_t has, may;
  axes_of(&desc->dot, role, rank, &has, &may);
  for (int a = 0; a < rank; a++) {
    int32_t group = desc->dot.group[t][a];
    bool batch = a < rank - 3 && !alone && !(has >> a & 1);
    bool one = group == 0 || group == 1, all = group == LLRT_GROUP_ALL;
    bool fits = may >> a & 1   ? group >= LLRT_GROUP_ALL && group <= MAX_GROUP
                : has >> a & 1 ? one
                               : all || (batch && one);
    LLRT_REQUIRE(
        fits,
        "the %s has groups of %d positions along axis %d of the product (batch axes, M, N, K), "
        "which it cannot have",
        op_tensor_called(desc->dot.roles, t), group, a);
  }
  return LLRT_OK;
}

static llrt_status check_zero_groups(const op_description *desc, llrt_dot_role scale,
                                     llrt_dot_role zero) {
  int s = dot_tensor(&desc->dot, scale), z = dot_tensor(&desc->dot, zero);
  for (int a = 0; s >= 0 && z >= 0 && a < desc->tensors[0].rank; a++)
    LLRT_REQUIRE(desc->dot.group[s][a] == desc->dot.group[z][a],
                 "the %s has other groups than the %s", name_of(desc, zero), name_of(desc, scale));
  return LLRT_OK;
}

/* ---- the whole ---- */

/* Indices of a product that is not grouped: a list of pointers, whose values differ along batch
 * axes alone. */
static llrt_status check_pointers(const op_description *desc, int t) {
  const llrt_tensor *tensor = &desc->tensors[t];
  const uint32_t batch = (uint32_t)bits_mask(tensor->rank - 3);
  for (int i = 0; i < tensor->n_indices; i++) {
    const llrt_index *index = &tensor->indices[i];
    bool fits = i == 0 && index->kind == LLRT_INDEX_POINTER && index->axis < tensor->rank - 3 &&
                ((index->axes | index->folded) & ~batch) == 0;
    if (fits && index->out_of_range != LLRT_RANGE_REPORT) continue;
    return llrt_error(LLRT_UNSUPPORTED,
                      "the %s of a dot: A, B and D may each have a list of pointers along batch "
                      "axes, no other index, and nothing is reported",
                      op_tensor_called(desc->dot.roles, t));
  }
  return LLRT_OK;
}

static llrt_status check_plain(const op_description *desc) {
  bool grouped = dot_grouped_axis(&desc->dot) >= 0;
  for (int i = 0; i < desc->n_tensors; i++) {
    for (int a = 0; a < desc->tensors[i].rank; a++)
      if (desc->tensors[i].extent_ptr[a])
        return llrt_error(LLRT_UNSUPPORTED, "the %s of a dot has extents in device memory",
                          op_tensor_called(desc->dot.roles, i));
    if (!grouped) LLRT_TRY(check_pointers(desc, i));
  }
  return LLRT_OK;
}

llrt_status llrt_validate_dot(const op_description *desc) {
  const op_dot *dot = &desc->dot;
  LLRT_REQUIRE((dot->roles & ALWAYS) == ALWAYS && dot->roles >> LLRT_DOT_ROLES == 0,
               "dot.roles is 0x%x: A, B and D are there, and no bits from %d on", dot->roles,
               LLRT_DOT_ROLES);
  LLRT_REQUIRE(desc->n_tensors == bits_count(dot->roles),
               "dot.roles 0x%x are of %d tensors, the description has %d", dot->roles,
               bits_count(dot->roles), desc->n_tensors);
  LLRT_REQUIRE(desc->tensors[0].rank >= 3,
               "the tensors of a dot have rank %d, not 3 or more: batch axes, M, N, K",
               desc->tensors[0].rank);
  LLRT_REQUIRE(dot->accumulate >= LLRT_DTYPE_NONE && dot->accumulate < LLRT_DTYPE_COUNT,
               "dot.accumulate is %d, which is no dtype", (int)dot->accumulate);
  LLRT_TRY(check_plain(desc));
  if (dot->roles >> LLRT_DOT_ENDS & 1) LLRT_TRY(llrt_validate_grouped(desc));
  for (int t = 0; t < desc->n_tensors; t++) LLRT_TRY(check_groups(desc, t));
  LLRT_TRY(check_zero_groups(desc, LLRT_DOT_SCALE_A, LLRT_DOT_ZERO_A));
  LLRT_TRY(check_zero_groups(desc, LLRT_DOT_SCALE_B, LLRT_DOT_ZERO_B));
  LLRT_TRY(check_operand(desc, LLRT_DOT_A));
  LLRT_TRY(check_operand(desc, LLRT_DOT_B));
  LLRT_TRY(check_edges(desc));
  LLRT_TRY(check_maps(desc));
  LLRT_REQUIRE(!desc->in_place || dtype_of(desc, LLRT_DOT_C) == dtype_of(desc, LLRT_DOT_D),
               "C lies at D's address in another type, %s, not %s",
               llrt_dtype_name(dtype_of(desc, LLRT_DOT_C)),
               llrt_dtype_name(dtype_of(desc, LLRT_DOT_D)));
  return check_pair(desc);
}

/* ---- shapes ---- */

void llrt_dot_extents(const op_description *desc, const llrt_tensor *tensors,
                      int64_t shape[LLRT_MAX_RANK]) {
  int k = tensors[0].rank - 1, d = dot_tensor(&desc->dot, LLRT_DOT_D);
  for (int a = 0; a < k; a++) shape[a] = tensors[d].shape[a];
  shape[k] = tensors[0].shape[k];
  if (dot_grouped_axis(&desc->dot) == DOT_GROUPED_M)
    shape[DOT_EXPERT_AXIS] = tensors[dot_tensor(&desc->dot, LLRT_DOT_B)].shape[DOT_EXPERT_AXIS];
}

static const char *axis_name(int axis, int rank) {
  static const char *const last[] = {"M", "N", "K"};
  static const char *const batch[] = {"batch axis 0", "batch axis 1", "batch axis 2",
                                      "batch axis 3", "batch axis 4"};
  return axis >= rank - 3 ? last[axis - (rank - 3)] : batch[axis];
}

static llrt_status check_extents(const op_description *desc, const llrt_tensor *tensors, int t,
                                 const int64_t *shape) {
  const char *role = op_tensor_called(desc->dot.roles, t);
  int rank = tensors[0].rank;
  for (int a = 0; a < rank; a++) {
    int64_t group = desc->dot.group[t][a], extent = tensors[t].shape[a];
    const char *axis = axis_name(a, rank);
    LLRT_REQUIRE(extent >= 0, "the %s has %lld positions along %s, not 0 or more", role,
                 (long long)extent, axis);
    int64_t wanted = group == LLRT_GROUP_ALL ? 1 : bits_ceil_div(shape[a], group > 1 ? group : 1);
    if (extent == wanted) continue;
    if (group == LLRT_GROUP_ALL)
      return llrt_error(LLRT_INVALID_ARGUMENT, "the %s has %lld positions along %s, not 1", role,
                        (long long)extent, axis);
    return llrt_error(
        LLRT_INVALID_ARGUMENT, "the %s has %lld positions along %s, not %lld: the %s has %lld%s",
        role, (long long)extent, axis, (long long)wanted, a == rank - 1 ? "operand A" : "result D",
        (long long)shape[a], group > 1 ? ", in groups" : "");
  }
  return LLRT_OK;
}

llrt_status llrt_validate_dot_shapes(const op_description *desc, const llrt_tensor *tensors,
                                     const storage_set *set) {
  int64_t shape[LLRT_MAX_RANK];
  llrt_dot_extents(desc, tensors, shape);
  for (int t = 0; t < desc->n_tensors; t++) {
    LLRT_TRY(check_extents(desc, tensors, t, shape));
    for (int a = 0; set && a < tensors[0].rank; a++)
      if (desc->dot.group[t][a] == LLRT_GROUP_ALL)
        LLRT_TRY(llrt_validate_single(&set->storage[t], a, op_tensor_called(desc->dot.roles, t)));
  }
  return LLRT_OK;
}

llrt_status llrt_validate_dot_memory(const op_description *desc, const storage_set *set,
                                     const op_call *call) {
  int c = dot_tensor(&desc->dot, LLRT_DOT_C), d = dot_tensor(&desc->dot, LLRT_DOT_D);
  LLRT_REQUIRE(!desc->in_place || llrt_storage_equal(&set->storage[c], &set->storage[d]),
               "C lies at D's address in another storage");
  return llrt_validate_grouped_memory(desc, set, call);
}
