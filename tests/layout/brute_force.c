#include "tests/layout/brute_force.h"

#include "base/bits.h"

#include <criterion/criterion.h>
#include <string.h>

/* Up to three of the names, in any order. */
static int random_dims(random_source *source, const char *const *names, int n_names,
                       llrt_dim *dims) {
  int n = random_below(source, 4), first = random_below(source, n_names);
  for (int i = 0; i < n; i++) {
    dims[i] = (llrt_dim){.bits = (uint8_t)random_below(source, 3)};
    strcpy(dims[i].name, names[(first + i) % n_names]);
  }
  return n;
}

static int random_ins(random_source *source, llrt_dim *dims) {
  static const char *const names[] = {"register", "lane", "warp", "block"};
  return random_dims(source, names, 4, dims);
}

static int random_outs(random_source *source, llrt_dim *dims) {
  static const char *const names[] = {"dim0", "dim1", "dim2"};
  return random_dims(source, names, 3, dims);
}

static llrt_layout random_columns(random_source *source, const llrt_dim *ins, int n_ins,
                                  const llrt_dim *outs, int n_outs) {
  llrt_layout layout = llrt_layout_empty();
  for (int i = 0; i < n_ins; i++)
    cr_assert(llrt_layout_add_in(&layout, ins[i].name, ins[i].bits) == LLRT_OK);
  for (int i = 0; i < n_outs; i++)
    cr_assert(llrt_layout_add_out(&layout, outs[i].name, outs[i].bits) == LLRT_OK);
  int bits = llrt_layout_out_bits(&layout), kind = random_below(source, 3);
  int start = bits ? random_below(source, bits) : 0;
  for (int i = 0; bits && i < llrt_layout_in_bits(&layout); i++) {
    uint64_t any = random_bits(source) & bits_mask(bits);
    bool unit = kind == 0 || (kind == 1 && random_below(source, 2));
    layout.column[i] = unit ? 1ull << (i + start) % bits : random_below(source, 4) ? any : 0;
  }
  return layout;
}

llrt_layout random_named(random_source *source) {
  llrt_dim ins[3], outs[3];
  int n_ins = random_ins(source, ins), n_outs = random_outs(source, outs);
  return random_columns(source, ins, n_ins, outs, n_outs);
}

llrt_layout random_onto(random_source *source, const llrt_dim *outs, int n_outs) {
  llrt_dim ins[3];
  int n_ins = random_ins(source, ins);
  return random_columns(source, ins, n_ins, outs, n_outs);
}

llrt_layout random_from(random_source *source, const llrt_dim *ins, int n_ins) {
  llrt_dim outs[3];
  int n_outs = random_outs(source, outs);
  return random_columns(source, ins, n_ins, outs, n_outs);
}

void shuffle_outs(random_source *source, llrt_layout *layout) {
  const char *names[LLRT_MAX_OUT_DIMS];
  llrt_layout before = *layout;
  int start = layout->n_out ? random_below(source, layout->n_out) : 0;
  for (int i = 0; i < layout->n_out; i++) names[i] = before.out[(start + i) % layout->n_out].name;
  cr_assert(llrt_layout_transpose_outs(&before, names, before.n_out, layout) == LLRT_OK);
}

uint64_t count_points(const llrt_dim *dims, int n) {
  int bits = 0;
  for (int i = 0; i < n; i++) bits += dims[i].bits;
  return 1ull << bits;
}

uint64_t value_at(const llrt_layout *layout, uint64_t x) {
  uint64_t value = 0;
  for (int i = 0; i < LLRT_MAX_BITS; i++)
    if (x >> i & 1) value ^= layout->column[i];
  return value;
}

uint64_t coordinate(const llrt_dim *dims, int n, uint64_t word, const char *name) {
  for (int i = 0; i < n; i++) {
    if (strcmp(dims[i].name, name) == 0) return word & bits_mask(dims[i].bits);
    word >>= dims[i].bits;
  }
  return 0;
}

uint64_t with_coordinate(const llrt_dim *dims, int n, uint64_t word, const char *name,
                         uint64_t value) {
  int shift = 0;
  for (int i = 0; i < n; shift += dims[i++].bits)
    if (strcmp(dims[i].name, name) == 0) return word ^ value << shift;
  cr_assert_eq(value, 0, "no dim %s", name);
  return word;
}

uint64_t rename_word(const llrt_dim *from, int n_from, uint64_t word, const llrt_dim *to,
                     int n_to) {
  uint64_t renamed = 0;
  for (int i = 0; i < n_to; i++)
    renamed =
        with_coordinate(to, n_to, renamed, to[i].name, coordinate(from, n_from, word, to[i].name));
  return renamed;
}

bool is_reached(const llrt_layout *outer, const llrt_dim *dims, int n, uint64_t word) {
  for (uint64_t x = 0; x < count_points(IN(outer)); x++) {
    bool same = true;
    for (int i = 0; i < n; i++)
      same &= coordinate(OUT(outer), value_at(outer, x), dims[i].name) ==
              coordinate(dims, n, word, dims[i].name);
    if (same) return true;
  }
  return false;
}
