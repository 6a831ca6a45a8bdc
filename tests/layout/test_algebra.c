/* Composition, products, inverses, dims: tables, then every point against the definition. */
#include "base/bits.h"
#include "tests/layout/layout_text.h"

#include <criterion/criterion.h>
#include <string.h>

typedef llrt_status binary(const llrt_layout *a, const llrt_layout *b, llrt_layout *out);

typedef struct row {
  const char *a, *b, *expected; /* expected: a layout, or the error's message */
} row;

static void check_rows(binary *function, const row *rows, size_t n) {
  for (size_t i = 0; i < n; i++) {
    llrt_layout a = layout_of(rows[i].a), b = layout_of(rows[i].b), out = a;
    llrt_status status = function(&a, &b, &out);
    if (rows[i].expected[0] == '{') {
      cr_expect(status == LLRT_OK, "%s: %s", rows[i].a, llrt_last_error());
      expect_layout(&out, rows[i].expected, rows[i].a);
      cr_expect(function(&a, &b, &b) == LLRT_OK && llrt_layout_equal(&b, &out), "in place: %s",
                rows[i].a);
    } else {
      expect_error(status, LLRT_INVALID_ARGUMENT, rows[i].expected, rows[i].a);
      cr_expect(llrt_layout_equal(&out, &(llrt_layout){0}), "zeroed: %s", rows[i].a);
    }
  }
}

#define CHECK_ROWS(function, rows) check_rows(function, rows, sizeof(rows) / sizeof(rows)[0])

static void check_null(binary *function) {
  llrt_layout good = layout_of("{x: [[1]]} -> [x:2]"), bad = good, out = good;
  bad.n_in = 99;
  cr_expect(function(NULL, &good, &out) == LLRT_INVALID_ARGUMENT);
  cr_expect(llrt_layout_equal(&out, &(llrt_layout){0}), "zeroed");
  cr_expect(function(&good, NULL, &out) == LLRT_INVALID_ARGUMENT);
  cr_expect(function(&bad, &good, &out) == LLRT_INVALID_ARGUMENT);
  cr_expect(function(&good, &bad, &out) == LLRT_INVALID_ARGUMENT);
  cr_expect(function(&good, &good, NULL) == LLRT_INVALID_ARGUMENT);
}

Test(algebra, null_and_malformed) {
  check_null(llrt_layout_compose);
  check_null(llrt_layout_product);
  check_null(llrt_layout_invert_and_compose);
}

/* ---- compose ---- */

Test(algebra, compose) {
  static const row rows[] = {
      {"{a: [[1,1],[0,1]], b: [[1,0],[1,2]]} -> [x:2, y:4]",
       "{x: [[2,2]], y: [[1,1],[2,1]]} -> [u:4, v:4]",
       "{a: [[3,3],[1,1]], b: [[2,2],[0,3]]} -> [u:4, v:4]"},
      {"{a: [[1,0],[0,1]]} -> [x:2, y:2]", "{y: [[1]], x: [[2]]} -> [u:4]",
       "{a: [[2],[1]]} -> [u:4]"},
      {"{a: [[1]]} -> [x:2]", "{x: [[1],[2]]} -> [u:4]", "{a: [[1]]} -> [u:4]"},
      {"{} -> []", "{} -> []", "{} -> []"},
      {"{a: [[]]} -> []", "{} -> [u:2]", "{a: [[0]]} -> [u:2]"},
      {"{a: [[1],[2]]} -> [x:4]", "{x: [[1]]} -> [u:2]",
       "compose: x has 2 bits in the first, only 1 in the second"},
      {"{a: [[1]]} -> [x:2]", "{y: [[1]]} -> [u:2]", "compose: the second has no in-dim x"},
      {"{a: [[1]]} -> [x:2]", "{x: [[1]], y: []} -> [u:2]",
       "compose: the first has 1 out-dims, the second 2 in-dims"},
  };
  CHECK_ROWS(llrt_layout_compose, rows);
}

/* Renames the out-dims of a random layout so that it can be put before or behind another. */
static void rename_dims(llrt_dim *dim, int n, char first) {
  for (int i = 0; i < n; i++) dim[i].name[0] = (char)(first + i);
}

