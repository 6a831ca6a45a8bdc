/* Value maps in plans, executed by the interpreter: every target, tiles, edges and flat kernels. */
#include "jit/plan/kernel/plan.h"

#include "jit/interpret/plan_interpret.h"
#include "jit/plan/plan_make.h"
#include "tests/plan/plan_pair.h"
#include "tests/plan/random_layout.h"
#include "runtime/described.h"
#include "tests/number_reference.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const char *const targets[] = {"sm_80",     "sm_90a",    "gfx942", "x86-64-v2",
                                      "x86-64-v3", "x86-64-v4", "aarch64"};

typedef struct map_case {
  const char *source, *destination;
  int64_t shape[2];
  llrt_dtype from, to;
  uint64_t constant; /* XOR before; 0: none */
  bool bits;         /* the word permutation after */
} map_case;

#define MMA "nvmma(version=[2,0], warps_per_cta=[2,2], instr_shape=[16,8])"

static const map_case cases[] = {
    {"row_major", "col_major", {64, 128}, LLRT_U8, LLRT_U8, 0x88, false},
    {"row_major", "col_major", {33, 65}, LLRT_U8, LLRT_U8, 0x88, false},
    {"row_major", "col_major", {33, 65}, LLRT_U16, LLRT_U16, 0xFFFF8001, false},
    {"row_major", MMA, {64, 64}, LLRT_F32, LLRT_F32, 0x80000000, false},
    {"row_major", "col_major", {40, 24}, LLRT_I64, LLRT_I64, 0x8000000000000001, true},
    {"row_major", "row_major", {64, 64}, LLRT_U8, LLRT_U8, 0, true},
    {"row_major", "col_major", {64, 128}, LLRT_U8, LLRT_U8, 0x88, true},
    {"row_major", "col_major", {36, 65}, LLRT_U8, LLRT_U8, 0x88, true},
    {"col_major", "row_major", {65, 36}, LLRT_U16, LLRT_U16, 0, true},
    {"row_major", "row_major", {3, 4}, LLRT_U8, LLRT_U8, 0, true},
    {"row_major", "strided([80,1])", {70, 72}, LLRT_U8, LLRT_U8, 0, true},
    {"row_major", MMA, {64, 64}, LLRT_U16, LLRT_U16, 0, true},
    {"row_major", "col_major", {33, 7}, LLRT_U32, LLRT_U32, 5, true},
    {"row_major", "col_major", {64, 128}, LLRT_F32, LLRT_BF16, 0, false},
    {"row_major", "col_major", {33, 65}, LLRT_F32, LLRT_BF16, 0, false},
    {"row_major", "col_major", {64, 128}, LLRT_E4M3, LLRT_BF16, 0, false},
    {"row_major", MMA, {64, 64}, LLRT_E4M3, LLRT_BF16, 0x80, false},
    {"col_major", "strided([80,1])", {70, 66}, LLRT_I8, LLRT_F32, 0, false},
    {"row_major", "col_major", {64, 64}, LLRT_F32, LLRT_E5M2, 0, true},
    {"row_major", "col_major", {36, 65}, LLRT_F32, LLRT_I8, 0, true},
    {"row_major", "col_major", {36, 65}, LLRT_U8, LLRT_F16, 0x80, true},
    {"row_major", "col_major", {40, 24}, LLRT_F64, LLRT_U8, 0, false},
    {"row_major", "col_major", {64, 64}, LLRT_BF16, LLRT_F16, 0, false},
    {"row_major", "scale_128x4(pad=9)", {60, 9}, LLRT_F32, LLRT_E4M3, 0, false},
    {"row_major", "scale_128x4(pad=127)", {130, 6}, LLRT_U8, LLRT_U8, 0x88, false},
    {"col_major", "scale_128x4(pad=9)", {60, 9}, LLRT_I8, LLRT_U8, 0x80, false},
    {"marlin_w4", "row_major", {64, 128}, LLRT_U4, LLRT_F16, 0, false},
    {"marlin_w4", "col_major", {80, 192}, LLRT_I4, LLRT_BF16, 0x8, false},
    {"torchao_w4", "row_major", {50, 66}, LLRT_E2M1, LLRT_F32, 0, false},
    {"row_major", "col_major", {33, 66}, LLRT_E2M1, LLRT_BF16, 0, false},
    {"row_major", MMA, {64, 64}, LLRT_E2M1, LLRT_E4M3, 0, false},
    {"col_major", "row_major", {66, 36}, LLRT_U4, LLRT_I8, 0, true},
    {"row_major", "col_major", {2, 6}, LLRT_I4, LLRT_F64, 0, false},
    {"row_major", "marlin_w4", {64, 128}, LLRT_F16, LLRT_U4, 0, false},
    {"row_major", "col_major", {66, 34}, LLRT_F32, LLRT_E2M1, 0, false},
    {"row_major", "torchao_w4", {50, 66}, LLRT_I8, LLRT_I4, 0x80, false},
    {"row_major", "row_major", {50, 64}, LLRT_U8, LLRT_U4, 0, true},
    /* Words that begin in one row and end in the next, whose elements are neighbours in memory
       alone. */
    {"row_major", "col_major", {33, 64}, LLRT_U8, LLRT_U8, 0, true},
    {"row_major", "row_major", {64, 33}, LLRT_U16, LLRT_U16, 0x8001, true},
    {"col_major", "row_major", {8, 31}, LLRT_U4, LLRT_U4, 0, true},
    {"row_major", "col_major", {27, 40}, LLRT_F32, LLRT_E2M1, 0, true},
    /* Bytes of two rows, or with one element. */
    {"row_major", "row_major", {33, 65}, LLRT_F32, LLRT_E2M1, 0, false},
    {"row_major", "strided([67,1])", {21, 33}, LLRT_I8, LLRT_U4, 0x80, false},
};

