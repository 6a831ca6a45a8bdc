/* Every operation of the algebra on thousands of random layouts, against evaluation at every point.
 * LLRT_TEST_SEED repeats a run. */
#include "tests/layout/brute_force.h"

#include "base/bits.h"

#include <criterion/criterion.h>
#include <string.h>

#define SHOW "%s\n%s\n%s", text_of(&a), text_of(&b), text_of(&out)

/* for (every point x of `layout`) */
#define EVERY_POINT(x, layout) (uint64_t x = 0; x < count_points(IN(layout)); x++)

Test(operations, compose) {
  random_source source = random_start("operations/compose");
  for (int trial = 0; trial < RANDOM_PAIRS; trial++) {
    llrt_layout a = random_named(&source), b = random_from(&source, OUT(&a)), out;
    shuffle_outs(&source, &a);
    cr_assert(llrt_layout_compose(&a, &b, &out) == LLRT_OK);
    for
      EVERY_POINT(x, &a) {
        uint64_t between = rename_word(OUT(&a), value_at(&a, x), IN(&b));
        cr_assert_eq(value_at(&out, x), value_at(&b, between), SHOW);
      }
  }
}

/* The value of b (low = false: a) at the part of the product's point that is its own. */
static uint64_t factor_value(const llrt_layout *product, const llrt_layout *a, const llrt_layout *b,
                             bool low, uint64_t x) {
  const llrt_layout *own = low ? a : b;
  uint64_t point = 0;
  for (int i = 0; i < own->n_in; i++) {
    const char *name = own->in[i].name;
    uint64_t both = coordinate(IN(product), x, name);
    int index = llrt_layout_in_index(a, name), bits = index < 0 ? 0 : a->in[index].bits;
    point = with_coordinate(IN(own), point, name, low ? both & bits_mask(bits) : both >> bits);
  }
  return value_at(own, point);
}

/* Whether whole(x) = (a's value low, b's value high) at every point. */
static bool is_product(const llrt_layout *whole, const llrt_layout *a, const llrt_layout *b) {
  for
    EVERY_POINT(x, whole) {
      uint64_t low = factor_value(whole, a, b, true, x), high = factor_value(whole, a, b, false, x);
      for (int i = 0; i < whole->n_out; i++) {
        const char *name = whole->out[i].name;
        int index = llrt_layout_out_index(a, name), bits = index < 0 ? 0 : a->out[index].bits;
        if (coordinate(OUT(whole), value_at(whole, x), name) !=
            (coordinate(OUT(a), low, name) | coordinate(OUT(b), high, name) << bits))
          return false;
      }
    }
  return true;
}

Test(operations, product) {
  random_source source = random_start("operations/product");
  for (int trial = 0; trial < RANDOM_PAIRS; trial++) {
    llrt_layout a = random_named(&source), b = random_named(&source), out;
    cr_assert(llrt_layout_product(&a, &b, &out) == LLRT_OK);
    cr_assert_eq(llrt_layout_in_bits(&out), llrt_layout_in_bits(&a) + llrt_layout_in_bits(&b));
    cr_assert_eq(llrt_layout_out_bits(&out), llrt_layout_out_bits(&a) + llrt_layout_out_bits(&b));
    cr_assert(is_product(&out, &a, &b), SHOW);
  }
}

/* ---- dividing ---- */

/* Whether a = b * C (left) or a = C * b has a C: b's part of a's value is b's value of its part
 * of the point, and the other part does not depend on it. */
static bool divides(const llrt_layout *a, const llrt_layout *b, bool left) {
  uint64_t own_in = 0, own_out = 0; /* b's bits in a's words */
  for (int i = 0; i < a->n_in; i++) {
    int index = llrt_layout_in_index(b, a->in[i].name), bits = index < 0 ? 0 : b->in[index].bits;
    if (bits > a->in[i].bits) return false;
    own_in |= bits_mask(bits) << (llrt_layout_in_shift(a, i) + (left ? 0 : a->in[i].bits - bits));
  }
  for (int i = 0; i < a->n_out; i++) {
    int index = llrt_layout_out_index(b, a->out[i].name), bits = index < 0 ? 0 : b->out[index].bits;
    if (bits > a->out[i].bits) return false;
    int shift = llrt_layout_out_shift(a, i) + (left ? 0 : a->out[i].bits - bits);
    own_out |= bits_mask(bits) << shift;
  }
  for (int i = 0; i < b->n_in; i++)
    if (llrt_layout_in_index(a, b->in[i].name) < 0) return false;
  for (int i = 0; i < b->n_out; i++)
    if (llrt_layout_out_index(a, b->out[i].name) < 0) return false;
  for
    EVERY_POINT(x, a) {
      if (value_at(a, x & own_in) & ~own_out || value_at(a, x & ~own_in) & own_out) return false;
      for (int i = 0; i < b->n_out; i++) { /* b's value at its part, seen through a's words */
        uint64_t point = 0, value = value_at(a, x & own_in);
        for (int k = 0; k < b->n_in; k++) {
          int index = llrt_layout_in_index(a, b->in[k].name);
          uint64_t part = coordinate(IN(a), x & own_in, b->in[k].name);
          point = with_coordinate(IN(b), point, b->in[k].name,
                                  part >> (left ? 0 : a->in[index].bits - b->in[k].bits));
        }
        int index = llrt_layout_out_index(a, b->out[i].name);
        uint64_t seen = coordinate(OUT(a), value, b->out[i].name);
        if (coordinate(OUT(b), value_at(b, point), b->out[i].name) !=
            seen >> (left ? 0 : a->out[index].bits - b->out[i].bits))
          return false;
      }
    }
  return true;
}

