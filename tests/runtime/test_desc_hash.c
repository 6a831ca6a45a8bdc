/* llrt_op_desc_hash and llrt_op_desc_print: what says the same in other words has one hash, what
 * makes other kernels has another, for all pairs of a list; and what hashes apart prints apart. */
#include "base/hash.h"
#include "runtime/described.h"
#include "tests/runtime/convert_fixture.h"

#include <llrt/dot.h>

static llrt_context *context;

static void setup(void) { cr_assert_eq(llrt_context_create(&fixture_params, &context), LLRT_OK); }

static void teardown(void) { llrt_context_destroy(&context); }

TestSuite(desc_hash, .init = setup, .fini = teardown);

/* ---- descriptions ---- */

/* A convert, reduce or scan of two tensors of two axes, and what is said of it. */
typedef struct words {
  llrt_op_kind kind;
  llrt_dtype from, to;
  const char *source, *destination; /* NULL: no storage is given */
  llrt_promise extent[2];
  llrt_promise address, stride;
  llrt_combiner op;
  uint32_t axes;
  bool exclusive, reverse, in_place;
  llrt_dtype accumulate;
  uint64_t flip; /* of an XOR map; 0: none */
} words;

typedef struct built {
  llrt_storage storage[2];
  llrt_tensor tensor[2];
  llrt_tensor_promise promise[2];
  llrt_map map;
  llrt_op_desc desc;
} built;

static void build(const words *w, built *out) {
  const char *const text[] = {w->source, w->destination};
  *out = (built){.desc = {.size = sizeof out->desc,
                          .kind = w->kind,
                          .n_tensors = 2,
                          .tensors = out->tensor,
                          .promises = out->promise,
                          .in_place = w->in_place,
                          .combine = {.op = w->op,
                                      .axes = w->axes,
                                      .accumulate = w->accumulate,
                                      .exclusive = w->exclusive,
                                      .reverse = w->reverse}}};
  for (int t = 0; t < 2; t++) {
    out->tensor[t] = (llrt_tensor){.dtype = t == 0 ? w->from : w->to, .rank = 2};
    if (text[t]) {
      cr_assert_eq(llrt_storage_parse(text[t], 2, NULL, &out->storage[t]), LLRT_OK, "%s",
                   llrt_last_error());
      out->tensor[t].storage = &out->storage[t];
    }
    out->promise[t].address = w->address;
    for (int a = 0; a < 2; a++) {
      out->promise[t].shape[a] = w->extent[a];
      out->promise[t].stride[a] = w->stride;
    }
  }
  out->map = (llrt_map){.kind = LLRT_MAP_XOR, .constant = w->flip};
  if (w->flip) out->desc.maps = &out->map;
  out->desc.n_maps = w->flip != 0;
}

static llrt_hash hash_on(const words *w, const char *target) {
  static built made;
  llrt_hash hash;
  build(w, &made);
  cr_assert_eq(llrt_op_desc_hash(&made.desc, target, &hash), LLRT_OK, "%s", llrt_last_error());
  return hash;
}

/* The plans as text; NULL where there are none. Ownership: llrt_buffer_free. */
static char *plan_of(const words *w, const char *target) {
  static built made;
  char *text = NULL;
  size_t size;
  build(w, &made);
  llrt_status status = llrt_op_compile(context, target, &made.desc, LLRT_EMIT_PLAN, &text, &size);
  cr_assert(status == LLRT_OK || status == LLRT_UNSUPPORTED, "%s", llrt_last_error());
  return text;
}

static char *print(const words *w) {
  static built made;
  size_t length = 0, again = 0;
  build(w, &made);
  cr_assert_eq(llrt_op_desc_print(&made.desc, NULL, 0, &length), LLRT_OK, "%s", llrt_last_error());
  char *text = malloc(length + 1);
  cr_assert_eq(llrt_op_desc_print(&made.desc, text, length, &again), LLRT_INVALID_ARGUMENT);
  cr_expect_eq(again, length);
  cr_assert_eq(llrt_op_desc_print(&made.desc, text, length + 1, &again), LLRT_OK);
  cr_expect_eq(strlen(text), length);
  return text;
}

