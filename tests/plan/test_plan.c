/* Plans executed by the interpreter against the storages' own definition: every pair of storages, every
 * target, every width, every exchange that can be had. */
#include "jit/plan/plan.h"
#include "jit/plan/word_turn.h"

#include "base/text.h"
#include "random_layout.h"
#include "tests/storage_walk.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const char *const targets[] = {"sm_80", "sm_90a", "gfx90a", "gfx942", "x86-64-v2",
                                      "x86-64-v3", "x86-64-v4", "aarch64"};
#define FIRST_HOST 4 /* of targets */
static const llrt_dtype widths[] = {LLRT_B4, LLRT_B8, LLRT_B16, LLRT_B32, LLRT_B64, LLRT_B128};

typedef struct pair {
  llrt_storage storage[2];
  int64_t shape[2], strides[2][2];
} pair;

/* One conversion; buffers are guarded by the interpreter's span checks. */
typedef struct conversion {
  llrt_op_desc desc;
  llrt_storage_binding binding[2];
  size_t bytes[2];
} conversion;

/* False where the bytes of 4-bit elements cannot be moved whole. */
static bool fill_conversion(const pair *p, llrt_dtype dtype, conversion *c) {
  memset(c, 0, sizeof *c);
  c->desc.kind = LLRT_OP_CONVERT;
  c->desc.n_tensors = 2;
  for (int t = 0; t < 2; t++) {
    llrt_tensor *tensor = &c->desc.tensors[t];
    *tensor = (llrt_tensor){.dtype = dtype, .rank = 2, .storage = &p->storage[t]};
    memcpy(tensor->shape, p->shape, sizeof p->shape);
    memcpy(tensor->strides, p->strides[t], sizeof p->strides[t]);
    cr_assert_eq(llrt_storage_bind(&p->storage[t], 2, p->shape, p->strides[t], &c->binding[t]),
                 LLRT_OK, "%s", llrt_last_error());
    c->bytes[t] = ((size_t)c->binding[t].span * (size_t)llrt_dtype_bits(dtype) + 7) / 8;
    tensor->data = aligned_alloc(256, (c->bytes[t] + 511) / 256 * 256);
  }
  llrt_status status = llrt_op_promise_coarse(&c->desc);
  if (status == LLRT_UNSUPPORTED && dtype == LLRT_B4) return false;
  cr_assert_eq(status, LLRT_OK, "%s", llrt_last_error());
  return true;
}

static void free_conversion(conversion *c) {
  for (int t = 0; t < 2; t++) free(c->desc.tensors[t].data);
}

static void fill_source(conversion *c, uint64_t *seed) {
  unsigned char *source = c->desc.tensors[0].data;
  for (size_t i = 0; i < c->bytes[0]; i++) source[i] = (unsigned char)(test_random(seed) >> 56);
}

#define UNTOUCHED 0xA5 /* what every byte of a destination is before */

/* Copies element `from` of one array (NULL: the number `otherwise`) to element `to` of another. */
static void put_element(unsigned char *into, int64_t to, const unsigned char *array, int64_t from,
                        uint64_t otherwise, int bits) {
  uint64_t element[2] = {otherwise};
  if (bits < 8) {
    int shift = (int)(to % 2) * 4;
    if (array) element[0] = array[from / 2] >> from % 2 * 4;
    into[to / 2] = (unsigned char)((into[to / 2] & ~(15 << shift)) | (int)(element[0] & 15) << shift);
    return;
  }
  if (array) memcpy(element, array + from * bits / 8, (size_t)bits / 8);
  memcpy(into + to * bits / 8, element, (size_t)bits / 8);
}

/* Counts bytes of the destination that do not hold what they must: elements in every copy, pads as the
 * rule says, and elsewhere what was there. */
static int64_t wrong_places(const pair *p, const conversion *c) {
  int bits = llrt_dtype_bits(c->desc.tensors[0].dtype);
  const llrt_storage *into = &p->storage[1];
  unsigned char *expected = malloc(c->bytes[1] + 1);
  storage_walk walk;
  int64_t wrong = 0;
  memset(expected, UNTOUCHED, c->bytes[1]);
  storage_walk_begin(&walk, into, &c->binding[1]);
  do {
    bool element = storage_walk_is_element(&walk, p->shape);
    if (!element && into->pad != LLRT_PAD_VALUE) continue;
    int64_t from = element ? llrt_storage_offset(&p->storage[0], &c->binding[0], walk.coords) : 0;
    put_element(expected, walk.place, element ? c->desc.tensors[0].data : NULL, from,
                into->pad_value, bits);
  } while (storage_walk_next(&walk));
  for (size_t i = 0; i < c->bytes[1]; i++)
    wrong += ((const unsigned char *)c->desc.tensors[1].data)[i] != expected[i];
  free(expected);
  return wrong;
}

static void explain_failure(const plan *made, int variant) {
  llrt_text text;
  llrt_text_init(&text);
  plan_print(made, &text);
  fprintf(stderr, "variant %d of\n%s\n", variant, text.data ? text.data : "");
  llrt_text_fini(&text);
}

/* Whether a width may be more than a storage of the pair allows. */
static bool may_refuse(const pair *p, llrt_dtype dtype) {
  return dtype == LLRT_B4 || (dtype == LLRT_B128 && p->storage[1].pad_value != 0);
}