static void check_division(const char *test, bool left) {
  random_source source = random_start(test);
  int exist = 0, refused = 0;
  for (int trial = 0; trial < RANDOM_PAIRS; trial++) {
    llrt_layout a = random_named(&source), b = random_named(&source), out;
    if (trial % 2) cr_assert(llrt_layout_product(left ? &b : &a, left ? &a : &b, &a) == LLRT_OK);
    if (trial % 4 == 3 && a.in[0].bits && llrt_layout_out_bits(&a)) a.column[0] ^= 1;
    bool exists = divides(&a, &b, left);
    llrt_status status = (left ? llrt_layout_divide_left : llrt_layout_divide_right)(&a, &b, &out);
    cr_assert_eq(status == LLRT_OK, exists, SHOW);
    *(exists ? &exist : &refused) += 1;
    if (!exists) continue;
    cr_assert_eq(out.n_in, a.n_in);
    cr_assert_eq(out.n_out, a.n_out);
    cr_assert(left ? is_product(&a, &b, &out) : is_product(&a, &out, &b), SHOW);
  }
  cr_assert(exist > 2000 && refused > 2000, "%d exist, %d do not", exist, refused);
}

Test(operations, divide_left) { check_division("operations/divide_left", true); }
Test(operations, divide_right) { check_division("operations/divide_right", false); }

/* Trivial over dims: their coordinates pass through, the others' values know nothing of them. */
static bool passes_through(const llrt_layout *a, const char *name) {
  int in = llrt_layout_in_index(a, name), to = llrt_layout_out_index(a, name);
  if (in < 0 || to < 0 || a->in[in].bits != a->out[to].bits) return false;
  for
    EVERY_POINT(x, a) {
      uint64_t own = coordinate(IN(a), x, name);
      uint64_t without = with_coordinate(IN(a), x, name, own); /* XOR: that coordinate becomes 0 */
      uint64_t expected = with_coordinate(OUT(a), value_at(a, without), name, own);
      if (value_at(a, x) != expected || coordinate(OUT(a), value_at(a, without), name))
        return false;
    }
  return true;
}

Test(operations, quotient) {
  random_source source = random_start("operations/quotient");
  static const char *const dims[] = {"lane"};
  int exist = 0;
  for (int trial = 0; trial < RANDOM_PAIRS; trial++) {
    llrt_layout a = random_named(&source), b, out;
    int64_t size = 1ll << random_below(&source, 3);
    cr_assert(llrt_layout_strided1d(size, 1, "lane", "lane", &b) == LLRT_OK);
    if (llrt_layout_in_index(&a, "lane") < 0) cr_assert(llrt_layout_product(&a, &b, &a) == LLRT_OK);
    if (trial % 3 == 0 && llrt_layout_in_bits(&a) && llrt_layout_out_bits(&a)) a.column[0] ^= 1;
    bool exists = passes_through(&a, "lane");
    llrt_status status = llrt_layout_quotient(&a, dims, 1, &out);
    cr_assert_eq(status == LLRT_OK, exists, SHOW);
    if (!exists) continue;
    exist++;
    for
      EVERY_POINT(x, &out) {
        uint64_t whole = rename_word(IN(&out), x, IN(&a));
        cr_assert_eq(rename_word(OUT(&a), value_at(&a, whole), OUT(&out)), value_at(&out, x), SHOW);
      }
  }
  cr_assert_gt(exist, 2000);
}

Test(operations, repetitions) {
  random_source source = random_start("operations/repetitions");
  int exist = 0;
  for (int trial = 0; trial < RANDOM_PAIRS; trial++) {
    llrt_layout b = random_named(&source), a = random_named(&source), out;
    if (trial % 4) cr_assert(llrt_layout_product(&b, &a, &a) == LLRT_OK);
    bool exists = llrt_layout_repetitions(&a, &b, &out) == LLRT_OK;
    if (llrt_layout_divide_left(&a, &b, &out) == LLRT_OK) cr_assert(exists, SHOW);
    if (!exists) continue;
    exist++;
    /* a is the tile at the low part of each point xor the repetitions at the rest, apart in
     * bits. */
    cr_assert(llrt_layout_repetitions(&a, &b, &out) == LLRT_OK);
    for
      EVERY_POINT(x, &a) {
        uint64_t point = 0, tile = 0;
        for (int i = 0; i < b.n_in; i++)
          point = with_coordinate(IN(&b), point, b.in[i].name,
                                  coordinate(IN(&a), x, b.in[i].name) & bits_mask(b.in[i].bits));
        for (int i = 0; i < b.n_out; i++)
          tile = with_coordinate(OUT(&a), tile, b.out[i].name,
                                 coordinate(OUT(&b), value_at(&b, point), b.out[i].name));
        cr_assert_eq(value_at(&a, x), tile ^ value_at(&out, x), SHOW);
        cr_assert_eq(tile & value_at(&out, x), 0, SHOW);
      }
  }
  cr_assert_gt(exist, 2000);
}

