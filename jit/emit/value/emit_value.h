/* Steps that make values of values, and what they are made of: number formats, combiners, scales,
 * words. "Code": the bits of an element, as an integer. */
#ifndef LLRT_JIT_EMIT_EMIT_VALUE_H
#define LLRT_JIT_EMIT_EMIT_VALUE_H

#include "jit/emit/core/emitter.h"

/* ---- steps ---- */

void emit_registers_step(emitter *e, const plan_step *step); /* registers.c */
void emit_shuffle_step(emitter *e, const plan_step *step);   /* emit_shuffle.c */
void emit_map_step(emitter *e, const plan_step *step);       /* emit_map.c */
/* emit_halves.c: a cast that leaves its elements in their words; false: it does not. Register
 * `number` of a value of one element a word, taken out of them where they are there. */
bool emit_keep_halves(emitter *e, const plan_step *step, const plan_map *map);
/* A cast of such a value to the floats that are in its words; false: it is none. */
bool emit_round_halves_back(emitter *e, const plan_step *step);
LLVMValueRef emit_register(emitter *e, int value, int number);
/* Quotients of such a value by powers of two that casts to floats of 8 bits or fewer alone take:
 * bf16 holds them but for some that are far below the least of these. False: they are none. */
bool emit_divide_halves(emitter *e, const plan_step *step);
/* Sums and differences of two such values that are rounded to the same floats and used no other
 * way, two at a time. False: they are none. */
bool emit_add_halves(emitter *e, const plan_step *step);
void emit_gather_step(emitter *e, const plan_step *step); /* emit_gather.c */
void emit_fill_step(emitter *e, const plan_step *step);   /* emit_reduce.c */
void emit_join_step(emitter *e, const plan_step *step);
void emit_fold_step(emitter *e, const plan_step *step);
void emit_fold_halves(emitter *e, const plan_step *step); /* emit_fold_halves.c */
void emit_fold_lanes_step(emitter *e, const plan_step *step);
void emit_spread_step(emitter *e, const plan_step *step);
void emit_position_step(emitter *e, const plan_step *step);
void emit_apply_step(emitter *e, const plan_step *step); /* emit_apply.c */
/* emit_reduce.c: sets a value (of 32 bits) to each element's coordinate along an axis. Its
 * registers, and lanes on the host, move bits of the coordinate that nothing else moves. */
void emit_positions_along(emitter *e, int value, int axis);
void emit_scan_step(emitter *e, const plan_step *step); /* emit_scan.c */
void emit_prefix_step(emitter *e, const plan_step *step);
void emit_pick_step(emitter *e, const plan_step *step);
void emit_dot_step(emitter *e, const plan_step *step); /* emit_dot.c */
void emit_multiplied_step(emitter *e, const plan_step *step);
/* PLAN_DOT of late_sums: its first part begins where all before are done, so that slots of the turn
 * before are free; then the rest. */
void emit_late_begin(emitter *e, const plan_step *step);
void emit_late_end(emitter *e, const plan_step *step);
/* What a walk carries of the turn before, of which the loop's head has phis: `carried`, as e->late
 * is behind carry. join adds the last turn's. */
void emit_carry_late(emitter *e, int walk, LLVMBasicBlockRef before);
void emit_close_late(emitter *e, int walk, LLVMValueRef *carried, LLVMBasicBlockRef latch);
void emit_join_late(emitter *e, int walk);

/* ---- emit_cast.c: number formats ---- */

/* The number that a code stands for, f32 or, `wide`, f64. A code is i32, i64 of 64-bit types, or a
 * vector of such; bits above the element's are 0. */
LLVMValueRef emit_decode(emitter *e, llrt_dtype from, bool wide, LLVMValueRef code);
/* The code of the element that is nearest to x. */
LLVMValueRef emit_encode(emitter *e, llrt_dtype to, bool wide, LLVMValueRef x);
/* The same of two, as f32. */
void emit_decode_pair(emitter *e, llrt_dtype from, const LLVMValueRef code[2], LLVMValueRef x[2]);
void emit_encode_pair(emitter *e, llrt_dtype to, const LLVMValueRef x[2], LLVMValueRef code[2]);

/* ---- emit_e2m1.c: on GPUs, not where the first says so ---- */

bool emit_has_e2m1(const emitter *e);
/* The code of the number that is nearest to x, f32; the word of eight such. */
LLVMValueRef emit_e2m1(emitter *e, LLVMValueRef x);
LLVMValueRef emit_e2m1_word(emitter *e, const LLVMValueRef x[8]);
/* The same of bf16, two in a word: the codes of two, and the word of eight; whether the target has
 * what that takes. */
bool emit_has_e2m1_of_halves(const emitter *e);
void emit_e2m1_pair_of_halves(emitter *e, LLVMValueRef word, LLVMValueRef code[2]);
LLVMValueRef emit_e2m1_word_of_halves(emitter *e, const LLVMValueRef words[4]);

/* ---- emit_moderate.c: of f32, scalars; false, and nothing is emitted, on the host and of few ----
 */

