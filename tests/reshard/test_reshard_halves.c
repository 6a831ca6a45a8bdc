/* Elements of 4 bits of several boxes in one byte: found, and then read, not written. */
#include "runtime/reshard_access.h"

#include <criterion/criterion.h>

#include <string.h>

typedef struct halves_case {
  const char *name, *source, *destination;
  int64_t shape[2];
  bool shares;
} halves_case;

static const halves_case cases[] = {
    {"whole rows, even", "mesh(a=2): P(a)", "mesh(a=2): P()", {8, 8}, false},
    {"whole rows, odd", "mesh(a=3): P(a)", "mesh(a=3): P()", {9, 3}, true},
    {"columns, even", "mesh(a=2): P(None, a)", "mesh(a=2): P()", {8, 8}, false},
    {"columns, odd", "mesh(a=3): P(None, a)", "mesh(a=3): P()", {8, 9}, true},
    {"even columns of odd rows", "mesh(a=2): P(None, a)", "mesh(a=2): P()", {3, 7}, true},
    {"one element wide", "mesh(a=2): P(a)", "mesh(a=2): P() o col_major", {2, 6}, true},
    {"all of a part", "mesh(a=3): P()", "mesh(a=3): P(None, a)", {3, 9}, false},
    {"a tile is cut",
     "mesh(a=2): P(a)",
     "mesh(a=2): P() o storage(rank=2, digits=[dim1: rest, dim0: rest], tile={offset: "
     "[[1,0],[2,0]]} "
     "-> [dim0:4, dim1:1])",
     {6, 4},
     true},
    {"places count down",
     "mesh(a=2): P(a)",
     "mesh(a=2): P() o storage(rank=2, digits=[dim1: rest reversed, dim0: rest])",
     {4, 4},
     true},
};

static bool describe(const halves_case *c, llrt_dtype to, llrt_sharding side[2],
                     llrt_reshard_desc *desc) {
  *desc = (llrt_reshard_desc){.size = sizeof *desc,
                              .source = &side[0],
                              .destination = &side[1],
                              .shape = c->shape,
                              .source_dtype = to,
                              .destination_dtype = to};
  return llrt_sharding_parse(c->source, NULL, 2, c->shape, &side[0]) == LLRT_OK &&
         llrt_sharding_parse(c->destination, NULL, 2, c->shape, &side[1]) == LLRT_OK;
}

Test(reshard_halves, bytes_of_two_boxes_are_found) {
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const halves_case *c = &cases[i];
    llrt_sharding side[2];
    llrt_reshard_desc desc;
    cr_assert(describe(c, LLRT_B4, side, &desc), "%s: %s", c->name, llrt_last_error());
    cr_expect_eq(reshard_shares_bytes(&desc), c->shares, "%s", c->name);
    cr_assert(describe(c, LLRT_B8, side, &desc));
    cr_expect_not(reshard_shares_bytes(&desc), "%s, of bytes", c->name);
  }
}

/* Unless the description says otherwise. */
Test(reshard_halves, they_are_read) {
  const halves_case *c = &cases[3];
  llrt_sharding side[2];
  llrt_reshard_desc desc;
  const reshard_crossing crossing = {.written = 1, .read = 10};
  cr_assert(describe(c, LLRT_B4, side, &desc));
  cr_expect_eq(reshard_choose_access(&desc, &crossing), LLRT_RESHARD_READ);
  cr_assert(describe(c, LLRT_B8, side, &desc));
  cr_expect_eq(reshard_choose_access(&desc, &crossing), LLRT_RESHARD_WRITE);
}
