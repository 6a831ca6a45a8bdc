/* Registers of AMD's matrix instructions: MFMA (64 lanes) and WMMA (32 lanes). */
#include "base/bits.h"
#include "base/status.h"
#include "layout/family_rules.h"

/* instr_shape is M, N, K at every rank. */
enum { INSTR_M, INSTR_N, INSTR_K };

static llrt_status check_version(const family *self, const char *name, int64_t last) {
  LLRT_REQUIRE(self->version.n == 1, "version of %s has %d entries, not 1", name, self->version.n);
  int64_t version = self->version.value[0];
  if (version < 1 || version > last)
    return llrt_error(LLRT_UNSUPPORTED, "%s version %lld: there are 1 to %lld", name,
                      (long long)version, (long long)last);
  return LLRT_OK;
}

/* Tiles that a warp holds side by side along an axis; 1 where not given. */
static int64_t tiles_along(const family *self, int axis) {
  return self->tiles_per_warp.n ? self->tiles_per_warp.value[axis] : 1;
}

/* What mfma and wmma have in common. */
static llrt_status check_warps(const family *self, const char *name, int rank) {
  LLRT_REQUIRE(rank == 2 || rank == 3, "%s needs rank 2 or 3, not %d", name, rank);
  LLRT_TRY(family_check_sizes("warps_per_cta", &self->warps_per_cta, rank));
  if (self->tiles_per_warp.n)
    LLRT_TRY(family_check_sizes("tiles_per_warp", &self->tiles_per_warp, rank));
  return LLRT_OK;
}

/* ---- MFMA ---- */

enum { MFMA_LANES = 64 };

/* Consecutive rows (columns when transposed) of the result that a lane holds. */
static int64_t mfma_height(const family *self) { return self->element_bits == 64 ? 1 : 4; }

static llrt_status check_mfma(const family *self, int rank) {
  LLRT_TRY(check_version(self, "mfma", 4));
  LLRT_TRY(check_warps(self, "mfma", rank));
  LLRT_TRY(family_check_sizes("instr_shape", &self->instr_shape, 3));
  LLRT_REQUIRE(self->element_bits == 0 || self->element_bits == 32 || self->element_bits == 64,
               "element_bits %lld of mfma is neither 32 nor 64", (long long)self->element_bits);
  int64_t m = self->instr_shape.value[INSTR_M], n = self->instr_shape.value[INSTR_N];
  LLRT_REQUIRE(m <= MFMA_LANES && n <= MFMA_LANES && m * n >= MFMA_LANES * mfma_height(self),
               "an instruction of %lld x %lld does not fill 64 lanes", (long long)m, (long long)n);
  return LLRT_OK;
}

/* One instruction's result: height registers along `tall`, lanes along `wide` and then along tall,
 * the other registers along tall. Out-dims dim(rank-1), dim(rank-2), and the batch. */
static llrt_status mfma_tile(const family *self, int rank, llrt_layout *out) {
  int tall = self->transposed ? rank - 1 : rank - 2, wide = self->transposed ? rank - 2 : rank - 1;
  int64_t size = self->instr_shape.value[self->transposed ? INSTR_M : INSTR_N];
  int64_t area = self->instr_shape.value[INSTR_M] * self->instr_shape.value[INSTR_N];
  int64_t height = mfma_height(self), order[LLRT_MAX_RANK];
  family_matrix_order(rank, false, order);
  LLRT_TRY(family_start("register", rank, order, out));
  LLRT_TRY(fit_extend(out, height, "register", tall));
  LLRT_TRY(fit_extend(out, size, "lane", wide));
  LLRT_TRY(fit_extend(out, MFMA_LANES / size, "lane", tall));
  return fit_extend(out, area / (MFMA_LANES * height), "register", tall);
}

/* Registers walk over all of the tensor's N before they step along M: the order in which operands
 * are read, whatever tiles_per_warp says. So warps stand inside the list of registers. */
