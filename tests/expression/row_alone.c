/* See row_alone.h. */
#include "tests/expression/row_alone.h"

#include "expression/expression.h"
#include "tests/expression/compute_trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SHIFT 3

static char message[512];

/* One tensor of an expression. */
typedef struct side {
  llrt_tensor tensor;
  int64_t rows; /* positions of its first axis that one row has; 0: it has no rows */
  size_t row_bytes, bytes;
  unsigned char *host, *device; /* device: with room to shift */
} side;

typedef struct call {
  const llrt_expr *expr;
  int64_t rows, length;
  side side[LLRT_EXPR_MAX_TENSORS];
} call;

/* Of an axis that has what one dimension of the first tensor leaves to it: `length` elements. */
static int64_t share_of_length(const call *c, int axis) {
  const expr_tensor *first = &c->expr->tensor[0];
  for (int d = 0; d < first->n_dims; d++) {
    bool among = false;
    int64_t others = 1;
    for (int j = 0; j < first->dim[d].n; j++) {
      int a = first->dim[d].axis[j];
      among |= a == axis;
      if (a != axis && c->expr->axis[a].extent) others *= c->expr->axis[a].extent;
    }
    if (among && others <= c->length) return c->length / others;
  }
  return c->length;
}

static int64_t extent_of(const call *c, int axis) {
  const expr_axis *own = &c->expr->axis[axis];
  if (axis == 0) return c->rows;
  if (own->extent) return own->extent;
  return strcmp(own->name, "n") == 0 || strcmp(own->name, "v") == 0 ? share_of_length(c, axis)
         : strcmp(own->name, "i") == 0                              ? 16
                                                                    : 3;
}

static llrt_status fill_side(call *c, llrt_device *device, int t) {
  const expr_tensor *own = &c->expr->tensor[t];
  side *s = &c->side[t];
  int64_t count = 1;
  uint32_t state = (uint32_t)t * 977u + 5;
  s->tensor = (llrt_tensor){.dtype = own->dtype ? (llrt_dtype)own->dtype : LLRT_BF16,
                            .rank = own->n_dims,
                            .device = device};
  for (int d = 0; d < own->n_dims; d++) {
    s->tensor.shape[d] = 1;
    for (int j = 0; j < own->dim[d].n; j++) s->tensor.shape[d] *= extent_of(c, own->dim[d].axis[j]);
    count *= s->tensor.shape[d];
  }
  bool has_rows = own->n_dims > 0 && own->dim[0].n > 0 && own->dim[0].axis[0] == 0;
  s->bytes = (size_t)(count * llrt_dtype_bits(s->tensor.dtype) / 8);
  s->rows = has_rows ? s->tensor.shape[0] / c->rows : 0;
  s->row_bytes = has_rows ? s->bytes / (size_t)c->rows : 0;
  s->host = malloc(s->bytes);
  for (size_t b = 0; b < s->bytes; b++) {
    state = state * 1664525u + 1013904223u;
    s->host[b] = (unsigned char)(state >> 24);
    if (b % 2)
      s->host[b] =
          (unsigned char)((s->host[b] & 0x80) | 0x3E | (s->host[b] & 1)); /* bf16 about 1 */
  }
  void *memory;
  llrt_status status = llrt_memory_allocate(device, s->bytes + 64, &memory);
  s->device = memory;
  return status;
}