static bool stream; /* whether hosts move everything as large tensors */

/* Plans and runs every variant that takes the shape; returns how many ran. */
static int check_pair(const pair *p, const char *target_name, llrt_dtype dtype,
                      plan_exchange exchange, const char *what) {
  static plan made;
  plan_target target;
  conversion c;
  uint64_t seed = 0x9E3779B97F4A7C15ull;
  int ran = 0;
  plan_options options = {.exchange = exchange, .stream = stream};
  if (!fill_conversion(p, dtype, &c)) {
    free_conversion(&c);
    return 0;
  }
  cr_assert_eq(plan_target_find(target_name, &target), LLRT_OK);
  llrt_status status = plan_make(&c.desc, &target, &options, &made);
  if (status == LLRT_UNSUPPORTED && (exchange != PLAN_EXCHANGE_AUTO || may_refuse(p, dtype))) {
    free_conversion(&c);
    return 0;
  }
  cr_assert_eq(status, LLRT_OK, "%s on %s: %s", what, target_name, llrt_last_error());
  for (int v = 0; v < made.n_variants; v++) {
    /* A kernel is right outside its range too, wherever it can launch. */
    fill_source(&c, &seed);
    memset(c.desc.tensors[1].data, UNTOUCHED, c.bytes[1]);
    status = plan_interpret(&made.variant[v], c.desc.tensors, c.binding, 2);
    if (status != LLRT_OK || wrong_places(p, &c) != 0) explain_failure(&made, v);
    cr_assert_eq(status, LLRT_OK, "%s, %s, %s: %s", what, target_name, llrt_dtype_name(dtype),
                 llrt_last_error());
    cr_assert_eq(wrong_places(p, &c), 0, "%s, %s, %s, variant %d, exchange %d: %lld wrong", what,
                 target_name, llrt_dtype_name(dtype), v, exchange,
                 (long long)wrong_places(p, &c));
    ran++;
  }
  free_conversion(&c);
  return ran;
}

typedef struct text_pair {
  const char *source, *destination;
  int64_t shape[2];
} text_pair;

#define BLOCKED \
  "blocked(size_per_thread=[1,8], threads_per_warp=[4,8], warps_per_cta=[4,1], order=[1,0])"
#define MMA "nvmma(version=[2,0], warps_per_cta=[2,2], instr_shape=[16,8])"
#define DOT_A "dot(operand=0, k_width=2, parent=" MMA ")"
#define DOT_B "dot(operand=1, k_width=2, parent=" MMA ")"

static const text_pair pairs[] = {
    {"row_major", "col_major", {64, 128}},
    {"row_major", "col_major", {128, 32}},
    {"col_major", "row_major", {33, 65}},
    {"row_major", "row_major", {64, 64}},
    {"row_major", "col_major", {1, 1}},
    {"row_major", "col_major", {200, 3}},
    {"strided([80,1])", "col_major", {32, 64}},
    {"strided([77,1])", "strided([1,100])", {70, 66}},
    {"strided([0,1])", "row_major", {16, 64}},
    {"strided([3,200])", "row_major", {64, 64}},
    {"row_major", BLOCKED, {64, 64}},
    {BLOCKED, "row_major", {32, 128}},
    {"row_major", MMA, {32, 32}},
    {MMA, "col_major", {64, 64}},
    {"row_major", DOT_A, {32, 64}},
    {"row_major", DOT_B, {64, 32}},
    {DOT_A, "row_major", {32, 64}},
    {BLOCKED, MMA, {64, 64}},
    {MMA, DOT_A, {64, 64}},
    {"slice(dim=0, parent=blocked(size_per_thread=[1,1,2], threads_per_warp=[2,4,4], "
     "warps_per_cta=[2,1,1], order=[2,1,0]))",
     "row_major",
     {16, 32}},
    {"row_major",
     "slice(dim=0, parent=blocked(size_per_thread=[1,1,2], threads_per_warp=[2,4,4], "
     "warps_per_cta=[2,1,1], order=[2,1,0]))",
     {16, 32}},
    {"{offset: [[0,1],[1,1],[2,0],[0,2],[4,4],[0,4]]} -> [dim0:8, dim1:8]", "row_major", {8, 8}},
    {"row_major", "{offset: []} -> [dim0:1, dim1:1]", {1, 1}},
    {"row_major", "{offset: [[1,0],[0,0],[0,1]]} -> [dim0:2, dim1:2]", {2, 2}},
};

