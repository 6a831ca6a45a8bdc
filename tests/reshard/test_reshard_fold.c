/* Boxes of strides with as few axes as they can have (runtime/reshard_fold.c): what stays of each,
 * and that every element lies where it did. */
#include "runtime/reshard.h"

#include <criterion/criterion.h>

#include <string.h>

enum { MOST = 4 };

typedef struct fold_case {
  const char *name;
  int rank;
  int64_t shape[MOST], source[MOST], destination[MOST]; /* positions; strides in elements */
  int kept;                                             /* axes that stay */
  int64_t last;                                         /* positions of the last of them */
} fold_case;

static const fold_case cases[] = {
    {"one piece", 3, {2, 3, 5}, {15, 5, 1}, {15, 5, 1}, 1, 30},
    {"rows of one piece", 4, {4, 2, 3, 5}, {90, 15, 5, 1}, {30, 15, 5, 1}, 2, 30},
    {"outer two", 3, {4, 3, 5}, {30, 10, 1}, {24, 8, 1}, 2, 5},
    {"transposed", 2, {4, 6}, {6, 1}, {1, 4}, 2, 4},
    {"transposed rows of pieces", 3, {4, 2, 3}, {6, 3, 1}, {1, 12, 4}, 2, 4},
    {"one position along an axis", 3, {4, 1, 5}, {9, 7, 1}, {5, 3, 1}, 2, 5},
    {"one position", 2, {1, 1}, {3, 1}, {5, 1}, 1, 1},
    {"every other element", 2, {3, 4}, {8, 2}, {4, 1}, 1, 12},
    {"more than 32 bits count", 2, {1 << 20, 1 << 13}, {1 << 13, 1}, {1 << 13, 1}, 2, 1 << 13},
};

static void make(const fold_case *c, reshard_copy *copy) {
  *copy = (reshard_copy){.launched = false};
  for (int t = 0; t < 2; t++) {
    copy->tensor[t] = (llrt_tensor){.dtype = LLRT_B16, .rank = c->rank};
    memcpy(copy->tensor[t].shape, c->shape, sizeof c->shape);
    cr_assert_eq(
        llrt_storage_strided(c->rank, t ? c->destination : c->source, &copy->side[t].storage),
        LLRT_OK);
  }
}

/* Elements of a folded side are counted by coordinates, the last axis fastest. */
static int64_t place(const reshard_copy *copy, int t, int64_t element) {
  const llrt_tensor *tensor = &copy->tensor[t];
  llrt_storage_binding binding;
  int64_t coords[LLRT_MAX_RANK];
  cr_assert_eq(llrt_storage_bind(&copy->side[t].storage, tensor->rank, tensor->shape,
                                 tensor->strides, &binding),
               LLRT_OK);
  for (int axis = tensor->rank - 1; axis >= 0; axis--) {
    coords[axis] = element % tensor->shape[axis];
    element /= tensor->shape[axis];
  }
  return llrt_storage_offset(&copy->side[t].storage, &binding, coords);
}

/* Where each source element goes, by its place: a list that folding leaves as it is. */
static void note(const reshard_copy *copy, int64_t elements, int64_t *goes, int64_t room) {
  for (int64_t i = 0; i < elements; i++) {
    int64_t from = place(copy, 0, i);
    cr_assert(from < room);
    goes[from] = place(copy, 1, i);
  }
}

Test(reshard_fold, axes_that_follow_each_other_are_one) {
  enum { ROOM = 512 };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const fold_case *c = &cases[i];
    reshard_copy before, after;
    int64_t elements = 1, goes[2][ROOM];
    for (int axis = 0; axis < c->rank; axis++) elements *= c->shape[axis];
    make(c, &before);
    after = before;
    reshard_fold(&after);
    for (int t = 0; t < 2; t++) {
      cr_expect_eq(after.tensor[t].rank, c->kept, "%s: %d axes", c->name, after.tensor[t].rank);
      cr_expect_eq(after.tensor[t].shape[c->kept - 1], c->last, "%s", c->name);
    }
    if (elements > ROOM) continue;
    memset(goes, 0xff, sizeof goes);
    note(&before, elements, goes[0], ROOM);
    note(&after, elements, goes[1], ROOM);
    cr_expect_arr_eq(goes[0], goes[1], sizeof goes[0], "%s", c->name);
  }
}

Test(reshard_fold, other_storages_stay) {
  reshard_copy copy, before;
  make(&cases[0], &copy);
  copy.side[1].storage.digit[0].reversed = true;
  before = copy;
  reshard_fold(&copy);
  cr_expect_eq(copy.tensor[0].rank, 3);
  make(&cases[0], &copy);
  copy.tensor[0].n_indices = 1;
  reshard_fold(&copy);
  cr_expect_eq(copy.tensor[0].rank, 3);
  cr_expect(llrt_storage_equal(&before.side[0].storage, &copy.side[0].storage));
}
