/* Operations in text: what each gives, and where errors point. */
#include "tests/layout/layout_text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const struct {
  const char *text, *expected;
} rows[] = {
    {"identity1d(4, a, x)", "{a: [[1],[2]]} -> [x:4]"},
    {"identity1d(0, a, x)", "{} -> []"},
    {"strided1d(2, 4, a, x)", "{a: [[4]]} -> [x:8]"},
    {"zeros1d(4, a, x)", "{a: [[0],[0]]} -> [x:1]"},
    {"zeros1d(2, a, x, 8)", "{a: [[0]]} -> [x:8]"},
    {"identity1d(4, a, x) * identity1d(2, b, y) * zeros1d(2, a, x)",
     "{a: [[1,0],[2,0],[0,0]], b: [[0,1]]} -> [x:4, y:2]"},
    {"compose(identity1d(4, a, b), strided1d(4, 2, b, c))", "{a: [[2],[4]]} -> [c:8]"},
    {"invert({a: [[2],[1]]} -> [x:4])", "{x: [[2],[1]]} -> [a:4]"},
    {"pseudoinvert({a: [[1],[1],[2]]} -> [x:4])", "{x: [[1],[4]]} -> [a:8]"},
    {"invert_and_compose({r: [[1],[2]]} -> [x:4], {o: [[2],[1]]} -> [x:4])",
     "{r: [[2],[1]]} -> [o:4]"},
    {"invert_and_compose_block_local({block: [[1]]} -> [x:2], "
     "{offset: [[1]], block: [[0]]} -> [x:2])",
     "{block: [[1,1]]} -> [offset:2, block:2]"},
    {"solve({a: [[1],[2]], b: [[1]]} -> [x:4], {a: [[1],[2]], b: [[1]]} -> [x:4])",
     "{a: [[1,0],[2,0]], b: [[1,0]]} -> [a:4, b:2]"},
    {"divide_left(identity1d(8, i, o), identity1d(2, i, o))", "{i: [[1],[2]]} -> [o:4]"},
    {"divide_right({i: [[1],[2],[0]]} -> [o:4], zeros1d(2, i, o))", "{i: [[1],[2]]} -> [o:4]"},
    {"repetitions(identity1d(8, i, o), identity1d(2, i, o))", "{i: [[0],[2],[4]]} -> [o:8]"},
    {"quotient(identity1d(4, a, a) * identity1d(2, b, b), [a])", "{b: [[1]]} -> [b:2]"},
    {"conversion({register: [[1]], lane: [[2]]} -> [x:4], {lane: [[1]], register: [[2]]} -> [x:4])",
     "{lane: [[1,0]], register: [[0,1]]} -> [register:2, lane:2]"},
    {"sublayout(identity1d(2, a, x) * identity1d(2, b, y), [b], [x, y])",
     "{b: [[0,1]]} -> [x:2, y:2]"},
    {"transpose_ins(identity1d(2, a, x) * identity1d(2, b, x), [b, a])",
     "{b: [[2]], a: [[1]]} -> [x:4]"},
    {"transpose_outs(identity1d(2, a, x) * identity1d(2, b, y), [y, x])",
     "{a: [[0,1]], b: [[1,0]]} -> [y:2, x:2]"},
    {"reshape_ins(identity1d(8, i, o), [p:2, q:4])", "{p: [[1]], q: [[2],[4]]} -> [o:8]"},
    {"reshape_outs(identity1d(8, i, o), [p:2, q:4])", "{i: [[1,0],[0,1],[0,2]]} -> [p:2, q:4]"},
    {"flatten_ins(identity1d(2, a, x) * identity1d(2, b, x))", "{a: [[1],[2]]} -> [x:4]"},
    {"flatten_outs(identity1d(2, a, x) * identity1d(2, a, y))", "{a: [[1],[2]]} -> [x:4]"},
    {"flatten_ins({} -> [])", "{} -> []"},
    {"concat_ins(identity1d(2, a, x), identity1d(2, b, x))", "{a: [[1]], b: [[1]]} -> [x:2]"},
    {"concat_outs(identity1d(2, a, x), identity1d(2, a, y))", "{a: [[1,1]]} -> [x:2, y:2]"},
    {"squeeze_in(identity1d(2, a, x) * identity1d(1, b, x), b)", "{a: [[1]]} -> [x:2]"},
    {"squeeze_out(identity1d(2, a, x) * zeros1d(1, a, y), y)", "{a: [[1]]} -> [x:2]"},
    {"resize_in(identity1d(4, a, x), a, 2)", "{a: [[1]]} -> [x:4]"},
    {"resize_in(identity1d(2, a, x), a, 4)", "{a: [[1],[0]]} -> [x:2]"},
    {"resize_out({a: [[3],[2],[1]]} -> [x:4], x, 2)", "{a: [[0],[0],[1]]} -> [x:2]"},
    {"select_bases(identity1d(8, i, o), i, [2, 0])", "{i: [[4],[1]]} -> [o:8]"},
    {"remove_zero_bases({i: [[0],[1],[0]]} -> [o:2], i)", "{i: [[1]]} -> [o:2]"},
    {"rename_in(identity1d(2, a, x), a, c)", "{c: [[1]]} -> [x:2]"},
    {"rename_out(identity1d(2, a, x), x, c)", "{a: [[1]]} -> [c:2]"},
    /* refused */
    {"identity1d(4, a)", "column 16: expected ','"},
    {"identity1d(4, a, x) *", "column 22: expected a layout"},
    {"compose(identity1d(4, a, b), foo)", "column 30: unknown layout 'foo'"},
    {"divide_left(identity1d(8, i, o), zeros1d(2, i, o))",
     "column 1: divide: the divisor's basis 0 of i is another"},
    {"invert(invert(identity1d(4, a, x) * zeros1d(2, b, x)))",
     "column 8: invert: 3 in bits, 2 out bits"},
    {"quotient(identity1d(4, a, x), [a])",
     "column 1: quotient: the layout is not trivial over these dims"},
    {"reshape_ins(identity1d(4, a, x), [p:3])", "column 37: a size is a power of two up to 2^64"},
    {"reshape_ins(identity1d(4, a, x), [p:2])", "column 1: reshape: 2^2 positions into 2^1"},
    {"select_bases(identity1d(4, a, x), a, [2])", "column 1: select: a has no bit 2"},
    {"squeeze_in(identity1d(4, a, x), a)", "column 1: squeeze: a has 2^2 positions"},
    {"identity1d(1099511627776, a, x) * identity1d(1099511627776, a, x)",
     "column 33: 80 in bits, more than 64"},
};

