/* Block scales in plans: the third tensor in any storage, groups that tiles and edges cut. */
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

typedef struct scale_case {
  const char *text[3]; /* storages of source, destination, scales */
  int64_t shape[2], group[2];
  llrt_dtype type[3];
} scale_case;

#define MMA "nvmma(version=[2,0], warps_per_cta=[2,2], instr_shape=[16,8])"

static const scale_case cases[] = {
    {{"row_major", "row_major", "row_major"},
     {64, 128},
     {1, 32},
     {LLRT_E4M3, LLRT_BF16, LLRT_E8M0}},
    {{"row_major", "col_major", "row_major"}, {33, 96}, {1, 32}, {LLRT_E4M3, LLRT_BF16, LLRT_E8M0}},
    {{"row_major", "col_major", "scale_128x4"},
     {256, 128},
     {1, 32},
     {LLRT_E4M3, LLRT_BF16, LLRT_E8M0}},
    {{"row_major", "col_major", "scale_128x4(pad=0)"},
     {60, 70},
     {1, 32},
     {LLRT_E5M2, LLRT_F32, LLRT_E8M0}},
    {{"row_major", MMA, "row_major"}, {64, 64}, {1, 16}, {LLRT_E4M3, LLRT_F16, LLRT_E4M3}},
    {{"row_major", "col_major", "row_major"},
     {130, 257},
     {128, 128},
     {LLRT_F32, LLRT_E4M3, LLRT_F32}},
    {{"row_major", "row_major", "col_major"},
     {64, 60},
     {1, LLRT_GROUP_ALL},
     {LLRT_I8, LLRT_F32, LLRT_F32}},
    {{"row_major", "row_major", "row_major"}, {30, 60}, {1, 12}, {LLRT_I8, LLRT_BF16, LLRT_F16}},
    {{"row_major", "col_major", "row_major"}, {40, 24}, {8, 0}, {LLRT_F64, LLRT_F64, LLRT_F32}},
    {{"row_major", "col_major", "row_major"}, {16, 16}, {1, 1}, {LLRT_BF16, LLRT_BF16, LLRT_BF16}},
    {{"row_major", "row_major", "row_major"},
     {64, 128},
     {1, 32},
     {LLRT_E2M1, LLRT_BF16, LLRT_E8M0}},
    {{"row_major", "col_major", "scale_128x4"},
     {60, 96},
     {1, 32},
     {LLRT_E2M1, LLRT_BF16, LLRT_E8M0}},
    {{"row_major", MMA, "scale_128x4"}, {64, 64}, {1, 16}, {LLRT_E2M1, LLRT_F16, LLRT_E4M3}},
    {{"marlin_w4", "row_major", "row_major"}, {128, 128}, {64, 1}, {LLRT_I4, LLRT_F16, LLRT_F16}},
    {{"row_major", "col_major", "row_major"}, {64, 64}, {1, 32}, {LLRT_BF16, LLRT_E2M1, LLRT_E8M0}},
};

/* In place. Groups of 32 and 43 cover 160 x 86 of 151 x 74, which is too much for one panel: some
 * of those that there are, of an element each, begin at the tensor's end or behind it. */
static const scale_case cases_in_place[] = {
    {{"col_major", "col_major", "row_major"}, {151, 74}, {32, 43}, {LLRT_F32, LLRT_F32, LLRT_BF16}},
    {{"col_major", "col_major", "row_major"}, {30, 20}, {7, 3}, {LLRT_BF16, LLRT_BF16, LLRT_E8M0}},
    {{"row_major", "col_major", "row_major"}, {24, 20}, {5, 1}, {LLRT_F32, LLRT_F32, LLRT_F16}},
};

typedef struct trial {
  llrt_storage storage[3];
  llrt_storage_binding binding[3];
  op_description desc;
  size_t bytes[3];
  void *before; /* what the source was */
} trial;