#define CONVERT .kind = LLRT_OP_CONVERT, .from = LLRT_F32, .to = LLRT_F32
#define PLAIN CONVERT, .source = "row_major", .destination = "col_major"

/* Lines of one class are the same operation; the first of each is what others are compared with. */
static const struct {
  int class;
  words w;
} list[] = {
    {0, {PLAIN}},
    {0, {CONVERT, .destination = "col_major"}},
    {0,
     {CONVERT, .source = "storage(digits=[dim1: rest, dim0: rest])", .destination = "col_major"}},
    {0,
     {CONVERT, .source = "row_major", .destination = "storage(digits=[dim0: rest, dim1: rest])"}},
    {0, {.kind = LLRT_OP_CONVERT, .from = LLRT_I32, .to = LLRT_I32, .destination = "col_major"}},
    {0, {PLAIN, .address = {.multiple = 1}, .stride = {.multiple = 1}}},
    {0, {PLAIN, .extent = {{.multiple = 1}}}},
    {1, {PLAIN, .extent = {{.min = 64, .max = 64}}}},
    {1, {PLAIN, .extent = {{.multiple = 64, .min = 64, .max = 64}}}},
    {1, {PLAIN, .extent = {{.multiple = 16, .min = 50, .max = 70}}}},
    {1, {PLAIN, .extent = {{.multiple = 64, .min = 1, .max = 127}}}},
    {2, {PLAIN, .extent = {{.multiple = 16, .min = 17, .max = 100}}}},
    {2, {PLAIN, .extent = {{.multiple = 16, .min = 32, .max = 111}}}},
    {3, {PLAIN, .address = {.multiple = 16}}},
    {4, {PLAIN, .address = {.multiple = 16}, .stride = {.multiple = 4}}},
    {5, {PLAIN, .extent = {{0}, {.min = 64, .max = 64}}}},
    {6, {CONVERT, .source = "col_major", .destination = "row_major"}},
    {7, {CONVERT, .source = "row_major", .destination = "row_major"}},
    {8, {.kind = LLRT_OP_CONVERT, .from = LLRT_BF16, .to = LLRT_BF16, .destination = "col_major"}},
    {8, {.kind = LLRT_OP_CONVERT, .from = LLRT_F16, .to = LLRT_F16, .destination = "col_major"}},
    {9, {.kind = LLRT_OP_CONVERT, .from = LLRT_F32, .to = LLRT_BF16, .destination = "col_major"}},
    {10, {.kind = LLRT_OP_CONVERT, .from = LLRT_I32, .to = LLRT_BF16, .destination = "col_major"}},
    {11, {PLAIN, .flip = 0x80000000}},
    {12, {PLAIN, .flip = 0x80}},
    {13,
     {.kind = LLRT_OP_REDUCE, .from = LLRT_F32, .to = LLRT_F32, .op = LLRT_COMBINE_SUM, .axes = 1}},
    {14,
     {.kind = LLRT_OP_REDUCE, .from = LLRT_F32, .to = LLRT_F32, .op = LLRT_COMBINE_SUM, .axes = 2}},
    {15,
     {.kind = LLRT_OP_REDUCE, .from = LLRT_F32, .to = LLRT_F32, .op = LLRT_COMBINE_MAX, .axes = 1}},
    {16,
     {.kind = LLRT_OP_REDUCE,
      .from = LLRT_F32,
      .to = LLRT_F32,
      .op = LLRT_COMBINE_SUM,
      .axes = 1,
      .accumulate = LLRT_F64}},
    {17,
     {.kind = LLRT_OP_SCAN, .from = LLRT_F32, .to = LLRT_F32, .op = LLRT_COMBINE_SUM, .axes = 1}},
    {18,
     {.kind = LLRT_OP_SCAN,
      .from = LLRT_F32,
      .to = LLRT_F32,
      .op = LLRT_COMBINE_SUM,
      .axes = 1,
      .exclusive = true}},
    {19,
     {.kind = LLRT_OP_SCAN,
      .from = LLRT_F32,
      .to = LLRT_F32,
      .op = LLRT_COMBINE_SUM,
      .axes = 1,
      .reverse = true}},
};
#define LIST ((int)(sizeof list / sizeof *list))
static const char *const targets[] = {"sm_80", "sm_90a", "gfx942", "x86-64-v3"};
#define TARGETS ((int)(sizeof targets / sizeof *targets))

