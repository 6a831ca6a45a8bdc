/* The text of a tensor: "NAME: dtype[shape] = dtype[axes] in STORAGE". */
#include "base/status.h"
#include "recipe/recipe.h"

#include <stdio.h>

typedef struct parser {
  const json_value *value;
  const char *text, *at;
} parser;

static llrt_status fail(const parser *p, const char *message) {
  return json_error(LLRT_INVALID_ARGUMENT, p->value, "column %d of \"%.160s\": %s",
                    (int)(p->at - p->text) + 1, p->text, message);
}

static void skip(parser *p) {
  while (*p->at == ' ') p->at++;
}

static bool accept(parser *p, char sign) {
  skip(p);
  if (*p->at != sign) return false;
  p->at++;
  return true;
}

static bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* The end of an expression: one of `ends` outside of parentheses. */
static span read_expression(parser *p, const char *ends) {
  skip(p);
  const char *begin = p->at;
  for (int depth = 0; *p->at; p->at++) {
    if (depth == 0 && strchr(ends, *p->at)) break;
    if (*p->at == '(') depth++;
    if (*p->at == ')' && depth-- == 0) break;
  }
  span found = {begin, (size_t)(p->at - begin)};
  while (found.length && found.text[found.length - 1] == ' ') found.length--;
  return found;
}

static llrt_status check(parser *p, span expression) {
  llrt_status status = number_check(expression.text, expression.length);
  return status ? json_error(status, p->value, "%s", llrt_error_text()) : LLRT_OK;
}

static llrt_status read_dtype(parser *p, llrt_dtype *dtype) {
  char name[16];
  skip(p);
  size_t n = 0;
  while (is_name_byte(p->at[n])) n++;
  snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : 0), p->at);
  if (llrt_dtype_parse(name, dtype) != LLRT_OK) return fail(p, "a type of elements is missing");
  p->at += n;
  return LLRT_OK;
}

static llrt_status read_shape(parser *p, recipe_tensor *tensor) {
  if (!accept(p, '[')) return fail(p, "[ is missing");
  if (accept(p, ']')) return LLRT_OK;
  do {
    if (tensor->n_shape == LLRT_MAX_RANK) return fail(p, "too many extents");
    span extent = read_expression(p, ",]");
    LLRT_TRY(check(p, extent));
    tensor->shape[tensor->n_shape++] = extent;
  } while (accept(p, ','));
  return accept(p, ']') ? LLRT_OK : fail(p, ", or ] is missing");
}

static llrt_status read_axis(parser *p, recipe_tensor *tensor) {
  recipe_axis axis = {.down = accept(p, '~')};
  axis.name.text = p->at;
  if (*p->at >= 'a' && *p->at <= 'z')
    while (is_name_byte(*p->at)) p->at++;
  axis.name.length = (size_t)(p->at - axis.name.text);
  if (axis.name.length == 0) return fail(p, "an axis is missing");
  if (*p->at == ':') {
    p->at++;
    axis.extent = read_expression(p, " )]");
    LLRT_TRY(check(p, axis.extent));
  }
  if (tensor->n_axes == LLRT_MAX_RANK) return fail(p, "too many axes");
  for (int i = 0; i < tensor->n_axes; i++)
    if (span_is(tensor->axis[i].name, axis.name)) return fail(p, "an axis stands here twice");
  tensor->axis[tensor->n_axes++] = axis;
  return LLRT_OK;
}

static llrt_status read_group(parser *p, recipe_tensor *tensor) {
  if (tensor->n_groups == LLRT_MAX_RANK) return fail(p, "too many axes");
  int g = tensor->n_groups++;
  tensor->group[g].first = tensor->n_axes;
  if (*p->at == '1' && !is_name_byte(p->at[1])) {
    p->at++;
  } else if (accept(p, '(')) {
    while (!accept(p, ')')) LLRT_TRY(read_axis(p, tensor));
  } else {
    LLRT_TRY(read_axis(p, tensor));
  }
  tensor->group[g].n = tensor->n_axes - tensor->group[g].first;
  return LLRT_OK;
}

