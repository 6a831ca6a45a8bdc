/* Batched products whose operands and results are lists of pointers: one launch, compared with sums
 * over small integers, which every order of additions gives exactly. */
#include "jit/plan/types/number.h"
#include "tests/open_device.h"

#include <stdlib.h>

enum { A = 0, B = 1, D = 2, TENSORS = 3, MOST_BATCHES = 80 };

typedef struct batched {
  llrt_dtype type, result;
  int64_t batch[2]; /* batch[0] 0: one batch axis */
  int64_t m, n, k;
  uint8_t lists; /* bit t: tensor t is a list of pointers */
  int64_t alignment;
  bool null; /* one of each list is NULL: that of A or B reads zeros, that of D is not written */
  bool col;  /* B's columns follow each other */
  bool prepared; /* saved, loaded and run */
} batched;

static const batched cases[] = {
    {LLRT_BF16, LLRT_BF16, {0, 5}, 64, 64, 128, 7, 16, false, false, false},
    {LLRT_BF16, LLRT_F32, {3, 4}, 64, 64, 64, 7, 16, false, true, true},
    {LLRT_F16, LLRT_F16, {0, 9}, 33, 21, 40, 7, 2, false, true, false},
    {LLRT_F32, LLRT_F32, {2, 3}, 17, 40, 24, 3, 16, true, false, true},
    {LLRT_BF16, LLRT_BF16, {0, 70}, 16, 64, 64, 4, 16, false, true, false},
    {LLRT_BF16, LLRT_BF16, {0, 3}, 130, 136, 72, 2, 16, true, true, true},
    {LLRT_E4M3, LLRT_F32, {0, 4}, 64, 64, 128, 7, 16, true, true, false},
    {LLRT_I8, LLRT_I32, {0, 4}, 1, 70, 33, 1, 0, false, false, true},
    {LLRT_BF16, LLRT_F32, {0, 2}, 1, 128, 512, 6, 16, false, true, false},
    /* no lists: one row of D, whose B no boxes bring, by elements, words and both types */
    {LLRT_BF16, LLRT_F32, {0, 2}, 1, 1061, 1037, 0, 0, false, true, false},
    {LLRT_F16, LLRT_F32, {0, 1}, 1, 1088, 513, 0, 0, false, true, false},
    {LLRT_BF16, LLRT_BF16, {0, 1}, 1, 1057, 1026, 0, 0, false, true, false},
    {LLRT_F32, LLRT_F32, {0, 1}, 1, 1059, 2051, 0, 0, false, true, false},
};
#define CASES ((int)(sizeof cases / sizeof *cases))

typedef struct bench {
  const batched *c;
  llrt_device *device;
  int64_t batches, elements[TENSORS]; /* of one batch */
  int *number[TENSORS];               /* all batches' */
  void *own[TENSORS][MOST_BATCHES];   /* memory of each list's, or the first of all */
  int64_t list[TENSORS][MOST_BATCHES];
  void *values[TENSORS]; /* the list on the device */
  llrt_index index[TENSORS];
  llrt_storage storage[TENSORS];
  llrt_tensor tensor[TENSORS];
} bench;

static llrt_dtype type_of(const batched *c, int t) { return t == D ? c->result : c->type; }
static bool is_list(const batched *c, int t) { return c->lists >> t & 1; }
/* Whether batch b has no memory on tensor t: the second of lists of more than two. */
static bool is_null(const bench *b, int t, int64_t batch) {
  return b->c->null && is_list(b->c, t) && batch == 1;
}

static int64_t size_of(const bench *b, int t) {
  return b->elements[t] * llrt_dtype_bits(type_of(b->c, t)) / 8;
}

static void *allocate(bench *b, int64_t bytes, const void *from) {
  void *memory;
  cr_assert_eq(llrt_memory_allocate(b->device, (size_t)bytes, &memory), LLRT_OK, "%s",
               llrt_last_error());
  cr_assert_eq(llrt_memory_copy(b->device, memory, from, (size_t)bytes, LLRT_COPY_TO_DEVICE, NULL),
               LLRT_OK, "%s", llrt_last_error());
  return memory;
}

