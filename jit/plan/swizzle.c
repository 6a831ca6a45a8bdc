/* The swizzled shared buffer of a conversion (paper section 5.4; Triton's generic swizzling, with real
 * subspaces instead of unit vectors).
 *
 * A buffer's offset bits are: unit (word and registers that both sides have), bank, segment. All other
 * vectors of both sides must have no part in the unit, so bank and segment are taken from their span. Two
 * lanes of one
 * phase conflict when they differ only in segment bits, so the segment must meet neither side's span
 * of (unit, lanes of a phase) except in 0. Two subspaces P1, P2 of equal dimension always have such
 * a common complement: with E, F completing P1 n P2 to either, it is span(E_i + F_i) plus whatever
 * completes P1 + P2. */
#include "jit/plan/frame.h"

#include "base/status.h"

#include <assert.h>

typedef struct vector_list {
  int n;
  uint64_t at[LLRT_MAX_BITS];
} vector_list;

static void append(vector_list *list, uint64_t x) { list->at[list->n++] = x; }

static bool is_copy(const frame *f, int lane) { return f->lanes[lane] >> f->tile_bits != 0; }

static bool in_list(const vector_list *list, uint64_t x) {
  for (int i = 0; i < list->n; i++)
    if (list->at[i] == x) return true;
  return false;
}

/* The span of all vectors of a side that are not in `unit`. */
static void add_others(const frame *f, const vector_list *unit, f2_basis *span) {
  for (int i = 0; i < f->n_registers; i++)
    if (!in_list(unit, f->registers[i])) f2_basis_insert(span, f->registers[i]);
  for (int i = 0; i < f->n_lanes; i++)
    if (!is_copy(f, i)) f2_basis_insert(span, f->lanes[i]);
  for (int i = 0; i < f->n_warps; i++) f2_basis_insert(span, f->warps[i]);
}

/* Whether a buffer can keep the unit whole for both sides: everything else of both spans a complement. */
static bool is_unit(const frame *from, const frame *to, const vector_list *unit, f2_basis *others) {
  f2_basis_init(others);
  add_others(from, unit, others);
  add_others(to, unit, others);
  return others->rank + unit->n == from->tile_bits;
}

/* The unit of an access: the word, then registers that both sides have as they are. */
static llrt_status choose_unit(const plan_target *target, int element_bits, const frame *from,
                               const frame *to, vector_list *unit, f2_basis *others) {
  int widest = bits_log2(target->access_bytes * 8 / element_bits);
  for (int i = 0; i < to->word; i++) append(unit, to->registers[i]);
  for (int i = to->word; i < to->n_registers && unit->n < widest && !target->lanes_first; i++) {
    vector_list longer = *unit;
    for (int j = from->word; j < from->n_registers; j++)
      if (from->registers[j] == to->registers[i]) append(&longer, to->registers[i]);
    if (longer.n > unit->n && is_unit(from, to, &longer, others)) *unit = longer;
  }
  if (is_unit(from, to, unit, others)) return LLRT_OK;
  return llrt_error(LLRT_INTERNAL, "words do not stay whole between the two sides of an exchange");
}

/* span(unit, lanes of one phase) of a side. */
static void phase_span(const frame *f, const vector_list *unit, int phase, f2_basis *span,
                       vector_list *members) {
  f2_basis_init(span);
  for (int i = 0; i < unit->n; i++)
    if (f2_basis_insert(span, unit->at[i])) append(members, unit->at[i]);
  for (int i = 0; i < phase && i < f->n_lanes; i++)
    if (!is_copy(f, i) && f2_basis_insert(span, f->lanes[i])) append(members, f->lanes[i]);
}

/* Vectors of `members` that complete span(base) to their sum with it. */
static void completing(const f2_basis *base, const vector_list *members, vector_list *out) {
  f2_basis span = *base;
  for (int i = 0; i < members->n; i++)
    if (f2_basis_insert(&span, members->at[i])) append(out, members->at[i]);
}

