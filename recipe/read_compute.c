/* A row's expressions: their bodies are the recipe's, their signatures follow from the row's
 * tensors. */
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

/* The text that `add` adds, of a row alone or in lists; NULL: no memory. */
static char *make_text(void (*add)(llrt_text *text, const recipe_row *row, const char *body,
                                   bool lists),
                       const recipe_row *row, const char *body, bool lists) {
  llrt_text text;
  llrt_text_init(&text);
  add(&text, row, body, lists);
  char *made = text.failed ? NULL : memory_text(text.data);
  llrt_text_fini(&text);
  return made;
}

static void add_row(llrt_text *text, const recipe_row *row, const char *body, bool lists) {
  llrt_text_add(text, "(");
  for (int i = 0; i < row->n_in; i++) {
    llrt_text_add(text, i ? ", " : "");
    add_param(text, row, &row->in[i], lists);
  }
  for (int i = 0; i < row->n_largest; i++) {
    llrt_text_add(text, ", ");
    add_span(text, row->largest[i].name);
    llrt_text_add(text, "[%s]", lists ? RECIPE_LIST_AXIS : "");
  }
  llrt_text_add(text, ") -> (");
  for (int i = 0; i < row->n_out; i++) {
    llrt_text_add(text, i ? ", " : "");
    add_param(text, row, &row->out[i], lists);
  }
  llrt_text_add(text, ") {\n%s\n}", body);
}

/* `(x[n k]) -> (MOST[n]) { MOST = max(BODY, (k)) }`. */
static void add_of_rows(llrt_text *text, const recipe_row *row, const char *body, bool lists) {
  const recipe_tensor *in = &row->in[0];
  llrt_text_add(text, "(");
  add_param(text, row, in, lists);
  llrt_text_add(text, ") -> (" RECIPE_ROWS "[%s ", lists ? RECIPE_LIST_AXIS : "");
  add_span(text, in->axis[0].name);
  llrt_text_add(text, "]) {\n" RECIPE_ROWS " = ");
  if (in->n_axes == 1) {
    llrt_text_add(text, "%s\n}", body);
    return;
  }
  llrt_text_add(text, "max(%s, (", body);
  for (int i = 1; i < in->n_axes; i++) {
    llrt_text_add(text, i > 1 ? ", " : "");
    add_span(text, in->axis[i].name);
  }
  llrt_text_add(text, "))\n}");
}

static void add_of_all(llrt_text *text, const recipe_row *row, const char *body, bool lists) {
  const char *list = lists ? RECIPE_LIST_AXIS : "";
  span axis = row->in[0].axis[0].name;
  (void)body;
  llrt_text_add(text, "(" RECIPE_ROWS "[%s ", list);
  add_span(text, axis);
  llrt_text_add(text, "]) -> (" RECIPE_ALL "[%s]) {\n" RECIPE_ALL " = max(" RECIPE_ROWS ", ", list);
  add_span(text, axis);
  llrt_text_add(text, ")\n}");
}

/* Makes both texts and reads one of them. */
static llrt_status make_expression(void (*add)(llrt_text *, const recipe_row *, const char *, bool),
                                   const recipe_row *row, const json_value *body,
                                   recipe_expression *made) {
  llrt_expr *expr;
  made->text = make_text(add, row, body->text, false);
  made->list_text = make_text(add, row, body->text, true);
  if (!made->text || !made->list_text)
    return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a recipe");
  llrt_status status = llrt_expr_parse(made->text, &expr);
  if (status) return json_error(status, body, "line %s of\n%s", llrt_error_text(), made->text);
  llrt_expr_destroy(&expr);
  return LLRT_OK;
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
  int n = row->n_in + row->n_largest + row->n_out;
  if (row->n_in == 0 || row->n_out == 0)
    return json_error(LLRT_INVALID_ARGUMENT, value, "what is computed has in and out");
  if (n > RECIPE_MOST_COMPUTED)
    return json_error(LLRT_UNSUPPORTED, value, "%d tensors, more than %d", n, RECIPE_MOST_COMPUTED);
  if (row->n_maps)
    return json_error(LLRT_INVALID_ARGUMENT, row->maps[0].at, "maps are for rows without compute");
  return check_axes(row);
}

static bool is_largest_name(const char *name) {
  for (int i = 0; name[i]; i++)
    if (!(name[i] >= 'a' && name[i] <= 'z') && (i == 0 || !(name[i] >= '0' && name[i] <= '9')))
      return false;
  return name[0] != 0;
}

static llrt_status read_largest(const json_value *value, recipe_row *row) {
  if (!value) return LLRT_OK;
  if (!row->compute_at)
    return json_error(LLRT_INVALID_ARGUMENT, value, "it is for rows with compute");
  if (value->kind != JSON_OBJECT)
    return json_error(LLRT_INVALID_ARGUMENT, value, "should be an object of expressions");
  if (row->n_in == 0 || row->in[0].n_axes == 0)
    return json_error(LLRT_INVALID_ARGUMENT, value, "the row's first input has no axis");
  for (const json_value *member = value->first; member; member = member->next) {
    recipe_largest *largest = &row->largest[row->n_largest];
    if (row->n_largest == RECIPE_MOST_LARGEST)
      return json_error(LLRT_UNSUPPORTED, member, "more than %d of them", RECIPE_MOST_LARGEST);
    row->n_largest++;
    largest->name = span_of(member->key);
    if (!is_largest_name(member->key))
      return json_error(LLRT_INVALID_ARGUMENT, member,
                        "no name: it has letters in lower case, then digits");
    if (member->kind != JSON_TEXT)
      return json_error(LLRT_INVALID_ARGUMENT, member, "an expression, a text, stands here");
    LLRT_TRY(make_expression(add_of_rows, row, member, &largest->of_rows));
    LLRT_TRY(make_expression(add_of_all, row, member, &largest->of_all));
  }
  return LLRT_OK;
}

llrt_status recipe_compute_read(const json_value *value, const json_value *largest,
                                recipe_row *row) {
  row->compute_at = value;
  LLRT_TRY(read_largest(largest, row));
  if (!value) return LLRT_OK;
  if (value->kind != JSON_TEXT)
    return json_error(LLRT_INVALID_ARGUMENT, value, "an expression's body, a text, stands here");
  LLRT_TRY(check_tensors(value, row));
  row->expression = memory_zeroed(1, sizeof *row->expression);
  if (!row->expression) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a recipe");
  return make_expression(add_row, row, value, row->expression);
}

static void free_texts(recipe_expression *expression) {
  free(expression->text);
  free(expression->list_text);
}

void recipe_compute_free(recipe_row *row) {
  for (int i = 0; i < row->n_largest; i++) {
    free_texts(&row->largest[i].of_rows);
    free_texts(&row->largest[i].of_all);
  }
  if (row->expression) free_texts(row->expression);
  free(row->expression);
}