/* Numbers of -3 to 3; D is filled with 100, which is no result of few of them. */
static void make_memory(bench *b, int t) {
  const number_format *format = number_format_of(type_of(b->c, t));
  const int64_t n = b->batches * b->elements[t], bytes = format->bits / 8;
  unsigned char *image = calloc((size_t)n, (size_t)bytes);
  b->number[t] = calloc((size_t)n, sizeof *b->number[t]);
  cr_assert(image && b->number[t]);
  for (int64_t i = 0; i < n; i++) {
    uint64_t mixed = ((uint64_t)i * 3 + (uint64_t)t + 1) * 0x9e3779b97f4a7c15u;
    b->number[t][i] = t == D ? 100 : (int)(mixed >> 40) % 7 - 3;
    uint64_t code = number_code(format, b->number[t][i]);
    memcpy(image + i * bytes, &code, (size_t)bytes);
  }
  for (int64_t i = 0; i < (is_list(b->c, t) ? b->batches : 1); i++) {
    const int64_t size = is_list(b->c, t) ? size_of(b, t) : n * bytes;
    b->own[t][i] = allocate(b, size, image + i * size_of(b, t));
    b->list[t][i] = is_null(b, t, i) ? 0 : (int64_t)(intptr_t)b->own[t][i];
  }
  free(image);
}

static void make_tensor(bench *b, int t, int64_t rows, int64_t columns) {
  const batched *c = b->c;
  const int rank = c->batch[0] ? 4 : 3;
  llrt_tensor *x = &b->tensor[t];
  *x = (llrt_tensor){.dtype = type_of(c, t), .rank = rank, .device = b->device};
  b->elements[t] = rows * columns;
  if (rank == 4) x->shape[0] = c->batch[0];
  x->shape[rank - 3] = c->batch[1];
  x->shape[rank - 2] = rows;
  x->shape[rank - 1] = columns;
  const char *turned =
      rank == 4 ? "storage(rank=4, digits=[dim2: rest, dim3: rest, dim1: rest, dim0: rest])"
                : "storage(rank=3, digits=[dim1: rest, dim2: rest, dim0: rest])";
  cr_assert_eq(
      llrt_storage_parse(t == B && c->col ? turned : "row_major", rank, x->shape, &b->storage[t]),
      LLRT_OK, "%s", llrt_last_error());
  x->storage = &b->storage[t];
  make_memory(b, t);
  if (!is_list(c, t)) {
    x->data = b->own[t][0];
    return;
  }
  b->values[t] = allocate(b, b->batches * 8, b->list[t]);
  b->index[t] = (llrt_index){.axis = rank - 3,
                             .kind = LLRT_INDEX_POINTER,
                             .dtype = LLRT_I64,
                             .axes = rank == 4 ? 3 : 1,
                             .folded = rank == 4 ? 1 : 0,
                             .alignment = c->alignment,
                             .data = b->values[t]};
  b->index[t].strides[rank - 3] = 1;
  if (rank == 4) b->index[t].strides[0] = c->batch[1];
  x->indices = &b->index[t];
  x->n_indices = 1;
}

static void make(const batched *c, llrt_device *device, bench *b) {
  *b = (bench){.c = c, .device = device, .batches = (c->batch[0] ? c->batch[0] : 1) * c->batch[1]};
  make_tensor(b, A, c->m, c->k);
  make_tensor(b, B, c->k, c->n);
  make_tensor(b, D, c->m, c->n);
}

static void end(bench *b) {
  for (int t = 0; t < TENSORS; t++) {
    for (int64_t i = 0; i < MOST_BATCHES; i++)
      if (b->own[t][i]) llrt_memory_free(b->device, b->own[t][i]);
    if (b->values[t]) llrt_memory_free(b->device, b->values[t]);
    free(b->number[t]);
  }
}

static llrt_status run_prepared(bench *b) {
  llrt_op_desc *desc = NULL;
  llrt_op *op = NULL, *loaded = NULL;
  const llrt_run_params run = {.own_workspace = 1};
  size_t size = 0;
  void *bytes = NULL;
  llrt_status status = llrt_dot_describe(&b->tensor[A], &b->tensor[B], &b->tensor[D], NULL, &desc);
  if (status == LLRT_OK) status = llrt_op_promise_coarse(desc);
  if (status == LLRT_OK) status = llrt_op_prepare(b->device, desc, &op);
  if (status == LLRT_OK) status = llrt_op_save(op, NULL, &size);
  if (status == LLRT_OK) bytes = malloc(size);
  if (status == LLRT_OK) status = llrt_op_save(op, bytes, &size);
  if (status == LLRT_OK) status = llrt_op_load(b->device, bytes, size, &loaded);
  if (status == LLRT_OK) status = llrt_op_run(loaded, NULL, desc->tensors, desc->n_tensors, &run);
  llrt_stream_synchronize(b->device, NULL);
  free(bytes);
  llrt_op_destroy(&op);
  llrt_op_destroy(&loaded);
  llrt_op_desc_destroy(&desc);
  return status;
}