llrt_status family_mfma(const family *self, int rank, const int64_t *shape, llrt_layout *out) {
  LLRT_TRY(check_mfma(self, rank));
  int m = rank - 2, n = rank - 1;
  int64_t warps_n = self->warps_per_cta.value[n], tiles_n = tiles_along(self, n);
  llrt_layout block, cga;
  LLRT_TRY(mfma_tile(self, rank, &block));
  LLRT_TRY(fit_extend(&block, tiles_n, "register", n));
  LLRT_TRY(fit_extend(&block, warps_n, "warp", n));
  int missing = bits_log2(shape[n]) - block.out[0].bits; /* out-dims begin with N */
  if (missing > 0) LLRT_TRY(fit_extend(&block, 1ll << missing, "register", n));
  LLRT_TRY(fit_extend(&block, tiles_along(self, m), "register", m));
  LLRT_TRY(fit_extend(&block, self->warps_per_cta.value[m], "warp", m));
  if (rank == 3) LLRT_TRY(fit_extend(&block, self->warps_per_cta.value[0], "warp", 0));
  LLRT_TRY(family_cluster(self, rank, FIT_NO_AXIS, &cga));
  return fit_to_shape(&block, &cga, rank, shape, out);
}

/* k_width registers along K, lanes along the other axis and then along K. The 64 x 64 operand of a
 * 4 x 64 or 64 x 4 instruction takes 16 of these. Registers go on over all of K before the tiles of
 * the warp. */
llrt_status family_dot_mfma(const family *self, int rank, const int64_t *shape, llrt_layout *out) {
  enum { LARGE_OPERAND_REPEATS = 16 };
  const family *parent = self->parent;
  LLRT_TRY(check_mfma(parent, rank));
  LLRT_TRY(family_check_power("k_width", self->k_width));
  int k = family_k_axis(self, rank), other = family_other_axis(self, rank);
  int64_t size = parent->instr_shape.value[self->operand == 0 ? INSTR_M : INSTR_N];
  int64_t across = parent->instr_shape.value[self->operand == 0 ? INSTR_N : INSTR_M];
  int64_t order[LLRT_MAX_RANK], warp_order[LLRT_MAX_RANK];
  family_matrix_order(rank, self->operand == 1, order);
  family_matrix_order(rank, false, warp_order);
  llrt_layout block;
  LLRT_TRY(family_start("register", rank, order, &block));
  LLRT_TRY(fit_extend(&block, self->k_width, "register", k));
  LLRT_TRY(fit_extend(&block, size, "lane", other));
  LLRT_TRY(fit_extend(&block, MFMA_LANES / size, "lane", k));
  if (size == 64 && across == 4) LLRT_TRY(fit_extend(&block, LARGE_OPERAND_REPEATS, "register", k));
  int missing = bits_log2(shape[k]) - block.out[0].bits;
  if (missing > 0) LLRT_TRY(fit_extend(&block, 1ll << missing, "register", k));
  LLRT_TRY(fit_extend(&block, tiles_along(parent, other), "register", other));
  return family_finish_warps(parent, rank, shape, warp_order, k, &block, out);
}

/* ---- WMMA ---- */

enum { WMMA_TILE = 16, WMMA_DEPTH = 2 }; /* 32 lanes: 16 along one axis, 2 along the other */

/* M, N or K of the instruction; 16 where not given. */
static int64_t wmma_size(const family *self, int index) {
  return self->instr_shape.n ? self->instr_shape.value[index] : WMMA_TILE;
}

static llrt_status check_wmma(const family *self, int rank) {
  LLRT_TRY(check_version(self, "wmma", 3));
  LLRT_TRY(check_warps(self, "wmma", rank));
  if (self->instr_shape.n) LLRT_TRY(family_check_sizes("instr_shape", &self->instr_shape, 3));
  int64_t m = wmma_size(self, INSTR_M), n = wmma_size(self, INSTR_N);
  bool tall = m == 2 * WMMA_TILE && n == WMMA_TILE && self->version.value[0] >= 2;
  LLRT_REQUIRE(tall || (m == WMMA_TILE && n == WMMA_TILE),
               "wmma of %lld x %lld: it is 16 x 16, or "
               "32 x 16 from version 2 on",
               (long long)m, (long long)n);
  return LLRT_OK;
}

