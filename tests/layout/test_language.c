/* The layout language: literals, families, and what is said about text that is neither. */
#include "base/bits.h"
#include "tests/layout/layout_text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* ---- literals ---- */

Test(language, literals_print_as_written) {
  static const char *const rows[] = {
      "{} -> []",
      "{a: []} -> []",
      "{a: [[],[]]} -> []",
      "{} -> [x:1]",
      "{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]]} -> [dim0:16, dim1:8]",
      "{a: [[9223372036854775808]]} -> [x:18446744073709551616]",
      "{a: [[0,18446744073709551615]]} -> [y:1, x:18446744073709551616]",
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    llrt_layout layout = layout_of(rows[i]);
    expect_layout(&layout, rows[i], "literal");
  }
}

Test(language, spaces_are_free) {
  llrt_layout layout = layout_of(" \t{a:[ [1 ,0] ,\n[ 2,0]],b :[]}->[x :4,y:1 ] \r\n");
  expect_layout(&layout, "{a: [[1,0],[2,0]], b: []} -> [x:4, y:1]", "spaces");
}

/* Any layout parses back from what it prints as. */
Test(language, round_trip) {
  random_source source = random_start("language/round_trip");
  for (int trial = 0; trial < 300; trial++) {
    llrt_layout layout =
        random_layout(&source, random_below(&source, 65), random_below(&source, 65));
    llrt_layout back = layout_of(text_of(&layout));
    cr_assert(llrt_layout_equal(&layout, &back), "%s", text_of(&layout));
  }
}

Test(language, print_follows_snprintf) {
  llrt_layout layout = layout_of("{a: [[1]]} -> [x:2]");
  char buffer[8];
  size_t length;
  cr_assert(llrt_layout_print(&layout, NULL, 0, &length) == LLRT_OK);
  cr_expect_eq(length, strlen("{a: [[1]]} -> [x:2]"));
  cr_assert(llrt_layout_print(&layout, buffer, sizeof buffer, &length) == LLRT_OK);
  cr_expect_str_eq(buffer, "{a: [[1");
  cr_expect_eq(length, strlen("{a: [[1]]} -> [x:2]"));
  cr_expect(llrt_layout_print(&layout, NULL, 4, &length) == LLRT_INVALID_ARGUMENT);
  cr_expect(llrt_layout_print(NULL, buffer, sizeof buffer, &length) == LLRT_INVALID_ARGUMENT);
  cr_expect_str_eq(buffer, "");
  cr_expect_eq(length, 0);
}

/* ---- families ---- */

/* Results for every rule are in test_recorded.c; here is what text adds. */
Test(language, keywords_in_any_order) {
  static const char *const rows[] = {
      "slice(dim=0, parent=blocked(size_per_thread=[1,2], threads_per_warp=[8,4], "
      "warps_per_cta=[2,1], order=[1,0]))",
      "slice(parent=blocked(order=[1,0], warps_per_cta=[2,1], threads_per_warp=[8,4], "
      "size_per_thread=[1,2]), dim=0)"};
  int64_t shape[1] = {16};
  for (int i = 0; i < 2; i++) {
    llrt_layout layout;
    cr_assert(llrt_layout_parse(rows[i], 1, shape, &layout) == LLRT_OK, "%s", llrt_last_error());
    expect_layout(&layout,
                  "{register: [[1],[8]], lane: [[2],[4],[0],[0],[0]], warp: [[0]], block: []} "
                  "-> [dim0:16]",
                  rows[i]);
  }
}

/* The blocks of a cluster split M and share K. */
Test(language, dot_operand_of_a_cluster) {
  int64_t shape[2] = {4, 2};
  llrt_layout layout;
  llrt_status status = llrt_layout_parse(
      "dot(operand=0, parent=blocked(size_per_thread=[1,1], threads_per_warp=[1,1], "
      "warps_per_cta=[1,1], order=[1,0], ctas_per_cga=[2,2], cta_split=[2,2], cta_order=[1,0]))",
      2, shape, &layout);
  cr_assert(status == LLRT_OK, "%s", llrt_last_error());
  expect_layout(&layout,
                "{register: [[0,1],[1,0]], lane: [], warp: [], block: [[0,0],[2,0]]} -> "
                "[dim0:4, dim1:2]",
                "dot of blocked");
}