/* What is more than digits of powers of two: one width a target each. */
static const text_pair general_pairs[] = {
    /* offsets and replicas */
    {"storage(digits=[dim1: rest, dim0: rest], offset=[3])", "col_major", {64, 72}},
    {"row_major", "storage(digits=[dim1: rest, dim0: rest], offset=[7])", {40, 64}},
    {"row_major", "storage(digits=[dim1: rest, replica: 2, dim0: rest])", {33, 64}},
    {"row_major", "storage(digits=[replica: 3, dim0: rest, dim1: rest, replica: 2])", {20, 30}},
    {"storage(digits=[dim1: rest, replica: 3, dim0: rest, replica: 2])", "row_major", {20, 64}},
    /* digits above ones that are no powers of two */
    {"storage(digits=[dim1: rest, dim0: 45, dim0: 2])",
     "storage(digits=[dim1: rest, dim0: 2 @ 32, dim0: 45 @ 64])", {90, 32}},
    {"row_major", "storage(digits=[dim1: 48, dim0: rest, dim1: rest])", {24, 96}},
    {"storage(digits=[dim1: 48, dim0: rest, dim1: rest])", "col_major", {70, 144}},
    {"storage(digits=[dim0: 45, dim0: 8, dim1: rest])",
     "storage(digits=[dim0: 8 @ 45, dim0: 45 @ 1, dim1: rest @ 360])", {360, 16}},
    {"storage(digits=[dim0: 3, dim1: 5, dim0: rest, dim1: rest])", "row_major", {51, 85}},
    {"storage(digits=[dim0: 5, dim1: 64, dim0: 64])",
     "storage(digits=[dim0: 64, dim1: 64, dim0: 5])", {320, 64}},
    {"padded_shared(interval_padding=[[64,8]], order=[1,0])", "col_major", {32, 64}},
    /* pads */
    {"row_major", "scale_128x4", {130, 6}},
    {"row_major", "scale_128x4", {131, 90}},
    {"scale_128x4", "row_major", {131, 90}},
    {"scale_128x4", "scale_8x4", {131, 30}},
    {"scale_8x4(pad=17)", "scale_128x4(pad=3)", {60, 9}},
    {"row_major", "torchao_w4", {48, 66}},
    {"torchao_w4", "col_major", {34, 40}},
    {"row_major", "aiter_scale", {40, 11}},
    {"row_major", "aiter_scale", {161, 90}},
    {"col_major", "scale_128x4(pad=keep)", {140, 6}},
    {"row_major", "storage(digits=[dim1: 16, dim0: 32], pad=9)", {20, 11}},
    {"storage(digits=[dim1: 16, dim0: 32], pad=keep)", "col_major", {20, 11}},
    {"row_major", "storage(digits=[dim1: 48, dim0: rest, dim1: rest], pad=1)", {17, 100}},
    {"storage(digits=[dim1: 48, dim0: rest, dim1: rest], pad=0)",
     "storage(digits=[dim1: 32, dim0: 4, dim1: rest, dim0: rest], pad=5)", {17, 100}},
    /* digits that count down */
    {"row_major", "storage(digits=[dim1: rest, dim0: 2 reversed, dim0: rest])", {24, 40}},
    {"storage(digits=[dim1: rest reversed, dim0: rest])", "col_major", {33, 64}},
    {"row_major", "storage(digits=[dim1: 48 reversed, dim0: rest reversed, dim1: rest], pad=3)",
     {17, 90}},
    {"storage(digits=[dim0: 45 reversed, dim0: 64, dim1: rest])",
     "storage(digits=[dim0: 64, dim0: 45 reversed, dim1: rest])", {2880, 2}},
    /* rows of whole vectors that change places: NHD to HND of five heads of 80 */
    {"storage(digits=[dim1: 80, dim0: 5, dim0: 16, dim0: rest])",
     "storage(digits=[dim1: 80, dim0: 5 @ 1280, dim0: 16 @ 80, dim0: rest @ 6400])", {160, 80}},
    {"storage(digits=[dim1: 80, dim0: 5, dim0: rest])", "storage(digits=[dim1: 16, dim0: rest, dim1: 5])", {55, 80}},
    {"storage(digits=[dim1: 80, dim0: 5, dim0: rest], offset=[8])",
     "storage(digits=[dim1: 80, dim0: 5 @ 880, dim0: rest @ 80])", {55, 80}},
    /* swizzles of carrying sums */
    {"row_major", "storage(digits=[dim1: rest, dim0: rest], swizzle=[0,2,5])", {33, 40}},
    {"storage(digits=[dim1: rest, dim0: rest], swizzle=[3,3,3])", "col_major", {70, 64}},
    {"row_major", "storage(digits=[dim1: rest, dim0: rest @ 72], offset=[8], swizzle=[3,2,4])", {64, 64}},
    {"row_major", "storage(digits=[dim1: 64, dim0: 64], swizzle=[3,3,6])", {64, 64}},
};

/* Rows that begin anywhere: every width, so that pitches are 1, 2, 4 ... bytes off a whole vector. */
static const text_pair row_pairs[] = {
    {"strided([301,1])", "strided([1,301])", {130, 300}},
    {"strided([301,1])", "strided([307,1])", {20, 300}},
    {"row_major", "col_major", {129, 135}},
    {"storage(digits=[dim1: rest, dim0: rest], offset=[5])", "storage(digits=[dim0: rest, dim1: rest], offset=[3])",
     {67, 141}},
    {"storage(digits=[dim1: rest reversed, dim0: rest])", "strided([1,71])", {70, 203}},
    {"storage(digits=[dim1: rest, dim0: rest reversed])", "col_major", {70, 203}},
    {"row_major", "storage(digits=[dim0: 64, dim1: rest, dim0: rest], pad=7)", {90, 203}},
    {"storage(digits=[dim0: 64, dim1: rest, dim0: rest], pad=7)", "row_major", {90, 203}},
    {"strided([2049,1])", "row_major", {3, 2049}},
};

