/* Which bits of the tile are registers, lanes and warps, on the reading and on the writing side.
 *
 * Both sides: the vector of an access in the lowest registers, the next bits of the run in the
 * lanes, what is left in the warps. So that words can be formed before an exchange, the reading
 * side also holds, in registers, the bits that lie inside one word on the writing side. On the host
 * lanes come first: they are the position inside a SIMD register. A bit of that word which
 * completes sectors of the source is a lane instead. */
#include "jit/plan/draft/draft.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/vector_list.h"
#include "layout/f2.h"

#include <assert.h>
#include <string.h>

/* One side under way. */
typedef struct side_assignment {
  f2_basis span; /* of everything placed */
  vector_list registers, lanes, warps;
} side_assignment;

static bool place(side_assignment *side, vector_list *list, uint64_t x) {
  if (!f2_basis_insert(&side->span, x)) return false;
  list->at[list->n++] = x;
  return true;
}

/* Places vectors of `order` from index `from` until `list` has `wanted`. */
static void fill(side_assignment *side, vector_list *list, int wanted, const uint64_t *order, int n,
                 int from) {
  for (int i = from; i < n && list->n < wanted; i++) place(side, list, order[i]);
}

/* ---- GPU: registers first ---- */

/* What the reading side must know of both sides: which low address bits a vector moves on the
 * source, and its part in the word of the writing side, whose basis is order[1]. */
typedef struct constraints {
  const draft *d;
  int word;        /* log2 elements of a word */
  uint64_t formed; /* which bits of the writing side's word registers must have */
  f2_basis store;  /* coordinates in order[1] */
  f2_basis solved; /* constraint values of the reading side's registers, labelled with them */
} constraints;

static uint64_t source_low(const draft *d, uint64_t x) {
  return f2_apply(d->column[0], x) & bits_mask(d->vector[0]);
}

/* x freed of the source's vector bits by members of the vector. */
static uint64_t clear_source(const draft *d, uint64_t x) {
  return x ^ f2_apply(d->order[0], source_low(d, x));
}

static uint64_t constrained(const constraints *c, uint64_t x) {
  uint64_t coordinates = 0;
  f2_basis_coordinates(&c->store, x, &coordinates);
  return source_low(c->d, x) | (coordinates & c->formed) << 32;
}

static void place_register(constraints *c, side_assignment *load, uint64_t x) {
  if (place(load, &load->registers, x)) f2_basis_insert_as(&c->solved, constrained(c, x), x);
}

/* A lane or warp vector freed of both by registers. */
static uint64_t free_vector(const constraints *c, uint64_t x) {
  uint64_t registers = 0;
  bool solvable = f2_basis_coordinates(&c->solved, constrained(c, x), &registers);
  assert(solvable);
  (void)solvable;
  return x ^ registers;
}

/* Bytes that x moves tensor t by, if they are less than `limit`; else that. */
static int64_t near_bytes(const draft *d, int t, uint64_t x, int limit) {
  const plan_kernel *kernel = d->kernel;
  int64_t far = (int64_t)limit * 8 / kernel->tensor_bits[t], moved = 0;
  uint64_t columns = f2_apply(d->column[t], x);
  for (int i = 0; i < kernel->n_digits; i++) {
    const plan_digit_side *side = &kernel->digit[i].side[t];
    int64_t position = (int64_t)(x >> d->first[i] & bits_mask(d->bits[i]));
    if (side->kind == PLAN_COLUMNS || position == 0) continue;
    if (side->kind == PLAN_INDEXED || side->stride.arg >= 0 || position >= far) return far;
    int64_t stride = side->stride.value < 0 ? -side->stride.value : side->stride.value;
    if (stride >= far) return far;
    moved += position * stride;
  }
  return columns >= (uint64_t)far || moved + (int64_t)columns >= far ? far
                                                                     : moved + (int64_t)columns;
}

/* The nearest first, as far as they are nearer than `limit` bytes. */
static void sort_by_distance(const draft *d, int t, uint64_t *x, int n, int limit) {
  for (int i = 1; i < n; i++)
    for (int j = i; j > 0 && near_bytes(d, t, x[j], limit) < near_bytes(d, t, x[j - 1], limit);
         j--) {
      uint64_t moved = x[j];
      x[j] = x[j - 1];
      x[j - 1] = moved;
    }
}

/* Whether runs begin anywhere in a sector: then a warp's access should part as few of them as it
 * can. */
static bool begins_anywhere(const draft *d, int t) { return !d->whole_lines[t] && !d->overhang[t]; }