typedef struct trial {
  llrt_storage storage[2];
  llrt_storage_binding binding[2];
  op_description desc;
  size_t bytes[2];
} trial;

static void make_trial(const map_case *c, trial *t) {
  const char *const text[] = {c->source, c->destination};
  const llrt_dtype dtypes[] = {c->from, c->to};
  memset(t, 0, sizeof *t);
  t->desc.kind = LLRT_OP_CONVERT;
  t->desc.n_tensors = 2;
  for (int i = 0; i < 2; i++) {
    cr_assert_eq(llrt_storage_parse(text[i], 2, c->shape, &t->storage[i]), LLRT_OK);
    cr_assert_eq(llrt_storage_bind(&t->storage[i], 2, c->shape, NULL, &t->binding[i]), LLRT_OK);
    t->bytes[i] = (size_t)(t->binding[i].span * llrt_dtype_bits(dtypes[i]) + 7) / 8;
    t->desc.tensors[i] = (llrt_tensor){.dtype = dtypes[i],
                                       .rank = 2,
                                       .shape = {c->shape[0], c->shape[1]},
                                       .storage = &t->storage[i],
                                       .data = aligned_alloc(256, (t->bytes[i] + 511) / 256 * 256)};
  }
  if (c->constant)
    t->desc.maps[t->desc.n_maps++] = (llrt_map){.kind = LLRT_MAP_XOR, .constant = c->constant};
  if (c->bits) {
    t->desc.maps[t->desc.n_maps].kind = LLRT_MAP_WORD_BITS;
    reference_hopper_fp4(t->desc.maps[t->desc.n_maps++].perm);
  }
  cr_assert_eq(described_promise(&t->desc), LLRT_OK, "%s", llrt_last_error());
}

static void free_trial(trial *t) {
  for (int i = 0; i < 2; i++) free(t->desc.tensors[i].data);
}

static uint64_t get_element(const trial *t, int tensor, const void *data, const int64_t *x) {
  int64_t at = llrt_storage_offset(&t->storage[tensor], &t->binding[tensor], x);
  return reference_read(t->desc.tensors[tensor].dtype, data, at);
}

/* Elements that no coordinate has hold the pad value, if the storage names one. */
static int64_t wrong_pads(const map_case *c, const trial *t) {
  const char *pad = strstr(c->destination, "pad=");
  int64_t span = t->binding[1].span, wrong = 0;
  if (!pad) return 0;
  bool *taken = calloc((size_t)span, sizeof *taken);
  for (int64_t i = 0; i < c->shape[0]; i++)
    for (int64_t j = 0; j < c->shape[1]; j++)
      taken[llrt_storage_offset(&t->storage[1], &t->binding[1], (int64_t[]){i, j})] = true;
  for (int64_t i = 0; i < span; i++)
    wrong += !taken[i] && ((unsigned char *)t->desc.tensors[1].data)[i] != atoi(pad + 4);
  free(taken);
  return wrong;
}

/* Undoes the permutation of words in a copy of the destination, then compares element by element.
 */