Test(operation_text, rows) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    llrt_layout out;
    if (llrt_layout_parse(rows[i].text, 0, NULL, &out) == LLRT_OK)
      expect_layout(&out, rows[i].expected, rows[i].text);
    else
      cr_expect(strcmp(said(), rows[i].expected) == 0, "%s\n  says     %s\n  expected %s",
                rows[i].text, said(), rows[i].expected);
  }
}

/* Families stand in operations: a register layout's place in a swizzled memory. */
Test(operation_text, of_families) {
  static const char *const text =
      "invert_and_compose(blocked(size_per_thread=[1,4], threads_per_warp=[8,4], "
      "warps_per_cta=[1,1], order=[1,0]), "
      "swizzled_shared(vec=4, per_phase=1, max_phase=4, order=[1,0]))";
  const int64_t shape[] = {8, 16};
  llrt_layout out;
  cr_assert(llrt_layout_parse(text, 2, shape, &out) == LLRT_OK, "%s", llrt_last_error());
  expect_layout(&out,
                "{register: [[1,0],[2,0]], lane: [[4,0],[8,0],[20,0],[40,0],[64,0]], "
                "warp: [], block: []} -> [offset:128, block:1]",
                text);
}

/* Products are as long as the limits of layouts allow; nesting ends in an error, not in the
 * stack. */
Test(operation_text, depth) {
  static char text[1 << 20];
  llrt_layout out;
  size_t at = 0;
  for (int i = 0; i < 30000; i++)
    at += (size_t)sprintf(text + at, "%sidentity1d(1,a,x)", i ? "*" : "");
  cr_assert(llrt_layout_parse(text, 0, NULL, &out) == LLRT_OK, "%s", llrt_last_error());
  for (int depth = 1; depth < 100; depth++) {
    at = 0;
    for (int i = 1; i < depth; i++) at += (size_t)sprintf(text + at, "flatten_ins(");
    at += (size_t)sprintf(text + at, "{} -> []");
    for (int i = 1; i < depth; i++) at += (size_t)sprintf(text + at, ")");
    cr_expect_eq(llrt_layout_parse(text, 0, NULL, &out) == LLRT_OK, depth <= 16, "%d", depth);
  }
}
