/* Expressions: what is computed from the elements of some tensors into others, as plain data.
 *
 *   (x[t n]) -> (y[t n]) { m = max(x, n); e = exp(x - m); y = e / sum(e, n) }
 *
 * The signature names tensors, their axes, and numbers that each run brings; the body computes.
 * docs/expressions.md is the language's reference. What holds on every device:
 *
 * types      Floats are computed in f32, or in f64 where one is; integers of up to 32 bits in i32,
 *            u32 and 64-bit ones in i64, modulo their width; truth is 0 or 1 in arithmetic. An
 *            integer beside a float, and both of int / int, become f32. // and % of integers round
 *            down; by 0 they are 0 and the dividend. Of floats x // y is floor(x / y), and x % y is
 *            x - floor(x / y) * y, each operation rounded.
 * rounding   + - * / fma sqrt rcp are correctly rounded, subnormal numbers are kept, and nothing is
 *            contracted or reordered. Functions of f32 err by at most 2.1 units of the last place
 *            (exp, exp2; less: log, log2, sin, cos, tanh, erf, sigmoid, rsqrt) or 3 (silu, gelu);
 *            on NVIDIA's GPUs exp, exp2, tanh, erf have other bits, and what is rounded to 16 bits
 *            may err by 2^-15 (docs/expressions.md). floor, ceil, round (to even) are exact.
 * casts      Once, where one is written and where an output is stored: as maps do (map.h). e8m0
 *            takes 0 and what is below to 2^-127, what is above to 2^127, negative numbers and NaN
 *            to NaN; it has no 0, so an element that an index does not send is 2^-127.
 * NaN        max, min, maximum, minimum keep NaN; comparisons with it are false, != true. Which NaN
 *            an f32 or f64 output gets is open.
 * trees      How reductions and scans join is decided by the row's extents and storages, the types
 *            and the device: never by how many rows there are, alignment, cache or timing. The sum
 *            of nothing is 0 of either sign, its maximum -infinity.
 * in place   An output may be exactly one input without indices, of which nothing is flipped or
 *            taken at a position; 4-bit elements only where threads have whole bytes (compute.h).
 *
 * The general rules of layout.h hold here too. */
#ifndef LLRT_EXPRESSION_H
#define LLRT_EXPRESSION_H

#include <llrt/layout.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Limits of this version; no struct's size depends on them. */
#define LLRT_EXPR_MAX_NODES 128
#define LLRT_EXPR_MAX_TENSORS 16
#define LLRT_EXPR_MAX_SCALARS 8

/* Immutable: any number of threads may use one at once. */
typedef struct llrt_expr llrt_expr;

/* Parses `text` (UTF-8, zero-terminated; names are ASCII). Ownership: llrt_expr_destroy. Errors,
 * *expr being NULL then: INVALID_ARGUMENT, whose message begins with line and column ("2:14: n is
 * no axis of w"); UNSUPPORTED, likewise, for what the language has and this version does not plan,
 * and past the limits; OUT_OF_MEMORY. Thread: any. */
LLRT_API llrt_status llrt_expr_parse(const char *text, llrt_expr **expr);

/* Clears *expr; NULL is accepted. What was described or prepared with it stays. */
LLRT_API void llrt_expr_destroy(llrt_expr **expr);

/* Writes the canonical text, which parses back to an equal expression and prints as itself, into
 * buffer[size], cut short where that is too small but zero-terminated if size > 0; *length (may be
 * NULL) is the whole length without the zero. buffer may be NULL with size 0. Errors:
 * INVALID_ARGUMENT for NULL alone. */
LLRT_API llrt_status llrt_expr_print(const llrt_expr *expr, char *buffer, size_t size,
                                     size_t *length);

/* A hash (XXH3) of everything but names; zero for NULL. Stable between processes and machines. */
LLRT_API llrt_hash llrt_expr_hash(const llrt_expr *expr);

#ifdef __cplusplus
}
#endif
#endif
