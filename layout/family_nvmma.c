/* Registers of NVIDIA's matrix instructions: mma.sync and wgmma. */
#include "base/bits.h"
#include "base/status.h"
#include "layout/family_rules.h"

/* The warp's part of an instruction on an outer x inner matrix: k_width registers and 4 lanes along
 * inner, 8 lanes and the other registers along outer, the rest of inner.
 * Out-dims in repeat order. */
static llrt_status nvmma_tile(int rank, const int64_t *repeat, int outer, int inner, int64_t m,
                              int64_t n, int64_t k_width, llrt_layout *out) {
  LLRT_REQUIRE(m >= 8 && n >= 4 * k_width, "an instruction of %lld x %lld is smaller than 8 x %lld",
               (long long)m, (long long)n, (long long)(4 * k_width));
  LLRT_TRY(family_start("register", rank, repeat, out));
  LLRT_TRY(fit_extend(out, k_width, "register", inner));
  LLRT_TRY(fit_extend(out, 4, "lane", inner));
  LLRT_TRY(fit_extend(out, 8, "lane", outer));
  LLRT_TRY(fit_extend(out, m / 8, "register", outer));
  return fit_extend(out, n / (4 * k_width), "register", inner);
}

static llrt_status check_nvmma(const family *self, int rank) {
  LLRT_REQUIRE(rank >= 2, "nvmma needs rank 2 or more, not %d", rank);
  LLRT_TRY(family_check_sizes("warps_per_cta", &self->warps_per_cta, rank));
  LLRT_REQUIRE(self->version.n == 2, "version has %d entries, not 2", self->version.n);
  int64_t version = self->version.value[0];
  if (version != 2 && version != 3)
    return llrt_error(LLRT_UNSUPPORTED, "nvmma version %lld: there are 2 and 3",
                      (long long)version);
  LLRT_REQUIRE(version == 2 || rank == 2, "nvmma version 3 needs rank 2, not %d", rank);
  return family_check_sizes("instr_shape", &self->instr_shape, version == 2 ? rank : 3);
}

static bool is_wgmma(const family *self) { return self->version.value[0] == 3; }

/* wgmma's warps stand column-major, mma.sync's row-major. */
static llrt_status finish(const family *self, int rank, const int64_t *shape, int k,
                          const llrt_layout *block, llrt_layout *out) {
  int64_t order[LLRT_MAX_RANK];
  family_matrix_order(rank, is_wgmma(self), order);
  return family_finish_warps(self, rank, shape, order, k, block, out);
}

llrt_status family_nvmma(const family *self, int rank, const int64_t *shape, llrt_layout *out) {
  enum { ACCUMULATOR_K_WIDTH = 2 }; /* consecutive columns that a lane holds */
  LLRT_TRY(check_nvmma(self, rank));
  int first = is_wgmma(self) ? 0 : rank - 2; /* of M, N in instr_shape */
  int64_t order[LLRT_MAX_RANK];
  family_matrix_order(rank, false, order);
  llrt_layout block;
  LLRT_TRY(nvmma_tile(rank, order, rank - 2, rank - 1, self->instr_shape.value[first],
                      self->instr_shape.value[first + 1], ACCUMULATOR_K_WIDTH, &block));
  return finish(self, rank, shape, FIT_NO_AXIS, &block, out);
}

/* Operand A is [M, K], B is [K, N]; both tiles run along K. */
llrt_status family_dot_nvmma(const family *self, int rank, const int64_t *shape, llrt_layout *out) {
  const family *parent = self->parent;
  LLRT_TRY(check_nvmma(parent, rank));
  LLRT_TRY(family_check_power("k_width", self->k_width));
  if (is_wgmma(parent) && self->operand == 1)
    return llrt_error(LLRT_UNSUPPORTED, "operand 1 of nvmma version 3 lies in shared memory");
  int k = family_k_axis(self, rank), other = family_other_axis(self, rank);
  int64_t instr_m = parent->instr_shape.value[is_wgmma(parent) ? 0 : rank - 2];
  int64_t tile_k = (instr_m == 8 ? 4 : 8) * self->k_width;
  int64_t order[LLRT_MAX_RANK];
  family_matrix_order(rank, self->operand == 1, order);
  llrt_layout block;
  LLRT_TRY(nvmma_tile(rank, order, other, k, self->operand == 0 ? instr_m : 8, tile_k,
                      self->k_width, &block));
  return finish(parent, rank, shape, k, &block, out);
}
