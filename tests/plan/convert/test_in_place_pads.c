/* Conversions in place whose destination has pads and is larger than the source: the memory that
 * both lie in is the larger one's, and a panel may be staged as far as that goes. */
#include "jit/interpret/plan_interpret.h"
#include "jit/plan/plan_make.h"
#include "tests/plan/plan_pair.h"

#include "runtime/described.h"

#include <criterion/criterion.h>
#include <string.h>

enum { MOST_BYTES = 64 };

typedef struct in_place_row {
  int rank;
  int64_t shape[2];
  const char *source, *destination;
  bool zeroed; /* pads are 0; else they are kept, and nothing is said of them */
} in_place_row;

static const in_place_row rows[] = {
    {1, {1}, "row_major", "storage(rank=1, digits=[dim0: 2], pad=keep)", false},
    {1,
     {1},
     "row_major",
     "storage(rank=1, digits=[], tile={offset: [[1]]} -> [dim0:2], pad=keep)",
     false},
    {2,
     {1, 7},
     "storage(rank=2, digits=[dim1: 7, dim0: rest, dim1: 1])",
     "storage(rank=2, digits=[dim0: 3, dim1: rest, dim0: 1], pad=0)",
     true},
    {2, {1, 1}, "storage(rank=2, digits=[dim0: rest])", "scale_8x4", true},
    {2, {3, 5}, "row_major", "scale_8x4", true},
};

typedef struct in_place_case {
  llrt_storage storage[2];
  llrt_storage_binding binding[2];
  op_description desc;
  unsigned char memory[MOST_BYTES];
} in_place_case;

static void make(const in_place_row *row, in_place_case *c) {
  const char *const text[] = {row->source, row->destination};
  c->desc = (op_description){.kind = LLRT_OP_CONVERT, .n_tensors = 2, .in_place = true};
  for (int t = 0; t < 2; t++) {
    cr_assert_eq(llrt_storage_parse(text[t], row->rank, row->shape, &c->storage[t]), LLRT_OK, "%s",
                 llrt_last_error());
    cr_assert_eq(llrt_storage_bind(&c->storage[t], row->rank, row->shape, NULL, &c->binding[t]),
                 LLRT_OK, "%s", llrt_last_error());
    cr_assert_leq(c->binding[t].span, MOST_BYTES);
    c->desc.tensors[t] = (llrt_tensor){
        .data = c->memory, .dtype = LLRT_U8, .rank = row->rank, .storage = &c->storage[t]};
    memcpy(c->desc.tensors[t].shape, row->shape, sizeof row->shape);
  }
  cr_assert_gt(c->binding[1].span, c->binding[0].span);
  cr_assert_eq(described_promise(&c->desc), LLRT_OK, "%s", llrt_last_error());
}

/* Elements get the numbers 1, 2, … in row-major order of their coordinates. */
static void put(const in_place_row *row, in_place_case *c) {
  memset(c->memory, UNTOUCHED, sizeof c->memory);
  unsigned char number = 0;
  for (int64_t i = 0; i < row->shape[0]; i++)
    for (int64_t j = 0; j < (row->rank > 1 ? row->shape[1] : 1); j++)
      c->memory[llrt_storage_offset(&c->storage[0], &c->binding[0], (int64_t[]){i, j})] = ++number;
}

static int wrong_bytes(const in_place_row *row, const in_place_case *c) {
  unsigned char wanted[MOST_BYTES], number = 0;
  memcpy(wanted, c->memory, sizeof wanted);
  if (row->zeroed) memset(wanted, 0, (size_t)c->binding[1].span);
  memset(wanted + c->binding[1].span, UNTOUCHED, MOST_BYTES - (size_t)c->binding[1].span);
  for (int64_t i = 0; i < row->shape[0]; i++)
    for (int64_t j = 0; j < (row->rank > 1 ? row->shape[1] : 1); j++)
      wanted[llrt_storage_offset(&c->storage[1], &c->binding[1], (int64_t[]){i, j})] = ++number;
  int wrong = 0;
  for (int at = 0; at < MOST_BYTES; at++) wrong += wanted[at] != c->memory[at];
  return wrong;
}

static int check(const in_place_row *row, const char *target_name) {
  static in_place_case c;
  static plan made;
  plan_target target;
  make(row, &c);
  cr_assert_eq(plan_target_find(target_name, &target), LLRT_OK);
  cr_assert_eq(plan_make(&c.desc, &target, NULL, &made), LLRT_OK, "%s to %s, %s: %s", row->source,
               row->destination, target_name, llrt_last_error());
  int ran = 0;
  for (int v = 0; v < made.n_variants; v++) {
    if (!plan_range_takes(&made.variant[v].launch.range, &c.desc.tensors[0])) continue;
    put(row, &c);
    cr_assert_eq(plan_interpret(&made.variant[v], c.desc.tensors, c.binding, 2), LLRT_OK,
                 "%s to %s, %s: %s", row->source, row->destination, target_name, llrt_last_error());
    cr_expect_eq(wrong_bytes(row, &c), 0, "%s to %s, %s, variant %d", row->source, row->destination,
                 target_name, v);
    ran++;
  }
  return ran;
}

Test(in_place_pads, are_within_the_memory_of_both) {
  int ran = 0;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    for (int t = 0; t < PAIR_TARGETS; t++) ran += check(&rows[i], pair_targets[t]);
  cr_expect_geq(ran, (int)(sizeof rows / sizeof rows[0]) * PAIR_TARGETS);
}