/* b's in-dims are a's out-dims: x, y. */
static void random_pair(random_source *source, int bits, llrt_layout *a, llrt_layout *b) {
  *a = random_layout(source, random_below(source, bits), random_below(source, bits));
  *b = *a;
  while (b->in[0].bits < a->out[0].bits || b->in[1].bits < a->out[1].bits || b->in[2].bits)
    *b = random_layout(source, llrt_layout_out_bits(a) + random_below(source, 2),
                       random_below(source, bits));
  b->n_in = 2;
  rename_dims(b->in, 2, 'x');
  rename_dims(b->out, 2, 'u');
}

Test(algebra, compose_at_every_point) {
  random_source source = random_start("algebra/compose");
  for (int trial = 0; trial < 200; trial++) {
    llrt_layout a, b, c;
    random_pair(&source, trial < 190 ? 8 : 13, &a, &b);
    cr_assert(llrt_layout_compose(&a, &b, &c) == LLRT_OK, "%s", llrt_last_error());
    cr_assert(llrt_layout_is_valid(&c));
    for (uint64_t p = 0; p < 1ull << llrt_layout_in_bits(&a); p++) {
      uint64_t middle = llrt_layout_apply_flat(&a, p), x = middle & bits_mask(a.out[0].bits);
      uint64_t flat = x | middle >> a.out[0].bits << b.in[0].bits;
      cr_assert_eq(llrt_layout_apply_flat(&c, p), llrt_layout_apply_flat(&b, flat));
    }
  }
}

/* ---- product ---- */

Test(algebra, product) {
  static const row rows[] = {
      {"{i: [[1],[2]]} -> [o:4]", "{i: [[1]]} -> [o:2]", "{i: [[1],[2],[4]]} -> [o:8]"},
      {"{i: [[1]]} -> [o:2]", "{j: [[1]]} -> [p:2]", "{i: [[1,0]], j: [[0,1]]} -> [o:2, p:2]"},
      {"{i: [[1]]} -> [o:2]", "{j: [[1]]} -> [o:2]", "{i: [[1]], j: [[2]]} -> [o:4]"},
      {"{} -> []", "{i: [[1]]} -> [o:2]", "{i: [[1]]} -> [o:2]"},
      {"{i: [[1]]} -> [o:2]", "{} -> []", "{i: [[1]]} -> [o:2]"},
      {"{i: [[1]]} -> [o:2]", "{i: [[0],[0]]} -> [o:1]", "{i: [[1],[0],[0]]} -> [o:2]"},
      {"{i: [[1,0]]} -> [o:2, p:1]", "{i: [[1,1]]} -> [p:2, o:2]",
       "{i: [[1,0],[2,1]]} -> [o:4, p:2]"},
      {"{b: [[1]]} -> [o:2]", "{a: [[1]], b: [[2]]} -> [o:4]", "{a: [[2]], b: [[1],[4]]} -> [o:8]"},
  };
  CHECK_ROWS(llrt_layout_product, rows);
}

Test(algebra, product_limits) {
  llrt_layout a, out;
  cr_assert(llrt_layout_strided1d(1ll << 40, 1, "i", "o", &a) == LLRT_OK);
  expect_error(llrt_layout_product(&a, &a, &out), LLRT_UNSUPPORTED, "80 in bits, more than 64",
               "bits");
}

