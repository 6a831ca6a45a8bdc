/* What an operation is, in words. */
#ifndef LLRT_RUNTIME_OP_TEXT_H
#define LLRT_RUNTIME_OP_TEXT_H

#include "base/text.h"
#include "runtime/storage_set.h"

/* "convert". Precondition: the kind is one. */
const char *llrt_op_kind_name(llrt_op_kind kind);

/* What the description's tensor is, in one word: source, destination, scale, values; a, d, b, c,
 * bias, scale_a, ... */
const char *llrt_tensor_word(const op_description *desc, int tensor);

/* Operation, storages, types and promises in a line. */
void llrt_op_describe(const op_description *desc, const storage_set *set, llrt_text *text);

#endif
