/* The public constructors: parameters by struct become the same `family` that the text becomes. */
#include <llrt/layout_families.h>

#include "base/params.h"
#include "base/status.h"
#include "layout/check.h"
#include "layout/families.h"

/* ---- lists ---- */

static void list_of(const int64_t *value, int n, family_list *list) {
  list->n = n;
  for (int i = 0; i < n; i++) list->value[i] = value[i];
}

static void order_of(const int *value, int n, family_list *list) {
  list->n = n;
  for (int i = 0; i < n; i++) list->value[i] = value[i];
}

static bool is_zero(const int64_t *value, int n) {
  for (int i = 0; i < n; i++)
    if (value[i] != 0) return false;
  return true;
}

/* A list that is not given when all of it is zero. */
static void optional_list_of(const int64_t *value, int n, family_list *list) {
  list_of(value, is_zero(value, n) ? 0 : n, list);
}

static void cluster_of(const llrt_cluster_params *params, int rank, family *self) {
  if (is_zero(params->ctas_per_cga, rank)) return;
  list_of(params->ctas_per_cga, rank, &self->ctas_per_cga);
  list_of(params->cta_split, rank, &self->cta_split);
  order_of(params->cta_order, rank, &self->cta_order);
}

static llrt_status check_rank(int rank) {
  LLRT_REQUIRE(rank >= 1 && rank <= LLRT_MAX_RANK, "rank %d is not in 1..%d", rank, LLRT_MAX_RANK);
  return LLRT_OK;
}

/* ---- registers ---- */

static llrt_status blocked_of(const llrt_blocked_params *given, family *self) {
  llrt_blocked_params own;
  const llrt_blocked_params *params = &own;
  LLRT_REQUIRE(given, "params: NULL");
  LLRT_TRY(LLRT_PARAMS_READ(llrt_blocked_params, given, &own));
  LLRT_TRY(check_rank(params->rank));
  *self = (family){.kind = FAMILY_BLOCKED};
  list_of(params->size_per_thread, params->rank, &self->size_per_thread);
  list_of(params->threads_per_warp, params->rank, &self->threads_per_warp);
  list_of(params->warps_per_cta, params->rank, &self->warps_per_cta);
  order_of(params->order, params->rank, &self->order);
  cluster_of(&params->cluster, params->rank, self);
  return LLRT_OK;
}

static llrt_status nvmma_of(const llrt_nvmma_params *given, family *self) {
  llrt_nvmma_params own;
  const llrt_nvmma_params *params = &own;
  LLRT_REQUIRE(given, "params: NULL");
  LLRT_TRY(LLRT_PARAMS_READ(llrt_nvmma_params, given, &own));
  LLRT_TRY(check_rank(params->rank));
  *self = (family){.kind = FAMILY_NVMMA, .version = {2, {params->version, 0}}};
  list_of(params->warps_per_cta, params->rank, &self->warps_per_cta);
  list_of(params->instr_shape, params->version == 3 ? 3 : params->rank, &self->instr_shape);
  cluster_of(&params->cluster, params->rank, self);
  return LLRT_OK;
}

static llrt_status amd_mma_of(const llrt_amd_mma_params *given, family_kind kind, family *self) {
  llrt_amd_mma_params own;
  const llrt_amd_mma_params *params = &own;
  LLRT_REQUIRE(given, "params: NULL");
  LLRT_TRY(LLRT_PARAMS_READ(llrt_amd_mma_params, given, &own));
  LLRT_TRY(check_rank(params->rank));
  *self = (family){.kind = kind,
                   .version = {1, {params->version}},
                   .transposed = params->transposed,
                   .element_bits = params->element_bits};
  list_of(params->warps_per_cta, params->rank, &self->warps_per_cta);
  optional_list_of(params->tiles_per_warp, params->rank, &self->tiles_per_warp);
  optional_list_of(params->instr_shape, 3, &self->instr_shape);
  cluster_of(&params->cluster, params->rank, self);
  return LLRT_OK;
}

static llrt_status finish(llrt_status status, const family *self, int rank, const int64_t *shape,
                          llrt_layout *out) {
  llrt_layout result;
  if (status == LLRT_OK) status = family_apply(self, rank, shape, &result);
  return layout_finish(status, &result, out);
}