/* A dim's coordinate of the product is b's above a's. */
Test(algebra, product_at_every_point) {
  random_source source = random_start("algebra/product");
  for (int trial = 0; trial < 200; trial++) {
    llrt_layout a = random_layout(&source, random_below(&source, 6), random_below(&source, 6));
    llrt_layout b = random_layout(&source, random_below(&source, 6), random_below(&source, 6)), c;
    cr_assert(llrt_layout_product(&a, &b, &c) == LLRT_OK);
    for (uint64_t p = 0; p < 1ull << llrt_layout_in_bits(&a); p++)
      for (uint64_t q = 0; q < 1ull << llrt_layout_in_bits(&b); q++) {
        uint64_t flat = 0, u = llrt_layout_apply_flat(&a, p), v = llrt_layout_apply_flat(&b, q);
        for (int i = 0, at = 0; i < 3; at += a.in[i].bits + b.in[i].bits, i++) {
          flat |= (p >> llrt_layout_in_shift(&a, i) & bits_mask(a.in[i].bits)) << at;
          flat |= (q >> llrt_layout_in_shift(&b, i) & bits_mask(b.in[i].bits))
                  << (at + a.in[i].bits);
        }
        uint64_t x = (u & bits_mask(a.out[0].bits)) | (v & bits_mask(b.out[0].bits))
                                                          << a.out[0].bits;
        uint64_t y = u >> a.out[0].bits | v >> b.out[0].bits << a.out[1].bits;
        cr_assert_eq(llrt_layout_apply_flat(&c, flat), x | y << c.out[0].bits);
      }
  }
}

/* ---- inverses ---- */

Test(algebra, right_inverse) {
  static const struct {
    const char *a, *expected;
  } rows[] = {
      {"{a: [[2],[1]]} -> [x:4]", "{x: [[2],[1]]} -> [a:4]"},
      {"{a: [[1],[1],[3]], b: [[2]]} -> [x:4]", "{x: [[1,0],[5,0]]} -> [a:8, b:2]"},
      {"{a: [[0],[1]]} -> [x:2]", "{x: [[2]]} -> [a:4]"},
      {"{a: [[0,1]], b: [[1,0]]} -> [x:2, y:2]", "{x: [[0,1]], y: [[1,0]]} -> [a:2, b:2]"},
      {"{} -> []", "{} -> []"},
      {"{a: [[0]]} -> [x:1]", "{x: []} -> [a:2]"},
  };
  llrt_layout out;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    llrt_layout a = layout_of(rows[i].a);
    cr_assert(llrt_layout_right_inverse(&a, &out) == LLRT_OK, "%s", llrt_last_error());
    expect_layout(&out, rows[i].expected, rows[i].a);
  }
  llrt_layout thin = layout_of("{a: [[1]]} -> [x:4]");
  expect_error(llrt_layout_right_inverse(&thin, &out), LLRT_INVALID_ARGUMENT,
               "right inverse: the layout is not surjective", "not surjective");
  llrt_layout wide = layout_of("{} -> [a:1,b:1,c:1,d:1,e:1,f:1,g:1,h:1,i:1]");
  expect_error(llrt_layout_right_inverse(&wide, &out), LLRT_UNSUPPORTED,
               "right inverse: its 9 in-dims are more than 8", "too many dims");
  cr_expect(llrt_layout_right_inverse(NULL, &out) == LLRT_INVALID_ARGUMENT);
}

Test(algebra, right_inverse_at_every_point) {
  random_source source = random_start("algebra/right_inverse");
  int surjective = 0;
  for (int trial = 0; trial < 500; trial++) {
    int out_bits = random_below(&source, trial < 490 ? 7 : 15);
    llrt_layout a = random_layout(&source, out_bits + random_below(&source, 4), out_bits), x;
    bool has_inverse = llrt_layout_right_inverse(&a, &x) == LLRT_OK;
    cr_assert_eq(has_inverse, llrt_layout_is_surjective(&a));
    if (!has_inverse) continue;
    surjective++;
    uint64_t masks[LLRT_MAX_IN_DIMS], flat = 0;
    cr_assert(llrt_layout_free_variable_masks(&a, masks) == LLRT_OK);
    for (int i = 0; i < a.n_in; i++)
      if (a.in[i].bits) flat |= masks[i] << llrt_layout_in_shift(&a, i);
    for (uint64_t y = 0; y < 1ull << out_bits; y++) {
      uint64_t p = llrt_layout_apply_flat(&x, y);
      cr_assert_eq(llrt_layout_apply_flat(&a, p), y);
      cr_assert_eq(p & flat, 0, "free variables are zero");
    }
  }
  cr_assert_gt(surjective, 100);
}

