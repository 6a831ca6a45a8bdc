#include "tests/layout/index_formulas.h"

#include <llrt/storage.h>

#include <criterion/criterion.h>

static void expect_places(const index_formula *row, const llrt_storage *storage,
                          const llrt_storage_binding *binding) {
  int64_t x[LLRT_MAX_RANK] = {0}, n = 1;
  for (int axis = 0; axis < row->rank; axis++) n *= row->shape[axis];
  for (int64_t e = 0; e < n; e++) {
    int64_t place = llrt_storage_offset(storage, binding, x), wanted = row->place(x, row->shape);
    if (place != wanted || place >= binding->span) {
      cr_expect(false, "%s: element %lld lies at %lld, not %lld", row->text, (long long)e,
                (long long)place, (long long)wanted);
      return;
    }
    for (int axis = row->rank - 1; axis >= 0 && ++x[axis] == row->shape[axis]; axis--) x[axis] = 0;
  }
}

void expect_index_formulas(const index_formula *rows, size_t n) {
  for (size_t i = 0; i < n; i++) {
    llrt_storage storage;
    llrt_storage_binding binding;
    cr_assert(llrt_storage_parse(rows[i].text, rows[i].rank, rows[i].shape, &storage) == LLRT_OK,
              "%s: %s", rows[i].text, llrt_last_error());
    cr_assert(llrt_storage_bind(&storage, rows[i].rank, rows[i].shape, NULL, &binding) == LLRT_OK,
              "%s: %s", rows[i].text, llrt_last_error());
    expect_places(&rows[i], &storage, &binding);
  }
}
