/* A row's expression: its body is the recipe's, its signature follows from the row's tensors. */
#include "base/memory.h"
#include "base/status.h"
#include "recipe/recipe.h"

#include <stdlib.h>

static bool has_axis(const recipe_tensor *tensors, int n, span name) {
  for (int t = 0; t < n; t++)
    for (int i = 0; i < tensors[t].n_axes; i++)
      if (span_is(tensors[t].axis[i].name, name)) return true;
  return false;
}

static void add_span(llrt_text *text, span added) {
  llrt_text_add_bytes(text, added.text, added.length);
}

/* `x[b r c]`: the tensor's axes but for those that fusing makes; in lists one more before them. */
static void add_param(llrt_text *text, const recipe_row *row, const recipe_tensor *tensor,
                      bool lists) {
  add_span(text, tensor->key);
  llrt_text_add(text, "[%s", lists ? RECIPE_LIST_AXIS : "");
  for (int i = 0; i < tensor->n_axes; i++) {
    if (!has_axis(row->in, row->n_in, tensor->axis[i].name)) continue;
    llrt_text_add(text, " ");
    add_span(text, tensor->axis[i].name);
  }
  llrt_text_add(text, "]");
}

static char *make_text(const recipe_row *row, const char *body, bool lists) {
  llrt_text text;
  llrt_text_init(&text);
  llrt_text_add(&text, "(");
  for (int i = 0; i < row->n_in; i++) {
    llrt_text_add(&text, i ? ", " : "");
    add_param(&text, row, &row->in[i], lists);
  }
  llrt_text_add(&text, ") -> (");
  for (int i = 0; i < row->n_out; i++) {
    llrt_text_add(&text, i ? ", " : "");
    add_param(&text, row, &row->out[i], lists);
  }
  llrt_text_add(&text, ") {\n%s\n}", body);
  char *made = text.failed ? NULL : memory_text(text.data);
  llrt_text_fini(&text);
  return made;
}

/* That the outputs' axes are the inputs', or fused; tensors of several shapes need no more. */
static llrt_status check_axes(const recipe_row *row) {
  for (int t = 0; t < row->n_out; t++)
    for (int i = 0; i < row->out[t].n_axes; i++) {
      span axis = row->out[t].axis[i].name;
      bool fused = has_axis(row->in, row->n_in, axis);
      for (int f = 0; f < row->n_fuses; f++) fused |= span_is(row->fuse[f].axis, axis);
      if (!fused)
        return json_error(LLRT_INVALID_ARGUMENT, row->out[t].at,
                          "axis %.*s is no input's, and is not fused", (int)axis.length, axis.text);
    }
  return LLRT_OK;
}

static llrt_status check_tensors(const json_value *value, const recipe_row *row) {
  int n = row->n_in + row->n_out;
  if (row->n_in == 0 || row->n_out == 0)
    return json_error(LLRT_INVALID_ARGUMENT, value, "what is computed has in and out");
  if (n > RECIPE_MOST_COMPUTED)
    return json_error(LLRT_UNSUPPORTED, value, "%d tensors, more than %d", n, RECIPE_MOST_COMPUTED);
  if (row->n_maps)
    return json_error(LLRT_INVALID_ARGUMENT, row->maps[0].at, "maps are for rows without compute");
  return check_axes(row);
}

llrt_status recipe_compute_read(const json_value *value, recipe_row *row) {
  if (!value) return LLRT_OK;
  row->compute_at = value;
  if (value->kind != JSON_TEXT)
    return json_error(LLRT_INVALID_ARGUMENT, value, "an expression's body, a text, stands here");
  LLRT_TRY(check_tensors(value, row));
  recipe_expression *made = row->expression = memory_zeroed(1, sizeof *made);
  if (made) made->text = make_text(row, value->text, false);
  if (made) made->list_text = make_text(row, value->text, true);
  if (!made || !made->text || !made->list_text)
    return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a recipe");
  llrt_expr *expr;
  llrt_status status = llrt_expr_parse(made->text, &expr);
  if (status) return json_error(status, value, "line %s of\n%s", llrt_error_text(), made->text);
  llrt_expr_destroy(&expr);
  return LLRT_OK;
}

void recipe_expression_free(recipe_expression *expression) {
  if (!expression) return;
  free(expression->text);
  free(expression->list_text);
  free(expression);
}