/* What element (m, n) of a batch's product should be. */
static double expected(const bench *b, int64_t batch, int64_t m, int64_t n) {
  const batched *c = b->c;
  int64_t sum = 0;
  if (is_null(b, D, batch)) return 100;
  if (is_null(b, A, batch) || is_null(b, B, batch)) return 0;
  for (int64_t k = 0; k < c->k; k++)
    sum += (int64_t)b->number[A][batch * b->elements[A] + m * c->k + k] *
           b->number[B][batch * b->elements[B] + (c->col ? n * c->k + k : k * c->n + n)];
  const number_format *format = number_format_of(c->result);
  return number_value(format, number_code(format, (double)sum));
}

static void check_batch(const bench *b, int64_t batch, const char *name) {
  const batched *c = b->c;
  const number_format *format = number_format_of(c->result);
  const int64_t bytes = format->bits / 8, list = is_list(c, D);
  unsigned char *image = malloc((size_t)size_of(b, D));
  const char *from = (const char *)b->own[D][list ? batch : 0] + (list ? 0 : batch * size_of(b, D));
  cr_assert(image);
  cr_assert_eq(
      llrt_memory_copy(b->device, image, from, (size_t)size_of(b, D), LLRT_COPY_FROM_DEVICE, NULL),
      LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_stream_synchronize(b->device, NULL), LLRT_OK, "%s", llrt_last_error());
  for (int64_t i = 0; i < b->elements[D]; i++) {
    uint64_t code = 0;
    memcpy(&code, image + i * bytes, (size_t)bytes);
    double got = number_value(format, code), wanted = expected(b, batch, i / c->n, i % c->n);
    cr_assert_eq(got, wanted, "%s, case %d: batch %d, element %d: %g, not %g", name,
                 (int)(c - cases), (int)batch, (int)i, got, wanted);
  }
  free(image);
}

static void check_case(const batched *c, llrt_device *device, const char *name) {
  bench *b = malloc(sizeof *b);
  cr_assert(b);
  make(c, device, b);
  llrt_status status = c->prepared
                           ? run_prepared(b)
                           : llrt_dot_into(&b->tensor[A], &b->tensor[B], &b->tensor[D], NULL, NULL);
  cr_assert_eq(status, LLRT_OK, "%s, case %d: %s", name, (int)(c - cases), llrt_last_error());
  for (int64_t i = 0; i < b->batches; i++) check_batch(b, i, name);
  end(b);
  free(b);
}

static void check_all(const char *name) {
  opened_device opened = open_device(name);
  for (int i = 0; i < CASES; i++)
    if (is_host(name) || strstr(name, "sm_90a") || i % 3 == (int)strlen(name) % 3)
      check_case(&cases[i], opened.device, name);
  close_device(&opened);
}

Test(dot_pointers, host, .timeout = 120) { check_all("host"); }
Test(dot_pointers, sm_80, .timeout = 120) { check_all("cuda-emu:sm_80"); }
Test(dot_pointers, sm_90, .timeout = 120) { check_all("cuda-emu:sm_90"); }
Test(dot_pointers, sm_90a, .timeout = 120) { check_all("cuda-emu:sm_90a"); }
Test(dot_pointers, gfx942, .timeout = 120) { check_all("hip-emu:gfx942"); }

/* What is no list of pointers along batch axes is refused by name. */
Test(dot_pointers, refused) {
  opened_device opened = open_device("host");
  for (int i = 0; i < 4; i++) {
    bench *b = malloc(sizeof *b);
    cr_assert(b);
    make(&cases[0], opened.device, b);
    llrt_index *index = &b->index[i % TENSORS];
    if (i == 0) index->kind = LLRT_INDEX_COORDINATE, index->extent = 5;
    if (i == 1) index->axis = 1, index->axes = 2;
    if (i == 2) index->out_of_range = LLRT_RANGE_REPORT;
    if (i == 3) index->axes = 3; /* values of A differ along M */
    cr_expect_eq(llrt_dot_into(&b->tensor[A], &b->tensor[B], &b->tensor[D], NULL, NULL),
                 LLRT_UNSUPPORTED, "%d: %s", i, llrt_last_error());
    cr_expect(strstr(llrt_last_error(), "may each have a list of pointers along batch axes"),
              "%d: %s", i, llrt_last_error());
    end(b);
    free(b);
  }
  close_device(&opened);
}