Test(algebra, invert_and_compose) {
  static const row rows[] = {
      /* plain: where in the second lies what the first holds */
      {"{r: [[1],[2],[4]]} -> [x:8]", "{o: [[0],[4],[1],[2],[0]]} -> [x:8]",
       "{r: [[4],[8],[2]]} -> [o:32]"},
      /* leftmost pivots, free variables zero */
      {"{r: [[1],[2]]} -> [x:4]", "{o: [[1],[1],[2],[2]]} -> [x:4]", "{r: [[1],[4]]} -> [o:16]"},
      /* copies stay in their place: lane is the same in both and alone on its bits */
      {"{reg: [[1]], lane: [[0],[0]]} -> [x:2]", "{lane: [[0],[0]], off: [[1]]} -> [x:2]",
       "{reg: [[0,1]], lane: [[1,0],[2,0]]} -> [lane:4, off:2]"},
      {"{reg: [[2]], lane: [[1]]} -> [x:4]", "{reg: [[4]], lane: [[1]], off: [[2]]} -> [x:8]",
       "{reg: [[0,0,1]], lane: [[0,1,0]]} -> [reg:2, lane:2, off:2]"},
      /* lane shares its bit with reg in the second, so it is solved for like the rest */
      {"{reg: [[2]], lane: [[1]]} -> [x:4]", "{reg: [[1],[2]], lane: [[1]]} -> [x:4]",
       "{reg: [[2,0]], lane: [[1,0]]} -> [reg:4, lane:2]"},
      /* or with reg in the first */
      {"{reg: [[3]], lane: [[1]]} -> [x:4]", "{reg: [[1],[2]], lane: [[1]]} -> [x:4]",
       "{reg: [[3,0]], lane: [[1,0]]} -> [reg:4, lane:2]"},
      /* equal maps give the identity, copies and all */
      {"{a: [[1],[1],[0]]} -> [x:2]", "{a: [[1],[1],[0]]} -> [x:2]", "{a: [[1],[2],[4]]} -> [a:8]"},
      {"{a: [[1],[2]], b: [[1]]} -> [x:4]", "{a: [[1],[2]], b: [[1]]} -> [x:4]",
       "{a: [[1,0],[2,0]], b: [[0,1]]} -> [a:4, b:2]"},
      /* out-dims are matched by name, sizes may differ both ways */
      {"{a: [[1,0],[0,1]]} -> [x:2, y:2]", "{o: [[1,0],[0,1]]} -> [y:2, x:2]",
       "{a: [[2],[1]]} -> [o:4]"},
      {"{a: [[1]]} -> [x:2]", "{o: [[2],[1]]} -> [x:4]", "{a: [[2]]} -> [o:4]"},
      {"{a: [[1]]} -> [x:16]", "{o: [[2],[1]]} -> [x:4]", "{a: [[2]]} -> [o:4]"},
      {"{a: [[1]]} -> [x:16]", "{a: [[1]]} -> [x:2]", "{a: [[1]]} -> [a:2]"},
      {"{} -> []", "{o: [[]]} -> []", "{} -> [o:2]"},
      {"{a: [[1],[2]]} -> [x:4]", "{o: [[1]]} -> [x:4]",
       "invert_and_compose: the image of the inner layout is not inside that of the outer"},
      {"{a: [[8]]} -> [x:16]", "{o: [[2],[1]]} -> [x:4]",
       "invert_and_compose: the image of the inner layout is not inside that of the outer"},
      {"{a: [[1]]} -> [x:2]", "{o: [[1]]} -> [y:2]",
       "invert_and_compose: the outer layout has no out-dim x"},
      {"{a: [[1]]} -> [x:2]", "{o: [[1,0]]} -> [x:2, y:1]",
       "invert_and_compose: 1 out-dims against 2"},
  };
  CHECK_ROWS(llrt_layout_invert_and_compose, rows);
}

/* OR of an in-dim's columns, and of all others. */
static void split_touched(const llrt_layout *layout, int dim, uint64_t *own, uint64_t *others) {
  int from = llrt_layout_in_shift(layout, dim), to = from + layout->in[dim].bits;
  *own = *others = 0;
  for (int i = 0; i < llrt_layout_in_bits(layout); i++)
    *(i >= from && i < to ? own : others) |= layout->column[i];
}

