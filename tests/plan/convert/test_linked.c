/* Kernels whose destination is other devices' memory: smaller tiles than others have. */
#include "jit/interpret/plan_interpret.h"
#include "jit/plan/plan_make.h"
#include "tests/plan/plan_pair.h"
#include "tests/plan/random_layout.h"

#include <criterion/criterion.h>
#include <string.h>

enum { SIDE = 512, ALONE_BYTES = 32 << 10, LINKED_BYTES = 16 << 10, PIECE_BYTES = 128 };

static const text_pair transposed = {"row_major", "col_major", {SIDE, SIDE}};

static void plan_of(conversion *c, bool linked, plan *made) {
  plan_target target;
  c->desc.linked = linked;
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK);
  cr_assert_eq(plan_make(&c->desc, &target, NULL, made), LLRT_OK, "%s", llrt_last_error());
}

/* Positions of axis 0, along which the destination's elements follow each other, of a tile. */
static int64_t rows_of(const plan *made) {
  int64_t rows = 1;
  for (int i = 0; i < made->variant[0].n_digits; i++)
    if (made->variant[0].digit[i].axis == 0) rows <<= made->variant[0].digit[i].bits;
  return rows;
}

Test(linked, tiles) {
  static plan alone, linked;
  pair p;
  conversion c;
  uint64_t seed = test_seed_of_run();
  pair_parse(&transposed, &p);
  conversion_make(&p, LLRT_B16, &c);
  for (int t = 0; t < 2; t++) /* of any extents that are multiples of 64: as a rule of boxes */
    for (int axis = 0; axis < 2; axis++)
      c.desc.promises[t].shape[axis] = (llrt_promise){.multiple = 64};
  plan_of(&c, false, &alone);
  plan_of(&c, true, &linked);
  cr_expect_eq(alone.variant[0].launch.shared_bytes, ALONE_BYTES);
  cr_expect_eq(linked.variant[0].launch.shared_bytes, LINKED_BYTES);
  cr_expect_eq(rows_of(&linked) * 2, PIECE_BYTES);
  conversion_fill(&c, &seed);
  memset(c.desc.tensors[1].data, UNTOUCHED, c.bytes[1]);
  cr_expect_eq(plan_interpret(&linked.variant[0], c.desc.tensors, c.binding, 2), LLRT_OK, "%s",
               llrt_last_error());
  cr_expect_eq(conversion_wrong_places(&p, &c), 0);
  conversion_free(&c);
}
