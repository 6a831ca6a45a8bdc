/* Operations on dims and columns, on thousands of random layouts, against evaluation at every
 * point. */
#include "tests/layout/brute_force.h"

#include "base/bits.h"

#include <criterion/criterion.h>
#include <string.h>

#define SHOW "%s\n%s", text_of(&a), text_of(&out)
#define EVERY_POINT(x, layout) (uint64_t x = 0; x < count_points(IN(layout)); x++)

/* Names of a random subset of dims (all: of all of them), in random order; returns how many. */
static int choose(random_source *source, const llrt_dim *dims, int n, bool all,
                  const char **names) {
  int count = 0, start = n ? random_below(source, n) : 0;
  for (int i = 0; i < n; i++)
    if (all || random_below(source, 2)) names[count++] = dims[(start + i) % n].name;
  return count;
}

Test(dims, sublayout) {
  random_source source = random_start("dims/sublayout");
  for (int trial = 0; trial < RANDOM_PAIRS; trial++) {
    llrt_layout a = random_named(&source), out;
    const char *ins[4], *outs[4];
    int n_ins = choose(&source, IN(&a), false, ins), n_outs = choose(&source, OUT(&a), false, outs);
    cr_assert(llrt_layout_sublayout(&a, ins, n_ins, outs, n_outs, &out) == LLRT_OK);
    cr_assert(out.n_in == n_ins && out.n_out == n_outs);
    bool zero = true;
    for
      EVERY_POINT(x, &out) {
        uint64_t whole = value_at(&a, rename_word(IN(&out), x, IN(&a)));
        cr_assert_eq(value_at(&out, x), rename_word(OUT(&a), whole, OUT(&out)), SHOW);
        zero &= value_at(&out, x) == 0;
      }
    cr_assert_eq(llrt_layout_sublayout_is_zero(&a, ins, n_ins, outs, n_outs), zero, SHOW);
  }
}

Test(dims, transpose) {
  random_source source = random_start("dims/transpose");
  for (int trial = 0; trial < RANDOM_PAIRS; trial++) {
    llrt_layout a = random_named(&source), out;
    const char *ins[4], *outs[4];
    int n_ins = choose(&source, IN(&a), true, ins), n_outs = choose(&source, OUT(&a), true, outs);
    cr_assert(llrt_layout_transpose_ins(&a, ins, n_ins, &out) == LLRT_OK);
    cr_assert(llrt_layout_transpose_outs(&out, outs, n_outs, &out) == LLRT_OK);
    for (int i = 0; i < n_ins; i++) cr_assert_str_eq(out.in[i].name, ins[i]);
    for (int i = 0; i < n_outs; i++) cr_assert_str_eq(out.out[i].name, outs[i]);
    for
      EVERY_POINT(x, &out)
    cr_assert_eq(rename_word(OUT(&out), value_at(&out, x), OUT(&a)),
                 value_at(&a, rename_word(IN(&out), x, IN(&a))), SHOW);
  }
}

/* Cuts `bits` into n dims. */
static void cut(random_source *source, int bits, int n, llrt_dim *dims) {
  for (int i = 0; i < n; i++) {
    int taken = i + 1 == n ? bits : random_below(source, bits + 1);
    dims[i] = (llrt_dim){.name = {(char)('p' + i)}, .bits = (uint8_t)taken};
    bits -= taken;
  }
}

/* End to end, neither points nor values change. */
Test(dims, reshape_and_flatten) {
  random_source source = random_start("dims/reshape");
  for (int trial = 0; trial < RANDOM_PAIRS; trial++) {
    llrt_layout a = random_named(&source), out, flat;
    llrt_dim ins[3], outs[3];
    cut(&source, llrt_layout_in_bits(&a), 3, ins);
    cut(&source, llrt_layout_out_bits(&a), 3, outs);
    cr_assert(llrt_layout_reshape_ins(&a, ins, 3, &out) == LLRT_OK);
    cr_assert(llrt_layout_reshape_outs(&out, outs, 3, &out) == LLRT_OK);
    cr_assert(llrt_layout_flatten_ins(&a, "i", &flat) == LLRT_OK);
    cr_assert(llrt_layout_flatten_outs(&flat, "o", &flat) == LLRT_OK);
    cr_assert_eq(flat.n_in, a.n_in > 0);
    cr_assert_eq(flat.n_out, a.n_out > 0);
    for
      EVERY_POINT(x, &a) {
        cr_assert_eq(value_at(&out, x), value_at(&a, x), SHOW);
        cr_assert_eq(value_at(&flat, x), value_at(&a, x), SHOW);
      }
    ins[0].bits++;
    cr_assert(llrt_layout_reshape_ins(&a, ins, 3, &out) == LLRT_INVALID_ARGUMENT);
  }
}

