/* What the layout tests share: layouts as text, and random layouts from a printed seed. */
#ifndef LLRT_TESTS_LAYOUT_TEXT_H
#define LLRT_TESTS_LAYOUT_TEXT_H

#include <llrt/layout.h>

/* Parses or fails the test. */
llrt_layout layout_of(const char *text);

/* The literal form; valid for the next few calls. */
const char *text_of(const llrt_layout *layout);

/* Fails the test, showing both, unless the layout prints as `expected`. `what` names the row. */
void expect_layout(const llrt_layout *actual, const char *expected, const char *what);

/* What the last failing call said, without the name of its function. */
const char *said(void);

/* Fails the test unless the last call returned `status` and what it said is `message`. */
void expect_error(llrt_status actual, llrt_status status, const char *message, const char *what);

/* splitmix64. Starts from LLRT_TEST_SEED, else a fixed seed; prints it. */
typedef struct random_source {
  uint64_t state;
} random_source;

random_source random_start(const char *test);
uint64_t random_bits(random_source *source);
/* 0 <= result < limit. */
int random_below(random_source *source, int limit);

/* in_bits over in-dims a, b, c and out_bits over out-dims x, y (split at random), with columns from
 * one of: any, zero, identity, single bits with repeats, a space of low rank. */
llrt_layout random_layout(random_source *source, int in_bits, int out_bits);

#endif
