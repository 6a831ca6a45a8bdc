/* llrt_dot_pack: which storages jit/plan/dot_packed.c has for an operand. */
#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/dot_packed.h"
#include "jit/plan/dot_type.h"
#include "jit/plan/target.h"

#include <llrt/dot_pack.h>

#include <string.h>

static llrt_status check_target(const char *name, plan_target *target) {
  LLRT_TRY(plan_target_find(name, target));
  if (target->isa == PLAN_ISA_NVPTX) return LLRT_OK;
  return llrt_error(LLRT_UNSUPPORTED, "target %s has no kernels for packed weights: use any other storage", name);
}

static llrt_status check_types(const llrt_dot_pack_params *params) {
  llrt_dtype type = params->dtype, scale = params->scale;
  if (type != LLRT_E2M1 && type != LLRT_I4 && type != LLRT_U4)
    return llrt_error(LLRT_UNSUPPORTED, "packed elements of type %s, not e2m1, i4, u4", llrt_dtype_name(type));
  if (scale != LLRT_E8M0 && scale != LLRT_F16 && scale != LLRT_BF16)
    return llrt_error(LLRT_UNSUPPORTED, "packed scales of type %s, not e8m0, f16, bf16", llrt_dtype_name(scale));
  if (params->group[0] <= 0 || !bits_is_power_of_two(params->group[0]) || params->group[0] > 1 << 20 ||
      params->group[1] > 1 || params->group[1] < 0)
    return llrt_error(LLRT_UNSUPPORTED, "packed scales in groups of %lld x %lld, not 32, 64 or 128 along K",
                      (long long)params->group[0], (long long)params->group[1]);
  LLRT_REQUIRE(params->other == LLRT_DTYPE_NONE || dot_operand_exists(params->other), "no operand of type %s",
               llrt_dtype_name(params->other));
  return LLRT_OK;
}

llrt_status llrt_dot_pack(const llrt_dot_pack_params *params, const char *target, llrt_dot_role operand,
                          llrt_dot_packing *packing) {
  LLRT_REQUIRE(packing, "packing is NULL");
  memset(packing, 0, sizeof *packing);
  LLRT_REQUIRE(params, "params is NULL");
  LLRT_REQUIRE(target, "target is NULL");
  if (operand != LLRT_DOT_B) return llrt_error(LLRT_UNSUPPORTED, "only operand B is packed");
  plan_target has;
  LLRT_TRY(check_target(target, &has));
  LLRT_TRY(check_types(params));
  bool bytes = dot_packed_in_bytes(&has, params->dtype, params->scale, params->other, params->range_low, params->range_high);
  LLRT_TRY(dot_packed_values(bytes, &packing->storages[0]));
  packing->n_maps = 1;
  packing->map.kind = LLRT_MAP_WORD_BITS;
  dot_packed_words(params->dtype, params->other, bytes, packing->map.perm, packing->word_bits);
  return dot_packed_scales(bits_log2(params->group[0]), llrt_dtype_bits(params->scale), &packing->storages[1]);
}
