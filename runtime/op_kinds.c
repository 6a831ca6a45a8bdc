/* See op_kinds.h. */
#include "runtime/op_kinds.h"

#include "runtime/validate.h"

static const op_kind_row rows[] = {
    [LLRT_OP_CONVERT] = {"convert", llrt_validate_convert},
    [LLRT_OP_REDUCE] = {"reduce", llrt_validate_reduce},
    [LLRT_OP_SCAN] = {"scan", llrt_validate_scan},
    [LLRT_OP_DOT] = {"dot", llrt_validate_dot},
    [LLRT_OP_COMPUTE] = {"compute", llrt_validate_compute},
};

int llrt_op_kind_last(void) { return (int)(sizeof rows / sizeof *rows) - 1; }

const op_kind_row *llrt_op_kind_row(int kind) {
  return kind > 0 && kind <= llrt_op_kind_last() ? &rows[kind] : NULL;
}