static void parse_pair(const text_pair *text, pair *p) {
  memset(p, 0, sizeof *p);
  memcpy(p->shape, text->shape, sizeof p->shape);
  const char *const expressions[] = {text->source, text->destination};
  for (int t = 0; t < 2; t++)
    cr_assert_eq(llrt_storage_parse(expressions[t], 2, text->shape, &p->storage[t]), LLRT_OK,
                 "%s: %s", expressions[t], llrt_last_error());
}

Test(plan, every_pair_on_every_target) {
  int ran = 0;
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    pair p;
    char what[64];
    parse_pair(&pairs[i], &p);
    snprintf(what, sizeof what, "pair %zu", i);
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++)
      for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (int exchange = 0; exchange <= PLAN_EXCHANGE_MATRIX; exchange++)
          ran += check_pair(&p, targets[t], widths[w], (plan_exchange)exchange, what);
  }
  cr_assert_geq(ran, 1800, "only %d plans ran", ran);
}

Test(plan, general_pairs_on_every_target) {
  for (size_t i = 0; i < sizeof general_pairs / sizeof *general_pairs; i++) {
    pair p;
    parse_pair(&general_pairs[i], &p);
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
      llrt_dtype width = widths[(i + t) % (sizeof widths / sizeof *widths)];
      check_pair(&p, targets[t], width, PLAN_EXCHANGE_AUTO, general_pairs[i].destination);
      stream = true;
      if (t >= FIRST_HOST) check_pair(&p, targets[t], width, PLAN_EXCHANGE_AUTO, general_pairs[i].destination);
      stream = false;
    }
  }
}

Test(plan, odd_rows_on_every_target) {
  for (size_t i = 0; i < sizeof row_pairs / sizeof *row_pairs; i++) {
    pair p;
    parse_pair(&row_pairs[i], &p);
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++)
      for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        check_pair(&p, targets[t], widths[w], PLAN_EXCHANGE_AUTO, row_pairs[i].source);
  }
}

/* Whole vectors, on the edges too, but for elements of 64 bits on NVIDIA, which are as wide as narrow ones. */
Test(plan, odd_rows_keep_wide_accesses) {
  static plan made;
  for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
    for (int width = 1; width < 4; width++) {
      pair p = {.shape = {1031, 1055}};
      conversion c;
      plan_target target;
      cr_assert_eq(llrt_storage_parse("row_major", 2, NULL, &p.storage[0]), LLRT_OK);
      cr_assert_eq(llrt_storage_parse("col_major", 2, NULL, &p.storage[1]), LLRT_OK);
      fill_conversion(&p, widths[width], &c);
      cr_assert_eq(plan_target_find(targets[t], &target), LLRT_OK);
      cr_assert_eq(plan_make(&c.desc, &target, NULL, &made), LLRT_OK);
      const plan_kernel *kernel = &made.variant[0];
      for (int i = 0; i < kernel->n_steps && !target.lanes_first; i++)
        if (kernel->step[i].kind == PLAN_LOAD || kernel->step[i].kind == PLAN_STORE)
          cr_expect_eq(llrt_dtype_bits(widths[width]) << kernel->step[i].vector, 128, "%s, step %d",
                       targets[t], i);
      free_conversion(&c);
    }
  }
}

/* Where tiles would overhang rows of whole vectors, one kernel moves those in the destination's order. (Elements of
 * 4 bits have a digit of their own for the two of a byte.) */
Test(plan, whole_vectors_of_short_rows) {
  static const text_pair kv = {"storage(digits=[dim1: 80, dim0: 5, dim0: 16, dim0: rest])",
                               "storage(digits=[dim1: 80, dim0: 5 @ 1280, dim0: 16 @ 80, dim0: rest @ 6400])",
                               {160, 80}};
  static const char *const gpus[] = {"sm_80", "sm_90a", "gfx942"};
  static plan made;
  for (size_t t = 0; t < sizeof gpus / sizeof *gpus; t++)
    for (size_t w = 1; w < sizeof widths / sizeof *widths - 1; w++) {
      pair p;
      conversion c;
      plan_target target;
      parse_pair(&kv, &p);
      cr_assert(fill_conversion(&p, widths[w], &c));
      cr_assert_eq(plan_target_find(gpus[t], &target), LLRT_OK);
      cr_assert_eq(plan_make(&c.desc, &target, NULL, &made), LLRT_OK, "%s", llrt_last_error());
      const plan_kernel *kernel = &made.variant[0];
      cr_expect(kernel->flat, "%s, %s", gpus[t], llrt_dtype_name(widths[w]));
      cr_expect_eq(made.n_variants, 1);
      cr_expect_eq(llrt_dtype_bits(widths[w]) << kernel->step[0].vector, 128, "%s, %s", gpus[t],
                   llrt_dtype_name(widths[w]));
      free_conversion(&c);
    }
}

static uint64_t seed_of_run(void) {
  const char *text = getenv("LLRT_TEST_SEED");
  return text ? strtoull(text, NULL, 0) : 20260101;
}

/* Pads that stay as they are: a GPU's edges store what is inside of an access that pads part, and all other accesses
 * whole. */