llrt_status llrt_layout_blocked(const llrt_blocked_params *params, const int64_t *shape,
                                llrt_layout *out) {
  LLRT_ENTRY();
  family self;
  llrt_status status = blocked_of(params, &self);
  return finish(status, &self, status ? 0 : params->rank, shape, out);
}

llrt_status llrt_layout_nvmma(const llrt_nvmma_params *params, const int64_t *shape,
                              llrt_layout *out) {
  LLRT_ENTRY();
  family self;
  llrt_status status = nvmma_of(params, &self);
  return finish(status, &self, status ? 0 : params->rank, shape, out);
}

llrt_status llrt_layout_mfma(const llrt_amd_mma_params *params, const int64_t *shape,
                             llrt_layout *out) {
  LLRT_ENTRY();
  family self;
  llrt_status status = amd_mma_of(params, FAMILY_MFMA, &self);
  return finish(status, &self, status ? 0 : params->rank, shape, out);
}

llrt_status llrt_layout_wmma(const llrt_amd_mma_params *params, const int64_t *shape,
                             llrt_layout *out) {
  LLRT_ENTRY();
  family self;
  llrt_status status = amd_mma_of(params, FAMILY_WMMA, &self);
  return finish(status, &self, status ? 0 : params->rank, shape, out);
}

/* ---- families with parents ---- */

typedef struct chain {
  int n;
  family link[FAMILY_MAX_DEPTH];
} chain;

static llrt_status parent_of(const llrt_layout_parent *parent, chain *links, const family **out);

static llrt_status slice_of(const llrt_slice_params *given, chain *links, family *self) {
  llrt_slice_params own;
  const llrt_slice_params *params = &own;
  LLRT_REQUIRE(given, "params: NULL");
  LLRT_TRY(LLRT_PARAMS_READ(llrt_slice_params, given, &own));
  *self = (family){.kind = FAMILY_SLICE, .dim = params->dim};
  return parent_of(&params->parent, links, &self->parent);
}

static llrt_status dot_of(const llrt_dot_operand_params *given, chain *links, family *self) {
  llrt_dot_operand_params own;
  const llrt_dot_operand_params *params = &own;
  LLRT_REQUIRE(given, "params: NULL");
  LLRT_TRY(LLRT_PARAMS_READ(llrt_dot_operand_params, given, &own));
  *self = (family){.kind = FAMILY_DOT, .operand = params->operand, .k_width = params->k_width};
  return parent_of(&params->parent, links, &self->parent);
}

static llrt_status parent_of(const llrt_layout_parent *parent, chain *links, const family **out) {
  int given = (parent->blocked != NULL) + (parent->nvmma != NULL) + (parent->mfma != NULL) +
              (parent->wmma != NULL) + (parent->slice != NULL) + (parent->dot != NULL);
  LLRT_REQUIRE(given == 1, "parent: %d families are given, not 1", given);
  LLRT_REQUIRE(links->n < FAMILY_MAX_DEPTH, "families are nested deeper than %d", FAMILY_MAX_DEPTH);
  family *self = &links->link[links->n++];
  *out = self;
  if (parent->blocked) return blocked_of(parent->blocked, self);
  if (parent->nvmma) return nvmma_of(parent->nvmma, self);
  if (parent->mfma) return amd_mma_of(parent->mfma, FAMILY_MFMA, self);
  if (parent->wmma) return amd_mma_of(parent->wmma, FAMILY_WMMA, self);
  if (parent->slice) return slice_of(parent->slice, links, self);
  return dot_of(parent->dot, links, self);
}

llrt_status llrt_layout_slice(const llrt_slice_params *params, int rank, const int64_t *shape,
                              llrt_layout *out) {
  LLRT_ENTRY();
  chain links = {.n = 0};
  family self;
  return finish(slice_of(params, &links, &self), &self, rank, shape, out);
}

llrt_status llrt_layout_dot(const llrt_dot_operand_params *params, int rank, const int64_t *shape,
                            llrt_layout *out) {
  LLRT_ENTRY();
  chain links = {.n = 0};
  family self;
  return finish(dot_of(params, &links, &self), &self, rank, shape, out);
}