/* Where runs begin anywhere in a sector, what lanes want to hold: what is next to each other in
 * memory, run behind run, so that the ends of two runs that share a sector are moved by one access.
 */
static void near_lanes(const draft *d, int t, vector_list *out) {
  int access = plan_access_bytes(d->kernel->tensor_bits[t], d->vector[t]);
  int limit = 2 * bits_max(access, 1) << d->kernel->lane_bits;
  uint64_t x[LLRT_MAX_BITS];
  int n = 0;
  out->n = 0;
  for (int i = d->vector[t]; i < d->tile_bits; i++) x[n++] = d->order[t][i];
  sort_by_distance(d, t, x, n, limit);
  for (int i = 0; i < n && out->n < d->kernel->lane_bits; i++)
    if (near_bytes(d, t, x[i], limit) < (int64_t)limit * 8 / d->kernel->tensor_bits[t])
      out->at[out->n++] = x[i];
}

static bool contains(const vector_list *list, uint64_t x) {
  for (int i = 0; i < list->n; i++)
    if (list->at[i] == x) return true;
  return false;
}

/* Whether x is one of side t's bits from the access's vector on, up to bit `end` of its run. */
static bool is_between(const draft *d, int t, uint64_t x, int end) {
  for (int i = d->vector[t]; i < bits_min(end, d->run[t]); i++)
    if (d->order[t][i] == x) return true;
  return false;
}

#define LONG_ROW 3 /* log2 vectors of a row that a group of lanes stores, overhanging */

/* Whether lanes have to hold x so that each access of a warp touches whole sectors of tensor t, and
 * as many of them side by side as it can where they are stored; where runs begin anywhere in a
 * sector, so that it parts as few as it can. */
static bool completes_sector(const draft *d, int t, uint64_t x) {
  vector_list near;
  bool long_rows =
      t == 1 && (d->overhang[1] ? d->run[1] - d->vector[1] >= LONG_ROW : d->whole_lines[1]);
  if (long_rows) return is_between(d, t, x, d->vector[t] + d->kernel->lane_bits);
  if (!begins_anywhere(d, t))
    return is_between(d, t, x, bits_log2(d->kernel->target.sector_bytes) - draft_log2_bytes(d, t));
  near_lanes(d, t, &near);
  return contains(&near, x);
}

/* Whether words may be turned in their lanes (jit/plan/facts/lane_byte_permute.h): whole bytes,
 * which no cast or map looks at before. */
static bool may_turn(const draft *d) {
  const uint8_t *bits = d->kernel->tensor_bits;
  return bits[0] == bits[1] && bits[0] >= 8 && d->word_elements == 0;
}

/* Whether with x among the registers one of their sums would be a vector by which lanes complete
 * sectors of the source. */
static bool takes_sector(const draft *d, const side_assignment *load, uint64_t x) {
  if (!may_turn(d)) return completes_sector(d, 0, x);
  f2_basis span;
  f2_basis_init(&span);
  for (int i = 0; i < load->registers.n; i++) f2_basis_insert(&span, load->registers.at[i]);
  f2_basis with = span;
  f2_basis_insert(&with, x);
  for (int i = d->vector[0]; i < d->tile_bits; i++)
    if (completes_sector(d, 0, d->order[0][i]) && f2_basis_contains(&with, d->order[0][i]) &&
        !f2_basis_contains(&span, d->order[0][i]))
      return true;
  return false;
}

/* The reading side's registers: its vector, the writing side's word, and what else it takes so that
 * every lane and warp vector can be freed of both by registers of its own thread; what completes
 * sectors only if nothing else does it. */
static void load_registers(constraints *c, side_assignment *load) {
  const draft *d = c->d;
  for (int i = 0; i < d->vector[0] && i < d->tile_bits; i++)
    place_register(c, load, d->order[0][i]);
  for (int i = 0; i < c->word; i++)
    if (c->formed >> i & 1) place_register(c, load, clear_source(d, d->order[1][i]));
  for (int pass = may_turn(d) ? 0 : 1; pass < 2; pass++)
    for (int i = 0; i < d->tile_bits; i++)
      if (!f2_basis_contains(&c->solved, constrained(c, d->order[0][i])) &&
          (pass == 1 || !takes_sector(d, load, clear_source(d, d->order[0][i]))))
        place_register(c, load, clear_source(d, d->order[0][i]));
}

/* Whether x is among what lanes want to hold, so that each access of a warp is contiguous. */
static bool is_near(const draft *d, int t, uint64_t x) {
  return is_between(d, t, x, d->vector[t] + d->kernel->lane_bits) || completes_sector(d, t, x);
}

