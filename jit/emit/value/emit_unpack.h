/* Narrow elements to words of two 16-bit floats: what emit_unpack.c, emit_unpack_bytes.c and
 * emit_scale_pairs.c share, and offer to emit_words.c. Private to jit/emit/value. */
#ifndef LLRT_JIT_EMIT_EMIT_UNPACK_H
#define LLRT_JIT_EMIT_EMIT_UNPACK_H

#include "jit/emit/core/emitter.h"

/* The format of f16 or bf16: exponent bias, bits of the mantissa. */
typedef struct unpack_format {
  int bias, mantissa;
} unpack_format;

unpack_format unpack_format_of(llrt_dtype type);
/* i32: the 16-bit code in both halves of a word. */
LLVMValueRef unpack_twice(const emitter *e, unsigned code);
/* The 16-bit code of 2^exponent. */
unsigned unpack_power(unpack_format format, int exponent);

/* A word of two `to`, which holds both f32 exactly. */
LLVMValueRef unpack_encoded(emitter *e, llrt_dtype to, const LLVMValueRef x[2]);
/* A word of two `to`: what two codes of type `from` stand for. */
LLVMValueRef unpack_numbers(emitter *e, llrt_dtype from, llrt_dtype to, const LLVMValueRef code[2]);

/* Word w of the result of a SCALE by values, where emit_scales_pairs holds. emit_scale_pairs.c. */
LLVMValueRef scale_pairs_word(emitter *e, const plan_step *step, const plan_map *map, int w);
/* Word w of the result of a cast, where emit_unpacks holds. emit_unpack.c. */
LLVMValueRef unpack_word(emitter *e, const plan_step *step, const plan_map *map, int w);

/* Elements `index` and `index + 1` of a word of e2m1, their bits moved to where a 16-bit float has
 * sign, exponent and mantissa: the two numbers times 2^(1 - bias). */
LLVMValueRef unpack_place_e2m1(emitter *e, LLVMValueRef word, int index, const plan_map *map);

/* Integers of at most 8 bits are laid into the mantissa of a number 2^n, from which 2^n is then
 * taken. Signed ones have an offset added first, so that none is below 0. */
bool unpack_is_integer(llrt_dtype type);
/* That offset: 2^(bits - 1) of signed types, 0 of others. */
int unpack_offset(llrt_dtype type);
/* Whether the mantissa has room for an integer of the type. */
bool unpack_fits(llrt_dtype type, unpack_format format);
/* The higher bit of the mantissa at which an integer of so many bits may begin: 4 where it has
 * room, else 0. */
int unpack_highest_place(unpack_format format, int bits);
/* The bit at which elements `index` and `index + 1` of a word begin: 0, or the highest place. */
int unpack_integer_place(unpack_format format, int index, const plan_map *map);
/* Elements `index` and `index + 1` of a word as numbers. less: a word of what is added to the large
 * numbers; NULL: what takes 2^n and the offset away. */
LLVMValueRef unpack_integer(emitter *e, LLVMValueRef word, int index, const plan_map *map,
                            LLVMValueRef less);

#endif
