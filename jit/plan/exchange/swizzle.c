/* The swizzled shared buffer of a conversion (paper section 5.4; Triton's generic swizzling, with
 * real subspaces instead of unit vectors, and repetitions, candidates and conflicts counted
 * exactly).
 *
 * A buffer's offset bits are: unit, bank, segment; its repetitions are registers of both sides, or
 * of one side and warps of the other, which take no part in anything else. One side's access moves
 * the first `vector` vectors of the unit, so all its other vectors must have no part in those; the
 * side that moves most determines `rest`, the span of bank and segment. Two lanes of one phase
 * conflict when they differ only in segment bits, so the segment must meet neither side's span of
 * (unit, lanes of a phase) except in 0. Two subspaces P1, P2 of equal dimension always have such a
 * common complement: with E, F completing P1 n P2 to either, it is span(E_i + F_i) plus whatever
 * completes P1 + P2. Brought into `rest` along the unit it may fail; counting tells.
 *
 * In a cluster a block stores its own part, so the storing side's blocks are columns of their own,
 * and all else is what their sums leave: the loading side's vectors without their part in the
 * blocks, which says whose memory it is. Then several of them may be equal, or zero. */
#include "jit/plan/exchange/exchange_route.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/facts/thread_basis.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/matrix.h"
#include "jit/plan/facts/shared_lanes.h"
#include "jit/plan/facts/vector_list.h"
#include "layout/f2.h"
#include "layout/traffic.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

/* Where registers in common allow it, a buffer is no larger, so that four blocks share a
 * multiprocessor of 164 KiB and more. */
#define SMALL_BUFFER (40 << 10)

/* One way to lay the buffer out. Sides: 0 stores, 1 loads. */
typedef struct candidate {
  const plan_target *target;
  int element_bits;
  thread_basis side[2]; /* without the repetitions' registers, and without blocks */
  thread_basis loading; /* side 1 with its part in the blocks */
  vector_list blocks;   /* of the storing side; 0: a copy */
  vector_list reps;
  vector_list unit; /* low offset bits, at least a bank's word of them where the tile has so many */
  int vector[2];    /* log2 elements of an access: that many of the unit's first */
  uint8_t kind[2];  /* plan_matrix_kind: then the unit is a row, whose vectors are lanes too */
  plan_matrix matrix[2];  /* where kind is one */
  int first;              /* the side that determines rest */
  f2_basis rest, offsets; /* offsets: labelled with their offset bits */
  uint64_t column[LLRT_MAX_BITS];
  int n_offset;
  int cost;
} candidate;

static void append(vector_list *list, uint64_t x) {
  if (list->n < LLRT_MAX_BITS) list->at[list->n++] = x;
}

static int times_in(const uint64_t *vectors, int n, uint64_t x) {
  int times = 0;
  for (int i = 0; i < n; i++) times += vectors[i] == x;
  return times;
}

static bool is_copy(const thread_basis *f, int lane) { return f->lanes[lane] >> f->tile_bits != 0; }

static bool in_registers(const thread_basis *f, int from, uint64_t x) {
  for (int i = from; i < f->n_registers; i++)
    if (f->registers[i] == x) return true;
  return false;
}

/* ---- repetitions ---- */

/* All vectors of a side but `without`. */
static void add_others(const thread_basis *f, uint64_t without, f2_basis *span) {
  for (int i = 0; i < f->n_registers; i++)
    if (f->registers[i] != without) f2_basis_insert(span, f->registers[i]);
  for (int i = 0; i < f->n_lanes; i++)
    if (!is_copy(f, i)) f2_basis_insert(span, f->lanes[i]);
  for (int i = 0; i < f->n_warps; i++)
    if (f->warps[i] != without) f2_basis_insert(span, f->warps[i]);
}

static int side_rank(const thread_basis *f) {
  f2_basis span;
  f2_basis_init(&span);
  add_others(f, 0, &span);
  return span.rank;
}

