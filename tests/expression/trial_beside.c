#include "tests/expression/trial_beside.h"

#include <stdlib.h>
#include <string.h>

trial_rows trial_beside;

void trial_find_beside(const trial *t, const reference *r) {
  int64_t unit = 8, place = 0; /* of elements of any size */
  memset(&trial_beside, 0, sizeof trial_beside);
  trial_beside.rows = -1;
  for (int i = 0; i < r->expr->n_tensors && t->beside; i++) {
    llrt_tensor tensor = {.rank = 0};
    trial_fill_shape(t, r, i, &tensor);
    bool own = t->tensor[i].storage || t->rare[i].strided || t->tensor[i].index.positions;
    if (own || llrt_dtype_bits(r->type[i]) < 8 || tensor.rank == 0) continue;
    if (trial_beside.rows < 0) trial_beside.rows = tensor.shape[0];
    trial_beside.has[i] = tensor.shape[0] == trial_beside.rows;
    trial_beside.row[i] = llrt_dtype_bits(r->type[i]) / 8;
    for (int a = 1; a < tensor.rank; a++) trial_beside.row[i] *= tensor.shape[a];
  }
  for (int i = 0; i < r->expr->n_tensors; i++) {
    int first = trial_place_of_tensor(t, r, i);
    if (!trial_beside.has[i]) continue;
    trial_beside.column[i] = first == i ? place : trial_beside.column[first];
    if (first == i) place += (trial_beside.row[i] + unit - 1) / unit * unit;
  }
  trial_beside.pitch = place + unit * (int64_t)(t->seed % 3);
}

static size_t beside_bytes(void) {
  return (size_t)(trial_beside.rows * trial_beside.pitch) + 2 * TRIAL_GUARD;
}

static unsigned char *beside_row(unsigned char *buffer, int i, int64_t row) {
  return buffer + TRIAL_GUARD + row * trial_beside.pitch + trial_beside.column[i];
}

const char *trial_put_beside(const trial *t, const reference *r, trial_side *sides) {
  trial_beside.shift = 8 * t->offset;
  trial_beside.host = malloc(beside_bytes());
  memset(trial_beside.host, TRIAL_UNTOUCHED, beside_bytes());
  for (int i = 0; i < r->expr->n_inputs; i++)
    for (int64_t k = 0; k < trial_beside.rows && trial_beside.has[i]; k++)
      memcpy(beside_row(trial_beside.host, i, k),
             sides[i].host + TRIAL_GUARD + k * trial_beside.pitch, (size_t)trial_beside.row[i]);
  if (llrt_memory_allocate(t->device, beside_bytes() + 64, &trial_beside.device) != LLRT_OK ||
      llrt_memory_copy(t->device, (char *)trial_beside.device + trial_beside.shift,
                       trial_beside.host, beside_bytes(), LLRT_COPY_TO_DEVICE, NULL) != LLRT_OK ||
      llrt_stream_synchronize(t->device, NULL) != LLRT_OK)
    return llrt_last_error();
  for (int i = 0; i < r->expr->n_tensors; i++)
    if (trial_beside.has[i])
      sides[i].tensor.data =
          beside_row((unsigned char *)trial_beside.device + trial_beside.shift, i, 0);
  return NULL;
}

/* Whether a tensor's rows have bytes of the buffer's at `at`. */
static bool is_in_rows(const reference *r, int64_t at) {
  for (int i = 0; i < r->expr->n_tensors; i++) {
    int64_t from = at % trial_beside.pitch - trial_beside.column[i];
    if (trial_beside.has[i] && from >= 0 && from < trial_beside.row[i]) return true;
  }
  return false;
}

const char *trial_get_beside(const trial *t, const reference *r, trial_side *sides) {
  unsigned char *now = malloc(beside_bytes());
  const char *wrong = NULL;
  if (llrt_memory_copy(t->device, now, (char *)trial_beside.device + trial_beside.shift,
                       beside_bytes(), LLRT_COPY_FROM_DEVICE, NULL) != LLRT_OK ||
      llrt_stream_synchronize(t->device, NULL) != LLRT_OK)
    wrong = llrt_last_error();
  for (int i = 0; i < r->expr->n_tensors && !wrong; i++)
    for (int64_t k = 0; k < trial_beside.rows && trial_beside.has[i] && !wrong; k++) {
      bool written = r->expr->tensor[i].output || t->in_place == i + 1;
      size_t row = (size_t)trial_beside.row[i];
      if (r->expr->tensor[i].output)
        memcpy(sides[i].host + TRIAL_GUARD + k * trial_beside.pitch, beside_row(now, i, k), row);
      else if (!written &&
               memcmp(beside_row(now, i, k), beside_row(trial_beside.host, i, k), row) != 0)
        wrong = "an input among rows of others changed";
    }
  for (int64_t b = 0; b < trial_beside.rows * trial_beside.pitch && !wrong; b++)
    if (now[TRIAL_GUARD + b] != trial_beside.host[TRIAL_GUARD + b] && !is_in_rows(r, b))
      wrong = "memory between rows of several tensors changed";
  free(now);
  return wrong;
}

void trial_free_beside(const trial *t) {
  free(trial_beside.host);
  if (trial_beside.device) llrt_memory_free(t->device, trial_beside.device);
  memset(&trial_beside, 0, sizeof trial_beside);
}