Test(plan, kept_pads_part_wide_stores) {
  static const text_pair scales = {"row_major", "aiter_scale", {128, 90}};
  static const char *const gpus[] = {"sm_80", "sm_90a", "gfx942"};
  static plan made;
  uint64_t seed = seed_of_run();
  for (size_t t = 0; t < sizeof gpus / sizeof *gpus; t++) {
    pair p;
    conversion c;
    plan_target target;
    bool parted = false;
    parse_pair(&scales, &p);
    cr_assert(fill_conversion(&p, LLRT_U8, &c));
    for (int a = 0; a < 2; a++) c.desc.promises[0].shape[a].min = c.desc.promises[0].shape[a].max = p.shape[a];
    cr_assert_eq(plan_target_find(gpus[t], &target), LLRT_OK);
    cr_assert_eq(plan_make(&c.desc, &target, NULL, &made), LLRT_OK, "%s", llrt_last_error());
    const plan_kernel *kernel = &made.variant[0];
    for (int i = 0; i < kernel->n_steps; i++) {
      if (kernel->step[i].kind != PLAN_STORE) continue;
      parted |= kernel->step[i].parted;
      cr_expect_eq(kernel->step[i].vector, 4, "%s, step %d", gpus[t], i);
    }
    cr_expect(parted, "%s", gpus[t]);
    fill_source(&c, &seed);
    memset(c.desc.tensors[1].data, UNTOUCHED, c.bytes[1]);
    cr_expect_eq(plan_interpret(kernel, c.desc.tensors, c.binding, 2), LLRT_OK, "%s", llrt_last_error());
    cr_expect_eq(wrong_places(&p, &c), 0, "%s", gpus[t]);
    free_conversion(&c);
  }
}

static void random_pairs(bool permutation, uint64_t seed) {
  printf("seed %llu\n", (unsigned long long)seed);
  for (int round = 0; round < 24; round++) {
    pair p = {.shape = {0}};
    int bits0 = (int)(test_random(&seed) % 7), bits1 = (int)(test_random(&seed) % 7);
    char what[64];
    snprintf(what, sizeof what, "round %d", round);
    p.shape[0] = (int64_t)1 << bits0;
    p.shape[1] = (int64_t)1 << bits1;
    for (int t = 0; t < 2; t++)
      test_random_storage(&seed, bits0, bits1, permutation, &p.storage[t]);
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++)
      for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        check_pair(&p, targets[t], widths[w], PLAN_EXCHANGE_AUTO, what);
  }
}

/* Tiles in two loops, regions, on hosts. */
static void random_regions(bool permutation, uint64_t seed) {
  printf("seed %llu\n", (unsigned long long)seed);
  stream = true;
  for (int round = 0; round < 6; round++) {
    pair p = {.shape = {0}};
    int bits0 = 6 + (int)(test_random(&seed) % 3), bits1 = 6 + (int)(test_random(&seed) % 3);
    char what[64];
    snprintf(what, sizeof what, "region, round %d", round);
    p.shape[0] = (int64_t)1 << bits0;
    p.shape[1] = (int64_t)1 << bits1;
    for (int t = 0; t < 2; t++)
      test_random_storage(&seed, bits0, bits1, permutation, &p.storage[t]);
    for (size_t t = FIRST_HOST; t < sizeof targets / sizeof *targets; t++)
      for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        check_pair(&p, targets[t], widths[w], PLAN_EXCHANGE_AUTO, what);
  }
  stream = false;
}

Test(plan, random_regions) {
  random_regions(true, seed_of_run());
  random_regions(false, seed_of_run());
}
/* Steps of a kind in any variant. */
static int count_kind(const plan *made, plan_step_kind kind) {
  int n = 0;
  for (int v = 0; v < made->n_variants; v++)
    for (int i = 0; i < made->variant[v].n_steps; i++) n += made->variant[v].step[i].kind == kind;
  return n;
}

/* Rows that are no powers of two are collected by hosts, in one tile or several, where they follow each other, and
 * long ones that begin anywhere in a line. Each is run. */