/* made[i] = x(from, i) / y[divisor[i]], rounded correctly, i < n; step: says what is known of x. */
typedef LLVMValueRef emit_dividend(const void *from, int i);
bool emit_quotients(emitter *e, const plan_step *step, int n, emit_dividend *x, const void *from,
                    int n_divisors, const LLVMValueRef *y, const int *divisor, LLVMValueRef *made);
/* 1 / y of a power of two from 2^-127 to 2^127; of NaN NaN. */
LLVMValueRef emit_inverse_of_power(const emitter *e, LLVMValueRef y);
/* made[i] = op(x[i]), an expr_operator of one number, as emit_function makes it. */
bool emit_functions(emitter *e, int op, int n, const LLVMValueRef *x, LLVMValueRef *made);

/* ---- emit_activation.c ---- */

/* MULTIPLY, RELU, GELU and SILU of numbers of f32 or f64, scalars or vectors of lanes; the type
 * of such numbers where their codes have type `like`. */
LLVMValueRef emit_activation(emitter *e, const plan_map *map, LLVMValueRef x);
LLVMTypeRef emit_number_type(const emitter *e, llrt_dtype type, LLVMTypeRef like);

/* ---- emit_combine.c: combiners (jit/plan/types/combine.h) on words of the accumulator's type ----
 */

/* a joined with b; scalars, or vectors of lanes. */
LLVMValueRef emit_combine(emitter *e, int op, llrt_dtype type, LLVMValueRef a, LLVMValueRef b);
/* The combiner's neutral element in every lane of type `like`. */
LLVMValueRef emit_combine_identity(int op, llrt_dtype type, LLVMTypeRef like);
/* An element and its position, of ARGMIN and ARGMAX; the index has any integer type. */
typedef struct emit_pair {
  LLVMValueRef key, index;
} emit_pair;
/* The winner of two pairs: of equal keys the one with the lower index. */
emit_pair emit_combine_pair(emitter *e, int op, llrt_dtype type, emit_pair a, emit_pair b);
/* The same where every index of a is known to be lower than every one of b. */
emit_pair emit_combine_ordered_pair(emitter *e, int op, llrt_dtype type, emit_pair a, emit_pair b);
/* i1: whether a key is as good as the best of several, itself among them. */
LLVMValueRef emit_combine_same_key(emitter *e, llrt_dtype type, LLVMValueRef own,
                                   LLVMValueRef best);
/* a joined with b, as a combining step says. */
emit_pair emit_join(emitter *e, const plan_step *step, emit_pair a, emit_pair b);
/* ANY, ALL: 1 (i32) where the element of code `code` is not zero, else 0. */
LLVMValueRef emit_combine_truth(emitter *e, llrt_dtype element, LLVMValueRef code);

/* ---- emit_scale.c ---- */

/* The scales of a SCALE step's elements: loads those that were not loaded before. */
emit_scales *emit_scales_begin(emitter *e, const plan_step *step);
/* What element `index` of the value is multiplied with, f32 or f64. */
LLVMValueRef emit_scale_of(emit_scales *scales, int index);
/* Loads, behind the load that is step `at`, the scales of a SCALE among the steps before `end` that
 * would else be loaded behind a barrier. GPU. */
void emit_scales_ahead(emitter *e, int at, int end);

/* ---- emit_map.c, emit_unpack.c, emit_scale_pairs.c, emit_unpack_bytes.c: by whole words ---- */

/* Whether a cast of 4- or 8-bit elements is made word by word. */
bool emit_unpacks(const emitter *e, const plan_step *step, const plan_map *map);
/* Whether a SCALE by values is. */
bool emit_scales_pairs(const emitter *e, const plan_step *step, const plan_map *map);
/* Whether a product of two codes of a 16-bit float `to`, rounded once, is the SCALE by scales of
 * type `scale`, of elements that `to` holds exactly: it holds all scales, too. */
bool emit_scales_by_halves(const emitter *e, llrt_dtype scale, llrt_dtype to);
/* Whether a SCALE of e2m1 to e5m2 is made word by word. */
bool emit_scales_bytes(const emitter *e, const plan_step *step, const plan_map *map);
/* Word w of its result. */
LLVMValueRef emit_scaled_bytes(emitter *e, const plan_step *step, const plan_map *map, int w);
/* emit_words.c: makes the words of a step that is made word by word: all now, or if it is lazy each
 * when it is first used. */
void emit_map_words(emitter *e, const plan_step *step);
/* Makes word w of a value now. */
void emit_make_word(emitter *e, int value, int w);

/* ---- emit_look_up.c ---- */

/* Whether 4-bit elements become `to`, of 8 or 16 bits, by tables in registers. */
bool emit_looks_up(const emitter *e, llrt_dtype from, llrt_dtype to, const plan_value *in);
/* made: the words that the eight elements of a word become. */
void emit_look_up(emitter *e, llrt_dtype from, llrt_dtype to, LLVMValueRef word,
                  LLVMValueRef *made);

/* ---- emit_shuffle.c ---- */

/* What `word` (32 or 64 bits) is in another lane, number `lane` (i32). All lanes take part. GPU. */
LLVMValueRef emit_shuffle_word(emitter *e, LLVMValueRef word, LLVMValueRef lane);

#endif