/* The rule for in-dims that map to themselves, from its definition; both have in-dims a, b, c. */
static bool maps_to_itself(const llrt_layout *inner, const llrt_layout *outer, int dim) {
  uint64_t own, others, outer_own, outer_others;
  int n = inner->in[dim].bits;
  if (outer->in[dim].bits != n) return false;
  for (int i = 0; i < n; i++)
    if (inner->column[llrt_layout_in_shift(inner, dim) + i] !=
        outer->column[llrt_layout_in_shift(outer, dim) + i])
      return false;
  split_touched(inner, dim, &own, &others);
  split_touched(outer, dim, &outer_own, &outer_others);
  return (own & others) == 0 && (outer_own & outer_others) == 0;
}

static void check_inversion(const llrt_layout *inner, const llrt_layout *outer,
                            const llrt_layout *x) {
  for (uint64_t p = 0; p < 1ull << llrt_layout_in_bits(inner); p++)
    cr_assert_eq(llrt_layout_apply_flat(outer, llrt_layout_apply_flat(x, p)),
                 llrt_layout_apply_flat(inner, p), "%s\n%s\n%s", text_of(inner), text_of(outer),
                 text_of(x));
  for (int dim = 0; dim < inner->n_in; dim++)
    for (int i = 0; maps_to_itself(inner, outer, dim) && i < inner->in[dim].bits; i++)
      cr_assert_eq(x->column[llrt_layout_in_shift(inner, dim) + i],
                   1ull << (llrt_layout_in_shift(outer, dim) + i));
}

static bool image_is_inside(const llrt_layout *inner, const llrt_layout *outer) {
  llrt_layout both = *outer;
  int bits = llrt_layout_in_bits(outer), rank = llrt_layout_rank(outer);
  for (int i = 0; i < llrt_layout_in_bits(inner); i++) {
    both.in[0] = (llrt_dim){"all", (uint8_t)(bits + 1)};
    both.n_in = 1;
    both.column[bits] = inner->column[i];
    if (llrt_layout_rank(&both) != rank) return false;
  }
  return true;
}

Test(algebra, invert_and_compose_at_every_point) {
  random_source source = random_start("algebra/invert_and_compose");
  int solved = 0, refused = 0;
  for (int trial = 0; trial < 3000; trial++) {
    int out_bits = random_below(&source, trial < 2980 ? 6 : 14);
    llrt_layout outer = random_layout(&source, out_bits + random_below(&source, 3), out_bits), x;
    llrt_layout inner = random_layout(&source, random_below(&source, out_bits + 3), out_bits);
    memcpy(inner.out, outer.out, sizeof inner.out);
    if (trial % 3 == 0) { /* give them an in-dim in common */
      inner.in[0] = outer.in[0];
      inner.in[1].bits = inner.in[2].bits = 0;
      memcpy(inner.column, outer.column, sizeof inner.column);
      for (int i = outer.in[0].bits; i < LLRT_MAX_BITS; i++) inner.column[i] = 0;
    }
    bool inside = image_is_inside(&inner, &outer);
    llrt_status status = llrt_layout_invert_and_compose(&inner, &outer, &x);
    cr_assert_eq(status == LLRT_OK, inside, "%s\n%s", text_of(&inner), text_of(&outer));
    if (inside) check_inversion(&inner, &outer, &x);
    *(inside ? &solved : &refused) += 1;
  }
  cr_assert(solved > 300 && refused > 300, "%d solved, %d refused", solved, refused);
}

/* 64 columns on each side: no row of 128 bits is needed. */
Test(algebra, invert_and_compose_at_full_width) {
  random_source source = random_start("algebra/full_width");
  for (int trial = 0; trial < 20; trial++) {
    llrt_layout outer = layout_of("{} -> [x:18446744073709551616]"), inner, x;
    cr_assert(llrt_layout_add_in(&outer, "o", 64) == LLRT_OK);
    do
      for (int i = 0; i < 64; i++) outer.column[i] = random_bits(&source);
    while (llrt_layout_rank(&outer) < 64);
    inner = outer;
    inner.in[0].name[0] = 'i';
    for (int i = 0; i < 64; i++) inner.column[i] = random_bits(&source);
    cr_assert(llrt_layout_invert_and_compose(&inner, &outer, &x) == LLRT_OK);
    for (int i = 0; i < 1000; i++) {
      uint64_t p = random_bits(&source);
      cr_assert_eq(llrt_layout_apply_flat(&outer, llrt_layout_apply_flat(&x, p)),
                   llrt_layout_apply_flat(&inner, p));
    }
  }
}