static llrt_status read_axes(parser *p, recipe_tensor *tensor) {
  if (!accept(p, '[')) return fail(p, "[ is missing");
  while (!accept(p, ']')) LLRT_TRY(read_group(p, tensor));
  return LLRT_OK;
}

/* Without axes: the shape's names are the axes, 1 none. */
static llrt_status axes_of_shape(parser *p, recipe_tensor *tensor) {
  for (int i = 0; i < tensor->n_shape; i++) {
    char copy[72];
    if (tensor->shape[i].length >= sizeof copy - 2) return fail(p, "= dtype[axes] is missing");
    snprintf(copy, sizeof copy, "%.*s]", (int)tensor->shape[i].length, tensor->shape[i].text);
    for (const char *c = copy; c[1]; c++)
      if (!is_name_byte(*c)) return fail(p, "= dtype[axes] is missing");
    parser inner = *p;
    inner.at = tensor->shape[i].text;
    LLRT_TRY(read_group(&inner, tensor));
  }
  tensor->logical = tensor->stored;
  return LLRT_OK;
}

static llrt_status read_meaning(parser *p, recipe_tensor *tensor) {
  if (accept(p, '=')) {
    LLRT_TRY(read_dtype(p, &tensor->logical));
    LLRT_TRY(read_axes(p, tensor));
  } else {
    LLRT_TRY(axes_of_shape(p, tensor));
  }
  skip(p);
  if (strncmp(p->at, "in ", 3) == 0) {
    p->at += 3;
    skip(p);
    tensor->storage = span_of(p->at);
    while (tensor->storage.length && p->at[tensor->storage.length - 1] == ' ')
      tensor->storage.length--;
    if (tensor->storage.length == 0) return fail(p, "a storage is missing");
    return LLRT_OK;
  }
  return *p->at ? fail(p, "in STORAGE, or the end is missing") : LLRT_OK;
}

llrt_status recipe_tensor_read(const json_value *at, bool of_key, recipe_tensor *tensor) {
  const char *text = of_key ? at->key : at->text;
  parser p = {.value = at, .text = text, .at = text};
  *tensor = (recipe_tensor){.at = at, .key = of_key ? (span){0} : span_of(at->key)};
  const char *colon = strstr(text, ": ");
  if (!colon || colon == text) return fail(&p, "NAME: is missing in front");
  tensor->name = (span){text, (size_t)(colon - text)};
  p.at = colon + 2;
  LLRT_TRY(read_dtype(&p, &tensor->stored));
  LLRT_TRY(read_shape(&p, tensor));
  return read_meaning(&p, tensor);
}

/* ---- back to text ---- */

static void add_span(llrt_text *text, span added) {
  llrt_text_add_bytes(text, added.text, added.length);
}

static void add_axes(llrt_text *text, const recipe_tensor *tensor) {
  for (int g = 0; g < tensor->n_groups; g++) {
    int n = tensor->group[g].n;
    llrt_text_add(text, g ? " " : "");
    if (n == 0) llrt_text_add(text, "1");
    if (n > 1) llrt_text_add(text, "(");
    for (int i = 0; i < n; i++) {
      const recipe_axis *axis = &tensor->axis[tensor->group[g].first + i];
      llrt_text_add(text, "%s%s", i ? " " : "", axis->down ? "~" : "");
      add_span(text, axis->name);
      if (axis->extent.length) llrt_text_add(text, ":");
      add_span(text, axis->extent);
    }
    if (n > 1) llrt_text_add(text, ")");
  }
}

void recipe_tensor_add(llrt_text *text, const recipe_tensor *tensor) {
  add_span(text, tensor->name);
  llrt_text_add(text, ": %s[", llrt_dtype_name(tensor->stored));
  for (int i = 0; i < tensor->n_shape; i++) {
    llrt_text_add(text, i ? ", " : "");
    add_span(text, tensor->shape[i]);
  }
  llrt_text_add(text, "] = %s[", llrt_dtype_name(tensor->logical));
  add_axes(text, tensor);
  llrt_text_add(text, "]%s", tensor->storage.length ? " in " : "");
  add_span(text, tensor->storage);
}
