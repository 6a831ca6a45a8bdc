/* Padded shared memory against its formula. */
#include <llrt/storage_padded.h>

#include "tests/layout/layout_text.h"

#include <criterion/criterion.h>
#include <string.h>

static void check(const llrt_padded_params *params, const int64_t *shape) {
  llrt_storage storage;
  llrt_storage_binding binding;
  cr_assert(llrt_storage_padded_shared(params, shape, &storage) == LLRT_OK, "%s",
            llrt_last_error());
  cr_assert(llrt_storage_bind(&storage, 2, shape, NULL, &binding) == LLRT_OK, "%s",
            llrt_last_error());
  int fast = params->order[0], slow = params->order[1];
  int64_t last = 0;
  for (int64_t i = 0; i < shape[0]; i++)
    for (int64_t j = 0; j < shape[1]; j++) {
      int64_t coords[] = {i, j}, p = coords[slow] * shape[fast] + coords[fast], place = p;
      for (int k = 0; k < params->n_intervals; k++)
        place += p / params->interval[k] * params->padding[k];
      cr_assert_eq(llrt_storage_offset(&storage, &binding, coords), place);
      if (place > last) last = place;
    }
  cr_assert_eq(binding.span, last + 1);
}

Test(padded, by_formula) {
  random_source source = random_start("padded/by_formula");
  for (int trial = 0; trial < 500; trial++) {
    int64_t shape[] = {1 << random_below(&source, 7), 1 << random_below(&source, 7)};
    int first = random_below(&source, 2);
    llrt_padded_params params = {.rank = 2, .order = {first, 1 - first},
                                 .n_intervals = random_below(&source, 4)};
    for (int k = 0, bit = 0; k < params.n_intervals; k++) {
      bit += 1 + random_below(&source, 4);
      params.interval[k] = 1ll << bit;
      params.padding[k] = 1ll << random_below(&source, 5);
    }
    check(&params, shape);
  }
}

Test(padded, text) {
  const int64_t shape[] = {32, 64};
  llrt_padded_params params = {.rank = 2, .n_intervals = 1, .interval = {64}, .padding = {8},
                               .order = {1, 0}};
  llrt_storage made, parsed;
  cr_assert(llrt_storage_padded_shared(&params, shape, &made) == LLRT_OK);
  static const char *const texts[] = {"padded_shared(interval_padding=[[64,8]], order=[1,0])",
                                      "padded_shared(interval_padding=[[64,8]])",
                                      "storage(rank=2, digits=[dim1:64@1, dim0:32@72])"};
  for (int i = 0; i < 3; i++) {
    cr_assert(llrt_storage_parse(texts[i], 2, shape, &parsed) == LLRT_OK, "%s: %s", texts[i],
              llrt_last_error());
    cr_expect(llrt_storage_equal(&made, &parsed), "%s", texts[i]);
  }
}

Test(padded, refuses) {
  static const struct {
    const char *text, *message;
  } rows[] = {
      {"padded_shared(order=[1,0])", "column 1: padded_shared needs interval_padding"},
      {"padded_shared(interval_padding=[[64]])", "column 33: expected [interval, padding]"},
      {"padded_shared(interval_padding=[[60,8]])",
       "column 1: interval 60, padding 8: powers of two up to 2^40 and 2^16"},
      {"padded_shared(interval_padding=[[64,8],[32,4]])", "column 1: intervals do not ascend"},
      {"padded_shared(interval_padding=[], order=[1,1])",
       "column 1: order does not list every axis once"},
      {"padded_shared(interval_padding=[], order=[0])", "column 42: order has 1 entries, not 2"},
      {"padded_shared(pad=1)", "column 15: expected interval_padding or order"},
      {"padded_shared(order=[1,0], order=[1,0])", "column 28: this is given twice"},
  };
  const int64_t shape[] = {32, 64};
  llrt_storage out;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    expect_error(llrt_storage_parse(rows[i].text, 2, shape, &out), LLRT_INVALID_ARGUMENT,
                 rows[i].message, rows[i].text);
  cr_expect(llrt_storage_padded_shared(NULL, shape, &out) == LLRT_INVALID_ARGUMENT);
  cr_expect(llrt_storage_parse("padded_shared(interval_padding=[[64,8]])", 0, NULL, &out) ==
            LLRT_INVALID_ARGUMENT);
}

/* Operations stand where a storage wants a layout, too. */
Test(padded, operations_are_storages) {
  llrt_storage a, b;
  cr_assert(llrt_storage_parse("identity1d(4, offset, dim1) * identity1d(2, offset, dim0)", 0, NULL,
                               &a) == LLRT_OK, "%s", llrt_last_error());
  cr_assert(llrt_storage_parse("{offset: [[0,1],[0,2],[1,0]]} -> [dim0:2, dim1:4]", 0, NULL, &b) ==
            LLRT_OK);
  cr_expect(llrt_storage_equal(&a, &b));
}
