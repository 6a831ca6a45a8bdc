/* See expression_fit.h. */
#include "tests/expression/expression_fit.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

bool fit_is_moved(const char *body, const char *name) {
  char flipped[EXPR_NAME_BYTES + 8], taken[EXPR_NAME_BYTES + 8];
  snprintf(flipped, sizeof flipped, "flip(%s,", name);
  snprintf(taken, sizeof taken, "%s[", name);
  return strstr(body, flipped) || strstr(body, taken);
}

static bool is_letter(char c) { return isalnum((unsigned char)c) || c == '_'; }

static bool has_name(const char *text, const char *name) {
  size_t length = strlen(name);
  for (const char *at = text; (at = strstr(at, name)); at += length)
    if ((at == text || !is_letter(at[-1])) && !is_letter(at[length])) return true;
  return false;
}

bool fit_is_of_others(const writer *w, const char *name) {
  const char *row = strstr(w->out->text, "; r = ");
  return row && w->form->others[0] && has_name(row, name);
}

bool fit_has_functions(const char *body) {
  static const char *const names[] = {"exp", "tanh", "sigmoid", "silu", "gelu",
                                      "log", "erf",  "sin(",    "cos("};
  bool has = false;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) has |= strstr(body, names[i]) != NULL;
  return has;
}

static int occurrences(const char *text, const char *part) {
  int n = 0;
  for (; (text = strstr(text, part)); text += strlen(part)) n++;
  return n;
}

bool fit_may_be_long(const writer *w) {
  const char *text = w->out->text;
  int scans = occurrences(text, "cumsum(") + occurrences(text, "cumprod(") +
              occurrences(text, "cummax(") + occurrences(text, "cummin(");
  int back = occurrences(text, "reverse=True");
  return !w->form->joins[1] && (back == 0 || back == scans);
}

static bool has_long_rows(const writer *w) {
  bool has = false;
  for (int a = 0; a < EXPR_MAX_AXES; a++) has |= w->out->trial.extent[a] >= FIT_LONG;
  return has;
}

/* Positions of an axis of the tensor that its digits but the last, and its tile, count. */
static int64_t counted_inside(const llrt_storage *storage, int axis) {
  int64_t inside = 1;
  for (int i = 0; i < storage->n_digits; i++)
    if (storage->digit[i].axis == axis && storage->digit[i].extent != LLRT_EXTENT_REST)
      inside *= storage->digit[i].extent;
  if (axis < storage->tile.n_out) inside <<= storage->tile.out[axis].bits;
  return inside;
}

/* An axis that expressions take as it is, or split where the storage is done with it. */
static bool dim_fits(const writer *w, const llrt_expr *expr, const expr_dim *dim, bool moved,
                     int64_t inside) {
  int last = dim->n ? dim->axis[dim->n - 1] : 0;
  int64_t extent = expr->axis[last].extent ? expr->axis[last].extent : w->out->trial.extent[last];
  if (inside == 1) return true;
  if (dim->n == 0 || dim->reversed || moved) return false;
  return dim->n == 1 || extent % inside == 0;
}

bool fit_storage(const writer *w, const llrt_expr *expr, int i, const llrt_tensor *shape,
                 const char *text) {
  const expr_tensor *own = &expr->tensor[i];
  const char *body = strchr(w->out->text, '{');
  llrt_dtype type = own->dtype ? (llrt_dtype)own->dtype : w->out->trial.tensor[i].type;
  llrt_storage storage;
  if (llrt_storage_parse(text, shape->rank, shape->shape, &storage) != LLRT_OK) return false;
  bool moved = fit_is_moved(body, own->name), padded = storage.pad == LLRT_PAD_VALUE, down = false;
  bool fits = true;
  for (int d = 0; d < storage.n_digits; d++) down |= storage.digit[d].reversed;
  for (int d = 0; d < own->n_dims; d++)
    fits &= dim_fits(w, expr, &own->dim[d], moved,
                     counted_inside(&storage, shape->rank - own->n_dims + d));
  if (own->output && padded && (has_long_rows(w) || expr->n_inputs == 0)) return false;
  if (own->output && padded && type == LLRT_BOOL && storage.pad_value > 1) return false;
  return fits && !(down && llrt_dtype_bits(type) < 8);
}

bool fit_index(const char *text, const llrt_tensor *shape, const trial_index *index) {
  llrt_storage storage;
  llrt_storage_binding bound;
  int64_t pool[LLRT_MAX_RANK];
  if (!*text) return true;
  if (strchr(text, '@') && index->axis != 0)
    return false; /* a pitch has room for the shape alone */
  memcpy(pool, shape->shape, sizeof pool);
  pool[index->axis] = index->positions;
  return llrt_storage_parse(text, shape->rank, pool, &storage) == LLRT_OK &&
         llrt_storage_bind(&storage, shape->rank, pool, NULL, &bound) == LLRT_OK &&
         counted_inside(&storage, index->axis) == 1;
}

bool fit_by(const writer *w, const expr_tensor *own, int by) {
  return own->n_dims > by && own->dim[by].n == 1 && !own->dim[by].reversed &&
         !fit_is_moved(strchr(w->out->text, '{'), own->name);
}

bool fit_count(const writer *w, const llrt_expr *expr) {
  llrt_storage storage;
  bool fits = true;
  for (int i = expr->n_inputs; i < expr->n_tensors; i++) {
    const char *text = w->out->trial.tensor[i].storage;
    int rank = expr->tensor[i].n_dims;
    bool padded = text && llrt_storage_parse(text, rank, NULL, &storage) == LLRT_OK &&
                  storage.pad == LLRT_PAD_VALUE;
    fits &= !padded;
  }
  return fits;
}