static void make_trial(const scale_case *c, bool in_place, trial *t) {
  memset(t, 0, sizeof *t);
  t->desc =
      (op_description){.kind = LLRT_OP_CONVERT, .n_tensors = 3, .n_maps = 1, .in_place = in_place};
  t->desc.maps[0].kind = LLRT_MAP_SCALE;
  memcpy(t->desc.maps[0].group, c->group, sizeof c->group);
  for (int i = 0; i < 3; i++) {
    llrt_tensor *tensor = &t->desc.tensors[i];
    *tensor = (llrt_tensor){.dtype = c->type[i], .rank = 2, .storage = &t->storage[i]};
    for (int a = 0; a < 2; a++) {
      int64_t group = c->group[a] ? c->group[a] : 1;
      tensor->shape[a] = i < 2 ? c->shape[a] : group < 0 ? 1 : (c->shape[a] + group - 1) / group;
    }
    cr_assert_eq(llrt_storage_parse(c->text[i], 2, tensor->shape, &t->storage[i]), LLRT_OK, "%s",
                 llrt_last_error());
    cr_assert_eq(llrt_storage_bind(&t->storage[i], 2, tensor->shape, NULL, &t->binding[i]),
                 LLRT_OK);
    t->bytes[i] = (size_t)t->binding[i].span * (size_t)llrt_dtype_bits(c->type[i]) / 8;
    tensor->data = i == 1 && in_place ? t->desc.tensors[0].data
                                      : aligned_alloc(256, (t->bytes[i] + 511) / 256 * 256);
  }
  t->before = malloc(t->bytes[0]);
  cr_assert_eq(described_promise(&t->desc), LLRT_OK, "%s", llrt_last_error());
}

static uint64_t element(const trial *t, int tensor, const int64_t *x) {
  int64_t at = llrt_storage_offset(&t->storage[tensor], &t->binding[tensor], x);
  return reference_read(t->desc.tensors[tensor].dtype,
                        tensor == 0 ? t->before : t->desc.tensors[tensor].data, at);
}

static int64_t wrong_elements(const scale_case *c, const trial *t) {
  int64_t wrong = 0, x[2];
  for (x[0] = 0; x[0] < c->shape[0]; x[0]++) {
    for (x[1] = 0; x[1] < c->shape[1]; x[1]++) {
      int64_t at[2];
      for (int a = 0; a < 2; a++)
        at[a] = c->group[a] < 0 ? 0 : x[a] / (c->group[a] ? c->group[a] : 1);
      double scale = reference_decode(c->type[2], element(t, 2, at));
      wrong +=
          reference_cast(c->type[0], c->type[1], element(t, 0, x), scale, true) != element(t, 1, x);
    }
  }
  return wrong;
}

static void check_case(const scale_case *c, bool in_place, size_t number, const char *name) {
  static plan made;
  plan_target target;
  trial t;
  uint64_t seed = 7;
  make_trial(c, in_place, &t);
  cr_assert_eq(plan_target_find(name, &target), LLRT_OK);
  cr_assert_eq(plan_make(&t.desc, &target, NULL, &made), LLRT_OK, "case %zu on %s: %s", number,
               name, llrt_last_error());
  for (int v = 0; v < made.n_variants; v++) {
    for (int i = 0; i < 3; i++)
      for (size_t b = 0; b < t.bytes[i]; b++)
        ((unsigned char *)t.desc.tensors[i].data)[b] = (unsigned char)(test_random(&seed) >> 56);
    memcpy(t.before, t.desc.tensors[0].data, t.bytes[0]);
    llrt_status status = plan_interpret(&made.variant[v], t.desc.tensors, t.binding, 3);
    int64_t wrong = status == LLRT_OK ? wrong_elements(c, &t) : -1;
    if (wrong) pair_explain(&made, v);
    cr_assert_eq(wrong, 0, "case %zu on %s, variant %d: %lld wrong, %s", number, name, v,
                 (long long)wrong, llrt_last_error());
  }
  for (int i = 0; i < 3; i++)
    if (i != 1 || !in_place) free(t.desc.tensors[i].data);
  free(t.before);
}

Test(scale, every_case_on_every_target) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++)
      check_case(&cases[i], false, i, targets[t]);
}

Test(scale, in_place) {
  static const char *const some[] = {"sm_80", "gfx942", "x86-64-v3"};
  for (size_t i = 0; i < sizeof cases_in_place / sizeof *cases_in_place; i++)
    for (size_t t = 0; t < sizeof some / sizeof *some; t++)
      check_case(&cases_in_place[i], true, i, some[t]);
}