/* ---- memories ---- */

static llrt_status swizzle_of(const llrt_swizzle_params *given, family_kind kind, family *self) {
  llrt_swizzle_params own;
  const llrt_swizzle_params *params = &own;
  LLRT_REQUIRE(given, "params: NULL");
  LLRT_TRY(LLRT_PARAMS_READ(llrt_swizzle_params, given, &own));
  LLRT_TRY(check_rank(params->rank));
  *self = (family){.kind = kind,
                   .vec = params->vec,
                   .per_phase = params->per_phase,
                   .max_phase = params->max_phase};
  order_of(params->order, params->rank, &self->order);
  cluster_of(&params->cluster, params->rank, self);
  return LLRT_OK;
}

llrt_status llrt_layout_swizzled_shared(const llrt_swizzle_params *params, const int64_t *shape,
                                        llrt_layout *out) {
  LLRT_ENTRY();
  family self;
  llrt_status status = swizzle_of(params, FAMILY_SWIZZLED_SHARED, &self);
  return finish(status, &self, status ? 0 : params->rank, shape, out);
}

llrt_status llrt_layout_rotating_shared(const llrt_swizzle_params *params, const int64_t *shape,
                                        llrt_layout *out) {
  LLRT_ENTRY();
  family self;
  llrt_status status = swizzle_of(params, FAMILY_ROTATING_SHARED, &self);
  return finish(status, &self, status ? 0 : params->rank, shape, out);
}

static llrt_status nvmma_shared_of(const llrt_nvmma_shared_params *given, family *self) {
  llrt_nvmma_shared_params own;
  const llrt_nvmma_shared_params *params = &own;
  LLRT_REQUIRE(given, "params: NULL");
  LLRT_TRY(LLRT_PARAMS_READ(llrt_nvmma_shared_params, given, &own));
  LLRT_TRY(check_rank(params->rank));
  *self = (family){.kind = FAMILY_NVMMA_SHARED,
                   .swizzle_bytes = params->swizzle_bytes,
                   .element_bits = params->element_bits,
                   .transposed = params->transposed,
                   .fp4_padded = params->fp4_padded};
  cluster_of(&params->cluster, params->rank, self);
  return LLRT_OK;
}

llrt_status llrt_layout_nvmma_shared(const llrt_nvmma_shared_params *params, const int64_t *shape,
                                     llrt_layout *out) {
  LLRT_ENTRY();
  family self;
  llrt_status status = nvmma_shared_of(params, &self);
  return finish(status, &self, status ? 0 : params->rank, shape, out);
}

static llrt_status tensor_memory_of(const llrt_tensor_memory_params *given, family *self) {
  llrt_tensor_memory_params own;
  const llrt_tensor_memory_params *params = &own;
  LLRT_REQUIRE(given, "params: NULL");
  LLRT_TRY(LLRT_PARAMS_READ(llrt_tensor_memory_params, given, &own));
  *self = (family){.kind = FAMILY_TENSOR_MEMORY,
                   .block_m = params->block_m,
                   .block_n = params->block_n,
                   .col_stride = params->col_stride,
                   .two_ctas = params->two_ctas,
                   .fp4_padded = params->fp4_padded};
  cluster_of(&params->cluster, 2, self);
  return LLRT_OK;
}

llrt_status llrt_layout_tensor_memory(const llrt_tensor_memory_params *params, const int64_t *shape,
                                      llrt_layout *out) {
  LLRT_ENTRY();
  family self;
  return finish(tensor_memory_of(params, &self), &self, 2, shape, out);
}

llrt_status llrt_layout_tensor_memory_scales(bool k_then_mn, const llrt_cluster_params *cluster,
                                             const int64_t *shape, llrt_layout *out) {
  LLRT_ENTRY();
  family self = {.kind = FAMILY_TENSOR_MEMORY_SCALES, .k_then_mn = k_then_mn};
  if (cluster) cluster_of(cluster, 2, &self);
  return finish(LLRT_OK, &self, 2, shape, out);
}
