/* Structs that begin with their size, and reserved fields of those that do not. */
#include "base/params.h"
#include "tests/runtime/convert_fixture.h"

static fixture at;

static void start(void) { fixture_make(&at, &fixture_params); }
static void stop(void) { fixture_end(&at); }
TestSuite(sizes, .init = start, .fini = stop);

/* A caller's params of a version that has one field more. */
typedef struct newer_params {
  llrt_convert_params known;
  uint64_t added;
} newer_params;

static llrt_status convert(const void *params) {
  return llrt_convert_into(&at.source, &at.destination, params, NULL);
}

Test(sizes, of_params) {
  newer_params params = {.known = {.size = 0}, .added = 7};
  cr_expect_eq(convert(&params), LLRT_OK, "size 0 ends with the first version's fields: %s",
               llrt_last_error());
  params.known.size = sizeof params.known;
  cr_expect_eq(convert(&params), LLRT_OK, "%s", llrt_last_error());
  params.known.size = sizeof params;
  cr_expect_eq(convert(&params), LLRT_UNSUPPORTED);
  expect_said(
      "llrt_convert_params has 40 bytes, of which this llrt knows 32, and byte 32 is not 0");
  params.added = 0;
  cr_expect_eq(convert(&params), LLRT_OK, "%s", llrt_last_error());
  static const size_t wrong[] = {1, 8, sizeof params.known - 1, (size_t)1 << 40, SIZE_MAX};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    params.known.size = wrong[i];
    cr_expect_eq(convert(&params), LLRT_INVALID_ARGUMENT, "%zu", wrong[i]);
    expect_said("llrt_convert_params has size");
  }
}

/* A library that knows one field more than its caller: what is behind the caller's struct is not
 * looked at. */
Test(sizes, of_older_callers) {
  newer_params given = {.known = {.size = sizeof given.known, .dtype = LLRT_F16}, .added = 7}, own;
  cr_expect_eq(llrt_params_read(&given, "newer_params", sizeof own, sizeof given.known, &own),
               LLRT_OK);
  cr_expect(own.known.dtype == LLRT_F16 && own.added == 0 && own.known.size == sizeof own);
  given.known.size = 0;
  cr_expect_eq(llrt_params_read(&given, "newer_params", sizeof own, sizeof given.known, &own),
               LLRT_OK);
  cr_expect(own.known.dtype == LLRT_F16 && own.added == 0);
  given.known.size = sizeof given;
  cr_expect_eq(llrt_params_read(&given, "newer_params", sizeof own, sizeof given.known, &own),
               LLRT_OK);
  cr_expect_eq(own.added, 7);
  cr_expect_eq(llrt_params_read(NULL, "newer_params", sizeof own, sizeof given.known, &own),
               LLRT_OK);
  cr_expect(own.known.dtype == 0 && own.added == 0);
}

/* Nothing is written behind what the caller's size says. */
Test(sizes, of_what_is_filled) {
  struct {
    llrt_cache_stats stats;
    uint64_t behind;
  } made = {.behind = 7};
  cr_assert_eq(convert(NULL), LLRT_OK, "%s", llrt_last_error());
  static const size_t sizes[] = {0, sizeof made.stats, sizeof made};
  for (int i = 0; i < 3; i++) {
    made.stats = (llrt_cache_stats){.size = sizes[i]};
    cr_expect_eq(llrt_context_get_cache_stats(at.context, &made.stats), LLRT_OK);
    cr_expect(made.stats.compiles > 0 && made.stats.size == sizeof made.stats && made.behind == 7);
  }
  made.stats = (llrt_cache_stats){.size = 12, .hits = 5};
  cr_expect_eq(llrt_context_get_cache_stats(at.context, &made.stats), LLRT_INVALID_ARGUMENT);
  cr_expect_eq(made.stats.hits, 5);
}

/* ---- reserved ---- */

