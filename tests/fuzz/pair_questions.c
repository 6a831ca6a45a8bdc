/* Questions about two maps: bank conflicts, vectors, conversions; and whether two storages are the
 * same bytes. Answers are compared with counting, and storages with their definition in integers.
 */
#include "tests/fuzz/operations.h"

#include <llrt/storage.h>

#include <string.h>

/* ---- registers and shared memory ---- */

enum { LANES = 8, BANK_BYTES = 4 };

/* b's in-dims end to end as `offset`. False where it has none. */
static bool as_memory(const llrt_layout *b, llrt_layout *memory) {
  return llrt_layout_flatten_ins(b, "offset", memory) == LLRT_OK;
}

/* Wavefronts of one instruction from the lanes' first bits: as many lanes at a time as fill all
 * banks, each time as many wavefronts as some bank is asked for different words. */
static int count_wavefronts(const int64_t *first, int bits, int banks) {
  int lane_bits = bits < 8 * BANK_BYTES ? 8 * BANK_BYTES : bits, total = 0;
  int together = banks * BANK_BYTES * 8 / lane_bits;
  if (together < 1) together = 1;
  for (int base = 0; base < LANES; base += together) {
    int worst = 0;
    for (int bank = 0; bank < banks; bank++) {
      int64_t words[LANES * 16];
      int n = 0;
      for (int lane = base; lane < base + together && lane < LANES; lane++)
        for (int64_t bit = first[lane]; bit < first[lane] + bits; bit += 4) {
          int64_t word = bit / 8 / BANK_BYTES;
          bool known = word % banks != bank;
          for (int i = 0; i < n; i++) known |= words[i] == word;
          if (!known) words[n++] = word;
        }
      if (n > worst) worst = n;
    }
    total += worst;
  }
  return total;
}

/* Whether one instruction can move 2^v registers: exactly v of all bits touch the offset's low v,
 * they are registers' and each has one of them alone. */
static bool moves_together(const llrt_layout *access, int v) {
  uint64_t mask = (UINT64_C(1) << v) - 1, found = 0;
  for (int bit = 0, dim = 0, end = access->in[0].bits; bit < llrt_layout_in_bits(access); bit++) {
    while (bit >= end) end += access->in[++dim].bits;
    uint64_t offset = value_flat(access, UINT64_C(1) << bit);
    if ((offset & mask) == 0) continue;
    bool alone = offset <= mask && (offset & (offset - 1)) == 0 && !(found & offset);
    if (!alone || strcmp(access->in[dim].name, "register") != 0) return false;
    found |= offset;
  }
  return found == mask;
}

static int point_lanes(const llrt_layout *access) {
  return dim_bits(access->in, access->n_in, "lane");
}

static void check_wavefronts(const llrt_layout *access, const llrt_bank_report *report, int element,
                             int banks) {
  int lanes = point_lanes(access), all = llrt_layout_in_bits(access);
  int shift = llrt_layout_in_index(access, "lane") < 0
                  ? 0
                  : llrt_layout_in_shift(access, llrt_layout_in_index(access, "lane"));
  for (uint64_t x = 0; x < UINT64_C(1) << all; x++) {
    int64_t first[LANES];
    for (int lane = 0; lane < LANES; lane++) {
      uint64_t mask = ((UINT64_C(1) << lanes) - 1) << shift;
      uint64_t at = (x & ~mask) | ((uint64_t)lane << shift & mask);
      first[lane] = (int64_t)(value_flat(access, at) & ~((uint64_t)report->vector - 1)) * element;
    }
    FUZZ_CHECK(count_wavefronts(first, element * (int)report->vector, banks) == report->wavefronts);
  }
}