/* ---- dims ---- */

Test(algebra, choosing_dims) {
  llrt_layout a = layout_of("{i: [[1,2],[2,0]], j: [[0,1]], k: []} -> [x:4, y:4]"), out;
  const char *all_ins[] = {"k", "i", "j"}, *all_outs[] = {"y", "x"};
  cr_assert(llrt_layout_transpose_ins(&a, all_ins, 3, &out) == LLRT_OK);
  expect_layout(&out, "{k: [], i: [[1,2],[2,0]], j: [[0,1]]} -> [x:4, y:4]", "transpose_ins");
  cr_assert(llrt_layout_transpose_outs(&a, all_outs, 2, &out) == LLRT_OK);
  expect_layout(&out, "{i: [[2,1],[0,2]], j: [[1,0]], k: []} -> [y:4, x:4]", "transpose_outs");
  cr_assert(llrt_layout_sublayout(&a, (const char *[]){"j", "i"}, 2, all_outs, 1, &out) == LLRT_OK);
  expect_layout(&out, "{i: [[2],[0]], j: [[1]]} -> [y:4]", "sublayout keeps the order");
  cr_assert(llrt_layout_sublayout(&a, NULL, 0, NULL, 0, &out) == LLRT_OK);
  expect_layout(&out, "{} -> []", "sublayout of nothing");
  cr_assert(llrt_layout_flatten_ins(&a, "f", &out) == LLRT_OK);
  expect_layout(&out, "{f: [[1,2],[2,0],[0,1]]} -> [x:4, y:4]", "flatten_ins");
  cr_assert(llrt_layout_flatten_outs(&a, "f", &out) == LLRT_OK);
  expect_layout(&out, "{i: [[9],[2]], j: [[4]], k: []} -> [f:16]", "flatten_outs");
}

Test(algebra, choosing_dims_refuses) {
  llrt_layout a = layout_of("{i: [[1,2],[2,0]], j: [[0,1]]} -> [x:4, y:4]"), out;
  const char *twice[] = {"i", "i"}, *unknown[] = {"i", "z"}, *null[] = {"i", NULL};
  expect_error(llrt_layout_transpose_ins(&a, twice, 2, &out), LLRT_INVALID_ARGUMENT,
               "in-dim i is named twice", "twice");
  expect_error(llrt_layout_transpose_ins(&a, unknown, 2, &out), LLRT_INVALID_ARGUMENT,
               "there is no in-dim z", "unknown");
  expect_error(llrt_layout_transpose_ins(&a, null, 2, &out), LLRT_INVALID_ARGUMENT,
               "there is no in-dim NULL", "NULL");
  expect_error(llrt_layout_transpose_ins(&a, twice, 1, &out), LLRT_INVALID_ARGUMENT,
               "1 names for 2 in-dims", "too few");
  expect_error(llrt_layout_transpose_outs(&a, (const char *[]){"x"}, 1, &out),
               LLRT_INVALID_ARGUMENT, "1 names for 2 out-dims", "too few");
  expect_error(llrt_layout_sublayout(&a, NULL, 1, NULL, 0, &out), LLRT_INVALID_ARGUMENT,
               "1 names for 2 in-dims", "NULL names");
  expect_error(llrt_layout_flatten_ins(&a, "7", &out), LLRT_INVALID_ARGUMENT,
               "flatten_ins: the name is malformed", "name");
  cr_expect(llrt_layout_flatten_outs(&a, NULL, &out) == LLRT_INVALID_ARGUMENT);
  cr_expect(llrt_layout_flatten_ins(NULL, "f", &out) == LLRT_INVALID_ARGUMENT);
  cr_expect(llrt_layout_transpose_outs(&a, NULL, 2, NULL) == LLRT_INVALID_ARGUMENT);
}