/* f64's instruction is 8 x 8 x 4: half the elements along K. */
Test(language, dot_operand_of_8_rows) {
  int64_t shape[2] = {8, 4};
  llrt_layout layout;
  llrt_status status = llrt_layout_parse(
      "dot(operand=0, k_width=1, parent=nvmma(version=[2,0], warps_per_cta=[1,1], "
      "instr_shape=[8,8]))",
      2, shape, &layout);
  cr_assert(status == LLRT_OK, "%s", llrt_last_error());
  expect_layout(&layout,
                "{register: [], lane: [[0,1],[0,2],[1,0],[2,0],[4,0]], warp: [], block: []} -> "
                "[dim0:8, dim1:4]",
                "f64");
}

Test(language, blocked_from_params) {
  llrt_blocked_params params = {.rank = 2,
                                .size_per_thread = {1, 2},
                                .threads_per_warp = {2, 2},
                                .warps_per_cta = {2, 1},
                                .order = {1, 0}};
  int64_t shape[2] = {4, 8};
  llrt_layout layout;
  cr_assert(llrt_layout_blocked(&params, shape, &layout) == LLRT_OK, "%s", llrt_last_error());
  expect_layout(&layout,
                "{register: [[0,1],[0,4]], lane: [[0,2],[1,0]], warp: [[2,0]], block: []} -> "
                "[dim0:4, dim1:8]",
                "blocked");
  cr_expect(llrt_layout_blocked(NULL, shape, &layout) == LLRT_INVALID_ARGUMENT);
  cr_expect_eq(layout.n_in, 0, "zeroed");
  expect_error(llrt_layout_blocked(&params, NULL, &layout), LLRT_INVALID_ARGUMENT,
               "a layout family needs a shape", "no shape");
  cr_expect(llrt_layout_blocked(&params, shape, NULL) == LLRT_INVALID_ARGUMENT);
  params.order[0] = 7;
  expect_error(llrt_layout_blocked(&params, shape, &layout), LLRT_INVALID_ARGUMENT,
               "order does not list every axis once", "order");
  params.rank = 9;
  expect_error(llrt_layout_blocked(&params, shape, &layout), LLRT_INVALID_ARGUMENT,
               "rank 9 is not in 1..8", "rank");
}

/* ---- errors ---- */

#define BLOCKED \
  "blocked(size_per_thread=[1,2], threads_per_warp=[8,4], warps_per_cta=[2,1], order=[1,0])"
#define NVMMA "nvmma(version=[2,0], warps_per_cta=[1,2], instr_shape=[16,8])"