static void drop(thread_basis *f, uint64_t x) {
  int n = 0, warps = 0;
  for (int i = 0; i < f->n_registers; i++)
    if (f->registers[i] != x) f->registers[n++] = f->registers[i];
  f->n_registers = n;
  for (int i = 0; i < f->n_warps; i++)
    if (f->warps[i] != x) f->warps[warps++] = f->warps[i];
  f->n_warps = warps;
}

static bool in_warps(const thread_basis *f, uint64_t x) {
  for (int i = 0; i < f->n_warps; i++)
    if (f->warps[i] == x) return true;
  return false;
}

/* Takes x as a repetition where no other vector of either side takes part in it. */
static void take_rep(candidate *c, uint64_t x) {
  f2_basis span;
  f2_basis_init(&span);
  for (int s = 0; s < 2; s++) add_others(&c->side[s], x, &span);
  if (span.rank != side_rank(&c->side[1]) - 1) return;
  const thread_basis *to = &c->side[1], *whole = &c->loading;
  if (times_in(to->registers, to->n_registers, x) + times_in(to->warps, to->n_warps, x) > 1) return;
  if (times_in(whole->registers, whole->n_registers, x) +
          times_in(whole->warps, whole->n_warps, x) ==
      0)
    return;
  append(&c->reps, x);
  for (int s = 0; s < 2; s++) drop(&c->side[s], x);
  drop(&c->loading, x);
}

/* Up to `wanted` repetitions: registers above the words of both sides, then, where `turns`,
 * registers of one side that are warps of the other, which then takes turns. The highest first: the
 * lower ones make vectors. */
static void take_reps(candidate *c, int wanted, bool turns) {
  for (int warps = 0; warps < 1 + turns; warps++) {
    for (int s = 1; s >= 0; s--) {
      const thread_basis *own = &c->side[s], *other = &c->side[!s];
      for (int i = own->n_registers - 1; i >= own->word && c->reps.n < wanted; i--) {
        uint64_t x = own->registers[i];
        if (warps ? in_warps(other, x) : in_registers(other, other->word, x)) take_rep(c, x);
      }
    }
  }
}

/* ---- unit and rest ---- */

static int log2_elements(const candidate *c, int bytes) {
  return bits_max(bits_log2((int64_t)bytes * 8) - bits_log2(c->element_bits), 0);
}

/* How many of the unit's first vectors one access of a side can take: registers, those of its word
 * in their place. */
static int own_prefix(const candidate *c, int s) {
  const thread_basis *f = s == 1 ? &c->loading : &c->side[0]; /* an access is of one block */
  const vector_list *unit = &c->unit;
  int n = 0;
  for (; n < unit->n; n++) {
    bool own = n < f->word ? f->registers[n] == unit->at[n] : in_registers(f, f->word, unit->at[n]);
    if (!own) break;
  }
  return n;
}

/* The unit: the word of side `by`, then its registers that the other side has too, then, where
 * `wide`, its others; up to the widest access. */
static void choose_unit(candidate *c, int by, bool wide) {
  const thread_basis *own = &c->side[by], *other = &c->side[!by];
  int widest = c->target->simd_lanes ? own->word : log2_elements(c, c->target->access_bytes);
  for (int i = 0; i < own->word && c->unit.n < widest && own->registers[i]; i++)
    if (times_in(c->unit.at, c->unit.n, own->registers[i]) == 0)
      append(&c->unit, own->registers[i]);
  for (int common = 1; common >= (wide ? 0 : 1); common--)
    for (int i = own->word; i < own->n_registers && c->unit.n < widest; i++)
      if (own->registers[i] && in_registers(other, other->word, own->registers[i]) == common &&
          times_in(c->unit.at, c->unit.n, own->registers[i]) == 0)
        append(&c->unit, own->registers[i]);
  for (int s = 0; s < 2; s++) c->vector[s] = own_prefix(c, s);
  if (!wide) {
    /* Only what both take together; the side with the longer word moves parts of it. */
    c->unit.n = bits_max(bits_min(c->vector[0], c->vector[1]), 0);
    for (int s = 0; s < 2; s++) c->vector[s] = bits_min(c->vector[s], c->unit.n);
  }
  c->first = c->vector[by] >= c->vector[!by] ? by : !by;
}