Test(plan, rows_are_collected) {
  static const struct {
    text_pair text;
    int widths; /* bit w: width w is collected */
  } rows[] = {
      {{"row_major", "storage(digits=[dim1: 48, dim0: 256, dim1: rest])", {256, 96}}, 6},
      {{"col_major", "storage(digits=[dim1: 48, dim0: 256, dim1: rest])", {256, 96}}, 6},
      {{"row_major", "storage(digits=[dim1: 24, dim0: 256, dim1: rest])", {256, 72}}, 14},
      {{"col_major", "storage(digits=[dim1: 12, dim0: 256, dim1: rest])", {256, 36}}, 30},
      {{"row_major", "storage(digits=[dim1: 48, dim0: 256, dim1: rest], pad=1)", {256, 100}}, 6},
      {{"col_major", "storage(digits=[dim1: 48, dim0: 256, dim1: rest], offset=[64])", {256, 96}}, 6},
      {{"col_major", "storage(digits=[dim1: 48, dim0: 256, dim1: rest], offset=[8])", {256, 96}}, 6},
      {{"col_major", "storage(digits=[dim1: 48, dim0: 256, dim1: rest], offset=[1])", {256, 96}}, 0},
      {{"col_major", "storage(digits=[dim1: 48, dim0: 256 @ 52, dim1: rest])", {256, 96}}, 0},
      {{"col_major", "storage(digits=[dim1: 48, dim0: 256, dim1: rest], pad=keep)", {256, 100}}, 0},
      {{"row_major", "storage(digits=[dim1: 512, dim0: 16 @ 528, dim1: rest], offset=[16])", {16, 1024}}, 6},
      {{"row_major", "storage(digits=[dim1: 32 @ 16, dim0: 16 @ 1, dim0: 8 @ 544], offset=[8])", {128, 32}}, 14},
      {{"row_major", "storage(digits=[dim1: 64, dim0: 64 @ 80, dim1: rest], offset=[16])", {64, 128}}, 0},
  };
  static plan made;
  stream = true;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (size_t t = FIRST_HOST; t < sizeof targets / sizeof *targets; t++)
      for (size_t w = 1; w < 5; w++) {
        pair p;
        conversion c;
        plan_target target;
        plan_options options = {.stream = true};
        parse_pair(&rows[i].text, &p);
        fill_conversion(&p, widths[w], &c);
        cr_assert_eq(plan_target_find(targets[t], &target), LLRT_OK);
        cr_assert_eq(plan_make(&c.desc, &target, &options, &made), LLRT_OK, "%s", llrt_last_error());
        free_conversion(&c);
        cr_expect_eq(count_kind(&made, PLAN_COLLECT), rows[i].widths >> w & 1, "row %zu, %s, %s", i, targets[t],
                     llrt_dtype_name(widths[w]));
        check_pair(&p, targets[t], widths[w], PLAN_EXCHANGE_AUTO, rows[i].text.destination);
      }
  stream = false;
}

Test(plan, random_permutations) { random_pairs(true, seed_of_run()); }

Test(plan, random_matrices) { random_pairs(false, seed_of_run()); }

/* However elements of its runs spread over words, a matrix's source is loaded by whole sectors, unless all that a word
 * takes from outside of a vector is in a sector's other half, as it is in none of these. */
Test(plan, random_matrices_load_whole_sectors) {
  static const char *const gpus[] = {"sm_80", "sm_90a", "gfx942"};
  static plan made;
  uint64_t seed = 20260101;
  int turned = 0;
  for (int round = 0; round < 8; round++) {
    pair p = {.shape = {1 << 9, 1 << 8}};
    cr_assert_eq(llrt_storage_parse("row_major", 2, NULL, &p.storage[0]), LLRT_OK);
    test_random_storage(&seed, 9, 8, false, &p.storage[1]);
    for (size_t t = 0; t < sizeof gpus / sizeof *gpus; t++)
      for (size_t w = 1; w < 3; w++) {
        conversion c;
        plan_target target;
        fill_conversion(&p, widths[w], &c);
        cr_assert_eq(plan_target_find(gpus[t], &target), LLRT_OK);
        cr_assert_eq(plan_make(&c.desc, &target, NULL, &made), LLRT_OK, "%s", llrt_last_error());
        free_conversion(&c);
        const plan_kernel *kernel = &made.variant[0];
        if (kernel->cost.load_sectors > kernel->cost.min_sectors) explain_failure(&made, 0);
        cr_expect_eq(kernel->cost.load_sectors, kernel->cost.min_sectors, "round %d, %s, %s: %d of %d sectors", round,
                     gpus[t], llrt_dtype_name(widths[w]), kernel->cost.load_sectors, kernel->cost.min_sectors);
        plan_word_turn turn;
        for (int i = 0; i < kernel->n_steps; i++) {
          const plan_step *step = &kernel->step[i];
          if (step->kind == PLAN_SHUFFLE)
            turned += plan_word_turn_of(&kernel->value[step->in], &kernel->value[step->out], &turn);
        }
        if (round == 0) check_pair(&p, gpus[t], widths[w], PLAN_EXCHANGE_AUTO, "whole sectors");
      }
  }
  cr_expect_gt(turned, 0);
}

/* Rows of the source that lie far apart are read in bands, where the destination's runs are long; a pitch that only a run
 * knows is looked at there. */
Test(plan, far_rows_are_read_in_bands) {
  static const struct {
    const char *target;
    text_pair text;
    int width; /* number in widths */
    bool banded;
  } rows[] = {
      {"sm_90a", {"row_major", "col_major", {96, 1100}}, 4, true},
      {"sm_90a", {"strided([49152,1])", "col_major", {96, 330}}, 4, true},
      {"sm_90a", {"strided([16640,1])", "col_major", {96, 330}}, 4, false},
      {"sm_90a", {"strided([393216,1])", "col_major", {96, 330}}, 1, false},
      {"sm_90a", {"strided([24576,1])", "col_major", {96, 320}}, 5, true},
      {"sm_80", {"strided([49152,1])", "col_major", {96, 330}}, 4, false},
      {"gfx942", {"strided([49152,1])", "col_major", {96, 330}}, 4, false},
  };
  static plan made;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    pair p;
    conversion c;
    plan_target target;
    parse_pair(&rows[i].text, &p);
    cr_assert(fill_conversion(&p, widths[rows[i].width], &c));
    cr_assert_eq(plan_target_find(rows[i].target, &target), LLRT_OK);
    cr_assert_eq(plan_make(&c.desc, &target, NULL, &made), LLRT_OK, "%s", llrt_last_error());
    free_conversion(&c);
    cr_expect_eq(made.variant[0].band > 0, rows[i].banded, "row %zu", i);
    check_pair(&p, rows[i].target, widths[rows[i].width], PLAN_EXCHANGE_AUTO, "far rows");
  }
}