/* More registers of the reading side, up to `wanted`: bits that the writing side has in registers,
 * so that words and shared vectors are common, but rather none that lanes want on either side. */
static void extra_load_registers(const draft *d, int wanted, side_assignment *load) {
  for (int pass = 0; pass < 4; pass++) {
    for (int i = 0; i < d->tile_bits && load->registers.n < wanted; i++) {
      uint64_t stored = d->order[1][i], x = clear_source(d, stored);
      if (pass == 0 && (is_near(d, 0, x) || is_near(d, 1, stored))) continue;
      if (pass < 3 && takes_sector(d, load, x)) continue;
      if (pass == 1 && completes_sector(d, 1, stored)) continue;
      place(load, &load->registers, x);
    }
  }
}

/* Places vectors of the writing side's order that `list` has, up to `wanted` registers, but none
 * that completes sectors. */
static void place_common(const draft *d, int wanted, const vector_list *list,
                         side_assignment *store) {
  for (int i = 0; i < d->tile_bits && store->registers.n < wanted; i++)
    if (contains(list, d->order[1][i]) && !completes_sector(d, 1, d->order[1][i]))
      place(store, &store->registers, d->order[1][i]);
}

/* The same of the writing side: what the reading side has in registers needs no exchange, what it
 * has in lanes only shuffles. */
static void extra_store_registers(const draft *d, int wanted, const side_assignment *load,
                                  side_assignment *store) {
  int n = d->tile_bits;
  place_common(d, wanted, &load->registers, store);
  place_common(d, wanted, &load->lanes, store);
  fill(store, &store->registers, wanted, d->order[1], n, d->run[1]);
  fill(store, &store->registers, wanted, d->order[1], n, 0);
}

/* log2 elements that a thread should have in flight: half the wish where the tile would otherwise
 * have less than 256 threads. Of elements that a cast widens, thread_bytes of what it makes: with
 * as many bytes of the source an H200 was 1 to 2 % slower. */
static int in_flight_bits(const draft *d) {
  if (d->walks_panel) return d->thread_bits;
  int bytes = bits_log2(d->kernel->target.thread_bytes);
  int most = bytes + draft_word_of(d, d->kernel->tensor_bits[1]);
  int wish = bits_min(bytes - bits_max(draft_log2_bytes(d, 0), draft_log2_bytes(d, 1)), most);
  int wanted = bits_max(wish - 1, bits_min(wish, d->tile_bits - 8));
  return bits_min(wanted, d->tile_bits);
}

/* Brings what lanes may hold of tensor t into the order in which they want it: where accesses are
 * narrow, what lies on the same line first, the nearest before the others. */
static void sort_near(const draft *d, int t, uint64_t *x, int n) {
  if (plan_access_bytes(d->kernel->tensor_bits[t], d->vector[t]) * 2 >
      d->kernel->target.access_bytes)
    return;
  sort_by_distance(d, t, x, n, PLAN_LINE_BYTES);
}

/* The bits of the writing side's word that the reading side has in registers: all, but for one that
 * completes its sectors. The exchange brings that in (jit/plan/facts/word_lane_swap.h), so that
 * loads touch whole sectors. */
static uint64_t formed_bits(const draft *d, int word) {
  uint64_t all = bits_mask(word);
  const uint8_t *bits = d->kernel->tensor_bits;
  if (bits[0] != bits[1] || d->word_elements > 0 || (d->options && d->options->whole_words))
    return all;
  for (int i = 0; i < word; i++)
    if (completes_sector(d, 0, clear_source(d, d->order[1][i]))) return all & ~(1ull << i);
  return all;
}

/* Whether lanes that are freed of the writing side's word complete no sectors of the source: then
 * they keep their part in it, which the exchange takes out of words once they are formed
 * (jit/plan/facts/lane_byte_permute.h). */
static bool tears_sectors(const constraints *c) {
  const draft *d = c->d;
  bool torn = false;
  if (!may_turn(d) || c->formed != bits_mask(c->word)) return false;
  for (int i = d->vector[0]; i < d->tile_bits; i++)
    torn |= completes_sector(d, 0, d->order[0][i]) &&
            f2_basis_contains(&c->solved, constrained(c, d->order[0][i])) &&
            free_vector(c, d->order[0][i]) != d->order[0][i];
  return torn;
}

/* Accesses narrower than a word, of runs that begin anywhere: lanes take all that lies near, so
 * words of the writing side are made of elements that lie far from each other. */