static void check_bank_conflicts(const llrt_layout *a, const llrt_layout *b) {
  static const int widths[] = {4, 8, 16, 32, 64, 128};
  int element = widths[(a->column[0] + b->column[0]) % 6], banks = 4 << a->column[1] % 3;
  const llrt_bank_params params = {.lanes = LANES,
                                   .banks = banks,
                                   .bank_bytes = BANK_BYTES,
                                   .vector_bytes = BANK_BYTES << b->column[1] % 3};
  llrt_layout memory, held, access;
  llrt_bank_report report = {0};
  if (!as_memory(b, &memory)) return;
  bool solved = llrt_layout_remove_zero_bases(a, "register", &held) == LLRT_OK &&
                llrt_layout_invert_and_compose_block_local(&held, &memory, &access) == LLRT_OK;
  llrt_status status = llrt_layout_bank_conflicts(a, &memory, element, &params, &report);
  FUZZ_CHECK((status == LLRT_OK) == solved);
  if (!solved) return;
  int64_t limit = params.vector_bytes * 8 / element, width = 1;
  for (int v = 1; 1 << v <= limit && v <= access.in[llrt_layout_in_index(&access, "register")].bits;
       v++)
    if (moves_together(&access, v)) width = 1ll << v;
  FUZZ_CHECK(report.vector == width);
  FUZZ_CHECK((int64_t)report.instructions * width ==
             1ll << dim_bits(held.in, held.n_in, "register"));
  check_wavefronts(&access, &report, element, banks);
}

/* ---- conversions ---- */

static void without_zero_registers(const llrt_layout *given, llrt_layout *out) {
  if (llrt_layout_in_index(given, "register") < 0 ||
      llrt_layout_remove_zero_bases(given, "register", out) != LLRT_OK)
    *out = *given;
}

/* What is left of X, the other dims staying in place, reads the right element everywhere; where
 * nothing is left, both hold the same. */
static void check_conversion(const llrt_layout *a, const llrt_layout *b) {
  llrt_layout from, to, x;
  unsigned moves;
  bool expected = same_names(a->out, a->n_out, b->out, b->n_out) && is_inside(b, a);
  FUZZ_CHECK((llrt_layout_conversion(a, b, &moves, &x) == LLRT_OK) == expected);
  FUZZ_CHECK(expected || !llrt_layout_is_equivalent(a, b));
  if (!expected) return;
  without_zero_registers(a, &from);
  without_zero_registers(b, &to);
  for (int place = 0; place < in_points(&to); place++) {
    point at = point_of(to.in, to.n_in, (uint64_t)place), moved = value_of(&x, &at);
    point read = {.n = from.n_in};
    for (int i = 0; i < from.n_in; i++) {
      const char *name = from.in[i].name;
      bool goes = llrt_layout_in_index(&x, name) >= 0;
      read.name[i] = name;
      read.at[i] = point_at(goes ? &moved : &at, name);
    }
    point found = value_of(&from, &read), wanted = value_at(&to, (uint64_t)place);
    for (int i = 0; i < found.n; i++) FUZZ_CHECK(point_at(&wanted, found.name[i]) == found.at[i]);
  }
  FUZZ_CHECK((moves == LLRT_MOVES_NOTHING) == (x.n_in == 0));
  FUZZ_CHECK(llrt_layout_is_equivalent(a, a));
}

void check_pairs(const llrt_layout *a, const llrt_layout *b) {
  if (a->n_in && b->n_in && a->n_out && b->n_out) check_bank_conflicts(a, b);
  check_conversion(a, b);
}

/* ---- the same bytes ---- */

enum { MAX_PLACES = 16 };