/* Run-time strides: one class for every pitch. */
Test(plan, runtime_strides) {
  pair p = {.shape = {40, 72}, .strides = {{96, 1}, {1, 64}}};
  for (int t = 0; t < 2; t++)
    cr_assert_eq(llrt_storage_strided(2, NULL, &p.storage[t]), LLRT_OK);
  for (size_t t = 0; t < sizeof targets / sizeof *targets; t++)
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
      check_pair(&p, targets[t], widths[w], PLAN_EXCHANGE_AUTO, "run-time strides");
}

Test(plan, magic_division) {
  static const int64_t numbers[] = {1, 2, 3, 5, 7, 64, 641, 1000003, (1ll << 31) - 1, 1ll << 40,
                                    (1ll << 62) - 1};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    uint64_t m, shift;
    plan_magic(numbers[i], &m, &shift);
    for (size_t j = 0; j < sizeof numbers / sizeof *numbers; j++) {
      for (int64_t k = -2; k <= 2; k++) {
        int64_t n = numbers[j] / 2 * 3 + k;
        if (n < 0) continue;
        uint64_t high = (uint64_t)((unsigned __int128)(2 * (uint64_t)n) * m >> 64);
        cr_assert_eq((int64_t)(high >> shift), n / numbers[i]);
      }
    }
  }
}

/* 2^10 to 2^20 rows use at most two kernels. */
Test(plan, rows_do_not_make_kernels) {
  static plan made;
  plan_target target;
  for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
    for (int columns = 1; columns <= 4096; columns *= 4) {
      unsigned used = 0;
      cr_assert_eq(plan_target_find(targets[t], &target), LLRT_OK);
      llrt_op_desc desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2};
      llrt_storage storage[2];
      llrt_storage_row_major(2, &storage[0]);
      llrt_storage_col_major(2, &storage[1]);
      for (int i = 0; i < 2; i++)
        desc.tensors[i] = (llrt_tensor){.dtype = LLRT_BF16, .rank = 2, .storage = &storage[i]};
      cr_assert_eq(plan_make(&desc, &target, NULL, &made), LLRT_OK);
      for (int rows = 10; rows <= 20; rows++) {
        int64_t shape[] = {(int64_t)1 << rows, columns};
        int v = 0;
        while (!plan_range_contains(&made.variant[v].launch.range, 2, shape)) v++;
        cr_assert_lt(v, made.n_variants);
        used |= 1u << v;
      }
      cr_assert_leq(__builtin_popcount(used), 2, "%s, %d columns", targets[t], columns);
    }
  }
}

/* A bit that the destination's words need in registers, but that completes the source's sectors, is a lane. */
Test(plan, loads_are_whole_sectors) {
  static const struct {
    const char *source, *destination;
    llrt_dtype dtype;
  } cases[] = {{"marlin_scales", "row_major", LLRT_B16},
               {"row_major", "marlin_scales", LLRT_B16},
               {"hipblaslt_col16_4r8", "row_major", LLRT_B16},
               {"hipblaslt_col16_4r16", "row_major", LLRT_B8},
               {"hopper_value_mma3", "row_major", LLRT_B8},
               {"hipblaslt_col16_4r32", "row_major", LLRT_B4},
               {"machete_mma8", "row_major", LLRT_B4}};
  static plan made;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    pair p = {.shape = {1024, 1024}};
    conversion c;
    cr_assert_eq(llrt_storage_parse(cases[i].source, 2, NULL, &p.storage[0]), LLRT_OK);
    cr_assert_eq(llrt_storage_parse(cases[i].destination, 2, NULL, &p.storage[1]), LLRT_OK);
    fill_conversion(&p, cases[i].dtype, &c);
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
      plan_target target;
      cr_assert_eq(plan_target_find(targets[t], &target), LLRT_OK);
      if (target.lanes_first) continue;
      cr_assert_eq(plan_make(&c.desc, &target, NULL, &made), LLRT_OK, "%s", llrt_last_error());
      const plan_cost *cost = &made.variant[0].cost;
      cr_expect_eq(cost->load_sectors, cost->min_sectors, "%s, %s: %d sectors loaded, at least %d",
                   cases[i].source, targets[t], cost->load_sectors, cost->min_sectors);
    }
    free_conversion(&c);
  }
}

/* Scale factors of a narrow matrix run tiled, in a kernel that most of its tile's threads work in. */
Test(plan, thin_shapes_run_tiled) {
  static plan made;
  const int64_t shape[] = {131072, 90};
  pair p = {.shape = {256, 90}};
  conversion c;
  cr_assert_eq(llrt_storage_row_major(2, &p.storage[0]), LLRT_OK);
  cr_assert_eq(llrt_storage_parse("scale_128x4", 2, NULL, &p.storage[1]), LLRT_OK);
  fill_conversion(&p, LLRT_B8, &c);
  for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
    plan_target target;
    int v = 0;
    cr_assert_eq(plan_target_find(targets[t], &target), LLRT_OK);
    cr_assert_eq(plan_make(&c.desc, &target, NULL, &made), LLRT_OK, "%s", llrt_last_error());
    while (!plan_range_contains(&made.variant[v].launch.range, 2, shape)) v++;
    cr_assert(!made.variant[v].flat, "%s", targets[t]);
  }
  free_conversion(&c);
}