static void spread_words(draft *d, int word) {
  vector_list near, far = {0};
  int n = d->vector[1];
  if (!begins_anywhere(d, 1) || n >= word || d->word_elements > 0 || draft_log2_bytes(d, 1) < 0)
    return;
  near_lanes(d, 1, &near);
  for (int i = d->tile_bits - 1; i >= n && far.n < word - n; i--)
    if (!contains(&near, d->order[1][i])) far.at[far.n++] = d->order[1][i];
  if (far.n < word - n) return;
  vector_list kept = {0};
  for (int i = n; i < d->tile_bits; i++)
    if (!contains(&far, d->order[1][i])) kept.at[kept.n++] = d->order[1][i];
  memcpy(&d->order[1][n], far.at, (size_t)far.n * sizeof *far.at);
  memcpy(&d->order[1][n + far.n], kept.at, (size_t)kept.n * sizeof *kept.at);
  d->run[1] = n;
}

/* log2 warps: more than the target's for tiles that its registers do not hold
 * (plan_options.whole_runs). */
static int warps_of(const draft *d) {
  const plan_kernel *kernel = d->kernel;
  int word =
      bits_min(draft_word_of(d, kernel->tensor_bits[0]), draft_word_of(d, kernel->tensor_bits[1]));
  int least = d->tile_bits - kernel->lane_bits - kernel->target.register_bits - word;
  bool whole = d->options && d->options->whole_runs;
  return whole ? bits_max(kernel->target.warp_bits, least) : kernel->target.warp_bits;
}

static void gpu_sides(draft *d, int word, side_assignment side[2]) {
  plan_kernel *kernel = d->kernel;
  int n = d->tile_bits, warps = warps_of(d);
  spread_words(d, bits_min(word, n));
  side_assignment *load = &side[0], *store = &side[1];
  constraints c = {.d = d, .word = bits_min(word, n)};
  c.formed = formed_bits(d, c.word);
  f2_basis_init(&c.store);
  f2_basis_init(&c.solved);
  for (int i = 0; i < n; i++) f2_basis_insert(&c.store, d->order[1][i]);
  fill(store, &store->registers, bits_max(d->vector[1], c.word), d->order[1], n, 0);
  load_registers(&c, load);
  int wanted = bits_max(bits_max(load->registers.n, store->registers.n), in_flight_bits(d));
  wanted = bits_max(bits_max(wanted, d->thread_bits), n - kernel->lane_bits - warps);
  extra_load_registers(d, wanted, load);
  uint64_t freed[LLRT_MAX_BITS];
  for (int i = 0; i < n; i++) freed[i] = free_vector(&c, d->order[0][i]);
  sort_near(d, 0, freed, n);
  for (int i = 0; i < n && tears_sectors(&c) && load->lanes.n < kernel->lane_bits; i++)
    if (is_between(d, 0, d->order[0][i], n)) place(load, &load->lanes, d->order[0][i]);
  if (begins_anywhere(d, 0)) {
    vector_list near;
    near_lanes(d, 0, &near);
    for (int i = 0; i < near.n; i++) near.at[i] = free_vector(&c, near.at[i]);
    fill(load, &load->lanes, kernel->lane_bits, near.at, near.n, 0);
  }
  fill(load, &load->lanes, kernel->lane_bits, freed, n, 0);
  fill(load, &load->warps, warps, freed, n, 0);
  extra_store_registers(d, wanted, load, store);
  uint64_t stored[LLRT_MAX_BITS];
  memcpy(stored, d->order[1], (size_t)n * sizeof *stored);
  sort_near(d, 1, stored, n);
  if (begins_anywhere(d, 1)) {
    vector_list near;
    near_lanes(d, 1, &near);
    fill(store, &store->lanes, kernel->lane_bits, near.at, near.n, 0);
  }
  fill(store, &store->lanes, kernel->lane_bits, stored, n, 0);
  fill(store, &store->warps, warps, d->order[1], n, 0);
  assert(load->span.rank == n && store->span.rank == n);
  assert(load->warps.n == store->warps.n);
  kernel->warp_bits = load->warps.n;
}

/* ---- host: lanes first, one warp ---- */

/* Of packed elements the first two of the run share a lane. Three vectors stay in the registers,
 * lanes being left over where the tile is small: what packed_middle may need to exchange the first.
 * That holds for both sides of a cast, too, because the exchange moves the narrower elements. */
static void host_side(draft *d, side_assignment *side, int t) {
  int n = d->tile_bits - d->strip_bits;
  int word = draft_word_of(d, d->kernel->tensor_bits[t]);
  int packed = draft_word_of(d, bits_min(d->kernel->tensor_bits[0], d->kernel->tensor_bits[1]));
  int lanes = bits_min(d->kernel->lane_bits, n - 3 * packed);
  fill(side, &side->registers, word, d->order[t], n, 0);
  fill(side, &side->lanes, bits_max(lanes, 0), d->order[t], n, 0);
  fill(side, &side->registers, n, d->order[t], n, 0);
}