Test(dims, concat) {
  random_source source = random_start("dims/concat");
  for (int trial = 0; trial < RANDOM_PAIRS; trial++) {
    llrt_layout a = random_named(&source), b = random_onto(&source, OUT(&a)), out, above;
    shuffle_outs(&source, &b);
    for (int i = 0; i < b.n_in; i++) b.in[i].name[0] = 'x';
    cr_assert(llrt_layout_concat_ins(&a, &b, &out) == LLRT_OK);
    for
      EVERY_POINT(x, &out) {
        uint64_t of_b = value_at(&b, rename_word(IN(&out), x, IN(&b)));
        uint64_t value = rename_word(OUT(&b), of_b, OUT(&a));
        value ^= value_at(&a, rename_word(IN(&out), x, IN(&a)));
        cr_assert_eq(value_at(&out, x), value, SHOW);
      }
    above = random_from(&source, IN(&a));
    for (int i = 0; i < above.n_out; i++) above.out[i].name[0] = 'x';
    cr_assert(llrt_layout_concat_outs(&a, &above, &out) == LLRT_OK);
    for
      EVERY_POINT(x, &out) {
        uint64_t value = value_at(&out, x);
        cr_assert_eq(rename_word(OUT(&out), value, OUT(&a)), value_at(&a, x), SHOW);
        cr_assert_eq(rename_word(OUT(&out), value, OUT(&above)), value_at(&above, x), SHOW);
      }
  }
}

Test(dims, resize) {
  random_source source = random_start("dims/resize");
  for (int trial = 0; trial < RANDOM_PAIRS; trial++) {
    llrt_layout a = random_named(&source), out;
    if (a.n_in == 0 || a.n_out == 0) continue;
    const char *in = a.in[random_below(&source, a.n_in)].name;
    int index = random_below(&source, a.n_out), size = 1 << random_below(&source, 4);
    cr_assert(llrt_layout_resize_in(&a, in, size, &out) == LLRT_OK);
    for
      EVERY_POINT(x, &out) { /* positions past the old size repeat those below */
        uint64_t point = 0;
        for (int i = 0; i < a.n_in; i++)
          point = with_coordinate(IN(&a), point, a.in[i].name,
                                  coordinate(IN(&out), x, a.in[i].name) & bits_mask(a.in[i].bits));
        cr_assert_eq(value_at(&out, x), value_at(&a, point), SHOW);
      }
    int kept = random_below(&source, a.out[index].bits + 1);
    const char *name = a.out[index].name;
    cr_assert(llrt_layout_resize_out(&a, name, 1ll << kept, &out) == LLRT_OK);
    for (int i = 0; i < llrt_layout_in_bits(&a); i++) {
      uint64_t was = coordinate(OUT(&a), a.column[i], name);
      for (int k = 0; k < a.n_out; k++) {
        uint64_t whole = coordinate(OUT(&a), a.column[i], a.out[k].name);
        if (k == index && was >> kept) whole = 0;
        cr_assert_eq(coordinate(OUT(&out), out.column[i], a.out[k].name), whole, SHOW);
      }
    }
    cr_assert(llrt_layout_resize_out(&a, name, 2ll << a.out[index].bits, &out) ==
              LLRT_INVALID_ARGUMENT);
  }
}