static const struct {
  const char *text, *message;
} malformed[] = {
    {"", "column 1: expected a layout"},
    {"  ", "column 3: expected a layout"},
    {"$", "column 1: expected a layout"},
    {"foo(x=1)", "column 1: unknown layout 'foo'"},
    {"row_major", "column 1: unknown layout 'row_major'"},
    {"{a: [[1,0]} -> [x:2]", "column 11: expected ']'"},
    {"{a: [[1,0 -> [x:2]", "column 11: expected ']'"},
    {"{a: [[1", "column 8: expected ']'"},
    {"{a [[1]]} -> [x:2]", "column 4: expected ':'"},
    {"{a: [1]} -> [x:2]", "column 6: expected '['"},
    {"{a: [[x]]} -> [x:2]", "column 7: expected a number"},
    {"{a: [[-1]]} -> [x:2]", "column 7: expected a number"},
    {"{a: [[1]], } -> [x:2]", "column 12: expected a name"},
    {"{a: [[1]]} [x:2]", "column 12: expected '->'"},
    {"{a: [[1]]} - > [x:2]", "column 12: expected '->'"},
    {"{a: [[1]]} -> x:2]", "column 15: expected '['"},
    {"{a: [[1]]} -> [x:3]", "column 18: a size is a power of two up to 2^64"},
    {"{a: [[1]]} -> [x:0]", "column 18: a size is a power of two up to 2^64"},
    {"{a: [[1]]} -> [x:36893488147419103232]", "column 18: a size is a power of two up to 2^64"},
    {"{a: [[1]]} -> [x:y]", "column 18: expected a number"},
    {"{a: [[18446744073709551616]]} -> [x:2]", "column 7: the number is too large"},
    {"{a: [[1]]} -> [x:2] ]", "column 21: expected the end"},
    {"{a: [[1]]} -> [x:2] $", "column 21: expected the end"},
    {"{a: [[0],[2]]} -> [x:2]", "column 10: coordinate 2 is outside x"},
    {"{a: [[0],[1,1]]} -> [x:2]", "column 10: 2 coordinates for 1 out-dims"},
    {"{a: [], a: []} -> [x:2]", "column 9: in-dim a is there already"},
    {"{a: []} -> [x:2, x:2]", "column 18: out-dim x is there already"},
    {"{a_name_too_long_: []} -> []", "column 2: a name has at most 15 characters"},
    {"{a: [[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]]} -> []", "column 39: more than 16 coordinates"},
    {"slice(dim=0, parent=foo())", "column 21: unknown layout family 'foo'"},
    {"slice(dim=0, parent={} -> [])", "column 21: expected a layout family"},
    {"slice(dim=0)", "column 1: slice needs parent"},
    {"slice()", "column 1: slice needs dim"},
    {"slice", "column 6: expected '('"},
    {"slice(dim=0 parent=" BLOCKED ")", "column 13: expected ')'"},
    {"slice(dim 0)", "column 11: expected '='"},
    {"slice(dim=[0])", "column 11: expected a number"},
    {"slice(dim=9223372036854775808)", "column 11: the number is too large"},
    {"slice(dim=0, dim=1)", "column 14: dim is given twice"},
    {"slice(axis=0)", "column 7: slice has no parameter 'axis'"},
    {"slice(0)", "column 7: expected a parameter's name"},
    {"blocked(order=[1,2,3,4,5,6,7,8,9])", "column 32: more than 8 entries"},
    {"blocked(order=[1,0)", "column 19: expected ']'"},
    {"blocked(order=1)", "column 15: expected '['"},
    {"blocked(order=[])", "column 1: blocked needs size_per_thread"},
    /* well-formed, but not this */
    {"blocked(size_per_thread=[1], threads_per_warp=[8,4], warps_per_cta=[2,1], order=[1,0])",
     "column 1: size_per_thread has 1 entries, not 2"},
    {"blocked(size_per_thread=[1,3], threads_per_warp=[8,4], warps_per_cta=[2,1], order=[1,0])",
     "column 1: size_per_thread: 3 is no power of two"},
    {"blocked(size_per_thread=[1,2], threads_per_warp=[8,4], warps_per_cta=[2,1], order=[1,1])",
     "column 1: order does not list every axis once"},
    {"blocked(size_per_thread=[1,2], threads_per_warp=[8,4], warps_per_cta=[2,1], order=[1,0], "
     "cta_split=[1,1])",
     "column 1: ctas_per_cga has 0 entries, not 2"},
    {"blocked(size_per_thread=[1,2], threads_per_warp=[8,4], warps_per_cta=[2,1], order=[1,0], "
     "ctas_per_cga=[1,1], cta_split=[1,2], cta_order=[1,0])",
     "column 1: cta_split of axis 1 is more than its blocks"},
    {"slice(dim=3, parent=" BLOCKED ")",
     "column 1: slice: there is no dim 3 in a parent of rank 3"},
    {"dot(operand=2, parent=" BLOCKED ")", "column 1: operand 2 is neither 0 nor 1"},
    {"dot(operand=0, parent=" NVMMA ")", "column 1: k_width 0 is no power of two up to 2^32"},
    {"nvmma(version=[2], warps_per_cta=[1,2], instr_shape=[16,8])",
     "column 1: version has 1 entries, not 2"},
    {"nvmma(version=[2,0], warps_per_cta=[1,2], instr_shape=[16])",
     "column 1: instr_shape has 1 entries, not 2"},
    {"nvmma(version=[3,0], warps_per_cta=[4,1], instr_shape=[16,8])",
     "column 1: instr_shape has 2 entries, not 3"},
    {"nvmma(version=[2,0], warps_per_cta=[1,2], instr_shape=[16,4])",
     "column 1: an instruction of 16 x 4 is smaller than 8 x 8"},
};

Test(language, errors_name_the_column) {
  int64_t shape[2] = {16, 16};
  for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
    llrt_layout out = layout_of("{a: []} -> []");
    expect_error(llrt_layout_parse(malformed[i].text, 2, shape, &out), LLRT_INVALID_ARGUMENT,
                 malformed[i].message, malformed[i].text);
    cr_expect_eq(out.n_in, 0, "zeroed: %s", malformed[i].text);
  }
}

