/* What code generation asks of layouts, against counting over all points. */
#include "tests/layout/brute_force.h"

#include "base/bits.h"

#include <criterion/criterion.h>
#include <string.h>

#define EVERY_POINT(x, layout) (uint64_t x = 0; x < count_points(IN(layout)); x++)

/* ---- contiguity ---- */

/* Row-major positions of dim0, dim1, dim2 that `in` reaches from 0: the longest run 0, 1, 2, ... */
static int64_t run_of(const llrt_layout *a, const char *in) {
  bool reached[64] = {false};
  for
    EVERY_POINT(x, a) {
      if (with_coordinate(IN(a), x, in, coordinate(IN(a), x, in)) != 0) continue; /* others are 0 */
      uint64_t position = 0;
      for (int i = 0; i < a->n_out; i++) {
        char name[] = {'d', 'i', 'm', (char)('0' + i), 0};
        int bits = a->out[llrt_layout_out_index(a, name)].bits;
        position = position << bits | coordinate(OUT(a), value_at(a, x), name);
      }
      reached[position] = true;
    }
  int64_t run = 1, whole = (int64_t)count_points(OUT(a));
  while (run < whole) { /* a run of 2^k, each of it reached */
    bool all = true;
    for (int64_t i = run; i < 2 * run; i++) all &= reached[i];
    if (!all) break;
    run *= 2;
  }
  return run;
}

Test(questions, contiguous) {
  random_source source = random_start("questions/contiguous");
  int64_t longest = 0;
  for (int trial = 0; trial < RANDOM_PAIRS; trial++) {
    llrt_layout a = random_named(&source);
    static const char *const names[] = {"dim0", "dim1", "dim2"};
    const char *outs[3];
    int n = 0;
    for (int i = 2; i >= 0; i--)
      if (llrt_layout_out_index(&a, names[i]) >= 0) outs[n++] = names[i];
    if (n != 3 || a.n_in == 0) continue;
    const char *in = a.in[random_below(&source, a.n_in)].name;
    int64_t count;
    cr_assert(llrt_layout_contiguous(&a, &in, 1, outs, n, &count) == LLRT_OK);
    cr_assert_eq(count, run_of(&a, in), "%s: %lld", text_of(&a), (long long)count);
    if (count > longest) longest = count;
  }
  cr_assert_geq(longest, 4);
}

/* Linear Layouts, section 5.1: with 512 x k elements and k below a vector, a thread's vector
 * goes over the ends of rows, which a look at the last axis alone does not see. */
Test(questions, contiguous_over_row_ends) {
  static const char *const in[] = {"register"}, *const outs[] = {"dim1", "dim0"};
  for (int64_t k = 1; k <= 16; k *= 2) {
    int64_t shape[] = {512, k}, count;
    llrt_blocked_params params = {.rank = 2, .order = {1, 0}};
    params.size_per_thread[0] = 16 / k, params.size_per_thread[1] = k;
    params.threads_per_warp[0] = 32, params.threads_per_warp[1] = 1;
    params.warps_per_cta[0] = params.warps_per_cta[1] = 1;
    llrt_layout a;
    cr_assert(llrt_layout_blocked(&params, shape, &a) == LLRT_OK, "%s", llrt_last_error());
    cr_assert(llrt_layout_contiguous(&a, in, 1, outs, 2, &count) == LLRT_OK);
    cr_expect_eq(count, 16, "k = %lld: %lld", (long long)k, (long long)count);
    cr_assert(llrt_layout_contiguous(&a, in, 1, outs, 1, &count) == LLRT_OK);
    cr_expect_eq(count, k);
  }
}