Test(sizes, reserved_fields_of_tensors) {
  llrt_storage storage = at.col_major;
  at.destination.storage = &storage;
  cr_assert_eq(convert(NULL), LLRT_OK);
  at.source.reserved[3] = 1;
  cr_expect_eq(convert(NULL), LLRT_INVALID_ARGUMENT);
  expect_said("the source: a reserved field is not 0");
  at.source.reserved[3] = 0;
  storage.reserved[0] = 1; /* a storage that is known otherwise */
  cr_expect_eq(convert(NULL), LLRT_INVALID_ARGUMENT);
  expect_said("the destination's storage: a reserved field is not 0");
  cr_expect_eq(llrt_storage_validate(&storage), LLRT_INVALID_ARGUMENT);
  storage.reserved[0] = 0;
  int32_t rows[ROWS] = {0};
  llrt_index index = {.dtype = LLRT_I32,
                      .axes = 1,
                      .extent = ROWS,
                      .data = rows,
                      .strides = {1},
                      .reserved = {0, 1}};
  at.source.indices = &index;
  at.source.n_indices = 1;
  cr_expect_eq(convert(NULL), LLRT_INVALID_ARGUMENT);
  expect_said("the source's index 0: a reserved field is not 0");
}

Test(sizes, reserved_fields_of_descriptions) {
  op_description desc = fixture_desc(&at);
  llrt_op *op;
  llrt_op_desc shown = described_as(&desc);
  shown.combine.reserved[1] = 1;
  cr_expect_eq(llrt_op_prepare(at.host, &shown, &op), LLRT_INVALID_ARGUMENT);
  shown = described_as(&desc);
  shown.dot.reserved[4] = 1;
  cr_expect_eq(llrt_op_prepare(at.host, &shown, &op), LLRT_INVALID_ARGUMENT);
  shown = described_as(&desc);
  shown.dot.batch_invariant = 2;
  cr_expect_eq(llrt_op_prepare(at.host, &shown, &op), LLRT_INVALID_ARGUMENT);
  expect_said("dot.batch_invariant is 2, not 0 or 1");
  desc.promises[1].reserved[0] = 1;
  cr_expect_eq(described_prepare(at.host, &desc, &op), LLRT_INVALID_ARGUMENT);
  expect_said("the destination's promises: a reserved field is not 0");
  const llrt_map map = {.kind = LLRT_MAP_XOR, .reserved = {1}};
  const llrt_convert_params params = {.n_maps = 1, .maps = &map};
  cr_expect_eq(convert(&params), LLRT_INVALID_ARGUMENT);
  expect_said("map 0: a reserved field is not 0");
  const llrt_convert_params none = {.n_maps = 1};
  cr_expect_eq(convert(&none), LLRT_INVALID_ARGUMENT);
  expect_said("maps is NULL");
}

Test(sizes, counts_of_descriptions) {
  llrt_op *op;
  llrt_tensor tensors[LLRT_MAX_TENSORS + 1] = {at.source, at.destination};
  llrt_op_desc desc = {
      .kind = LLRT_OP_CONVERT, .n_tensors = LLRT_MAX_TENSORS + 1, .tensors = tensors};
  cr_expect_eq(llrt_op_prepare(at.host, &desc, &op), LLRT_INVALID_ARGUMENT);
  expect_said("17 tensors, not 2 to 16");
  desc.n_tensors = 2;
  cr_expect_eq(llrt_op_promise_coarse(&desc), LLRT_INVALID_ARGUMENT);
  expect_said("promises is NULL");
  cr_expect_eq(llrt_op_prepare(at.host, &desc, &op), LLRT_OK, "%s",
               llrt_last_error()); /* nothing is promised */
  llrt_op_destroy(&op);
  desc.tensors = NULL;
  cr_expect_eq(llrt_op_prepare(at.host, &desc, &op), LLRT_INVALID_ARGUMENT);
}