Test(language, errors_that_are_no_syntax) {
  int64_t shape[3] = {16, 16, 16}, odd[2] = {16, 12}, empty[2] = {0, 16};
  llrt_layout out;
  expect_error(llrt_layout_parse(NULL, 2, shape, &out), LLRT_INVALID_ARGUMENT, "text: NULL",
               "NULL");
  expect_error(llrt_layout_parse("{} -> []", 9, shape, &out), LLRT_INVALID_ARGUMENT,
               "rank 9 is not in 0..8", "rank");
  cr_expect(llrt_layout_parse("{} -> []", 0, NULL, NULL) == LLRT_INVALID_ARGUMENT);
  expect_error(llrt_layout_parse(BLOCKED, 0, NULL, &out), LLRT_INVALID_ARGUMENT,
               "column 1: a layout family needs a shape", "no shape");
  expect_error(llrt_layout_parse(BLOCKED, 2, odd, &out), LLRT_INVALID_ARGUMENT,
               "column 1: axis 1 has 12 positions, no power of two", "shape");
  expect_error(llrt_layout_parse(BLOCKED, 2, empty, &out), LLRT_INVALID_ARGUMENT,
               "column 1: axis 0 has 0 positions, no power of two", "shape");
  expect_error(llrt_layout_parse(BLOCKED, 3, shape, &out), LLRT_INVALID_ARGUMENT,
               "column 1: size_per_thread has 2 entries, not 3", "rank of shape");
  expect_error(llrt_layout_parse("nvmma(version=[5,0], warps_per_cta=[1,2], instr_shape=[16,8])", 2,
                                 shape, &out),
               LLRT_UNSUPPORTED, "column 1: nvmma version 5: there are 2 and 3", "version");
  expect_error(llrt_layout_parse("dot(operand=1, k_width=2, parent=nvmma(version=[3,0], "
                                 "warps_per_cta=[4,1], instr_shape=[16,8,8]))",
                                 2, shape, &out),
               LLRT_UNSUPPORTED, "column 1: operand 1 of nvmma version 3 lies in shared memory",
               "v3 B");
  expect_error(
      llrt_layout_parse("dot(operand=0, parent=slice(dim=0, parent=" BLOCKED "))", 2, shape, &out),
      LLRT_UNSUPPORTED, "column 1: the parent of dot is blocked, nvmma, mfma or wmma",
      "dot of slice");
}

Test(language, depth_is_bounded) {
  char text[1024] = "";
  int64_t shape[1] = {16};
  llrt_layout out;
  for (int i = 0; i < 9; i++) strcat(text, "slice(dim=0, parent=");
  cr_expect(llrt_layout_parse(text, 1, shape, &out) == LLRT_INVALID_ARGUMENT);
  cr_expect_str_eq(said(), "column 161: families are nested deeper than 8");
}

Test(language, limits_of_literals) {
  char text[1024] = "{a: [";
  llrt_layout out;
  for (int i = 0; i < 65; i++) strcat(text, i ? ",[0]" : "[0]");
  strcat(text, "]} -> [x:1]");
  expect_error(llrt_layout_parse(text, 0, NULL, &out), LLRT_INVALID_ARGUMENT,
               "column 262: more than 64 basis vectors", "65 bases");
  expect_error(
      llrt_layout_parse("{a:[],b:[],c:[],d:[],e:[],f:[],g:[],h:[],i:[]} -> []", 0, NULL, &out),
      LLRT_UNSUPPORTED, "column 42: more than 8 in-dims", "9 in-dims");
  expect_error(llrt_layout_parse("{} -> [x:18446744073709551616, y:2]", 0, NULL, &out),
               LLRT_UNSUPPORTED, "column 32: 65 out bits, more than 64", "65 out bits");
}

/* No prefix and no change of one character of good text does harm. */
Test(language, damaged_text) {
  static const char good[] = "slice(dim=1, parent=dot(operand=0, k_width=2, parent=" NVMMA "))";
  static const char literal[] = "{a: [[1,0],[0,2]], b: []} -> [x:2, y:4]";
  const char *texts[] = {good, literal};
  int64_t shape[1] = {32};
  for (int t = 0; t < 2; t++)
    for (size_t i = 0; i < strlen(texts[t]); i++) {
      char text[sizeof good];
      llrt_layout out;
      snprintf(text, i + 1, "%s", texts[t]);
      cr_expect(llrt_layout_parse(text, 1, shape, &out) == LLRT_INVALID_ARGUMENT, "%s", text);
      for (const char *c = "{}[]():,=@->0x \x80"; *c; c++) {
        snprintf(text, sizeof text, "%s", texts[t]);
        text[i] = *c;
        llrt_status status = llrt_layout_parse(text, 1, shape, &out);
        cr_expect(status == LLRT_OK ? llrt_layout_is_valid(&out) : out.n_in == 0, "%s", text);
      }
    }
}
