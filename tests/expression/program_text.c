#include "tests/expression/program_text.h"
#include "expression/expression.h"

#include <criterion/criterion.h>

const expr_program *program_of(const char *text) {
  static expr_program program;
  llrt_expr *expr;
  llrt_dtype types[4];
  int32_t ranks[4];
  cr_assert_eq(llrt_expr_parse(text, &expr), LLRT_OK, "%s", llrt_last_error());
  for (int t = 0; t < expr->n_tensors; t++) {
    types[t] = expr->tensor[t].dtype ? (llrt_dtype)expr->tensor[t].dtype : LLRT_F32;
    ranks[t] = expr->tensor[t].n_dims;
  }
  cr_assert_eq(program_make(expr, types, ranks, &program), LLRT_OK, "%s", llrt_last_error());
  llrt_expr_destroy(&expr);
  return &program;
}