/* ---- solving ---- */

static bool is_inside(const llrt_layout *inner, const llrt_layout *outer) {
  for
    EVERY_POINT(x, inner)
  if (!is_reached(outer, OUT(inner), value_at(inner, x))) return false;
  return true;
}

typedef llrt_status solver(const llrt_layout *inner, const llrt_layout *outer, llrt_layout *out);

static llrt_status solve(const llrt_layout *inner, const llrt_layout *outer, llrt_layout *out) {
  return llrt_layout_solve(outer, inner, out);
}

/* outer(X(x)) = inner(x) at every point; a solution exactly when every value of inner is
 * outer's. */
static void check_solver(const char *test, solver *find) {
  random_source source = random_start(test);
  int exist = 0, refused = 0;
  for (int trial = 0; trial < RANDOM_PAIRS; trial++) {
    llrt_layout b = random_named(&source), a = random_onto(&source, OUT(&b)), out;
    shuffle_outs(&source, &a);
    bool exists = is_inside(&a, &b);
    cr_assert_eq(find(&a, &b, &out) == LLRT_OK, exists, SHOW);
    *(exists ? &exist : &refused) += 1;
    for (uint64_t x = 0; exists && x < count_points(IN(&a)); x++)
      cr_assert_eq(rename_word(OUT(&b), value_at(&b, value_at(&out, x)), OUT(&a)), value_at(&a, x),
                   SHOW);
  }
  cr_assert(exist > 1000 && refused > 1000, "%d exist, %d do not", exist, refused);
}

Test(operations, solve) { check_solver("operations/solve", solve); }

Test(operations, invert_and_compose) {
  check_solver("operations/invert_and_compose", llrt_layout_invert_and_compose);
}

Test(operations, invert_and_compose_block_local) {
  check_solver("operations/block_local", llrt_layout_invert_and_compose_block_local);
}

/* What memory holds in every block is read in the block that asks. */
Test(operations, block_local_stays_in_the_block) {
  random_source source = random_start("operations/stays_in_the_block");
  for (int trial = 0; trial < RANDOM_PAIRS; trial++) {
    llrt_layout a = random_named(&source), b, out, copies;
    cr_assert(llrt_layout_identity_nd("offset", 3, (int64_t[]){4, 4, 4}, (int[]){0, 1, 2}, &b) ==
              LLRT_OK);
    cr_assert(llrt_layout_zeros1d(4, "block", "dim0", 1, &copies) == LLRT_OK);
    cr_assert(llrt_layout_product(&b, &copies, &b) == LLRT_OK);
    for (int i = 0; i < 3; i++)
      if (llrt_layout_out_index(&a, b.out[i].name) < 0)
        cr_assert(llrt_layout_add_out(&a, b.out[i].name, 0) == LLRT_OK);
    cr_assert(llrt_layout_invert_and_compose_block_local(&a, &b, &out) == LLRT_OK);
    for
      EVERY_POINT(x, &a)
    cr_assert_eq(coordinate(OUT(&out), value_at(&out, x), "block"), coordinate(IN(&a), x, "block"),
                 SHOW);
  }
}

Test(operations, inverses) {
  random_source source = random_start("operations/inverses");
  int surjective = 0, invertible = 0;
  for (int trial = 0; trial < RANDOM_PAIRS; trial++) {
    llrt_layout a = random_named(&source), b, out;
    bool onto = true, square = count_points(IN(&a)) == count_points(OUT(&a));
    for (uint64_t y = 0; y < count_points(OUT(&a)); y++) onto &= is_reached(&a, OUT(&a), y);
    cr_assert_eq(llrt_layout_pseudoinvert(&a, &b) == LLRT_OK, onto);
    cr_assert_eq(llrt_layout_invert(&a, &out) == LLRT_OK, onto && square);
    for (uint64_t y = 0; onto && y < count_points(OUT(&a)); y++)
      cr_assert_eq(value_at(&a, value_at(&b, y)), y, SHOW);
    for (uint64_t x = 0; onto && square && x < count_points(IN(&a)); x++)
      cr_assert_eq(value_at(&out, value_at(&a, x)), x, SHOW);
    surjective += onto, invertible += onto && square;
  }
  cr_assert(surjective > 1000 && invertible > 500, "%d, %d", surjective, invertible);
}