Test(dims, select_bases) {
  random_source source = random_start("dims/select_bases");
  for (int trial = 0; trial < RANDOM_PAIRS; trial++) {
    llrt_layout a = random_named(&source), out;
    if (a.n_in == 0) continue;
    int index = random_below(&source, a.n_in), bits = a.in[index].bits, action[4];
    int n = bits ? random_below(&source, 5) : 0;
    for (int k = 0; k < n; k++) action[k] = random_below(&source, bits);
    const char *name = a.in[index].name;
    cr_assert(llrt_layout_select_bases(&a, name, action, n, &out) == LLRT_OK);
    for
      EVERY_POINT(x, &out) {
        uint64_t own = coordinate(IN(&out), x, name), point = 0;
        for (int i = 0; i < a.n_in; i++)
          point = with_coordinate(IN(&a), point, a.in[i].name,
                                  i == index ? llrt_layout_selected_position(action, n, own)
                                             : coordinate(IN(&out), x, a.in[i].name));
        cr_assert_eq(value_at(&out, x), value_at(&a, point), SHOW);
      }
    cr_assert(llrt_layout_remove_zero_bases(&a, name, &out) == LLRT_OK);
    int zeros = 0, first = llrt_layout_in_shift(&a, index);
    for (int k = 0; k < bits; k++) zeros += a.column[first + k] == 0;
    cr_assert_eq(out.in[index].bits, bits - zeros);
    cr_assert_eq(llrt_layout_rank(&out), llrt_layout_rank(&a));
  }
}

Test(dims, rename_and_squeeze) {
  llrt_layout out;
  llrt_layout a = layout_of("{i: [[1,0,2],[2,0,0]], j: [], k: [[0,0,1]]} -> [x:4, one:1, y:4]");
  const char *from[] = {"i", "k"}, *to[] = {"k", "i"}, *same[] = {"j", "j"};
  cr_assert(llrt_layout_rename_ins(&a, from, to, 2, &out) == LLRT_OK);
  expect_layout(&out, "{k: [[1,0,2],[2,0,0]], j: [], i: [[0,0,1]]} -> [x:4, one:1, y:4]",
                "exchange");
  cr_assert(llrt_layout_rename_outs(&a, (const char *[]){"x"}, (const char *[]){"z"}, 1, &out) ==
            LLRT_OK);
  cr_expect_str_eq(out.out[0].name, "z");
  expect_error(llrt_layout_rename_ins(&a, from, same, 2, &out), LLRT_INVALID_ARGUMENT,
               "rename: two in-dims are named j", "twice");
  expect_error(llrt_layout_rename_ins(&a, from, (const char *[]){"7", "a"}, 2, &out),
               LLRT_INVALID_ARGUMENT, "rename: the new name is malformed", "malformed");
  cr_assert(llrt_layout_squeeze_in(&a, "j", &out) == LLRT_OK);
  cr_assert(llrt_layout_squeeze_out(&out, "one", &out) == LLRT_OK);
  expect_layout(&out, "{i: [[1,2],[2,0]], k: [[0,1]]} -> [x:4, y:4]", "squeeze");
  expect_error(llrt_layout_squeeze_in(&a, "i", &out), LLRT_INVALID_ARGUMENT,
               "squeeze: i has 2^2 positions", "not of size 1");
  cr_expect(llrt_layout_squeeze_out(&a, NULL, &out) == LLRT_INVALID_ARGUMENT);
}

Test(dims, identity_nd) {
  llrt_layout out;
  int64_t size[] = {2, 4};
  cr_assert(llrt_layout_identity_nd("lane", 2, size, (int[]){1, 0}, &out) == LLRT_OK);
  expect_layout(&out, "{lane: [[1,0],[2,0],[0,1]]} -> [dim1:4, dim0:2]", "order");
  cr_expect(llrt_layout_identity_nd("lane", 2, size, (int[]){1, 1}, &out) == LLRT_INVALID_ARGUMENT);
  cr_expect(llrt_layout_identity_nd("lane", 2, size, (int[]){0, 2}, &out) == LLRT_INVALID_ARGUMENT);
  size[0] = 3;
  cr_expect(llrt_layout_identity_nd("lane", 2, size, (int[]){1, 0}, &out) == LLRT_INVALID_ARGUMENT);
}
