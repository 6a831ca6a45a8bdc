/* llrt_dot_pack: which storages jit/plan/types/dot_packed.c has for an operand. */
#include "base/bits.h"
#include "base/params.h"
#include "base/status.h"
#include "jit/plan/types/dot_packed.h"
#include "jit/plan/types/dot_type.h"
#include "jit/plan/types/target.h"

#include <llrt/dot_pack.h>

#include <string.h>

static llrt_status check_target(const char *name, plan_target *target) {
  bool host = strcmp(name, "host") == 0;
  if (!host) LLRT_TRY(plan_target_find(name, target));
  if (!host && target->packed_weights) return LLRT_OK;
  return llrt_error(LLRT_UNSUPPORTED,
                    "target %s has no kernels for packed weights: dots there take any storage",
                    name);
}

/* A promise is for e8m0. */
static llrt_status check_range(const llrt_dot_pack_params *params) {
  int low = params->range_low, high = params->range_high;
  LLRT_REQUIRE(low <= high && high < 255, "scale_range is %d to %d", low, high);
  LLRT_REQUIRE(high == 0 || params->scale == LLRT_E8M0, "scale_range: the scales are %s, not e8m0",
               llrt_dtype_name(params->scale));
  return LLRT_OK;
}

static llrt_status check_types(const llrt_dot_pack_params *params) {
  llrt_dtype type = params->dtype, scale = params->scale;
  if (!dot_packed_has_elements(type))
    return llrt_error(LLRT_UNSUPPORTED,
                      "packed elements of type %s, not e2m1, e4m3, e5m2, i4, u4, i8, u8",
                      llrt_dtype_name(type));
  if (scale != LLRT_DTYPE_NONE && !dot_packed_has_scales(scale))
    return llrt_error(LLRT_UNSUPPORTED, "packed scales of type %s, not e8m0, e4m3, f16, bf16",
                      llrt_dtype_name(scale));
  if (scale != LLRT_DTYPE_NONE &&
      (params->group[0] <= 0 || !bits_is_power_of_two(params->group[0]) ||
       params->group[0] < DOT_PACKED_LEAST_GROUP || params->group[0] > DOT_PACKED_MOST_GROUP ||
       params->group[1] > 1 || params->group[1] < 0))
    return llrt_error(
        LLRT_UNSUPPORTED,
        "packed scales in groups of %lld x %lld, not 16, 32, 64 or 128 along K, 1 along N",
        (long long)params->group[0], (long long)params->group[1]);
  if (params->zero != LLRT_DTYPE_NONE &&
      (scale == LLRT_DTYPE_NONE || !dot_packed_has_zeros(type, params->zero)))
    return llrt_error(LLRT_UNSUPPORTED,
                      "packed zero points of type %s for elements of type %s: integers with scales "
                      "have such, i4, u4, i8, u8",
                      llrt_dtype_name(params->zero), llrt_dtype_name(type));
  LLRT_REQUIRE(params->other == LLRT_DTYPE_NONE || dot_operand_exists(params->other),
               "the other operand cannot be %s (%d)", llrt_dtype_name(params->other),
               (int)params->other);
  return LLRT_OK;
}

/* The map that packs words, where their bits do not stay as they are. */
static void name_words(const llrt_dot_pack_params *params, bool bytes, llrt_dot_packing *packing) {
  uint8_t packed[32], formed[32];
  bool stay = true;
  dot_packed_words(params->dtype, params->other, bytes, packed, formed);
  for (int i = 0; i < 32; i++) stay &= packed[i] == i;
  if (stay) return;
  packing->n_maps = 1;
  packing->map.kind = LLRT_MAP_WORD_BITS;
  memcpy(packing->map.perm, packed, sizeof packed);
  memcpy(packing->word_bits, formed, sizeof formed);
}

static llrt_status pack(const llrt_dot_pack_params *given, const char *target,
                        llrt_dot_role operand, llrt_dot_packing *packing) {
  llrt_dot_pack_params own;
  const llrt_dot_pack_params *params = &own;
  LLRT_REQUIRE(given, "params is NULL");
  LLRT_TRY(LLRT_PARAMS_READ(llrt_dot_pack_params, given, &own));
  LLRT_REQUIRE(target, "target is NULL");
  LLRT_REQUIRE(operand == LLRT_DOT_A || operand == LLRT_DOT_B, "role %d is no operand",
               (int)operand);
  if (operand != LLRT_DOT_B)
    return llrt_error(
        LLRT_UNSUPPORTED,
        "only operand B is packed: weights that are A are B of the transposed product");
  plan_target has;
  LLRT_TRY(check_target(target, &has));
  LLRT_REQUIRE(params->n_batch >= 0 && params->n_batch <= LLRT_MAX_RANK - 3,
               "n_batch is %d, not 0 to %d", params->n_batch, LLRT_MAX_RANK - 3);
  LLRT_TRY(check_types(params));
  LLRT_TRY(check_range(params));
  bool bytes = dot_packed_in_bytes(&has, params->dtype, params->scale, params->other,
                                   params->range_low, params->range_high);
  int batch = params->n_batch;
  LLRT_TRY(dot_packed_values(llrt_dtype_bits(params->dtype), bytes, batch, &packing->storages[0]));
  name_words(params, bytes, packing);
  if (!params->scale) return LLRT_OK;
  LLRT_TRY(dot_packed_scales(bits_log2(params->group[0]), batch, &packing->storages[1]));
  return params->zero ? dot_packed_zeros(bits_log2(params->group[0]), batch, &packing->storages[2])
                      : LLRT_OK;
}

llrt_status llrt_dot_pack(const llrt_dot_pack_params *params, const char *target,
                          llrt_dot_role operand, llrt_dot_packing *packing) {
  LLRT_ENTRY();
  static const llrt_dot_packing none;
  LLRT_REQUIRE(packing, "packing is NULL");
  llrt_dot_packing made = none;
  llrt_status status = pack(params, target, operand, &made);
  LLRT_TRY(LLRT_PARAMS_WRITE(llrt_dot_packing, packing, status ? &none : &made));
  return status;
}
