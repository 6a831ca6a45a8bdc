/* Arithmetic of recipes: extents and values, exact, in fractions of 64-bit integers.
 *
 *   sum     = product (("+" | "-") product)*
 *   product = factor (("*" | "/") factor)*
 *   factor  = integer | name | "(" sum ")" | "-" factor | ceil(sum) | floor(sum)
 *           | roundup(sum, sum) | min(sum, sum) | max(sum, sum)
 *
 * Names are of letters, digits and _, and begin with a letter. */
#ifndef LLRT_RECIPE_NUMBER_H
#define LLRT_RECIPE_NUMBER_H

#include <llrt/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fraction {
  int64_t over, under; /* in lowest terms, under > 0 */
} fraction;

/* factor * unknown + rest. */
typedef struct linear {
  const char *unknown; /* NULL: there is none, and factor is 0 */
  size_t unknown_length;
  fraction factor, rest;
} linear;

/* What names stand for. */
typedef struct number_scope {
  void *user;
  /* Sets *value and returns 1; 0: the name's value is not known yet; -1: there is no such name. */
  int (*find)(void *user, const char *name, size_t length, int64_t *value);
} number_scope;

#define NUMBER_MAX_DEPTH 32

/* The value of `length` bytes of text, in which at most one name may be unknown, once. Errors:
 * INVALID_ARGUMENT, with the column from 1 at which it is wrong. */
llrt_status number_read(const char *text, size_t length, const number_scope *scope, linear *value);

/* The same where all names are known and the value is whole. */
llrt_status number_whole(const char *text, size_t length, const number_scope *scope,
                         int64_t *value);

/* Whether the text is well-formed, whatever its names are. */
llrt_status number_check(const char *text, size_t length);

/* The unknown for which `form` is `value`. Errors: INVALID_ARGUMENT where there is no whole one. */
llrt_status number_solve(const linear *form, int64_t value, int64_t *unknown);

#endif
