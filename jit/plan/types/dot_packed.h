/* Dots with packed weights (docs/dot-packed.md): operand B in the storage that llrt_dot_pack names.
 */
#ifndef LLRT_JIT_PLAN_TYPES_DOT_PACKED_H
#define LLRT_JIT_PLAN_TYPES_DOT_PACKED_H

#include "jit/plan/types/target.h"

#include <llrt/storage.h>
#include <llrt/tensor.h>

/* log2 positions of a tile of packed weights along K and along N. */
#define DOT_PACKED_K 8
#define DOT_PACKED_N 4
/* How many positions along K may share a scale: a power of two, from .. to. */
#define DOT_PACKED_LEAST_GROUP 16
#define DOT_PACKED_MOST_GROUP 128

/* Whether weights are packed for instructions of 8 bits: they are e2m1 whose scales are promised to
 * lie in low .. high (codes of e8m0), so that weight times scale is a number of e5m2 up to one
 * power of two for all of them, and the target multiplies e5m2 with `other`, the activations' type.
 */
bool dot_packed_in_bytes(const plan_target *target, llrt_dtype element, llrt_dtype scale,
                         llrt_dtype other, int low, int high);
/* Scales of 2^-DOT_PACKED_REACH and more leave 0.5 .. 6, times the scale, normal numbers of e5m2.
 */
#define DOT_PACKED_REACH 13
/* log2 of that power of two, by which scales are to be divided. */
int dot_packed_shift(int low, int high);

/* The storages of packed weights, of their scales and of their zero points: axes K and N behind
 * `batch` axes. One tile of weights (elements of 4 or 8 bits) is what a warp reads at once; each
 * lane's part are whole vectors of what its matrix instructions multiply, which have elements of 16
 * bits or (bytes) of 8. group: log2 positions along K that share a scale. Errors: UNSUPPORTED where
 * such weights, scales or zero points are not packed. */
llrt_status dot_packed_values(int bits, bool bytes, int batch, llrt_storage *out);
llrt_status dot_packed_scales(int group, int batch, llrt_storage *out);
llrt_status dot_packed_zeros(int group, int batch, llrt_storage *out);
/* Whether weights of a type are packed; scales of a type; zero points of type `zero` for weights of
 * type `element`. */
bool dot_packed_has_elements(llrt_dtype element);
bool dot_packed_has_scales(llrt_dtype scale);
bool dot_packed_has_zeros(llrt_dtype element, llrt_dtype zero);

/* The order of bits inside a 32-bit word: bit i of a packed word is bit packed[i] of the word that
 * consecutive elements form (llrt_map WORD_BITS); formed[] is the inverse. other: f16 or bf16, the
 * type in which weights are multiplied; bytes: it has 8 bits. */
void dot_packed_words(llrt_dtype element, llrt_dtype other, bool bytes, uint8_t packed[32],
                      uint8_t formed[32]);

#endif
