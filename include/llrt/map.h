/* Value maps: what an operation does to elements on their way.
 *
 * Casts. A destination of another type than the source's asks for one; it needs no entry in the
 * list. Types are f64 f32 f16 bf16 e4m3 e5m2 e4m3fnuz e5m2fnuz e2m1, e8m0 (source only), and the
 * signed and unsigned integers of 4 to 32 bits. The value is rounded once, to nearest, ties to the
 * even code; every device gives the same bits.
 *
 *  - f64, f32, f16 and bf16 overflow to infinity. 8-bit and 4-bit floats saturate: what lies beyond
 *    their largest finite number, infinity included, becomes that number with its sign.
 *  - Integers saturate; NaN becomes 0.
 *  - NaN becomes the NaN whose sign is 0 and whose other bits are all 1 (0x7FFFFFFF, 0x7F, …); FNUZ
 *    types have one NaN, 0x80; e2m1 has none and gets its largest number. FNUZ types have no
 *    negative zero.
 *  - e8m0 is 2^(code - 127), and 0xFF is NaN.
 * Elements are source type up to the cast and destination type from there on. It stands where SCALE
 * stands, else after the XORs; WORD_BITS sees its result. Types that are equal are moved as bits,
 * NaN included. */
#ifndef LLRT_MAP_H
#define LLRT_MAP_H

#include <llrt/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LLRT_MAX_MAPS 4     /* of an operation, in this version: no struct's size depends on it */
#define LLRT_GROUP_ALL (-1) /* one scale for a whole axis */

typedef enum llrt_map_kind {
  LLRT_MAP_XOR = 1, /* element = element XOR the low bits of `constant`. Any number of times, before
                       WORD_BITS. UNSUPPORTED of 128-bit elements */
  LLRT_MAP_WORD_BITS =
      2, /* bit i of every 32-bit word = bit perm[i] of it; perm is a permutation of
            0..31. Words are the destination's memory, four bytes each from its data on,
            bit 0 the lowest of the first byte: the map that lookups of nibble and bit
            interleavings are. Once, last. The destination must consist of whole words:
            data is a multiple of four bytes, and no word lies half inside the tensor;
            UNSUPPORTED otherwise, and where strides are no multiples of four bytes and
            elements do not all follow each other without a gap. Pads that are written take part in
            it, and in no map before */
  LLRT_MAP_SCALE =
      3, /* element = element * scale, rounded to f32 (to f64 where source or destination
            is f64, i32 or u32), then cast to the destination's type. The scale of
            coordinate x is element (x0 / group[0], x1 / group[1], …) of a third tensor:
            f32, f16, bf16, an 8-bit float or e8m0, of the source's rank and extents
            ceil(extent / group), or 1 where the group is LLRT_GROUP_ALL (0 serves as
            well along an axis without positions); in any
            storage. Once, before WORD_BITS. Pads that are written can only be 0 */

  /* Of a dot's result (dot.h) alone, in f32 (f64 where it accumulates in that): */
  LLRT_MAP_ADD = 4,  /* element + element of a tensor of the result's axes. Once */
  LLRT_MAP_RELU = 5, /* max(element, 0); NaN stays */
  LLRT_MAP_GELU = 6, /* element * (1 + erf(element / sqrt 2)) / 2, to 2^-20 |element| */
  LLRT_MAP_SILU = 7  /* element / (1 + exp(-element)), to 2^-20 |element| */
} llrt_map_kind;

typedef struct llrt_map {
  llrt_map_kind kind;
  uint64_t constant; /* XOR */
  uint8_t perm[32];  /* WORD_BITS */
  int64_t
      group[LLRT_MAX_RANK]; /* SCALE: positions of each axis that share a scale; 0 counts as 1 */
  int64_t reserved[2];      /* 0 */
} llrt_map;

#ifdef __cplusplus
}
#endif
#endif