/* One class: one hash and one plan. Two classes: two hashes, whether the plans differ or not. */
Test(desc_hash, classes) {
  for (int k = 0; k < TARGETS; k++) {
    char *plan[LIST];
    for (int i = 0; i < LIST; i++) plan[i] = plan_of(&list[i].w, targets[k]);
    for (int i = 0; i < LIST; i++)
      for (int j = 0; j < i; j++) {
        bool same =
            llrt_hash_equal(hash_on(&list[i].w, targets[k]), hash_on(&list[j].w, targets[k]));
        cr_expect_eq(same, list[i].class == list[j].class, "%s: lines %d and %d have %s hash",
                     targets[k], i, j, same ? "one" : "no common");
        if (!same) continue;
        cr_expect_eq(!plan[i], !plan[j], "%s: lines %d and %d", targets[k], i, j);
        if (plan[i] && plan[j])
          cr_expect_str_eq(plan[i], plan[j], "%s: lines %d and %d", targets[k], i, j);
      }
    for (int i = 0; i < LIST; i++) llrt_buffer_free(&plan[i]);
  }
}

Test(desc_hash, targets_differ) {
  for (int i = 0; i < TARGETS; i++)
    for (int j = 0; j < i; j++)
      cr_expect(!llrt_hash_equal(hash_on(&list[0].w, targets[i]), hash_on(&list[0].w, targets[j])),
                "%s and %s", targets[i], targets[j]);
}

/* What hashes apart prints apart: the text leaves nothing out. */
Test(desc_hash, text) {
  char *text[LIST];
  for (int i = 0; i < LIST; i++) text[i] = print(&list[i].w);
  for (int i = 0; i < LIST; i++)
    for (int j = 0; j < i; j++)
      if (list[i].class != list[j].class)
        cr_expect_str_neq(text[i], text[j], "lines %d and %d print %s", i, j, text[i]);
  cr_expect_str_eq(text[0], "convert source f32 row_major address by 1; destination f32 col_major "
                            "address by 1");
  for (int i = 0; i < LIST; i++) free(text[i]);
}

/* Products: what they compute is in the hash, the numbers of alpha and beta are not. */
Test(desc_hash, products) {
  const llrt_tensor a = {.dtype = LLRT_BF16, .rank = 2, .shape = {64, 32}},
                    b = {.dtype = LLRT_BF16, .rank = 2, .shape = {32, 48}},
                    d = {.dtype = LLRT_F32, .rank = 2, .shape = {64, 48}};
  const double half = 0.5, third = 1.0 / 3;
  const llrt_dot_params rows[] = {{.size = 0},
                                  {.size = sizeof rows[0], .alpha = &half},
                                  {.size = sizeof rows[0], .alpha = &third},
                                  {.size = sizeof rows[0], .accumulate = LLRT_F64}};
  llrt_hash hash[4];
  for (int i = 0; i < 4; i++) {
    llrt_op_desc *desc;
    cr_assert_eq(llrt_dot_describe(&a, &b, &d, &rows[i], &desc), LLRT_OK, "%s", llrt_last_error());
    cr_assert_eq(llrt_op_desc_hash(desc, "sm_90a", &hash[i]), LLRT_OK, "%s", llrt_last_error());
    llrt_op_desc_destroy(&desc);
  }
  cr_expect(!llrt_hash_equal(hash[0], hash[1]));
  cr_expect(llrt_hash_equal(hash[1], hash[2]));
  cr_expect(!llrt_hash_equal(hash[0], hash[3]));
}