Test(questions, identity_prefix) {
  random_source source = random_start("questions/identity_prefix");
  for (int trial = 0; trial < RANDOM_PAIRS; trial++) {
    llrt_layout a = random_named(&source);
    if (a.n_in == 0 || a.n_out == 0) continue;
    int in = random_below(&source, a.n_in), to = random_below(&source, a.n_out);
    int64_t count, limit = 1ll << random_below(&source, 3), best = 1;
    int first = llrt_layout_in_shift(&a, in), shift = llrt_layout_out_shift(&a, to);
    for (int k = 1; k <= bits_min(a.in[in].bits, a.out[to].bits); k++) {
      bool holds = 1 << k <= limit;
      for
        EVERY_POINT(x, &a) { /* the low bits come from the low bits, and go nowhere else */
          uint64_t low = x >> first & bits_mask(k), without = value_at(&a, x ^ low << first);
          holds &= value_at(&a, x) == (without ^ low << shift);
          holds &= (without >> shift & bits_mask(k)) == 0;
        }
      if (holds) best = 1ll << k;
    }
    cr_assert(llrt_layout_identity_prefix(&a, a.in[in].name, a.out[to].name, limit, &count) ==
              LLRT_OK);
    cr_assert_eq(count, best, "%s: %lld, not %lld", text_of(&a), (long long)count, (long long)best);
  }
}

Test(questions, masks) {
  random_source source = random_start("questions/masks");
  for (int trial = 0; trial < RANDOM_PAIRS; trial++) {
    llrt_layout a = random_named(&source);
    if (a.n_in == 0 || a.n_out == 0) continue;
    const char *in = a.in[random_below(&source, a.n_in)].name;
    const char *to = a.out[random_below(&source, a.n_out)].name;
    uint64_t fed = 0, feeding = 0, mask;
    for
      EVERY_POINT(x, &a) {
        uint64_t own = coordinate(IN(&a), x, in);
        if (with_coordinate(IN(&a), x, in, own) != 0) continue;
        uint64_t seen = coordinate(OUT(&a), value_at(&a, x), to);
        fed |= seen;
        if (bits_count(own) == 1 && seen) feeding |= own;
      }
    cr_assert(llrt_layout_output_mask(&a, &in, 1, to, &mask) == LLRT_OK);
    cr_assert_eq(mask, fed);
    cr_assert(llrt_layout_input_mask(&a, in, &to, 1, &mask) == LLRT_OK);
    cr_assert_eq(mask, feeding);
  }
}

/* ---- vectors ---- */

Test(questions, common_vector) {
  random_source source = random_start("questions/common_vector");
  int larger = 0;
  for (int trial = 0; trial < RANDOM_PAIRS; trial++) {
    llrt_layout a = random_named(&source), b = random_onto(&source, OUT(&a));
    shuffle_outs(&source, &b);
    if (a.n_in == 0 || b.n_in == 0) continue;
    const char *in_a = a.in[0].name, *in_b = b.in[0].name;
    if (a.n_out && a.out[0].bits && trial % 3 == 0) /* sizes may differ */
      cr_assert(llrt_layout_resize_out(&a, a.out[0].name, 1, &a) == LLRT_OK);
    int64_t common = 0, count;
    bool seen[64] = {false};
    for
      EVERY_POINT(x, &b)
    if (with_coordinate(IN(&b), x, in_b, coordinate(IN(&b), x, in_b)) == 0) {
      bool inside = true;
      uint64_t value = value_at(&b, x), word = 0;
      for (int i = 0; i < b.n_out; i++) {
        uint64_t c = coordinate(OUT(&b), value, b.out[i].name);
        int index = llrt_layout_out_index(&a, b.out[i].name);
        inside &= c >> a.out[index].bits == 0;
        if (inside) word = with_coordinate(OUT(&a), word, b.out[i].name, c);
      }
      if (inside) seen[word] = true;
    }
    bool counted[64] = {false};
    for
      EVERY_POINT(x, &a)
    if (with_coordinate(IN(&a), x, in_a, coordinate(IN(&a), x, in_a)) == 0 &&
        !counted[value_at(&a, x)]) {
      counted[value_at(&a, x)] = true;
      common += seen[value_at(&a, x)];
    }
    cr_assert(llrt_layout_common_vector(&a, in_a, &b, in_b, &count) == LLRT_OK);
    cr_assert_eq(count, common, "%s\n%s: %lld, not %lld", text_of(&a), text_of(&b),
                 (long long)count, (long long)common);
    larger += common > 1;
  }
  cr_assert_gt(larger, 500);
}