/* x must have no part in the vector of side s: it joins rest, or the vector becomes shorter. */
static void keep_out(candidate *c, int s, f2_basis *all, uint64_t x) {
  uint64_t part = 0;
  if (!f2_basis_coordinates(all, x, &part)) {
    f2_basis_insert_as(all, x, 0);
    f2_basis_insert(&c->rest, x);
    return;
  }
  part &= bits_mask(c->vector[s]);
  if (part) c->vector[s] = bits_lowest(part);
}

/* Fills rest from the sides, first the one that determines it. */
static void choose_rest(candidate *c) {
  f2_basis all;
  f2_basis_init(&all);
  f2_basis_init(&c->rest);
  for (int i = 0; i < c->unit.n; i++) f2_basis_insert_as(&all, c->unit.at[i], 1ull << i);
  for (int i = 0; i < c->blocks.n; i++) f2_basis_insert_as(&all, c->blocks.at[i], 0);
  for (int turn = 0; turn < 2; turn++) {
    int s = turn == 0 ? c->first : !c->first;
    const thread_basis *f = &c->side[s];
    vector_list others = {0};
    uint64_t moved = 0;
    for (int i = 0; i < f->n_lanes; i++) {
      bool in_row = c->kind[s] && times_in(c->unit.at, c->vector[s], f->lanes[i]) > 0;
      if (!is_copy(f, i) && !in_row) append(&others, f->lanes[i]);
    }
    for (int i = 0; i < f->n_registers; i++) {
      int at = 0;
      uint64_t x = s == 1 ? c->loading.registers[i] : f->registers[i];
      while (at < c->vector[s] && c->unit.at[at] != x) at++;
      if (at == c->vector[s] || moved >> at & 1) append(&others, f->registers[i]);
      else moved |= 1ull << at;
    }
    for (int i = 0; i < f->n_warps; i++)
      if (f->warps[i]) append(&others, f->warps[i]);
    for (int i = 0; i < others.n; i++) keep_out(c, s, &all, others.at[i]);
  }
}

/* The unit grows to a bank's word by lanes of both sides, then of one: those share words. */
static void fill_bank_word(candidate *c) {
  int wanted = log2_elements(c, c->target->bank_bytes);
  for (int pass = 0; pass < 3; pass++) {
    const thread_basis *f = &c->side[pass < 2 ? c->first : !c->first];
    for (int i = 0; i < f->n_lanes && c->unit.n < wanted; i++) {
      bool common = false;
      for (int j = 0; j < c->side[!c->first].n_lanes; j++)
        common |= c->side[!c->first].lanes[j] == f->lanes[i];
      if (is_copy(f, i) || (pass == 0 && !common) || !f2_basis_contains(&c->rest, f->lanes[i]))
        continue;
      bool known = false;
      for (int j = 0; j < c->unit.n; j++) known |= c->unit.at[j] == f->lanes[i];
      if (!known) append(&c->unit, f->lanes[i]);
    }
  }
}

/* ---- bank and segment ---- */

/* log2 lanes that one phase of an access of side s serves. */
static int phase_lanes(const candidate *c, int s) {
  int bytes = bits_max(plan_access_bytes(c->element_bits, c->vector[s]), c->target->bank_bytes);
  return bits_log2(bits_max(c->target->banks * c->target->bank_bytes / bytes, 1));
}

/* What the lanes of side s add to their addresses; how many bits of a lane there are. */
static int address_lanes(const candidate *c, int s, const uint64_t **lanes) {
  *lanes = c->kind[s] ? c->matrix[s].lane : c->side[s].lanes;
  return c->kind[s] ? 3 + c->matrix[s].count : c->side[s].n_lanes;
}

/* span(unit of a bank's word or of the access, lanes of one phase) of side s, as independent
 * members. */
