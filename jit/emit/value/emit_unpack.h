/* Words of two 16-bit floats: what emit_unpack.c and emit_scale_pairs.c have for each other and for
 * emit_words.c. Private to jit/emit/value. */
#ifndef LLRT_JIT_EMIT_EMIT_UNPACK_H
#define LLRT_JIT_EMIT_EMIT_UNPACK_H

#include "jit/emit/core/emitter.h"

/* A 16-bit float's code: exponent bias, bits of the mantissa. */
typedef struct unpack_format {
  int bias, mantissa;
} unpack_format;

unpack_format unpack_format_of(llrt_dtype type);
/* Both halves of a word a 16-bit code; 2^exponent as such a code. */
LLVMValueRef unpack_twice(const emitter *e, unsigned code);
unsigned unpack_power(unpack_format format, int exponent);

/* Two f32 as a 16-bit float that holds them; two codes as such numbers. */
LLVMValueRef unpack_encoded(emitter *e, llrt_dtype to, const LLVMValueRef x[2]);
LLVMValueRef unpack_numbers(emitter *e, llrt_dtype from, llrt_dtype to, const LLVMValueRef code[2]);

/* Word w of a SCALE by value (emit_scales_pairs). emit_scale_pairs.c. */
LLVMValueRef scale_pairs_word(emitter *e, const plan_step *step, const plan_map *map, int w);
/* Word w of a cast (emit_unpacks). */
LLVMValueRef unpack_word(emitter *e, const plan_step *step, const plan_map *map, int w);

/* Elements `index` and index + 1 of a word of e2m1 where a 16-bit float has those bits: times 2^(1
 * - bias). */
LLVMValueRef unpack_place_e2m1(emitter *e, LLVMValueRef word, int index, const plan_map *map);

/* Integers of at most 8 bits; what is added to one so that it is none below 0, which turns its sign
 * over. */
bool unpack_is_integer(llrt_dtype type);
int unpack_offset(llrt_dtype type);
/* Whether the mantissa has room for them; where it takes those of so many bits: at its lowest place
 * or at one other. */
bool unpack_fits(llrt_dtype type, unpack_format format);
int unpack_highest_place(unpack_format format, int bits);
int unpack_integer_place(unpack_format format, int index, const plan_map *map);
/* Two of them behind the point of a large number, from which `less` is taken (NULL: that number).
 */
LLVMValueRef unpack_integer(emitter *e, LLVMValueRef word, int index, const plan_map *map,
                            LLVMValueRef less);

#endif