Test(questions, vector_width) {
  static const struct {
    const char *access;
    int64_t limit, count;
    int action[4];
  } rows[] = {
      {"{register: [[1],[2],[8]], lane: [[4]]} -> [offset:16]", 16, 4, {0, 1, 2}},
      {"{register: [[1],[2],[4]], lane: [[8]]} -> [offset:16]", 4, 4, {0, 1, 2}},
      {"{register: [[8],[2],[1]], lane: [[4]]} -> [offset:16]", 16, 4, {2, 1, 0}},
      {"{register: [[2],[1]], lane: [[4],[1]]} -> [offset:8]", 16, 1, {0, 1}},
      {"{register: [[1],[2],[5]], lane: [[8]]} -> [offset:16]", 16, 1, {0, 1, 2}},
      {"{register: [[1],[2],[6]], lane: [[8]]} -> [offset:16]", 16, 2, {0, 1, 2}},
      {"{register: [[1,1],[2,0]], lane: [[4,0]]} -> [offset:8, block:2]", 16, 1, {0, 1}},
      {"{register: [], lane: [[1]]} -> [offset:2]", 16, 1, {0}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    llrt_layout access = layout_of(rows[i].access), ordered;
    int64_t count;
    int action[64];
    cr_assert(llrt_layout_vector_width(&access, rows[i].limit, &count, action) == LLRT_OK);
    cr_expect_eq(count, rows[i].count, "%s: %lld", rows[i].access, (long long)count);
    for (int k = 0; k < access.in[0].bits; k++) cr_expect_eq(action[k], rows[i].action[k]);
    cr_assert(llrt_layout_select_bases(&access, "register", action, access.in[0].bits, &ordered) ==
              LLRT_OK);
    for (int k = 0; 1 << k < count; k++) cr_expect_eq(ordered.column[k], 1ull << k);
  }
}

/* ---- bank conflicts ---- */

/* Wavefronts of one access, counted bank by bank over the bytes that lanes touch. */
static int count_wavefronts(const int64_t *first_bit, int lanes, int bits, int banks,
                            int bank_bytes) {
  int total = 0, width = bits < bank_bytes * 8 ? bank_bytes * 8 : bits;
  int together = banks * bank_bytes * 8 / width;
  if (together < 1) together = 1;
  for (int base = 0; base < lanes; base += together) {
    int worst = 0;
    for (int bank = 0; bank < banks; bank++) {
      static int64_t lines[4096];
      int n = 0;
      for (int lane = base; lane < base + together && lane < lanes; lane++)
        for (int64_t bit = first_bit[lane]; bit < first_bit[lane] + bits; bit += 4) {
          int64_t word = bit / 8 / bank_bytes;
          bool known = word % banks != bank;
          for (int i = 0; i < n; i++) known |= lines[i] == word;
          if (!known) lines[n++] = word;
        }
      if (n > worst) worst = n;
    }
    total += worst;
  }
  return total;
}

/* A permutation of the bits of a 2^bits tensor as memory, and as registers of 8 or 16, lanes,
 * warps. */
static void random_pair(random_source *source, int bits, int lane_bits, int copies,
                        llrt_layout *registers, llrt_layout *memory) {
  uint64_t unit[2][16];
  for (int side = 0; side < 2; side++) {
    for (int i = 0; i < bits; i++) unit[side][i] = 1ull << i;
    for (int i = bits - 1; i > 0; i--) {
      int k = random_below(source, i + 1);
      uint64_t swapped = unit[side][i];
      unit[side][i] = unit[side][k], unit[side][k] = swapped;
    }
  }
  for (int i = 1; i < bits; i++) /* swizzle the memory */
    if (random_below(source, 2)) unit[1][i] ^= unit[1][random_below(source, i)];
  *registers = *memory = llrt_layout_empty();
  cr_assert(llrt_layout_add_out(registers, "dim0", bits) == LLRT_OK);
  cr_assert(llrt_layout_add_out(memory, "dim0", bits) == LLRT_OK);
  cr_assert(llrt_layout_add_in(registers, "register", 3) == LLRT_OK);
  cr_assert(llrt_layout_add_in(registers, "lane", lane_bits) == LLRT_OK);
  cr_assert(llrt_layout_add_in(registers, "warp", bits - 3 - (lane_bits - copies)) == LLRT_OK);
  cr_assert(llrt_layout_add_in(memory, "offset", bits) == LLRT_OK);
  for (int i = 0, k = 0; i < llrt_layout_in_bits(registers); i++)
    registers->column[i] = i >= 3 && i < 3 + copies ? 0 : unit[0][k++];
  for (int i = 0; i < bits; i++) memory->column[i] = unit[1][i];
}

Test(questions, bank_conflicts) {
  random_source source = random_start("questions/bank_conflicts");
  int conflicts = 0, narrow = 0;
  for (int trial = 0; trial < 2000; trial++) {
    static const int widths[] = {4, 8, 16, 32, 64};
    int element = widths[random_below(&source, 5)], lane_bits = 5 + random_below(&source, 2);
    llrt_bank_params params = {.lanes = 1 << lane_bits,
                               .banks = random_below(&source, 2) ? 32 : 64,
                               .bank_bytes = 4,
                               .vector_bytes = 4 << random_below(&source, 3)};
    llrt_layout registers, memory, access;
    llrt_bank_report report = {0};
    random_pair(&source, 10, lane_bits, random_below(&source, 3), &registers, &memory);
    cr_assert(llrt_layout_bank_conflicts(&registers, &memory, element, &params, &report) == LLRT_OK,
              "%s", llrt_last_error());
    cr_assert(llrt_layout_solve(&memory, &registers, &access) == LLRT_OK);
    cr_assert_eq(report.instructions * report.vector, 8);
    /* every instruction of every warp pays the same */
    uint64_t vector = (uint64_t)report.vector - 1;
    int warps = 1 << access.in[2].bits;
    for (uint64_t other = 0; other < (uint64_t)(8 * warps); other++) {
      int64_t first_bit[64];
      for (int lane = 0; lane < params.lanes; lane++) {
        uint64_t point = (other & 7) | (uint64_t)lane << 3 | other >> 3 << (3 + lane_bits);
        first_bit[lane] = (int64_t)(value_at(&access, point) & ~vector) * element;
      }
      int counted = count_wavefronts(first_bit, params.lanes, element * (int)report.vector,
                                     params.banks, params.bank_bytes);
      cr_assert_eq(report.wavefronts, counted, "%s\n%s\n%d bits, %d banks: %d, not %d",
                   text_of(&registers), text_of(&memory), element, params.banks, report.wavefronts,
                   counted);
    }
    conflicts += report.wavefronts > report.min_wavefronts;
    narrow += report.wavefronts > report.min_wavefronts && report.vector * element < 32;
  }
  cr_assert(conflicts > 500 && narrow > 100, "%d conflict, %d of these narrower than a bank",
            conflicts, narrow);
}

/* The 128-byte swizzle makes column reads of 16-byte vectors free; without it they conflict 8
 * ways. */
Test(questions, bank_conflicts_of_known_layouts) {
  static const char *const columns =
      "{register: [[0,1],[0,2],[0,4]], lane: [[1,0],[2,0],[4,0],[8,0],[16,0]]} -> "
      "[dim0:64, dim1:64]";
  static const struct {
    int64_t vec, max_phase;
    int wavefronts, min_wavefronts;
  } rows[] = {{8, 8, 4, 4}, {8, 4, 8, 4}, {8, 1, 32, 4}};
  llrt_layout registers = layout_of(columns), memory;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    llrt_swizzle_params params = {.rank = 2,
                                  .vec = rows[i].vec,
                                  .per_phase = 1,
                                  .max_phase = rows[i].max_phase,
                                  .order = {1, 0}};
    llrt_bank_report report = {0};
    cr_assert(llrt_layout_swizzled_shared(&params, (int64_t[]){64, 64}, &memory) == LLRT_OK);
    cr_assert(llrt_layout_bank_conflicts(&registers, &memory, 16, NULL, &report) == LLRT_OK, "%s",
              llrt_last_error());
    cr_expect_eq(report.vector, 8);
    cr_expect_eq(report.instructions, 1);
    cr_expect_eq(report.wavefronts, rows[i].wavefronts, "%d", report.wavefronts);
    cr_expect_eq(report.min_wavefronts, rows[i].min_wavefronts, "%d", report.min_wavefronts);
  }
}

