/* See plan_pair.h. */
#include "plan_pair.h"

#include "base/text.h"
#include "jit/interpret/plan_interpret.h"
#include "jit/plan/check/plan_view.h"
#include "jit/plan/plan_make.h"
#include "random_layout.h"
#include "runtime/described.h"
#include "tests/storage_walk.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const pair_targets[] = {"sm_80",     "sm_90a",    "gfx90a",    "gfx942",
                                    "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"};
const llrt_dtype pair_widths[] = {LLRT_B4, LLRT_B8, LLRT_B16, LLRT_B32, LLRT_B64, LLRT_B128};

void conversion_make(const pair *p, llrt_dtype dtype, conversion *c) {
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
  cr_assert_eq(described_promise(&c->desc), LLRT_OK, "%s", llrt_last_error());
}

void conversion_free(conversion *c) {
  for (int t = 0; t < 2; t++) free(c->desc.tensors[t].data);
}

void conversion_fill(conversion *c, uint64_t *seed) {
  unsigned char *source = c->desc.tensors[0].data;
  for (size_t i = 0; i < c->bytes[0]; i++) source[i] = (unsigned char)(test_random(seed) >> 56);
}

/* Copies element `from` of one array (NULL: the number `otherwise`) to element `to` of another. */
static void put_element(unsigned char *into, int64_t to, const unsigned char *array, int64_t from,
                        uint64_t otherwise, int bits) {
  uint64_t element[2] = {otherwise};
  if (bits < 8) {
    int shift = (int)(to % 2) * 4;
    if (array) element[0] = array[from / 2] >> from % 2 * 4;
    into[to / 2] =
        (unsigned char)((into[to / 2] & ~(15 << shift)) | (int)(element[0] & 15) << shift);
    return;
  }
  if (array) memcpy(element, array + from * bits / 8, (size_t)bits / 8);
  memcpy(into + to * bits / 8, element, (size_t)bits / 8);
}

int64_t conversion_wrong_places(const pair *p, const conversion *c) {
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

void pair_explain(const plan *made, int variant) {
  llrt_text text;
  llrt_text_init(&text);
  plan_print(made, &text);
  fprintf(stderr, "variant %d of\n%s\n", variant, text.data ? text.data : "");
  llrt_text_fini(&text);
}

/* Whether a width may be more than a storage of the pair allows. */
static bool may_refuse(const pair *p, llrt_dtype dtype) {
  return dtype == LLRT_B128 && p->storage[1].pad_value != 0;
}

void pair_plan(const pair *p, llrt_dtype dtype, const char *target_name,
               const plan_options *options, plan *out) {
  plan_target target;
  conversion c;
  conversion_make(p, dtype, &c);
  cr_assert_eq(plan_target_find(target_name, &target), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(plan_make(&c.desc, &target, options, out), LLRT_OK, "%s: %s", target_name,
               llrt_last_error());
  conversion_free(&c);
}

bool pair_stream;

/* Runs variant v. A kernel is right outside its range too, wherever it can launch. */
static void check_variant(const pair *p, const plan *made, int v, conversion *c, uint64_t *seed,
                          const char *what) {
  conversion_fill(c, seed);
  memset(c->desc.tensors[1].data, UNTOUCHED, c->bytes[1]);
  llrt_status status = plan_interpret(&made->variant[v], c->desc.tensors, c->binding, 2);
  if (status != LLRT_OK || conversion_wrong_places(p, c) != 0) pair_explain(made, v);
  cr_assert_eq(status, LLRT_OK, "%s: %s", what, llrt_last_error());
  cr_assert_eq(conversion_wrong_places(p, c), 0, "%s, variant %d: %lld wrong", what, v,
               (long long)conversion_wrong_places(p, c));
}

/* The kernels that keep panels in shared memory, whatever they are worth. */
static void check_panels(const pair *p, const plan_target *target, conversion *c, uint64_t *seed,
                         const char *what) {
  static plan made;
  for (int form = 1; form <= 3; form++) {
    plan_options options = {.panels = form};
    cr_assert_eq(plan_make(&c->desc, target, &options, &made), LLRT_OK, "%s: %s", what,
                 llrt_last_error());
    if (made.variant[0].panel.staged) check_variant(p, &made, 0, c, seed, what);
  }
}

int pair_check(const pair *p, const char *target_name, llrt_dtype dtype, plan_exchange exchange,
               const char *what) {
  static plan made;
  plan_target target;
  conversion c;
  uint64_t seed = 0x9E3779B97F4A7C15ull;
  char title[256];
  plan_options options = {.exchange = exchange, .stream = pair_stream};
  snprintf(title, sizeof title, "%.160s, %s, %s, exchange %d", what, target_name,
           llrt_dtype_name(dtype), exchange);
  conversion_make(p, dtype, &c);
  cr_assert_eq(plan_target_find(target_name, &target), LLRT_OK);
  llrt_status status = plan_make(&c.desc, &target, &options, &made);
  if (status == LLRT_UNSUPPORTED && (exchange != PLAN_EXCHANGE_AUTO || may_refuse(p, dtype))) {
    conversion_free(&c);
    return 0;
  }
  cr_assert_eq(status, LLRT_OK, "%s: %s", title, llrt_last_error());
  for (int v = 0; v < made.n_variants; v += 1 + made.variant[v].launch.later)
    check_variant(p, &made, v, &c, &seed, title);
  if (exchange == PLAN_EXCHANGE_AUTO) check_panels(p, &target, &c, &seed, title);
  conversion_free(&c);
  return made.n_variants;
}

void pair_parse(const text_pair *text, pair *p) {
  memset(p, 0, sizeof *p);
  memcpy(p->shape, text->shape, sizeof p->shape);
  const char *const expressions[] = {text->source, text->destination};
  for (int t = 0; t < 2; t++)
    cr_assert_eq(llrt_storage_parse(expressions[t], 2, text->shape, &p->storage[t]), LLRT_OK,
                 "%s: %s", expressions[t], llrt_last_error());
}

uint64_t test_seed_of_run(void) {
  const char *text = getenv("LLRT_TEST_SEED");
  return text ? strtoull(text, NULL, 0) : 20260101;
}