/* A tile of the widest vectors on both sides may be too big for a block; stores stay whole lines. */
Test(plan, host_stores_whole_vectors) {
  for (int width = 0; width < 4; width++) {
    pair p = {.shape = {256, 256}};
    conversion c;
    plan_target target;
    plan made;
    cr_assert_eq(llrt_storage_parse("row_major", 2, NULL, &p.storage[0]), LLRT_OK);
    cr_assert_eq(llrt_storage_parse("col_major", 2, NULL, &p.storage[1]), LLRT_OK);
    fill_conversion(&p, widths[width], &c);
    cr_assert_eq(plan_target_find("x86-64-v4", &target), LLRT_OK);
    cr_assert_eq(plan_make(&c.desc, &target, NULL, &made), LLRT_OK);
    const plan_kernel *kernel = &made.variant[0];
    for (int i = 0; i < kernel->n_steps; i++)
      if (kernel->step[i].kind == PLAN_STORE && !kernel->step[i].masked)
        cr_expect_eq(llrt_dtype_bits(widths[width]) << kernel->step[i].vector, 512);
    free_conversion(&c);
  }
}

/* Edges of the host's transposes move registers under masks between the shuffles that other tiles have: none is there twice. */
Test(plan, host_edges_share_shuffles) {
  static plan made;
  for (int width = 1; width < 4; width++) {
    pair p = {.shape = {1031, 1055}};
    conversion c;
    plan_target target;
    cr_assert_eq(llrt_storage_parse("row_major", 2, NULL, &p.storage[0]), LLRT_OK);
    cr_assert_eq(llrt_storage_parse("col_major", 2, NULL, &p.storage[1]), LLRT_OK);
    fill_conversion(&p, widths[width], &c);
    cr_assert_eq(plan_target_find("x86-64-v4", &target), LLRT_OK);
    cr_assert_eq(plan_make(&c.desc, &target, NULL, &made), LLRT_OK);
    const plan_kernel *kernel = &made.variant[0];
    int masked = 0;
    uint64_t shuffled[2] = {0};
    for (int i = 0; i < kernel->n_steps; i++) {
      const plan_step *step = &kernel->step[i];
      masked += step->masked;
      if (step->kind != PLAN_SHUFFLE) continue;
      cr_expect(!(shuffled[step->in / 64] >> step->in % 64 & 1), "width %d: step %d", width, i);
      shuffled[step->in / 64] |= 1ull << step->in % 64;
    }
    cr_expect_eq(masked, 2);
    free_conversion(&c);
  }
}

/* More than 2^32 elements apart: addresses in a sparse mapping of which a few pages are touched. */
Test(plan, strides_beyond_32_bits) {
  static plan made;
  pair p = {.shape = {3, 160}, .strides = {{(1ll << 32) + 64, 1}, {1, 1ll << 25}}};
  for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
    plan_target target;
    llrt_op_desc desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2};
    llrt_storage_binding binding[2];
    for (int i = 0; i < 2; i++) {
      cr_assert_eq(llrt_storage_strided(2, NULL, &p.storage[i]), LLRT_OK);
      cr_assert_eq(llrt_storage_bind(&p.storage[i], 2, p.shape, p.strides[i], &binding[i]), LLRT_OK);
      desc.tensors[i] = (llrt_tensor){.dtype = LLRT_B16, .rank = 2, .storage = &p.storage[i]};
      memcpy(desc.tensors[i].shape, p.shape, sizeof p.shape);
      memcpy(desc.tensors[i].strides, p.strides[i], sizeof p.strides[i]);
      void *memory = mmap(NULL, (size_t)binding[i].span * 2, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      cr_assert_neq(memory, MAP_FAILED);
      desc.tensors[i].data = memory;
    }
    uint16_t *from = desc.tensors[0].data, *to = desc.tensors[1].data;
    for (int64_t i = 0; i < 3; i++)
      for (int64_t j = 0; j < 160; j++) from[i * p.strides[0][0] + j] = (uint16_t)(1000 * i + j + 1);
    cr_assert_eq(llrt_op_promise_coarse(&desc), LLRT_OK);
    cr_assert_eq(plan_target_find(targets[t], &target), LLRT_OK);
    cr_assert_eq(plan_make(&desc, &target, NULL, &made), LLRT_OK);
    for (int v = 0; v < made.n_variants; v++) {
      cr_assert_eq(plan_interpret(&made.variant[v], desc.tensors, binding, 2), LLRT_OK, "%s",
                   llrt_last_error());
      for (int64_t i = 0; i < 3; i++)
        for (int64_t j = 0; j < 160; j++) {
          cr_assert_eq(to[i + j * p.strides[1][1]], 1000 * i + j + 1);
          to[i + j * p.strides[1][1]] = 0;
        }
    }
    for (int i = 0; i < 2; i++) munmap(desc.tensors[i].data, (size_t)binding[i].span * 2);
  }
}