/* ---- layouts ---- */

static llrt_status make_value(const draft *d, const side_assignment *side, int tensor, int word,
                              const vector_list *iterations, plan_value *value) {
  f2_basis tile;
  vector_list in_tile[4] = {{0}};
  const vector_list *const lists[] = {&in_tile[0], &in_tile[1], &in_tile[2], &in_tile[3]};
  f2_basis_init(&tile);
  for (int i = 0; i < d->tile_bits; i++) f2_basis_insert(&tile, d->order[0][i]);
  *value = (plan_value){.word = (uint8_t)bits_min(word, side->registers.n),
                        .bits = d->kernel->tensor_bits[tensor]};
  vector_list_in(&tile, &side->registers, side->registers.n, &in_tile[0]);
  vector_list_in(&tile, &side->lanes, d->kernel->lane_bits, &in_tile[1]);
  vector_list_in(&tile, &side->warps, d->kernel->warp_bits, &in_tile[2]);
  if (iterations) vector_list_in(&tile, iterations, iterations->n, &in_tile[3]);
  return vector_lists_layout(d->tile_bits, lists, &value->layout);
}

/* The masked path: one element a step, or the elements of one word or byte. Lanes and warps follow
 * the destination, iterations the rest; on the host everything is an iteration and lanes hold
 * copies, that is, one scalar, or beside the byte's elements those of the word. */
static llrt_status assign_edge(const draft *d, draft_values *values) {
  side_assignment side = {0};
  vector_list iterations = {0};
  int pair = draft_log2_bytes(d, 1) < 0;
  f2_basis_init(&side.span);
  int n = d->tile_bits - d->strip_bits;
  fill(&side, &side.registers, pair, d->order[1], n, 0);
  if (d->kernel->target.simd_lanes) {
    fill(&side, &side.lanes, d->word_elements - pair, d->order[1], n, 0);
  } else {
    fill(&side, &side.registers, d->word_elements, d->order[1], n, 0);
    fill(&side, &side.lanes, d->kernel->lane_bits, d->order[1], n, 0);
    fill(&side, &side.warps, d->kernel->warp_bits, d->order[1], n, 0);
  }
  fill(&side, &iterations, n, d->order[1], n, 0);
  values->edge_iterations = iterations.n;
  fill(&side, &iterations, d->tile_bits, d->order[1], d->tile_bits, n);
  int word = draft_word_of(d, d->kernel->tensor_bits[0]);
  word = bits_min(bits_max(pair, d->word_elements), word);
  return make_value(d, &side, 0, word, &iterations, &values->edge);
}

/* What of a strip is asked for while a tile is worked on: as many elements as a tile has, row by
 * row of the source. */
static llrt_status assign_ahead(const draft *d, int word, plan_value *ahead) {
  side_assignment side = {0};
  vector_list iterations = {0};
  int n = d->tile_bits, tile = n - d->strip_bits;
  f2_basis_init(&side.span);
  fill(&side, &side.registers, word, d->ahead, n, 0);
  fill(&side, &side.lanes, d->kernel->lane_bits, d->ahead, n, 0);
  fill(&side, &side.registers, tile - side.lanes.n, d->ahead, n, 0);
  fill(&side, &iterations, d->strip_bits, d->ahead, n, 0);
  return make_value(d, &side, 0, word, &iterations, ahead);
}

llrt_status draft_assign(draft *d, draft_values *values) {
  side_assignment side[2] = {0};
  int word[2];
  for (int t = 0; t < 2; t++) {
    f2_basis_init(&side[t].span);
    word[t] = draft_word_of(d, d->kernel->tensor_bits[t]);
  }
  if (d->kernel->target.simd_lanes) {
    for (int t = 0; t < 2; t++) host_side(d, &side[t], t);
  } else {
    gpu_sides(d, bits_max(word[0], word[1]), side);
  }
  vector_list strip = {.n = d->strip_bits};
  memcpy(strip.at, &d->order[0][d->tile_bits - strip.n], (size_t)strip.n * sizeof *strip.at);
  LLRT_TRY(make_value(d, &side[0], 0, word[0], &strip, &values->load));
  LLRT_TRY(make_value(d, &side[1], 1, word[1], &strip, &values->store));
  if (strip.n > 0) LLRT_TRY(assign_ahead(d, word[0], &values->ahead));
  return assign_edge(d, values);
}