static void phase_members(const candidate *c, int s, vector_list *members) {
  const thread_basis *f = &c->side[s];
  const uint64_t *lanes;
  int n_lanes = address_lanes(c, s, &lanes);
  f2_basis span;
  int inside = bits_max(c->vector[s], log2_elements(c, c->target->bank_bytes));
  f2_basis_init(&span);
  for (int i = 0; i < c->unit.n && i < inside; i++)
    if (f2_basis_insert(&span, c->unit.at[i])) append(members, c->unit.at[i]);
  int bytes = plan_access_bytes(c->element_bits, c->vector[s]);
  for (int i = 0; i < phase_lanes(c, s); i++) {
    uint64_t lane = plan_phase_lane(c->target, bytes, s == 1, i), x = 0;
    for (; lane; lane &= lane - 1)
      if (bits_lowest(lane) < n_lanes) x ^= lanes[bits_lowest(lane)];
    x &= bits_mask(f->tile_bits);
    if (x && f2_basis_insert(&span, x)) append(members, x);
  }
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

/* A common complement of P1 and P2 (of the larger, where they differ in dimension), from `all`. */
static void common_complement(const vector_list *all, const vector_list *p1, const vector_list *p2,
                              vector_list *out) {
  f2_basis both, sum;
  vector_list e = {0}, f = {0};
  intersection(p1, p2, &both);
  completing(&both, p1, &e);
  completing(&both, p2, &f);
  f2_basis_init(&sum);
  for (int i = 0; i < p1->n; i++) f2_basis_insert(&sum, p1->at[i]);
  for (int i = 0; i < p2->n; i++) f2_basis_insert(&sum, p2->at[i]);
  completing(&sum, all, out);
  for (int i = 0; i < e.n && i < f.n; i++) append(out, e.at[i] ^ f.at[i]);
}

/* x freed of the unit: its part in rest. */
static uint64_t into_rest(const candidate *c, uint64_t x) {
  f2_basis span;
  uint64_t part = 0;
  f2_basis_init(&span);
  vector_list rows = {0};
  list_rows(&c->rest, &rows);
  for (int i = 0; i < c->unit.n; i++) f2_basis_insert_as(&span, c->unit.at[i], c->unit.at[i]);
  for (int i = 0; i < rows.n; i++) f2_basis_insert_as(&span, rows.at[i], 0);
  f2_basis_coordinates(&span, x, &part);
  return x ^ part;
}

static void choose_segment(const candidate *c, int most, vector_list *segment) {
  vector_list members[2] = {{0}, {0}}, all = {0}, found = {0};
  f2_basis span;
  for (int s = 0; s < 2; s++) phase_members(c, s, &members[s]);
  list_rows(&c->rest, &all);
  common_complement(&all, &members[0], &members[1], &found);
  f2_basis_init(&span);
  for (int i = 0; i < c->unit.n; i++) f2_basis_insert(&span, c->unit.at[i]);
  for (int i = 0; i < found.n && segment->n < most; i++) {
    uint64_t x = into_rest(c, found.at[i]);
    if (f2_basis_insert(&span, x)) append(segment, x);
  }
}

/* Offset columns in order: unit, bank, segment; then those of the repetitions. */
static void choose_offsets(candidate *c) {
  vector_list segment = {0}, all = {0};
  f2_basis span;
  int banks = log2_elements(c, c->target->banks * c->target->bank_bytes), n = 0;
  c->n_offset = c->unit.n;
  list_rows(&c->rest, &all);
  f2_basis_init(&span);
  for (int i = 0; i < c->unit.n; i++) f2_basis_insert(&span, c->column[n++] = c->unit.at[i]);
  vector_list rest = {0};
  completing(&span, &all, &rest);
  c->n_offset += rest.n;
  choose_segment(c, bits_max(c->n_offset - banks, 0), &segment);
  for (int i = 0; i < segment.n; i++) f2_basis_insert(&span, segment.at[i]);
  const thread_basis *f = &c->side[c->first];
  for (int i = 0; i < f->n_lanes; i++)
    if (!is_copy(f, i) && f2_basis_contains(&c->rest, f->lanes[i]) &&
        f2_basis_insert(&span, f->lanes[i]))
      c->column[n++] = f->lanes[i];
  for (int i = 0; i < all.n; i++)
    if (f2_basis_insert(&span, all.at[i])) c->column[n++] = all.at[i];
  for (int i = 0; i < segment.n; i++) c->column[n++] = segment.at[i];
  assert(n == c->n_offset);
  for (int i = 0; i < c->reps.n; i++) c->column[n++] = c->reps.at[i];
  for (int i = 0; i < c->blocks.n; i++) c->column[n++] = c->blocks.at[i];
  f2_basis_init(&c->offsets);
  for (int i = 0; i < n; i++) f2_basis_insert_as(&c->offsets, c->column[i], 1ull << i);
}

/* ---- cost ---- */

/* Wavefronts of one access of side s by one warp; all of its accesses are alike, since registers
 * and warps only XOR a constant to every address. */
static int access_wavefronts(const candidate *c, int s) {
  const thread_basis *f = s == 1 ? &c->loading : &c->side[0];
  int64_t address[TRAFFIC_MAX_LANES];
  int lanes = 1 << f->n_lanes, bytes = plan_access_bytes(c->element_bits, c->vector[s]);
  for (int lane = 0; lane < lanes; lane++) {
    uint64_t offset = 0;
    f2_basis_coordinates(&c->offsets, f2_apply(f->lanes, (uint64_t)lane) & bits_mask(f->tile_bits),
                         &offset);
    address[lane] = (int64_t)offset * c->element_bits / 8;
    if (s == 0 && f2_apply(f->lanes, (uint64_t)lane) >> f->tile_bits) address[lane] = TRAFFIC_NONE;
  }
  plan_order_lanes(c->target, bytes, s == 1, address);
  return traffic_wavefronts(address, lanes, bytes, c->target->banks, c->target->bank_bytes);
}

/* Half clocks of a block: a wavefront takes one clock, an instruction half of one to issue. */
static int candidate_cost(const candidate *c) {
  int cost = 0;
  for (int s = 0; s < 2; s++) {
    int accesses = 1 << (c->side[s].n_registers - c->vector[s]);
    int warps = c->side[s].n_warps + (s == 0 ? c->blocks.n : 0);
    cost += accesses * (2 * access_wavefronts(c, s) + 1) << warps;
  }
  return cost;
}

/* The cost of accesses of less than a byte. */
#define NOT_BYTES INT_MAX

static void try_candidate(candidate *c, int by, bool wide) {
  choose_unit(c, by, wide);
  choose_rest(c);
  fill_bank_word(c);
  choose_offsets(c);
  c->cost = c->target->simd_lanes ? 0 : candidate_cost(c);
  for (int s = 0; s < 2; s++)
    if (c->element_bits << c->vector[s] < 8) c->cost = NOT_BYTES;
}

static llrt_status make_buffer(const candidate *c, swizzle *out) {
  llrt_layout *layout = &out->buffer.layout;
  out->buffer = (plan_buffer){.bits = (uint8_t)c->element_bits};
  *layout = llrt_layout_empty();
  LLRT_TRY(llrt_layout_add_out(layout, "tile", c->side[0].tile_bits));
  LLRT_TRY(llrt_layout_add_in(layout, "offset", c->n_offset));
  LLRT_TRY(llrt_layout_add_in(layout, "repetition", c->reps.n));
  LLRT_TRY(llrt_layout_add_in(layout, "block", c->blocks.n));
  memcpy(layout->column, c->column,
         (size_t)(c->n_offset + c->reps.n + c->blocks.n) * sizeof *c->column);
  out->buffer.bytes = plan_access_bytes(c->element_bits, c->n_offset);
  out->rep_bits = c->reps.n;
  for (int s = 0; s < 2; s++) out->vector[s] = c->vector[s];
  return LLRT_OK;
}

/* x without its part in the blocks of `from`, as f2_basis_coordinates gives it. */
static void local_basis(const thread_basis *from, f2_basis *local) {
  int own = from->n_warps - from->cluster;
  f2_basis_init(local);
  for (int i = own; i < from->n_warps; i++) f2_basis_insert_as(local, from->warps[i], 0);
  for (int i = 0; i < from->n_registers; i++)
    f2_basis_insert_as(local, from->registers[i], from->registers[i]);
  for (int i = 0; i < from->n_lanes; i++) f2_basis_insert_as(local, from->lanes[i], from->lanes[i]);
  for (int i = 0; i < own; i++) f2_basis_insert_as(local, from->warps[i], from->warps[i]);
}

/* Takes the storing side's blocks out of both sides. */
static void part_blocks(candidate *c) {
  thread_basis *from = &c->side[0], *to = &c->side[1];
  f2_basis local;
  c->loading = *to;
  if (from->cluster == 0) return;
  local_basis(from, &local);
  for (int i = from->n_warps - from->cluster; i < from->n_warps; i++)
    append(&c->blocks, from->warps[i]);
  from->n_warps -= from->cluster;
  for (int i = 0; i < to->n_registers; i++)
    f2_basis_coordinates(&local, to->registers[i], &to->registers[i]);
  for (int i = 0; i < to->n_warps; i++) f2_basis_coordinates(&local, to->warps[i], &to->warps[i]);
  for (int i = 0; i < to->n_lanes; i++) {
    if (is_copy(to, i)) continue;
    f2_basis_coordinates(&local, to->lanes[i], &to->lanes[i]);
    if (to->lanes[i] == 0) to->lanes[i] = 1ull << (to->tile_bits + i);
  }
}

/* A candidate whose repetitions are chosen. */
static llrt_status start_candidate(const plan_target *target, int held, int element_bits,
                                   const thread_basis *from, const thread_basis *to,
                                   candidate *start) {
  int64_t bytes = ((int64_t)element_bits << (from->tile_bits - from->iterations)) / 8;
  int wanted = 0, liked = 0;
  for (int i = from->n_warps - from->cluster; i < from->n_warps; i++) bytes >>= from->warps[i] != 0;
  while (bytes >> wanted > target->facts.shared_bytes) wanted++;
  while (!target->simd_lanes && bytes >> liked > bits_max(SMALL_BUFFER, held)) liked++;
  *start = (candidate){.target = target, .element_bits = element_bits, .side = {*from, *to}};
  part_blocks(start);
  take_reps(start, liked, false);
  take_reps(start, wanted, true);
  if (start->reps.n < wanted)
    return llrt_error(
        LLRT_UNSUPPORTED,
        "a tile of %lld bytes does not fit shared memory (%d bytes), and the two sides "
        "have too few registers in common to go through it in parts",
        (long long)bytes, target->facts.shared_bytes);
  return LLRT_OK;
}

llrt_status swizzle_plan_rows(const plan_target *target, int held, int element_bits,
                              const thread_basis *from, const thread_basis *to,
                              const swizzle_rows *rows, swizzle *out, bool *found) {
  candidate c;
  *found = false;
  LLRT_TRY(start_candidate(target, held, element_bits, from, to, &c));
  for (int i = 0; i < rows->n; i++) append(&c.unit, rows->at[i]);
  c.first = rows->lead;
  for (int s = 0; s < 2; s++) {
    plan_matrix_kind kind = (plan_matrix_kind)rows->matrix[s];
    c.kind[s] = kind;
    if (kind) thread_basis_matrix(&c.side[s], element_bits, kind, 0, &c.matrix[s]);
    c.vector[s] = kind ? rows->n : own_prefix(&c, s);
  }
  choose_rest(&c);
  for (int s = 0; s < 2; s++)
    if ((rows->matrix[s] && c.vector[s] < rows->n) || element_bits << c.vector[s] < 8)
      return LLRT_OK;
  *found = true;
  choose_offsets(&c);
  return make_buffer(&c, out);
}

llrt_status swizzle_plan(const plan_target *target, int held, int element_bits,
                         const thread_basis *from, const thread_basis *to, swizzle *out) {
  candidate start, best;
  LLRT_TRY(start_candidate(target, held, element_bits, from, to, &start));
  best = start;
  try_candidate(&best, 1, false);
  for (int by = 0; by < 2 && !target->simd_lanes; by++) {
    candidate c = start;
    try_candidate(&c, by, true);
    if (c.cost < best.cost) best = c;
  }
  if (best.cost == NOT_BYTES)
    return llrt_error(
        LLRT_UNSUPPORTED,
        "the two sides of an exchange have no two 4-bit elements of a byte in common");
  return make_buffer(&best, out);
}