/* ---- conversion ---- */

Test(questions, conversion) {
  static const struct {
    const char *from, *to;
    unsigned moves;
  } rows[] = {
      {"{register: [[1]], lane: [[2]]} -> [x:4]", "{register: [[1]], lane: [[2]]} -> [x:4]", 0},
      {"{register: [[1],[0]], lane: [[2]]} -> [x:4]", "{lane: [[2]], register: [[1]]} -> [x:4]", 0},
      {"{register: [[1],[2]], lane: [[4]]} -> [x:8]", "{register: [[2],[1]], lane: [[4]]} -> [x:8]",
       LLRT_MOVES_REGISTERS},
      {"{register: [[1]], lane: [[2]]} -> [x:4]", "{register: [[2]], lane: [[1]]} -> [x:4]",
       LLRT_MOVES_REGISTERS | LLRT_MOVES_LANES},
      {"{register: [[1]], lane: [[2],[4]]} -> [x:8]", "{register: [[1]], lane: [[4],[2]]} -> [x:8]",
       LLRT_MOVES_REGISTERS | LLRT_MOVES_LANES},
      {"{register: [[1]], lane: [[2]], warp: [[0]]} -> [x:4]",
       "{register: [[2]], lane: [[1]], warp: [[0]]} -> [x:4]",
       LLRT_MOVES_REGISTERS | LLRT_MOVES_LANES},
      {"{register: [[1]], warp: [[2]]} -> [x:4]", "{register: [[2]], warp: [[1]]} -> [x:4]",
       LLRT_MOVES_REGISTERS | LLRT_MOVES_LANES | LLRT_MOVES_WARPS},
      {"{register: [[1]], block: [[2]]} -> [x:4]", "{register: [[2]], block: [[1]]} -> [x:4]", 15},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    llrt_layout from = layout_of(rows[i].from), to = layout_of(rows[i].to), out;
    unsigned moves;
    cr_assert(llrt_layout_conversion(&from, &to, &moves, &out) == LLRT_OK, "%s", llrt_last_error());
    cr_expect_eq(moves, rows[i].moves, "%s to %s: %u", rows[i].from, rows[i].to, moves);
    cr_expect_eq(llrt_layout_is_equivalent(&from, &to), moves == 0);
  }
  llrt_layout from = layout_of("{register: [[1]]} -> [x:4]"), out;
  llrt_layout wide = layout_of("{register: [[2]]} -> [x:4]");
  llrt_layout other = layout_of("{offset: [[1]]} -> [x:4]");
  cr_expect(llrt_layout_conversion(&from, &wide, NULL, &out) == LLRT_INVALID_ARGUMENT);
  cr_expect(llrt_layout_conversion(&from, &other, NULL, &out) == LLRT_INVALID_ARGUMENT);
  cr_expect(!llrt_layout_is_equivalent(&from, NULL));
}