static int64_t wrong_elements(const map_case *c, const trial *t) {
  uint32_t *copy = calloc(1, t->bytes[1] + 4);
  int64_t wrong = wrong_pads(c, t);
  memcpy(copy, t->desc.tensors[1].data, t->bytes[1]);
  if (c->bits) {
    const uint8_t *perm = t->desc.maps[t->desc.n_maps - 1].perm;
    uint8_t inverse[32];
    for (int i = 0; i < 32; i++) inverse[perm[i]] = (uint8_t)i;
    for (size_t w = 0; w < t->bytes[1] / 4; w++) copy[w] = reference_permute(inverse, copy[w]);
  }
  uint64_t mask = UINT64_MAX >> (64 - llrt_dtype_bits(c->from));
  for (int64_t i = 0; i < c->shape[0]; i++) {
    for (int64_t j = 0; j < c->shape[1]; j++) {
      const int64_t x[] = {i, j};
      uint64_t from = get_element(t, 0, t->desc.tensors[0].data, x) ^ (c->constant & mask);
      if (c->from != c->to) from = reference_cast(c->from, c->to, from, 1, false);
      wrong += from != get_element(t, 1, copy, x);
    }
  }
  free(copy);
  return wrong;
}

static void check_case(const map_case *c, size_t number, const char *name) {
  static plan made;
  plan_target target;
  trial t;
  uint64_t seed = 7;
  make_trial(c, &t);
  cr_assert_eq(plan_target_find(name, &target), LLRT_OK);
  cr_assert_eq(plan_make(&t.desc, &target, NULL, &made), LLRT_OK, "case %zu on %s: %s", number,
               name, llrt_last_error());
  for (int v = 0; v < made.n_variants; v += 1 + made.variant[v].launch.later) {
    unsigned char *source = t.desc.tensors[0].data;
    for (size_t i = 0; i < t.bytes[0]; i++) source[i] = (unsigned char)(test_random(&seed) >> 56);
    memset(t.desc.tensors[1].data, 0xA5, t.bytes[1]);
    llrt_status status = plan_interpret(&made.variant[v], t.desc.tensors, t.binding, 2);
    int64_t wrong = status == LLRT_OK ? wrong_elements(c, &t) : -1;
    if (wrong) pair_explain(&made, v);
    cr_assert_eq(wrong, 0, "case %zu on %s, variant %d: %lld wrong, %s", number, name, v,
                 (long long)wrong, llrt_last_error());
  }
  free_trial(&t);
}

Test(maps, every_case_on_every_target) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++)
      check_case(&cases[i], i, targets[t]);
}

Test(maps, a_pad_that_no_element_becomes) {
  static const map_case c = {"row_major", "scale_128x4(pad=9)", {60, 9}, LLRT_I8, LLRT_E4M3, 0,
                             false};
  static plan made;
  plan_target target;
  trial t;
  make_trial(&c, &t);
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK);
  cr_assert_eq(plan_make(&t.desc, &target, NULL, &made), LLRT_UNSUPPORTED);
  cr_assert(strstr(llrt_last_error(), "pad value 0x9"), "%s", llrt_last_error());
  free_trial(&t);
}

/* Words that the tensor's end, a pitch or the layout cuts are refused. */
Test(maps, words_must_be_whole) {
  static const map_case refused[] = {
      {"row_major", "col_major", {33, 63}, LLRT_U8, LLRT_U8, 0, true},
      {"row_major", "row_major", {63, 33}, LLRT_U16, LLRT_U16, 0, true},
      {"row_major", "row_major", {4, 31}, LLRT_U4, LLRT_U4, 0, true},
      {"row_major", "strided([66,1])", {64, 64}, LLRT_U8, LLRT_U8, 0, true},
      {"row_major", "strided([128,2])", {64, 64}, LLRT_U8, LLRT_U8, 0, true},
  };
  static plan made;
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    for (size_t n = 0; n < sizeof targets / sizeof *targets; n++) {
      plan_target target;
      trial t;
      make_trial(&refused[i], &t);
      cr_assert_eq(plan_target_find(targets[n], &target), LLRT_OK);
      cr_assert_eq(plan_make(&t.desc, &target, NULL, &made), LLRT_UNSUPPORTED, "%zu on %s", i,
                   targets[n]);
      cr_assert(strstr(llrt_last_error(), "32-bit words"), "%s", llrt_last_error());
      free_trial(&t);
    }
  }
}