/* Up to four digits of two axes, and copies; the other's digits are the same in other places. */
static void read_storage(bytes *from, const llrt_storage *like, llrt_storage *out) {
  uint8_t what = bytes_next(from);
  *out = (llrt_storage){.rank = 2};
  for (int i = 0; i < (like ? like->n_digits : 1 + (what & 3)); i++) {
    uint8_t shape = bytes_next(from), stride = bytes_next(from);
    llrt_digit *digit = &out->digit[out->n_digits++];
    *digit = (llrt_digit){.extent = 1 + (shape & 3),
                          .axis = shape >> 2 & 1,
                          .stride = stride & 31,
                          .reversed = shape >> 3 & 1};
    if (like) digit->extent = like->digit[i].extent, digit->axis = like->digit[i].axis;
    if (stride & 128) digit->stride = LLRT_STRIDE_PACKED;
    if (!like && (shape >> 4) == 15) digit->axis = LLRT_AXIS_REPLICA;
  }
  out->offset[0] = what >> 2 & 3;
  if (what & 64) out->swizzle = (llrt_swizzle){what >> 4 & 1, 1, 1 + (what >> 5 & 1), what >> 7};
}

/* Where the copies of an element lie, by the rule's definition; sorted, each once. */
static int list_places(const llrt_storage *rule, const llrt_storage_binding *bound, int64_t i,
                       int64_t j, int64_t *places) {
  int n = 0;
  for (int64_t copy = 0; copy < MAX_PLACES; copy++) {
    int64_t left[2] = {i, j}, copies = copy, sum = rule->offset[0];
    for (int k = 0; k < rule->n_digits; k++) {
      const llrt_digit *digit = &rule->digit[k];
      int64_t *value = digit->axis < 0 ? &copies : &left[digit->axis], at = *value % digit->extent;
      int64_t stride = bound->stride[k] < 0 ? -bound->stride[k] : bound->stride[k];
      sum += (digit->reversed ? digit->extent - 1 - at : at) * stride;
      *value /= digit->extent;
    }
    if (copies) break;
    int64_t ones = ((1ll << rule->swizzle.swizzle_len) - 1) << rule->swizzle.per_element;
    sum ^= rule->swizzle.upward ? (sum & ones) << rule->swizzle.atom_len
                                : sum >> rule->swizzle.atom_len & ones;
    int at = n;
    while (at > 0 && places[at - 1] > sum) at--;
    if (at > 0 && places[at - 1] == sum) continue;
    memmove(places + at + 1, places + at, (size_t)(n - at) * sizeof *places);
    places[at] = sum;
    n++;
  }
  return n;
}

llrt_status check_same_bytes(bytes *from, const llrt_layout *a, const llrt_layout *b,
                             llrt_layout *out) {
  llrt_storage rule[2];
  llrt_storage_binding bound[2];
  int64_t shape[2] = {1, 1}, copies = 1, p[2][MAX_PLACES + 1];
  bool same, expected = true;
  (void)b;
  *out = *a;
  read_storage(from, NULL, &rule[0]);
  read_storage(from, &rule[0], &rule[1]);
  for (int k = 0; k < rule[0].n_digits; k++)
    *(rule[0].digit[k].axis < 0 ? &copies : &shape[rule[0].digit[k].axis]) *=
        rule[0].digit[k].extent;
  if (copies > MAX_PLACES) return LLRT_OK;
  for (int i = 0; i < 2; i++)
    FUZZ_CHECK(llrt_storage_bind(&rule[i], 2, shape, NULL, &bound[i]) == LLRT_OK);
  for (int64_t i = 0; i < shape[0] && expected; i++)
    for (int64_t j = 0; j < shape[1] && expected; j++) {
      int n = list_places(&rule[0], &bound[0], i, j, p[0]),
          m = list_places(&rule[1], &bound[1], i, j, p[1]);
      FUZZ_CHECK(p[0][n - 1] < bound[0].span && p[1][m - 1] < bound[1].span);
      expected = n == m && memcmp(p[0], p[1], (size_t)n * sizeof p[0][0]) == 0;
    }
  FUZZ_CHECK(llrt_storage_same_bytes(&rule[0], &rule[1], 2, shape, NULL, NULL, &same) == LLRT_OK);
  FUZZ_CHECK(same == expected);
  FUZZ_CHECK(!llrt_storage_equal(&rule[0], &rule[1]) || same);
  return LLRT_OK;
}
