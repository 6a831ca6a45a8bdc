/* Expressions: what is computed from the elements of some tensors into others, as plain data.
 *
 *   (x[t n]) -> (y[t n]) { m = max(x, n); e = exp(x - m); y = e / sum(e, n) }
 *
 * The signature names tensors, their axes, and numbers that each run brings; the body computes.
 * docs/expressions.md is the language's reference: types, rounding, NaN, what reductions do.
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