/* P1 n P2 from their spanning vectors. */
static void intersection(const vector_list *p1, const vector_list *p2, f2_basis *out) {
  f2_basis sum;
  f2_basis_init(&sum);
  f2_basis_init(out);
  for (int i = 0; i < p1->n; i++) f2_basis_insert_as(&sum, p1->at[i], 0);
  for (int i = 0; i < p2->n; i++) {
    uint64_t in_both = p2->at[i];
    if (f2_basis_reduce(&sum, p2->at[i], &in_both) == 0) f2_basis_insert(out, in_both);
    else f2_basis_insert_as(&sum, p2->at[i], p2->at[i]);
  }
}

/* Rows of a basis as a list. */
static void list_rows(const f2_basis *basis, vector_list *out) {
  for (uint64_t p = basis->pivots; p; p &= p - 1) append(out, basis->row[bits_lowest(p)]);
}

/* A common complement of P1 and P2 (of the larger, where they differ in dimension) inside `others`. */
static void common_complement(const f2_basis *others, const vector_list *p1, const vector_list *p2,
                              vector_list *out) {
  f2_basis both, sum;
  vector_list e = {0}, f = {0}, all = {0};
  intersection(p1, p2, &both);
  completing(&both, p1, &e);
  completing(&both, p2, &f);
  f2_basis_init(&sum);
  for (int i = 0; i < p1->n; i++) f2_basis_insert(&sum, p1->at[i]);
  for (int i = 0; i < p2->n; i++) f2_basis_insert(&sum, p2->at[i]);
  list_rows(others, &all);
  completing(&sum, &all, out);
  for (int i = 0; i < e.n && i < f.n; i++) append(out, e.at[i] ^ f.at[i]);
}

/* Offset columns in order: unit, bank, segment. */
static void offset_columns(const frame *from, const f2_basis *others, const vector_list *unit,
                           const vector_list *segment, int n_segment, uint64_t *column) {
  f2_basis span;
  vector_list all = {0};
  int n = 0, tile_bits = from->tile_bits;
  list_rows(others, &all);
  f2_basis_init(&span);
  for (int i = 0; i < unit->n; i++) {
    f2_basis_insert(&span, unit->at[i]);
    column[n++] = unit->at[i];
  }
  for (int i = 0; i < n_segment; i++) {
    f2_basis_insert(&span, segment->at[i]);
    column[tile_bits - n_segment + i] = segment->at[i];
  }
  for (int i = 0; i < from->n_lanes; i++)
    if (!is_copy(from, i) && f2_basis_insert(&span, from->lanes[i])) column[n++] = from->lanes[i];
  for (int i = 0; i < all.n; i++)
    if (f2_basis_insert(&span, all.at[i])) column[n++] = all.at[i];
  assert(n == tile_bits - n_segment);
}

llrt_status swizzle_plan(const plan_target *target, int element_bits, const frame *from,
                         const frame *to, plan_buffer *buffer, int *vector) {
  vector_list unit = {0}, members[2] = {{0}, {0}}, segment = {0};
  f2_basis span, others;
  int tile_bits = from->tile_bits;
  LLRT_TRY(choose_unit(target, element_bits, from, to, &unit, &others));
  int unit_bytes = bits_max(plan_access_bytes(element_bits, unit.n), target->bank_bytes);
  int phase = bits_log2(bits_max(target->banks * target->bank_bytes / unit_bytes, 1));
  phase_span(from, &unit, phase, &span, &members[0]);
  phase_span(to, &unit, phase, &span, &members[1]);
  common_complement(&others, &members[0], &members[1], &segment);
  int n_segment = bits_min(segment.n, bits_max(tile_bits - unit.n - phase, 0));
  buffer->bits = (uint8_t)element_bits;
  buffer->bytes = plan_access_bytes(element_bits, tile_bits);
  if (buffer->bytes > target->shared_bytes)
    return llrt_error(LLRT_UNSUPPORTED, "a tile of %d bytes does not fit shared memory (%d bytes)",
                      buffer->bytes, target->shared_bytes);
  buffer->layout = llrt_layout_empty();
  LLRT_TRY(llrt_layout_add_out(&buffer->layout, "tile", tile_bits));
  LLRT_TRY(llrt_layout_add_in(&buffer->layout, "offset", tile_bits));
  offset_columns(from, &others, &unit, &segment, n_segment, buffer->layout.column);
  *vector = unit.n;
  return LLRT_OK;
}
