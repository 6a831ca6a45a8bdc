/* Pads beside a source some of whose accesses another bound parts: of 15 positions in vectors of 16
 * (gfx942 loads them whole, and the destination stores 15), along axes of 1 and 11 positions that
 * the destination pads to 4 and 12. */
#include "jit/interpret/plan_interpret.h"
#include "jit/plan/plan_make.h"
#include "tests/plan/plan_pair.h"

#include "runtime/described.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define RANK 5
#define PADDED \
  "storage(rank=5, digits=[dim3: rest, dim1: rest, dim4: rest, dim0: rest, dim2: rest], " \
  "tile={offset: " \
  "[[0,0,1,0,0],[3,0,0,0,0],[0,1,0,0,0],[0,2,1,0,0],[2,0,0,0,0],[0,1,0,0,1]]} -> [dim0:4, " \
  "dim1:4, dim2:2, " \
  "dim3:1, dim4:2], pad=0)"

enum { FROM_BYTES = 32 * 1 * 11 * 15 * 2, TO_BYTES = 32 * 4 * 12 * 15 * 2 };

typedef struct padded_case {
  llrt_storage storage[2];
  llrt_storage_binding binding[2];
  op_description desc;
  unsigned char from[FROM_BYTES], to[TO_BYTES], wanted[TO_BYTES];
} padded_case;

static const int64_t shape[RANK] = {32, 1, 11, 15, 2};

static void make(padded_case *c) {
  const char *const text[] = {"row_major", PADDED};
  void *const data[] = {c->from, c->to};
  c->desc = (op_description){.kind = LLRT_OP_CONVERT, .n_tensors = 2};
  for (int t = 0; t < 2; t++) {
    cr_assert_eq(llrt_storage_parse(text[t], RANK, shape, &c->storage[t]), LLRT_OK, "%s",
                 llrt_last_error());
    cr_assert_eq(llrt_storage_bind(&c->storage[t], RANK, shape, NULL, &c->binding[t]), LLRT_OK,
                 "%s", llrt_last_error());
    c->desc.tensors[t] =
        (llrt_tensor){.data = data[t], .dtype = LLRT_U8, .rank = RANK, .storage = &c->storage[t]};
    memcpy(c->desc.tensors[t].shape, shape, sizeof shape);
  }
  cr_assert_eq(c->binding[1].span, TO_BYTES);
  cr_assert_eq(described_promise(&c->desc), LLRT_OK, "%s", llrt_last_error());
}

/* All of the destination is elements and pads. */
static void expect(padded_case *c) {
  memset(c->wanted, 0, sizeof c->wanted);
  for (int i = 0; i < FROM_BYTES; i++) {
    int64_t coords[RANK], rest = i;
    for (int a = RANK - 1; a >= 0; a--) {
      coords[a] = rest % shape[a];
      rest /= shape[a];
    }
    c->from[i] = (unsigned char)(1 + i % 255);
    c->wanted[llrt_storage_offset(&c->storage[1], &c->binding[1], coords)] = c->from[i];
  }
}

Test(pads_beside, are_written) {
  static padded_case c;
  static plan made;
  make(&c);
  expect(&c);
  for (size_t i = 0; i < PAIR_TARGETS; i++) {
    plan_target target;
    cr_assert_eq(plan_target_find(pair_targets[i], &target), LLRT_OK);
    cr_assert_eq(plan_make(&c.desc, &target, NULL, &made), LLRT_OK, "%s: %s", pair_targets[i],
                 llrt_last_error());
    for (int v = 0; v < made.n_variants; v++) {
      memset(c.to, UNTOUCHED, sizeof c.to);
      if (!plan_range_takes(&made.variant[v].launch.range, &c.desc.tensors[0])) continue;
      cr_assert_eq(plan_interpret(&made.variant[v], c.desc.tensors, c.binding, 2), LLRT_OK,
                   "%s: %s", pair_targets[i], llrt_last_error());
      cr_expect_eq(memcmp(c.to, c.wanted, sizeof c.to), 0, "%s, variant %d", pair_targets[i], v);
    }
  }
}
