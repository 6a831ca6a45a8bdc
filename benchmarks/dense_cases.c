#include "dense_cases.h"

#include <llrt/layout_algebra.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CASE(type_, form_, batch_, m_, n_, k_) \
  {.type = LLRT_##type_, .form = form_, .batch = batch_, .m = m_, .n = n_, .k = k_}
#define EACH_M(type_, size_) \
  CASE(type_, "nt", 0, 16, size_, size_), CASE(type_, "nt", 0, 32, size_, size_), \
      CASE(type_, "nt", 0, 64, size_, size_), CASE(type_, "nt", 0, 128, size_, size_), \
      CASE(type_, "nt", 0, 256, size_, size_), CASE(type_, "nt", 0, 512, size_, size_), \
      CASE(type_, "nt", 0, 1024, size_, size_), CASE(type_, "nt", 0, 2048, size_, size_)
#define EACH_FORM(m_, n_, k_) \
  CASE(BF16, "nn", 0, m_, n_, k_), CASE(BF16, "nt", 0, m_, n_, k_), \
      CASE(BF16, "tn", 0, m_, n_, k_), CASE(BF16, "tt", 0, m_, n_, k_)

const dense_case dense_cases[] = {
    EACH_FORM(4096, 4096, 4096),
    EACH_FORM(8192, 8192, 8192),
    CASE(BF16, "nt", 16, 2048, 2048, 2048),
    CASE(BF16, "nn", 16, 2048, 2048, 2048),
    CASE(BF16, "nt", 64, 1024, 1024, 1024),
    CASE(BF16, "nn", 64, 1024, 1024, 1024),
    CASE(BF16, "nt", 256, 512, 512, 512),
    CASE(BF16, "nt", 128, 512, 512, 64),
    CASE(BF16, "nt", 128, 64, 512, 512),
    CASE(E4M3, "nt", 16, 2048, 2048, 2048),
    CASE(E4M3, "nt", 64, 1024, 1024, 1024),
    CASE(BF16, "nt", 0, 4096, 4096, 4104),
    CASE(BF16, "nt", 0, 4095, 4095, 4095),
    CASE(BF16, "nt", 0, 4097, 4097, 4097),
    CASE(BF16, "nt", 0, 4095, 4095, 4096),
    CASE(BF16, "nn", 0, 4096, 4095, 4096),
    CASE(BF16, "nt", 0, 2880, 2880, 2880),
    CASE(BF16, "nt", 0, 4096, 14336, 4096),
    CASE(BF16, "nt", 0, 4096, 4096, 14336),
    EACH_M(BF16, 2880),
    EACH_M(BF16, 4096),
    EACH_M(BF16, 8192),
    EACH_M(E4M3, 2880),
    EACH_M(E4M3, 4096),
    EACH_M(E4M3, 8192),
};
const int dense_cases_count = sizeof dense_cases / sizeof dense_cases[0];

void dense_case_name(const dense_case *c, char *name, size_t size) {
  char batch[24] = "";
  if (c->batch) snprintf(batch, sizeof batch, "%" PRId64 "x", c->batch);
  snprintf(name, size, "%s %s %s%s%" PRId64 "x%" PRId64 "x%" PRId64, llrt_dtype_name(c->type),
           c->form, c->lists ? "lists " : "", batch, c->m, c->n, c->k);
}

/* Three or four extents of 1 to 2^24 with x between them; returns how many, 0: it is no such text.
 */
static int parse_extents(const char *text, char **end, int64_t extents[4]) {
  int n = 0;
  for (*end = (char *)text; n < 4; (*end)++) {
    extents[n] = strtoll(*end, end, 10);
    if (extents[n] < 1 || extents[n] > 1 << 24) return 0;
    n++;
    if (**end != 'x') break;
  }
  return n >= 3 ? n : 0;
}

bool dense_case_parse(const char *name, const char **end, dense_case *c) {
  static const llrt_dtype types[] = {LLRT_BF16, LLRT_F16, LLRT_E4M3};
  char type[8];
  int64_t extents[4];
  int at = 0, n = 0;
  char *behind;
  *c = (dense_case){0};
  if (sscanf(name, "%7s %2[nt] %n", type, c->form, &at) != 2 || !at || !c->form[1]) return false;
  for (int i = 0; i < 3; i++)
    if (strcmp(type, llrt_dtype_name(types[i])) == 0) c->type = types[i];
  c->lists = strncmp(name + at, "lists ", 6) == 0;
  n = parse_extents(name + at + (c->lists ? 6 : 0), &behind, extents);
  *end = behind;
  c->batch = n == 4 ? extents[0] : 0;
  if (n) c->m = extents[n - 3], c->n = extents[n - 2], c->k = extents[n - 1];
  return c->type && n && (!c->lists || c->batch) && (*behind == ',' || !*behind);
}

/* Every axis but the last in row-major order, the last two exchanged. */
static llrt_status make_transposed(int rank, llrt_storage *out) {
  static const char *const names[] = {"dim0", "dim1", "dim2"};
  llrt_layout point = llrt_layout_empty();
  int order[3];
  for (int i = 0; i < rank; i++) order[i] = rank - 1 - i;
  order[0] = rank - 2;
  order[1] = rank - 1;
  llrt_status status = llrt_layout_add_in(&point, "offset", 0);
  for (int i = 0; i < rank && status == LLRT_OK; i++)
    status = llrt_layout_add_out(&point, names[i], 0);
  return status == LLRT_OK ? llrt_storage_tiled(&point, order, out) : status;
}

llrt_status dense_case_tensor(const dense_case *c, int which, llrt_storage *storage,
                              llrt_tensor *tensor) {
  const int rank = c->batch ? 3 : 2;
  *tensor = (llrt_tensor){
      .dtype = which == DENSE_D ? LLRT_BF16 : c->type, .rank = rank, .storage = storage};
  tensor->shape[0] = c->batch;
  tensor->shape[rank - 2] = which == DENSE_B ? c->k : c->m;
  tensor->shape[rank - 1] = which == DENSE_A ? c->k : c->n;
  if (which == DENSE_D || c->form[which] == 'n') return llrt_storage_row_major(rank, storage);
  return make_transposed(rank, storage);
}
