/* Value maps: what an operation does to elements on their way. */
#ifndef LLRT_MAP_H
#define LLRT_MAP_H

#include <llrt/layout.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LLRT_MAX_MAPS 4

typedef enum llrt_map_kind {
  LLRT_MAP_XOR = 1,      /* element = element XOR the low bits of `constant`: all of them up to 64 bits,
                            the low 64 of 128-bit elements. Any number of times, before WORD_BITS */
  LLRT_MAP_WORD_BITS = 2 /* bit i of every 32-bit word = bit perm[i] of it; perm is a permutation of
                            0..31. Words are the destination's memory, four bytes each from its data on,
                            bit 0 the lowest of the first byte: the map that lookups of nibble and bit
                            interleavings are. Once, last. The destination must consist of whole words:
                            data and strides are multiples of four bytes, and no word lies half inside
                            the tensor; UNSUPPORTED otherwise. Pads that are written take part in it,
                            and in no map before */
} llrt_map_kind;

typedef struct llrt_map {
  llrt_map_kind kind;
  uint64_t constant; /* XOR */
  uint8_t perm[32];  /* WORD_BITS */
} llrt_map;

#ifdef __cplusplus
}
#endif
#endif