/* What is left of X, with what was dropped staying in place, reads the right element everywhere. */
Test(questions, conversion_at_every_point) {
  random_source source = random_start("questions/conversion");
  int done = 0, less = 0;
  for (int trial = 0; trial < RANDOM_PAIRS; trial++) {
    llrt_layout from = random_named(&source), to = random_onto(&source, OUT(&from)), x;
    if (trial % 4 == 0) to = from;
    if (llrt_layout_in_index(&from, "register") >= 0)
      cr_assert(llrt_layout_remove_zero_bases(&from, "register", &from) == LLRT_OK);
    if (llrt_layout_in_index(&to, "register") >= 0)
      cr_assert(llrt_layout_remove_zero_bases(&to, "register", &to) == LLRT_OK);
    if (llrt_layout_conversion(&from, &to, NULL, &x) != LLRT_OK) continue;
    done++, less += x.n_in < 4;
    for
      EVERY_POINT(place, &to) {
        uint64_t read = value_at(&x, rename_word(IN(&to), place, IN(&x))), point = 0;
        for (int i = 0; i < from.n_in; i++) {
          const char *name = from.in[i].name;
          bool moved = llrt_layout_in_index(&x, name) >= 0;
          point = with_coordinate(IN(&from), point, name,
                                  moved ? coordinate(OUT(&x), read, name)
                                        : coordinate(IN(&to), place, name));
        }
        cr_assert_eq(value_at(&from, point), value_at(&to, place), "%s\n%s\n%s", text_of(&from),
                     text_of(&to), text_of(&x));
      }
  }
  cr_assert(done > 3000 && less > 1000, "%d done, %d of them less than all", done, less);
}
