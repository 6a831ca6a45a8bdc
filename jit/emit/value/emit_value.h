/* Numbers and words of values: steps that make values of values; formats, combiners, scales. */
#ifndef LLRT_JIT_EMIT_EMIT_VALUE_H
#define LLRT_JIT_EMIT_EMIT_VALUE_H

#include "jit/emit/core/emitter.h"

/* ---- steps ---- */

void emit_registers_step(emitter *e, const plan_step *step); /* registers.c */
void emit_shuffle_step(emitter *e, const plan_step *step);   /* emit_shuffle.c */
void emit_map_step(emitter *e, const plan_step *step);       /* emit_map.c */
void emit_gather_step(emitter *e, const plan_step *step);    /* emit_gather.c */
void emit_fill_step(emitter *e, const plan_step *step);      /* emit_reduce.c */
void emit_join_step(emitter *e, const plan_step *step);
void emit_fold_step(emitter *e, const plan_step *step);
void emit_fold_lanes_step(emitter *e, const plan_step *step);
void emit_spread_step(emitter *e, const plan_step *step);
void emit_position_step(emitter *e, const plan_step *step);
void emit_apply_step(emitter *e, const plan_step *step); /* emit_apply.c */
/* emit_reduce.c: coordinates of an axis, of 32 bits, at the elements of a value, whose registers
 * and lanes of the host move bits that nothing else moves. */
void emit_positions_along(emitter *e, int value, int axis);
void emit_scan_step(emitter *e, const plan_step *step); /* emit_scan.c */
void emit_prefix_step(emitter *e, const plan_step *step);
void emit_pick_step(emitter *e, const plan_step *step);
void emit_dot_step(emitter *e, const plan_step *step); /* emit_dot.c */
void emit_multiplied_step(emitter *e, const plan_step *step);

/* ---- emit_cast.c: number formats ---- */

/* Codes (i32, i64 for 64-bit types; scalars or vectors; zero above their bits) as numbers of type
 * f32, or f64 where `wide`, and the nearest code of a number. */
LLVMValueRef emit_decode(emitter *e, llrt_dtype from, bool wide, LLVMValueRef code);
LLVMValueRef emit_encode(emitter *e, llrt_dtype to, bool wide, LLVMValueRef x);
/* Two at once, as f32. */
void emit_decode_pair(emitter *e, llrt_dtype from, const LLVMValueRef code[2], LLVMValueRef x[2]);
void emit_encode_pair(emitter *e, llrt_dtype to, const LLVMValueRef x[2], LLVMValueRef code[2]);

/* ---- emit_moderate.c: of f32, scalars; false, and nothing is emitted, on the host and of few ----
 */

/* made[i] = x[i] / y[divisor[i]], rounded correctly, i < n. */
bool emit_quotients(emitter *e, int n, const LLVMValueRef *x, int n_divisors, const LLVMValueRef *y,
                    const int *divisor, LLVMValueRef *made);
/* made[i] = op(x[i]), an expr_operator of one number, as emit_function makes it. */
bool emit_functions(emitter *e, int op, int n, const LLVMValueRef *x, LLVMValueRef *made);

/* ---- emit_activation.c ---- */

/* MULTIPLY, RELU, GELU and SILU of numbers of f32 or f64, scalars or vectors of lanes; the type
 * of such numbers where their codes have type `like`. */
LLVMValueRef emit_activation(emitter *e, const plan_map *map, LLVMValueRef x);
LLVMTypeRef emit_number_type(const emitter *e, llrt_dtype type, LLVMTypeRef like);

/* ---- emit_combine.c: combiners (jit/plan/types/combine.h) on words of the accumulator's type ----
 */

/* a joined with b (scalars or vectors of lanes); the neutral element in every lane of `like`. */
LLVMValueRef emit_combine(emitter *e, int op, llrt_dtype type, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef emit_combine_identity(int op, llrt_dtype type, LLVMTypeRef like);
/* Arg combiners: the winner of two pairs; index: any integer type. ordered: every index of a is
 * lower than b's, which saves comparing them. */
typedef struct emit_pair {
  LLVMValueRef key, index;
} emit_pair;
emit_pair emit_combine_pair(emitter *e, int op, llrt_dtype type, emit_pair a, emit_pair b);
emit_pair emit_combine_ordered_pair(emitter *e, int op, llrt_dtype type, emit_pair a, emit_pair b);
/* ANY, ALL: 1 (i32) where the element of code `code` is not zero, else 0. */
LLVMValueRef emit_combine_truth(emitter *e, llrt_dtype element, LLVMValueRef code);

/* ---- emit_scale.c ---- */

/* What elements of a value are multiplied with, as f32 or f64; read now, where they were not
 * before. ahead: behind the load `at`, what a SCALE of the following steps up to `end` would read
 * behind a barrier only; GPU. */
emit_scales *emit_scales_begin(emitter *e, const plan_step *step);
LLVMValueRef emit_scale_of(emit_scales *scales, int index);
void emit_scales_ahead(emitter *e, int at, int end);

/* ---- emit_map.c, emit_unpack.c, emit_scale_pairs.c, emit_unpack_bytes.c: by whole words ---- */

/* A cast of elements of 4 and 8 bits, and a SCALE by value, by whole words: whether the
 * step is such, and its words, or where it is lazy how they come to be. */
bool emit_unpacks(const emitter *e, const plan_step *step, const plan_map *map);
bool emit_scales_pairs(const emitter *e, const plan_step *step, const plan_map *map);
/* Whether a product of two codes of a 16-bit float `to`, rounded once, is the SCALE by scales of
 * type `scale`, of elements that `to` holds exactly: it holds all scales, too. */
bool emit_scales_by_halves(const emitter *e, llrt_dtype scale, llrt_dtype to);
/* The same of a SCALE of e2m1 to e5m2; word w of its result. */
bool emit_scales_bytes(const emitter *e, const plan_step *step, const plan_map *map);
LLVMValueRef emit_scaled_bytes(emitter *e, const plan_step *step, const plan_map *map, int w);
/* emit_words.c: a step whose words are made when they are wanted: now, or if it is not lazy at
 * once; one of them. */
void emit_map_words(emitter *e, const plan_step *step);
void emit_make_word(emitter *e, int value, int w);

/* ---- emit_look_up.c ---- */

/* Whether words of 4-bit elements become `to` of 8 or 16 bits by tables in registers; one word's.
 */
bool emit_looks_up(const emitter *e, llrt_dtype from, llrt_dtype to, const plan_value *in);
void emit_look_up(emitter *e, llrt_dtype from, llrt_dtype to, LLVMValueRef word,
                  LLVMValueRef *made);

/* ---- emit_shuffle.c ---- */

/* A word (32 or 64 bits) of another lane (i32), all lanes taking part; GPU. */
LLVMValueRef emit_shuffle_word(emitter *e, LLVMValueRef word, LLVMValueRef lane);

#endif
