/* A call of a ready expression (examples/expressions) as an engine makes it: 4096 rows of 4096
 * bf16, what else the text asks for, memory as allocators give it. */
#ifndef LLRT_TESTS_CATALOGUE_CALL_H
#define LLRT_TESTS_CATALOGUE_CALL_H

#include <llrt/llrt.h>

/* Describes it, with the promises of a one-line call. device: NULL for compiling alone. Ownership:
 * llrt_op_desc_destroy. */
llrt_status catalogue_describe(const char *text, llrt_device *device, llrt_op_desc **desc);

#endif
