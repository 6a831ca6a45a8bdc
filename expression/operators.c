/* See operators.h. */
#include "expression/operators.h"

const expr_operator_row *expr_row_of(int op) {
  static const expr_operator_row rows[EXPR_OPERATORS] = {
#define EXPR_OPERATOR_ROW(name, text, arguments, family, typing, precedence) \
  [EXPR_##name] = {text, arguments, EXPR_##family, EXPR_TYPED_##typing, precedence},
      EXPR_OPERATOR_LIST(EXPR_OPERATOR_ROW)
#undef EXPR_OPERATOR_ROW
  };
  return &rows[op];
}