/* The tiles of a warp, then the warps, row-major; along axis k (or FIT_NO_AXIS) there is one tile,
 * and warps hold copies. */
static llrt_status wmma_finish(const family *self, int rank, const int64_t *shape, int k,
                               llrt_layout *block, llrt_layout *out) {
  int64_t order[LLRT_MAX_RANK];
  family_matrix_order(rank, false, order);
  for (int i = 0; i < rank; i++) {
    int axis = (int)order[i];
    if (axis != k) LLRT_TRY(fit_extend(block, tiles_along(self, axis), "register", axis));
  }
  return family_finish_warps(self, rank, shape, order, k, block, out);
}

/* Version 1: a lane holds every other row, lane 16 the odd ones. Later: 8 rows and then the
 * other 8; 32 rows are two such tiles. */
llrt_status family_wmma(const family *self, int rank, const int64_t *shape, llrt_layout *out) {
  LLRT_TRY(check_wmma(self, rank));
  int tall = self->transposed ? rank - 1 : rank - 2, wide = self->transposed ? rank - 2 : rank - 1;
  int64_t order[LLRT_MAX_RANK];
  family_matrix_order(rank, false, order);
  llrt_layout block;
  LLRT_TRY(family_start("register", rank, order, &block));
  LLRT_TRY(fit_extend(&block, WMMA_TILE, "lane", wide));
  bool odd_rows = self->version.value[0] == 1;
  if (odd_rows) LLRT_TRY(fit_extend(&block, WMMA_DEPTH, "lane", tall));
  LLRT_TRY(fit_extend(&block, WMMA_TILE / WMMA_DEPTH, "register", tall));
  if (!odd_rows) LLRT_TRY(fit_extend(&block, WMMA_DEPTH, "lane", tall));
  int64_t more = wmma_size(self, INSTR_M) / WMMA_TILE;
  LLRT_TRY(fit_extend(&block, more, "register", tall));
  return wmma_finish(self, rank, shape, FIT_NO_AXIS, &block, out);
}

/* k_width registers along K, 16 lanes along the other axis, lane 16 a copy (version 1) or further
 * along K, then registers over the rest of the instruction. */
llrt_status family_dot_wmma(const family *self, int rank, const int64_t *shape, llrt_layout *out) {
  const family *parent = self->parent;
  LLRT_TRY(check_wmma(parent, rank));
  LLRT_TRY(family_check_power("k_width", self->k_width));
  int k = family_k_axis(self, rank), other = family_other_axis(self, rank);
  int64_t order[LLRT_MAX_RANK];
  family_matrix_order(rank, self->operand == 1, order);
  llrt_layout block;
  LLRT_TRY(family_start("register", rank, order, &block));
  LLRT_TRY(fit_extend(&block, self->k_width, "register", k));
  LLRT_TRY(fit_extend(&block, WMMA_TILE, "lane", other));
  if (parent->version.value[0] == 1) LLRT_TRY(fit_repeat(&block, WMMA_DEPTH, "lane", k));
  else LLRT_TRY(fit_extend(&block, WMMA_DEPTH, "lane", k));
  int64_t repeats = wmma_size(parent, INSTR_K) / (WMMA_DEPTH * self->k_width);
  if (repeats > 1) LLRT_TRY(fit_extend(&block, repeats, "register", k));
  int64_t size = wmma_size(parent, self->operand == 0 ? INSTR_M : INSTR_N);
  LLRT_TRY(fit_extend(&block, size / WMMA_TILE, "register", other));
  return wmma_finish(parent, rank, shape, k, &block, out);
}