Test(desc_hash, refusals) {
  static built made;
  llrt_hash hash;
  char text[8];
  build(&list[0].w, &made);
  cr_expect_eq(llrt_op_desc_hash(NULL, "sm_90a", &hash), LLRT_INVALID_ARGUMENT);
  cr_expect_eq(llrt_op_desc_hash(&made.desc, NULL, &hash), LLRT_INVALID_ARGUMENT);
  cr_expect_eq(llrt_op_desc_hash(&made.desc, "sm_12", &hash), LLRT_INVALID_ARGUMENT);
  cr_expect_eq(llrt_op_desc_hash(&made.desc, "sm_90a", NULL), LLRT_INVALID_ARGUMENT);
  cr_expect_eq(llrt_op_desc_print(NULL, text, sizeof text, NULL), LLRT_INVALID_ARGUMENT);
  cr_expect_eq(llrt_op_desc_print(&made.desc, NULL, 8, NULL), LLRT_INVALID_ARGUMENT);
  cr_expect_eq(llrt_op_desc_print(&made.desc, text, sizeof text, NULL), LLRT_INVALID_ARGUMENT);
  made.promise[0].shape[0].multiple = -1;
  cr_expect_eq(llrt_op_desc_hash(&made.desc, "sm_90a", &hash), LLRT_INVALID_ARGUMENT);
}

/* "host" is this machine's level. */
Test(desc_hash, host) {
  llrt_device *host;
  llrt_device_info info = {0};
  cr_assert_eq(llrt_device_open(context, "host", NULL, &host), LLRT_OK);
  cr_assert_eq(llrt_device_get_info(host, &info), LLRT_OK);
  cr_expect(llrt_hash_equal(hash_on(&list[0].w, "host"), hash_on(&list[0].w, info.target)));
  llrt_device_close(&host);
}

/* ---- why ---- */

static char *why(const words *w, const char *target) {
  static built made;
  char *text = NULL;
  size_t size;
  build(w, &made);
  cr_assert_eq(llrt_op_compile(context, target, &made.desc, LLRT_EMIT_WHY, &text, &size), LLRT_OK,
               "%s", llrt_last_error());
  cr_expect_eq(strlen(text), size);
  return text;
}

static int count(const char *text, const char *line) {
  int n = 0;
  for (const char *at = text; (at = strstr(at, line)); at++) n++;
  return n;
}

/* Whatever is planned has a line for each variant that was taken, and reasons for the others; what
 * cannot be planned has a reason in the end. Asking changes no plan: hash and question are the
 * same. */
Test(desc_hash, every_plan_says_why) {
  for (int k = 0; k < TARGETS; k++)
    for (int i = 0; i < LIST; i++) {
      char *text = why(&list[i].w, targets[k]), *plan = plan_of(&list[i].w, targets[k]), hash[48];
      llrt_hash own = hash_on(&list[i].w, targets[k]);
      snprintf(hash, sizeof hash, "hash %016llx%016llx\n", (unsigned long long)own.high,
               (unsigned long long)own.low);
      cr_expect(strstr(text, hash), "%s, line %d: %s", targets[k], i, text);
      if (plan) cr_expect_gt(count(text, "\ntaken "), 0, "%s, line %d: %s", targets[k], i, text);
      else cr_expect_eq(count(text, "\nno variant is left: "), 1, "%s, line %d", targets[k], i);
      llrt_buffer_free(&text);
      llrt_buffer_free(&plan);
    }
}
