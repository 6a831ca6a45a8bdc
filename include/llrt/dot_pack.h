/* Weights in the order that a dot likes best (docs/dot-packed.md): made once, for every number of
 * rows. */
#ifndef LLRT_DOT_PACK_H
#define LLRT_DOT_PACK_H

#include <llrt/dot.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is packed: an operand [.., K, N]. */
typedef struct llrt_dot_pack_params {
  size_t size;
  llrt_dtype dtype; /* of the elements: e2m1, e4m3, e5m2, i4, u4, i8, u8 */
  llrt_dtype scale; /* of the scales: e8m0, e4m3, f16, bf16; NONE: none vary along K (those of whole
                       columns stand on sums, and are not packed) */
  int64_t group[2]; /* positions along K (16, 32, 64, 128) and N (0 or 1) that share a scale */
  llrt_dtype other; /* of the other operand, for which e2m1's bits lie best; NONE: bf16. Others
                       multiply the same copy, with a few instructions more */
  uint8_t range_low, range_high; /* a promise that e8m0 scales lie in these bytes; 0, 0: nothing is
                           promised. Where it is of at most 27 powers of two, and `other` e4m3 or
                           e5m2, sm_90a multiplies in 8 bits. Such a copy has its own order, which
                           is for those dots alone: others read it as they read any storage */
  int32_t n_batch; /* batch axes before K and N, one packed operand behind the other; 0 to
                      LLRT_MAX_RANK - 3 */
  llrt_dtype zero; /* of integers' zero points, in the scales' groups: i4, u4, i8, u8; NONE: there
                      are none */
} llrt_dot_pack_params;

/* How an operand is packed: an ordinary convert of the elements to storages[0], with the map where
 * there is one, and of the scales to storages[1], of zero points to storages[2]. */
typedef struct llrt_dot_packing {
  size_t size;              /* set by the caller, or 0 */
  llrt_storage storages[3]; /* of elements, of scales, of zero points */
  int32_t n_maps;           /* 0 or 1 */
  llrt_map map;             /* WORD_BITS, for llrt_convert_params.maps */
  uint8_t word_bits[32];    /* for llrt_dot_scaling.word_bits; all 0 without the map */
} llrt_dot_packing;

/* The storages of operand B's elements [K, N], of its scales and zero points [ceil(K / group), N],
 * in which dots on `target` ("sm_80", "sm_89", "sm_90a") read them as they lie, whatever M is; dots
 * on other targets and on the host take the same copy by their general kernels. They print as text
 * (llrt_storage_print), so that a packed checkpoint can say what it is. Pads are zeros, which dots
 * read: a storage filled otherwise must hold them. Thread: any. Errors: INVALID_ARGUMENT;
 * UNSUPPORTED for what no kernel of the target reads so, with the reason. */
LLRT_API llrt_status llrt_dot_pack(const llrt_dot_pack_params *params, const char *target,
                                   llrt_dot_role operand, llrt_dot_packing *packing);

#ifdef __cplusplus
}
#endif
#endif
