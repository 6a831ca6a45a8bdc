/* Whether each row of a call has the bits of that row computed alone, and of the same call at other
 * alignments. */
#ifndef LLRT_TESTS_ROW_ALONE_H
#define LLRT_TESTS_ROW_ALONE_H

#include <llrt/llrt.h>

enum { ROW_ALONE_LENGTH = 333 }; /* odd, so that rows begin anywhere */

/* The expression of that name (catalogue_name, of those that have rows) with so many rows of bf16
 * of `length` elements, where the expression leaves that open, and rows 0, step, 2 step, … alone.
 * NULL: all bits are the same; else what differs, static text. */
const char *row_alone_check(llrt_device *device, const char *name, int64_t rows, int64_t length,
                            int64_t step);

#endif