/* Runs rows first .. first + n - 1, memory shifted by so many elements; outputs to `out`. */
static llrt_status run(call *c, int64_t first, int64_t n, int shift,
                       unsigned char *const out[LLRT_EXPR_MAX_TENSORS]) {
  llrt_arg arg[LLRT_EXPR_MAX_TENSORS + LLRT_EXPR_MAX_SCALARS];
  llrt_tensor tensor[LLRT_EXPR_MAX_TENSORS];
  llrt_device *device = c->side[0].tensor.device;
  const llrt_expr *expr = c->expr;
  llrt_status status = LLRT_OK;
  for (int t = 0; t < expr->n_tensors && status == LLRT_OK; t++) {
    side *s = &c->side[t];
    int bits = llrt_dtype_bits(s->tensor.dtype);
    size_t at = (size_t)first * s->row_bytes, bytes = s->rows ? (size_t)n * s->row_bytes : s->bytes;
    unsigned char *memory = s->device + shift * (bits < 8 ? 1 : bits / 8);
    tensor[t] = s->tensor;
    if (s->rows) tensor[t].shape[0] = s->rows * n;
    tensor[t].data = memory;
    arg[t] = (llrt_arg){.name = expr->tensor[t].name, .tensor = &tensor[t]};
    if (t < expr->n_inputs)
      status = llrt_memory_copy(device, memory, s->host + at, bytes, LLRT_COPY_TO_DEVICE, NULL);
  }
  for (int i = 0; i < expr->n_scalars; i++)
    arg[expr->n_tensors + i] = (llrt_arg){.name = expr->scalar[i].name, .number = 0.5};
  if (status == LLRT_OK)
    status = llrt_compute_into(expr, arg, expr->n_tensors + expr->n_scalars, NULL, NULL);
  for (int t = expr->n_inputs; t < expr->n_tensors && status == LLRT_OK; t++)
    status = llrt_memory_copy(device, out[t], tensor[t].data, c->side[t].row_bytes * (size_t)n,
                              LLRT_COPY_FROM_DEVICE, NULL);
  return status == LLRT_OK ? llrt_stream_synchronize(device, NULL) : status;
}

static const char *compare(call *c, const char *name, int64_t row, int64_t n, int shift,
                           unsigned char *const all[], unsigned char *const own[]) {
  for (int t = c->expr->n_inputs; t < c->expr->n_tensors; t++) {
    const side *s = &c->side[t];
    if (memcmp(all[t] + (size_t)row * s->row_bytes, own[t], (size_t)n * s->row_bytes) == 0)
      continue;
    snprintf(message, sizeof message,
             "%s: %s of %lld rows from %lld on, %d elements off, has other bits than among %lld",
             name, c->expr->tensor[t].name, (long long)n, (long long)row, shift,
             (long long)c->rows);
    return message;
  }
  return NULL;
}

static const char *check(call *c, const char *name, int64_t step) {
  unsigned char *all[LLRT_EXPR_MAX_TENSORS] = {0}, *own[LLRT_EXPR_MAX_TENSORS] = {0};
  for (int t = 0; t < c->expr->n_tensors; t++) {
    all[t] = calloc(c->side[t].bytes + 1, 1);
    own[t] = calloc(c->side[t].bytes + 1, 1);
  }
  const char *wrong = run(c, 0, c->rows, 0, all) == LLRT_OK ? NULL : llrt_last_error();
  for (int shift = 1; shift <= MOST_SHIFT && !wrong; shift++) {
    wrong = run(c, 0, c->rows, shift, own) == LLRT_OK ? NULL : llrt_last_error();
    if (!wrong) wrong = compare(c, name, 0, c->rows, shift, all, own);
  }
  for (int64_t row = 0; row < c->rows && !wrong; row += step) {
    int shift = (int)(row / step % (MOST_SHIFT + 1));
    wrong = run(c, row, 1, shift, own) == LLRT_OK ? NULL : llrt_last_error();
    if (!wrong) wrong = compare(c, name, row, 1, shift, all, own);
  }
  for (int t = 0; t < c->expr->n_tensors; t++) {
    free(all[t]);
    free(own[t]);
  }
  return wrong;
}

const char *row_alone_check(llrt_device *device, const char *name, int64_t rows, int64_t length,
                            int64_t step) {
  char text[4000];
  llrt_expr *expr;
  trial_read_text(name, text, sizeof text);
  if (llrt_expr_parse(text, &expr) != LLRT_OK) return llrt_last_error();
  call c = {.expr = expr, .rows = rows, .length = length};
  for (int j = 1; j < expr->tensor[0].dim[0].n; j++) /* a row is a block of them */
    c.rows /= expr->axis[expr->tensor[0].dim[0].axis[j]].extent;
  if (c.rows < 2) c.rows = 2;
  const char *wrong = NULL;
  for (int t = 0; t < expr->n_tensors; t++)
    if (fill_side(&c, device, t) != LLRT_OK) wrong = llrt_last_error();
  if (!wrong) wrong = check(&c, name, step);
  for (int t = 0; t < expr->n_tensors; t++) {
    free(c.side[t].host);
    llrt_memory_free(device, c.side[t].device);
  }
  llrt_expr_destroy(&expr);
  return wrong;
}
