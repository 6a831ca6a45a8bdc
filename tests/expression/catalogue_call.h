/* The ready expressions (examples/expressions), and a call of one as an engine makes it: 4096 rows
 * of 4096 bf16, what else the text asks for, memory as allocators give it. */
#ifndef LLRT_TESTS_CATALOGUE_CALL_H
#define LLRT_TESTS_CATALOGUE_CALL_H

#include <llrt/llrt.h>

#include <stdbool.h>

/* The name of ready expression `number`, of all or of those whose first axis is one of rows; NULL
 * past the last. */
const char *catalogue_name(int number, bool rows);

/* Describes it, with the promises of a one-line call. device: NULL for compiling alone. Ownership:
 * llrt_op_desc_destroy. */
llrt_status catalogue_describe(const char *text, llrt_device *device, llrt_op_desc **desc);

#endif
