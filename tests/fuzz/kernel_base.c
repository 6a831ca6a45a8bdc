#include "tests/fuzz/kernel_base.h"

#include "base/hash.h"
#include "jit/plan/cost/predict.h"
#include "jit/plan/plan_make.h"
#include "runtime/kernel_bytes.h"
#include "runtime/request.h"

#include <llrt/llrt.h>

#include <string.h>

#define CODE "kernel.\n" /* a whole word, so that what follows lies on words */
#define HEAD_FORMAT 8    /* where in a kernel's bytes its format and size stand */
#define HEAD_SIZE 16
#define SUM_BYTES 16

/* ---- descriptions ---- */

typedef struct base_tensors {
  llrt_storage storage[2];
  llrt_tensor tensor[3];
} base_tensors;

static void begin(base_tensors *at, llrt_dtype dtype, const char *from, const char *to) {
  static const int64_t shape[] = {64, 64};
  const char *const text[] = {from, to};
  for (int i = 0; i < 2; i++) {
    FUZZ_CHECK(llrt_storage_parse(text[i], 2, shape, &at->storage[i]) == LLRT_OK);
    at->tensor[i] =
        (llrt_tensor){.dtype = dtype, .rank = 2, .shape = {64, 64}, .storage = &at->storage[i]};
  }
}

static void plan_desc(const llrt_op_desc *desc, llrt_text *out) {
  static op_request asked;
  static plan made;
  static kernel_variant variant[PLAN_MAX_VARIANTS];
  FUZZ_CHECK(llrt_request_take(KERNEL_BASE_TARGET, desc, &asked) == LLRT_OK);
  FUZZ_CHECK(plan_make(&asked.desc, &asked.target, NULL, &made) == LLRT_OK);
  for (int i = 0; i < made.n_variants; i++)
    variant[i] = (kernel_variant){.launch = made.variant[i].launch,
                                  .clocks = plan_predict_clocks(&made.variant[i]),
                                  .code = (void *)(uintptr_t)CODE,
                                  .size = strlen(CODE)};
  FUZZ_CHECK(llrt_kernel_bytes_write(&asked.target, &asked.desc, &asked.set, variant,
                                     made.n_variants, out) == LLRT_OK);
}

static void plan_two(llrt_op_kind kind, llrt_dtype dtype, const char *from, const char *to,
                     const llrt_op_combine *combine, llrt_text *out) {
  base_tensors at;
  begin(&at, dtype, from, to);
  llrt_op_desc desc = {.kind = kind, .n_tensors = 2, .tensors = at.tensor};
  if (combine) desc.combine = *combine;
  plan_desc(&desc, out);
}

static void plan_dot(const char *storage_b, llrt_text *out) {
  base_tensors at;
  llrt_op_desc *desc;
  begin(&at, LLRT_BF16, "row_major", storage_b);
  at.tensor[2] = at.tensor[0];
  FUZZ_CHECK(llrt_dot_describe(&at.tensor[0], &at.tensor[1], &at.tensor[2], NULL, &desc) ==
             LLRT_OK);
  plan_desc(desc, out);
  llrt_op_desc_destroy(&desc);
}

static void make_base(int index, llrt_text *out) {
  static const llrt_op_combine rows = {.op = LLRT_COMBINE_SUM, .axes = 2},
                               all = {.op = LLRT_COMBINE_MAX, .axes = 3},
                               along = {.op = LLRT_COMBINE_SUM, .axes = 2};
  switch (index) {
  case 0: plan_two(LLRT_OP_CONVERT, LLRT_F32, "row_major", "col_major", NULL, out); break;
  case 1: plan_two(LLRT_OP_CONVERT, LLRT_U8, "strided", "marlin_w8", NULL, out); break;
  case 2: plan_two(LLRT_OP_REDUCE, LLRT_F32, "row_major", "row_major", &rows, out); break;
  case 3: plan_two(LLRT_OP_REDUCE, LLRT_BF16, "col_major", "row_major", &all, out); break;
  case 4: plan_two(LLRT_OP_SCAN, LLRT_F32, "row_major", "row_major", &along, out); break;
  default: plan_dot("row_major", out); break;
  }
}

const char *kernel_base(int index, size_t *size) {
  static llrt_text base[KERNEL_BASES];
  llrt_text *at = &base[index];
  if (!at->data) {
    llrt_text_init(at);
    make_base(index, at);
    FUZZ_CHECK(llrt_text_status(at) == LLRT_OK);
  }
  *size = at->length;
  return at->data;
}

/* ---- inputs ---- */

static void put_word(unsigned char *at, uint64_t value) {
  for (int i = 0; i < 8; i++) at[i] = (unsigned char)(value >> 8 * i);
}

/* The format is this library's, the size is right, and so is the checksum. */
static void seal(unsigned char *image, size_t size) {
  size_t base_size;
  const char *base = kernel_base(0, &base_size);
  if (size < HEAD_SIZE + 8 + SUM_BYTES) return;
  memcpy(image, base, HEAD_FORMAT + 8);
  put_word(image + HEAD_SIZE, size);
  llrt_hash sum = llrt_hash_bytes(image, size - SUM_BYTES);
  put_word(image + size - SUM_BYTES, sum.low);
  put_word(image + size - 8, sum.high);
}

unsigned char *kernel_of_input(const uint8_t *data, size_t input, bool sealed, size_t *size) {
  const uint8_t *from = data + 1;
  size_t left = input - 1;
  bool raw = data[0] >= 128;
  *size = left;
  const char *base = raw ? (const char *)from : kernel_base(data[0] % KERNEL_BASES, size);
  unsigned char *image = malloc(*size + !*size); /* exact, so that a read past it is seen */
  FUZZ_CHECK(image);
  memcpy(image, base, *size);
  for (; !raw && left >= 10; left -= 10, from += 10) {
    size_t word = ((size_t)from[0] | (size_t)from[1] << 8) % (*size / 8);
    memcpy(image + 8 * word, from + 2, 8);
  }
  if (sealed) seal(image, *size);
  return image;
}
